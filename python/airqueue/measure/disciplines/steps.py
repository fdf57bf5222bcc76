"""The runs that tell disciplines apart: steps of overload, and two floods at once.

A *step* is a rest, in which a controller forgets what was before, then a flood at one overload into
the empty queue. Small overloads let a controller act long before the queue is full; a larger one
shows where its limit is. *Two floods* at once show whether flows share a queue: first one above and
one below an equal share of the path, then two alike.

``quiet``, ``drain``, ``after``  as in a session;
``hold``  the flood of a step;
``uneven``, ``settle``, ``even``  the two floods, with a pause between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, Segment, cbr

STEP: Final = "step"
TWO_FLOODS: Final = "two_floods"
"""Kinds of these runs in their meta data."""
REST_S: Final = 2.0
"""CoDel forgets its count after 16 intervals: 1.6 s with the usual one."""
OVERLOADS: Final = (1.03, 1.1, 1.35)
LENGTHS_S: Final = (5.0, 5.0, 4.0)
LONG_S: Final = 10.0
"""Length of one more step at the middle overload, for controllers that have hardly acted."""
MOST_PACKETS: Final = 100_000
"""Of a flood; faster paths have shorter steps."""
FILLED: Final = 0.8
"""Share of the queue, as far as it is known, that the smallest overload may fill."""
LEAST_OVERLOAD: Final = 1.01
"""The path's rate is known to less than this."""
UNEVEN: Final = (1.2, 0.35)
EVEN: Final = 0.9
"""Rates of the two floods, as multiples of the path's."""
FLOODS_S: Final = 2.0
FLOODS_PACKETS: Final = 500
"""Of the path, at least, in each of the two parts: shares of few packets are vague."""
SPARE_S: Final = 0.03
"""Added to each time that is computed from the rate, which is not known exactly."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the runs are laid out for: packets/s of the path and of the sender, packets that wait."""

    size_bytes: int
    rate_pps: float
    ceiling_pps: float
    held: float
    baseline: Sequence[Segment]
    """Packets of a quiet period, from zero to ``quiet_s``."""
    quiet_s: float

    @property
    def drains_s(self) -> float:
        """Time in which what is known to wait has left."""
        return 1.2 * self.held / self.rate_pps + SPARE_S


def overloads(at: Layout) -> tuple[float, ...]:
    """Return the overload of each step: the first does not fill the queue, all can be sent."""
    first = FILLED * at.held / (at.rate_pps * LENGTHS_S[0])
    smallest = max(LEAST_OVERLOAD, min(OVERLOADS[0], 1 + first))
    most = at.ceiling_pps / at.rate_pps
    return tuple(min(x, most) for x in (smallest, *OVERLOADS[1:]))


def step_plan(
    at: Layout, overload: float, length_s: float, index: int
) -> tuple[Plan, dict[str, Any]]:
    """Lay out one step."""
    start = max(REST_S, at.quiet_s)
    rate = overload * at.rate_pps
    end = start + min(length_s, MOST_PACKETS / rate)
    # What waits at the end: what came too much, and perhaps what waited when all of this was planned.
    drained = end + 1.2 * (overload - 1) * (end - start) + at.drains_s
    flood = cbr(FLOOD_FLOW, start, end, rate, at.size_bytes)
    phases = {"quiet": [0.0, start], "hold": [start, end], "drain": [end, drained]}
    says = f"{length_s:.0f} s at {overload:.2f} times the rate"
    return framed(at, [flood], phases, {"kind": STEP, "index": index, "says": says})


def two_floods_plan(at: Layout) -> tuple[Plan, dict[str, Any]]:
    """Lay out two floods at once: uneven, a pause, even."""
    share = min(1.0, at.ceiling_pps / (max(sum(UNEVEN), 2 * EVEN) * at.rate_pps))
    length = max(FLOODS_S, FLOODS_PACKETS / at.rate_pps)
    length = min(length, MOST_PACKETS / (2 * at.rate_pps))
    start = max(REST_S, at.quiet_s)
    flows = FLOOD_FLOW, PROBE_FLOW
    end = start + length
    again = end + at.drains_s + sum(UNEVEN) * length / 2
    stop = again + length
    segments = [
        cbr(flow, begin, until, share * times * at.rate_pps, at.size_bytes)
        for begin, until, rates in ((start, end, UNEVEN), (again, stop, (EVEN, EVEN)))
        for flow, times in zip(flows, rates, strict=True)
    ]
    drained = stop + at.drains_s + EVEN * length
    phases = {
        "quiet": [0.0, start],
        "uneven": [start, end],
        "settle": [end, again],
        "even": [again, stop],
        "drain": [stop, drained],
    }
    meta = {"kind": TWO_FLOODS, "index": 0, "says": "two floods at once"}
    return framed(at, segments, phases, meta)


def framed(
    at: Layout, floods: list[Segment], phases: dict[str, list[float]], meta: dict[str, Any]
) -> tuple[Plan, dict[str, Any]]:
    """Put quiet packets around floods: spread over the rest before, as usual after."""
    start, drained = phases["quiet"][1], phases["drain"][1]
    stretch = start / at.quiet_s
    before = [
        Segment(s.flow, s.start_s * stretch, s.duration_s * stretch, s.count, s.size_bytes)
        for s in at.baseline
    ]
    after = [
        Segment(s.flow, s.start_s + drained, s.duration_s, s.count, s.size_bytes)
        for s in at.baseline
    ]
    end = drained + at.quiet_s
    last = [Segment(flow, end + 0.01, 0.0, 1, at.size_bytes) for flow in (PROBE_FLOW, FLOOD_FLOW)]
    plan = Plan((*before, *floods, *after, *last))
    return plan, {
        "profile": "quick",
        "size_bytes": at.size_bytes,
        **meta,
        "phases": {**phases, "after": [drained, end]},
    }
