"""Collision probability of backlogged stations with finite retries: HTTP paper, Eqs (1), (2), (6).

D. Miorandi, A. A. Kherani, E. Altman, *A Queueing Model for HTTP Traffic over IEEE 802.11 WLANs*:
Tay and Chua's fixed point with windows counted from zero, ``(2^k CW_min - 1)/2`` slots at stage k,
and m attempts per packet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from airqueue.models.backoff import CW_MAX, CW_MIN, WINDOW_PARAMETERS, attempts_and_backoff, windows
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, number, numbers
from airqueue.models.errors import ConvergenceError
from airqueue.models.roots import increasing_root

ATTEMPTS = 7
"""m of the paper: transmissions of a packet before it is dropped."""
_MOST_ATTEMPTS = 1000
_CHUNK = 1 << 15
"""Points solved at once: their arrays stay in the processor's cache."""
_GOLDEN_STEPS = 45
"""Steps, each leaving 0.618 of the interval: P to 4e-10, and n_b, flat at its maximum, to double."""


@dataclass(frozen=True, slots=True)
class HttpContention:
    """Contention among n_b backlogged stations; each field has the parameters' shape."""

    collision_probability: FloatArray
    """P_C, the probability that an attempt collides."""
    mean_backoff_slots: FloatArray
    """T_b; a backlogged station attempts with probability 1/T_b per slot."""
    drop_probability: FloatArray
    """P_drop = P_C^m, the probability that a packet is given up."""


def contention(
    n_b: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    attempts: int = ATTEMPTS,
) -> HttpContention:
    """Solve ``P = 1 - (1 - 1/T_b)^(n_b-1)``, ``T_b = Σ_{k<m} P^k (1-P) (w_k - 1)/2`` [slots].

    n_b: backlogged stations, the access point among them, may be fractional; at most one (also 0)
    means P = 0. cw_min, cw_max: the standard's CWmin (above 2) and CWmax,
    ``w_k = min(2^k (cw_min+1), cw_max+1)``. attempts: m, transmissions before a packet is dropped.

    This is Eq. (1) as printed, in slots, summed instead of in closed form (which is 0/0 at
    P = 1/2). The sum leaves out the factor ``1/(1-P^m)`` of packets that are dropped: negligible
    below P = 0.3, and the reason why T_b sinks to 0 as P nears 1. Hence P = 1 is a root for any
    n_b, and beyond `most_backlogged` it is the only one. The root returned is the one that starts
    at P = 0 for n_b = 1.

    Raises ParameterError, or ConvergenceError above `most_backlogged`.

    >>> float(contention(2).collision_probability.round(6))
    0.060255
    """
    low, high = windows(numbers("cw_min", cw_min, above=2), cw_max)
    stations = numbers("n_b", n_b, at_least=0)
    tries = int(number("attempts", attempts, at_least=1, at_most=_MOST_ATTEMPTS, whole=True))
    broadcast(n_b=stations, cw_min=low, cw_max=high)

    def solve(n_b: FloatArray, w_min: FloatArray, w_max: FloatArray) -> FloatArray:
        return _smallest_root(np.maximum(n_b, 1.0), w_min, w_max, tries)

    p = _solve_distinct(solve, stations, low, high)
    return HttpContention(
        finished("P_C", p),
        finished("T_b", _mean_backoff(p, low, high, tries)),
        finished("P_drop", p**tries),
    )


def most_backlogged(
    cw_min: Numbers = CW_MIN, cw_max: Numbers = CW_MAX, attempts: int = ATTEMPTS
) -> FloatArray:
    """Return the n_b up to which Eqs (1), (2) have a solution other than P = 1.

    It is the largest ``1 + ln(1-P)/ln(1-1/T_b(P))`` over P. Well below it the model is already
    doubtful: it takes P_drop for 0, and P_C reaches 0.55 at n_b = 50.

    Raises ParameterError.

    >>> float(most_backlogged().round(1))
    214.5
    """
    low, high = windows(numbers("cw_min", cw_min, above=2), cw_max)
    tries = int(number("attempts", attempts, at_least=1, at_most=_MOST_ATTEMPTS, whole=True))
    return finished("n_b", _stations(_limit(low, high, tries), low, high, tries))


def _mean_backoff(p: FloatArray, w_min: FloatArray, w_max: FloatArray, attempts: int) -> FloatArray:
    return attempts_and_backoff(p, w_min, w_max, retries=attempts - 1, extra_slots=-1.0)[1]


def _smallest_root(
    n_b: FloatArray, w_min: FloatArray, w_max: FloatArray, attempts: int
) -> FloatArray:
    p_limit = _limit(w_min, w_max, attempts)
    n_limit = _stations(p_limit, w_min, w_max, attempts)
    beyond = n_b > n_limit
    if beyond.any():
        worst = int(np.argmax(beyond))
        raise ConvergenceError(
            f"Eqs (1) and (2) have no solution for n_b = {n_b[worst]:g} backlogged stations with "
            f"windows of {w_min[worst]:g} to {w_max[worst]:g} values and {attempts} attempts; "
            f"use at most {n_limit[worst]:g} stations, larger windows or more attempts"
        )

    def surplus(p: FloatArray, n_b: FloatArray, w_min: FloatArray, w_max: FloatArray) -> FloatArray:
        idle = np.log1p(-1.0 / _mean_backoff(p, w_min, w_max, attempts))
        value: FloatArray = p + np.expm1((n_b - 1.0) * idle)
        return value

    return increasing_root(surplus, 0.0, p_limit, (n_b, w_min, w_max), what="collision probability")


def _stations(p: FloatArray, w_min: FloatArray, w_max: FloatArray, attempts: int) -> FloatArray:
    """Return the n_b that solves Eqs (1), (2) for a given P; -P, out of range, where T_b <= 1."""
    backoff = _mean_backoff(p, w_min, w_max, attempts)
    usable = backoff > 1.0
    idle = np.log1p(-1.0 / np.where(usable, backoff, 2.0))
    return np.where(usable, 1.0 + np.log1p(-p) / idle, -p)


def _limit(w_min: FloatArray, w_max: FloatArray, attempts: int) -> FloatArray:
    """Return the P at which `_stations` is largest, by golden section for each pair of windows.

    The function rises from 1 at P = 0 to a single maximum, then falls with T_b.
    """

    def top(low: FloatArray, high: FloatArray) -> FloatArray:
        ratio = (np.sqrt(5.0) - 1.0) / 2.0
        a, b = np.zeros(low.shape), np.full(low.shape, 1.0 - 1e-9)
        left, right = b - ratio * (b - a), a + ratio * (b - a)
        of_left, of_right = (_stations(p, low, high, attempts) for p in (left, right))
        for _ in range(_GOLDEN_STEPS):
            # One of the two inner points stays one, so that each step asks for one new value.
            left_is_higher = of_left >= of_right
            a, b = np.where(left_is_higher, a, left), np.where(left_is_higher, right, b)
            stays, of_stays = (
                np.where(left_is_higher, *both) for both in ((left, right), (of_left, of_right))
            )
            new = np.where(left_is_higher, b - ratio * (b - a), a + ratio * (b - a))
            of_new = _stations(new, low, high, attempts)
            left, right = np.where(left_is_higher, new, stays), np.where(left_is_higher, stays, new)
            of_left = np.where(left_is_higher, of_new, of_stays)
            of_right = np.where(left_is_higher, of_stays, of_new)
        return a

    return _solve_distinct(top, w_min, w_max)


def _solve_distinct(solve: Callable[..., FloatArray], *parameters: FloatArray) -> FloatArray:
    """Apply ``solve`` (one-dimensional arrays) to each distinct combination of parameters once.

    A sweep over users, think times or sizes asks for the same contention many times over.
    """
    code = np.zeros((), dtype=np.int64)
    values = []
    for parameter in parameters:
        distinct, index = np.unique(parameter, return_inverse=True)
        values.append(distinct)
        code = code * distinct.size + index.reshape(parameter.shape)
    codes, where = np.unique(code, return_inverse=True)
    indices = np.unravel_index(codes, tuple(v.size for v in values))
    distinct_parameters = [v[i] for v, i in zip(values, indices, strict=True)]
    solved = np.empty(codes.size)
    for start in range(0, codes.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        solved[part] = solve(*(parameter[part] for parameter in distinct_parameters))
    shared: FloatArray = solved[where].reshape(code.shape)
    return shared


def _evaluate(n_b: float, cw_min: float, cw_max: float, attempts: int) -> dict[str, float]:
    solved = contention(n_b, cw_min, cw_max, attempts)
    return {
        "collision_probability": float(solved.collision_probability),
        "mean_backoff_slots": float(solved.mean_backoff_slots),
        "drop_probability": float(solved.drop_probability),
        "most_backlogged": float(most_backlogged(cw_min, cw_max, attempts)),
    }


MODEL = Model(
    name="http-contention",
    summary="Collision probability among backlogged stations with finite retries "
    "(HTTP paper, Eqs 1-2).",
    parameters=(
        Parameter("n_b", "backlogged stations, access point included, may be fractional"),
        *WINDOW_PARAMETERS,
        Parameter("attempts", "m: transmissions before a packet is dropped", ATTEMPTS, Kind.WHOLE),
    ),
    outputs=(
        Output("collision_probability", "P_C: an attempt collides"),
        Output("mean_backoff_slots", "T_b: a station attempts once in T_b slots"),
        Output("drop_probability", "P_C^m: a packet is given up"),
        Output("most_backlogged", "n_b beyond which the equations have no solution"),
    ),
    evaluate=_evaluate,
    example="n_b=1..50",
    valid="Stations that always have a packet and all hear each other; P_C^m much less than 1. No "
    "solution above most_backlogged.",
)
