"""Mean number of TCP segments of a file of random size: E[ceil(X/L)] = Σ_{j>=0} P(X > jL).

Exact for constant, exponential and Pareto sizes, and to a stated bound for any survival function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, number, numbers
from airqueue.models.errors import ConvergenceError, ParameterError

DISTRIBUTIONS = ("exponential", "pareto", "constant")
PARETO_SHAPE = 1.5
"""β of the HTTP paper: finite mean, infinite variance."""

Survival: TypeAlias = Callable[[FloatArray], FloatArray]
"""P(X > x) for an array of x in bits."""

_SERIES_START = 1e4
"""From here on the Euler-Maclaurin series replaces ζ, whose powers would overflow."""
_MOST_TERMS = 1 << 20
_MOST_INTERVALS = 1 << 14
_EULER_MACLAURIN = (1 / 12, -1 / 720, 1 / 30_240, -1 / 1_209_600, 1 / 47_900_160)
"""B_2j / (2j)!, Abramowitz and Stegun 23.1.2."""


def mean_segments(
    mean_bits: Numbers,
    segment_bits: Numbers,
    distribution: str = "exponential",
    shape: Numbers = PARETO_SHAPE,
) -> FloatArray:
    """Return E[ceil(X/L)].

    mean_bits: E[X]. segment_bits: L. distribution: "exponential", ``1/(1 - exp(-L/E[X]))``;
    "pareto", ``P(X > x) = (x_m/x)^shape`` above ``x_m = E[X](shape-1)/shape``, by Hurwitz' ζ;
    "constant". shape: above 1 (for a mean to exist), up to 50; Pareto alone uses it.

    Raises ParameterError.

    >>> float(mean_segments(240_000, 8000, "pareto").round(3))
    30.512
    """
    mean = numbers("mean_bits", mean_bits, above=0, at_most=1e18)
    segment = numbers("segment_bits", segment_bits, at_least=1, at_most=1e9)
    power = numbers("shape", shape, at_least=1.001, at_most=50)
    mean, segment, power = broadcast(mean_bits=mean, segment_bits=segment, shape=power)
    kind = choice("distribution", distribution, DISTRIBUTIONS)
    ratio = mean / segment
    if kind == "constant":
        return finished("E[N]", np.ceil(ratio))
    if kind == "exponential":
        # For files far shorter than a segment exp underflows to 0, which gives one segment.
        return finished("E[N]", -1.0 / np.expm1(-np.minimum(1.0 / ratio, 700.0)))
    return finished("E[N]", _pareto(ratio * (power - 1.0) / power, power))


def _pareto(smallest: FloatArray, shape: FloatArray) -> FloatArray:
    """Return Σ_{j>=0} min(1, (x_m/(jL))^a); ``smallest`` is x_m in segments."""
    first = np.floor(smallest) + 1.0
    near = np.minimum(first, _SERIES_START)
    exact = np.minimum(smallest, near) ** shape * _hurwitz(shape, near)
    # Σ_{j>=q} (q/j)^a = q/(a-1) + 1/2 + a/(12 q) - ..., the rest below 1e-9 for q >= 1e4.
    series = first / (shape - 1.0) + 0.5 + shape / (12.0 * first)
    # (x_m/q)^a: q is less than one segment above x_m.
    far = np.exp(-shape * np.log1p((first - smallest) / np.maximum(smallest, 1.0))) * series
    total: FloatArray = first + np.where(first < _SERIES_START, exact, far)
    return total


def _hurwitz(power: FloatArray, start: FloatArray) -> FloatArray:
    """Return Σ_{j>=0} (start + j)^-power, powers above 1, ``start`` 1 or more.

    The first terms, then Euler and Maclaurin's formula (Abramowitz and Stegun 23.1.30); what
    remains is below 1e-13 of the sum.
    """
    terms = 12
    total = sum(((start + j) ** -power for j in range(terms)), np.zeros(np.shape(power)))
    rest = start + terms
    total = total + rest ** (1.0 - power) / (power - 1.0) + rest**-power / 2.0
    derivative = power * rest ** (-power - 1.0)
    for j, coefficient in enumerate(_EULER_MACLAURIN, start=1):
        total = total + coefficient * derivative
        derivative = derivative * (power + 2 * j - 1) * (power + 2 * j) / rest**2
    return np.asarray(total)


def mean_segments_of(
    survival: Survival, mean_bits: float, segment_bits: float, *, tolerance: float = 1e-6
) -> float:
    """Return E[ceil(X/L)] for any distribution of sizes, to a relative ``tolerance``.

    survival: P(X > x), a function of an array of bits that never increases. Terms are summed until
    half of the last, which bounds the error of the rest, is within tolerance; the rest is
    ``S/2 + ∫S/L`` (the trapezoid rule). mean_bits: E[X], to check the function.

    Raises ParameterError if survival is not a survival function or has another mean, and
    ConvergenceError if its tail is too heavy.

    >>> round(mean_segments_of(lambda bits: np.exp(-bits / 240_000), 240_000, 8000), 3)
    30.503
    """
    mean = number("mean_bits", mean_bits, above=0, at_most=1e18)
    segment = number("segment_bits", segment_bits, at_least=1, at_most=1e9)
    allowed = number("tolerance", tolerance, above=0, below=1)
    terms = 1024
    while True:
        tail = segment_tail(survival, segment, terms + 1)
        total = float(tail[:-1].sum())
        bound = float(tail[-1]) / 2.0
        if bound <= allowed * total:
            break
        if terms >= _MOST_TERMS:
            raise ConvergenceError(
                f"after {terms} segments survival is still {tail[-1]:g}: the tail is too heavy, or "
                "segment_bits too small; use a lighter tail, larger segments or a larger tolerance"
            )
        terms *= 4
    if bound > 0:
        total += bound + terms * _integral(survival, terms * segment, allowed * total / terms)
    slack = 1e-3  # a mean may be rounded
    if not mean / segment * (1 - slack) <= total <= (mean / segment + 1.0) * (1 + slack):
        raise ParameterError(
            "mean_bits",
            f"mean_bits is {mean:g}, but survival makes {total:g} segments of {segment:g} bits; "
            "give the mean of that distribution",
        )
    return total


def _integral(survival: Survival, start: float, allowed: float) -> float:
    """Return ``∫ survival(x) dx / start`` from start on; raises ConvergenceError if it diverges.

    With x = start e^u even a power's tail decays exponentially in u.
    """

    def density(u: FloatArray) -> FloatArray:
        return np.asarray(survival(start * np.exp(u)) * np.exp(u))

    end = 500.0
    before, last = density(np.array([end - 100.0, end]))
    decay = np.log(before / last) / 100.0 if last > 0 else np.inf
    if not last <= allowed * decay:
        raise ConvergenceError(
            "the tail of survival is too heavy: the mean is not finite, or nearly so; use a tail "
            "that falls faster than 1/x"
        )
    ends = np.array([0.0, 1.0, 10.0, 50.0, end])
    integral = np.inf
    while len(ends) < _MOST_INTERVALS:
        coarse, integral = integral, _gauss(density, ends)
        if abs(integral - coarse) <= allowed / 10.0:
            return integral
        ends = np.sort(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2.0]))
    raise ConvergenceError(
        "the tail of survival is too rough to be integrated; use a smooth one or a larger tolerance"
    )


def _gauss(function: Callable[[FloatArray], FloatArray], ends: FloatArray) -> float:
    """Return the integral by Gauss and Legendre's rule in each interval between ``ends``."""
    points, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2.0
    middle = (ends[1:] + ends[:-1])[:, None] / 2.0
    return float(
        np.sum(half * weights * function((middle + half * points).ravel()).reshape(len(half), -1))
    )


def segment_tail(survival: Survival, segment_bits: float, count: int) -> FloatArray:
    """Return P(N > j) = P(X > jL) for j = 0 .. count-1; ParameterError unless it is a survival."""
    tail = np.asarray(survival(segment_bits * np.arange(float(count))), dtype=np.float64)
    if tail.shape != (count,):
        raise ParameterError(
            "survival", "survival must return one probability for each element of its argument"
        )
    good = np.all(np.isfinite(tail)) and tail[0] <= 1.0 and tail[-1] >= 0.0
    if not (good and np.all(np.diff(tail) <= 0.0)):
        raise ParameterError(
            "survival", "survival must be probabilities from 0 to 1 that never increase"
        )
    return tail
