"""The stations of `sleep.py` as scenarios of ours, with behaviour ns3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from airqueue.simulate import Scenario

from .sleep import DIRECTIONS, DRAIN_S, Received, SleepCell, SleepResult

AP = "ap"
BEACON_BYTES = 83
"""Of ns-3's beacons, header and FCS included."""
SATURATED_BYTES = 1500


def described(cell: SleepCell) -> dict[str, Any]:
    """The scenario; flows are called down, up, group and saturated, of a group with a number behind.

    As in ns-3, a sleeper hears no DTIM but those among the beacons that it wakes up for, and stays
    awake until it hears one; PS-Polls have the rate of data, and beacons are sent without backoff.
    """
    sleeper: dict[str, Any] = {
        "name": "sleeper",
        "count": cell.sleepers,
        "power_save": {
            "wake_up": "ps-poll",
            "listen_interval": cell.listen_interval,
            "dtims": cell.group_pps > 0,
            "rate": "54 Mb/s",
            "beacon_wait": "1 s",
        },
    }
    stations = [{"name": AP}, sleeper]
    if cell.saturated:
        stations.append({"name": "saturated", "count": cell.saturated})
    return {
        "behaviour": "ns3",
        "duration": f"{cell.seconds:g} s",
        "warm_up": "0 s",
        "phy": {"standard": "802.11a", "rate": "54 Mb/s"},
        "mac": {"access": "edca", "edca": {"be": {"txop": "0 us"}}},
        "queue": {"limit": "100000 packets"},
        "beacons": [
            {
                "station": AP,
                "size": f"{BEACON_BYTES} B",
                "dtim_period": cell.dtim_period,
                "aifsn": 1,
                "cw": 0,
                "buffer": "100000 packets",
                "group_buffer": "100000 packets",
            }
        ],
        "stations": stations,
        "flows": flows(cell),
    }


def flows(cell: SleepCell) -> list[dict[str, Any]]:
    ends = {
        "down": (AP, "sleeper", cell.down_pps),
        "up": ("sleeper", AP, cell.up_pps),
        "group": (AP, "*", cell.group_pps),
    }
    described: list[dict[str, Any]] = [
        {
            "name": name,
            "from": sender,
            "to": receiver,
            "source": "poisson",
            "packet_rate": f"{pps:g} packets/s",
            "size": f"{cell.ip_bytes} B",
            "stop": f"{cell.seconds - DRAIN_S:g} s",
        }
        for name, (sender, receiver, pps) in ends.items()
        if pps
    ]
    if cell.saturated:
        saturated = {"name": "saturated", "from": "saturated", "to": AP}
        described.append({**saturated, "size": f"{SATURATED_BYTES} B"})
    return described


def run_ours(cell: SleepCell, replications: int) -> list[SleepResult]:
    """Seeds of ours, in the words of the peer."""
    results = Scenario(described(cell)).simulate(seed=1, replications=replications)
    return [result_of(run, cell) for run in results.runs.values()]


def result_of(run: Mapping[str, Any], cell: SleepCell) -> SleepResult:
    sleepers = run["sleep"].values()
    return SleepResult(
        simulator="airqueue ns3",
        **{direction: received(run["flows"], direction) for direction in DIRECTIONS},
        awake_ratio=fmean(1.0 - sleeper["asleep_ratio"] for sleeper in sleepers),
        polls=sum(sleeper["polls"] for sleeper in sleepers),
        cpu_s=0.0,
        simulated_s=cell.seconds,
    )


def received(flows: Mapping[str, Any], direction: str) -> Received | None:
    """The packets of all flows of a direction.

    Quantiles are the means of those of the flows, which have the same law.
    """
    found = [flow for name, flow in flows.items() if name.rstrip("0123456789") == direction]
    found = [flow for flow in found if flow["delivered_packets"]]
    if not found:
        return None
    counts = [flow["delivered_packets"] for flow in found]
    means = [flow["delay_mean_s"] for flow in found]
    squares = [flow["delay_sd_s"] ** 2 + flow["delay_mean_s"] ** 2 for flow in found]
    mean = fmean(means, counts)
    return Received(
        sent=sum(flow["offered_packets"] for flow in found),
        delivered=sum(counts),
        mean_s=mean,
        sd_s=math.sqrt(fmean(squares, counts) - mean**2),
        median_s=fmean((flow["delay_p50_s"] for flow in found), counts),
        p95_s=fmean((flow["delay_p95_s"] for flow in found), counts),
        longest_s=max(flow["delay_max_s"] for flow in found),
    )
