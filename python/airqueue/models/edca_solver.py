"""Attempt probabilities of EDCA stations, consistent with the collisions that the attempts cause.

Shared by the hold chain and the model of Battiti and Li.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from airqueue.models.checks import FloatArray
from airqueue.models.edca_classes import Classes
from airqueue.models.errors import ConvergenceError


def attempts_fixed_point(
    update: Callable[[FloatArray, Classes], FloatArray], given: Classes, *, what: str
) -> FloatArray:
    """Return τ with ``τ = update(τ, given)``, probabilities, for all points at once.

    The unknown is x = log τ, and ``surplus(x) = log update(τ) - log τ`` is to be zero. Plain
    iteration of update, even damped by half, oscillates without end when many stations have small
    windows, and Newton's method alone gets stuck. Each step here is an implicit Euler step along
    dx/dt = surplus(x), of length one over the surplus: far from the solution it follows the flow
    towards the fixed point, and near the solution it becomes Newton's step. The start is the attempt
    probability of stations that never collide. A point is done when no class changes by more than
    1e-13 of its value.

    ``what`` names the unknown in the message of ConvergenceError, raised where a point does not
    settle.
    """
    flat = given.flat
    x = np.log(2.0 / (flat.w_min + 1.0))
    top = x.copy()

    def surplus(x: FloatArray, points: NDArray[np.intp]) -> FloatArray:
        return np.log(np.maximum(update(np.exp(x), flat[points]), _LEAST)) - x

    left = np.arange(len(x))
    size = np.full(len(x), np.inf)
    for _ in range(_STEPS):
        off = surplus(x[left], left)
        before, size = size, np.abs(off).max(axis=-1)
        # Below the second bound the rest may be rounding: done when the change stops shrinking.
        far = (size > _TOLERANCE) & ((size > _ROUNDING) | (size < before))
        left, off, size = left[far], off[far], size[far]
        if not left.size:
            return np.exp(x).reshape(given.stations.shape)
        step = _step(partial(surplus, points=left), x[left], off, np.minimum(size, _SHORTEST))
        x[left] = np.minimum(x[left] + step, top[left])
    worst = flat[left[:1]]
    raise ConvergenceError(
        f"the iteration for the {what} does not settle (stations {worst.stations[0].tolist()}, "
        f"cw_min {(worst.w_min[0] - 1.0).tolist()}); use fewer stations or larger windows"
    )


def _step(
    surplus: Callable[[FloatArray], FloatArray], x: FloatArray, off: FloatArray, rate: FloatArray
) -> FloatArray:
    """Return the implicit Euler step of length 1/rate: ``(rate - d surplus/dx) step = surplus``."""
    one = np.eye(x.shape[-1])
    # Backwards, because probabilities end at 1.
    columns = [(off - surplus(x - _DIFFERENCE * row)) / _DIFFERENCE for row in one]
    matrix = rate[:, np.newaxis, np.newaxis] * one - np.stack(columns, axis=-1)
    step = np.asarray(np.linalg.solve(matrix, off[..., np.newaxis])[..., 0], dtype=np.float64)
    return np.clip(step, -_LONGEST, _LONGEST)


_STEPS = 500
_TOLERANCE = 1e-13
_ROUNDING = 1e-11
_DIFFERENCE = 1e-7
_SHORTEST = 10.0
"""Bounds of the inverse step length."""
_LONGEST = 30.0
"""Bound of the change of x in one step."""
_LEAST = 1e-300
"""Least probability, whose logarithm is finite."""
