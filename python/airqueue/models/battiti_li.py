"""Two EDCA classes with different AIFS: the model of Battiti and Li.

R. Battiti, B. Li, *Supporting service differentiation with enhancements of the IEEE 802.11 MAC
protocol: models and analysis*, technical report, University of Trento 2003; the EDCA paper's
reference [6] and the curves of its Figs 4 and 5. Bianchi's chain is extended: after a busy slot a
class with a longer AIFS must see D idle slots in a row before its counter moves again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.models.backoff import CW_MAX, CW_MIN, attempts_and_backoff
from airqueue.models.catalogue import Figure, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, called, finished
from airqueue.models.edca_classes import RETRIES, RETRIES_PARAMETER, Classes, Shares, classes
from airqueue.models.edca_solver import attempts_fixed_point
from airqueue.models.edca_validity import (
    RULE_PARAMETER,
    VALIDITY_OUTPUTS,
    validity,
    validity_figures,
)
from airqueue.models.logarithms import xlog1py


@dataclass(frozen=True, slots=True)
class BattitiLi(Shares):
    """Contention of saturated classes; the last axis is the class."""

    attempt_probability: FloatArray
    """τ_i, the probability that a station transmits in any slot."""
    collision_probability: FloatArray
    """p_i, the probability that an attempt collides; also that others make a slot busy."""
    decrements_per_slot: FloatArray
    """1/(1 + p_i H_i), steps of the counter for each slot that passes."""


def battiti_li(
    stations: Numbers,
    aifs_slots: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    *,
    retries: int | None = RETRIES,
) -> BattitiLi:
    """Solve the chain whose counters wait for D_i idle slots in a row after each busy one.

    With a probability p_i that a slot is busy with others, the same in every slot, D_i idle slots in
    a row take H_i slots on average, and the counter moves once in 1 + p_i H_i slots. With the mean
    backoff b_k = (w_k - 1)/2 of stage k, and H_i slots more after the station's own transmission,

        H_i = ((1-p_i)^-D_i - 1)/p_i
        τ_i = Σ_k p_i^k / Σ_k p_i^k [b_k (1 + p_i H_i) + 1 + H_i],   k = 0..retries
        p_i = 1 - (1-τ_i)^(n_i-1) Π_{k≠i} (1-τ_k)^n_k

    Parameters are those of `airqueue.models.edca_hold.hold_chain`, the last axis is the class. With
    one station in each of two classes the ratio is exactly that of the hold chain; with more the two
    differ, because here a slot is as busy for a waiting class as for a counting one, and the stations
    of a class wait independently of each other.

    Valid for one saturated station in each class that counts down by the EDCA rule, and AIFS
    differences up to about a third of the window; with more stations use the hold chain.

    Raises ParameterError, or ConvergenceError.

    >>> round(float(battiti_li([1, 1], [0, 10]).ratio(0, 1)), 3)
    2.821
    """
    given = classes(stations, aifs_slots, cw_min, cw_max, retries)
    tau = attempts_fixed_point(
        lambda x, part: _attempts(_busy(x, part), part), given, what="attempt probabilities"
    )
    p = _busy(tau.reshape(given.flat.stations.shape), given.flat).reshape(tau.shape)
    return BattitiLi(
        stations=given.stations,
        attempt_probability=finished("τ", tau),
        collision_probability=finished("p", p),
        decrements_per_slot=_decrements(p, given.aifs_slots),
        station_success_per_slot=finished("success", tau * (1.0 - p)),
    )


def _busy(tau: FloatArray, given: Classes) -> FloatArray:
    """Return p_i, the probability that others transmit in a slot."""
    one = np.eye(tau.shape[1])
    silent = xlog1py(given.stations[:, np.newaxis] - one, -tau[:, np.newaxis])
    busy: FloatArray = -np.expm1(silent.sum(axis=-1))
    return busy


def _attempts(p: FloatArray, given: Classes) -> FloatArray:
    attempts, backoff = attempts_and_backoff(
        p, given.w_min, given.w_max, retries=given.retries, extra_slots=-1.0
    )
    moves = _decrements(p, given.aifs_slots)
    # H (1-p)^D = (1 - (1-p)^D)/p, which tends to D as p tends to 0. Numerator and denominator of τ
    # are both times (1-p)^D, so that neither overflows.
    wait = np.where(p > 0, (1.0 - moves) / np.where(p > 0, p, 1.0), given.aifs_slots)
    tau: FloatArray = attempts * moves / (backoff + attempts * (moves + wait))
    return tau


def _decrements(p: FloatArray, aifs_slots: FloatArray) -> FloatArray:
    """1/(1 + p H) = (1-p)^D."""
    with np.errstate(divide="ignore"):
        moves: FloatArray = np.exp(xlog1py(aifs_slots, -p))
    return moves


_KEYS: Final = {
    "stations[0]": "stations_high",
    "stations[1]": "stations_low",
    "aifs_slots[1]": "aifs_slots",
    "cw_min[0]": "cw_min_high",
    "cw_min[1]": "cw_min_low",
    "cw_min": "cw_min_high or cw_min_low",
}
"""The command's parameters, by those of the functions above."""


def _evaluate(
    *,
    aifs_slots: float,
    stations_high: float,
    stations_low: float,
    cw_min_high: float,
    cw_min_low: float,
    cw_max: float,
    retries: int | None,
    rule: str,
) -> Mapping[str, Figure]:
    given = ([stations_high, stations_low], [0.0, aifs_slots], [cw_min_high, cw_min_low], cw_max)
    with called(_KEYS):
        solved = battiti_li(*given, retries=retries)
        trust = validity(solved.success_share, *given, retries=retries, rule=rule)
    high, low = solved.collision_probability.tolist()
    return {
        "ratio": float(solved.ratio(0, 1)),
        "collision_probability_high": high,
        "collision_probability_low": low,
        "decrements_per_slot_low": float(solved.decrements_per_slot[1]),
        **validity_figures(trust),
    }


MODEL = Model(
    name="battiti-li",
    summary="Throughput ratio of two EDCA classes by AIFS and window, as in the EDCA paper's Figs 4 "
    "and 5 (Battiti and Li 2003).",
    parameters=(
        Parameter("aifs_slots", "D: AIFS of the low class above that of the high class", 4.0),
        Parameter("stations_high", "saturated stations of the high class", 1.0),
        Parameter("stations_low", "saturated stations of the low class", 1.0),
        Parameter("cw_min_high", "CWmin of the high class", CW_MIN),
        Parameter("cw_min_low", "CWmin of the low class", CW_MIN),
        Parameter("cw_max", "CWmax of both", CW_MAX),
        RETRIES_PARAMETER,
        RULE_PARAMETER,
    ),
    outputs=(
        Output("ratio", "successes of a high station for each of a low one"),
        Output("collision_probability_high", "p: an attempt of the high class collides"),
        Output("collision_probability_low", "p: an attempt of the low class collides"),
        Output("decrements_per_slot_low", "1/(1 + pH): steps of the low class's counter in a slot"),
        *VALIDITY_OUTPUTS,
    ),
    evaluate=_evaluate,
    example="aifs_slots=0..20",
    valid="One station in each class, counting down by the EDCA rule, and AIFS differences up to "
    "about a third of the window. With several stations in a class the class with the longer "
    "AIFS gets too much already at small differences: use edca-hold, or edca-slots, which is exact.",
)
