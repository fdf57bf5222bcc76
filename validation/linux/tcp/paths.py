"""The bottlenecks of the comparison, and their flows.

The guest reads this file too: it needs only Python's standard library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

PACKET_BYTES = 1514
"""A full segment on Ethernet, as the bottleneck counts: 1448 bytes of data with timestamps."""

_LEAST_PACKETS = 5
"""Least queue whose windows allow three duplicate acknowledgements."""

_LARGE_PACKETS = 200
_OF_DEVICES = (20, 100)
"""Queues for every path."""


_BATCHES = ((2, 0.001), (5, 0.0025), (10, 0.005), (20, 0.01), (64, 0.01), (100, 0.02))
"""Packets, and seconds; a kernel takes up to 64 packets from a device before programs run."""


@dataclass(frozen=True, slots=True)
class Flow:
    """An unlimited transfer."""

    rtt_s: float
    """Round-trip time of an empty path, without the bottleneck's time for a packet."""
    start_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """The packets that a link sends at one instant, as a Wi-Fi link those of an A-MPDU."""

    most_packets: int
    every_s: float
    """From one batch to the next, or from the arrival of a packet that finds no other."""


@dataclass(frozen=True, slots=True)
class Path:
    """A bottleneck of one rate and its flows; its limit counts the packet being sent."""

    congestion: str
    rate_bps: int
    queue_packets: int
    flows: tuple[Flow, ...]
    seconds: float
    trace: bool = False
    """Whether windows are kept."""
    back_bps: int = 0
    """The rate of a CAKE that acknowledgements pass at the receiver; 0: there is none."""
    ack_filter: str = ""
    """That CAKE's word for its ACK filter."""
    batch: Batch | None = None
    """Without a batch the bottleneck sends packets one after the other."""
    bursts: bool = False
    """Whether senders hand over several segments at once (segmentation offload)."""
    receive_bytes: int = 0
    """The largest receive buffer (``tcp_rmem``), up to which the kernel tunes the window; 0: the
    buffer is larger than any window from the start."""

    @property
    def name(self) -> str:
        """As the results call it."""
        rtts = " and ".join(f"{1000 * flow.rtt_s:g} ms" for flow in self.flows)
        back = f", {self.back_bps // 1000} kb/s back, {self.ack_filter}" if self.back_bps else ""
        pace = f"{self.rate_bps / 1e6:g} Mb/s"
        if self.batch is not None:
            pace = f"{self.batch.most_packets} packets in {1000 * self.batch.every_s:g} ms"
        bursts = ", bursts" if self.bursts else ""
        receives = f", {self.receive_bytes >> 10} KiB received" if self.receive_bytes else ""
        return f"{self.congestion}, {pace}, {rtts}, {self.queue_packets}{back}{bursts}{receives}"


def _bdp_packets(rate_bps: int, rtt_s: float) -> float:
    return rate_bps * rtt_s / (8 * PACKET_BYTES)


def _queues(rate_bps: int, rtt_s: float) -> list[int]:
    """Return a quarter, one and two times the packets that the path holds, and queues of devices.

    For a path that holds hundreds of packets only the latter: with longer queues losses are too rare
    for runs of minutes.
    """
    bdp = _bdp_packets(rate_bps, rtt_s)
    if bdp > _LARGE_PACKETS:
        return list(_OF_DEVICES)
    parts = {max(round(part * bdp), _LEAST_PACKETS) for part in (0.25, 1.0, 2.0)}
    apart = {one for one in parts if all(abs(one / size - 1.0) > 0.1 for size in _OF_DEVICES)}
    return sorted(apart.union(_OF_DEVICES))


def _seconds(rate_bps: int, rtt_s: float) -> float:
    """Duration long enough for several losses, which are minutes apart on a long fat path."""
    return 120.0 if _bdp_packets(rate_bps, rtt_s) > _LARGE_PACKETS else 60.0


def _paths() -> Iterator[Path]:
    for congestion in ("reno", "cubic", "bbr"):
        for rate_bps in (5_000_000, 10_000_000, 50_000_000):
            for rtt_s in (0.01, 0.04, 0.1):
                for queue in _queues(rate_bps, rtt_s):
                    trace = rate_bps == 10_000_000 and queue == round(_bdp_packets(rate_bps, rtt_s))
                    seconds = _seconds(rate_bps, rtt_s)
                    yield Path(congestion, rate_bps, queue, (Flow(rtt_s),), seconds, trace)
        for queue in (20, 100):
            for longer_s in (0.04, 0.1):
                flows = (Flow(0.01), Flow(longer_s, start_s=1.0))
                yield Path(congestion, 10_000_000, queue, flows, 60.0)
    # Two seconds of queue, in which segments are lost by the hundred.
    for congestion in ("reno", "cubic"):
        yield Path(congestion, 5_000_000, 850, (Flow(0.01),), 120.0)


def _batched(congestion: str, batch: Batch, flows: tuple[Flow, ...], queue_packets: int) -> Path:
    rate_bps = round(8 * PACKET_BYTES * batch.most_packets / batch.every_s)
    return Path(congestion, rate_bps, queue_packets, flows, 60.0, batch=batch)


def _batched_paths() -> Iterator[Path]:
    """Queues of one and two times what the path holds; other connections between the segments.

    No round trip is a multiple of the time between batches: packets would arrive in the instant in
    which a batch is sent, and the queue's length would depend on which of the two comes first.
    """
    rtt_s = 0.0434
    for congestion in ("reno", "cubic"):
        for packets, every_s in _BATCHES:
            holds = round(packets * rtt_s / every_s)
            for queue in (holds, 2 * holds):
                yield _batched(congestion, Batch(packets, every_s), (Flow(rtt_s),), queue)
        flows = (Flow(0.0217), Flow(rtt_s, start_s=1.0))
        yield _batched(congestion, Batch(10, 0.005), flows, 160)


PATHS = tuple(_paths())
BATCHED = tuple(_batched_paths())
BURSTS = tuple(
    replace(one, bursts=True, trace=False)
    for one in (*PATHS, *BATCHED)
    if len(one.flows) == 1
    and (one.queue_packets in _OF_DEVICES or one.batch in (Batch(5, 0.0025), Batch(20, 0.01)))
)
"""Queues of devices, with the kernel's bursts; where batches leave, the receiver merges segments."""

RECEIVED = tuple(
    Path(congestion, rate_bps, queue, (Flow(rtt_s),), 30.0, receive_bytes=kib << 10)
    for congestion in ("reno", "cubic", "bbr")
    for rate_bps, rtt_s, queue, kib in (
        # The path holds more than the window.
        (20_000_000, 0.2, 1000, 512),
        (10_000_000, 0.3, 1000, 256),
        # The queue holds more than the window.
        (5_000_000, 0.04, 2000, 1024),
        (20_000_000, 0.01, 5000, 6144),
        (50_000_000, 0.1, 3000, 6144),
        # The window is the limit in the beginning alone.
        (50_000_000, 0.1, 1000, 6144),
    )
)
"""Paths on which the receive window limits the sender, with the kernel's buffer and smaller ones."""

ASYMMETRIC = tuple(
    Path(congestion, 20_000_000, 100, (Flow(0.04),), 60.0, back_bps=back_bps, ack_filter=word)
    for congestion in ("reno", "cubic")
    for back_bps in (150_000, 300_000)
    for word in ("ack-filter", "ack-filter-aggressive")
)
"""20 Mb/s of full segments, two to an acknowledgement, need 436 kb/s back.

Without a filter the receiver's window would hold the sender up: acknowledgements wait, and with them
the news that the window has grown.
"""


ALL = (*PATHS, *ASYMMETRIC, *BATCHED, *BURSTS, *RECEIVED)


def path(name: str) -> Path:
    """Return the path of that name."""
    return next(one for one in ALL if one.name == name)
