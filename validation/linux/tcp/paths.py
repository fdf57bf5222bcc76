"""The bottlenecks that are compared, and who sends through them.

The guest reads this file too: it needs nothing but Python's own library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PACKET_BYTES = 1514
"""A full segment on Ethernet: 1448 bytes of data with timestamps, as the bottleneck counts it."""

_LEAST_PACKETS = 5
"""A queue of fewer has room for no window that three duplicate acknowledgements could follow."""

_LARGE_PACKETS = 200
_OF_DEVICES = (20, 100)
"""Queues that there are, whatever the path."""


_BATCHES = ((2, 0.001), (5, 0.0025), (10, 0.005), (20, 0.01), (64, 0.01), (100, 0.02))
"""Packets, and seconds; a kernel takes up to 64 packets from a device before programs run."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A transfer without end."""

    rtt_s: float
    """Of an empty path, without the time that the bottleneck takes for a packet."""
    start_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """The packets that a link sends at one instant, as a Wi-Fi link those of an A-MPDU."""

    most_packets: int
    every_s: float
    """From one batch to the next, or from the arrival of a packet that finds no other."""


@dataclass(frozen=True, slots=True)
class Path:
    """A bottleneck of one rate, whose room counts the packet being sent, and what it carries."""

    congestion: str
    rate_bps: int
    queue_packets: int
    flows: tuple[Flow, ...]
    seconds: float
    trace: bool = False
    """Whether windows are kept."""
    batch: Batch | None = None
    """Without it the bottleneck sends packets one after the other."""

    @property
    def name(self) -> str:
        """As the results call it."""
        rtts = " and ".join(f"{1000 * flow.rtt_s:g} ms" for flow in self.flows)
        pace = f"{self.rate_bps / 1e6:g} Mb/s"
        if self.batch is not None:
            pace = f"{self.batch.most_packets} packets in {1000 * self.batch.every_s:g} ms"
        return f"{self.congestion}, {pace}, {rtts}, {self.queue_packets}"


def _bdp_packets(rate_bps: int, rtt_s: float) -> float:
    return rate_bps * rtt_s / (8 * PACKET_BYTES)


def _queues(rate_bps: int, rtt_s: float) -> list[int]:
    """A quarter, one and two times what the path holds, and those of devices.

    Of a path that holds hundreds of packets only the latter: with more room losses are so rare that
    no minutes have enough of them.
    """
    bdp = _bdp_packets(rate_bps, rtt_s)
    if bdp > _LARGE_PACKETS:
        return list(_OF_DEVICES)
    parts = {max(round(part * bdp), _LEAST_PACKETS) for part in (0.25, 1.0, 2.0)}
    apart = {one for one in parts if all(abs(one / size - 1.0) > 0.1 for size in _OF_DEVICES)}
    return sorted(apart.union(_OF_DEVICES))


def _seconds(rate_bps: int, rtt_s: float) -> float:
    """Long enough for several losses, which come minutes apart on a long fat path."""
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


def path(name: str) -> Path:
    """Return the path of that name."""
    return next(one for one in PATHS + BATCHED if one.name == name)
