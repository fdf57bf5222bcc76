"""Buffers of every flow at every node of a mesh: virtual queues for a whole topology.

A node keeps one queue per outgoing link and flow (MESH section 3.2, virtual queues; section 6.2,
per-flow queues served by fair queueing), so flows that share relays do not share buffers. Each flow
is sized as if it were alone: B from Eq. (3) over its hops in its bottleneck domain, divided among
the nodes of these hops by a rule of `airqueue.models.mesh_allocation`. The sum exceeds the need of
the domain, the more so with more flows and a longer delay outside the mesh; "share" uses the flow's
share of the domain for λ instead, which is the adaptive sizing of the paper's outlook.

The paper does not size nodes of a flow outside its bottleneck. Nodes before the bottleneck get the
buffer of its first node, nodes behind it the buffer of its last node: not less than where a drop
costs as much or less, and not more. The destination, whose queue has acknowledgements only, gets the
buffer of the last node that transmits data.

There are two conventions for the source. As in ns-2 its queue is the first of the path and gets b_1
("first"); or TCP waits in a queue that the mesh does not size, and B is divided among the relays
("separate").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, choice, number, numbers
from airqueue.models.collision_domain import SHAPES, Bottleneck, CollisionDomains, shaped
from airqueue.models.errors import ParameterError
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
from airqueue.text import plural

RING_PACKETS: Final = 3
"""Size of the driver's ring of each node, below the queues, on the paper's testbed (5.2.3)."""
CARRYING: Final = ("link", "share")
SOURCES: Final = ("first", "separate")
SHARED: Final = ("sum", "largest")


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
    """Allocation among the nodes in the bottleneck."""
    queues: tuple[Queue, ...]
    """Queues of the sized transmitting nodes of the route, from the source."""

    @property
    def returned(self) -> tuple[str, float] | None:
        """The destination and the limit of its queue of acknowledgements; None if not sized."""
        if not self.queues:
            return None
        return self.flow.route[-1], self.queues[-1].packets

    def reason(self) -> str:
        """Return the reason for these limits, in a sentence."""
        where = "full" if self.bottleneck.saturated else "the busiest"
        return (
            f"{self.flow.name}: the collision domain around {self.bottleneck.centre} is {where} "
            f"({self.bottleneck.utilisation:.0%}) and holds {self.bottleneck.transmitters} of its "
            f"{plural(len(self.flow.hops), 'hop')}. {self.buffer.reason()} packets."
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

    def node_packets(
        self, *, with_ring: bool = True, shared: str = "sum", acknowledgements: bool = False
    ) -> dict[str, float]:
        """Return the limit in packets of every node that transmits: its queues and its driver's ring.

        For a node with one FIFO for all flows (a transmit queue) this is its size; ``with_ring`` says
        whether the packets in the ring below count. shared: the FIFO is the "sum" of the flows'
        queues; or the "largest" of them, which suffices for all flows together, since each is sized
        as if alone on the air. acknowledgements: also count destinations, `FlowBuffers.returned`.

        >>> from airqueue.models.mesh_topology import cross
        >>> sized = virtual_queues(cross(1))
        >>> sized.node_packets(with_ring=False, acknowledgements=True)["gateway"]
        12.0
        >>> sized.node_packets(with_ring=False, shared="largest", acknowledgements=True)["gateway"]
        3.0
        """
        choice("shared", shared, SHARED)
        held: dict[str, list[float]] = {}
        for each in self.flows:
            for queue in each.queues:
                held.setdefault(queue.node, []).append(queue.packets)
            if acknowledgements and each.returned is not None:
                node, packets = each.returned
                held.setdefault(node, []).append(packets)
        ring = float(self.ring_packets) if with_ring else 0.0
        together = sum if shared == "sum" else max
        return {node: together(packets) + ring for node, packets in held.items()}


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
    source: str = "first",
) -> MeshBuffers:
    """Size the queue of every flow at every node of a mesh.

    radio: name of a preset or physical layer (`airqueue.models.mesh_exchange.preset`) for all links;
    if not given, each link's own, else the topology's, else `DEFAULT_PRESET`. exchanges: explicit
    timing of links, instead. rates_bps: measured end-to-end rates of the flows; max-min fair rates if
    not given. strategy, rounding, minimum_packets: as in `airqueue.models.mesh_allocation.allocate`;
    1 keeps every relay able to pass something on. tie: as in `CollisionDomains.bottlenecks`.
    carrying: the flow's highest rate, λ: the rate of its slowest "link" in the bottleneck, as
    in the paper (or its demand if that is less), or its "share" of the domain, max-min fair or
    measured. source: whether the source's queue is the "first" of the path, or "separate": then it is
    not sized.

    Raises ParameterError, among others for a link rate that the radio does not have.

    >>> from airqueue.models.mesh_topology import chain
    >>> sized = virtual_queues(chain(4))
    >>> [queue.packets for queue in sized.flows[0].queues]
    [2.0, 2.0, 3.0, 3.0]
    >>> sized.node_packets()["n3"]
    6.0
    """
    choice("carrying", carrying, CARRYING)
    domains = CollisionDomains(topology)
    bottlenecks = domains.bottlenecks(rates_bps, tie=tie)
    # An idle flow is sized too: its queues get the minimum.
    most = [max(1.0, each.rate_bps) for each in bottlenecks] if carrying == "share" else None
    return sized_queues(
        domains,
        bottlenecks,
        radio,
        most_bps=most,
        exchanges=exchanges,
        segment_bytes=segment_bytes,
        strategy=strategy,
        rounding=rounding,
        minimum_packets=minimum_packets,
        ring_packets=ring_packets,
        source=source,
    )


def sized_queues(
    domains: CollisionDomains,
    bottlenecks: Sequence[Bottleneck],
    radio: str | None = None,
    *,
    most_bps: Sequence[float] | FloatArray | None = None,
    exchanges: Mapping[Link, MeshExchange] | None = None,
    segment_bytes: float = SEGMENT_BYTES,
    strategy: str = "ratio",
    rounding: str = "nearest",
    minimum_packets: float = 1.0,
    ring_packets: float = RING_PACKETS,
    source: str = "first",
) -> MeshBuffers:
    """Size the queues of a mesh for known bottlenecks, one for each flow.

    most_bps: highest rate of each flow, measured or otherwise known; λ is the least of the slowest
    link in the bottleneck, the flow's demand and this rate. The rest as in `virtual_queues`.

    Raises ParameterError.
    """
    ring = int(number("ring_packets", ring_packets, at_least=0, at_most=1e6, whole=True))
    choice("source", source, SOURCES)
    topology = domains.topology
    ceilings = np.full(len(topology.flows), math.inf)
    if most_bps is not None:
        ceilings = numbers("most_bps", most_bps, above=0)
        if ceilings.shape != (len(topology.flows),):
            raise ParameterError(
                "most_bps",
                f"most_bps has shape {ceilings.shape}; it must be one per flow: "
                f"{len(topology.flows)}",
            )
    times = link_exchanges(topology, domains.links, radio, segment_bytes, exchanges)
    links = {(link.sender, link.receiver): link for link in domains.links}
    flows = []
    for flow, bottleneck, most in zip(topology.flows, bottlenecks, ceilings, strict=True):
        route = [links[hop] for hop in flow.hops]
        inside = [route[hop - 1] for hop in bottleneck.hops]
        ceiling = min(most, math.inf if flow.demand_bps is None else flow.demand_bps)
        buffer = path_buffer(
            [float(times[link].round_trip_s) for link in inside],
            [min(link.rate_bps, ceiling) for link in inside],
            segment_bytes,
            flow.other_delay_s,
        )
        sized = _sized_hops(bottleneck, source)
        allocation = allocate(
            float(buffer.packets),
            len(sized),
            strategy,
            rounding,
            minimum_packets=minimum_packets,
            airtimes_s=[float(times[route[hop - 1]].data_s) for hop in sized],
        )
        queues = _queues(flow, route, bottleneck, dict(zip(sized, allocation.packets, strict=True)))
        kept = queues if source == "first" else queues[1:]
        flows.append(FlowBuffers(flow, bottleneck, buffer, allocation, kept))
    return MeshBuffers(topology, tuple(flows), ring)


def _sized_hops(bottleneck: Bottleneck, source: str) -> tuple[int, ...]:
    """Return the hops among which B is divided.

    If the source keeps its own queue and no other hop is in the bottleneck, B goes to the source all
    the same: the relays outside take over its share.
    """
    relays = tuple(hop for hop in bottleneck.hops if hop > 1)
    return bottleneck.hops if source == "first" or not relays else relays


def link_exchanges(
    topology: Topology,
    links: Sequence[Link],
    radio: str | None = None,
    segment_bytes: float = SEGMENT_BYTES,
    explicit: Mapping[Link, MeshExchange] | None = None,
) -> Mapping[Link, MeshExchange]:
    """Return the timing of each link of a mesh: the explicit one, or that of its radio.

    radio, segment_bytes: as in `virtual_queues`. Raises ParameterError for a rate that a link's radio
    does not have.

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
    flow: Flow, route: list[Link], bottleneck: Bottleneck, limits: Mapping[int, float]
) -> tuple[Queue, ...]:
    first = min(limits)
    queues = []
    for hop, link in enumerate(route, start=1):
        # Outside the domain, or where a route leaves and re-enters it: the buffer of the node before.
        nearest = max((h for h in limits if h <= hop), default=first)
        inside = hop in bottleneck.hops
        packets = float(limits[nearest])
        queues.append(Queue(link.sender, link, flow.name, hop, packets, in_bottleneck=inside))
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
    source: str,
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
        source=source,
    )
    nodes = sized.node_packets()
    return {
        "flow_buffers_packets": [float(each.buffer.packets) for each in sized.flows],
        "first_flow_packets": [queue.packets for queue in sized.flows[0].queues],
        "largest_node_packets": max(nodes.values(), default=0.0),
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
        Parameter(
            "rate_bps", "data rate of links; the preset's highest if not given", None, Kind.RATE
        ),
        SEGMENT_PARAMETER,
        Parameter("strategy", "how B is divided", "ratio", Kind.CHOICE, tuple(STRATEGIES)),
        Parameter("rounding", "to whole packets", "nearest", Kind.CHOICE, ROUNDINGS),
        Parameter("minimum_packets", "least queue of a flow at a node", 1.0),
        Parameter(
            "carrying", "λ: of the slowest link, or the flow's share", "link", Kind.CHOICE, CARRYING
        ),
        Parameter(
            "source", "its queue: first of the path, or not sized", "first", Kind.CHOICE, SOURCES
        ),
        Parameter(
            "ring_packets", "size of the driver's ring of each node", RING_PACKETS, Kind.WHOLE
        ),
    ),
    outputs=(
        Output("flow_buffers_packets", "B of each flow"),
        Output("first_flow_packets", "the first flow's sized queues from its source"),
        Output("largest_node_packets", "largest limit of a node, its ring included"),
        Output("reason", "reason of the limits, flow by flow"),
    ),
    evaluate=_evaluate,
    example="shape=parking-lot hops=4..6",
    valid=(
        "Each flow is sized as if alone, so the sum is more than the air can use: an upper bound, as "
        "mesh-buffer. Nodes outside a flow's bottleneck get their neighbour's buffer."
    ),
)
