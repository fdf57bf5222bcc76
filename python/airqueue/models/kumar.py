"""The fixed point of any backoff, by renewal-reward: Kumar, Altman, Miorandi and Goyal.

A. Kumar, E. Altman, D. Miorandi, M. Goyal, *New insights from a fixed point analysis of single cell
IEEE 802.11 WLANs*, INFOCOM 2005 (INRIA RR-5218). A packet makes Σ p^k attempts on average and
spends Σ b_k p^k slots on backoff; the quotient is the attempt probability per slot. Nothing but the
mean backoffs b_k enters, which is why the other fixed points of DCF are special cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from airqueue.models.backoff import (
    CW_MAX,
    CW_MIN,
    EXTRA_SLOTS,
    WINDOW_PARAMETERS,
    attempt_probability,
    drop_probability,
    retry_limit,
    windows,
)
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.fixed_point import collision_probability, hit
from airqueue.models.roots import increasing_root

RETRIES = 6
"""Seven attempts: the short retry limit of 802.11's default configuration."""

_MOST_SLOTS = 1e300
"""Bound of one backoff: the sum of all must stay within floating point."""

_SCAN = 1 << 14
"""Intervals of p in which `kumar_fixed_points` looks for a change of sign."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Contention of n saturated stations; each field has the parameters' shape."""

    collision_probability: FloatArray
    """p (γ in the paper), the probability that an attempt collides."""
    attempt_probability: FloatArray
    """G(p), the probability that a station transmits in a slot."""
    mean_backoff_slots: FloatArray
    """1/G(p), slots between two attempts of a station."""
    drop_probability: FloatArray
    """p^(K+1), the probability that all attempts of a packet collide."""


def kumar(
    n: Numbers,
    cw_min: Numbers = CW_MIN,
    cw_max: Numbers = CW_MAX,
    retries: Numbers | None = RETRIES,
    *,
    convention: str = "bianchi",
) -> Renewal:
    """Solve ``p = 1 - (1-G(p))^(n-1)``, ``G = Σ p^k / Σ b_k p^k``, k = 0..K, for 802.11's backoff.

    Parameters
    ----------
    n : number or array
        Saturated stations, at least 1, may be fractional.
    cw_min, cw_max : number or array
        The standard's CWmin and CWmax; ``w_k = min(2^k (cw_min+1), cw_max+1)``.
    retries : number or array, optional
        K; None: packets are never given up.
    convention : {"bianchi", "tay-chua", "http"}
        How slots are counted, the only difference between the published models:

        - "bianchi": ``b_k = (w_k+1)/2``, the slot of the transmission counts; this is `bianchi`.
        - "tay-chua": ``b_k = w_k/2``; without a retry limit this is `tay_chua`.
        - "http": ``b_k = (w_k-1)/2``, the mean draw alone, as in Eqs. (1), (2) of Miorandi, Kherani
          and Altman's HTTP model, who however leave out a factor 1/(1-p^(K+1)), which matters above
          p = 0.3.

    Returns
    -------
    Renewal
        Probabilities, of the parameters' shape.

    Raises
    ------
    ParameterError
        A parameter outside its range; cw_min must be such that every b_k is at least one slot: 0, 1
        and 2.

    Notes
    -----
    As the windows do not shrink, G does not increase in p and the solution is unique. Valid for
    saturated stations that all hear each other. A slot-by-slot simulation of two stations lies
    between "tay-chua" and "http" from a CWmin of 15 on; with smaller windows all three are too high
    where counters freeze, as `bianchi` says.

    Examples
    --------
    >>> [float(kumar(2, convention=c).collision_probability.round(4))
    ...  for c in ("bianchi", "tay-chua", "http")]
    [0.057, 0.0586, 0.0603]
    """
    extra_slots = EXTRA_SLOTS[choice("convention", convention, tuple(EXTRA_SLOTS))]
    low, high = windows(cw_min, cw_max, at_least=2.0 - extra_slots)
    stations, low, high, limit = broadcast(
        n=numbers("n", n, at_least=1), cw_min=low, cw_max=high, retries=retry_limit(retries)
    )
    rate = partial(attempt_probability, extra_slots=extra_slots)
    p = collision_probability(rate, stations, (low, high, limit))
    return _renewal(p, rate(p, low, high, limit), limit)


def kumar_backoffs(n: Numbers, backoffs_slots: Numbers) -> Renewal:
    """Solve the same fixed point for an explicit list of mean backoffs.

    backoffs_slots: b_0..b_K along the last axis, in slots, each at least 1 and none less than the one
    before; the axes before it broadcast against n. The number of retries is their count less one.

    With backoffs that never shrink the solution is unique (Theorem 5.1 of the paper). Others are
    refused, as p may then have several solutions: `kumar_fixed_points` lists them. Only the symmetric
    solution is unique; stations with very small b_0 can also settle in asymmetric solutions (V.
    Ramaiyan, A. Kumar, E. Altman, IEEE/ACM Trans. Networking 16, 2008).

    Raises ParameterError.

    >>> float(kumar_backoffs(10, [16.5, 32.5, 64.5, 128.5]).collision_probability.round(4))
    0.3047
    """
    b = _backoffs(backoffs_slots)
    if np.any(np.diff(b, axis=-1) < 0):
        raise ParameterError(
            "backoffs_slots",
            "backoffs_slots decrease along the stages, so there may be several solutions; sort them, "
            "or use kumar_fixed_points, which lists all",
        )
    stations, *stages = broadcast(n=numbers("n", n, at_least=1), **_stages(b))
    p = collision_probability(_ratio, stations, tuple(stages))
    return _renewal(p, _ratio(p, *stages), np.asarray(len(stages) - 1.0))


def kumar_fixed_points(n: float, backoffs_slots: Numbers) -> FloatArray:
    """Return every collision probability that solves the fixed point, in increasing order.

    n: one number of stations. backoffs_slots: one list b_0..b_K, each at least 1, in any order. There
    is at least one solution; two that lie within 1/16384 of each other may be missed.

    Raises ParameterError.

    >>> kumar_fixed_points(200, [1000.0] + [1.0] * 30).round(4)
    array([0.2271, 0.9401, 0.997 ])
    """
    stations = numbers("n", n, at_least=1)
    b = _backoffs(backoffs_slots)
    for name, array, axes in (("n", stations, 0), ("backoffs_slots", b, 1)):
        if array.ndim != axes:
            raise ParameterError(name, f"{name} has shape {array.shape}; give one case at a time")

    def surplus(p: FloatArray, sign: FloatArray) -> FloatArray:
        return sign * (p - hit(_ratio(p, *b), stations))

    grid = np.linspace(0.0, 1.0, _SCAN + 1)
    sign = np.where(surplus(grid, np.ones(1)) >= 0, 1.0, -1.0)
    # The sign turns a downward crossing into an upward crossing.
    at = np.flatnonzero(sign[:-1] != sign[1:])
    crossings = increasing_root(
        surplus, grid[at], grid[at + 1], (sign[at + 1],), what="collision probability"
    )
    return np.append(np.zeros(int(sign[0] > 0)), crossings)


def _backoffs(backoffs_slots: Numbers) -> FloatArray:
    b = numbers("backoffs_slots", backoffs_slots, at_least=1, at_most=_MOST_SLOTS)
    if b.ndim == 0 or b.shape[-1] == 0:
        raise ParameterError("backoffs_slots", "backoffs_slots needs a mean backoff for each stage")
    return b


def _stages(b: FloatArray) -> dict[str, FloatArray]:
    return {f"backoffs_slots[{k}]": b[..., k] for k in range(b.shape[-1])}


def _ratio(p: FloatArray, *stages: FloatArray) -> FloatArray:
    """Return Σ p^k / Σ b_k p^k, by Horner's rule; as b_k >= 1 it is at most 1."""
    attempts: FloatArray = np.ones_like(p)
    slots = stages[-1] * attempts
    for b in reversed(stages[:-1]):
        attempts = attempts * p + 1.0
        slots = slots * p + b
    return np.minimum(attempts / slots, 1.0)


def _renewal(p: FloatArray, rate: FloatArray, limit: FloatArray) -> Renewal:
    return Renewal(
        finished("p", p),
        finished("G", rate),
        finished("mean backoff", 1.0 / rate),
        finished("drop probability", drop_probability(p, limit)),
    )


def _evaluate(
    *,
    n: float,
    backoffs_slots: list[float] | None,
    cw_min: float,
    cw_max: float,
    retries: int | None,
    convention: str,
) -> dict[str, float]:
    if backoffs_slots is None:
        solved = kumar(n, cw_min, cw_max, retries, convention=convention)
    else:
        solved = kumar_backoffs(n, backoffs_slots)
    return {
        "collision_probability": float(solved.collision_probability),
        "attempt_probability": float(solved.attempt_probability),
        "mean_backoff_slots": float(solved.mean_backoff_slots),
        "drop_probability": float(solved.drop_probability),
    }


MODEL = Model(
    name="kumar",
    summary="Collision probability of n saturated stations with any backoff (Kumar et al. 2005).",
    parameters=(
        Parameter("n", "saturated stations, may be fractional"),
        Parameter(
            "backoffs_slots",
            "b_0,b_1,..., mean backoff of each stage; replaces all parameters below",
            None,
            Kind.NUMBERS,
        ),
        *WINDOW_PARAMETERS,
        Parameter(
            "retries", "K, retransmissions before giving up; none: never", RETRIES, Kind.WHOLE
        ),
        Parameter(
            "convention",
            "slots per backoff: (w+1)/2, w/2 or (w-1)/2",
            "bianchi",
            Kind.CHOICE,
            tuple(EXTRA_SLOTS),
        ),
    ),
    outputs=(
        Output("collision_probability", "p: an attempt collides"),
        Output("attempt_probability", "G: a station transmits in a slot"),
        Output("mean_backoff_slots", "1/G: slots per attempt of a station"),
        Output("drop_probability", "p^(K+1): a packet is given up"),
    ),
    evaluate=_evaluate,
    example="n=1..50 convention=http",
    valid=(
        "Saturated stations that all hear each other, lose frames by collision alone and behave "
        "alike; mean backoffs that never shrink from stage to stage, for which p is unique."
    ),
)
