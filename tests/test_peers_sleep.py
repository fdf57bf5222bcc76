"""Stations that sleep beside ns-3: the settings, our side of them, and what a missing ns-3 says."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from airqueue.simulate import Scenario
from peers.install import NS3_BUILD, UnavailableError, install_ns3_built
from peers.ours_sleep import BEACON_BYTES, described, received, run_ours
from peers.references_sleep import TABLE, cells, key, points, quantities
from peers.sleep import BEACON_S, SOURCE, SleepCell, SleepResult

CELL = SleepCell(down_pps=5.0, up_pps=2.0, seconds=60.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sleepers": 0},
        {"saturated": -1},
        {"seed": 0},
        {"down_pps": -1.0},
        {"seconds": 4.0},
        {"listen_interval": 0},
        {"dtim_period": 0},
        {"group_pps": 1.0, "listen_interval": 2},
    ],
)
def test_a_setting_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(CELL, **wrong)


def test_without_a_build_of_ns3_the_error_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(NS3_BUILD, raising=False)
    with pytest.raises(UnavailableError, match=NS3_BUILD):
        install_ns3_built(SOURCE)
    monkeypatch.setenv(NS3_BUILD, str(tmp_path))
    with pytest.raises(UnavailableError, match="build ns-3 first"):
        install_ns3_built(SOURCE)


def test_a_line_of_ns3_is_read() -> None:
    some = {"mean_s": 0.05, "sd_s": 0.03, "median_s": 0.05, "p95_s": 0.1, "longest_s": 0.11}
    parsed = {
        "simulator": "ns-3.48",
        "down": {"sent": 10, "delivered": 9, **some},
        "up": {"sent": 0, "delivered": 0},
        "group": {"sent": 0, "delivered": 0},
        "awake_ratio": 0.01,
        "polls": 9,
        "saturated_packets": 0,
        "cpu_s": 0.1,
        "simulated_s": 63.0,
    }
    result = SleepResult.from_json(parsed)
    assert result.down is not None
    assert (result.down.delivered, result.down.mean_s, result.up) == (9, 0.05, None)
    named = {q.name: q.above(result) / q.below(result) for q in quantities(replace(CELL, up_pps=0))}
    assert named["down: delivered share"] == 0.9
    assert named["PS-Polls"] == 9 / 60


def test_flows_of_one_direction_are_pooled() -> None:
    groups = {"down1": (1.0, 2.0, 6.0), "down2": (3.0, 4.0), "up1": (9.0,)}

    def flow(delays: tuple[float, ...]) -> dict[str, float]:
        return {
            "offered_packets": len(delays),
            "delivered_packets": len(delays),
            "delay_mean_s": fmean(delays),
            "delay_sd_s": pstdev(delays),
            "delay_p50_s": fmean(delays),
            "delay_p95_s": fmean(delays),
            "delay_max_s": max(delays),
        }

    flows = {name: flow(delays) for name, delays in groups.items()}
    pooled = received(flows, "down")
    assert pooled is not None
    every = groups["down1"] + groups["down2"]
    assert (pooled.sent, pooled.longest_s) == (5, 6.0)
    assert math.isclose(pooled.mean_s, fmean(every))
    assert math.isclose(pooled.sd_s, pstdev(every))
    assert received(flows, "group") is None


def test_ours_runs_every_setting() -> None:
    for cell in cells():
        short = replace(cell, seconds=20.0, saturated=min(cell.saturated, 1))
        (result,) = run_ours(short, 1)
        # A quantity of a direction that did not come would raise; delays may all be the same.
        none = [q.name for q in quantities(short) if not q.above(result) > 0]
        assert [name for name in none if "deviation" not in name] == []


def test_ours_sleeps_between_beacons_and_loses_nothing() -> None:
    (result,) = run_ours(CELL, 1)
    assert result.down is not None and result.up is not None
    assert result.down.delivered == result.down.sent == result.polls
    assert result.up.delivered == result.up.sent
    assert result.up.longest_s < 0.1 * BEACON_S < result.down.mean_s < BEACON_S
    # The airtime of beacons at 6 Mb/s alone: 20 us, and 4 us for each 24 bits with service and tail.
    beacon = 20e-6 + 4e-6 * math.ceil((22 + 8 * BEACON_BYTES) / 24)
    assert beacon / BEACON_S < result.awake_ratio < 0.05
    network = Scenario(described(CELL)).simulate(seed=1, replications=1)
    beacons = network.runs[0]["beacons"]["ap"]
    assert beacons["airtime_ratio"] == pytest.approx(beacon / BEACON_S, rel=0.01)


def test_the_file_has_every_setting_and_quantity() -> None:
    with TABLE.file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    have = {(tuple(row[c] for c in TABLE.scenario_columns), row["quantity"]) for row in rows}
    assert have == {(key(point), q.name) for point in points() for q in point.quantities}
    assert all(int(row["runs"]) >= 10 for row in rows)
