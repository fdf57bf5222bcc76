"""Time of a download of a file, TCP handshake included: HTTP paper, Eqs (13)-(15), (17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FORMS, FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.engset import SESSION_PARAMETERS, engset, size_bits
from airqueue.models.file_sizes import DISTRIBUTIONS, PARETO_SHAPE, mean_segments
from airqueue.models.http_timing import (
    CAUTION,
    DOT11B,
    ONE_FRAME,
    TIMING_PARAMETERS,
    HttpTiming,
    timing_of,
)
from airqueue.models.tcp_capacity import (
    COST_PARAMETER,
    D_PARAMETER,
    MOST_PER_ACK,
    caution,
    collision,
    collision_free,
)

CURVES = ("collision", "collision-free")
_MOST_BITS = 1e18


@dataclass(frozen=True, slots=True)
class SessionDelay:
    """A session among n-1 users, Eq. (17); each field has the parameters' shape."""

    mean_s: FloatArray
    """E[T_session], the sum of the next three fields."""
    setup_s: FloatArray
    """E[T_setup], the handshake."""
    transfer_s: FloatArray
    """E[Y]/λ̄, in the shared queue."""
    timer_wait_s: FloatArray
    """Waiting for the delayed-ACK timer at the end."""
    mean_active: FloatArray
    """E[Y], transfers in progress."""
    sessions_per_s: FloatArray
    """λ̄ of all users."""
    busy: FloatArray
    """1 - π_0, fraction of time with a transfer in progress."""


def handshake_s(timing: HttpTiming = DOT11B, form: str = "corrected") -> FloatArray:
    """Return E[T_setup] of Eq. (13): SYN and SYN-ACK; the third packet rides on the data.

    ``form="corrected"``: each costs a TCP ACK's exchange and a backoff, RTS/CTS and MAC header
    included, 2.828 ms for 802.11b; the paper's 0.1095 s takes that. ``form="printed"`` has neither
    (although RTS/CTS is said to precede every packet), 1.678 ms. Raises ParameterError.

    >>> float((handshake_s() * 1e3).round(3)), float((handshake_s(form="printed") * 1e3).round(3))
    (2.828, 1.678)
    """
    if choice("form", form, FORMS) == "corrected":
        return finished("T_setup", 2.0 * (timing.ack_exchange_s + timing.first_backoff_s))
    return finished("T_setup", 2.0 * (timing.bare_exchange_s + timing.first_backoff_s))


def file_delay_s(
    size_bits: Numbers,
    timing: HttpTiming = DOT11B,
    *,
    padded: bool = False,
    handshake: str = "corrected",
) -> FloatArray:
    """Return Eq. (14): a file of X bits for one station with W* = 1, alone in the cell.

        T = T_setup + N RTT - (N L - X)/R_data,  N = ceil(X/L)

    The last term is the paper's ``(ceil - floor)(L - X mod L)/R_data``: the time by which the last
    segment is short. padded: leave it out, as ns-2 does, which fills the last segment.
    size_bits: X. handshake: form of Eq. (13), see `handshake_s`. No propagation delay, no loss.

    Raises ParameterError.

    >>> float(file_delay_s(240_000).round(5))
    0.10947
    """
    size = numbers("size_bits", size_bits, above=0, at_most=_MOST_BITS)
    segment = np.asarray(timing.tcp_bits)
    broadcast(size_bits=size, timing=timing.ones)
    return _delay_of(np.ceil(size / segment), size, timing, padded, handshake)


def mean_file_delay_s(
    mean_bits: Numbers,
    timing: HttpTiming = DOT11B,
    *,
    segments: Numbers | None = None,
    distribution: str = "exponential",
    shape: Numbers = PARETO_SHAPE,
    padded: bool = False,
    handshake: str = "corrected",
) -> FloatArray:
    """Return the exact mean of Eq. (14) over random sizes: Eq. (14) is linear in N and X.

    mean_bits: E[X]. distribution, shape: see `file_sizes.mean_segments`. segments: E[ceil(X/L)] of
    any other distribution instead, from `file_sizes.mean_segments_of`. The rest: `file_delay_s`.

    Raises ParameterError.

    >>> float(mean_file_delay_s(240_000, distribution="pareto").round(5))
    0.11092
    """
    mean = numbers("mean_bits", mean_bits, above=0, at_most=_MOST_BITS)
    if segments is None:
        count = mean_segments(mean, timing.tcp_bits, distribution, shape)
    else:
        count = numbers("segments", segments, at_least=1, at_most=_MOST_BITS)
    broadcast(mean_bits=mean, segments=np.asarray(count), timing=timing.ones)
    return _delay_of(count, mean, timing, padded, handshake)


def _delay_of(
    segments: FloatArray, bits: FloatArray, timing: HttpTiming, padded: bool, handshake: str
) -> FloatArray:
    missing = 0.0 if padded else (segments * timing.tcp_bits - bits) / timing.data_rate_bps
    total = handshake_s(timing, handshake) + segments * timing.round_trip_s - missing
    return finished("E[T_session]", total)


def affine_delay_s(
    mean_bits: Numbers,
    d: Numbers = 1.0,
    timing: HttpTiming = DOT11B,
    *,
    timer_s: Numbers = 0.0,
    handshake: str = "corrected",
) -> FloatArray:
    """Return Eq. (15), extended to delayed ACK: the mean delay of one station, affine in E[X].

        E[T] ≈ T_setup + (E[X]/L) [T_data + T_ack/d + ((d+1)/d) T_slot (CW_min-1)/2]
               + timer (d-1)/d

    d: segments per TCP ACK; with W* = d nothing contends, whence the bracket of Eq. (11). timer_s:
    the receiver's delayed-ACK timer τ_out, waited for when the last batch is incomplete: with
    probability (d-1)/d if sizes are spread evenly. d = 1 is Eq. (15). The result is below the mean of
    Eq. (14) by about half a round trip, since files may be fractions of a segment. mean_bits: E[X].

    Raises ParameterError.

    >>> float(affine_delay_s(240_000).round(5))
    0.10947
    """
    mean = numbers("mean_bits", mean_bits, above=0, at_most=_MOST_BITS)
    alone = collision_free(1.0, d, timing).aggregate_bps
    wait = timer_wait_s(d, timer_s)
    broadcast(mean_bits=mean, d=np.asarray(alone), timer_s=np.asarray(wait))
    return finished("E[T]", handshake_s(timing, handshake) + mean / alone + wait)


def timer_wait_s(d: Numbers, timer_s: Numbers) -> FloatArray:
    """Return the mean wait for the receiver's timer, ``timer (d-1)/d``; raises ParameterError."""
    per_ack = numbers("d", d, at_least=1, at_most=MOST_PER_ACK)
    timer = numbers("timer_s", timer_s, at_least=0, at_most=1e6)
    per_ack, timer = broadcast(d=per_ack, timer_s=timer)
    return finished("timer", timer * (per_ack - 1.0) / per_ack)


def session_delay(
    n: Numbers,
    think_s: Numbers = 10.0,
    mean_bits: Numbers = 240_000.0,
    d: Numbers = 1.0,
    timing: HttpTiming = DOT11B,
    *,
    curve: str = "collision",
    timer_s: Numbers = 0.0,
    handshake: str = "corrected",
    collision_cost: str = "printed",
    arrivals: str = "corrected",
) -> SessionDelay:
    """Return E[T_session] of Eq. (17): n-1 users who think, then download from the access point.

    n: nodes, access point included. think_s: mean think time. mean_bits: E[X]. d: segments per TCP
    ACK, with W* = d. timer_s: receiver's delayed-ACK timer, see `affine_delay_s`; it is added to the
    delay, not taken from the think time. curve: C_k by the "collision" model, `tcp_capacity`, or
    "collision-free". handshake: form of Eq. (13). collision_cost: form of Eq. (3). arrivals: form
    of λ̄, see `engset`.

    Insensitive to the distributions of size and think time as far as active users share evenly
    (`engset`): W* = d, or a fair queue at the access point. Large windows over one FIFO are worse
    for heavy tails. No losses. Memory: about 50 bytes per element and user.

    Raises ParameterError, ConvergenceError.

    >>> session_delay([2, 11, 51]).mean_s.round(4)
    array([0.1054, 0.1153, 0.1985])
    """
    per_ack = numbers("d", d, at_least=1, at_most=MOST_PER_ACK)
    choice("curve", curve, CURVES)
    think = numbers("think_s", think_s)
    points = broadcast(
        n=numbers("n", n),
        think_s=think,
        mean_bits=numbers("mean_bits", mean_bits),
        d=per_ack,
        timer_s=numbers("timer_s", timer_s),
        timing=timing.ones,
    )[0]

    def capacity(k: FloatArray) -> FloatArray:
        if curve == "collision-free":
            return collision_free(k, per_ack, timing).aggregate_bps
        return collision(k, per_ack, timing, collision_cost=collision_cost).aggregate_bps

    # The queue gets all axes, including axes that only d or the timing have.
    think = think.reshape((1,) * (points.ndim - think.ndim) + think.shape)
    queue = engset(n, think, mean_bits, capacity, arrivals=arrivals)
    setup, wait = handshake_s(timing, handshake), timer_wait_s(per_ack, timer_s)
    busy = 1.0 - queue.probabilities[0]
    parts = (setup, queue.mean_delay_s, wait, queue.mean_active, queue.arrivals_per_s, busy)
    setup, transfer, wait, active, rate, busy = (
        finished("part", np.broadcast_to(part, points.shape)) for part in parts
    )
    total = finished("E[T]", setup + transfer + wait)
    return SessionDelay(total, setup, transfer, wait, active, rate, busy)


def _evaluate(
    *,
    n: int,
    think_s: float,
    size_bytes: float,
    d: float,
    timer_s: float,
    curve: str,
    distribution: str,
    shape: float,
    handshake: str,
    collision_cost: str,
    **phy: Any,
) -> dict[str, Figure]:
    timing, bits = timing_of(**phy), size_bits(size_bytes)
    delay = session_delay(
        n,
        think_s,
        bits,
        d,
        timing,
        curve=curve,
        timer_s=timer_s,
        handshake=handshake,
        collision_cost=collision_cost,
    )
    alone = mean_file_delay_s(
        bits, timing, distribution=distribution, shape=shape, handshake=handshake
    )
    # The collision-free curve has no collisions to count.
    cost = collision_cost if curve == "collision" else "corrected"
    return {
        "mean_s": float(delay.mean_s),
        "setup_s": float(delay.setup_s),
        "transfer_s": float(delay.transfer_s),
        "timer_wait_s": float(delay.timer_wait_s),
        "mean_active": float(delay.mean_active),
        "sessions_per_s": float(delay.sessions_per_s),
        "busy": float(delay.busy),
        "affine_s": float(affine_delay_s(bits, d, timing, timer_s=timer_s, handshake=handshake)),
        "alone_s": float(alone),
        "caution": caution(timing, cost, float(delay.mean_active)),
    }


TIMER_PARAMETER = Parameter("timer_s", "delayed-ACK timer of the receiver", 0.0, Kind.DURATION)
HANDSHAKE_PARAMETER = Parameter("handshake", "form of Eq. (13)", "corrected", Kind.CHOICE, FORMS)

MODEL = Model(
    name="web-session",
    summary="Mean time of a download among n-1 users who think between downloads "
    "(HTTP paper, Eqs 13-17).",
    parameters=(
        *SESSION_PARAMETERS,
        D_PARAMETER,
        TIMER_PARAMETER,
        Parameter("curve", "capacity of k downloads", "collision", Kind.CHOICE, CURVES),
        Parameter(
            "distribution", "of sizes, for alone_s", "exponential", Kind.CHOICE, DISTRIBUTIONS
        ),
        Parameter("shape", "of Pareto sizes", PARETO_SHAPE),
        HANDSHAKE_PARAMETER,
        COST_PARAMETER,
        *TIMING_PARAMETERS,
    ),
    outputs=(
        Output("mean_s", "E[T_session], Eq. (17)"),
        Output("setup_s", "handshake, Eq. (13)"),
        Output("transfer_s", "E[Y]/λ̄"),
        Output("timer_wait_s", "wait for the delayed-ACK timer"),
        Output("mean_active", "E[Y]: downloads in progress"),
        Output("sessions_per_s", "λ̄ of all users"),
        Output("busy", "fraction of time with a download in progress"),
        Output("affine_s", "one station alone, affine, Eq. (15)"),
        Output("alone_s", "one station alone, exact mean of Eq. (14), an ACK per segment"),
        CAUTION,
    ),
    evaluate=_evaluate,
    example="n=2..51",
    valid="Small windows (W* = d) or a fair queue, so that users share evenly; no loss; the "
    "server next to the access point. Large windows over one FIFO are slower for heavy- "
    "tailed sizes. " + ONE_FRAME,
)
