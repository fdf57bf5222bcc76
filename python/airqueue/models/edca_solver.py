"""The attempts of EDCA stations that agree with the collisions which they cause.

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

    Newton's method on ``log update(τ) - log τ``, from the attempts of stations that never collide.
    Stepping by update itself, even half the way each time, swings around the solution for good where
    many stations have small windows. A step that does not bring a point closer is halved until it
    does. A point is done when no class changes by more than 1e-13 of its value.

    ``what`` names the unknown in the message of ConvergenceError, raised where a point is stuck.
    """
    flat = given.flat
    x = np.log(2.0 / (flat.cw_min + 1.0))
    top = x.copy()

    def surplus(x: FloatArray, points: NDArray[np.intp]) -> FloatArray:
        return np.log(np.maximum(update(np.exp(x), flat[points]), _LEAST)) - x

    left = np.arange(len(x))
    off = surplus(x, left)
    for _ in range(_STEPS):
        far = np.abs(off).max(axis=-1) > _TOLERANCE
        left, off = left[far], off[far]
        if not left.size:
            return np.exp(x).reshape(given.stations.shape)
        step = _newton(partial(surplus, points=left), x[left], off)
        x[left], off, closer = _shortened(
            surplus, x[left], step, off=off, top=top[left], points=left
        )
        # Where no step brings a point closer, rounding is all that is left, or it is stuck.
        stuck = ~closer & (np.abs(off).max(axis=-1) > _ROUNDING)
        if stuck.any():
            break
        left, off = left[closer], off[closer]
    worst = flat[left[:1]]
    raise ConvergenceError(
        f"there is no solution for the {what} in reach (stations {worst.stations[0].tolist()}, "
        f"cw_min {worst.cw_min[0].tolist()}); use fewer stations or larger windows"
    )


def _newton(
    surplus: Callable[[FloatArray], FloatArray], x: FloatArray, off: FloatArray
) -> FloatArray:
    """Return the step to where the linear continuation of ``surplus`` is zero."""
    count = x.shape[-1]
    # Backwards, because probabilities end at 1.
    columns = [(off - surplus(x - _DIFFERENCE * row)) / _DIFFERENCE for row in np.eye(count)]
    slope = np.stack(columns, axis=-1)
    # The slope is -1 or steeper in its own class; a little more, so that no matrix is singular.
    slope -= 1e-12 * np.eye(count)
    step: FloatArray = np.asarray(np.linalg.solve(slope, -off[..., np.newaxis])[..., 0], np.float64)
    return np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)


def _shortened(
    surplus: Callable[[FloatArray, NDArray[np.intp]], FloatArray],
    x: FloatArray,
    step: FloatArray,
    *,
    off: FloatArray,
    top: FloatArray,
    points: NDArray[np.intp],
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return x and its surplus after what of each step brings it closer, and whether any did."""
    x, off = x.copy(), off.copy()
    closer = np.zeros(len(x), dtype=bool)
    for _ in range(_HALVINGS):
        rest = np.flatnonzero(~closer)
        if not rest.size:
            break
        trial = np.minimum(x[rest] + step[rest], top[rest])
        there = surplus(trial, points[rest])
        good = np.abs(there).max(axis=-1) < np.abs(off[rest]).max(axis=-1)
        x[rest[good]], off[rest[good]] = trial[good], there[good]
        closer[rest[good]] = True
        step = step / 2.0
    return x, off, closer


_STEPS = 200
_HALVINGS = 30
_TOLERANCE = 1e-13
_ROUNDING = 1e-11
_DIFFERENCE = 1e-7
_LONGEST_STEP = 3.0
_LEAST = 1e-300
"""Of a probability; its logarithm is finite."""
