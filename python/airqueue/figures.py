"""The figures of simulated networks: names, types, units and meaning.

Written by scripts/native_types.py from crates/airqueue-scenario/src/reported.rs: change that, then
``make types``. The unit is in the name: ``_bps`` bits per second, ``_s`` seconds, ``_packets``
packets, ``_ratio`` a share from 0 to 1; what has none is a count. None where there is nothing to
divide by.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class FlowFigures(TypedDict):
    """What became of the packets of a flow."""

    offered_bps: float | None
    """Made by the source; of a saturated source what its queue took."""
    throughput_bps: float | None
    """Decoded by the destination, each packet once."""
    offered_packets: int
    """Made by the source; of a saturated source those that its queue took."""
    delivered_packets: int
    """Decoded by the destination, each packet once; those behind a gap when the gap is closed."""
    marked_packets: int
    """Of the delivered ones, those with a mark of congestion (CE)."""
    queue_drops_packets: int
    """Dropped by a queue."""
    given_up_packets: int
    """Given up by the MAC after the last retry, or at the end of their lifetime."""
    under_way_packets: int
    """At the end in a queue or in a MAC."""
    loss_ratio: float | None
    """Dropped or given up, of all that were dropped, given up or delivered."""
    data_rate_mean_bps: float | None
    """The PHY's data rate at which its packets were sent last, mean over those that the MAC is
    done with."""
    delay_mean_s: float | None
    """Delay from the source to the end of the frame, or of the wired link, that delivers the
    packet; of a saturated source from the moment when its queue had room. Mean over the
    delivered packets."""
    delay_p50_s: float | None
    """Median of that delay. Quantiles are read from buckets of 1/32 of an octave: to 1.6 %."""
    delay_p95_s: float | None
    """95 % of the packets had no longer delay."""
    delay_p99_s: float | None
    """99 % of the packets had no longer delay."""
    delay_max_s: float | None
    """The longest delay."""
    jitter_s: float | None
    """Interarrival jitter of RFC 3550 (6.4.1, A.8), which follows the differences of successive
    packets' delays: its mean over all packets. A report of RTCP has its value at one moment."""


class ConnectionFigures(TypedDict):
    """What TCP did for a flow."""

    goodput_bps: float | None
    """Data that reached the application, in order; `throughput_bps` of the flow has headers and
    what arrived twice too."""
    segments: int
    """Segments sent with data or FIN."""
    retransmitted_segments: int
    """Segments that had been sent before."""
    retransmitted_ratio: float | None
    """Their share of all segments."""
    fast_recoveries: int
    """Times that a fast recovery began."""
    timeouts: int
    """Times that the retransmission timer ran out."""
    rtt_mean_s: float | None
    """Mean round-trip time, what segments wait in their sender's own queue included: for each
    acknowledgement of new data the time since the newest segment that it acknowledges was sent,
    if that was sent once. Whatever the options of TCP let its timers measure."""
    ack_packets: int
    """Packets that the receiver sent back."""
    lost_ack_packets: int
    """Of the packets that the receiver sent back, those that a queue dropped or a MAC gave up."""
    sessions: int
    """Transfers that ended."""
    session_mean_s: float | None
    """How long transfers took, from the first SYN, or the first segment without one, to the
    acknowledgement of the last: mean."""
    session_p50_s: float | None
    """Median of how long transfers took."""
    session_p95_s: float | None
    """95 % of the transfers took no longer."""
    session_max_s: float | None
    """The longest transfer."""


class CallFigures(TypedDict):
    """What a listener gets of a call; `null` where no packet came."""

    r_factor: float | None
    """R of the E-model; below 0 is as bad as 0. From R = 80 on most people are satisfied, below
    70 many are not, below 60 nearly nobody is (ITU-T G.109)."""
    mos: float | None
    """Mean opinion score, 1 to 4.5: 4.0 at R = 80, 3.6 at 70, 3.1 at 60."""
    mouth_to_ear_s: float | None
    """Network, playout and coding."""
    late_ratio: float | None
    """Packets that came too late to be played, of those that were dropped, given up or
    delivered; `loss_ratio` of the flow has the other missing ones."""


class StationFigures(TypedDict):
    """What a station sent."""

    attempts: int
    """First frames of exchanges that it sent: RTS, or data without RTS."""
    collided_ratio: float | None
    """Of its attempts, those destroyed at their receiver by other frames, or because the
    receiver was busy with another or transmitted itself."""
    failed_ratio: float | None
    """Of its attempts, those that no response completed, for whatever reason."""
    acknowledged_packets: int
    """Packets whose acknowledgement its MAC got."""
    given_up_packets: int
    """Packets that its MAC gave up."""
    internal_collisions: int
    """Times that one of its queues went before a queue of lower priority."""
    airtime_ratio: float | None
    """Share of the time in which it transmits."""
    rts_airtime_ratio: float | None
    """Share of the time in which it transmits RTS."""
    cts_airtime_ratio: float | None
    """Share of the time in which it transmits CTS."""
    data_airtime_ratio: float | None
    """Share of the time in which it transmits data."""
    ack_airtime_ratio: float | None
    """Share of the time in which it transmits ACK and block ack."""
    mpdus_per_frame: float | None
    """Packets in a data frame, those that are sent again included."""
    busy_ratio: float | None
    """Share of the time in which it senses frames or transmits."""


class QueueFigures(TypedDict):
    """What happened in a queue."""

    offered_packets: int
    """Offered to the queue."""
    dropped_packets: int
    """Dropped by the queue."""
    dropped_full_packets: int
    """Of the dropped ones, those dropped because the queue was full."""
    dropped_early_packets: int
    """Of the dropped ones, those dropped although the queue was not full, to slow the sender
    down."""
    dropped_filtered_packets: int
    """Of the dropped ones, TCP acknowledgements that a later one made redundant: those that
    CAKE's ACK filter drops."""
    marked_packets: int
    """Marked to slow the sender down, and not dropped."""
    taken_packets: int
    """Taken by the MAC, or by the wired link."""
    length_mean_packets: float | None
    """Waiting in queue and ring, mean over time; the packet that the MAC is busy with is in
    neither."""
    length_max_packets: int
    """The most that waited at any time."""
    waiting_mean_s: float | None
    """From arriving in the queue to the MAC, mean over the packets that the MAC took."""
    waiting_max_s: float | None
    """The longest that a packet waited."""


class MediumFigures(TypedDict):
    """What all stations together did, and how the time was used. The shares of time are sums
    over all stations: frames that are on the air together count each, so that the sum may exceed
    1."""

    throughput_bps: float | None
    """Throughput of all flows."""
    collided_ratio: float | None
    """Of all stations' attempts, those that collided."""
    data_airtime_ratio: float | None
    """Time of data frames that were decoded."""
    lost_data_airtime_ratio: float | None
    """Time of data frames that were not decoded."""
    control_airtime_ratio: float | None
    """Time of all other frames."""
    throughput_jain_index: float | None
    """(Σx)² / (n Σx²) of the flows' throughputs: 1 if all are equal, 1/n if one has all."""
    goodput_bps: float | None
    """Goodput of all TCP connections."""
    sessions: int
    """Transfers of all TCP flows that ended."""
    session_mean_s: float | None
    """How long those took, mean."""
    session_p95_s: float | None
    """95 % of those took no longer."""


class Figures(TypedDict):
    """The figures of a replication by kind and name."""

    duration_s: float
    """Simulated time that the figures stand for, without the warm-up."""
    flows: dict[str, FlowFigures]
    """What became of the packets of each flow."""
    connections: dict[str, ConnectionFigures]
    """What TCP did for each flow that TCP governs."""
    calls: dict[str, CallFigures]
    """How good each call is."""
    stations: dict[str, StationFigures]
    """What each station sent."""
    queues: dict[str, QueueFigures]
    """What happened in each queue that a flow feeds, and in each in front of a wired link. A
    queue is called as its station, with EDCA `sta1.be`, or as its wired link, `server->ap`."""
    medium: MediumFigures
    """What all stations together did, and how the time was used."""


Kind = Literal[
    "flows",
    "connections",
    "calls",
    "stations",
    "queues",
]
"""What has figures by name."""


FlowFigure = Literal[
    "offered_bps",
    "throughput_bps",
    "offered_packets",
    "delivered_packets",
    "marked_packets",
    "queue_drops_packets",
    "given_up_packets",
    "under_way_packets",
    "loss_ratio",
    "data_rate_mean_bps",
    "delay_mean_s",
    "delay_p50_s",
    "delay_p95_s",
    "delay_p99_s",
    "delay_max_s",
    "jitter_s",
]


ConnectionFigure = Literal[
    "goodput_bps",
    "segments",
    "retransmitted_segments",
    "retransmitted_ratio",
    "fast_recoveries",
    "timeouts",
    "rtt_mean_s",
    "ack_packets",
    "lost_ack_packets",
    "sessions",
    "session_mean_s",
    "session_p50_s",
    "session_p95_s",
    "session_max_s",
]


CallFigure = Literal[
    "r_factor",
    "mos",
    "mouth_to_ear_s",
    "late_ratio",
]


StationFigure = Literal[
    "attempts",
    "collided_ratio",
    "failed_ratio",
    "acknowledged_packets",
    "given_up_packets",
    "internal_collisions",
    "airtime_ratio",
    "rts_airtime_ratio",
    "cts_airtime_ratio",
    "data_airtime_ratio",
    "ack_airtime_ratio",
    "mpdus_per_frame",
    "busy_ratio",
]


QueueFigure = Literal[
    "offered_packets",
    "dropped_packets",
    "dropped_full_packets",
    "dropped_early_packets",
    "dropped_filtered_packets",
    "marked_packets",
    "taken_packets",
    "length_mean_packets",
    "length_max_packets",
    "waiting_mean_s",
    "waiting_max_s",
]


MediumFigure = Literal[
    "throughput_bps",
    "collided_ratio",
    "data_airtime_ratio",
    "lost_data_airtime_ratio",
    "control_airtime_ratio",
    "throughput_jain_index",
    "goodput_bps",
    "sessions",
    "session_mean_s",
    "session_p95_s",
]


FigureOf = (
    tuple[Literal["flows"], FlowFigure]
    | tuple[Literal["connections"], ConnectionFigure]
    | tuple[Literal["calls"], CallFigure]
    | tuple[Literal["stations"], StationFigure]
    | tuple[Literal["queues"], QueueFigure]
)
"""A kind, and a figure of it."""


class Summary(TypedDict):
    """A figure over several replications."""

    mean: float | None
    """None where no replication has the figure."""
    ci95: list[float] | None
    """The 95 % confidence interval of the mean, low and high; None with a single replication."""
    n: NotRequired[int]
    """How many replications have the figure, where some have none."""


class FlowSummary(TypedDict):
    """`FlowFigures` over several replications."""

    offered_bps: Summary
    throughput_bps: Summary
    offered_packets: Summary
    delivered_packets: Summary
    marked_packets: Summary
    queue_drops_packets: Summary
    given_up_packets: Summary
    under_way_packets: Summary
    loss_ratio: Summary
    data_rate_mean_bps: Summary
    delay_mean_s: Summary
    delay_p50_s: Summary
    delay_p95_s: Summary
    delay_p99_s: Summary
    delay_max_s: Summary
    jitter_s: Summary


class ConnectionSummary(TypedDict):
    """`ConnectionFigures` over several replications."""

    goodput_bps: Summary
    segments: Summary
    retransmitted_segments: Summary
    retransmitted_ratio: Summary
    fast_recoveries: Summary
    timeouts: Summary
    rtt_mean_s: Summary
    ack_packets: Summary
    lost_ack_packets: Summary
    sessions: Summary
    session_mean_s: Summary
    session_p50_s: Summary
    session_p95_s: Summary
    session_max_s: Summary


class CallSummary(TypedDict):
    """`CallFigures` over several replications."""

    r_factor: Summary
    mos: Summary
    mouth_to_ear_s: Summary
    late_ratio: Summary


class StationSummary(TypedDict):
    """`StationFigures` over several replications."""

    attempts: Summary
    collided_ratio: Summary
    failed_ratio: Summary
    acknowledged_packets: Summary
    given_up_packets: Summary
    internal_collisions: Summary
    airtime_ratio: Summary
    rts_airtime_ratio: Summary
    cts_airtime_ratio: Summary
    data_airtime_ratio: Summary
    ack_airtime_ratio: Summary
    mpdus_per_frame: Summary
    busy_ratio: Summary


class QueueSummary(TypedDict):
    """`QueueFigures` over several replications."""

    offered_packets: Summary
    dropped_packets: Summary
    dropped_full_packets: Summary
    dropped_early_packets: Summary
    dropped_filtered_packets: Summary
    marked_packets: Summary
    taken_packets: Summary
    length_mean_packets: Summary
    length_max_packets: Summary
    waiting_mean_s: Summary
    waiting_max_s: Summary


class MediumSummary(TypedDict):
    """`MediumFigures` over several replications."""

    throughput_bps: Summary
    collided_ratio: Summary
    data_airtime_ratio: Summary
    lost_data_airtime_ratio: Summary
    control_airtime_ratio: Summary
    throughput_jain_index: Summary
    goodput_bps: Summary
    sessions: Summary
    session_mean_s: Summary
    session_p95_s: Summary


class Summaries(TypedDict):
    """The figures over several replications by kind and name."""

    flows: dict[str, FlowSummary]
    connections: dict[str, ConnectionSummary]
    calls: dict[str, CallSummary]
    stations: dict[str, StationSummary]
    queues: dict[str, QueueSummary]
    medium: MediumSummary
