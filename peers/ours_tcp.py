"""The TCP networks of `tcp.py` as scenarios of ours, with behaviour ns2, and what comes out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from airqueue.simulate import Scenario as Network

from .ours import CIRCLE, MEDIUM
from .tcp import Browsed, Scenario, Sessions, Transferred, Transfers

AP = "ap"
BEGIN = {"start": "100 ms", "start_spread": "1 s"}
"""Of flows that do not end."""


def described(scenario: Transfers | Sessions) -> dict[str, Any]:
    """The scenario; flows are called 1, 2, ... in their order."""
    network = base(scenario)
    network["stations"].append({"name": AP, "position": ["0 m", "0 m"]})
    if isinstance(scenario, Sessions):
        add_users(network, scenario)
    else:
        add_transfers(network, scenario)
    return network


def base(scenario: Scenario) -> dict[str, Any]:
    """The layer, queues and TCP of a network without stations."""
    return {
        "behaviour": "ns2",
        "duration": f"{scenario.seconds:g} s",
        "warm_up": f"{scenario.warm_up_s:g} s",
        "phy": {
            "standard": "802.11b",
            "rate": "11 Mb/s",
            "control_rate": f"{scenario.control_mbps:g} Mb/s",
        },
        "mac": {"rts_threshold": "0 B"} if scenario.rts else {},
        "medium": MEDIUM["ns2"],
        "queue": limit(scenario.queue_frames),
        "tcp": {
            "mss": f"{scenario.segment_bytes} B",
            "window": f"{scenario.window} packets",
            "ack_every": scenario.ack_every,
            "ack_delay": f"{scenario.ack_delay_s:g} s",
            "ack_timer": "ticks" if scenario.agents == "full" else "segment",
            "handshake": True,
        },
        "stations": [],
        "hosts": [],
        "flows": [],
    }


def limit(frames: int) -> dict[str, str]:
    """A queue with ns-2's limit, as the behaviour counts it."""
    return {"limit": f"{frames} packets"}


def add_users(network: dict[str, Any], scenario: Sessions) -> None:
    """Stations that fetch files."""
    place = {"position": ["0 m", "0 m"], "circle": CIRCLE["ns2"]}
    network["stations"].append({"name": "user", "count": scenario.stations, **place})
    web = {
        "file_size": f"{scenario.mean_bytes:g} B",
        "distribution": scenario.law,
        "think_time": f"{scenario.think_s:g} s",
        "whole_segments": True,
    }
    flow = {"name": "page", "from": AP, "to": "user", "source": "web", "web": web}
    network["flows"].append(flow)


def add_transfers(network: dict[str, Any], scenario: Transfers) -> None:
    """A station for each flow, on the circle, and a server where the flow has one."""
    radius_m = float(CIRCLE["ns2"].split()[0])
    for number, flow in enumerate(scenario.flows, 1):
        angle = 2 * math.pi * (number - 1) / len(scenario.flows)
        place = [f"{radius_m * math.cos(angle):.9f} m", f"{radius_m * math.sin(angle):.9f} m"]
        station = {"name": f"sta{number}", "position": place, "rate": f"{flow.mbps:g} Mb/s"}
        network["stations"].append(station)
        far = AP
        if flow.delay_ms is not None:
            far = f"server{number}"
            wire = {"link": AP, "rate": "100 Mb/s", "delay": f"{flow.delay_ms:g} ms"}
            network["hosts"].append({"name": far, **wire})
        ends = (far, f"sta{number}") if flow.direction == "down" else (f"sta{number}", far)
        tcp = {"name": str(number), "from": ends[0], "to": ends[1], "source": "tcp"}
        network["flows"].append(tcp | BEGIN)


def run_ours(scenario: Transfers | Sessions) -> Transferred | Browsed:
    """One replication in this process."""
    figures, cost = timed(described(scenario), scenario)
    medium = figures["medium"]
    if isinstance(scenario, Transfers):
        rates = [connection["goodput_bps"] for connection in figures["connections"].values()]
        queue = figures["queues"][AP]["length_mean_packets"]
        return Transferred(flow_bps=rates, ap_queue_frames=queue, **cost)
    return Browsed(
        sessions=medium["sessions"],
        delay_s=medium["sessions"] * medium["session_mean_s"],
        segments=medium["goodput_bps"] * scenario.seconds / 8 / scenario.segment_bytes,
        delay_p50_s=mean_median_s(figures),
        delay_p95_s=medium["session_p95_s"],
        **cost,
    )


def mean_median_s(figures: Mapping[str, Any]) -> float:
    """The mean over stations of the median of each one's sessions, as `sessions.tcl` reports it."""
    return fmean(each["session_p50_s"] for each in figures["connections"].values())


def timed(network: dict[str, Any], of: Scenario) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Figures of one replication, and its cost: building the network and running it."""
    built = Network(network)
    before = time.process_time()
    results = built.simulate(seed=of.seed, replications=1, workers=1)
    cost: dict[str, Any] = {
        "simulator": "airqueue ns2",
        "cpu_s": time.process_time() - before,
        "simulated_s": of.warm_up_s + of.seconds,
    }
    return results.runs[0], cost
