"""Confidence intervals of shares and quotients of counts, from the counts of batches of one run.

Student's interval of the batches' means needs many events, and batches that are long against the
memory of the process. Neither holds for a rare event in a short run: it may not have happened at all,
or in a few clusters. `share_of` therefore takes the widest of three intervals:

- Student's, of the batches;
- Student's, of a third of the number of batches, each three times as long: wider where successive
  batches are alike;
- that of a Poisson variable of n events, by Byar's approximation: wider than Student's below some
  hundred. n is the number of independent events that would scatter as the batches do,
  ``1/(relative standard error)²``: events that come in clusters of ten count a tenth.
  Without any event the mean is 3.7 or more with a probability of 2.5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from airqueue.models.checks import FloatArray
from airqueue.stats import t_quantile

CONFIDENCE: Final = 0.95
_BELOW: Final = 0.5 + CONFIDENCE / 2.0
_NONE: Final = -math.log(1.0 - _BELOW)
"""The mean, 3.69, at which no event happens with the probability that an end of the interval has."""
_FEWEST: Final = 4
"""Batches that merged ones must be at least, to have an interval of any use."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the half width of its 95 % confidence interval."""

    mean: float
    half_width: float

    def covers(self, value: float) -> bool:
        """Whether a value lies within the interval."""
        return abs(value - self.mean) <= self.half_width


def quotient(over: FloatArray, under: FloatArray) -> Estimate:
    """Return Σ over / Σ under with the half width of its 95 % interval, from one value per batch.

    The quotient of sums, r, has the standard error of the mean of ``over - r under``, divided by the
    mean of ``under``; the factor is Student's for the number of batches. For many events in each
    batch, and batches that are long against the memory of the process. ``under`` must not be zero
    throughout.
    """
    batches = len(over)
    mean = float(over.sum() / under.sum())
    residual = over - mean * under
    error = np.sqrt(np.sum(residual**2) / (batches * (batches - 1.0))) / under.mean()
    return Estimate(mean, t_quantile(batches - 1, _BELOW) * float(error))


def share_of(
    part: FloatArray, whole: FloatArray, event: float = 1.0, merged: tuple[int, ...] = (1, 3)
) -> Estimate:
    """Return Σ part / Σ whole, at most 1, with an interval that holds for rare events as well.

    part, whole: one value per batch, whole not zero throughout. event: what a single event adds to
    ``part``. merged: how many batches become one, for each interval that is asked for. The rarer of
    ``part`` and the rest of ``whole`` gives the interval of both.

    >>> none = share_of(np.zeros(30), np.full(30, 30.0))
    >>> none.mean, round(none.half_width, 4)
    (0.0, 0.0041)
    """
    mean = float(part.sum() / whole.sum())
    rarer = part if mean <= 0.5 else whole - part
    if not rarer.any():
        return Estimate(mean, min(1.0, _NONE * event / float(whole.sum())))
    widths = []
    for count in merged:
        # Batches that are left over belong to the last one.
        starts = range(0, len(part) - count + 1, count)
        if count == 1 or len(starts) >= _FEWEST:
            rare, all_ = (np.add.reduceat(counts, starts) for counts in (rarer, whole))
            found = quotient(rare, all_)
            high = _poisson_high(_scatter(rare, all_))
            widths += [found.half_width, found.mean * (high - 1.0)]
    return Estimate(mean, min(1.0, max(widths)))


def ratio_of(one: FloatArray, other: FloatArray, whole: FloatArray, scale: float = 1.0) -> Estimate:
    """Return Σ one / Σ other times a scale, with an interval that holds for rare events as well.

    One value per batch; ``one`` and ``other`` are parts of ``whole``, ``other`` not zero throughout.
    As for `share_of`; the relative errors of the two, as if they were independent, if that is more
    than Student's for the quotient.
    """
    found, low = quotient(one, other), _poisson_low(_scatter(other, whole))
    if not one.any():
        return Estimate(0.0, scale * _NONE / float(other.sum()) / low)
    high = _poisson_high(_scatter(one, whole))
    width = found.mean * math.hypot(high - 1.0, 1.0 / low - 1.0)
    return Estimate(scale * found.mean, scale * max(found.half_width, width))


def _scatter(part: FloatArray, whole: FloatArray) -> float:
    """Return the relative standard error of a share that is not zero."""
    found = quotient(part, whole)
    return found.half_width / t_quantile(len(part) - 1, _BELOW) / found.mean


def _poisson_high(scatter: float) -> float:
    """Return the upper end of the interval of n = 1/scatter² events, as a multiple of n."""
    if scatter == 0.0:
        return 1.0
    more = 1.0 / scatter**2 + 1.0
    z = NormalDist().inv_cdf(_BELOW)
    return more * (1.0 - 1.0 / (9.0 * more) + z / (3.0 * math.sqrt(more))) ** 3 * scatter**2


def _poisson_low(scatter: float) -> float:
    """Return the lower end of the interval of n = 1/scatter² events, as a multiple of n."""
    z = NormalDist().inv_cdf(_BELOW)
    # Some batches may have all events: no less than of one event, 0.013.
    few = min(scatter, 1.0)
    return float((1.0 - few**2 / 9.0 - z * few / 3.0) ** 3)
