"""The flows over several hops of `mesh.py` as scenarios of ours, with behaviour ns2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .mesh import Mesh, Meshed
from .ours_tcp import BEGIN, base, limit, timed


def described(scenario: Mesh) -> dict[str, Any]:
    """The scenario; nodes and flows are called by their numbers, `node0`, `1` and `call1`."""
    network = base(scenario)
    for number, (x, y, frames) in enumerate(scenario.nodes()):
        place = {"position": [f"{x:g} m", f"{y:g} m"], "queue": limit(frames)}
        network["stations"].append({"name": f"node{number}", **place})
    call = {"source": "cbr", "packet_rate": "25 packets/s", "size": "40 B"}
    for number, route in enumerate(scenario.routes(), 1):
        source, *relays, gateway = (f"node{node}" for node in route)
        path = {"from": source, "to": gateway, **BEGIN} | ({"via": relays} if relays else {})
        network["flows"].append({"name": str(number), "source": "tcp", **path})
        if scenario.calls:
            network["flows"].append({"name": f"call{number}", **call, **path})
    return network


def run_ours(scenario: Mesh) -> Meshed:
    """One replication in this process."""
    figures, cost = timed(described(scenario), scenario)
    return measured(scenario, figures, cost)


def measured(scenario: Mesh, figures: Mapping[str, Any], cost: Mapping[str, Any]) -> Meshed:
    """Figures of a run as those of ns-2 are given."""
    nodes = [f"node{number}" for number, _ in enumerate(scenario.nodes())]
    flows = [str(number) for number, _ in enumerate(scenario.routes(), 1)]
    connections = [figures["connections"][flow] for flow in flows]
    calls = [figures["flows"][f"call{flow}"] for flow in flows] if scenario.calls else []
    return Meshed(
        flow_bps=[one["goodput_bps"] for one in connections],
        rtt_s=[one["rtt_mean_s"] for one in connections],
        overflows=[figures["queues"][node]["dropped_packets"] for node in nodes],
        given_up=[figures["stations"][node]["given_up_packets"] for node in nodes],
        call_delay_s=[call["delay_mean_s"] for call in calls],
        calls_sent=[call["offered_packets"] for call in calls],
        calls_arrived=[call["delivered_packets"] for call in calls],
        **cost,
    )
