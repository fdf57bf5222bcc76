"""Tay and Chua's fixed point: mean backoffs instead of a Markov chain.

Y. C. Tay, K. C. Chua, *A capacity analysis for the IEEE 802.11 MAC protocol*, Wireless Networks 7
(2001). It differs from Bianchi's by half a slot per attempt: τ = 1/W̄ with W̄ from windows ``w/2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airqueue.models.backoff import (
    CW_MAX,
    CW_MIN,
    EXTRA_SLOTS,
    WINDOW_PARAMETERS,
    attempts_and_backoff,
    windows,
)
from airqueue.models.catalogue import Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers
from airqueue.models.fixed_point import collision_probability


@dataclass(frozen=True, slots=True)
class TayChua:
    """Contention of n saturated stations; each field has the parameters' shape."""

    collision_probability: FloatArray
    """p, the probability that an attempt collides."""
    mean_backoff_slots: FloatArray
    """W̄, slots between two attempts of a station; its attempt probability per slot is 1/W̄."""


def tay_chua(n: Numbers, cw_min: Numbers = CW_MIN, cw_max: Numbers = CW_MAX) -> TayChua:
    """Solve ``p = 1 - (1 - 1/W̄)^(n-1)``, ``W̄ = (1-p-p(2p)^m)/(1-2p) · w_min/2``.

    Parameters
    ----------
    n : number or array
        Saturated stations, at least 1, may be fractional.
    cw_min, cw_max : number or array
        The standard's CWmin and CWmax, windows of ``w_min = cw_min + 1`` to ``cw_max + 1`` values (m
        doublings between them; a largest window that is not such a multiple caps the last doubling).

    Returns
    -------
    TayChua
        p and W̄ in slots, of the parameters' shape.

    Raises
    ------
    ParameterError
        A parameter outside its range.
    ConvergenceError
        No p in [0, 1] solves the equation.

    Notes
    -----
    Valid for saturated stations that all hear each other; the backoff freezes while the medium is
    busy. Packets are never given up; with a retry limit and the same count of slots it is
    ``kumar(n, cw_min, cw_max, retries, convention="tay-chua")``.

    Examples
    --------
    >>> float(tay_chua(2).collision_probability.round(4))
    0.0586
    """
    low, high = windows(cw_min, cw_max, at_least=2)
    stations, low, high = broadcast(n=numbers("n", n, at_least=1), cw_min=low, cw_max=high)
    p = collision_probability(_attempt_probability, stations, (low, high))
    return TayChua(finished("p", p), finished("W̄", _mean_backoff(p, low, high)))


def _mean_backoff(p: FloatArray, w_min: FloatArray, w_max: FloatArray) -> FloatArray:
    extra = EXTRA_SLOTS["tay-chua"]
    return attempts_and_backoff(p, w_min, w_max, retries=None, extra_slots=extra)[1]


def _attempt_probability(p: FloatArray, w_min: FloatArray, w_max: FloatArray) -> FloatArray:
    return np.minimum(1.0 / _mean_backoff(p, w_min, w_max), 1.0)


def _evaluate(n: float, cw_min: float, cw_max: float) -> dict[str, float]:
    solved = tay_chua(n, cw_min, cw_max)
    return {
        "collision_probability": float(solved.collision_probability),
        "mean_backoff_slots": float(solved.mean_backoff_slots),
        "attempt_probability": float(np.divide(1.0, solved.mean_backoff_slots)),
    }


MODEL = Model(
    name="tay-chua",
    summary="Collision probability of n saturated stations, by mean backoffs (Tay and Chua 2001).",
    parameters=(
        Parameter("n", "saturated stations, may be fractional"),
        *WINDOW_PARAMETERS,
    ),
    outputs=(
        Output("collision_probability", "p: an attempt collides"),
        Output("mean_backoff_slots", "W̄: slots between two attempts of a station"),
        Output("attempt_probability", "1/W̄: a station transmits in a slot"),
    ),
    evaluate=_evaluate,
    example="n=1..50",
    valid=(
        "Saturated stations that all hear each other, lose frames by collision alone and never give "
        "a packet up."
    ),
)
