"""Time of a web page for one of n users, with its causes: the session model in parts.

HTTP paper, Eq. (17), for users instead of nodes, and with the round trips to a distant server, which
the paper leaves out ("propagation delay neglected"). Waiting for a server does not use the cell: it
lengthens the pause between two downloads, an infinite server like the think time, so the queue's
solution stays exact with the pause ``think + round trips``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, called, finished, numbers
from airqueue.models.engset import SIZE_BYTES, THINK_S, size_bits
from airqueue.models.http_timing import (
    CAUTION,
    DOT11B,
    ONE_FRAME,
    TIMING_PARAMETERS,
    HttpTiming,
    timing_of,
)
from airqueue.models.tcp_capacity import COST_PARAMETER, D_PARAMETER, caution, collision_free
from airqueue.models.web_session import TIMER_PARAMETER, session_delay, work_bits

ROUND_TRIPS = 2.0
"""TCP handshake, then request and first byte."""
FEW_SEGMENTS = 10.0
"""Segments of a page below which half a segment more or less shows."""


@dataclass(frozen=True, slots=True)
class PageTime:
    """Mean time of a page and its parts; each field has the parameters' shape."""

    mean_s: FloatArray
    """Sum of the next four fields."""
    distance_s: FloatArray
    """Round trips to the server."""
    protocol_s: FloatArray
    """Handshake on the air and the delayed-ACK timer."""
    transfer_s: FloatArray
    """The page's own transfer in a cell without others, at least that of one packet."""
    sharing_s: FloatArray
    """Time added by the other users. Can be slightly negative: the stations' backoffs overlap, so a
    cell carries more with two or three downloads than with one, by 5 % for 802.11b."""
    busy: FloatArray
    """Fraction of time in which someone downloads."""
    active_users: FloatArray
    """Mean number of users who download."""


def page_time(
    users: Numbers,
    page_bytes: Numbers = 30_000.0,
    think_s: Numbers = 10.0,
    d: Numbers = 1.0,
    timing: HttpTiming = DOT11B,
    *,
    rtt_s: Numbers = 0.0,
    round_trips: Numbers = ROUND_TRIPS,
    timer_s: Numbers = 0.0,
    collision_cost: str = "corrected",
) -> PageTime:
    """Return the mean time from the click to the last byte, with n - 1 = users in Eq. (17).

    users: people who browse in the cell, from 1. page_bytes: mean size of a page, all its objects
    over one connection. think_s: mean time from the end of a page to the next click. d, timer_s:
    delayed ACK. rtt_s: round trip between access point and server; round_trips: number before
    the first data (2: TCP handshake, request; TLS 1.3 adds one). They pass outside the cell, so they
    lengthen the user's pause, not the queue. Slow start is not included: with a large ``rtt_s`` and
    pages of more than the initial window add its rounds to round_trips. Bytes count, not whole
    segments, except that a page is at least one packet: pages of a few segments take up to one
    packet's time more (`airqueue.models.web_session` has whole segments, by the distribution).

    collision_cost: "corrected" by default, unlike in the other models of the paper: as printed, Eq.
    (3) lets the capacity fall by a quarter from one download to forty; in ns-2 it does not fall, and
    the corrected form stays within 4 % of it (docs/validation.md).

    Valid for downloads that share evenly (small windows or a fair queue), one connection per user,
    without loss, where the cell is slower than the path to the server: ``page_bytes`` arriving at
    less than the cell's share is not modelled. Raises ParameterError, ConvergenceError.

    >>> page = page_time(10)
    >>> float(page.mean_s.round(4)), float(page.transfer_s.round(4)), float(page.sharing_s.round(4))
    (0.1189, 0.1066, 0.0094)
    """
    people = numbers("users", users, at_least=1, at_most=99_999, whole=True)
    bits = 8.0 * numbers("page_bytes", page_bytes, above=0, at_most=1e17)
    think = numbers("think_s", think_s, above=0, at_most=1e12)
    trip = numbers("rtt_s", rtt_s, at_least=0, at_most=1e6)
    trips = numbers("round_trips", round_trips, at_least=0, at_most=1e4)
    think, trip, trips = broadcast(think_s=think, rtt_s=trip, round_trips=trips)
    distance = trip * trips
    with called({"n": "users", "mean_bits": "page_bytes"}):
        session = session_delay(
            people + 1.0,
            think + distance,
            bits,
            d,
            timing,
            timer_s=timer_s,
            collision_cost=collision_cost,
            form="corrected",
        )
    alone = work_bits(bits, None, d, timing) / collision_free(1.0, d, timing).aggregate_bps
    shape = np.shape(session.mean_s)
    protocol = session.setup_s + session.timer_wait_s
    distance, protocol, alone = (
        finished("part", np.broadcast_to(part, shape)) for part in (distance, protocol, alone)
    )
    return PageTime(
        finished("page", session.mean_s + distance),
        distance,
        protocol,
        alone,
        finished("sharing", np.where(people == 1, 0.0, session.transfer_s - alone)),
        session.busy,
        session.mean_active,
    )


def reason(page: PageTime, *, timer: bool = True) -> str:
    """Return a sentence on the largest part of the time of one page (scalar fields).

    timer: whether the times contain a wait for the timer of delayed acknowledgements.

    >>> reason(page_time(10))
    '90% of the page time is the transfer itself: smaller pages or a higher rate would help most'
    """
    parts = (
        (page.distance_s, "the path to the server: fewer round trips or a nearer server"),
        (
            page.protocol_s,
            "handshake and delayed-ACK timer: a shorter timer"
            if timer
            else "the handshake on the air: larger pages over fewer connections",
        ),
        (page.transfer_s, "the transfer itself: smaller pages or a higher rate"),
        (page.sharing_s, "sharing with others: fewer users or a higher rate"),
    )
    part, words = max(parts, key=lambda entry: float(entry[0]))
    return f"{float(part / page.mean_s):.0%} of the page time is {words} would help most"


def _evaluate(
    *,
    users: int,
    page_bytes: float,
    think_s: float,
    d: float,
    rtt_s: float,
    round_trips: float,
    timer_s: float,
    collision_cost: str,
    **phy: Any,
) -> dict[str, Figure]:
    timing = timing_of(**phy)
    size_bits(page_bytes, "page_bytes")
    page = page_time(
        users,
        page_bytes,
        think_s,
        d,
        timing,
        rtt_s=rtt_s,
        round_trips=round_trips,
        timer_s=timer_s,
        collision_cost=collision_cost,
    )
    figures: dict[str, Figure] = {
        field.name: float(getattr(page, field.name)) for field in fields(page)
    }
    notes = [caution(timing, collision_cost, max(1.0, float(page.active_users)), d)]
    segment_s = float(timing.round_trip_s)
    if 8.0 * page_bytes < FEW_SEGMENTS * float(np.asarray(timing.tcp_bits)):
        notes.append(
            "pages count by the byte, at least one packet; whole segments take up to "
            f"{1e3 * segment_s:.2g} ms more"
        )
    return figures | {
        "reason": reason(page, timer=timer_s > 0 and d > 1),
        "caution": "; ".join(note for note in notes if note) or None,
    }


MODEL = Model(
    name="page-time",
    summary="Mean time of a web page for one of n users, its parts and the largest part "
    "(HTTP paper, Eq. 17).",
    parameters=(
        Parameter("users", "people who browse in the cell", kind=Kind.WHOLE),
        Parameter("page_bytes", "mean size of a page", SIZE_BYTES, Kind.SIZE),
        Parameter("think_s", "mean time between page and next click", THINK_S, Kind.DURATION),
        D_PARAMETER,
        Parameter("rtt_s", "round trip from access point to server", 0.0, Kind.DURATION),
        Parameter("round_trips", "round trips before the page flows", ROUND_TRIPS),
        TIMER_PARAMETER,
        replace(COST_PARAMETER, default="corrected"),
        *TIMING_PARAMETERS,
    ),
    outputs=(
        Output("mean_s", "from click to last byte"),
        Output("distance_s", "part for round trips to the server"),
        Output("protocol_s", "part for handshake on the air and delayed-ACK timer"),
        Output("transfer_s", "part for the transfer as if alone"),
        Output("sharing_s", "part added by the other users"),
        Output("busy", "fraction of time in which someone downloads"),
        Output("active_users", "mean number who download"),
        Output("reason", "the largest part, and how to shorten it"),
        CAUTION,
    ),
    evaluate=_evaluate,
    example="users=1..50",
    valid="One connection per user, even sharing, no loss; neither slow start over a long path nor "
    "a path slower than the cell is modelled. " + ONE_FRAME,
)
