"""The mean backoff between attempts, in which the fixed points of DCF differ.

CWmin and CWmax are the standard's: the largest values of the first backoff and of any, 31 and 1023
for 802.11b. Formulas count values, ``w_min = CWmin + 1``. At stage k (after k collisions) a station
draws from a window of ``w_k = min(2^k w_min, w_max)`` values, 0 to ``w_k - 1``. The mean draw is
``(w_k - 1)/2`` slots. A model that counts the slot of the transmission itself adds one, giving
``(w_k + 1)/2`` (Bianchi); one that rounds gives ``w_k/2`` (Tay and Chua).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from airqueue._native import Radio
from airqueue.models.catalogue import Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, numbers
from airqueue.models.errors import ParameterError

_DSSS: Final = Radio("802.11b")
CW_MIN: Final = float(_DSSS.cw_min)
"""CWmin of 802.11b: backoff from 0..31 at the first attempt."""
CW_MAX: Final = float(_DSSS.cw_max)

EXTRA_SLOTS: Final[Mapping[str, float]] = {"bianchi": 1.0, "tay-chua": 0.0, "http": -1.0}
"""Slot count of each convention: a stage costs ``(w_k + extra)/2`` slots per attempt."""

# The series in p are evaluated between these; at the ends they would be 0/0 or 0 times infinity.
_LEAST = float(np.finfo(np.float64).tiny)
_MOST = float(np.nextafter(1.0, 0.0))


def windows(
    cw_min: Numbers, cw_max: Numbers, *, at_least: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of values of the windows of the standard's CWmin and CWmax, checked.

    The windows have ``at_least`` values or more.

    >>> [float(values) for values in windows(31, 1023)]
    [32.0, 1024.0]
    """
    low, high = broadcast(
        cw_min=numbers("cw_min", cw_min, at_least=at_least - 1.0),
        cw_max=numbers("cw_max", cw_max, at_least=at_least - 1.0),
    )
    if np.any(high < low):
        raise ParameterError("cw_max", "cw_max is less than cw_min; it must be at least as large")
    return low + 1.0, high + 1.0


def retry_limit(retries: Numbers | None) -> FloatArray:
    """Return the checked number of retransmissions after which a packet is given up; None: never.

    "Never" is returned as infinity, so that arrays may be broadcast against it.
    """
    if retries is None:
        return np.asarray(np.inf)
    return numbers("retries", retries, at_least=0, whole=True)


def attempts_and_backoff(
    p: FloatArray,
    w_min: FloatArray,
    w_max: FloatArray,
    *,
    retries: FloatArray | float | None,
    extra_slots: float,
) -> tuple[FloatArray, FloatArray]:
    """Return (mean attempts, mean backoff in slots) per packet, both multiplied by ``1 - p``.

    A packet is given up after ``retries`` retransmissions, never if that is None or infinite. Stage k
    is reached with probability ``p^k`` and costs ``(w_k + extra_slots)/2``, so

        attempts (1-p) = Σ_k (1-p) p^k  = 1 - p^(retries+1)
        backoff (1-p)  = Σ_k (1-p) p^k (w_k + extra_slots)/2

    The factor keeps both finite where packets are never given up and p is 1. Their quotient is the
    attempt probability per slot, `attempt_probability`. All terms are positive and nothing cancels,
    so both are accurate to a few units in the last place for every p, 1/2 and the neighbourhood of 1
    included (p = 1 itself is taken as the number just below it). p, w_min, w_max and retries:
    checked arrays that broadcast.
    """
    limit = np.asarray(np.inf if retries is None else retries, dtype=np.float64)
    p = np.minimum(np.maximum(p, _LEAST), _MOST)
    growing = int(min(_doublings(w_min, w_max), np.max(limit, initial=0.0)))
    fewest = np.min(limit, initial=np.inf)
    weight = 1.0 - p
    window = w_min
    slots = np.zeros(np.broadcast_shapes(p.shape, w_min.shape, w_max.shape, limit.shape))
    with np.errstate(over="ignore"):
        for stage in range(1, growing + 1):
            slots += weight * (window + extra_slots)
            weight = weight * p
            window = np.minimum(2.0 * window, w_max)
            if stage > fewest:
                weight = np.where(stage <= limit, weight, 0.0)
        # From here on the window is constant: Σ p^j of the stages left. expm1, as 1 - p^j cancels.
        log_p = np.log(p)
        left = np.maximum(limit + 1.0 - growing, 0.0)
        slots += weight * (np.expm1(left * log_p) / (p - 1.0)) * (window + extra_slots)
        attempts = -np.expm1((limit + 1.0) * log_p)
    return attempts, slots / 2.0


def attempt_probability(
    p: FloatArray,
    w_min: FloatArray,
    w_max: FloatArray,
    retries: FloatArray,
    extra_slots: float,
) -> FloatArray:
    """Return τ = Σ p^k / Σ p^k (w_k + extra_slots)/2, the probability of transmitting in a slot.

    It decreases in p. Parameters as in `attempts_and_backoff`, ``w_min >= 2 - extra_slots`` (below
    that a backoff lasts less than the slot of its transmission).
    """
    attempts, slots = attempts_and_backoff(
        p, w_min, w_max, retries=retries, extra_slots=extra_slots
    )
    return np.minimum(attempts / slots, 1.0)


def drop_probability(p: FloatArray, retries: FloatArray) -> FloatArray:
    """Return ``p^(retries+1)``, the probability that a packet is given up; 0 without retry limit."""
    endless = np.isinf(retries)
    dropped: FloatArray = np.where(endless, 0.0, p ** (np.where(endless, 0.0, retries) + 1.0))
    return dropped


def _doublings(w_min: FloatArray, w_max: FloatArray) -> int:
    """Return the number of doublings after which no window grows."""
    return math.ceil(math.log2(float(np.max(w_max / w_min, initial=1.0))))


WINDOW_PARAMETERS: Final = (
    Parameter("cw_min", "CWmin, the largest value of the first backoff", CW_MIN),
    Parameter("cw_max", "CWmax, the largest value of any backoff", CW_MAX),
)
"""Parameters of every model with one class of stations."""
