"""What a manager of a network sees of it: names, types, units and meaning.

Written by scripts/native_types.py from monitor.rs, buffers.rs and in_force.rs of
crates/airqueue-scenario: change those, then ``make types``. The unit is in the name: ``_s``
seconds, ``_bps`` bits per second.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class MapFlow(TypedDict):
    """Facts about a flow before the network runs."""

    name: str
    """Name of the flow."""
    packet_bytes: int
    """Size of the flow's largest IP packet."""
    later: list[list[str]]
    """The stations on each route that the flow takes later."""


class Map(TypedDict):
    """What a manager of a network knows before the run, and what never changes."""

    stations: list[str]
    """Names of the stations."""
    positions_m: list[list[float]]
    """Position of each station, x and y; empty where positions do not matter."""
    limit_packets: list[int | None]
    """Number of packets that can wait in the queues of each station that flows feed; `null`
    where the limit is of another kind."""
    neighbours: list[list[int]]
    """Pairs of stations on the routes of flows, by index, that decode each other's frames."""
    flows: list[MapFlow]
    """The flows with a hop over the air."""


class HopSnapshot(TypedDict):
    """The frames of a flow on a hop."""

    rate_bps: float
    """Data rate of the flow's frames."""
    data_s: float
    """Mean time of a packet's exchange without contention."""
    ack_s: float
    """Mean time of the exchange of TCP's acknowledgement; 0 without TCP."""


class FlowSnapshot(TypedDict):
    """One sample of a flow."""

    delivered_bytes: int
    """IP bytes that have reached its destination."""
    in_transit_packets: int
    """Packets in a queue or in a MAC."""
    route: list[str]
    """The stations on the present route, from the first to the last."""
    elsewhere_s: float
    """Time that a packet and its acknowledgement take in wired links."""
    hops: list[HopSnapshot]
    """The hops between those stations."""


class Snapshot(TypedDict):
    """One sample of a network for its manager; sums are from the beginning of the warm-up on.
    Stations and flows are in the order of the map."""

    now_s: float
    """Simulated time, warm-up included."""
    busy_s: list[float]
    """Time for which each station sensed the medium busy or transmitted."""
    flows: list[FlowSnapshot]
    """The flows with a hop over the air."""


DeciderName = Literal[
    "observer",
    "routers",
]
"""Who computes limits."""


DomainsName = Literal[
    "two-hop",
    "busy",
]
"""How the collision domain that limits a flow is found."""


CarryingName = Literal[
    "link-rates",
    "flow-rates",
]
"""The rate in B."""


AllocationName = Literal[
    "ratio",
    "optimum",
    "printed",
    "equal",
    "first-hop",
    "airtime",
    "airtime-path",
]
"""A rule that divides B among nodes."""


RoundingName = Literal[
    "nearest",
    "largest-remainder",
    "best",
]
"""How buffers are rounded to whole packets."""


LimitedName = Literal[
    "node",
    "flow",
]
"""The queues whose limits are set."""


SourceQueueName = Literal[
    "first",
    "separate",
]
"""The limit at the source of a flow."""


class Buffers(TypedDict):
    """How the runner of a network is to set the limits of queues during the run."""

    decided_by: DeciderName
    """Who computes the limits."""
    domains: DomainsName
    """The collision domain that limits a flow."""
    carrying: CarryingName
    """The rate in B = round-trip time · rate."""
    allocation: AllocationName
    """How B is divided among the nodes."""
    rounding: RoundingName
    """How buffers are rounded to whole packets."""
    queues: LimitedName
    """The queues whose limits are set."""
    source: SourceQueueName
    """The limit at the source of a flow."""
    look_s: float
    """Time between two samples of the network."""
    every_s: float
    """Longest time between two computations of the limits."""
    hold_s: float
    """How long a raised limit is kept."""
    change_packets: int
    """Least change of any limit for which the limits are set anew."""


class QueueInForce(TypedDict):
    """What a queue of the network is, before any change while the network runs."""

    name: str
    """Name of the queue, as figures have it."""
    discipline: str
    """Word of the queue discipline."""
    limit_packets: int | None
    """Most packets that wait; `null` without such a limit."""
    limit_bytes: int | None
    """Most bytes that wait; `null` without such a limit."""
    limit_per: str
    """What the limits hold for: `queue`, or where flows or links have queues of their own in it
    `flow` or `link`."""
    ring_packets: int
    """Packets of the driver ring behind the queue discipline."""
