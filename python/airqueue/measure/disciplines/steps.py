"""The runs that tell disciplines apart: steps of overload, and two floods at once.

A *step* is a rest, in which a controller forgets what was before, then a flood at one overload into
the empty queue. Small overloads let a controller act long before the queue is full; a larger one
shows where its limit is. *Two floods* at once, one above and one below an equal share of the path,
show whether flows share a queue. Where the steps name nothing a *longer step* follows, or a *steep*
one if flows have queues of their own; where they lose nothing, one that *fills* the queue.

``quiet``, ``drain``, ``after``  as in a session;
``spend``  before the flood, where a shaper saves tokens: as long as they let all packets pass;
``hold``  the flood of a step;
``uneven``  the two floods.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, Segment, cbr
from airqueue.measure.standing import SPARE_S

STEP: Final = "step"
TWO_FLOODS: Final = "two_floods"
"""Kinds of these runs in their meta data."""
REST_S: Final = 2.0
"""Enough for CoDel with the usual interval, which forgets its count after 1.6 s."""
FORGETS: Final = 16
"""Intervals after which CoDel begins anew (RFC 8289, section 5.5)."""
LONGEST_REST_S: Final = 20.0
OVERLOADS: Final = (1.03, 1.1, 1.35)
LENGTHS_S: Final = (5.0, 5.0, 4.0)
LONG_S: Final = 10.0
"""Length of one more step at the middle overload, for controllers that the others did not tell."""
LONG_PACKETS: Final = 2500
"""The path's packets in that step on slow paths: 250 more come, most of which are dropped."""
LONGEST_S: Final = 30.0
"""Length of that step, and of one that fills the queue, at most."""
SWINGS: Final = (0.5, 0.25, 0.4, 0.15, 0.45, 0.3, 0.2)
"""Shares of that step's rate by which its parts exceed, and then fall below, that rate."""
SWING: Final = 0.25
LEAST_SWING: Final = 4.0
"""Share of the queue, and packets, by which the queue's length swings at most."""
MOST_PARTS: Final = 400
"""Of that step: endpoints agree to 1024 segments."""
FILLING: Final = 2.0
"""Overload of a step that fills the queue."""
FILLS: Final = 1.1
"""Lengths of the queue, as far as the length is known, that come too much in such a step."""
REFUSED: Final = 60
"""Packets that the full queue then refuses."""
MOST_PACKETS: Final = 100_000
"""Of a flood; faster paths have shorter steps."""
FILLED: Final = 0.8
"""Share of the queue, as far as it is known, that the smallest overload may fill."""
LEAST_OVERLOAD: Final = 1.01
"""The path's rate is known to less than this."""
REFILLS: Final = 1.15
"""Rest, as a multiple of the time in which a token bucket fills."""
SPENDING: Final = 3.0
"""Rate of the flood that spends tokens, as a multiple of the path's."""
LEFT: Final = (2.0, 0.01)
"""Packets, or share of them, for which tokens are left when a step begins: the bucket is known to
this, and no queue is to stand yet."""
UNEVEN: Final = (1.2, 0.35)
"""Rates of the two floods, as multiples of the path's."""
FLOODS_S: Final = 2.0
FLOODS_PACKETS: Final = 500
"""Of the path, at least: shares of few packets are vague."""
GAPS: Final = (1.07, 0.91, 1.13, 0.83, 1.17, 0.97, 1.03, 0.87, 1.11, 0.91)
"""Rates of the smaller flood's parts over its mean."""


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
    saved: float = 0.0
    """Packets that a full token bucket lets pass at once, before there is a queue."""

    @property
    def rest_s(self) -> float:
        """The shortest rest: the path is quiet for long enough, and a token bucket is full."""
        return max(self.quiet_s, REFILLS * self.saved / self.rate_pps)

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


def rest_s(interval_s: float, drops: int) -> float:
    """Return a rest in which CoDel of this interval, and COBALT, forget the steps before.

    COBALT counts down as it counted up (net/sched/sch_cake.c, cobalt_should_drop), a drop after
    another: from as many ``drops`` as steps have seen in 2 I sqrt(drops). It may have counted more
    before the steps: then as long as a step is the least.
    """
    counts_down = 2 * interval_s * math.sqrt(drops) + interval_s
    return min(LONGEST_REST_S, 1.25 * max(FORGETS * interval_s, counts_down, *LENGTHS_S))


def step_plan(
    at: Layout,
    overload: float,
    length_s: float,
    index: int,
    rest: float = REST_S,
    *,
    swinging: bool = False,
) -> tuple[Plan, dict[str, Any]]:
    """Lay out one step after a rest, in seconds: of evenly spaced packets, or ``swinging``."""
    start = max(rest, at.rest_s)
    rate = overload * at.rate_pps
    end = start + min(length_s, MOST_PACKETS / rate)
    # What waits at the end: what came too much, and perhaps what waited when all of this was planned.
    drained = end + 1.2 * (overload - 1) * (end - start) + at.drains_s
    even = [cbr(FLOOD_FLOW, start, end, rate, at.size_bytes)]
    flood = _swinging(at, rate, start, end) if swinging else even
    phases = {"quiet": [0.0, start], "hold": [start, end], "drain": [end, drained]}
    says = f"{length_s:.0f} s at {overload:.2f} times the rate{', unevenly' * swinging}"
    return framed(at, flood, phases, {"kind": STEP, "index": index, "says": says})


def long_plan(at: Layout, index: int) -> tuple[Plan, dict[str, Any]]:
    """Lay out one more step, longer than the others, at the middle overload and more or less.

    Evenly spaced arrivals make a queue longer until the next drop, so that its length tells the time
    since the last one: a law of times then looks like one of lengths.
    """
    return step_plan(at, overloads(at)[1], long_s(at), index, swinging=True)


def steep_plan(at: Layout, index: int) -> tuple[Plan, dict[str, Any]]:
    """Lay out one more step, of a larger overload than the others, for queues of each flow.

    CoDel's law then runs on, since all packets are late, and a full queue refuses some of each frame:
    both tell more than at smaller overloads, where a driver's ring behind the queue hides them.
    """
    return step_plan(at, _filling(at), LENGTHS_S[-1], index)


def _filling(at: Layout) -> float:
    """Return the overload of a step that fills the queue, as far as that can be sent."""
    return max(LEAST_OVERLOAD, min(FILLING, at.ceiling_pps / at.rate_pps))


def _swinging(at: Layout, mean_pps: float, start_s: float, end_s: float) -> list[Segment]:
    """Return a flood of more and of less than its mean by turns, by which the queue swings."""
    length_s = end_s - start_s
    steepest = min(max(SWINGS), max(0.0, at.ceiling_pps / mean_pps - 1))
    most = max(LEAST_SWING, SWING * at.held)
    part_s = max(most / (max(SWINGS) * mean_pps), length_s / MOST_PARTS)
    parts = 2 * max(1, round(length_s / (2 * part_s)))
    edges = np.linspace(start_s, end_s, parts + 1).tolist()
    segments = []
    for k, (begin, end) in enumerate(itertools.pairwise(edges)):
        by = min(SWINGS[k // 2 % len(SWINGS)], steepest) * (1 if k % 2 == 0 else -1)
        segments.append(cbr(FLOOD_FLOW, begin, end, (1 + by) * mean_pps, at.size_bytes))
    return segments


def long_s(at: Layout) -> float:
    """Return the length of one more step at the middle overload."""
    return max(LONG_S, min(LONGEST_S, LONG_PACKETS / at.rate_pps))


def filling_step(at: Layout) -> tuple[float, float]:
    """Return overload and length of a step that fills the queue, as far as its length is known."""
    overload = _filling(at)
    missing = FILLS * at.held + REFUSED
    return overload, missing / ((overload - 1) * at.rate_pps)


def of_two_floods(at: Layout) -> tuple[float, float]:
    """Return the rates of the two floods, as multiples of the path's, as far as they can be sent."""
    share = min(1.0, at.ceiling_pps / (max(GAPS) * sum(UNEVEN) * at.rate_pps))
    return share * UNEVEN[0], share * UNEVEN[1]


def two_floods_plan(at: Layout, index: int = 0) -> tuple[Plan, dict[str, Any]]:
    """Lay out two floods at once, one above an equal share of the path and one below."""
    length = max(FLOODS_S, FLOODS_PACKETS / at.rate_pps)
    length = min(length, MOST_PACKETS / (2 * at.rate_pps))
    start = max(REST_S, at.rest_s)
    end = start + length
    larger, smaller = (times * at.rate_pps for times in of_two_floods(at))
    drained = end + at.drains_s + sum(UNEVEN) * length / 2
    segments = [
        cbr(FLOOD_FLOW, start, end, larger, at.size_bytes),
        *_changing(PROBE_FLOW, start, end, smaller, at.size_bytes),
    ]
    phases = {"quiet": [0.0, start], "uneven": [start, end], "drain": [end, drained]}
    meta = {"kind": TWO_FLOODS, "index": index, "says": "two floods at once"}
    return framed(at, segments, phases, meta)


def _changing(
    flow: int, start_s: float, end_s: float, rate_pps: float, size_bytes: int
) -> list[Segment]:
    """Return a flood whose gaps change: two evenly spaced floods may meet a full queue in step, and
    one of them lose all of its packets there."""
    ends = np.linspace(start_s, end_s, len(GAPS) + 1)
    return [
        cbr(flow, float(begin), float(end), rate_pps * times, size_bytes)
        for begin, end, times in zip(ends[:-1], ends[1:], GAPS, strict=True)
    ]


def framed(
    at: Layout, floods: list[Segment], phases: dict[str, list[float]], meta: dict[str, Any]
) -> tuple[Plan, dict[str, Any]]:
    """Put quiet packets around floods: spread over the rest before, as usual after.

    What spends the tokens of a shaper comes right before the first flood.
    """
    floods, phases = _after_tokens(at, floods, phases)
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


def _after_tokens(
    at: Layout, floods: list[Segment], phases: dict[str, list[float]]
) -> tuple[list[Segment], dict[str, list[float]]]:
    """Put a flood before the first phase with one, as long as tokens let all its packets pass."""
    packets, share = LEFT
    tokens = at.saved - max(packets, share * at.saved)
    spending = min(SPENDING * at.rate_pps, at.ceiling_pps)
    if tokens <= 0 or spending <= at.rate_pps:
        return floods, phases
    begin = next(start for name, (start, _) in phases.items() if name in ("hold", "uneven"))
    length = tokens / (spending - at.rate_pps)
    moved = [
        replace(each, start_s=each.start_s + length) if each.start_s >= begin else each
        for each in floods
    ]
    later = {
        name: [start + length, end + length] if start >= begin else [start, end]
        for name, (start, end) in phases.items()
    }
    spent = cbr(FLOOD_FLOW, begin, begin + length, spending, at.size_bytes)
    return [*moved, spent], {**later, "spend": [begin, begin + length]}
