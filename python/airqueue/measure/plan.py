"""Traffic plans: what one run sends, agreed with the server before the first packet leaves."""

from __future__ import annotations

from dataclasses import dataclass

FLOOD_FLOW = 0
"""Flow that saturates the path."""
PROBE_FLOW = 1
"""Sparse flow on its own five-tuple; in one shared FIFO it suffers what the flood suffers."""


NOT_ECT = 0b00
"""ECN field of packets whose transport does not understand marks (RFC 3168, section 5)."""
ECT_1 = 0b01
"""ECN field of packets for the low-latency queue of L4S (RFC 9331)."""
ECT_0 = 0b10
"""ECN field of packets whose transport takes a mark for a loss (RFC 3168, section 5)."""
CE = 0b11
"""ECN field of packets that a queue has marked: congestion experienced (RFC 3168, section 5)."""
HIGHEST_DSCP = 47
"""Endpoints refuse packets of higher codepoints, which are for network control (RFC 2474, section
4.2.2.2)."""


def traffic_class(dscp: int = 0, ecn: int = NOT_ECT) -> int:
    """Return the octet of the IP header that holds a DSCP (RFC 2474) and an ECN field (RFC 3168).

    IPv6 calls it traffic class (RFC 8200, section 7), IPv4 has it in place of the type of service.
    """
    if not 0 <= dscp <= 63:
        raise ValueError(f"the DSCP {dscp} is not one: give a number from 0 to 63")
    if not NOT_ECT <= ecn <= CE:
        raise ValueError(f"the ECN field {ecn} is none: give a number from 0 to 3")
    return dscp << 2 | ecn


RATE_WINDOW_S = 0.1
"""A server counts a shorter segment as if its packets were spread over this time: its rate and that
of what follows then add up."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Evenly spaced packets of one flow; packet k of n leaves at ``start + k * duration / n``.

    Times in seconds from the start of the run, ``size_bytes`` with the IP header. A duration of
    zero is a back-to-back train. ``traffic_class``: the octet of that name in the IP header, see
    `traffic_class`; one flow may have segments of several classes.
    """

    flow: int
    start_s: float
    duration_s: float
    count: int
    size_bytes: int
    traffic_class: int = 0

    @property
    def end_s(self) -> float:
        """Offset of the end of the segment in seconds."""
        return self.start_s + self.duration_s

    @property
    def rate_pps(self) -> float:
        """Packets per second (infinite for a train)."""
        return self.count / self.duration_s if self.duration_s > 0 else float("inf")


def cbr(
    flow: int,
    start_s: float,
    end_s: float,
    rate_pps: float,
    size_bytes: int,
    *,
    traffic_class: int = 0,
) -> Segment:
    """Return constant-rate traffic on [start, end): the nearest whole number of packets."""
    duration_s = end_s - start_s
    count = max(1, round(duration_s * rate_pps))
    return Segment(flow, start_s, duration_s, count, size_bytes, traffic_class)


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

    def native(self) -> list[tuple[int, int, int, int, int, int]]:
        """Segments as the Rust side takes them.

        These are (flow, start_ns, duration_ns, count, size, traffic_class).
        """
        return [
            (
                s.flow,
                round(s.start_s * 1e9),
                round(s.duration_s * 1e9),
                s.count,
                s.size_bytes,
                s.traffic_class,
            )
            for s in self.segments
        ]
