"""Small statistics with stated assumptions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airqueue import _native, lazy

if TYPE_CHECKING:
    import statistics
else:
    statistics = lazy.Module("statistics")

_MANY: Final = 200
"""Degrees of freedom from which on the expansion about the normal distribution is exact to 1e-12."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its two-sided 95 % confidence interval, all in the unit of the samples."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def widened(self, below: float, above: float | None = None) -> Interval:
        """Return the interval stretched by a bound on what sampling cannot show."""
        return Interval(
            self.mean, self.low - below, self.high + (below if above is None else above), self.n
        )

    def contains(self, value: float) -> bool:
        """Whether the value lies inside, ends included."""
        return self.low <= value <= self.high


def t_interval(samples: Sequence[float]) -> Interval | None:
    """Student's interval for the mean of independent samples: mean ± t(0.975, n-1) s / √n.

    None without samples. One sample has an unbounded interval: it says nothing about its spread.
    Infinite samples, and those that are no numbers, have no interval: its ends are NaN.
    """
    n = len(samples)
    if n == 0:
        return None
    if n == 1:
        mean = float(samples[0])
        finite = math.isfinite(mean)
        return Interval(mean, *((-math.inf, math.inf) if finite else (math.nan, math.nan)), 1)
    return Interval(*_native.t_interval(samples, t_quantile(n - 1)), n)


def share_interval(some: int, all_: int) -> Interval:
    """Interval of a probability, estimated by the share p of ``some`` among n independent trials.

    p ± 1.96 √(p (1 - p) / n), the normal approximation, within 0 and 1. It has no width for shares
    of 0 and 1, nor without trials.

    >>> share_interval(10, 100)
    Interval(mean=0.1, low=0.041..., high=0.158..., n=100)
    """
    share = some / max(1, all_)
    half = statistics.NormalDist().inv_cdf(0.975) * math.sqrt(share * (1 - share) / max(1, all_))
    return Interval(share, max(0.0, share - half), min(1.0, share + half), all_)


def prediction_interval(samples: Sequence[float]) -> Interval | None:
    """The interval that has one more independent normal sample with a probability of 95 %.

    mean ± t(0.975, n-1) s √(1 + 1/n) (Hahn and Meeker, Statistical Intervals, section 4.8); None
    without samples, unbounded for one sample.
    """
    of_mean = t_interval(samples)
    if of_mean is None:
        return None
    half = of_mean.half_width * math.sqrt(of_mean.n + 1)
    return Interval(of_mean.mean, of_mean.mean - half, of_mean.mean + half, of_mean.n)


@functools.cache
def t_quantile(freedom: float, below: float = 0.975) -> float:
    """Return the t that Student's variable is below with a chance of ``below``, 0.5 or more.

    ``freedom``: degrees of freedom, above 0; Welch's test has broken ones.
    """
    if freedom >= _MANY:
        return _expanded(freedom, statistics.NormalDist().inv_cdf(below))
    low, high = 0.0, 1.0
    while t_above(high, freedom) > 1 - below:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if t_above(middle, freedom) > 1 - below else (low, middle)
    return middle


def t_above(t: float, freedom: float) -> float:
    """Return the chance that Student's variable exceeds t."""
    return _native.student_t_sf(t, freedom)


def _expanded(freedom: float, z: float) -> float:
    """Return the quantile of t from that of the normal distribution, Abramowitz and Stegun 26.7.5."""
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


def fisher_exact(some: tuple[int, int], others: tuple[int, int]) -> float:
    """Return the chance of a share as great as that of ``some`` if it is that of ``others``.

    Each is a count of events and of what they are counted among. Fisher's exact test, one-sided.
    """
    (events, among), (usual, of) = some, others
    table = [int(n) for n in (events, among - events, usual, of - usual)]
    return _native.fisher_greater(table)


def at_least(successes: int, trials: int, chance: float = 0.5) -> float:
    """Return the chance of so many successes or more, of independent trials."""
    return _native.binomial_sf(successes - 1, trials, chance) if successes > 0 else 1.0


def jain_index(shares: Sequence[float]) -> float:
    """Return Jain's index, (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all; 0 of zeros."""
    squares = sum(each * each for each in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0
