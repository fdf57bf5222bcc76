"""Scenarios from files and dictionaries, their replications, and what the figures must be."""

import json
import math
import threading
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from scipy import stats

from airqueue import _native
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.single_station import single_station
from airqueue.simulate import Interrupted, Recorders, Results, Scenario, ScenarioError, cell
from airqueue.simulate.replications import ReplicationProgress, engine_seed
from airqueue.simulate.reported import KINDS
from airqueue.simulate.scenario import schema

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "simulate").glob("*.toml"))
SHORT = {"duration": "200 ms", "warm_up": "50 ms"}
SELDOM = ("roaming-phone", "sleeping-sensor")
"""Examples whose packets begin late, or come seldom."""


def small(**more) -> Scenario:
    return cell("802.11b", stations=3, duration="200 ms", overrides={"warm_up": "50 ms", **more})


def shortened(path: Path, **times: str) -> Scenario:
    """An example's scenario for a moment; what changes during the run changes during that one too."""
    changes = tomllib.loads(path.read_text("utf-8")).get("changes", [])
    sooner = {f"changes.{at}.at": "100 ms" for at in range(len(changes))}
    seldom = {"duration": "100 s"} if path.stem in SELDOM else {}
    return Scenario.from_toml(path, {**SHORT, **sooner, **times, **seldom})


# ---- what a scenario is


def test_a_cell_has_an_access_point_stations_and_a_flow_for_each():
    both = cell("802.11g", stations=2, direction="both", duration="2 s")
    assert both.stations == ["ap", "sta1", "sta2"]
    assert both.flows == ["up1", "up2", "down1", "down2"]
    assert both.duration_s == 2
    assert small().changed({"warm_up": "3 s"}).warm_up_s == 3


def test_the_description_is_a_copy():
    scenario = small()
    scenario.description["phy"]["standard"] = "802.11a"
    assert scenario.description["phy"]["standard"] == "802.11b"


def test_numpy_values_are_plain_numbers():
    given = {
        "phy": {"standard": np.array(["802.11b"])[0]},
        "stations": ({"name": "ap"}, {"name": "sta", "count": np.int64(4)}),
    }
    assert Scenario(given).description["stations"][1] == {"name": "sta", "count": 4}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_satisfy_the_schema(path):
    validator = jsonschema.Draft202012Validator(schema())
    validator.validate(tomllib.loads(path.read_text("utf-8")))
    results = shortened(path).simulate(replications=1)
    assert results.summary["medium"]["throughput_bps"]["mean"] > 0


def test_the_schema_is_one_and_refuses_what_the_check_refuses():
    jsonschema.Draft202012Validator.check_schema(schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**small().description, "durations": "3 s"}, schema())


# ---- what is no scenario

GOOD = """
[phy]
standard = "802.11b"
[[stations]]
name = "ap"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
from = "sta"
to = "ap"
"""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[phy]\nstandard 802", "line 2, column 10: expected '=' after a key in a key/value pair"),
        ("a = 1\na = 2\n", "line 2, column 6: cannot overwrite a value; expected valid TOML"),
        (b"a = '\xff'", ": line 1 is not UTF-8; expected a TOML file in UTF-8"),
        (b"#" * (1 << 20) + b"\n", ": too large; expected at most 1 MiB"),
        ("a = " + "[" * 100_000, ": nested too deeply"),
        (f"a.{'b.' * 60}c = 1", ": a key of fifty parts"),
        (GOOD + "\n[mac]\nrts_treshold = '3 B'", "mac.rts_treshold: unknown"),
        (GOOD.replace("802.11b", "802.11z"), "phy.standard: unknown word `802.11z`"),
        (GOOD.replace("count = 2", "count = 0"), "stations[1].count: found 0, expected at least 1"),
        (
            GOOD.replace('to = "ap"', 'to = "app"'),
            'flows[0].to: there is no station, host or group "app"',
        ),
        ("duration = 3\n" + GOOD, "duration: 3 has no unit"),
        ("duration = 1979-05-27\n" + GOOD, "duration: datetime.date(1979, 5, 27); expected text"),
        ("duration = inf\n" + GOOD, "duration: inf; expected a finite number"),
        ("", "missing key `phy`"),
        (f"a = {'[' * 20}{']' * 20}", "nested too deeply; expected at most 16 levels"),
    ],
)
def test_wrong_files_are_explained(tmp_path, content, says):
    file = tmp_path / "wrong.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(file)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}:") for line in lines[len(lines) > 1 :])
    assert says in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        Scenario.from_toml(tmp_path / "none.toml")


def test_who_is_to_blame_is_said(tmp_path):
    """A change of a good file, and not the file, is wrong; a wrong file stays so."""
    file = tmp_path / "cell.toml"
    file.write_text(GOOD)
    with pytest.raises(ScenarioError, match=r"cell\.toml, as changed: phy\.rat: unknown key"):
        Scenario.from_toml(file, {"phy.rat": "11 Mb/s"})
    with pytest.raises(ScenarioError, match=r"cell\.toml, as changed: flows\.down\.rate: there is"):
        Scenario.from_toml(file, {"flows.down.rate": "11 Mb/s"})
    file.write_text(GOOD.replace("802.11b", "802.11z"))
    with pytest.raises(ScenarioError, match=r"cell\.toml:\d+: phy\.standard: unknown word"):
        Scenario.from_toml(file, {"phy.rate": "11 Mb/s"})


@pytest.mark.parametrize(
    ("description", "says"),
    [
        ({"phy": None}, "phy: nothing; expected text, a number, a list or a table"),
        ({3: "x"}, "the top level: the key 3; expected text"),
        ({"phy": {"rate": math.nan}}, "phy.rate: nan; expected a finite number"),
        ({"flows": [{"rate": object}]}, "flows[0].rate: <class 'object'>; expected text"),
        ({"flows": [10**30]}, "flows"),
    ],
)
def test_dictionaries_that_are_no_scenario(description, says):
    with pytest.raises(ScenarioError) as caught:
        Scenario(description)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"seed": -1}, "seed: -1; expected a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "seed: 4294967296; expected"),
        ({"replications": 0}, "replications: 0; expected a whole number from 1"),
        ({"replications": 2.5}, "replications: 2.5; expected a whole number"),
        ({"workers": 0}, "workers: 0; expected a whole number from 1"),
        ({"workers": True}, "workers: True; expected a whole number from 1"),
    ],
)
def test_numbers_that_make_no_sense(arguments, says):
    with pytest.raises(ScenarioError) as caught:
        small().simulate(**arguments)
    assert str(caught.value).startswith(says)


def test_a_cell_has_three_directions():
    with pytest.raises(ScenarioError, match="direction: 'sideways'; expected up, down or both"):
        cell(direction="sideways")


# ---- what determines the results


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_number_of_workers_changes_no_byte(path):
    scenario = shortened(path)
    one, three = (scenario.simulate(7, 4, workers).to_text() for workers in (1, 3))
    assert one == three


def test_pieces_of_time_change_nothing():
    scenario = _native.Scenario(json.dumps(small().description))
    whole, pieces = scenario.start(3), scenario.start(3)
    whole.advance(1e6)
    while not pieces.done:
        pieces.advance(0.000_731)
    assert whole.now_s == pieces.now_s == whole.end_s
    assert whole.results() == pieces.results()


def test_a_replication_is_what_the_engine_makes_of_its_seed():
    scenario = small()
    run = _native.Scenario(json.dumps(scenario.description)).start(5 * 2**32 + 2)
    run.advance(1.0)
    assert scenario.simulate(5, 3).runs[2] == json.loads(run.results())


def test_no_two_replications_of_any_two_seeds_are_the_same():
    seeds = [engine_seed(s, i) for s in (0, 1, 2, 2**32 - 1) for i in (0, 1, 2, 99_999)]
    assert len(set(seeds)) == len(seeds)
    assert max(seeds) < 2**64
    runs = [run for s in (0, 1) for run in small().simulate(s, 2).runs.values()]
    assert len({json.dumps(run) for run in runs}) == 4


def test_more_replications_keep_those_that_there_were():
    few, many = (small().simulate(1, count) for count in (2, 4))
    assert [many.runs[i] for i in range(2)] == [few.runs[i] for i in range(2)]


# ---- what the figures are


def test_a_station_alone_has_the_throughput_of_the_closed_form():
    """The figure of eq. DIFS + mean backoff + data + SIFS + ACK, which has no chance in its mean."""
    results = cell("802.11b", stations=1, duration="20 s").simulate(replications=5)
    expected = single_station(layer_named("b-long")).throughput_bps
    figure = results.summary["medium"]["throughput_bps"]
    assert figure["mean"] == pytest.approx(expected, rel=0.005)


def test_what_fits_is_delivered_at_the_rate_at_which_it_is_offered():
    up = {"flows.up.source": "cbr", "flows.up.rate": "300 kb/s", "warm_up": "0 s"}
    results = cell("802.11b", stations=2, duration="10 s", overrides=up).simulate(replications=2)
    packet = 1500 * 8 / 10
    for figures in results.summary["flows"].values():
        assert figures["offered_bps"]["mean"] == pytest.approx(300e3, abs=packet)
        assert figures["throughput_bps"]["mean"] == pytest.approx(300e3, abs=2 * packet)
        assert figures["loss_ratio"]["mean"] == 0


BLOATED = {
    "phy": {"standard": "802.11ac"},
    "stations": [{"name": "ap"}, {"name": "sta"}],
    "hosts": [
        {"name": "srv", "link": "ap", "rate": "10 Mb/s", "delay": "20 ms", "queue": "pfifo:1000"}
    ],
    "flows": [{"name": "f", "from": "srv", "to": "sta", "source": "tcp"}],
}
"""Slow start overflows this queue in the fifth second, and much data waits behind the gap."""


@pytest.mark.parametrize("warm_up", ["1 s", "4 s", "5 s"])
@pytest.mark.parametrize("stack", ["linux", "standard"])
def test_data_that_arrive_are_no_more_than_the_link_carries(warm_up, stack):
    times = {"duration": "3 s", "warm_up": warm_up}
    flows = [BLOATED["flows"][0] | {"tcp": {"stack": stack}}]
    run = Scenario(BLOATED | times | {"flows": flows}).simulate(replications=1).runs[0]
    flow, tcp = run["flows"]["f"], run["connections"]["f"]
    # Headers are 40 of 1500 bytes, or 52 with timestamps; what arrives twice counts once.
    assert 0 < tcp["goodput_bps"] <= flow["throughput_bps"] * 1460 / 1500 <= 10e6
    # The way back has no queue: of 20 ms, and what the cell takes.
    assert tcp["rtt_max_s"] <= flow["delay_max_s"] + 0.02 + 0.1


def test_shares_are_at_most_one_whenever_counting_begins():
    # All stations collide all the time, and a frame of 20 ms is on the air at each end of the run.
    always = {
        "duration": "30 ms",
        "phy": {"standard": "802.11b", "rate": "1 Mb/s"},
        "mac": {"experimental": True, "dcf": {"cw_min": 0, "cw_max": 0}},
        "stations": [{"name": "ap"}, {"name": "sta", "count": 2}],
        "flows": [{"name": "u", "from": "sta", "to": "ap", "size": "2 kB"}],
    }
    for warm_up in range(1, 40, 3):
        run = Scenario(always | {"warm_up": f"{warm_up} ms"}).simulate(replications=1).runs[0]
        assert run["medium"]["collided_ratio"] <= 1
        for station in run["stations"].values():
            assert (station["airtime_ratio"] or 0) <= station["busy_ratio"] <= 1
            assert (station["failed_ratio"] or 0) <= 1
            assert station["mpdus_per_frame"] in (None, 1)


def test_numbers_of_numpy_are_numbers():
    scenario = Scenario(BLOATED | {"duration": "10 ms"})
    three = np.int64(3)
    ours = scenario.simulate(seed=three, replications=np.int32(2), workers=np.int8(1))
    assert ours.runs == scenario.simulate(seed=3, replications=2).runs
    assert scenario.replicate(three, np.int64(1)) == ours.runs[1]
    assert json.loads(ours.to_text())["seed"] == 3


@pytest.mark.parametrize("given", ["home.toml", ["a"], 7])
def test_what_is_no_dictionary_is_refused(given):
    with pytest.raises(ScenarioError, match="expected a dictionary"):
        Scenario(given)
    with pytest.raises(ScenarioError, match="expected a dictionary"):
        Scenario(BLOATED | {"duration": "10 ms"}).changed(given)


@pytest.mark.parametrize("duration", ["1 ms", "5 ms", "13 ms", "20 ms", "100 ms"])
def test_airtimes_are_those_of_the_time_that_is_counted(duration):
    lone = {
        "warm_up": "10 ms",
        "duration": duration,
        "phy": {"standard": "802.11b", "rate": "1 Mb/s"},
        "stations": [{"name": "sta"}, {"name": "ap"}],
        "flows": [{"name": "up", "from": "sta", "to": "ap"}],
    }
    for seed in range(1, 9):
        run = Scenario(lone).replicate(seed)
        sender, receiver = run["stations"]["sta"], run["stations"]["ap"]
        frames = sum(of["airtime_ratio"] or 0 for of in (sender, receiver))
        # Packets' airtimes have the SIFS before each ACK, too: 10 us in 12.8 ms or more.
        longest = 10e-6 / 12e-3 + 10e-6 / run["duration_s"]
        assert frames <= run["flows"]["up"]["airtime_ratio"] <= min(1, frames + longest)


def test_what_is_on_the_air_at_the_end_is_neither_decoded_nor_lost():
    crowd = {
        "warm_up": "0 s",
        "phy": {"standard": "802.11b", "rate": "1 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "sta", "count": 3}],
        "flows": [{"name": "up", "from": "sta", "to": "ap"}],
    }
    for milliseconds in (10, 13, 27, 200):
        run = Scenario(crowd | {"duration": f"{milliseconds} ms"}).replicate(1)
        medium = run["medium"]
        delivered = sum(of["delivered_packets"] for of in run["flows"].values())
        # 1500 bytes, 36 of headers, and 192 us of preamble at 1 Mb/s.
        decoded_s = delivered * (192e-6 + 8e-6 * 1536)
        assert medium["data_airtime_ratio"] * run["duration_s"] == pytest.approx(decoded_s)
        for station in run["stations"].values():
            assert (station["collided_ratio"] or 0) <= (station["failed_ratio"] or 0) <= 1


@pytest.mark.parametrize("limit", ["50 packets", "100 packets"])
def test_what_waits_when_counting_begins_is_in_the_maximum(limit):
    draining = {
        "warm_up": "100 ms",
        "duration": "2 s",
        "phy": {"standard": "802.11b", "rate": "1 Mb/s"},
        "queue": {"limit": limit},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [
            {
                **{"name": "d", "from": "ap", "to": "sta", "source": "cbr"},
                **{"rate": "20 Mb/s", "stop": "90 ms"},
            }
        ],
    }
    queue = Scenario(draining).replicate(1)["queues"]["ap"]
    assert queue["dequeued_packets"] == queue["length_max_packets"]
    assert queue["length_mean_packets"] < queue["length_max_packets"] <= int(limit.split()[0])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_packet_is_accounted_for(path):
    flows = shortened(path, duration="1 s", warm_up="0 s").simulate(replications=2).flows
    ends = ("delivered", "queue_dropped", "given_up", "in_transit")
    accounted = sum(flows[f"{end}_packets"] for end in ends)
    assert (flows["offered_packets"] == accounted).all()
    # Somebody who thinks may offer nothing in a second.
    assert (flows.groupby("replication")["offered_packets"].sum() > 0).all()


def test_frames_have_a_row_for_each_replication_and_name():
    results = small().simulate(replications=2)
    assert list(results.flows.columns[:2]) == ["replication", "flow"]
    assert list(results.flows["flow"]) == ["up1", "up2", "up3"] * 2
    assert list(results.stations["station"]) == ["ap", "sta1", "sta2", "sta3"] * 2
    assert list(results.medium["replication"]) == [0, 1]
    assert set(results.queues["queue"]) == {"sta1", "sta2", "sta3"}
    by_replication = results.flows.groupby("replication")["throughput_bps"].sum()
    np.testing.assert_allclose(by_replication, results.medium["throughput_bps"], rtol=1e-12)


def test_the_summary_is_students_interval_of_the_rows():
    results = small().simulate(replications=4)
    for kind, noun in (("flows", "flow"), ("stations", "station"), ("queues", "queue")):
        frame = getattr(results, kind).drop(columns="replication")
        for name, rows in frame.groupby(noun):
            for figure, values in rows.drop(columns=noun).items():
                summary = results.summary[kind][name][figure]
                values = values.dropna().astype(float)  # noqa: PLW2901
                if len(values) == 0:
                    assert summary == {"mean": None, "ci95": None}
                    continue
                half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
                assert summary["mean"] == pytest.approx(values.mean())
                low, high = summary["ci95"]
                assert (high - low) / 2 == pytest.approx(half, rel=1e-9, abs=1e-12)


def run_with(delay):
    figures = {"delay_mean_s": delay}
    others = {kind: {} for kind in (*KINDS, "medium")}
    return {"duration_s": 1.0, **others, "flows": {"up": figures}}


@pytest.mark.parametrize(
    ("delays", "summary"),
    [
        ([0.25], {"mean": 0.25, "ci95": None}),
        ([None], {"mean": None, "ci95": None}),
        ([None, None], {"mean": None, "ci95": None}),
        ([0.25, None], {"mean": 0.25, "ci95": None, "n": 1}),
        ([0.25, 0.25], {"mean": 0.25, "ci95": [0.25, 0.25]}),
        ([0.25, None, 0.25], {"mean": 0.25, "ci95": [0.25, 0.25], "n": 2}),
    ],
)
def test_figures_that_replications_do_not_have(delays, summary):
    runs = dict(enumerate(map(run_with, delays)))
    results = Results({}, 1, len(delays), runs)
    assert results.summary["flows"]["up"]["delay_mean_s"] == summary


def test_series_are_asked_for_before_they_are_used():
    results = small().simulate(replications=1)
    with pytest.raises(ValueError, match="no time series were recorded"):
        results.series_frame("flows")
    recorded = small().simulate(replications=1, recorders=Recorders(series_interval_s=0.01))
    assert recorded.to_text() == results.to_text()
    frame = recorded.series_frame("queues")
    assert list(frame.columns) == ["time_s", "queue", "length_mean_packets", "length_packets"]
    assert len(frame) == 25 * 3


# ---- progress and interruption


def test_progress_goes_from_nothing_to_everything():
    seen: list[ReplicationProgress] = []
    small(duration="20 s").simulate(replications=3, workers=2, on_progress=seen.append)
    fractions = [progress.fraction for progress in seen]
    assert fractions == sorted(fractions)
    assert seen[-1] == ReplicationProgress(3, 3, 1.0, 0.0)
    assert all(progress.finished <= 3 * progress.fraction for progress in seen)


def test_an_interrupt_keeps_the_replications_that_have_finished():
    def interrupt(progress):
        if progress.finished:
            raise KeyboardInterrupt

    # Without the interrupt it would take hours.
    scenario = small(duration="100 s")
    with pytest.raises(Interrupted) as caught:
        scenario.simulate(replications=100_000, workers=1, on_progress=interrupt)
    results = caught.value.results
    assert not results.complete
    assert 1 <= len(results.runs) < 100
    assert results.runs[0] == scenario.simulate(replications=1).runs[0]
    assert not any(thread.name.startswith("replications") for thread in threading.enumerate())


def test_an_error_in_a_replication_is_not_swallowed(monkeypatch):
    scenario = small()

    class Broken:
        duration_s = warm_up_s = 1.0

        def start(self, seed):
            raise MemoryError

    monkeypatch.setattr(scenario, "_native", Broken())
    with pytest.raises(MemoryError):
        scenario.simulate(replications=3)
