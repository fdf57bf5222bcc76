"""A replication that sets the limits of queues while it runs, by the table ``buffers``.

Every ``look_s`` of simulated time the engine's view of the network becomes an `Observation`. The
decision of `airqueue.sizing.mesh_control` becomes limits, or the router of each station is told its
part of it (`airqueue.simulate.routers`). Looks are at exact multiples of ``look_s``, however long the
pieces of the run are: scenario and seed determine all results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from airqueue.models.mesh_exchange import MeshExchange
from airqueue.models.mesh_topology import Flow, Link, Topology
from airqueue.models.packets import TCP_IP_BYTES
from airqueue.simulate.reported import buffers_of, map_of, run_of, snapshot_of
from airqueue.simulate.routers import STEP_NS, MeshRouters
from airqueue.simulate.tables import LIMITS
from airqueue.sizing.mesh_control import Controller, Decision, Observation, Policy

if TYPE_CHECKING:
    from airqueue import _native
    from airqueue.monitored import Buffers, FlowSnapshot, Map, Snapshot
    from airqueue.records import OpportunitiesDict, SeriesDict
    from airqueue.simulate.report_types import SetLimit

_NS: Final = 1_000_000_000
_UNUSED_BPS: Final = 1e6
"""Rate of links without flows: these links define neighbours, and do not use airtime."""


class ControlledReplication:
    """A `Run` of a scenario with the table ``buffers``; its methods of a run delegate to this run."""

    def __init__(self, scenario: _native.Scenario, run: _native.Run) -> None:
        """Steer a run at time zero."""
        assert scenario.buffers is not None
        settings = buffers_of(scenario.buffers)
        self._run = run
        self._monitor = scenario.monitor()
        layout = map_of(self._monitor.map())
        self._network = ObservedNetwork(layout)
        segment_bytes = self._network.segment_bytes
        self._controller = Controller(_policy(settings, segment_bytes))
        self._routers: MeshRouters | None = None
        if settings["decided_by"] == "routers":
            self._routers = MeshRouters(layout, self._monitor, settings, segment_bytes)
        self._look_ns = round(settings["look_s"] * _NS)
        self._next_look_ns = self._look_ns
        self._next_step_ns = STEP_NS
        self._seen = self._snapshot()
        self._rows: list[SetLimit] = []

    def advance(self, seconds: float) -> None:
        """Advance by this simulated time, at most to the end; look and set limits meanwhile."""
        end_ns = min(self._now_ns() + round(seconds * _NS), round(self._run.end_s * _NS))
        while self._now_ns() < end_ns:
            to_ns = min(end_ns, self._next_look_ns)
            if self._routers is not None:
                to_ns = min(to_ns, self._next_step_ns)
            self._run.advance((to_ns - self._now_ns()) / _NS)
            if to_ns == self._next_look_ns:
                self._next_look_ns += self._look_ns
                self._look()
            if self._routers is not None and to_ns == self._next_step_ns:
                self._next_step_ns += STEP_NS
                self._rows += self._routers.step(self._run, to_ns, self._set_limit)

    def _now_ns(self) -> int:
        return round(self._run.now_s * _NS)

    def _snapshot(self) -> Snapshot:
        return snapshot_of(self._monitor.snapshot(self._run))

    def _look(self) -> None:
        before, self._seen = self._seen, self._snapshot()
        seen = self._network.observation(before, self._seen)
        if self._routers is not None:
            self._routers.look(seen, self._now_ns())
            return
        decision = self._controller.observe(seen)
        if decision is not None:
            for (station, flow), packets in decision.changes.items():
                self._set_limit(station, flow, packets)
            self._rows += _rows(decision, seen.topology)

    def _set_limit(self, station: str, flow: str | None, packets: int | None) -> None:
        self._monitor.set_limit(self._run, station, flow, packets)

    @property
    def now_s(self) -> float:
        """The simulated time, warm-up included."""
        return self._run.now_s

    @property
    def end_s(self) -> float:
        """Warm-up and duration."""
        return self._run.end_s

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._run.done

    def results(self) -> str:
        """Return the run's figures, with the limits that were set under ``limits``, as JSON."""
        text = self._run.results()
        return json.dumps({**run_of(text), LIMITS: self._rows}) if self._rows else text

    def series(self) -> SeriesDict | None:
        """Return the run's time series."""
        return self._run.series()

    def opportunities(self) -> OpportunitiesDict | None:
        """Return the delivery opportunities of the recorders' link."""
        return self._run.opportunities()

    def close_pcap(self) -> None:
        """End the run's capture."""
        self._run.close_pcap()


class ObservedNetwork:
    """A network, from the engine's map and the engine's looks, which have the routes of flows."""

    def __init__(self, layout: Map) -> None:
        self.stations = layout["stations"]
        self._flows = layout["flows"]
        self._heard = [(self.stations[a], self.stations[b]) for a, b in layout["neighbours"]]
        largest = max((flow["packet_bytes"] for flow in self._flows), default=0)
        self.segment_bytes = max(1, largest - TCP_IP_BYTES)
        """Payload of the largest packets, which λ counts."""
        self._known: tuple[_Seen, Topology] | None = None
        """Result for the last routes and links, which rarely change."""

    def observation(self, before: Snapshot, now: Snapshot) -> Observation:
        """Return the observation of the time between two looks of the engine."""
        elapsed_s = now["now_s"] - before["now_s"]
        active, rates_bps = set(), {}
        for flow, then, of in zip(self._flows, before["flows"], now["flows"], strict=True):
            delivered = of["delivered_bytes"] - then["delivered_bytes"]
            rates_bps[flow["name"]] = 8.0 * delivered / elapsed_s
            if is_answered(of) and (delivered or of["in_transit_packets"]):
                active.add(flow["name"])
        busy = {
            station: min(1.0, (to_s - from_s) / elapsed_s)
            for station, from_s, to_s in zip(
                self.stations, before["busy_s"], now["busy_s"], strict=True
            )
        }
        seen = self._seen(now)
        if self._known is None or self._known[0] != seen:
            self._known = seen, self._topology(seen)
        return Observation(
            time_s=now["now_s"],
            topology=self._known[1],
            active=frozenset(active),
            rates_bps=rates_bps,
            busy=busy,
            exchanges=seen.exchanges,
        )

    def mesh(self, now: Snapshot) -> tuple[Topology, Mapping[Link, MeshExchange]]:
        """Return the mesh in a look of the engine, and the timing of used links."""
        seen = self._seen(now)
        return self._topology(seen), seen.exchanges

    def _seen(self, now: Snapshot) -> _Seen:
        return _Seen(self._routes(now), self._hops(now))

    def _routes(self, now: Snapshot) -> tuple[Flow, ...]:
        """Return the flows with the stations of their routes."""
        return tuple(
            Flow(flow["name"], tuple(seen["route"]), other_delay_s=seen["elsewhere_s"])
            for flow, seen in zip(self._flows, now["flows"], strict=True)
        )

    def _hops(self, now: Snapshot) -> dict[tuple[str, str], _Hop]:
        """Return the links that flows use; if flows share a link, the slowest flow counts."""
        hops: dict[tuple[str, str], _Hop] = {}
        for seen in now["flows"]:
            for (sender, receiver), of in zip(pairwise(seen["route"]), seen["hops"], strict=True):
                hop = _Hop(sender, receiver, of["rate_bps"], of["data_s"], of["ack_s"])
                known = hops.get((sender, receiver))
                hops[sender, receiver] = hop if known is None else known.slower(hop)
        return hops

    def _topology(self, seen: _Seen) -> Topology:
        hops = seen.hops
        links = [hop.link for hop in hops.values()]
        links += [
            Link(a, b, _UNUSED_BPS)
            for a, b in self._heard
            if (a, b) not in hops and (b, a) not in hops
        ]
        return Topology(
            nodes=tuple(self.stations),
            links=tuple(links),
            flows=seen.flows,
        )


def is_answered(flow: FlowSnapshot) -> bool:
    """Whether TCP governs a flow: B is what its window needs, and a call that is not held back by
    losses would only lose packets in a small queue."""
    return any(hop["ack_s"] > 0 for hop in flow["hops"])


def _policy(settings: Buffers, segment_bytes: int) -> Policy:
    """Return the controller's part of the table ``buffers``."""
    return Policy(
        segment_bytes=segment_bytes,
        domains=settings["domains"],
        carrying=settings["carrying"],
        allocation=settings["allocation"],
        rounding=settings["rounding"],
        queues=settings["queues"],
        source=settings["source"],
        every_s=settings["every_s"],
        hold_s=settings["hold_s"],
        change_packets=settings["change_packets"],
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """From a look at a network: flows with their routes, and the links they use, by their ends."""

    flows: tuple[Flow, ...]
    hops: Mapping[tuple[str, str], _Hop]

    @property
    def exchanges(self) -> Mapping[Link, MeshExchange]:
        return {hop.link: hop.exchange for hop in self.hops.values()}


@dataclass(frozen=True, slots=True)
class _Hop:
    """A link that flows use, with the rate and the timing of their frames."""

    sender: str
    receiver: str
    rate_bps: float
    data_s: float
    ack_s: float

    def slower(self, other: _Hop) -> _Hop:
        """Return this link for the slower of two flows."""
        return _Hop(
            self.sender,
            self.receiver,
            min(self.rate_bps, other.rate_bps),
            max(self.data_s, other.data_s),
            max(self.ack_s, other.ack_s),
        )

    @property
    def link(self) -> Link:
        return Link(self.sender, self.receiver, self.rate_bps)

    @property
    def exchange(self) -> MeshExchange:
        return MeshExchange(np.array(self.data_s), np.array(self.ack_s))


def _rows(decision: Decision, topology: Topology) -> list[SetLimit]:
    """Return a row for each limit that changed."""
    trigger = "; ".join(decision.triggers)
    routes = {flow.name: flow.route for flow in topology.flows}
    return [
        {
            "time_s": decision.time_s,
            "station": station,
            "flow": flow,
            "limit_packets": packets,
            "trigger": trigger,
            "reason": _reason(decision, routes, station, flow),
        }
        for (station, flow), packets in decision.changes.items()
    ]


def _reason(
    decision: Decision, routes: Mapping[str, tuple[str, ...]], station: str, flow: str | None
) -> str | None:
    """Return the reasons for a queue's limit, from all its flows; None for a released limit."""
    if decision.changes[station, flow] is None:
        return None
    shown = (
        reason
        for name, reason in decision.reasons.items()
        if flow in {None, name} and station in routes[name]
    )
    return " ".join(shown)
