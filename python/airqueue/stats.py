"""Small statistics with stated assumptions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_NORMAL: Final = 1.959963984540054
"""z(0.975) of the normal distribution."""
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
    values = [float(sample) for sample in samples]
    n = len(values)
    if n == 0:
        return None
    if not all(map(math.isfinite, values)):
        return Interval(sum(values) / n, math.nan, math.nan, n)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = _quantile(n - 1) * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


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
def _quantile(degrees: int) -> float:
    """Return t(0.975): a simulation asks thousands of times, and scipy takes long to load."""
    if degrees >= _MANY:
        return _expanded(degrees)
    low, high = _NORMAL, 13.0  # t(0.975) of one degree is 12.7
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _within(middle, degrees) < 0.95 else (low, middle)
    return middle


def _within(t: float, degrees: int) -> float:
    """Return the probability of (-t, t), Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, terms = (cosine if odd else 1.0), []
    for n in range(2 + odd, degrees + 1, 2):
        terms.append(term)
        term *= cosine * cosine * (n - 1) / n
    whole = sine * math.fsum(terms)
    return 2 / math.pi * (angle + whole) if odd else whole


def _expanded(degrees: int) -> float:
    """Return t(0.975), Abramowitz and Stegun 26.7.5."""
    z = _NORMAL
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))
