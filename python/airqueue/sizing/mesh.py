"""`airqueue size mesh`: buffers of a wireless mesh, and what they do to throughput and delay.

The buffers are those of `airqueue.models.virtual_queues`. What to expect of them follows from the air
that a segment takes on each link, acknowledgements and overhead counted: max-min fair rates of the
same topology with links that are slower by their overhead, and one TCP saw tooth over each flow's
buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airqueue.models.checks import choice, number
from airqueue.models.collision_domain import CollisionDomains
from airqueue.models.mesh_exchange import DEFAULT_PRESET, MeshExchange
from airqueue.models.mesh_topology import Link, Topology
from airqueue.models.packets import SEGMENT_BYTES
from airqueue.models.sawtooth import Sawtooth, sawtooth
from airqueue.models.virtual_queues import (
    CARRYING,
    RING_PACKETS,
    FlowBuffers,
    MeshBuffers,
    link_exchanges,
    virtual_queues,
)

USUAL_PACKETS = 50
"""The usual queue of a mesh node, with which MESH compares."""
RULES = ("auto", *CARRYING)


@dataclass(frozen=True, slots=True)
class FlowForecast:
    """The prediction for one flow with its buffers."""

    buffers: FlowBuffers
    goodput_bps: float
    """TCP payload, at max-min fair shares of the air with all overhead."""
    rtt_s: float
    """Round trip without queues, all hops, and what is outside the mesh."""
    tooth: Sawtooth
    """Of the flow alone over the packets in its bottleneck."""
    packet_s: float
    """From one packet of a backlog to the next: what a queue of one packet adds."""

    @property
    def bottleneck_packets(self) -> float:
        """Σ b_i of the nodes in the bottleneck domain."""
        return sum(queue.packets for queue in self.buffers.queues if queue.in_bottleneck)

    @property
    def route_packets(self) -> float:
        """Σ b_i of all nodes of the route."""
        return sum(queue.packets for queue in self.buffers.queues)

    @property
    def full_delay_s(self) -> float:
        """Wait with every queue of the route full at once."""
        return self.route_packets * self.packet_s

    @property
    def usual_delay_s(self) -> float:
        """Wait with the usual queue, full at one node."""
        return USUAL_PACKETS * self.packet_s


@dataclass(frozen=True, slots=True)
class MeshForecast:
    """A mesh with its buffers and the predictions, flow by flow."""

    buffers: MeshBuffers
    flows: tuple[FlowForecast, ...]
    carrying: str
    """The rule by which they were sized, one of `CARRYING`."""
    radio: str | None
    """It times the frames of links that name no other; None where each link's timing was given."""
    link_delay_s: float | None = None
    """What the slowest flow would wait by the rule "link", where that was too long to be taken."""

    @property
    def slowest(self) -> FlowForecast:
        """The flow that waits longest with all queues full."""
        return max(self.flows, key=lambda flow: flow.full_delay_s)

    @property
    def too_long(self) -> bool:
        """Whether that flow would wait no longer with one usual queue."""
        return self.slowest.full_delay_s >= self.slowest.usual_delay_s


def size_mesh(
    topology: Topology,
    radio: str | None = None,
    *,
    exchanges: Mapping[Link, MeshExchange] | None = None,
    segment_bytes: float = SEGMENT_BYTES,
    strategy: str = "ratio",
    rounding: str = "nearest",
    carrying: str = "auto",
    ring_packets: int = RING_PACKETS,
    control: str = "reno",
) -> MeshForecast:
    """Size the queues of a mesh and predict delay and goodput.

    Parameters as of `airqueue.models.virtual_queues.virtual_queues` and
    `airqueue.models.sawtooth.sawtooth`. carrying: also "auto", which sizes by "link", as the paper
    does, unless the slowest flow would then wait longer than with one usual queue: fast links that
    are shared, of which no flow gets the rate. Then it sizes by "share". Raises ParameterError, also
    for radios that lack a link's rate.

    Valid where packets arrive at the first attempt and are sent one at a time (no aggregation), and
    where flows share the air max-min fairly, as fair queueing at the relays aims at.

    >>> from airqueue.models.mesh_topology import chain
    >>> flow = size_mesh(chain(4)).flows[0]
    >>> flow.route_packets, round(flow.goodput_bps / 1e6, 2)
    (10.0, 1.08)
    """
    choice("carrying", carrying, RULES)
    times = link_exchanges(topology, topology.links, radio, segment_bytes, exchanges)
    timed_by = None if exchanges else radio or topology.radio or DEFAULT_PRESET
    rates = _rates_bps(topology, times, segment_bytes)

    def sized(rule: str) -> MeshForecast:
        buffers = virtual_queues(
            topology,
            radio,
            exchanges=exchanges,
            segment_bytes=segment_bytes,
            strategy=strategy,
            rounding=rounding,
            carrying=rule,
            ring_packets=ring_packets,
        )
        flows = (
            _forecast(each, *of_flow, times=times, segment_bytes=segment_bytes, control=control)
            for each, of_flow in zip(buffers.flows, rates, strict=True)
        )
        return MeshForecast(buffers, tuple(flows), rule, timed_by)

    if carrying != "auto":
        return sized(carrying)
    whole = sized("link")
    if not whole.too_long:
        return whole
    return replace(sized("share"), link_delay_s=whole.slowest.full_delay_s)


def _rates_bps(
    topology: Topology, times: Mapping[Link, MeshExchange], segment_bytes: float
) -> list[tuple[float, float]]:
    """Return of each flow what it gets, and at what rate its queue empties.

    The queue of a flow that wants less than it could get empties at what it could get.
    """
    slowed = replace(
        topology,
        links=tuple(
            replace(link, rate_bps=_effective_bps(times[link], segment_bytes))
            for link in topology.links
        ),
    )
    greedy = replace(slowed, flows=tuple(replace(flow, demand_bps=None) for flow in topology.flows))
    goodputs, most = (CollisionDomains(mesh).max_min_rates_bps() for mesh in (slowed, greedy))
    return [
        (float(goodput), float(goodput if flow.demand_bps is None else all_greedy))
        for flow, goodput, all_greedy in zip(topology.flows, goodputs, most, strict=True)
    ]


def _effective_bps(exchange: MeshExchange, segment_bytes: float) -> float:
    return 8.0 * segment_bytes / float(exchange.round_trip_s)


def _forecast(
    buffers: FlowBuffers,
    goodput_bps: float,
    service_bps: float,
    *,
    times: Mapping[Link, MeshExchange],
    segment_bytes: float,
    control: str,
) -> FlowForecast:
    links = [queue.link for queue in buffers.queues]
    rtt_s = sum(float(times[link].round_trip_s) for link in links) + buffers.flow.other_delay_s
    inside = sum(queue.packets for queue in buffers.queues if queue.in_bottleneck)
    service = number("the rate of a flow", service_bps, above=0)
    return FlowForecast(
        buffers=buffers,
        goodput_bps=goodput_bps,
        rtt_s=rtt_s,
        tooth=sawtooth(inside * segment_bytes, service, rtt_s, control),
        packet_s=8.0 * segment_bytes / service,
    )
