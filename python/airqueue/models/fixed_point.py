"""The decoupling approximation of every fixed point of DCF: p = 1 - (1 - τ(p))^(n-1).

To a saturated station the others attempt independently, each with probability τ in a slot, and τ
depends on the collision probability p through the backoff alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airqueue.models.checks import FloatArray
from airqueue.models.logarithms import xlog1py
from airqueue.models.roots import increasing_root

_MARGIN = 1e-9


def collision_probability(
    attempt_probability: Callable[..., FloatArray],
    n: FloatArray,
    parameters: tuple[FloatArray, ...],
) -> FloatArray:
    """Solve ``p = 1 - (1 - τ(p, *parameters))^(n-1)``, elementwise.

    ``attempt_probability`` returns τ in [0, 1] and must not increase in p; then there is exactly one
    solution. n and the parameters: checked arrays that broadcast.
    """

    def hits(p: FloatArray, n: FloatArray, *rest: FloatArray) -> FloatArray:
        return hit(attempt_probability(p, *rest), n)

    def surplus(p: FloatArray, *rest: FloatArray) -> FloatArray:
        return p - hits(p, *rest)

    shape = np.broadcast_shapes(n.shape, *(array.shape for array in parameters))
    arrays = tuple(np.ravel(np.broadcast_to(array, shape)) for array in (n, *parameters))
    # As τ does not increase, p lies between its values for τ(1) and τ(0). With these
    # bounds a tiny p takes few steps instead of a thousand. If rounding breaks them, use 0 and 1.
    zero, one = np.zeros(arrays[0].size), np.ones(arrays[0].size)
    low = hits(one, *arrays) * (1.0 - _MARGIN)
    high = np.minimum(hits(zero, *arrays) * (1.0 + _MARGIN), one)
    low = np.where(surplus(low, *arrays) <= 0, low, zero)
    high = np.where(surplus(high, *arrays) >= 0, high, one)
    root = increasing_root(surplus, low, high, arrays, what="collision probability")
    return root.reshape(shape)


def hit(attempt_probability: FloatArray, n: FloatArray) -> FloatArray:
    """Return ``1 - (1-τ)^(n-1)``, the probability that any of the n - 1 others attempts in a slot.

    Exact for tiny τ, and for τ = 1 with n = 1.
    """
    probability: FloatArray = -np.expm1(xlog1py(n - 1.0, -attempt_probability))
    return probability


def spared(attempt_probability: FloatArray, n: FloatArray) -> FloatArray:
    """Return ``(1-τ)^(n-1)``, that no other attempts; for many stations 1 - `hit` cancels."""
    probability: FloatArray = np.exp(xlog1py(n - 1.0, -attempt_probability))
    return probability
