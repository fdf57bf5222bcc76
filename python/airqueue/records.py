"""Dictionaries that the bindings return: names, types, units and meaning.

Written by scripts/native_types.py from crates/airqueue-python/src/dicts.rs: change that, then
``make types``. The unit is in the name; times whose names end in ``_ns`` are whole nanoseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class CodecDict(TypedDict):
    """A codec of calls."""

    ie: float
    """Ie of ITU-T G.113: impairment without loss."""
    bpl: float
    """Bpl of ITU-T G.113: robustness against loss, in percent."""
    frame_s: float
    """Speech in a frame."""
    lookahead_s: float
    """Speech that the coder needs beyond the frame, or that loss concealment holds back."""
    frames_per_packet: int
    """Usual number of frames per packet."""
    rate_bps: float
    """Rate of its frames, without headers."""


class ContentionDict(TypedDict):
    """Counters of saturated queues: totals of the medium, and one value for each contender in
    the contenders' order."""

    idle_slots: int
    """Idle slots between the end of the smallest AIFS and each transmission."""
    transmissions: int
    """Busy periods, successful or not."""
    collided: int
    """Busy periods in which several stations transmitted."""
    attempts: npt.NDArray[np.uint64]
    """Transmissions of the contender: successes and collisions."""
    successes: npt.NDArray[np.uint64]
    """Transmissions without a collision."""
    collisions: npt.NDArray[np.uint64]
    """Transmissions that collided with the transmission of another station."""
    internal_collisions: npt.NDArray[np.uint64]
    """Number of times that a queue of higher priority in the node transmitted instead."""
    drops: npt.NDArray[np.uint64]
    """Packets given up after the last retry."""
    packets: npt.NDArray[np.uint64]
    """Packets delivered."""


class DelaysBelowDict(TypedDict):
    """Delays shorter than a time."""

    below_s: float
    """The time, a power of two of nanoseconds."""
    packets: int
    """How many delays are shorter."""


class EchoIgnoredDict(TypedDict):
    """Messages that answered no probe."""

    malformed: int
    """Not of the method's protocol, or cut off."""
    foreign: int
    """From another address, or not about a probe that was sent."""
    duplicate: int
    """About a probe that had been answered."""
    late: int
    """More than ten seconds after the probe."""
    unreachable: int
    """ICMP errors about a probe that are not the method's answer, and connections that failed."""
    ambiguous: int
    """Answers that could be to several probes."""


class EchoPollDict(TypedDict):
    """The state of a target."""

    name: str
    """What the target is called."""
    method: Literal["icmp", "hop", "udp", "tcp", "server"]
    """Its method."""
    address: str | None
    """The address that is probed; none if the target could not be probed."""
    sent: int
    """Probes sent."""
    answered: int
    """Probes answered."""
    round_trip_s: float | None
    """Round trip of the answer that came last."""
    answered_by: str | None
    """The address that answered last."""
    refused: int
    """Probes that the kernel did not take."""
    refusal: str | None
    """The kernel's words about the last of them."""
    skipped: int
    """Times at which a probe was due and none was sent."""
    failed: str | None
    """Why the target is not probed, or no longer: a sentence."""


class EchoSeriesDict(TypedDict):
    """The probes of a target since the start, a row for each that left, in the order of sending.
    Times are of CLOCK_MONOTONIC; the smallest int64 stands for an answer that has not come."""

    name: str
    """What the target is called."""
    method: Literal["icmp", "hop", "udp", "tcp", "server"]
    """Its method."""
    address: str | None
    """The address that was probed; none if the target could not be probed."""
    sent_ns: npt.NDArray[np.int64]
    """Send time of the probe, before the queues of this machine."""
    received_ns: npt.NDArray[np.int64]
    """Receive time of its answer."""
    answered_by: str | None
    """The address that answered last."""
    from_host: bool
    """Whether the host itself has answered, and not only a router on the way."""
    timed_by_program: int
    """Answers whose receive time is the program's, and not the kernel's."""
    ignored: EchoIgnoredDict
    """Messages that answered no probe."""
    failed: str | None
    """Why the target was not probed, or no longer: a sentence."""


class EchoTargetDict(TypedDict):
    """A target to be probed."""

    name: str
    """What the target is called."""
    host: str
    """Name or IP address."""
    method: Literal["icmp", "hop", "udp", "tcp", "server"]
    """`icmp`: echo; `hop`: datagrams that end at a router on the way; `udp`: datagrams to a
    closed port; `tcp`: connections; `server`: a message that an airqueue server answers."""
    port: int | None
    """Port: needed for `tcp`; of `server` by default 5860; of `udp` by default ports that are
    usually closed."""
    hops: int | None
    """Number of the router, from 1: needed for `hop`."""


class LossDict(TypedDict):
    """Packets of a pair that were lost at one place for one reason."""

    place: str
    """The queue, the station that gave packets up, or the wired link."""
    reason: str
    """`full`, `early`, `filtered`, `oversize`, `policed`, `given_up` or `wire`."""
    packets: int
    """How many."""


class PairDict(TypedDict):
    """The packets from one real node to another."""

    offered_packets: int
    """Packets offered to the network."""
    offered_bytes: int
    """Their IP bytes."""
    delivered_packets: int
    """Packets delivered by the network."""
    delivered_bytes: int
    """Their IP bytes."""
    dropped_packets: int
    """Packets dropped by queues of the network."""
    given_up_packets: int
    """Packets given up on the air, after the last retry, or lost in a wired link."""
    marked_packets: int
    """Delivered packets that a queue of the network marked with CE."""
    delay_mean_s: float | None
    """Mean delay in the network."""
    delay_p50_s: float | None
    """Median of the delay."""
    delay_p95_s: float | None
    """95th percentile of the delay."""
    delay_p99_s: float | None
    """99th percentile of the delay."""
    delay_max_s: float | None
    """Largest delay."""
    losses: list[LossDict]
    """Where and why packets were lost."""


class RefusedDict(TypedDict):
    """Packets that were not carried to their destination."""

    packets: int
    """Packets."""
    bytes: int
    """Their bytes."""
    answered_packets: int
    """How many of them a router has answered with an error."""


class EmulationDict(TypedDict):
    """An emulation so far: the packets of real programs, and how well the emulation kept up with
    the wall clock."""

    duration_s: float
    """Wall-clock time since the end of the warm-up."""
    written_packets: int
    """Packets written to real nodes."""
    late_p50_s: float | None
    """Median of the lateness of packets: written minus due."""
    late_p99_s: float | None
    """99th percentile of the lateness."""
    late_max_s: float | None
    """Largest lateness."""
    late_ratio: float | None
    """Share of packets that were late by more than a millisecond."""
    read_late_p99_s: float | None
    """99th percentile of the time that packets may have waited to be read, at most, as far as
    the emulation can know."""
    read_late_max_s: float | None
    """Largest such time."""
    read_late_ratio: float | None
    """Share of packets that may have waited more than a millisecond to be read."""
    unwritten_packets: int
    """Packets that left the network and that a device did not take."""
    held_packets: int
    """Packets in the network now."""
    cpu_ratio: float | None
    """CPU time of the emulation's thread, as a share of one processor."""
    priority: bool
    """Whether the thread had a real-time priority."""
    late_below: list[DelaysBelowDict]
    """How many packets were late by less than each of some times."""
    read_late_below: list[DelaysBelowDict]
    """The same of the time that packets may have waited to be read, at most."""
    pairs: dict[str, PairDict]
    """The packets from each real node to each other, by `from->to`."""
    refused: dict[str, RefusedDict]
    """The packets that were not carried to their destination, by reason."""


class FatesDict(TypedDict):
    """The fate of packets in a queue before a token bucket: in the arrays one value for each
    packet, in order."""

    left_ns: npt.NDArray[np.int64]
    """When the packet left; the smallest int64 if the packet was dropped."""
    marked: npt.NDArray[np.bool_]
    """Whether the packet had a congestion mark when it left."""
    warnings: list[str]
    """Warnings on the queue's table, a sentence each."""


class FlowSeriesDict(TypedDict):
    """Throughput and delay of a flow, and TCP's window, a value for each interval."""

    throughput_bps: npt.NDArray[np.float64]
    """Bits of IP packets per second."""
    delay_mean_s: npt.NDArray[np.float64]
    """Delay from source to destination of the packets that were delivered in the interval; NaN
    if none was."""
    cwnd_bytes: npt.NDArray[np.float64]
    """Congestion window of TCP's present connection at the end of the interval; NaN without one."""
    srtt_s: npt.NDArray[np.float64]
    """Smoothed round-trip time of that connection (RFC 6298); NaN before its first sample too."""


class HopDict(TypedDict):
    """A router on the way to a host, or the host."""

    hop: int
    """Its number, from 1."""
    address: str | None
    """Its address; none if it did not answer."""
    round_trip_s: float | None
    """Round trip of its answer."""
    is_host: bool
    """Whether this is the host itself."""


class HostDict(TypedDict):
    """Reports of the hosts at both ends of a run."""

    send_blocked: int
    """Packets that the sending host's own buffer refused."""
    receive_overflow: int
    """Packets that overflowed the receiving host's socket buffer, as its kernel counted them."""
    duplicates: int
    """Second and later copies of a packet."""
    clock_steps: int
    """Wall-clock steps seen while mapping timestamps, sender and receiver together."""
    kernel_receive_timestamps: bool
    """Whether receive times are the kernel's."""
    shared: bool
    """Whether the server also carried packets of other clients during the run."""


class LimitsDict(TypedDict):
    """The limits of a server."""

    max_bits_per_s: int
    """Highest IP bit rate of a plan, all flows together."""
    max_packets_per_s: int
    """Highest packet rate of a plan, all flows together, and of all sessions."""
    max_run_s: float
    """Longest run."""
    max_packets: int
    """Most packets in one run."""
    max_sessions: int
    """Most sessions at a time."""
    max_sessions_per_address: int
    """Most sessions at a time from one IP address."""


class LivePairDict(TypedDict):
    """The packets from one real node to another in the last seconds."""

    offered_bps: float | None
    """Rate of IP packets offered to the network."""
    delivered_bps: float | None
    """Rate of IP packets delivered by the network."""
    offered_packets: int
    """Packets offered to the network."""
    delivered_packets: int
    """Packets delivered by the network."""
    dropped_packets: int
    """Packets dropped by queues of the network."""
    given_up_packets: int
    """Packets given up on the air, after the last retry, or lost in a wired link."""
    marked_packets: int
    """Delivered packets that a queue of the network marked with CE."""
    delay_p50_s: float | None
    """Median of the delay in the network."""
    delay_p95_s: float | None
    """95th percentile of the delay."""


class LiveStationDict(TypedDict):
    """A station in the last seconds."""

    airtime_ratio: float | None
    """Share of the time in which the station sent frames."""
    busy_ratio: float | None
    """Share of the time in which the station sensed the medium busy, or sent."""
    away: bool
    """Whether the station is out of reach of all others now."""


class LiveQueueDict(TypedDict):
    """A queue in the last seconds."""

    packets: int
    """Packets that wait now, driver ring included."""
    bytes: int
    """Their bytes, link layer included."""
    dropped_packets: int
    """Packets that the queue dropped."""


class LiveDict(TypedDict):
    """The figures of an emulation in the last seconds."""

    duration_s: float
    """How long these seconds are: rates, delays, shares and counts are of this time."""
    elapsed_s: float
    """Wall-clock time since the end of the warm-up."""
    late_p99_s: float | None
    """99th percentile of the lateness of packets: written minus due."""
    read_late_p99_s: float | None
    """99th percentile of the time that packets may have waited to be read, at most."""
    unwritten_packets: int
    """Packets that left the network and that a device did not take."""
    held_packets: int
    """Packets of real programs in the network at the end of this time."""
    cpu_ratio: float | None
    """CPU time of the emulation's thread, as a share of one processor."""
    pairs: dict[str, LivePairDict]
    """The packets from each real node to each other, by `from->to`."""
    stations: dict[str, LiveStationDict]
    """The stations, simulated ones too."""
    queues: dict[str, LiveQueueDict]
    """The queues of stations and of wired links."""


class LoadDict(TypedDict):
    """A load of TCP connections so far."""

    elapsed_s: float
    """Time since the load began."""
    down_bytes: int
    """Bytes that arrived here, without headers."""
    up_bytes: int
    """Bytes that the server acknowledged, selectively too, without headers."""
    opening: int
    """Connections that the server has not answered yet."""
    alive: int
    """Connections that carry the load."""
    ended: bool
    """Whether the load has ended."""
    failed: str | None
    """Why the load ended before its run, unless it was stopped."""


class LoadSeriesDict(TypedDict):
    """The records of a load: columns of equal length, one row per interval of about 100 ms.
    Times are on `CLOCK_MONOTONIC`; the smallest int64 stands for a time that is not known."""

    from_ns: int
    """The beginning of the first interval."""
    at_ns: npt.NDArray[np.int64]
    """End of the interval, which is the beginning of the next one."""
    down_bytes: npt.NDArray[np.uint64]
    """Bytes that arrived in the interval, in whatever order, without headers."""
    up_bytes: npt.NDArray[np.uint64]
    """Bytes that the server acknowledged in the interval, selectively too, without headers."""
    down_rtt_least_ns: npt.NDArray[np.int64]
    """Least round-trip time of connections that download, as the receiving kernel sees it."""
    down_rtt_median_ns: npt.NDArray[np.int64]
    """Median of the round-trip times of connections that download."""
    up_rtt_least_ns: npt.NDArray[np.int64]
    """Least smoothed round-trip time of connections that upload."""
    up_rtt_median_ns: npt.NDArray[np.int64]
    """Median of the smoothed round-trip times of connections that upload."""
    alive: npt.NDArray[np.uint64]
    """Connections that carried the load at the end of the interval."""
    retransmitted: int
    """Segments that connections that upload sent again."""
    died: list[str]
    """Connections that died before the run ended or were never there, a sentence each."""


class MeshBuffersDict(TypedDict):
    """The buffers of a flow of a mesh, as its routers compute them."""

    buffer_packets: float
    """B: packets that the nodes in the bottleneck hold together; not rounded."""
    centre: int
    """Link in the middle of the bottleneck, by its index."""
    hops: list[int]
    """The flow's hops in the bottleneck, from 0 at the source."""
    utilisation: float
    """How much of its time the bottleneck is used."""
    full: bool
    """Whether the bottleneck is full."""
    packets: list[int]
    """Limits of the transmitting nodes of the route, from the source."""


class MeshLimitDict(TypedDict):
    """What a router of a mesh sets."""

    flow: int | None
    """Number of the flow whose queue it is; none: the router's one queue."""
    packets: int | None
    """The limit; none gives the queue back what it holds without this."""


class MeshReasonDict(TypedDict):
    """Why a router of a mesh has this limit for a flow, or none."""

    flow: int
    """Number of the flow."""
    reason: str
    """The reason."""


class MeshDecisionDict(TypedDict):
    """A decision of a router of a mesh."""

    changes: list[MeshLimitDict]
    """What is to be set."""
    reasons: list[MeshReasonDict]
    """The reasons of all active flows of the router."""


class OpportunitiesDict(TypedDict):
    """What the medium gave to a link: times from the beginning of the warm-up."""

    at_ns: npt.NDArray[np.int64]
    """Each time at which the sum of the delivered bytes passed a multiple of 1500."""
    idle_from_ns: npt.NDArray[np.int64]
    """The beginnings of times in which no packet waited."""
    idle_to_ns: npt.NDArray[np.int64]
    """Their ends."""
    from_ns: int
    """The beginning."""
    until_ns: int
    """The end."""


class PollDict(TypedDict):
    """The state of a run."""

    state: Literal["running", "collecting", "done", "failed"]
    """The phase of the run."""
    reason: str | None
    """Why the run failed."""
    elapsed_s: float
    """Time since the run began."""
    planned_s: float
    """Planned length of the run."""
    received: int
    """Packets received; upwards, as the server last reported."""
    lost: int
    """Packets that later ones overtook; upwards, as the server last reported."""
    delay_s: float | None
    """Recent one-way delay above the least seen in this run; none until known."""
    waits_s: float | None
    """Estimated time until the run's turn, where other clients measure with the server; none in
    its turn."""
    runs_ahead: int
    """Runs of other clients that come first."""
    epoch_ns: int | None
    """Zero of the recorded times that were read here, on `CLOCK_MONOTONIC`: of `received_ns`
    downwards, of `scheduled_ns`, `sent_ns` and `kernel_tx_ns` upwards. Also after the run; none
    upwards before the run begins."""
    started_ns: int | None
    """When the run began as seen from here, on `CLOCK_MONOTONIC`: upwards the epoch, downwards
    the least of arrival minus send time. Also after the run; none before its first packet."""


class QueueSeriesDict(TypedDict):
    """Packets waiting in a queue, driver ring included, a value for each interval."""

    length_mean_packets: npt.NDArray[np.float64]
    """Mean over the interval."""
    length_packets: npt.NDArray[np.float64]
    """At the end of the interval."""


class RunDict(TypedDict):
    """The records of a run: columns of equal length, one row per packet in the order of sending.
    Times are in nanoseconds; the smallest int64 stands for a missing time."""

    scheduled_ns: npt.NDArray[np.int64]
    """Planned send time of the packet."""
    sent_ns: npt.NDArray[np.int64]
    """Send time of the packet."""
    kernel_tx_ns: npt.NDArray[np.int64]
    """The kernel's transmit timestamp of the packet."""
    received_ns: npt.NDArray[np.int64]
    """Receive time of the packet."""
    flow: npt.NDArray[np.uint8]
    """Flow of the packet."""
    size_bytes: npt.NDArray[np.uint16]
    """Size of the IP packet."""
    sent_class: npt.NDArray[np.uint8] | None
    """Traffic class of the packet as its sender wrote it: DSCP times 4, plus ECN. None if
    classes were not recorded."""
    received_class: npt.NDArray[np.uint8] | None
    """Traffic class of the packet on arrival; 0 if it did not arrive. None if classes were not
    recorded."""
    host: HostDict
    """Reports of the hosts."""
    end: Literal["complete", "cancelled", "receiver_silent", "sender_silent"]
    """How the run ended."""


class SeriesDict(TypedDict):
    """Time series of a network: a row for each whole interval."""

    time_s: npt.NDArray[np.float64]
    """The ends of the intervals, counted from the beginning of the warm-up."""
    flows: dict[str, FlowSeriesDict]
    """The series of each flow."""
    queues: dict[str, QueueSeriesDict]
    """The series of each queue that a flow feeds, and of each queue before a wired link."""


class ServerStatsDict(TypedDict):
    """Counters of a server since its start."""

    sessions: int
    """Sessions open now."""
    sessions_opened: int
    """Sessions opened in all."""
    refused: int
    """Requests to open, to join or to run a plan that were refused with a reason."""
    ignored: int
    """Datagrams that were malformed or belonged to no session."""
    runs: int
    """Runs begun."""
    datagrams_received: int
    """Datagrams received."""
    datagrams_sent: int
    """Datagrams sent."""


class TotalPairDict(TypedDict):
    """The packets from one real node to another."""

    offered_packets: int
    """Packets offered to the network."""
    offered_bytes: int
    """Their IP bytes."""
    delivered_packets: int
    """Packets delivered by the network."""
    delivered_bytes: int
    """Their IP bytes."""
    dropped_packets: int
    """Packets dropped by queues of the network."""
    given_up_packets: int
    """Packets given up on the air, after the last retry, or lost in a wired link."""
    marked_packets: int
    """Delivered packets that a queue of the network marked with CE."""
    delay_sum_s: float
    """Sum of the delays of delivered packets in the network."""
    delays_below: list[DelaysBelowDict]
    """How many of these delays are shorter than each of some times."""


class TotalQueueDict(TypedDict):
    """A queue."""

    packets: int
    """Packets that wait now, driver ring included."""
    bytes: int
    """Their bytes, link layer included."""
    offered_packets: int
    """Packets offered to the queue."""
    dropped_packets: int
    """Packets that the queue dropped."""
    marked_packets: int
    """Packets that the queue marked with CE."""


class TotalStationDict(TypedDict):
    """A station."""

    airtime_s: float
    """Time in which the station sent frames."""
    busy_s: float
    """Time in which the station sensed the medium busy, or sent."""
    away: bool
    """Whether the station is out of reach of all others now."""


class TotalsDict(TypedDict):
    """The counters of an emulation since real time began."""

    elapsed_s: float
    """Wall-clock time since the end of the warm-up."""
    cpu_s: float
    """CPU time of the emulation's thread in this time."""
    written_packets: int
    """Packets written to real nodes."""
    late_sum_s: float
    """Sum of their lateness: written minus due."""
    late_packets: int
    """Those that were late by more than a millisecond."""
    read_late_packets: int
    """Packets that may have waited more than a millisecond to be read."""
    unwritten_packets: int
    """Packets that left the network and that a device did not take."""
    held_packets: int
    """Packets of real programs in the network now."""
    pairs: dict[str, TotalPairDict]
    """The packets from each real node to each other, by `from->to`."""
    stations: dict[str, TotalStationDict]
    """The stations, simulated ones too."""
    queues: dict[str, TotalQueueDict]
    """The queues of stations and of wired links."""
    refused: dict[str, RefusedDict]
    """The packets that were not carried to their destination, by reason."""


class TruthDict(TypedDict):
    """The true length of a simulated queue during the last run. The columns have a row after
    each change of the queue, and are empty unless the configuration asks for them."""

    max_waiting_packets: int
    """Largest number of waiting packets; the packet in service is excluded."""
    max_waiting_bytes: int
    """Largest number of waiting bytes, link-layer bytes included."""
    at_ns: npt.NDArray[np.int64]
    """Time of each change, on the path's clock."""
    packets: npt.NDArray[np.uint64]
    """Packets waiting after the change."""
    bytes: npt.NDArray[np.uint64]
    """Bytes waiting after the change."""
