"""`airqueue size mesh`: buffers of a wireless mesh, and what they do to throughput and delay.

The buffers are those of `airqueue.models.virtual_queues`. What to expect of them follows from the air
that a segment takes on each link, acknowledgements and overhead counted: max-min fair rates of the
same topology with links that are slower by their overhead, and one TCP saw tooth over each flow's
buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airqueue.models.checks import numbers
from airqueue.models.collision_domain import CollisionDomains
from airqueue.models.mesh_exchange import MeshExchange
from airqueue.models.mesh_topology import Link, Topology
from airqueue.models.packets import SEGMENT_BYTES
from airqueue.models.sawtooth import Sawtooth, sawtooth
from airqueue.models.virtual_queues import (
    RING_PACKETS,
    FlowBuffers,
    MeshBuffers,
    link_exchanges,
    virtual_queues,
)

USUAL_PACKETS = 50
"""A mesh node's queue as it usually is, with which MESH compares."""


@dataclass(frozen=True, slots=True)
class FlowForecast:
    """What to expect of one flow with the buffers it was given."""

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


@dataclass(frozen=True, slots=True)
class MeshForecast:
    """A mesh with its buffers and what to expect, flow by flow."""

    buffers: MeshBuffers
    flows: tuple[FlowForecast, ...]


def size_mesh(
    topology: Topology,
    radio: str | None = None,
    *,
    segment_bytes: float = SEGMENT_BYTES,
    strategy: str = "ratio",
    rounding: str = "nearest",
    carrying: str = "link",
    ring_packets: int = RING_PACKETS,
    control: str = "reno",
) -> MeshForecast:
    """Size the queues of a mesh and say what to expect.

    Parameters as of `airqueue.models.virtual_queues.virtual_queues` and
    `airqueue.models.sawtooth.sawtooth`. Raises ParameterError, also for radios that lack a link's
    rate.

    Valid where packets arrive at the first attempt and are sent one at a time (no aggregation), and
    where flows share the air max-min fairly, as fair queueing at the relays aims at.

    >>> from airqueue.models.mesh_topology import chain
    >>> flow = size_mesh(chain(4)).flows[0]
    >>> flow.route_packets, round(flow.goodput_bps / 1e6, 2)
    (10.0, 1.08)
    """
    sized = virtual_queues(
        topology,
        radio,
        segment_bytes=segment_bytes,
        strategy=strategy,
        rounding=rounding,
        carrying=carrying,
        ring_packets=ring_packets,
    )
    times = link_exchanges(topology, topology.links, radio, segment_bytes)
    slowed = replace(
        topology,
        links=tuple(
            replace(link, rate_bps=_effective_bps(times[link], segment_bytes))
            for link in topology.links
        ),
    )
    greedy = replace(slowed, flows=tuple(replace(flow, demand_bps=None) for flow in topology.flows))
    goodputs, most = (CollisionDomains(mesh).max_min_rates_bps() for mesh in (slowed, greedy))
    return MeshForecast(
        sized,
        tuple(
            _forecast(
                each,
                float(goodput),
                # The queue of a flow that wants less than it could get empties at what it could get.
                float(goodput if each.flow.demand_bps is None else all_greedy),
                times=times,
                segment_bytes=segment_bytes,
                control=control,
            )
            for each, goodput, all_greedy in zip(sized.flows, goodputs, most, strict=True)
        ),
    )


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
    service = float(numbers("the rate of a flow", service_bps, above=0))
    return FlowForecast(
        buffers=buffers,
        goodput_bps=goodput_bps,
        rtt_s=rtt_s,
        tooth=sawtooth(inside * segment_bytes, service, rtt_s, control),
        packet_s=8.0 * segment_bytes / service,
    )
