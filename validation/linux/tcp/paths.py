"""The bottlenecks of the comparison, and their flows.

The guest reads this file too: it needs only Python's standard library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PACKET_BYTES = 1514
"""A full segment on Ethernet, as the bottleneck counts: 1448 bytes of data with timestamps."""

_LEAST_PACKETS = 5
"""Least queue whose windows allow three duplicate acknowledgements."""

_LARGE_PACKETS = 200
_OF_DEVICES = (20, 100)
"""Queues for every path."""


@dataclass(frozen=True, slots=True)
class Flow:
    """An unlimited transfer."""

    rtt_s: float
    """Round-trip time of an empty path, without the bottleneck's time for a packet."""
    start_s: float = 0.0


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

    @property
    def name(self) -> str:
        """As the results call it."""
        rtts = " and ".join(f"{1000 * flow.rtt_s:g} ms" for flow in self.flows)
        return f"{self.congestion}, {self.rate_bps / 1e6:g} Mb/s, {rtts}, {self.queue_packets}"


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


PATHS = tuple(_paths())


def path(name: str) -> Path:
    """Return the path of that name."""
    return next(one for one in PATHS if one.name == name)
