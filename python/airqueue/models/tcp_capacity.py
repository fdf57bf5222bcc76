"""Throughput of long TCP downloads: HTTP paper, Eqs (3)-(12), with delayed ACK.

Two bounds for n_c downloads from one access point: the collision model (all contend) and the
collision-free model (data and ACKs alternate as if a token went round).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FORMS, FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.errors import ConvergenceError
from airqueue.models.http_contention import contention, most_backlogged
from airqueue.models.http_timing import (
    CAUTION,
    DOT11B,
    ONE_FRAME,
    TIMING_PARAMETERS,
    HttpTiming,
    timing_of,
)

COSTS = ("printed", "corrected")
MANY = 5.0
"""Number of connections above which the printed cost of a collision matters."""
MANY_DROPS = 0.1
"""Share of packets given up from which on the contention model is out of its range."""
MOST_CONNECTIONS = 1e6
MOST_PER_ACK = 1e6
_PRINTED_SLOT_S = 1e-6
"""Slot of 1 µs: the print omits T_slot, so numbers of slots stand among times in µs."""


@dataclass(frozen=True, slots=True)
class ContentionTime:
    """Time that contention adds to a packet, Eqs (4), (5); each field has the parameters' shape."""

    backoff_s: FloatArray
    """T_tbo: idle slots before a success, shared by the n_b stations that count down together."""
    collisions_s: FloatArray
    """T_W: time lost in collisions."""
    collision_probability: FloatArray
    """P_C"""

    @property
    def total_s(self) -> FloatArray:
        """T_tbo + T_W."""
        return self.backoff_s + self.collisions_s


@dataclass(frozen=True, slots=True)
class TcpThroughput:
    """Goodput of n_c downloads: payload of TCP only; each field has the parameters' shape."""

    per_connection_bps: FloatArray
    """S_TCP(n_c, d)"""
    aggregate_bps: FloatArray
    """n_c S_TCP(n_c, d), the C_k of the queueing model"""


def contention_time(
    n_b: Numbers,
    timing: HttpTiming = DOT11B,
    *,
    collision_cost: str = "printed",
    form: str = "corrected",
) -> ContentionTime:
    """Return T_tbo and T_W of Eqs (3)-(5) for n_b backlogged stations (0 or more, fractional too).

    T_coll = T_DIFS + T_b T_slot + H + L_RTS/R_control + T_SIFS, T_W = T_coll P/(1-P),
    T_tbo = T_b T_slot / (n_b (1-P)).

    collision_cost: "printed" is Eq. (3), which counts the backoff of a collision although T_tbo
    holds it already, and Eq. (4), which charges a collision to each of its participants. The
    published figures need it: without it the two bounds do not cross. "corrected" drops T_b from
    T_coll and counts each collision once: (slots with two or more attempts)/(slots with one)
    collisions per packet. For n_b = 2 that halves T_W; T_tbo + T_W is then 187.6 µs, where a
    slot-by-slot simulation has 186.3 µs and the printed form 219.8 µs.

    form: "printed" omits T_slot in Eqs (3) and (5) as the paper does, so that slots stand among
    times in µs: to reproduce the print, wrong as a result.

    Valid while few packets are dropped (P_C^m << 1). Without RTS/CTS a collision is taken to last
    as long as a data frame. Raises ParameterError, ConvergenceError.

    >>> cost = contention_time(2)
    >>> float((cost.backoff_s * 1e6).round(2)), float((cost.collisions_s * 1e6).round(2))
    (176.6, 43.21)
    """
    choice("collision_cost", collision_cost, COSTS)
    slot = np.asarray(timing.slot_s) if _is_corrected(form) else np.asarray(_PRINTED_SLOT_S)
    stations = np.maximum(numbers("n_b", n_b, at_least=0), 1.0)
    broadcast(n_b=stations, timing=timing.ones)
    solved = contention(stations, timing.cw_min, timing.cw_max, timing.attempts)
    p, backoff = np.asarray(solved.collision_probability), np.asarray(solved.mean_backoff_slots)
    wasted = np.asarray(timing.collision_s)
    if collision_cost == "printed":
        wasted, per_success = wasted + backoff * slot, p / (1.0 - p)
    else:
        per_success = _collisions_per_success(stations, p, 1.0 / backoff)
    return ContentionTime(
        finished("T_tbo", backoff * slot / (stations * (1.0 - p))),
        finished("T_W", wasted * per_success),
        solved.collision_probability,
    )


def _collisions_per_success(n_b: FloatArray, p: FloatArray, attempt: FloatArray) -> FloatArray:
    """Return P(two or more attempt)/P(one attempts) in a slot, with P from Eq. (2)."""
    one = n_b * attempt * (1.0 - p)
    any_at_all = -np.expm1(n_b * np.log1p(-attempt))
    ratio: FloatArray = np.maximum(any_at_all - one, 0.0) / one
    return ratio


def single_station_bps(
    d: Numbers = 1.0,
    timing: HttpTiming = DOT11B,
    *,
    collision_cost: str = "printed",
    form: str = "corrected",
) -> FloatArray:
    """Return S_TCP(1, d) of Eqs (7), (8): one download, W* >> d, both ends backlogged (n_b = 2).

        S = L_TCP / [T_data + (T_ack + 2 T_tbo + 2 T_W)/d + ((d-1)/d) T_slot (CW_min-1)/2]

    d: segments per TCP ACK, at least 1. ``form="printed"`` leaves T_slot out of the last term and
    of Eqs (3) and (5), as the paper does; see `contention_time`, also for collision_cost.

    Raises ParameterError, ConvergenceError.

    >>> single_station_bps([1, 2]).round(-2)
    array([2370700., 2900800.])
    """
    per_ack = _per_ack(d)
    cost = contention_time(2.0, timing, collision_cost=collision_cost, form=form)
    broadcast(d=per_ack, timing=timing.ones)
    alone = timing.first_backoff_s
    if not _is_corrected(form):
        alone = np.asarray(timing.cw_min) / 2.0 * _PRINTED_SLOT_S
    contended = (timing.ack_exchange_s + 2.0 * cost.total_s) / per_ack
    time = timing.data_exchange_s + contended + (per_ack - 1.0) / per_ack * alone
    return finished("S", timing.tcp_bits / time)


def collision_free(n_c: Numbers, d: Numbers = 1.0, timing: HttpTiming = DOT11B) -> TcpThroughput:
    """Return S^nc(n_c, d) of Eqs (9), (11): n_c downloads that never contend.

        S = L_TCP / { n_c [T_data + T_ack/d + ((d+1)/d) T_slot (CW_min-1)/2] }

    n_c: connections, at least 1; d: segments per TCP ACK, at least 1 (the window is d). Exact for
    one connection with a window of d segments; for many, the paper's guess if losses slow TCP
    down. Raises ParameterError.

    >>> float(collision_free(10).aggregate_bps.round(-2))
    2250400.0
    """
    connections, per_ack = _connections(n_c), _per_ack(d)
    broadcast(n_c=connections, d=per_ack, timing=timing.ones)
    return _shared(connections, per_ack, timing, timing.first_backoff_s)


def collision(
    n_c: Numbers,
    d: Numbers = 1.0,
    timing: HttpTiming = DOT11B,
    *,
    collision_cost: str = "printed",
    form: str = "corrected",
) -> TcpThroughput:
    """Return S^coll(n_c, d) of Eqs (10), (12): n_c downloads with windows of d segments.

        S = L_TCP / { n_c [T_data + T_ack/d + ((d+1)/d)(T_tbo + T_W)] },  n_b = 1 + n_c/(2d)

    The access point is always backlogged, each station half the time (per ACK of d segments). For
    n_c = 1 that is n_b = 1.5 (W* = 1) where `single_station_bps` has 2 (W* >> 1). In Eq. (12) the
    print has T_ibo, a symbol that does not exist, for T_tbo. n_c, d as in `collision_free`;
    collision_cost and form as in `contention_time`.

    Valid for few connections: T_b grows with n_b, and no packet may be lost. Where a tenth of the
    packets would be given up (P_C^m; 250 connections with windows of 31 to 1023, 150 with 15 to 1023)
    it gives 3 to 8 % too little against `airqueue.models.kumar` with the same collisions, and at
    `most_connections` 20 to 35 %. Raises ParameterError, ConvergenceError beyond `most_connections`.

    >>> float(collision(10).aggregate_bps.round(-2))
    2264600.0
    """
    connections, per_ack = _connections(n_c), _per_ack(d)
    broadcast(n_c=connections, d=per_ack, timing=timing.ones)
    most = np.asarray(most_connections(per_ack, timing))
    if np.any(connections > most):
        raise ConvergenceError(
            f"the contention model has no solution for {float(connections.max()):g} connections, "
            f"only up to {float(most.min()):g} with these windows; use fewer, or the collision-free "
            "model"
        )
    n_b = 1.0 + connections / (2.0 * per_ack)
    cost = contention_time(n_b, timing, collision_cost=collision_cost, form=form)
    return _shared(connections, per_ack, timing, cost.total_s)


def most_connections(d: Numbers = 1.0, timing: HttpTiming = DOT11B) -> FloatArray:
    """Return the n_c up to which `collision` has a solution: whole, 0 if there is none.

    From `http_contention.most_backlogged`; d as in `collision`. Raises ParameterError.

    >>> most_connections([1, 2]).tolist()
    [427.0, 854.0]
    """
    most = np.asarray(most_backlogged(timing.cw_min, timing.cw_max, timing.attempts))
    # Rounding must not ask for more than there is.
    return finished("n_c", np.floor(2.0 * _per_ack(d) * (most - 1.0) * (1.0 - 1e-12)))


def _shared(
    n_c: FloatArray, d: FloatArray, timing: HttpTiming, contention_s: FloatArray
) -> TcpThroughput:
    time = timing.data_exchange_s + timing.ack_exchange_s / d + (d + 1.0) / d * contention_s
    aggregate = np.asarray(timing.tcp_bits / time) * np.ones_like(n_c)
    return TcpThroughput(finished("S", aggregate / n_c), finished("n_c S", aggregate))


def _connections(n_c: Numbers) -> FloatArray:
    return numbers("n_c", n_c, at_least=1, at_most=MOST_CONNECTIONS)


def _per_ack(d: Numbers) -> FloatArray:
    return numbers("d", d, at_least=1, at_most=MOST_PER_ACK)


def _is_corrected(form: str) -> bool:
    return choice("form", form, FORMS) == "corrected"


def caution(
    timing: HttpTiming, collision_cost: str, connections: float, d: float = 1.0
) -> str | None:
    """Return a caveat on a result of `collision` for this number of connections; None: no caveat.

    >>> caution(DOT11B, "corrected", 40) is None
    True
    """
    notes = [timing.caution] if timing.caution else []
    if collision_cost == "printed" and connections > MANY:
        notes.append(
            "Eq. (3) as printed gives too little with many connections: 7 % at ten and 29 % at "
            "forty, against ns-2; collision_cost=corrected stays within 4 %"
        )
    drops = contention(
        1.0 + connections / (2.0 * d), timing.cw_min, timing.cw_max, timing.attempts
    ).drop_probability
    if drops >= MANY_DROPS:
        notes.append(
            f"with so many connections {float(drops):.0%} of the packets would be given up, and the "
            "model takes none for lost: its capacity is too low by 3 to 8 % where a tenth is given "
            "up, and by 20 to 35 % where it ends"
        )
    return "; ".join(notes) or None


def _evaluate(
    n_c: float, d: float, collision_cost: str, form: str, **phy: Any
) -> dict[str, Figure]:
    timing = timing_of(**phy)
    contended = collision(n_c, d, timing, collision_cost=collision_cost, form=form)
    token = collision_free(n_c, d, timing)
    both = single_station_bps([1.0, d], timing, collision_cost=collision_cost, form=form)
    return {
        "collision_bps": float(contended.aggregate_bps),
        "collision_free_bps": float(token.aggregate_bps),
        "per_connection_bps": float(contended.per_connection_bps),
        "single_station_bps": float(both[1]),
        "delayed_ack_gain": float(both[1] / both[0] - 1.0),
        "caution": caution(timing, collision_cost, n_c, d),
    }


D_PARAMETER = Parameter("d", "segments per TCP ACK", 1.0)
COST_PARAMETER = Parameter(
    "collision_cost", "Eq. (3) as printed or counted once", "printed", Kind.CHOICE, COSTS
)
FORM_PARAMETERS = (
    COST_PARAMETER,
    Parameter(
        "form", "printed: without T_slot, to reproduce errors", "corrected", Kind.CHOICE, FORMS
    ),
)

MODEL = Model(
    name="tcp-capacity",
    summary="Goodput of long TCP downloads in one cell, with delayed ACK (HTTP paper, Eqs 3-12).",
    parameters=(
        Parameter("n_c", "connections"),
        D_PARAMETER,
        *FORM_PARAMETERS,
        *TIMING_PARAMETERS,
    ),
    outputs=(
        Output("collision_bps", "all connections, collision model, Eqs (10), (12)"),
        Output("collision_free_bps", "all connections, collision-free model, Eqs (9), (11)"),
        Output("per_connection_bps", "one connection, collision model"),
        Output("single_station_bps", "one connection with a large window, Eqs (7), (8)"),
        Output("delayed_ack_gain", "S(1, d)/S(1, 1) - 1"),
        CAUTION,
    ),
    evaluate=_evaluate,
    example="n_c=1..40",
    valid="Long downloads without loss, all from one access point; the collision model for a few "
    "connections, the collision-free one as a bound. Eq. (3) overstates the cost of a "
    "collision by about a fifth; collision_cost=corrected counts each collision once. " + ONE_FRAME,
)
