"""Time of a download of a file, TCP handshake included: HTTP paper, Eqs (13)-(15), (17).

Eq. (17) as printed lets sizes be any number of bits, so that a page of 100 bytes takes a tenth of a
packet's time, and takes C_1 from Eq. (12), where a single download contends with itself (n_b = 1.5).
Alone with a window of d segments it does not: Eq. (11) is exact, and 5 % less (`tcp_window` at
W* = 1, ns-2). ``form="corrected"`` has Eq. (11) for C_1, and whole segments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import (
    FORMS,
    FloatArray,
    Numbers,
    broadcast,
    called,
    choice,
    finished,
    numbers,
)
from airqueue.models.engset import SESSION_PARAMETERS, engset, size_bits
from airqueue.models.errors import ParameterError
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
    most_connections,
)

CURVES = ("collision", "collision-free")
_MOST_BITS = 1e18
_NEGLIGIBLE = 1e-6
"""Probability of more downloads at a time than the collision model has a capacity for."""


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


def work_bits(
    mean_bits: Numbers,
    segments: Numbers | None = None,
    d: Numbers = 1.0,
    timing: HttpTiming = DOT11B,
) -> FloatArray:
    """Return the bits that take as long as files of whole segments at the rate of one download alone.

    As in Eq. (14), a segment that is short by some bits saves these bits at R_data and nothing else:
    ``N L - (N L - X) C_1/R_data``, with C_1 of Eq. (11); not less than a round trip of one segment.
    mean_bits: E[X]. segments: E[N], from `file_sizes.mean_segments`; if not given, E[X]/L or 1, which
    is low by up to one segment. d: segments per TCP ACK. Raises ParameterError.

    >>> float(work_bits(800).round()), float(work_bits(240_000))
    (6527.0, 240000.0)
    """
    bits = numbers("mean_bits", mean_bits, above=0, at_most=_MOST_BITS)
    segment, rate = np.asarray(timing.tcp_bits), np.asarray(timing.data_rate_bps)
    if segments is None:
        count = np.maximum(bits / segment, 1.0)
    else:
        count = numbers("segments", segments, at_least=1, at_most=_MOST_BITS)
    alone = np.asarray(collision_free(1.0, d, timing).aggregate_bps)
    broadcast(mean_bits=bits, segments=count, d=alone, timing=timing.ones)
    work = count * segment - np.maximum(count * segment - bits, 0.0) * alone / rate
    one = (timing.round_trip_s - np.maximum(segment - bits, 0.0) / rate) * alone
    return finished("work", np.maximum(work, one))


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
    form: str = "printed",
    segments: Numbers | None = None,
) -> SessionDelay:
    """Return E[T_session] of Eq. (17): n-1 users who think, then download from the access point.

    n: nodes, access point included. think_s: mean think time. mean_bits: E[X]. d: segments per TCP
    ACK, with W* = d. timer_s: receiver's delayed-ACK timer, see `affine_delay_s`; it is added to the
    delay, not taken from the think time. curve: C_k by the "collision" model, `tcp_capacity`, or
    "collision-free". handshake: form of Eq. (13). collision_cost: form of Eq. (3). arrivals: form
    of λ̄, see `engset`. form: "printed", with which the paper's figures are made, or "corrected", with
    an exact C_1 and whole segments (the module's text); segments: their mean number, for "corrected",
    see `work_bits`.

    The collision model has no C_k beyond `tcp_capacity.most_connections`; where so many downloads at
    a time have a probability above 1e-6 the session is refused.

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

    exact = choice("form", form, FORMS) == "corrected"
    most = np.asarray(most_connections(per_ack, timing))
    collides = curve == "collision"

    def capacity(k: FloatArray) -> FloatArray:
        alone = collision_free(k, per_ack, timing).aggregate_bps
        if not collides:
            return alone
        # Beyond its end the curve is held, for states that must not occur.
        known = np.minimum(k, np.maximum(most, 1.0))
        found = collision(known, per_ack, timing, collision_cost=collision_cost).aggregate_bps
        return np.where(k == 1.0, alone, found) if exact else found

    # The queue gets all axes, including axes that only d or the timing have.
    think = think.reshape((1,) * (points.ndim - think.ndim) + think.shape)
    size = work_bits(mean_bits, segments, per_ack, timing) if exact else mean_bits
    with called({"mean_size_bits": "mean_bits"}):
        queue = engset(n, think, size, capacity, arrivals=arrivals)
    if collides:
        _assert_known(queue.probabilities, most)
    setup, wait = handshake_s(timing, handshake), timer_wait_s(per_ack, timer_s)
    busy = 1.0 - queue.probabilities[0]
    parts = (setup, queue.mean_delay_s, wait, queue.mean_active, queue.arrivals_per_s, busy)
    setup, transfer, wait, active, rate, busy = (
        finished("part", np.broadcast_to(part, points.shape)) for part in parts
    )
    total = finished("E[T]", setup + transfer + wait)
    return SessionDelay(total, setup, transfer, wait, active, rate, busy)


def _assert_known(probabilities: FloatArray, most: FloatArray) -> None:
    """Raise ParameterError if more downloads at a time than ``most`` are likely."""
    states = np.arange(len(probabilities)).reshape(-1, *(1,) * (probabilities.ndim - 1))
    beyond = np.sum(probabilities * (states > most), axis=0)
    if np.any(beyond > _NEGLIGIBLE):
        raise ParameterError(
            "n",
            f"n asks for more than {float(most.min()):g} downloads at a time, with a probability of "
            f"{float(np.max(beyond)):.2g}, and the collision model has no capacity for so many; use "
            "fewer users, longer think times or smaller sizes",
        )


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
    form: str = "corrected",
    **phy: Any,
) -> dict[str, Figure]:
    timing, bits = timing_of(**phy), size_bits(size_bytes)
    count = mean_segments(bits, timing.tcp_bits, distribution, shape)
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
        form=form,
        segments=count,
    )
    alone = mean_file_delay_s(
        bits, timing, distribution=distribution, shape=shape, handshake=handshake
    )
    # The collision-free curve has no collisions to count.
    note = timing.caution
    if curve == "collision":
        note = caution(timing, collision_cost, max(1.0, float(delay.mean_active)), d)
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
        "caution": note,
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
        Parameter("distribution", "of sizes", "exponential", Kind.CHOICE, DISTRIBUTIONS),
        Parameter("shape", "of Pareto sizes", PARETO_SHAPE),
        HANDSHAKE_PARAMETER,
        COST_PARAMETER,
        Parameter(
            "form", "whole segments and an exact C_1, or Eq. (17)", "corrected", Kind.CHOICE, FORMS
        ),
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
