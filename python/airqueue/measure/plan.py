"""Traffic plans: what one run sends, agreed with the server before the first packet leaves."""

from __future__ import annotations

from dataclasses import dataclass

FLOOD_FLOW = 0
"""Flow that saturates the path."""
PROBE_FLOW = 1
"""Sparse flow on its own five-tuple; in one shared FIFO it suffers what the flood suffers."""


RATE_WINDOW_S = 0.1
"""A server counts a shorter segment as if its packets were spread over this time: its rate and that
of what follows then add up."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Evenly spaced packets of one flow; packet k of n leaves at ``start + k * duration / n``.

    Times in seconds from the start of the run, ``size_bytes`` with the IP header. A duration of
    zero is a back-to-back train.
    """

    flow: int
    start_s: float
    duration_s: float
    count: int
    size_bytes: int

    @property
    def end_s(self) -> float:
        """Offset of the end of the segment in seconds."""
        return self.start_s + self.duration_s

    @property
    def rate_pps(self) -> float:
        """Packets per second (infinite for a train)."""
        return self.count / self.duration_s if self.duration_s > 0 else float("inf")


def cbr(flow: int, start_s: float, end_s: float, rate_pps: float, size_bytes: int) -> Segment:
    """Return constant-rate traffic on [start, end): the nearest whole number of packets."""
    duration_s = end_s - start_s
    return Segment(flow, start_s, duration_s, max(1, round(duration_s * rate_pps)), size_bytes)


@dataclass(frozen=True, slots=True)
class Plan:
    """Segments that may overlap. The endpoints number the packets in the order of sending."""

    segments: tuple[Segment, ...]

    @property
    def end_s(self) -> float:
        """Offset of the end of the last segment in seconds."""
        return max((s.end_s for s in self.segments), default=0.0)

    @property
    def packets(self) -> int:
        """Number of packets in all segments."""
        return sum(s.count for s in self.segments)

    def native(self) -> list[tuple[int, int, int, int, int]]:
        """Segments as the Rust side takes them: (flow, start_ns, duration_ns, count, size)."""
        return [
            (s.flow, round(s.start_s * 1e9), round(s.duration_s * 1e9), s.count, s.size_bytes)
            for s in self.segments
        ]
