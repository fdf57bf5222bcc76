"""Finds the root of a monotone equation for each element of the parameters' arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airqueue.models.checks import FloatArray
from airqueue.models.errors import ConvergenceError

_CHUNK = 1 << 16
"""Elements solved at once: their arrays stay in the processor's cache, about twice as fast."""


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
    from scipy.optimize import elementwise  # noqa: PLC0415 - slow, and not in scipy's stubs

    with np.errstate(over="ignore"):
        found = elementwise.find_root(
            function,
            (low, high),
            args=parameters,
            tolerances={"xrtol": 4 * np.finfo(np.float64).eps},
        )
    if not np.all(found.success):
        worst = int(np.argmin(found.success))
        where = ", ".join(f"{float(array[worst]):g}" for array in parameters)
        raise ConvergenceError(
            f"there is no {what} that solves the model's equation between {low[worst]:g} and "
            f"{high[worst]:g} (parameters {where}); use less extreme ones"
        )
    root: FloatArray = np.asarray(found.x, dtype=np.float64)
    return root
