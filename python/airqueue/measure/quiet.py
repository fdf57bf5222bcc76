"""Sparse packets: what the empty path is measured with, and what ends a run."""

from __future__ import annotations

from collections.abc import Sequence

from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Segment

QUIET_S = 0.35
QUIET_PER_SIZE = 12
"""Baseline packets of each size in each quiet period."""
PROBE_FLOWS = (PROBE_FLOW, PROBE_FLOW + 1)
FLOWS = 1 + len(PROBE_FLOWS)
"""Five-tuples that a measurement uses."""


def farewell(at_s: float, size: int) -> tuple[Segment, ...]:
    """Return one last packet on every flow: once all arrive, no other packet is in flight."""
    return tuple(Segment(flow, at_s, 0.0, 1, size) for flow in (*PROBE_FLOWS, FLOOD_FLOW))


def quiet_length_s(rate_pps: float, sizes: int) -> float:
    """Length of a quiet period: its packets may use a tenth of the path."""
    return max(QUIET_S, sizes * QUIET_PER_SIZE / (0.1 * rate_pps))


def baseline(start_s: float, end_s: float, rate_pps: float, sizes: Sequence[int]) -> list[Segment]:
    """Sparse packets of every size, interleaved, on the two probe flows."""
    length = end_s - start_s
    gap = length / (QUIET_PER_SIZE * len(sizes))
    return [
        Segment(PROBE_FLOWS[i % 2], start_s + i * gap, length, QUIET_PER_SIZE, size)
        for i, size in enumerate(sizes)
    ]
