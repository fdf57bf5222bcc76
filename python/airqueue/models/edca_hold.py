"""EDCA with different AIFS and windows: the hold chain, for any number of classes.

After every transmission a class waits for its own AIFS, so that in the first slots only classes with
a short one may transmit. The chain counts the idle slots since the last transmission. The two-class
form is that of P. Clifford, K. Duffy, J. Foy, D. J. Leith, D. Malone, *Modeling 802.11e for data
traffic parameter design*, WiOpt 2006; the EDCA paper compares its measurements (Figs 4 and 5) with
the model of Battiti and Li, which gives the same ratio for one station in each class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airqueue.models.backoff import CW_MAX, CW_MIN, attempts_and_backoff
from airqueue.models.catalogue import Figure, Model, Output
from airqueue.models.checks import FloatArray, Numbers, finished
from airqueue.models.edca_classes import (
    CLASS_PARAMETERS,
    RETRIES,
    Classes,
    Shares,
    classes,
)
from airqueue.models.edca_solver import attempts_fixed_point
from airqueue.models.edca_validity import (
    RULE_PARAMETER,
    VALIDITY_OUTPUTS,
    validity,
    validity_figures,
)
from airqueue.models.logarithms import xlog1py


@dataclass(frozen=True, slots=True)
class HoldChain(Shares):
    """Contention of saturated classes. The last axis is the class where there is one."""

    attempt_probability: FloatArray
    """τ_i, the probability that a station transmits in a slot after its AIFS."""
    collision_probability: FloatArray
    """p_i, the probability that an attempt collides."""
    hold_probability: FloatArray
    """Probability that the class waits for its AIFS in a slot (P_hold of the lower class of two)."""
    idle_probability: FloatArray
    """Probability that a slot is idle; no class axis."""


def hold_chain(
    stations: Numbers,
    aifs_slots: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    *,
    retries: int | None = RETRIES,
) -> HoldChain:
    """Solve the chain of idle slots together with Bianchi's backoff, for classes on the last axis.

    With j idle slots since the last transmission, counted from the smallest AIFS and capped at the
    largest offset D_max, and n_i stations of offset D_i and attempt probability τ_i in class i:

        s_j = Π_{i: D_i <= j} (1-τ_i)^n_i
        π_j ∝ Π_{l<j} s_l  (j < D_max),   π_Dmax ∝ Π_{l<Dmax} s_l / (1 - s_Dmax)
        p_i = 1 - Σ_{j>=D_i} π_j s_j/(1-τ_i) / Σ_{j>=D_i} π_j
        τ_i = Σ_k p_i^k / Σ_k p_i^k (w_k + 1)/2,   k = 0..retries,  w_k = min(2^k w_min, w_max)
        successes of class i per slot = n_i τ_i Σ_{j>=D_i} π_j s_j/(1-τ_i)

    stations: of each class, at least 1, may be fractional. aifs_slots: AIFS of each class in slots;
    only differences matter. cw_min, cw_max: the standard's CWmin and CWmax, windows of
    ``w_min = cw_min + 1`` to ``w_max = cw_max + 1`` values. retries: None for no limit.

    Valid for saturated stations that all hear each other, with the EDCA rule of counting down, while
    idle runs are nearly geometric: `airqueue.models.edca_validity` measures the error. AIFS is
    compared strictly: no class counts down before its AIFS is over.

    Raises ParameterError, or ConvergenceError where the iteration does not settle.

    >>> round(float(hold_chain([1, 1], [0, 4]).ratio(0, 1)), 3)
    1.592
    """
    given = classes(stations, aifs_slots, cw_min, cw_max, retries)
    shape, flat = given.stations.shape, given.flat
    count = shape[-1]
    states = int(np.max(given.aifs_slots, initial=0.0)) + 1
    step = max(1, _CHUNK // (count * states))
    solved = np.empty((len(flat.stations), 4, count))
    idle = np.empty(len(flat.stations))
    for start in range(0, len(flat.stations), step):
        part = np.arange(start, min(start + step, len(flat.stations)))
        solved[part], idle[part] = _solve(flat[part])
    tau, p, hold, station = (solved[:, k].reshape(shape) for k in range(4))
    return HoldChain(
        stations=given.stations,
        station_success_per_slot=finished("success", station),
        attempt_probability=finished("τ", tau),
        collision_probability=finished("p", p),
        hold_probability=finished("P_hold", hold),
        idle_probability=finished("idle probability", idle.reshape(shape[:-1])),
    )


_CHUNK = 1 << 17
"""Elements (point, class, j) solved at once: their arrays stay in the processor's cache."""


def _solve(given: Classes) -> tuple[FloatArray, FloatArray]:
    """Return τ, p, P_hold and the successes of a station (point, 4, class), and the idle slots."""
    tau = attempts_fixed_point(_update, given, what="attempt probabilities")
    quiet, others, allowed = _logs(tau, given)
    weights = _weights(quiet, np.ones_like(allowed[:, :1]))[:, 0]
    weights /= weights.sum(axis=-1, keepdims=True)
    each = weights[:, np.newaxis]
    held = np.sum(np.where(allowed, 0.0, each), axis=-1)
    alone = np.sum(np.where(allowed, each * np.exp(others), 0.0), axis=-1)
    solved = np.stack([tau, _collision(quiet, others, allowed), held, tau * alone], axis=1)
    return solved, np.sum(weights * np.exp(quiet), axis=-1)


def _update(tau: FloatArray, given: Classes) -> FloatArray:
    """One step τ -> π -> p -> τ."""
    return bianchi_attempts(_collision(*_logs(tau, given)), given)


def bianchi_attempts(p: FloatArray, given: Classes) -> FloatArray:
    """Return τ, attempts per slot that a station may count, at the collision probability p."""
    attempts, backoff = attempts_and_backoff(
        p, given.w_min, given.w_max, retries=given.retries, extra_slots=1.0
    )
    return attempts / backoff


def _logs(tau: FloatArray, given: Classes) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return log s_j (point, j), log s_j/(1-τ_i) (point, class, j), and where D_i <= j.

    In logarithms, because a station that always transmits (τ = 1) makes s_j zero.
    """
    states = np.arange(np.max(given.aifs_slots, initial=0.0) + 1.0)
    allowed = given.aifs_slots[..., np.newaxis] <= states
    silent = np.where(allowed, xlog1py(given.stations, -tau)[..., np.newaxis], 0.0)
    own = xlog1py(given.stations - 1.0, -tau)
    others = np.stack(
        [
            np.delete(silent, i, axis=1).sum(axis=1) + own[:, i, np.newaxis]
            for i in range(tau.shape[1])
        ],
        axis=1,
    )
    return silent.sum(axis=1), others, allowed


def _weights(quiet: FloatArray, counted: NDArray[np.bool_]) -> FloatArray:
    """Return π_j (point, class, j), up to a factor, of the states in which each class counts down.

    The product begins at the first of these states, because s_l of earlier states may be zero: the
    collision probability is needed also for a class that never counts down.
    """
    logs = np.where(counted, quiet[:, np.newaxis], 0.0)[..., :-1]
    before = np.cumsum(np.concatenate([np.zeros_like(counted[..., :1], float), logs], -1), axis=-1)
    weights = np.where(counted, np.exp(before), 0.0)
    weights[..., -1] /= -np.expm1(quiet[:, np.newaxis, -1])
    return weights


def _collision(quiet: FloatArray, others: FloatArray, allowed: NDArray[np.bool_]) -> FloatArray:
    weights = _weights(quiet, allowed)
    busy = np.sum(np.where(allowed, weights * -np.expm1(others), 0.0), axis=-1)
    p: FloatArray = busy / weights.sum(axis=-1)
    return p


def _evaluate(
    *,
    stations: Sequence[float],
    aifs_slots: Sequence[float],
    cw_min: Sequence[float],
    cw_max: Sequence[float],
    retries: int | None,
    rule: str,
) -> Mapping[str, Figure]:
    given = (stations, aifs_slots, cw_min, cw_max)
    chain = hold_chain(*given, retries=retries)
    trust = validity(chain.success_share, *given, retries=retries, rule=rule)
    return {
        "success_share": chain.success_share.tolist(),
        "station_success_per_slot": chain.station_success_per_slot.tolist(),
        "collision_probability": chain.collision_probability.tolist(),
        "attempt_probability": chain.attempt_probability.tolist(),
        "hold_probability": chain.hold_probability.tolist(),
        "idle_probability": float(chain.idle_probability),
        **validity_figures(trust),
    }


MODEL = Model(
    name="edca-hold",
    summary="Shares of EDCA classes with different AIFS and windows, by the hold chain (Clifford "
    "et al. 2006).",
    parameters=(*CLASS_PARAMETERS, RULE_PARAMETER),
    outputs=(
        Output("success_share", "successes of the class among all"),
        Output("station_success_per_slot", "successes of one station of the class in a slot"),
        Output("collision_probability", "p_i: an attempt collides"),
        Output("attempt_probability", "τ_i: a station transmits in a slot after its AIFS"),
        Output("hold_probability", "a slot finds the class waiting for its AIFS"),
        Output("idle_probability", "a slot is idle"),
        *VALIDITY_OUTPUTS,
    ),
    evaluate=_evaluate,
    example="stations=1,5 aifs_slots=0,4 cw_min=15,31",
    valid="Saturated stations that count down by the EDCA rule, and AIFS differences up to a third "
    "of the favoured class's window if that class is one station, up to an eighth if it has "
    "several; beyond, and sooner if one station with a small window meets several, the class "
    "with the longer AIFS gets less than the chain predicts. edca-slots is exact, for whole numbers "
    "of stations.",
)
