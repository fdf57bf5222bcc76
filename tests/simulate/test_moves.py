"""Stations that change their position during a run."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from airqueue.simulate import Recorders, Scenario, ScenarioError

CELL: dict[str, Any] = {
    "duration": "4 s",
    "warm_up": "0 s",
    "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
    "medium": {"ranges": {"decode": "100 m", "sense": "150 m"}},
    "stations": [
        {"name": "ap", "position": ["0 m", "0 m"]},
        {"name": "left", "position": ["-90 m", "0 m"]},
        {"name": "right", "position": ["50 m", "0 m"]},
        {"name": "idle", "count": 3, "position": ["0 m", "10 m"], "step": ["1 m", "0 m"]},
    ],
    "flows": [
        {"name": name, "from": name, "to": "ap", "source": "saturated", "size": "1500 B"}
        for name in ("left", "right")
    ],
}
FAR = ["90 m", "0 m"]
LOSS = {
    "path_loss": {"two_ray": {"frequency": "914 MHz", "antenna_height": "1.5 m"}},
    "errors": "snr",
    "noise_figure": "36 dB",
}


def cell(*changes: dict[str, Any], right: list[str] | None = None, **keys: Any) -> Scenario:
    keys = copy.deepcopy({**CELL, **keys, "changes": list(changes)})
    if right is not None:
        keys["stations"][2]["position"] = right
    return Scenario(keys)


def moved(at: str, to: list[str], station: str = "right") -> dict[str, Any]:
    return {"at": at, "station": station, "position": to}


@pytest.mark.parametrize(("medium", "to"), [(CELL["medium"], FAR), (LOSS, ["245 m", "0 m"])])
def test_a_move_at_the_beginning_is_a_beginning_there(medium, to):
    # At 245 m noise destroys frames.
    there = cell(right=to, medium=medium).simulate(replications=1).runs[0]
    came = cell(moved("0 s", to), medium=medium).simulate(replications=1).runs[0]
    stayed = cell(medium=medium).simulate(replications=1).runs[0]
    assert came == there
    assert came != stayed


def test_terminals_that_move_apart_are_hidden_from_each_other():
    def collided(scenario: Scenario) -> float:
        return scenario.simulate(replications=3).summary["medium"]["collided_ratio"]["mean"]

    together, apart = collided(cell()), collided(cell(right=FAR))
    assert apart > 3 * together  # 180 m: beyond the range of sensing
    half = cell(moved("2 s", FAR)).simulate(replications=3, recorders=Recorders())
    assert together < half.summary["medium"]["collided_ratio"]["mean"] < apart
    # Back again in the middle of frames: from then on as if nothing had been.
    back = collided(cell(moved("0.5 s", FAR), moved("1 s", ["50 m", "0 m"]), duration="8 s"))
    whole = collided(cell(duration="8 s"))
    assert whole < back < (whole * 7.5 + apart * 0.5 * 3) / 8


def test_a_station_out_of_range_delivers_nothing_until_it_returns():
    scenario = cell(moved("1.05 s", ["500 m", "0 m"]), moved("3.05 s", ["50 m", "0 m"]))
    results = scenario.simulate(replications=1, recorders=Recorders(series_interval_s=0.1))
    series = results.series_frame("flows")
    right = series[series["flow"] == "right"].set_index("time_s")["throughput_bps"]
    left = series[series["flow"] == "left"].set_index("time_s")["throughput_bps"]
    assert (right[right.index < 1.0] > 0).all()
    gone = (right.index > 1.2) & (right.index < 3.0)
    assert (right[gone] == 0).all()
    assert right[right.index > 3.3].mean() > 1e6
    # Alone on the medium the other has what both had.
    assert left[gone].mean() > 1.7 * left[left.index < 1.0].mean()


def test_many_moves_in_the_middle_of_frames_end_well():
    places = [["50 m", "0 m"], ["120 m", "0 m"], FAR, ["-80 m", "5 m"]]
    changes = [moved(f"{5 + 0.7 * n:.4f} ms", places[n % 4]) for n in range(2000)]
    run = cell(*changes, medium=LOSS, duration="2 s").simulate(replications=1).runs[0]
    assert run["flows"]["left"]["throughput_bps"] > 0
    assert run["flows"]["right"]["throughput_bps"] > 0


@pytest.mark.parametrize(
    ("change", "medium", "said"),
    [
        (moved("1 s", FAR), {}, "without medium.ranges or medium.path_loss"),
        (moved("1 s", FAR, "idle"), CELL["medium"], "is a group; name one of its members"),
        (moved("1 s", ["2e9 m", "0 m"]), CELL["medium"], "at most 1e9 m"),
        ({"at": "1 s", "position": FAR}, CELL["medium"], "station"),
    ],
)
def test_what_cannot_move_is_one_sentence(change, medium, said):
    keys = copy.deepcopy({**CELL, "medium": medium, "changes": [change]})
    if not medium:
        for station in keys["stations"]:
            station.pop("position"), station.pop("step", None)
    with pytest.raises(ScenarioError, match=said):
        Scenario(keys)
