"""CoDel's control law to the departure, told by several steps together.

Frames that wait for the air hide when packets left, and in a single step drops at random may follow
the law of one of many rings and counts by chance (`airqueue.measure.disciplines.exact_law`). But a
device has one ring and one interval I. Test: what one step says of both is the hypothesis, and the
chances that drops at random follow that law in each of the steps multiply. Each is Bonferroni's,
with weights: the chance in a step is divided by the weight of the count and of the drops that came
before the law, whose weights sum up to one; a step that no law explains has the chance one. The
product, times the rings and the steps that could have been the hypothesis, must be below
`exact_law.CHANCE`.

Weights: after a rest CoDel begins with a count of none, and COBALT's is that of all drops and one, so
that these counts have half of the weight; and so has the law that begins with the first drop.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.disciplines.exact_law import (
    ANY,
    CHANCE,
    DROPS,
    Between,
    Followed,
    Known,
    followed,
)
from airqueue.measure.disciplines.observed import Floats, Ints

USUAL: Final = 0.5
"""Weight of the counts with which a law begins after a rest, and of the law from the first drop."""
HYPOTHESES: Final = 12
"""Rings and intervals that are compared with all steps: the likeliest ones by a single step."""
LIKELY: Final = 3.0
"""Logarithm of the chance over the least one with which another ring is as likely."""
MOST_CHANCE: Final = math.log(0.2)
"""Logarithm of the greatest chance in a step that makes a law of this step a hypothesis."""
UNLIKELY: Final = 0.05
"""Chance, after `exact_law.DIM` drops, beyond which a law of a step tells little, and is given up."""


@dataclass(frozen=True, slots=True)
class Drops:
    """Drops of one step, of which ``early`` came before the first one of ``every``."""

    every: Between
    early: int


@dataclass(frozen=True, slots=True)
class _Likeliest:
    """A law of one step: logarithm of the weighted chance, ring, and ends of I in seconds."""

    chance: float
    held: int
    interval_s: tuple[float, float]


def known(steps: Sequence[Drops], shapes: Floats, passed: Sequence[int]) -> Known | None:
    """Return the ring and the interval of one law that all steps together tell; None if none is told.

    shapes: as `exact_law.fit` takes them: in Linux's arithmetic, then by counts from none on. passed:
    after how many drops the law may begin, first after none.
    """
    hypotheses = [
        (of_ring, k)
        for k, step in enumerate(steps)
        for of_ring in _likeliest(step, shapes, passed, ANY)
        if of_ring.chance <= MOST_CHANCE
    ]
    hypotheses.sort(key=lambda pair: pair[0].chance)
    rings = max((len(step.every.low) for step in steps), default=0)
    for law, by in hypotheses[:HYPOTHESES]:
        told = Known((0, sys.maxsize), law.interval_s)
        others = [_likeliest(step, shapes, passed, told) for k, step in enumerate(steps) if k != by]
        chance = law.chance + _of_ring(others, law.held)
        if chance + math.log(rings * len(steps)) <= math.log(CHANCE):
            # Of packets that leave in one frame none is told from the others.
            alike = [
                each.held
                for each, step in hypotheses
                if step == by and each.chance + _of_ring(others, each.held) <= chance + LIKELY
            ]
            return Known((min(alike), max(alike)), _widest(hypotheses, by, alike))
    return None


def _of_ring(steps: Sequence[Sequence[_Likeliest]], held: int) -> float:
    """Return the logarithm of the chance in these steps together, of a law with this ring."""
    return sum(law.chance for of in steps for law in of if law.held == held)


def _widest(
    hypotheses: Sequence[tuple[_Likeliest, int]], by: int, held: Sequence[int]
) -> tuple[float, float]:
    """Return the ends of I that the laws of one step allow, with any of these rings."""
    of = [law.interval_s for law, step in hypotheses if step == by and law.held in held]
    return min(low for low, _ in of), max(high for _, high in of)


def _likeliest(step: Drops, shapes: Floats, passed: Sequence[int], told: Known) -> list[_Likeliest]:
    """Return of each ring the law with the least chance, of those that evenly spaced drops miss."""
    best: dict[int, _Likeliest] = {}
    for after in passed:
        begins = math.log((1 - USUAL) / (len(passed) - 1) if after else USUAL)
        weights = begins - math.log(len(DROPS)) + _of_counts(len(shapes), step.early + after)
        for seen in followed(step.every.after(after), shapes, told, UNLIKELY):
            _better(best, seen, np.log(seen.chance) - weights[seen.law])
    return list(best.values())


def _better(best: dict[int, _Likeliest], seen: Followed, chance: Floats) -> None:
    """Keep of each ring the law with the least chance below one."""
    telling = np.flatnonzero(chance < 0)
    for place in telling[_least(chance[telling], seen.held[telling])]:
        ring, value = int(seen.held[place]), float(chance[place])
        before = best.get(ring)
        if before is not None and before.chance <= value:
            continue
        if not seen.some(np.array([place])).evenly[0]:
            interval_s = (float(seen.least[place]), float(seen.most[place]))
            best[ring] = _Likeliest(value, ring, interval_s)


def _least(values: Floats, groups: Ints) -> Ints:
    """Return the place of the least value of each group."""
    order = np.lexsort((values, groups))
    first = np.append(True, np.diff(groups[order]) > 0) if len(order) else np.zeros(0, dtype=bool)
    return np.asarray(order[first])


def _of_counts(shapes: int, dropped: int) -> Floats:
    """Return the logarithm of the weight of each shape after so many drops; shape (shapes,)."""
    usual = [k for k in (0, 1, dropped + 2) if k < shapes]
    weights = np.full(shapes, (1 - USUAL) / (shapes - len(usual)))
    weights[usual] = USUAL / len(usual)
    return np.asarray(np.log(weights))
