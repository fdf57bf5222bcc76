"""Minima and moving windows: the little that NumPy lacks, so that nothing here needs SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_GOLDEN = (math.sqrt(5) - 1) / 2


def window_minimum(values: Floats, size: int) -> Floats:
    """Return the least of the ``size`` values around each one; shape (n,), the ends repeated."""
    return np.asarray(_windows(values, size).min(axis=1))


def window_mean(values: Floats, size: int) -> Floats:
    """Return the mean of the ``size`` values around each one; shape (n,), the ends repeated."""
    return np.asarray(_windows(values, size).mean(axis=1))


def _windows(values: Floats, size: int) -> Floats:
    before = size // 2
    padded = np.pad(values, (before, size - 1 - before), mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, size)


def minimum_between(
    cost: Callable[[float], float], low: float, high: float, *, within: float
) -> float:
    """Return the place of a function's only minimum between two bounds, to ``within``.

    Golden section search.
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    of_left, of_right = cost(left), cost(right)
    while high - low > within:
        if of_left < of_right:
            high, right, of_right = right, left, of_left
            left = high - _GOLDEN * (high - low)
            of_left = cost(left)
        else:
            low, left, of_left = left, right, of_right
            right = low + _GOLDEN * (high - low)
            of_right = cost(right)
    return left if of_left < of_right else right


def nelder_mead(
    cost: Callable[[Floats], float],
    simplex: Floats,
    *,
    within: float,
    cost_within: float,
    evaluations: int,
) -> tuple[Floats, float]:
    """Return a local minimum of a function of several numbers, and the cost there.

    ``simplex``: where to begin, shape (n + 1, n). The search ends when all corners are ``within`` of
    the best one and their costs ``cost_within`` of its cost, or after ``evaluations``. Nelder and
    Mead, The Computer Journal 7 (1965), with their coefficients: 1, 2, 1/2, and 1/2 to shrink.
    """
    corners = np.array(simplex, dtype=np.float64)
    costs = np.array([cost(corner) for corner in corners])
    spent = len(corners)
    while True:
        order = np.argsort(costs, kind="stable")
        corners, costs = corners[order], costs[order]
        near = np.abs(corners[1:] - corners[0]).max() <= within
        if spent >= evaluations or (near and costs[-1] - costs[0] <= cost_within):
            return corners[0], float(costs[0])
        spent += _move(cost, corners, costs)


def _move(cost: Callable[[Floats], float], corners: Floats, costs: Floats) -> int:
    """Replace the worst corner, or shrink; return how often the function was evaluated."""
    centre = corners[:-1].mean(axis=0)
    away = centre - corners[-1]

    def place(corner: Floats, value: float) -> None:
        corners[-1], costs[-1] = corner, value

    reflected = centre + away
    at_reflected = cost(reflected)
    if at_reflected < costs[0]:
        expanded = centre + 2 * away
        at_expanded = cost(expanded)
        if at_expanded < at_reflected:
            place(expanded, at_expanded)
        else:
            place(reflected, at_reflected)
        return 2
    if at_reflected < costs[-2]:
        place(reflected, at_reflected)
        return 1
    better, limit = (away, at_reflected) if at_reflected < costs[-1] else (-away, costs[-1])
    contracted = centre + better / 2
    at_contracted = cost(contracted)
    if at_contracted <= limit:
        place(contracted, at_contracted)
        return 2
    corners[1:] = (corners[0] + corners[1:]) / 2
    costs[1:] = [cost(corner) for corner in corners[1:]]
    return 2 + len(corners) - 1
