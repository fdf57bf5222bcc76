"""Stations that compute the limits of their queues by themselves (``decided_by = "routers"``).

Each station has the state machine of a router. A router is told what its own station sees: the rates
and timing of its links, the flows that pass, how busy its medium is. Everything else it learns from
messages, which are unicast packets to each station that decodes it: they wait in its queue, take
airtime, and get lost. Routers are called every ``STEP_NS`` of simulated time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from airqueue import _native
from airqueue.models.mesh_topology import Topology
from airqueue.sizing.mesh_changes import changes
from airqueue.sizing.mesh_control import Observation
from airqueue.text import seconds

if TYPE_CHECKING:
    from airqueue.monitored import Buffers, Map
    from airqueue.records import MeshDecisionDict
    from airqueue.simulate.report_types import SetLimit

STEP_NS: Final = 10_000_000
HEADERS_BYTES: Final = 28
"""IPv4 and UDP."""
UNSIZED_PACKETS: Final = 50
"""Safe limit of a station whose own limit is not in packets."""
_SECRET: Final = b"the stations of this network"
_IDLE_S: Final = 10.0
"""A flow that has not sent for so long is no longer active, for routers as for the observer."""
_LONGEST_NS: Final = 2**32 - 1
_ROUTER: Final = re.compile(r"router (\d+)")
_NS: Final = 1e9

SetQueue = Callable[[str, str | None, int | None], None]
"""Sets the limit of a station's queue, or of a flow's part of it; None: as it was."""


@dataclass
class _Known:
    """What routers have been told, by station."""

    links: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    routes: dict[tuple[int, int], tuple[int | None, int | None, None, int]] = field(
        default_factory=dict
    )


class MeshRouters:
    """The routers of a replication."""

    def __init__(
        self, layout: Map, monitor: _native.Monitor, settings: Buffers, segment_bytes: int
    ) -> None:
        """Begin with routers that know nothing."""
        self._names = layout["stations"]
        self._flows = [flow["name"] for flow in layout["flows"]]
        self._monitor = monitor
        self._near: dict[int, list[int]] = {}
        for a, b in layout["neighbours"]:
            self._near.setdefault(a, []).append(b)
            self._near.setdefault(b, []).append(a)
        self._routers = {
            at: _native.MeshRouter(
                at + 1,
                1,
                _SECRET,
                queues=settings["queues"],
                domains=settings["domains"],
                unsized_packets=max(1, layout["limit_packets"][at] or UNSIZED_PACKETS),
                segment_bytes=segment_bytes,
                every_s=max(1.0, settings["every_s"]),
                hold_s=settings["hold_s"],
            )
            for at in sorted(self._near)
        }
        self._known = _Known()
        self._mail: dict[int, tuple[int, int, bytes]] = {}
        self._numbered = 0
        self._changes = _Changes()

    def look(self, seen: Observation, now_ns: int) -> None:
        """Tell each router what its station sees."""
        self._changes.look(seen)
        place = {name: at for at, name in enumerate(self._names)}
        for link, exchange in seen.exchanges.items():
            ends = place[link.sender], place[link.receiver]
            time_ns = min(_LONGEST_NS, max(1, round(float(exchange.round_trip_s) * _NS)))
            facts = round(link.rate_bps), time_ns
            if self._known.links.get(ends) != facts:
                self._known.links[ends] = facts
                self._routers[ends[0]].on_link(ends[1] + 1, *facts, now_ns)
        self._tell_routes(seen, place, now_ns)
        for flow, name in enumerate(self._flows):
            if name in seen.active:
                for station in seen.topology.flows[flow].route:
                    self._routers[place[station]].on_active(flow, now_ns)
        for at, router in self._routers.items():
            router.on_busy(seen.busy[self._names[at]], now_ns)

    def _tell_routes(self, seen: Observation, place: dict[str, int], now_ns: int) -> None:
        routes = {}
        for number, flow in enumerate(seen.topology.flows):
            passed = [place[name] for name in flow.route]
            before = [None, *(at + 1 for at in passed[:-1])]
            behind = [*(at + 1 for at in passed[1:]), None]
            delays = [round(flow.other_delay_s * 1e6), *(0 for _ in passed[1:])]
            for at, previous, following, delay_us in zip(
                passed, before, behind, delays, strict=True
            ):
                routes[at, number] = previous, following, None, delay_us
        for at, number in self._known.routes.keys() - routes.keys():
            self._routers[at].on_route(number, None, now_ns)
        for (at, number), hop in routes.items():
            if self._known.routes.get((at, number)) != hop:
                self._routers[at].on_route(number, hop, now_ns)
        self._known.routes = routes

    def step(self, run: _native.Run, now_ns: int, set_queue: SetQueue) -> list[SetLimit]:
        """Deliver and send messages and set limits; return a row for each limit that was set."""
        for number, arrived in self._monitor.finished(run):
            sender, receiver, message = self._mail.pop(number)
            if arrived:
                self._routers[receiver].on_message(sender + 1, message, now_ns)
        rows: list[SetLimit] = []
        for at, router in self._routers.items():
            router.on_time(now_ns)
            while (due := router.poll_message(now_ns)) is not None:
                self._broadcast(run, at, due)
            decision = router.poll_decision(now_ns)
            if decision is not None:
                rows += self._set(decision, at, now_ns / _NS, set_queue)
        return rows

    def _broadcast(self, run: _native.Run, sender: int, message: bytes) -> None:
        for receiver in self._near[sender]:
            self._numbered += 1
            self._mail[self._numbered] = sender, receiver, message
            size_bytes = len(message) + HEADERS_BYTES
            self._monitor.send(run, sender, receiver, size_bytes, self._numbered)

    def _set(
        self, decision: MeshDecisionDict, at: int, now_s: float, set_queue: SetQueue
    ) -> Iterator[SetLimit]:
        for change in decision["changes"]:
            number, packets = change["flow"], change["packets"]
            flow = None if number is None else self._flows[number]
            set_queue(self._names[at], flow, packets)
            yield {
                "time_s": now_s,
                "station": self._names[at],
                "flow": flow,
                "limit_packets": packets,
                "trigger": self._changes.trigger(now_s),
                "reason": None if packets is None else self._reason(decision, number),
            }

    def _reason(self, decision: MeshDecisionDict, number: int | None) -> str:
        reasons = (
            f"{self._flows[of['flow']]}: {of['reason']}."
            for of in decision["reasons"]
            if number in {None, of["flow"]}
        )
        return _ROUTER.sub(lambda found: self._names[int(found[1]) - 1], " ".join(reasons))


class _Changes:
    """What has changed last for those who see the whole network, to say how late routers are."""

    def __init__(self) -> None:
        self._sent_s: dict[str, float] = {}
        self._mesh: Topology | None = None
        self._last: tuple[float, str] = (0.0, "the network has begun")

    def look(self, seen: Observation) -> None:
        """Compare the network with what it was at the last look."""
        self._sent_s |= dict.fromkeys(seen.active, seen.time_s)
        flows = tuple(
            flow
            for flow in seen.topology.flows
            if seen.time_s - self._sent_s.get(flow.name, -_IDLE_S) < _IDLE_S
        )
        before = self._mesh
        if flows:
            self._mesh = replace(seen.topology, flows=flows)
            why = changes(before, self._mesh)
        else:
            self._mesh = None
            ended = () if before is None else before.flows
            why = tuple(f"{flow.name} sends no more" for flow in ended)
        if why:
            self._last = seen.time_s, "; ".join(why)

    def trigger(self, now_s: float) -> str:
        """Return the last change, and how long ago it was seen."""
        time_s, what = self._last
        return f"{what}, {seconds(now_s - time_s)} before"
