"""RED (Floyd and Jacobson, 1993): drops arrivals by a slow average of the queue's length.

Test: the average of the lengths that were seen, for a weight w, gives each arrival a probability:
none below the lower threshold, growing to a greatest one at the upper threshold, and one beyond.
Likelihood: `likelihood`; the hazard is p / (1 - sum of p since the last drop), so that the sums at
the drops are uniform between 0 and 1 (section 7 of the article, and Linux).

The greatest likelihood of so many parameters is more than that of the truth: `Red.fitted` is what
they are worth by Schwarz's criterion. As far as this approximation goes, what is left over the
greatest likelihood of a law that knows nothing of RED exceeds b, where that law is true, with a
probability of e^-b at most (Markov).

Evenness: a uniform sum has a squared coefficient of variation of 1/3, or (1 - mean p^2)/3 between
the sums before and after a drop. An average that is an estimate lets the sums vary more; only fitted
parameters, in single steps of small overloads, let them vary a little less. A controller whose drops
have their time, as CoDel, drops more evenly, whatever lengths it has. The logarithm of the squared
coefficient over RED's, of n uniform sums, is normal, of the mean 0 and the variance 32/15n: 4/5n of
the sums' variance (their kurtosis is 9/5), and 4/3n of their squared mean.

A device whose shaper does not call an empty queue never forgets the average: each step begins with
one of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from airqueue import _native
from airqueue.measure.disciplines.likelihood import (
    UNFORESEEN,
    beside,
    follows,
    with_room,
)
from airqueue.measure.disciplines.observed import Bools, Floats, Ints, Step
from airqueue.numeric import nelder_mead

WEIGHTS: Final = tuple(2.0**-k for k in range(1, 15))
"""tc's weights are powers of two; others are near one."""
FIRST: Final = (0.0, 0.3, 0.7)
"""Averages before a step, over the greatest length, of the first search."""
TRIED: Final = 4
"""Weights with which the second search begins."""
BEGUN: Final = (0.5, 0.25)
"""Parts of the first search's probability with which the second one begins: the share of drops is
twice RED's probability, since gaps are uniform, and more where the average varies."""
NEAR: Final = (0.5, 1.0, 2.0)
"""Weights, as multiples of the best one, with which the last search begins."""
EDGES: Final = 160
"""Of averages in the first search, whose likelihoods are those of bins."""
PROBABILITIES: Final = np.array([0.01, 0.02, 0.035, 0.06, 0.1, 0.17, 0.3, 0.5, 0.8])
EVALUATIONS: Final = (150, 250)
"""Of each second search, and of each last one."""
BLURRED: Final = 0.02
"""Share of the upper threshold by which an average, an estimate, may be wrong."""
NEAR_FORCED: Final = 0.9
"""Share of the upper threshold above which an average, an estimate, may have been beyond."""
FITTED: Final = 4
"""Parameters with the greatest likelihood: two thresholds, a probability, the average before."""
EVEN_VARIANCE: Final = 32 / 15
"""Of the logarithm of the squared coefficient of variation, times the number of sums."""
LEAST: Final = 1e-6
"""Squared coefficient of variation that is none: of sums that are all alike."""


@dataclass(frozen=True, slots=True)
class Red:
    """RED's parameters, in packets, and the log-likelihood."""

    log_likelihood: float
    weight: float
    min_packets: float
    max_packets: float
    probability: float
    drops: int
    follows: bool
    """Whether the hazards added up at the drops are distributed as they should be."""
    spread: float
    """Logarithm of the squared coefficient of variation of these sums, over that of RED."""

    @property
    def fitted(self) -> float:
        """Log-likelihood that the fitted parameters are worth by themselves."""
        return FITTED / 2 * math.log(max(1, self.drops)) + math.log(len(WEIGHTS))


def as_even(found: Sequence[Red]) -> float:
    """Return the chance that RED's drops, in all these steps, are as even as those that were seen."""
    drops = sum(each.drops for each in found)
    if not drops:
        return 1.0
    spread = sum(each.drops * each.spread for each in found)
    return NormalDist().cdf(spread / math.sqrt(EVEN_VARIANCE * drops))


def fit(step: Step, full: float | None, idle: float) -> Red | None:
    """Return the parameters with the greatest likelihood; None if nothing was lost with room."""
    room = with_room(step, full)
    if not np.any(step.lost & room):
        return None
    weight, point, least = _search(step, room, idle)
    law = _law(weight, point)
    _, _, low, apart, probability, _ = law
    average, chance, _, added = _native.red_hazards(step.waiting, step.lost, law)
    early = step.lost & room & (average < NEAR_FORCED * (low + apart))
    sums = added[early]
    return Red(
        -least,
        weight,
        low,
        low + apart,
        probability,
        len(sums),
        follows(sums, lambda sums: np.clip(sums, 0.0, 1.0)),
        _spread(sums, chance[early]),
    )


def _spread(sums: Floats, chance: Floats) -> float:
    """Compare the coefficient of variation of sums at drops with RED's: see `Red.spread`.

    ``chance``: the last term of each sum.
    """
    middle = sums - chance / 2
    if len(sums) < 2 or middle.mean() <= 0:
        return 0.0
    law = (1 - float(np.mean(chance**2))) / 3
    seen = float(middle.var(ddof=1)) / float(middle.mean()) ** 2
    return math.log(max(seen, LEAST) / max(law, LEAST))


def _search(step: Step, room: Bools, idle: float) -> tuple[float, Floats, float]:
    """Return weight and point where the likelihood is greatest, and the negative log-likelihood.

    The sums begin anew at each drop, so that the likelihood has many peaks: a search from several
    points, then from the best of these once more.
    """
    few, many = EVALUATIONS
    seen = step, room, beside(idle)
    searched = [
        (weight, *_climb(seen, weight, start + np.log([1.0, 1.0, part, 1.0]), few))
        for weight, start in _first_search(step, room)
        for part in BEGUN
    ]
    weight, point, _ = best = min(searched, key=lambda found: found[2])
    again = [
        (near, *_climb(seen, near, point, many))
        for times in NEAR
        if WEIGHTS[-1] <= (near := times * weight) <= WEIGHTS[0]
    ]
    return min(best, *again, key=lambda found: found[2])


def _climb(
    seen: tuple[Step, Bools, tuple[float, float, float]],
    weight: float,
    start: Floats,
    evaluations: int,
) -> tuple[Floats, float]:
    """Return where the likelihood is greatest near a point, and its negative logarithm.

    ``seen``: a step, its packets that found room, and what is lost beside RED.
    """
    step, room, losses = seen

    def cost(point: Floats) -> float:
        law = _law(weight, point)
        return -_native.red_log_likelihood(step.waiting, step.lost, room, law, losses)

    simplex = np.vstack([start, start + np.diag([0.1, 0.1, 0.2, 0.5])])
    return nelder_mead(cost, simplex, within=1e-3, cost_within=0.1, evaluations=evaluations)


def _law(weight: float, point: Floats) -> tuple[float, float, float, float, float, float]:
    """Return RED's parameters as the core takes them.

    ``point``: logarithms of lower threshold, distance of the upper one, greatest probability, and of
    the average before the step, plus one.
    """
    low, apart, probability, before = (float(x) for x in np.exp(np.clip(point, -20, 20)))
    return weight, max(0.0, before - 1.0), low, apart, min(1.0, probability), BLURRED


def _first_search(step: Step, room: Bools) -> list[tuple[float, Floats]]:
    """Return the likeliest weights, and where the second search begins with each of them.

    No drop depends on the one before it here, so that the likeliest weight need not be the best.
    """
    top = float(step.waiting.max())
    begun = [(weight, first) for weight in WEIGHTS for first in FIRST]
    bins = [_bins(_averages(step, weight, first * top) / top) for weight, first in begun]
    lost, passed = (
        np.stack([_counts(of[room & which]) for of in bins], axis=1)
        for which in (step.lost, ~step.lost)
    )
    values, points = _Candidates.all().best(lost, passed)
    # Of each weight the likeliest average before the step.
    firsts = values.reshape(len(WEIGHTS), -1).argmax(axis=1)
    likeliest = np.arange(len(WEIGHTS)) * len(FIRST) + firsts
    likeliest = likeliest[np.argsort(-values[likeliest], kind="stable")][:TRIED]
    chosen = [(*begun[k], points[k]) for k in likeliest]
    return [
        (weight, np.log([*(point * [top, top, 1.0]), 1.0 + first * top]))
        for weight, first, point in chosen
    ]


def _bins(shares: Floats) -> Ints:
    """Return the bins of averages; those below zero, of lengths that are estimates, are in none."""
    return np.clip(np.floor(shares * EDGES), -1, EDGES - 1).astype(np.int64)


def _counts(bins: Ints) -> Ints:
    return np.bincount(bins + 1, minlength=EDGES + 1)[1:]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Parameters of the first search, and the log-probabilities of a loss and a pass in each bin.

    Lengths are shares of the greatest length.
    """

    points: Floats
    """Lower threshold, distance of the upper one, greatest probability; shape (candidates, 3)."""
    lost: Floats
    passed: Floats
    """Shape (candidates, bins)."""

    @classmethod
    @functools.cache
    def all(cls) -> _Candidates:
        """Return all candidates."""
        edges = np.linspace(0.0, 1.0, EDGES + 1)
        low, high = (x.ravel() for x in np.meshgrid(edges[:-1:5], edges[1::5]))
        low, high = low[low < high], high[low < high]
        middle = (edges[1:] + edges[:-1]) / 2
        grown = np.clip((middle - low[:, None]) / (high - low)[:, None], 0.0, 1.0)
        beyond = middle >= high[:, None]
        hazards = [np.where(beyond, 1.0, top * grown) for top in PROBABILITIES]
        p = np.clip(np.concatenate(hazards), UNFORESEEN, 1 - UNFORESEEN)
        points = [
            np.stack([np.maximum(low, 1e-3), high - low, 0 * low + top], 1) for top in PROBABILITIES
        ]
        return cls(np.concatenate(points), np.log(p), np.log(1 - p))

    def best(self, lost: Ints, passed: Ints) -> tuple[Floats, Floats]:
        """Return the greatest log-likelihoods, shape (n,), and where, shape (n, 3).

        ``lost``, ``passed``: packets by bin; shape (bins, n).
        """
        # One product for all columns: the candidates are far larger than the processor's caches.
        values = self.lost @ lost.astype(np.float64) + self.passed @ passed.astype(np.float64)
        return values.max(axis=0), self.points[values.argmax(axis=0)]


def _averages(step: Step, weight: float, first: float) -> Floats:
    """Average that each arrival finds, from the one before the step; shape (n,)."""
    return _native.moving_average(step.waiting, weight, first)
