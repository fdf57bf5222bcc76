"""Small statistics with stated assumptions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


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
    """
    values = np.asarray(samples, dtype=float)
    n = len(values)
    if n == 0:
        return None
    mean = float(values.mean())
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    half = float(_quantile(n - 1) * values.std(ddof=1) / math.sqrt(n))
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
    """Return t(0.975): it takes longer than all else, and a simulation asks thousands of times."""
    # What scipy.stats asks as well; that module takes a second to load.
    return float(special.stdtrit(degrees, 0.975))
