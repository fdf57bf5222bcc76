"""What a manager of a network sees of it: names, types, units and meaning.

Written by scripts/native_types.py from monitor.rs and buffers.rs of crates/airqueue-scenario: change
those, then ``make types``. The unit is in the name: ``_s`` seconds, ``_bps`` bits per second.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class MapFlow(TypedDict):
    """What is known of a flow before the network runs."""

    name: str
    """Its name."""
    packet_bytes: int
    """Its largest IP packet."""
    later: list[list[str]]
    """The stations that it passes on each way which it takes later."""


class Map(TypedDict):
    """What a manager of a network knows of it before it runs, and what stays as it is."""

    stations: list[str]
    """Names."""
    positions_m: list[list[float]]
    """Where each station stands, x and y; empty where that does not matter."""
    limit_packets: list[int | None]
    """How many packets can wait in the queues of each station that flows feed; `null` where the
    limit is another."""
    neighbours: list[list[int]]
    """Pairs of stations, by place, that decode each other's frames, of those that flows pass."""
    flows: list[MapFlow]
    """The flows that go over the air."""


class HopSnapshot(TypedDict):
    """The frames of a flow on a hop."""

    rate_bps: float
    """Data rate of the flow's frames."""
    data_s: float
    """Mean time of an exchange for a packet that meets nobody."""
    ack_s: float
    """The same of TCP's acknowledgement; 0 without TCP."""


class FlowSnapshot(TypedDict):
    """What is seen of a flow."""

    delivered_bytes: int
    """IP bytes that have reached its destination."""
    under_way_packets: int
    """In a queue or in a MAC."""
    route: list[str]
    """The stations that it passes now, from the first to the last."""
    elsewhere_s: float
    """What a packet and its answer take in wired links."""
    hops: list[HopSnapshot]
    """The hops between those stations."""


class Snapshot(TypedDict):
    """What a manager of a network sees at a moment; sums are from the beginning of the warm-up
    on. Stations and flows are in the order of the map."""

    now_s: float
    """Simulated time, warm-up included."""
    busy_s: list[float]
    """Of each station, how long its medium was busy or it sent."""
    flows: list[FlowSnapshot]
    """The flows that go over the air."""


DomainsName = Literal[
    "two-hop",
    "busy",
]
"""How the collision domain that limits a flow is found."""


CarryingName = Literal[
    "link-rates",
    "flow-rates",
]
"""What the rate in B is."""


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
"""How buffers become whole packets."""


LimitedName = Literal[
    "node",
    "flow",
]
"""Whose limits are set."""


SourceQueueName = Literal[
    "first",
    "separate",
]
"""What the source of a flow has."""


class Buffers(TypedDict):
    """How the limits of queues are to be set while a network runs, by whoever runs it."""

    domains: DomainsName
    """Which collision domain limits a flow."""
    carrying: CarryingName
    """What a flow can reach, for B = round-trip time · rate."""
    allocation: AllocationName
    """How B is divided among the nodes."""
    rounding: RoundingName
    """How buffers become whole packets."""
    queues: LimitedName
    """Whose limits are set."""
    source: SourceQueueName
    """What the source of a flow has."""
    look_s: float
    """Time between two looks at the network."""
    every_s: float
    """After what time limits are computed anew although nothing has changed."""
    hold_s: float
    """For how long a limit that was raised is not set back."""
    change_packets: int
    """New limits are set if one of them differs by so much."""
