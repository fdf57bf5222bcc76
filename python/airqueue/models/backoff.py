"""The mean backoff between attempts, which is where the fixed points of section DCF differ.

At stage k (after k collisions) a station draws from a window of ``w_k = min(2^k cw_min, cw_max)``
values, 0 to ``w_k - 1``. The mean draw is ``(w_k - 1)/2`` slots. A model that counts the slot of the
transmission itself adds one, giving ``(w_k + 1)/2`` (Bianchi); one that rounds gives ``w_k/2``
(Tay and Chua).
"""

from __future__ import annotations

import math

import numpy as np

from airqueue.models.checks import FloatArray, Numbers, broadcast, numbers
from airqueue.models.errors import ParameterError

CW_MIN = 32.0
"""802.11b: backoff from 0..31 at the first attempt."""
CW_MAX = 1024.0


def windows(cw_min: Numbers, cw_max: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return the checked contention windows, numbers of values: ``1 <= cw_min <= cw_max``."""
    low, high = broadcast(
        cw_min=numbers("cw_min", cw_min, at_least=1), cw_max=numbers("cw_max", cw_max, at_least=1)
    )
    if np.any(high < low):
        raise ParameterError("cw_max", "cw_max is less than cw_min; it must be at least as large")
    return low, high


def attempts_and_backoff(
    p: FloatArray,
    cw_min: FloatArray,
    cw_max: FloatArray,
    *,
    retries: int | None,
    extra_slots: float,
) -> tuple[FloatArray, FloatArray]:
    """Return (mean attempts, mean backoff in slots) per packet, both multiplied by ``1 - p``.

    A packet is given up after ``retries`` retransmissions, never if that is None. Stage k is reached
    with probability ``p^k`` and costs ``(w_k + extra_slots)/2``, so

        attempts (1-p) = Σ_k (1-p) p^k  = 1 - p^(retries+1)
        backoff (1-p)  = Σ_k (1-p) p^k (w_k + extra_slots)/2

    The factor keeps both finite at p = 1. Their quotient is the attempt probability per slot of
    Kumar, Altman, Miorandi and Goyal. p, cw_min, cw_max: checked arrays that broadcast.
    """
    last_stage = _doublings(cw_min, cw_max)
    if retries is not None:
        last_stage = min(last_stage, retries)
    power = np.ones(np.broadcast_shapes(p.shape, cw_min.shape))
    slots = np.zeros_like(power)
    for stage in range(last_stage):
        slots += power * (np.minimum(2.0**stage * cw_min, cw_max) + extra_slots)
        power = power * p
    # From here on the window does not change: what is left of the geometric series in one term.
    end = np.zeros_like(power) if retries is None else p ** (retries + 1)
    tail_window = np.minimum(2.0**last_stage * cw_min, cw_max) + extra_slots
    return 1.0 - end, ((1.0 - p) * slots + (power - end) * tail_window) / 2.0


def _doublings(cw_min: FloatArray, cw_max: FloatArray) -> int:
    """Return after how many doublings no window grows any more."""
    return max(0, math.ceil(math.log2(float(np.max(cw_max / cw_min)))))
