"""Buffers of every flow at every node of a mesh: virtual queues for a whole topology.

A node keeps one queue per outgoing link and flow (MESH section 3.2, virtual queues; section 6.2,
per-flow queues served by fair queueing), so flows that share relays do not share buffers. Each flow
is sized as if it were alone: B from Eq. (3) over its hops in its bottleneck domain, divided among
the nodes of these hops by a rule of `airqueue.models.mesh_allocation`. That is more than the domain
needs for all flows together, the more so the more flows there are and the longer the delay outside
the mesh; "share" takes what the flow gets in the domain for λ instead, which is the adaptive sizing
of the paper's outlook.

Nodes of a flow outside its bottleneck are not sized by the paper. Those before it get what the first
node in it got, those behind it what the last got: neither less than where a drop costs the same or
less, nor more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, choice, numbers
from airqueue.models.collision_domain import SHAPES, Bottleneck, CollisionDomains, shaped
from airqueue.models.mesh_allocation import ROUNDINGS, STRATEGIES, Allocation, allocate
from airqueue.models.mesh_buffer import NeighbourhoodBuffer, path_buffer
from airqueue.models.mesh_exchange import (
    DEFAULT_PRESET,
    MeshExchange,
    mesh_exchange,
    preset,
)
from airqueue.models.mesh_topology import Flow, Link, Topology
from airqueue.models.packets import SEGMENT_BYTES, SEGMENT_PARAMETER

RING_PACKETS: Final = 3
"""What the driver's ring holds at each node below the queues, on the paper's testbed (5.2.3)."""
CARRYING: Final = ("link", "share")


@dataclass(frozen=True, slots=True)
class Queue:
    """One flow's queue at one node for one outgoing link."""

    node: str
    link: Link
    flow: str
    hop: int
    """Hop of the flow, from 1."""
    packets: float
    """b_i: limit of the queue."""
    in_bottleneck: bool
    """Whether the link is in the flow's bottleneck domain; if not, the limit is its neighbour's."""


@dataclass(frozen=True, slots=True)
class FlowBuffers:
    """One flow: its bottleneck, its B and the limits along its route."""

    flow: Flow
    bottleneck: Bottleneck
    buffer: NeighbourhoodBuffer
    allocation: Allocation
    """Of the nodes in the bottleneck."""
    queues: tuple[Queue, ...]
    """Of every transmitting node of the route, from the source."""

    def reason(self) -> str:
        """Return why these limits, in a sentence."""
        where = "full" if self.bottleneck.saturated else "the busiest"
        return (
            f"{self.flow.name}: the collision domain around {self.bottleneck.centre} is {where} "
            f"({self.bottleneck.utilisation:.0%}) and holds {self.bottleneck.transmitters} of its "
            f"{len(self.queues)} hops. {self.buffer.reason()} packets."
        )


@dataclass(frozen=True, slots=True)
class MeshBuffers:
    """The queues of all flows."""

    topology: Topology
    flows: tuple[FlowBuffers, ...]
    ring_packets: int

    def queues_at(self, node: str) -> tuple[Queue, ...]:
        """Return the queues of a node, by flow."""
        return tuple(queue for each in self.flows for queue in each.queues if queue.node == node)

    def node_packets(self, *, with_ring: bool = True) -> dict[str, float]:
        """Return for every node that transmits what it may hold: its queues and the driver's ring.

        Where a node has one FIFO for all flows (a transmit queue), this is its size; ``with_ring``
        says whether the packets in the ring below count.
        """
        totals: dict[str, float] = {}
        for each in self.flows:
            for queue in each.queues:
                totals[queue.node] = totals.get(queue.node, 0.0) + queue.packets
        ring = float(self.ring_packets) if with_ring else 0.0
        return {node: total + ring for node, total in totals.items()}


def virtual_queues(
    topology: Topology,
    radio: str | None = None,
    *,
    exchanges: Mapping[Link, MeshExchange] | None = None,
    rates_bps: Sequence[float] | FloatArray | None = None,
    segment_bytes: float = SEGMENT_BYTES,
    strategy: str = "ratio",
    rounding: str = "nearest",
    minimum_packets: float = 1.0,
    ring_packets: float = RING_PACKETS,
    tie: str = "fewest",
    carrying: str = "link",
) -> MeshBuffers:
    """Size the queue of every flow at every node of a mesh.

    radio: name of a preset or physical layer (`airqueue.models.mesh_exchange.preset`) for all links;
    if not given, each link's own, else the topology's, else `DEFAULT_PRESET`. exchanges: explicit
    timing of links, instead. rates_bps: measured end-to-end rates of the flows; max-min fair rates if
    not given. strategy, rounding, minimum_packets: as in `airqueue.models.mesh_allocation.allocate`;
    1 keeps every relay able to pass something on. tie: as in `CollisionDomains.bottlenecks`.
    carrying: what the flow can reach at most, λ: the rate of its slowest "link" in the bottleneck, as
    in the paper (or its demand if that is less), or its "share" of the domain, max-min fair or
    measured.

    Raises ParameterError, among others for a link rate that the radio has not.

    >>> from airqueue.models.mesh_topology import chain
    >>> sized = virtual_queues(chain(4))
    >>> [queue.packets for queue in sized.flows[0].queues]
    [2.0, 2.0, 3.0, 3.0]
    >>> sized.node_packets()["n3"]
    6.0
    """
    ring = int(numbers("ring_packets", ring_packets, at_least=0, at_most=1e6, whole=True))
    choice("carrying", carrying, CARRYING)
    domains = CollisionDomains(topology)
    times = link_exchanges(topology, domains.links, radio, segment_bytes, exchanges)
    links = {(link.sender, link.receiver): link for link in domains.links}
    flows = []
    for flow, bottleneck in zip(
        topology.flows, domains.bottlenecks(rates_bps, tie=tie), strict=True
    ):
        route = [links[hop] for hop in flow.hops]
        inside = [route[hop - 1] for hop in bottleneck.hops]
        buffer = path_buffer(
            [float(times[link].round_trip_s) for link in inside],
            _carried_bps(flow, bottleneck, inside, carrying),
            segment_bytes,
            flow.other_delay_s,
        )
        allocation = allocate(
            float(buffer.packets),
            len(inside),
            strategy,
            rounding,
            minimum_packets=minimum_packets,
            airtimes_s=[float(times[link].data_s) for link in inside],
        )
        queues = _queues(flow, route, bottleneck, allocation)
        flows.append(FlowBuffers(flow, bottleneck, buffer, allocation, queues))
    return MeshBuffers(topology, tuple(flows), ring)


def _carried_bps(
    flow: Flow, bottleneck: Bottleneck, inside: list[Link], carrying: str
) -> list[float]:
    """Return what each link can carry of the flow at most; the least of them makes λ."""
    ceiling = flow.demand_bps if flow.demand_bps is not None else math.inf
    if carrying == "share":
        # Of an idle flow too: its queues get the minimum.
        ceiling = max(1.0, bottleneck.rate_bps)
    return [min(link.rate_bps, ceiling) for link in inside]


def link_exchanges(
    topology: Topology,
    links: Sequence[Link],
    radio: str | None = None,
    segment_bytes: float = SEGMENT_BYTES,
    explicit: Mapping[Link, MeshExchange] | None = None,
) -> Mapping[Link, MeshExchange]:
    """Return the timing of each link of a mesh: the explicit one, or that of its radio.

    radio, segment_bytes: as in `virtual_queues`. Raises ParameterError for a rate that a link's radio
    has not.

    >>> from airqueue.models.mesh_topology import chain
    >>> times = link_exchanges(chain(1), chain(1).links)
    >>> [float(time.round_trip_s.round(6)) for time in times.values()]
    [0.002698, 0.002698]
    """
    given = explicit or {}
    rest = [link for link in links if link not in given]
    times = dict(given)
    names = {link: radio or link.radio or topology.radio or DEFAULT_PRESET for link in rest}
    for name in dict.fromkeys(names.values()):
        its = [link for link in rest if names[link] == name]
        rates = np.array([link.rate_bps for link in its])
        found = mesh_exchange(name, rates, segment_bytes, rts=topology.rts)
        for i, link in enumerate(its):
            times[link] = MeshExchange(found.data_s[i], found.ack_s[i])
    return times


def _queues(
    flow: Flow, route: list[Link], bottleneck: Bottleneck, allocation: Allocation
) -> tuple[Queue, ...]:
    limits = dict(zip(bottleneck.hops, allocation.packets.tolist(), strict=True))
    first = bottleneck.hops[0]
    queues = []
    for hop, link in enumerate(route, start=1):
        # Outside, and in a gap of a route that leaves the domain and comes back: the one before.
        nearest = max((h for h in bottleneck.hops if h <= hop), default=first)
        queues.append(
            Queue(link.sender, link, flow.name, hop, limits[nearest], in_bottleneck=hop in limits)
        )
    return tuple(queues)


def _evaluate(
    *,
    shape: str,
    hops: float,
    flows: float,
    radio: str,
    rate_bps: float | None,
    segment_bytes: float,
    strategy: str,
    rounding: str,
    minimum_packets: float,
    ring_packets: float,
    carrying: str,
) -> dict[str, Any]:
    rate = preset(radio).rate_bps if rate_bps is None else rate_bps
    sized = virtual_queues(
        shaped(shape, hops, flows, rate),
        radio,
        segment_bytes=segment_bytes,
        strategy=strategy,
        rounding=rounding,
        minimum_packets=minimum_packets,
        ring_packets=ring_packets,
        carrying=carrying,
    )
    nodes = sized.node_packets()
    return {
        "flow_buffers_packets": [float(each.buffer.packets) for each in sized.flows],
        "first_flow_packets": [queue.packets for queue in sized.flows[0].queues],
        "largest_node_packets": max(nodes.values()),
        "reason": " ".join(each.reason() for each in sized.flows),
    }


MODEL = Model(
    name="virtual-queues",
    summary="Buffers of every flow at every node of a mesh, sized flow by flow (MESH 3.2, 6.2).",
    parameters=(
        Parameter("shape", "the mesh", "parking-lot", Kind.CHOICE, SHAPES),
        Parameter("hops", "hops of the longest flow", 6, Kind.WHOLE),
        Parameter("flows", "flows of a parking lot, arms of a cross", 3, Kind.WHOLE),
        Parameter(
            "radio", "preset or physical layer, as in mesh-exchange", DEFAULT_PRESET, Kind.TEXT
        ),
        Parameter("rate_bps", "of every link; the preset's highest if not given", None, Kind.RATE),
        SEGMENT_PARAMETER,
        Parameter("strategy", "how B is divided", "ratio", Kind.CHOICE, tuple(STRATEGIES)),
        Parameter("rounding", "to whole packets", "nearest", Kind.CHOICE, ROUNDINGS),
        Parameter("minimum_packets", "least queue of a flow at a node", 1.0),
        Parameter(
            "carrying", "λ: of the slowest link, or the flow's share", "link", Kind.CHOICE, CARRYING
        ),
        Parameter(
            "ring_packets", "what the driver's ring of each node holds", RING_PACKETS, Kind.WHOLE
        ),
    ),
    outputs=(
        Output("flow_buffers_packets", "B of each flow"),
        Output("first_flow_packets", "the first flow's queues from its source"),
        Output("largest_node_packets", "the most that a node holds, its ring included"),
        Output("reason", "why, flow by flow"),
    ),
    evaluate=_evaluate,
    example="shape=parking-lot hops=4..6",
    valid=(
        "Each flow is sized as if alone, so the sum is more than the air can use: an upper bound, as "
        "mesh-buffer. Nodes outside a flow's bottleneck get their neighbour's buffer."
    ),
)
