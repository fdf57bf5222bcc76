"""Finds the root of a monotone equation for each element of the parameters' arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airqueue.models.checks import FloatArray
from airqueue.models.errors import ConvergenceError

_CHUNK = 1 << 16
"""Elements solved at once: their arrays stay in the processor's cache, about twice as fast."""

_TOLERANCE = 4 * np.finfo(np.float64).eps
"""Of a root, relative."""
_LEAST = np.finfo(np.float64).tiny
_MOST_STEPS = 4200
"""Twice as many as halving takes from the largest number to the least one."""


def increasing_root(
    function: Callable[..., FloatArray],
    low: FloatArray | float,
    high: FloatArray | float,
    parameters: tuple[FloatArray, ...],
    *,
    what: str,
) -> FloatArray:
    """Return x in [low, high] with ``function(x, *parameters) == 0``, elementwise.

    ``function`` must not be positive at ``low`` and not be negative at ``high``. It is called with
    arrays of one dimension. The method is Chandrupatla's (bracketing, inverse quadratic where it
    helps), to about four units in the last place of x, however small x is. Empty arrays give an empty
    array; integers are taken as floating point.

    ``what`` names the unknown in the message of ConvergenceError, raised where the ends do not
    bracket a root.
    """
    low, high, *arrays = np.broadcast_arrays(
        *(np.asarray(array, dtype=np.float64) for array in (low, high, *parameters))
    )
    shape = low.shape
    flat = [np.ravel(array) for array in (low, high, *arrays)]
    roots = np.empty(low.size)
    for start in range(0, low.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        a, b, *args = (array[part] for array in flat)
        roots[part] = _solve(function, a, b, tuple(args), what)
    return roots.reshape(shape)


def _solve(
    function: Callable[..., FloatArray],
    low: FloatArray,
    high: FloatArray,
    parameters: tuple[FloatArray, ...],
    what: str,
) -> FloatArray:
    """Chandrupatla, Adv. Eng. Software 28 (1997), without SciPy, which takes 0.2 s to load."""
    roots = np.full(low.size, np.nan)
    at = np.arange(low.size)  # where the elements of the arrays below belong
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        x1, x2 = low.astype(np.float64), high.astype(np.float64)
        f1, f2 = function(x1, *parameters), function(x2, *parameters)
        x3, f3 = x2, f2
        args = parameters
        for _ in range(_MOST_STEPS):
            nearer = np.abs(f1) < np.abs(f2)
            best, width = np.where(nearer, x1, x2), np.abs(x2 - x1)
            bound = np.abs(best) * _TOLERANCE + _LEAST
            done = (np.where(nearer, f1, f2) == 0) | (width < bound)
            roots[at[done]] = best[done]
            # Ends of equal sign, and what is not finite, bracket nothing: these stay without a root.
            going = ~done & (np.sign(f1) * np.sign(f2) < 0)
            if not going.any():
                break
            at, width, bound = at[going], width[going], bound[going]
            x1, x2, x3, f1, f2, f3, *rest = (
                each[going] for each in (x1, x2, x3, f1, f2, f3, *args)
            )
            args = tuple(rest)
            step = _step((x1, x2, x3), (f1, f2, f3))
            least = 0.5 * bound / width
            x = x1 + np.clip(step, least, 1 - least) * (x2 - x1)
            f = function(x, *args)
            same = np.sign(f) == np.sign(f1)
            x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
            x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
            x1, f1 = x, f
    if np.isnan(roots).any():
        worst = int(np.argmax(np.isnan(roots)))
        where = ", ".join(f"{float(array[worst]):g}" for array in parameters)
        raise ConvergenceError(
            f"there is no {what} that solves the model's equation between {low[worst]:g} and "
            f"{high[worst]:g} (parameters {where}); use less extreme ones"
        )
    return roots


def _step(x: tuple[FloatArray, ...], f: tuple[FloatArray, ...]) -> FloatArray:
    """Return where between x1 and x2 to look next: by interpolation where it can be trusted."""
    (x1, x2, x3), (f1, f2, f3) = x, f
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    trusted = (1 - np.sqrt(1 - xi) < phi) & (phi < np.sqrt(xi))
    alpha = (x3 - x1) / (x2 - x1)
    interpolated = f1 / (f1 - f2) * f3 / (f3 - f2) - alpha * f1 / (f3 - f1) * f2 / (f2 - f3)
    return np.where(trusted & np.isfinite(interpolated), interpolated, 0.5)
