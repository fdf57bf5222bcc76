"""Packets of others in the same queue: what the path carries of a flood grows with the flood.

A queue that is full takes of each flow what the flow has of the arrivals: beside others a larger
flood gets more of one and the same path, and their packets are lost in its place. A controller that
is alone with the flood passes on what the path carries, whatever comes too much. Losses of the
former look like those of the latter: the flood's own packets in the queue vary with those of others.

Compared are the rates at which packets leave while some wait, in steps of evenly spaced packets.
The error is that of the mean over parts of a step. Behind a radio that aggregates a larger flood
fills larger frames, and is carried faster for that reason: where packets arrive together, as those
of a frame do, nothing is compared. Packets of others between two of the flood keep these apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.disciplines.observed import FEWEST, Step
from airqueue.measure.result import Discipline, Evidence

NAME: Final = "carried_share_growth"
"""Of the evidence, which says that others' packets were looked for."""
PARTS: Final = 10
"""Of a step, whose rates tell the error of their mean."""
PIECE: Final = 5
"""Packets in which a flood that swings has another rate than before."""
EVEN: Final = 0.1
"""Interquartile range of the rates of these pieces, over their median, of an even flood at most."""
TOGETHER: Final = 0.25
"""Part of the mean time between two arrivals below which packets arrive together."""
IN_FRAMES: Final = 0.2
"""Share of the arrivals that come together behind a radio that aggregates, at least."""
APART: Final = 1.15
"""Least ratio of the largest flood to the smallest one."""
LIMITED: Final = 0.998
"""Share of a flood of which less arrives where the path limits the flood."""
SURE: Final = 4.0
"""Standard errors by which the carried rate must grow."""
LEAST: Final = 0.004
"""Part of the rate by which the carried rate must grow: clocks and plans are not exacter."""


_LIKE_FULL: Final = ("pie", "red", "managed")
"""Names of what drops at lengths that vary, as a full queue does of which others have a part."""


@dataclass(frozen=True, slots=True)
class _Carried:
    offered_pps: float
    rate_pps: float
    error_pps: float


def by_others(steps: Sequence[Step]) -> Evidence | None:
    """Return how the carried rate grows with the flood; None where it cannot be compared.

    The value is the growth, in parts of the rate, from the smallest to the largest flood; 0 where it
    may be chance.
    """
    if any(map(_in_frames, steps)):
        return None
    seen = sorted(filter(None, map(_carried, steps)), key=lambda each: each.offered_pps)
    if len(seen) < 2 or seen[-1].offered_pps < APART * seen[0].offered_pps:
        return None
    least, most = seen[0], seen[-1]
    grown = most.rate_pps / least.rate_pps - 1
    error = math.hypot(least.error_pps, most.error_pps)
    falls = any(
        later.rate_pps < before.rate_pps - 2 * math.hypot(later.error_pps, before.error_pps)
        for before, later in itertools.pairwise(seen)
    )
    if falls or grown < LEAST or most.rate_pps - least.rate_pps < SURE * error:
        says = "At each overload the path carried the flood at one rate: it was alone in the queue."
        return Evidence(NAME, says, 0.0)
    says = (
        f"Of the larger floods the path carried more, up to {grown:.1%}: packets of others wait in "
        "the queue, and are lost in place of the flood's. A full FIFO looks like this, too."
    )
    return Evidence(NAME, says, grown)


def warnings(found: Discipline | None) -> list[str]:
    """Return sentences about packets of others in the queue, which make a FIFO look managed."""
    if found is None or found.sharing != "one_queue":
        return []
    grown = [each.value for each in found.evidence if each.name == NAME]
    if grown and grown[0]:
        return [
            "Packets of others wait in the queue, since the path carried more of larger floods: "
            "measure again when nothing else uses the access point."
        ]
    if not grown and found.name in _LIKE_FULL:
        return [
            "Behind a radio that aggregates a FIFO in which packets of others wait can look like "
            "this: measure again when nothing else uses the access point."
        ]
    return []


def _carried(step: Step) -> _Carried | None:
    """Return the rate at which packets leave while some wait; None if it was not limited there."""
    left = step.left_s[~step.lost]
    busy = np.flatnonzero(step.waiting[~step.lost] >= 2)
    if len(busy) < PARTS * FEWEST // 2 or not _is_even(step):
        return None
    edges = np.linspace(busy[0], busy[-1], PARTS + 1).astype(np.int64)
    rates = np.diff(edges) / np.maximum(1e-9, np.diff(left[edges]))
    if step.rate_pps > LIMITED * step.offered_pps:
        return None
    return _Carried(
        step.offered_pps, step.rate_pps, float(np.std(rates, ddof=1)) / math.sqrt(PARTS)
    )


def _is_even(step: Step) -> bool:
    came = step.came_s[::PIECE]
    low, middle, high = np.percentile(np.diff(came), [25, 50, 75])
    return bool(high - low <= EVEN * middle)


def _in_frames(step: Step) -> bool:
    gaps = np.diff(step.arrived_s)
    together = gaps < TOGETHER * float(np.mean(gaps)) if len(gaps) else np.zeros(0)
    return bool(np.count_nonzero(together) > IN_FRAMES * len(gaps))
