"""The collective buffer of a mesh as a running mechanism: what to set when (MESH Fig. 6).

`Controller` gets observations of a mesh from time to time and returns the limits of its queues. A
controller reads no clock and sets nothing itself, so that it decides alike for a simulation, where
it is called with simulated time, as beside real routers. The buffers are those of
`airqueue.models.virtual_queues`, of the flows that are active.

It computes anew at once when a flow begins or ends, or a route or a rate changes, and otherwise every
``every_s``, for what is measured. So that limits stand still unless they matter:

- What was measured since changes nothing while no flow's bottleneck moves, nor its B by
  ``change_packets``, and limits are set only if one of them moves by as much.
- A limit that was raised less than ``hold_s`` ago is not set back to what it was or to anything
  between; it is once the time is over. While a link goes up and down again and again the limits are
  thus the larger ones: those keep the air in use. Every rise and any other fall is set at once.

>>> from airqueue.models.mesh_topology import chain
>>> decision = Controller().observe(Observation(0.0, chain(4), frozenset({"flow"})))
>>> decision.triggers, list(decision.limits.values())
(('flow has begun',), [2, 2, 3, 3, 3])
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np

from airqueue.models.checks import FloatArray, choice, number, numbers
from airqueue.models.collision_domain import ALIKE, SATURATED, Bottleneck, CollisionDomains
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_allocation import STRATEGIES
from airqueue.models.mesh_exchange import MeshExchange
from airqueue.models.mesh_topology import Flow, Link, Topology, check_known
from airqueue.models.packets import SEGMENT_BYTES, TCP_IP_BYTES
from airqueue.models.virtual_queues import SOURCES, FlowBuffers, MeshBuffers, sized_queues
from airqueue.sizing.mesh_air import CarriedAir
from airqueue.sizing.mesh_changes import changes

DOMAINS: Final = ("two-hop", "busy")
RATES: Final = ("link-rates", "flow-rates")
ROUNDINGS: Final = ("nearest", "largest-remainder", "best")
QUEUES: Final = ("node", "flow")

Slot: TypeAlias = tuple[str, str | None]
"""What has a limit: a node, and a flow or None for the node's one queue."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An observation of a mesh; raises ParameterError or TopologyError."""

    time_s: float
    topology: Topology
    """Links with their present rates, flows with their present routes and delays outside the mesh."""
    active: frozenset[str]
    """Flows that have sent since the last observation."""
    rates_bps: Mapping[str, float] = field(default_factory=dict)
    """Measured end-to-end rate of each flow since then, of IP packets; 0 for those not named."""
    busy: Mapping[str, float] = field(default_factory=dict)
    """Of each node, the fraction of that time in which its medium was busy or it sent."""
    exchanges: Mapping[Link, MeshExchange] = field(default_factory=dict)
    """Timing of links, where it is known better than from their radio."""

    def __post_init__(self) -> None:
        number("time_s", self.time_s)
        flows = frozenset(flow.name for flow in self.topology.flows)
        for name in (*sorted(self.active), *self.rates_bps):
            if name not in flows:
                raise ParameterError("active", f"there is no flow {name!r} in the topology")
        nodes = frozenset(self.topology.nodes)
        for node, fraction in self.busy.items():
            check_known("busy", node, nodes)
            number(f"busy of {node}", fraction, at_least=0, at_most=1)
        numbers("rates_bps", list(self.rates_bps.values()), at_least=0)


@dataclass(frozen=True, slots=True)
class Policy:
    """How limits are computed and when they are set; raises ParameterError."""

    domains: str = "two-hop"
    """How a flow's bottleneck is found. "two-hop": at max-min fair rates of the two-hop model.
    "busy": among the domains that are measured to be full, which is where the busier end of the link
    in the middle is busy for `saturated` of the time since the last computation; if there is none,
    among the busiest (`CollisionDomains.busy_bottlenecks`). Who belongs to a domain is by two hops in
    both."""
    saturated: float = SATURATED
    """Busy time from which a domain is full; it is until it falls below that by `ALIKE`."""
    carrying: str = "link-rates"
    """λ, of the slowest link ("link-rates", MESH), or measured ("flow-rates", `mesh_air`)."""
    memory_s: float = 30.0
    """Time constant with which a measured λ falls."""
    allocation: str = "ratio"
    """Of B to the nodes, one of `airqueue.models.mesh_allocation.STRATEGIES`."""
    rounding: str = "nearest"
    queues: str = "node"
    """"flow": a queue and a limit for each flow at each node, as fair queueing has. "node": one FIFO
    for all flows. With λ of link rates each flow is sized as if it had the air alone, so the node
    needs what the most demanding of its flows does; with measured λ, by which flows share the air,
    it needs their sum."""
    source: str = "first"
    """Whether the source's queue is the first of the path, or keeps its own limit: "separate"."""
    minimum_packets: int = 1
    """Least limit of an active flow's node."""
    every_s: float = 10.0
    """How often limits are recomputed without a change."""
    change_packets: int = 1
    """Least change for which limits are set."""
    hold_s: float = 30.0
    """How long a raised limit is kept."""
    idle_s: float = 10.0
    """A flow that has not sent for so long is no longer active."""
    radio: str | None = None
    """Timing of all links, as in `airqueue.models.virtual_queues.virtual_queues`."""
    segment_bytes: float = SEGMENT_BYTES

    def __post_init__(self) -> None:
        choice("domains", self.domains, DOMAINS)
        number("saturated", self.saturated, above=ALIKE, at_most=1)
        choice("carrying", self.carrying, RATES)
        number("memory_s", self.memory_s, above=0)
        choice("allocation", self.allocation, tuple(STRATEGIES))
        choice("rounding", self.rounding, ROUNDINGS)
        choice("queues", self.queues, QUEUES)
        choice("source", self.source, SOURCES)
        number("minimum_packets", self.minimum_packets, at_least=1, whole=True)
        number("every_s", self.every_s, above=0)
        number("change_packets", self.change_packets, at_least=1, whole=True)
        number("hold_s", self.hold_s, at_least=0)
        number("idle_s", self.idle_s, at_least=0)
        number("segment_bytes", self.segment_bytes, at_least=1)

    @property
    def measures(self) -> bool:
        """Whether busy times are needed."""
        return self.domains == "busy" or self.carrying == "flow-rates"


@dataclass(frozen=True, slots=True)
class Decision:
    """Limits that change at a time, and why."""

    time_s: float
    triggers: tuple[str, ...]
    """What triggered the computation, in sentences."""
    limits: Mapping[Slot, int]
    """All that are in force now, in packets."""
    changes: Mapping[Slot, int | None]
    """What is to be set; None releases a queue, which then has the limit that it would have without.

    A destination has one too, for the acknowledgements that it sends. A flow's limit at a node holds
    for either direction."""
    held: Mapping[Slot, int]
    """Limits that are not set, since they would lower a recently raised limit."""
    reasons: Mapping[str, str]
    """The reason for each active flow's limits."""


class Controller:
    """Decides on the limits of a mesh's queues, from one observation to the next."""

    def __init__(self, policy: Policy | None = None) -> None:
        """Begin with no limits set."""
        self.policy = policy or Policy()
        self._time_s = -math.inf
        self._sent_s: dict[str, float] = {}
        """When each flow was last seen to send."""
        self._part: tuple[Topology, tuple[Flow, ...], Topology | None] | None = None
        """The topology that was seen last, its active flows, and its part with these."""
        self._domains: CollisionDomains | None = None
        """Of what was sized last; None where no flow was active."""
        self._due_s = -math.inf
        """When to compute anew though nothing has changed."""
        self._busy = _Means()
        self._rates = _Means()
        self._full: dict[tuple[str, str], bool] = {}
        """Which domains were measured to be full, by the link in the middle."""
        self._air = CarriedAir(self.policy.memory_s)
        self._sized: dict[str, FlowBuffers] = {}
        """What the limits are for, by flow."""
        self._wanted: dict[Slot, int] = {}
        """The limits that were computed for it."""
        self._limits: dict[Slot, int] = {}
        """Those in force."""
        self._held: dict[Slot, int] = {}
        """Those of them that are not, so as not to take back a rise."""
        self._raised: dict[Slot, tuple[float, int]] = {}
        """When a limit was last raised, and from what."""

    def observe(self, seen: Observation) -> Decision | None:
        """Take in what is seen, and return what to set; None where that is nothing.

        Raises ParameterError, also for an observation that is older than the last, and TopologyError
        for a mesh that is too large; the limits in force then stay.
        """
        if seen.time_s < self._time_s:
            raise ParameterError(
                "time_s",
                f"time_s is {seen.time_s:g}; the last was {self._time_s:g}, which is later",
            )
        elapsed_s = seen.time_s - self._time_s if math.isfinite(self._time_s) else 0.0
        self._time_s = seen.time_s
        mesh = self._active_part(seen)
        if mesh is None:
            return self._release(seen.time_s)
        why = changes(None if self._domains is None else self._domains.topology, mesh)
        domains = self._domains
        if why or domains is None:
            domains = CollisionDomains(mesh)
        if self.policy.measures:
            self._check_busy(seen, domains)
            self._busy.add(seen.busy, elapsed_s)
            self._rates.add(seen.rates_bps, elapsed_s)
        if not why and seen.time_s < self._due_s:
            return None
        return self._decide(seen, domains, why)

    def _active_part(self, seen: Observation) -> Topology | None:
        """Return the mesh with the flows that are active; None if none is."""
        known = [flow.name for flow in seen.topology.flows]
        sent_s = self._sent_s | dict.fromkeys(seen.active, seen.time_s)
        self._sent_s = {name: sent_s[name] for name in known if name in sent_s}
        flows = tuple(
            flow
            for flow in seen.topology.flows
            if seen.time_s - self._sent_s.get(flow.name, -math.inf) <= self.policy.idle_s
            or flow.name in seen.active
        )
        if self._part is None or self._part[0] is not seen.topology or self._part[1] != flows:
            mesh = replace(seen.topology, flows=flows) if flows else None
            self._part = seen.topology, flows, mesh
        return self._part[2]

    def _release(self, time_s: float) -> Decision | None:
        """Release all queues, as no flow is active."""
        flows = () if self._domains is None else self._domains.topology.flows
        self._domains, self._sized = None, {}
        return self._set(time_s, tuple(f"{flow.name} sends no more" for flow in flows), {}, {})

    def _check_busy(self, seen: Observation, domains: CollisionDomains) -> None:
        for link in domains.links:
            for node in (link.sender, link.receiver):
                if node not in seen.busy:
                    raise ParameterError(
                        "busy",
                        f"busy has nothing of {node}; it must have every node of an active flow",
                    )

    def _decide(
        self, seen: Observation, domains: CollisionDomains, why: tuple[str, ...]
    ) -> Decision | None:
        policy = self.policy
        (busy, _), (rates, elapsed_s) = self._busy.taken(), self._rates.taken()
        bottlenecks = self._bottlenecks(domains, busy)
        measured = policy.carrying == "flow-rates"
        if measured:
            self._measure(domains, busy, rates, elapsed_s)
        buffers = sized_queues(
            domains,
            bottlenecks,
            policy.radio,
            most_bps=self._most_bps(domains, bottlenecks) if measured else None,
            exchanges=seen.exchanges,
            segment_bytes=policy.segment_bytes,
            strategy=policy.allocation,
            rounding=policy.rounding,
            minimum_packets=policy.minimum_packets,
            source=policy.source,
        )
        self._domains = domains
        self._due_s = seen.time_s + policy.every_s
        wanted = self._wanted
        if why or self._moved(buffers):
            self._sized = {each.flow.name: each for each in buffers.flows}
            wanted = self._limits_for(buffers)
        return self._set(
            seen.time_s, why or self._waited(), wanted, self._reasons(buffers, domains)
        )

    def _measure(
        self,
        domains: CollisionDomains,
        busy: Mapping[str, float],
        rates: Mapping[str, float],
        elapsed_s: float,
    ) -> None:
        """Let what was measured since the last computation be of the domains that there were."""
        if self._domains is not None and elapsed_s > 0:
            # λ counts the payload.
            payload = self.policy.segment_bytes / (self.policy.segment_bytes + TCP_IP_BYTES)
            flows = self._domains.topology.flows
            carried = [rates.get(flow.name, 0.0) * payload for flow in flows]
            of_domains = _of_domains(self._domains, busy)
            self._air.measured(self._domains, carried, of_domains, elapsed_s)
        self._air.move_to(domains)

    def _bottlenecks(
        self, domains: CollisionDomains, busy: Mapping[str, float]
    ) -> tuple[Bottleneck, ...]:
        if self.policy.domains == "two-hop":
            return domains.bottlenecks()
        fractions = _of_domains(domains, busy)
        full = {}
        for link, fraction in zip(domains.links, fractions, strict=True):
            ends = (link.sender, link.receiver)
            slack = ALIKE if self._full.get(ends, False) else 0.0
            full[ends] = bool(fraction >= self.policy.saturated - slack)
        self._full = full
        return domains.busy_bottlenecks(fractions, list(full.values()))

    def _most_bps(
        self, domains: CollisionDomains, bottlenecks: Sequence[Bottleneck]
    ) -> list[float]:
        """Return λ of each flow as measured, in bit/s of payload."""
        rates = {(link.sender, link.receiver): link.rate_bps for link in domains.links}
        most = []
        for flow, bottleneck in zip(domains.topology.flows, bottlenecks, strict=True):
            slowest = min(rates[flow.hops[hop - 1]] for hop in bottleneck.hops)
            most.append(slowest * self._air.carried(bottleneck) * self._share(domains, bottleneck))
        return most

    def _share(self, domains: CollisionDomains, bottleneck: Bottleneck) -> float:
        flows = domains.flows(domains.links.index(bottleneck.centre))
        return self._air.share(bottleneck, len(flows))

    def _moved(self, buffers: MeshBuffers) -> bool:
        """Return whether any flow has another bottleneck, or a B that differs by enough."""
        return any(
            each.bottleneck.hops != self._sized[each.flow.name].bottleneck.hops
            or abs(each.buffer.packets - self._sized[each.flow.name].buffer.packets)
            >= self.policy.change_packets
            for each in buffers.flows
        )

    def _limits_for(self, buffers: MeshBuffers) -> dict[Slot, int]:
        if self.policy.queues == "node":
            shared = "largest" if self.policy.carrying == "link-rates" else "sum"
            held = buffers.node_packets(with_ring=False, shared=shared, acknowledgements=True)
            return {(node, None): int(packets) for node, packets in held.items()}
        limits: dict[Slot, int] = {}
        for each in buffers.flows:
            pairs = [(queue.node, queue.packets) for queue in each.queues]
            if each.returned is not None:
                pairs.append(each.returned)
            limits |= {(node, each.flow.name): int(packets) for node, packets in pairs}
        return limits

    def _reasons(self, buffers: MeshBuffers, domains: CollisionDomains) -> dict[str, str]:
        reasons = {each.flow.name: each.reason() for each in buffers.flows}
        if self.policy.carrying == "flow-rates":
            for each in buffers.flows:
                reasons[each.flow.name] += (
                    f" What is measured there is {self._air.carried(each.bottleneck):.0%} of the "
                    f"links' rate, of which {self._share(domains, each.bottleneck):.0%} may be the "
                    "flow's."
                )
        return reasons

    def _set(
        self,
        time_s: float,
        triggers: tuple[str, ...],
        wanted: dict[Slot, int],
        reasons: dict[str, str],
    ) -> Decision | None:
        """Set the wanted limits, except those that would lower a raised limit too soon."""
        self._wanted = wanted
        held = {slot: packets for slot, packets in wanted.items() if self._holds(slot, packets)}
        self._held = held
        for slot in held:
            self._due_s = min(self._due_s, self._raised[slot][0] + self.policy.hold_s)
        limits = {slot: self._limits[slot] if slot in held else n for slot, n in wanted.items()}
        moved: dict[Slot, int | None] = {
            slot: n for slot, n in limits.items() if self._limits.get(slot) != n
        }
        moved |= dict.fromkeys(slot for slot in self._limits if slot not in limits)
        if not any(self._matters(slot, packets) for slot, packets in moved.items()):
            return None
        self._remember_rises(limits)
        self._limits = limits
        return Decision(time_s, triggers, dict(limits), moved, held, reasons)

    def _waited(self) -> tuple[str, ...]:
        """Return why limits are due to be recomputed although nothing has changed."""
        over = (self._raised[slot][0] + self.policy.hold_s for slot in self._held)
        if any(time_s <= self._time_s for time_s in over):
            return (f"{self.policy.hold_s:g} s have passed since a rise",)
        return (f"{self.policy.every_s:g} s have passed",)

    def _holds(self, slot: Slot, packets: int) -> bool:
        """Return whether a limit may not fall to so many packets yet."""
        now = self._limits.get(slot)
        if now is None or slot not in self._raised:
            return False
        raised_s, before = self._raised[slot]
        return before <= packets < now and self._time_s < raised_s + self.policy.hold_s

    def _matters(self, slot: Slot, packets: int | None) -> bool:
        now = self._limits.get(slot)
        return now is None or packets is None or abs(packets - now) >= self.policy.change_packets

    def _remember_rises(self, limits: Mapping[Slot, int]) -> None:
        for slot, now in self._limits.items():
            new = limits.get(slot, 0)
            if new > now:
                raised_s, before = self._raised.get(slot, (-math.inf, now))
                recent = self._time_s < raised_s + self.policy.hold_s
                self._raised[slot] = (self._time_s, min(before, now) if recent else now)
            elif new < now:
                self._raised.pop(slot, None)


class _Means:
    """Means over the time since they were last taken."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._elapsed_s = 0.0
        self._last: dict[str, float] = {}

    def add(self, values: Mapping[str, float], elapsed_s: float) -> None:
        """Take in what was measured for so long."""
        self._elapsed_s += elapsed_s
        self._last = dict(values)
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value * elapsed_s

    def taken(self) -> tuple[dict[str, float], float]:
        """Return the means and the time, and begin anew; the last values where it is none."""
        means, elapsed_s = self._last, self._elapsed_s
        if elapsed_s > 0:
            means = {name: total / elapsed_s for name, total in self._sums.items()}
        self._sums, self._elapsed_s = {}, 0.0
        return means, elapsed_s


def _of_domains(domains: CollisionDomains, busy: Mapping[str, float]) -> FloatArray:
    """Return how busy each domain is: the busier end of the link in its middle.

    A node that is new has not been busy.
    """
    ends = ((busy.get(link.sender, 0.0), busy.get(link.receiver, 0.0)) for link in domains.links)
    return np.array([min(1.0, max(of)) for of in ends])
