"""One TCP download with a maximum window of W* segments: HTTP paper, appendix, Eqs (18)-(20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, number, numbers
from airqueue.models.http_timing import (
    CAUTION,
    DOT11B,
    ONE_FRAME,
    TIMING_PARAMETERS,
    HttpTiming,
    timing_of,
)
from airqueue.models.tcp_capacity import FORM_PARAMETERS, contention_time

EQUATIONS = ("20", "19-corrected", "19-printed")
_MOST_STATES = 1_000_000


@dataclass(frozen=True, slots=True)
class TcpWindow:
    """A download limited by its window; each field has the parameters' shape."""

    contention_s: FloatArray
    """φ(W*), time of backoff and collisions per segment and its ACK."""
    throughput_bps: FloatArray
    """S, goodput."""


def window_distribution(window: int) -> FloatArray:
    """Return π of Eq. (18): the probability of a = 0 .. W* segments at the sender.

    The other W* - a (as ACKs) wait at the receiver. The chain is embedded at the successes on the
    air: inside, either side wins with probability 1/2; at an end only one side has a packet to send
    and wins. So π = 1/W* inside and 1/(2W*) at both ends.

    window: W*, a whole number from 1. Raises ParameterError.

    >>> window_distribution(4)
    array([0.125, 0.25 , 0.25 , 0.25 , 0.125])
    """
    size = int(number("window", window, at_least=1, at_most=_MOST_STATES, whole=True))
    distribution = np.full(size + 1, 1.0 / size)
    distribution[[0, -1]] /= 2.0
    return distribution


def tcp_window(
    window: Numbers,
    timing: HttpTiming = DOT11B,
    *,
    equation: str = "20",
    collision_cost: str = "printed",
    form: str = "corrected",
) -> TcpWindow:
    """Evaluate ``S = L/(T_ack + T_data + φ(W*))`` of Eq. (20) or the renewal form of Eq. (19).

        φ(W*) = [2 (W*-1)(T_tbo + T_W) + T_slot (CW_min-1)]/W*,  T_tbo and T_W at n_b = 2

    window: W* in segments, at least 1. At W* = 1 nothing contends: Eq. (9) for one connection. For
    large W* the two ends always contend: Eq. (7). S grows with W* only as long as contention costs
    less than a backoff alone, 2 (T_tbo + T_W) < T_slot (CW_min - 1), as it does for 802.11b.

    equation: "20"; "19-corrected", the same number from the chain of Eq. (18); "19-printed", where
    a bracket that the print closes too late multiplies the term of the state (W*, 0) by π_(0,W*)
    once more: to reproduce the print. (T_P, T_A and T_w there are T_TCP_data, T_TCP_ack and T_W.)
    collision_cost, form: see `tcp_capacity.contention_time`.

    Valid for one station, ACKs for every segment, no loss. Raises ParameterError, ConvergenceError.

    >>> tcp_window([1, 10, 1000]).throughput_bps.round(-2)
    array([2250400., 2358100., 2370600.])
    """
    size = numbers("window", window, at_least=1, at_most=1e12, whole=True)
    choice("equation", equation, EQUATIONS)
    cost = contention_time(2.0, timing, collision_cost=collision_cost, form=form).total_s
    alone = timing.first_backoff_s
    broadcast(window=size, timing=timing.ones)
    contention = (2.0 * (size - 1.0) * cost + 2.0 * alone) / size
    data, ack = timing.data_exchange_s, timing.ack_exchange_s
    if equation == "20":
        time = ack + data + contention
    else:
        # Eq. (19) per embedded step, half of which bring an ACK: hence the factor 2 at the end.
        inside, end = (size - 1.0) / size, 1.0 / (2.0 * size)
        last = end * (data + alone) * (end if equation == "19-printed" else 1.0)
        time = 2.0 * (inside * ((data + ack) / 2.0 + cost) + end * (ack + alone) + last)
    return TcpWindow(finished("φ", contention), finished("S", timing.tcp_bits / time))


def _evaluate(
    window: float, equation: str, collision_cost: str, form: str, **phy: Any
) -> dict[str, Figure]:
    timing = timing_of(**phy)
    solved = tcp_window(window, timing, equation=equation, collision_cost=collision_cost, form=form)
    return {
        "contention_s": float(solved.contention_s),
        "throughput_bps": float(solved.throughput_bps),
        "caution": timing.caution,
    }


MODEL = Model(
    name="tcp-window",
    summary="Goodput of one TCP download with a maximum window of W* segments "
    "(HTTP paper, Eqs 18-20).",
    parameters=(
        Parameter("window", "W*, segments", kind=Kind.WHOLE),
        Parameter("equation", "20, or 19 as corrected or printed", "20", Kind.CHOICE, EQUATIONS),
        *FORM_PARAMETERS,
        *TIMING_PARAMETERS,
    ),
    outputs=(
        Output("contention_s", "φ(W*): backoff and collisions per segment and its ACK"),
        Output("throughput_bps", "S: payload of TCP"),
        CAUTION,
    ),
    evaluate=_evaluate,
    example="window=1..20",
    valid="One station, an ACK for every segment, no loss; the chain takes each success for a "
    "renewal, which DCF is only nearly. " + ONE_FRAME,
)
