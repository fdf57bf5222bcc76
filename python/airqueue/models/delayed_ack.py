"""Number of TCP ACKs of a file: fixed d (RFC 1122, RFC 5681) and the dynamic scheme.

E. Altman, T. Jimenez, *Novel delayed ACK techniques for improving TCP performance in multihop
wireless networks* (2003): d grows with the segment's number from the start of the connection, so
that a small window at the start does not wait for the timer. HTTP paper, section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, called, finished, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.file_sizes import Survival, mean_segments_of, segment_tail
from airqueue.models.http_timing import (
    CAUTION,
    DOT11B,
    ONE_FRAME,
    TIMING_PARAMETERS,
    HttpTiming,
    timing_of,
)
from airqueue.models.web_session import HANDSHAKE_PARAMETER, TIMER_PARAMETER, handshake_s

_LARGEST = 100_000
_MOST_SEGMENTS = 1e12
_TAIL_TERMS = 1 << 17


@dataclass(frozen=True, slots=True)
class AckSchedule:
    """Schedule of a receiver's ACKs: one as soon as d(N) segments wait, N being the last segment.

    ``d(N) = first + (thresholds <= N)``, N from 1 at the start of the connection. Without
    thresholds d is fixed. Raises ParameterError unless the thresholds increase.

    >>> AckSchedule((2, 5, 9)).acknowledged_at(14)
    [1, 3, 6, 10, 14]
    """

    thresholds: tuple[int, ...] = ()
    """l_1, l_2, ...: the segment numbers from which d is one larger."""
    first: int = 1
    """d before the first threshold."""

    def __post_init__(self) -> None:
        first = number("first", self.first, at_least=1, at_most=_LARGEST, whole=True)
        limits = numbers("thresholds", self.thresholds, at_least=1, at_most=_LARGEST, whole=True)
        if limits.ndim != 1 or np.any(np.diff(limits) <= 0):
            raise ParameterError("thresholds", "thresholds must be a list of increasing numbers")
        object.__setattr__(self, "thresholds", tuple(int(limit) for limit in limits))
        object.__setattr__(self, "first", int(first))

    @property
    def last(self) -> int:
        """The largest d, which holds from the last threshold on."""
        return self.first + len(self.thresholds)

    def acknowledged_at(self, until: int) -> list[int]:
        """Return the numbers of the segments, up to ``until``, at which an ACK is sent."""
        acknowledged, waiting, d = [], 0, self.first
        rises = frozenset(self.thresholds)
        for segment in range(1, until + 1):
            d += segment in rises
            waiting += 1
            if waiting >= d:
                acknowledged.append(segment)
                waiting = 0
        return acknowledged


DYNAMIC = AckSchedule((2, 5, 9))
"""Altman and Jimenez: d = 1, 2, 3, 4 from segments 1, 2, 5, 9."""


@dataclass(frozen=True, slots=True)
class AckCount:
    """The ACKs of a file of N segments (or their means); each field has the shape of N."""

    segments: FloatArray
    """N"""
    batches: FloatArray
    """ACKs of complete batches."""
    by_timer: FloatArray
    """ACKs of an incomplete last batch, sent by the timer: 1 or 0."""

    @property
    def acks(self) -> FloatArray:
        """All ACKs."""
        return self.batches + self.by_timer


def ack_count(segments: Numbers, schedule: AckSchedule) -> AckCount:
    """Return the exact number of ACKs of a file, without loss or reordering.

    segments: N, whole, from 1. For fixed d it is ceil(N/d) ACKs, the last by timer unless d
    divides N. Assumes that the sender's window never holds back the segments a batch waits for
    (an initial window of d): otherwise the timer runs at the start, too. Raises ParameterError.

    >>> count = ack_count([1, 3, 12], DYNAMIC)
    >>> count.acks, count.by_timer
    (array([1., 2., 5.]), array([0., 0., 1.]))
    """
    total = numbers("segments", segments, at_least=1, at_most=_MOST_SEGMENTS, whole=True)
    head, period = _head(schedule), schedule.last
    beyond = np.maximum(total - head[-1], 0.0)
    batches = np.searchsorted(head, total, side="right") + beyond // period
    rest = np.where(beyond > 0, beyond % period != 0, ~np.isin(total, head))
    return AckCount(total[()], finished("ACKs", batches), finished("timer", rest * 1.0))


def mean_ack_count(
    survival: Survival, mean_bits: float, segment_bits: float, schedule: AckSchedule
) -> AckCount:
    """Return the means of `ack_count` over files of random size, P(X > x) = survival(x).

    Exact for the first 131072 segments; the tail beyond is taken as spread evenly over batches,
    with an error below the tail's probability. See `file_sizes.mean_segments_of` for the
    parameters and the errors raised.
    """
    mean = mean_segments_of(survival, mean_bits, segment_bits)
    tail = segment_tail(survival, segment_bits, _TAIL_TERMS + 1)
    head = _head(schedule)
    periodic = np.arange(head[-1] + schedule.last, _TAIL_TERMS + 1, schedule.last)
    at = np.concatenate([head, periodic])
    left = max(mean - float(tail[:_TAIL_TERMS].sum()), 0.0) / schedule.last
    batches = float(tail[at - 1].sum()) + left
    complete = float((tail[at - 1] - tail[at]).sum()) + float(tail[-1]) / schedule.last
    return AckCount(
        finished("E[N]", np.asarray(mean)),
        finished("ACKs", np.asarray(batches)),
        finished("timer", np.asarray(max(1.0 - complete, 0.0))),
    )


def delayed_ack_file_s(
    count: AckCount,
    timing: HttpTiming = DOT11B,
    *,
    timer_s: Numbers = 0.0,
    handshake: str = "corrected",
) -> FloatArray:
    """Return the time of a file of whole segments to one station, from the counted ACKs.

        T = T_setup + N (T_data + b) + A (T_ack + b) + timer (1 if the last batch is incomplete)

    A ACKs, b the first backoff. It is Eq. (14) with padding for d = 1. Valid if data and ACKs never
    contend: a window of just the batch being gathered. timer_s: τ_out of the receiver (40 ms in the
    paper; 100 ms in the dynamic scheme's own). Raises ParameterError.

    >>> count = ack_count(30, AckSchedule(first=2))
    >>> float(delayed_ack_file_s(count, timer_s=0.04).round(4))
    0.0883
    """
    timer = numbers("timer_s", timer_s, at_least=0, at_most=1e6)
    segments = np.asarray(count.segments)
    broadcast(segments=segments, timer_s=timer, timing=timing.ones)
    data = segments * (timing.data_exchange_s + timing.first_backoff_s)
    acks = count.acks * (timing.ack_exchange_s + timing.first_backoff_s)
    return finished("T", handshake_s(timing, handshake) + data + acks + count.by_timer * timer)


def _head(schedule: AckSchedule) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the segments acknowledged up to the first segment from which d no longer grows."""
    steady = schedule.thresholds[-1] if schedule.thresholds else 1
    # d waiting segments at most: an ACK comes within the d that follow.
    known = np.asarray(schedule.acknowledged_at(steady + schedule.last), dtype=np.int64)
    return known[: int(np.searchsorted(known, steady)) + 1]


def _evaluate(
    segments: int,
    d: int,
    thresholds: list[float] | None,
    timer_s: float,
    handshake: str,
    **phy: Any,
) -> dict[str, Figure]:
    with called({"first": "d"}):
        schedule = AckSchedule(tuple(thresholds or ()), d)  # type: ignore[arg-type]
    count = ack_count(segments, schedule)
    timing = timing_of(**phy)
    delay = delayed_ack_file_s(count, timing, timer_s=timer_s, handshake=handshake)
    return {
        "acks": float(count.acks),
        "by_timer": float(count.by_timer),
        "segments_per_ack": float(count.segments / count.acks),
        "delay_s": float(delay),
        "caution": timing.caution,
    }


MODEL = Model(
    name="delayed-ack",
    summary="TCP ACKs of a file and its time, with a fixed d or the dynamic scheme "
    "(Altman and Jimenez 2003; HTTP paper, section 4.3).",
    parameters=(
        Parameter("segments", "N, segments of the file", 30, Kind.WHOLE),
        Parameter("d", "segments per ACK, before the first threshold", 1, Kind.WHOLE),
        Parameter(
            "thresholds", "segments at which d grows by one; 2,5,9: dynamic", None, Kind.NUMBERS
        ),
        replace(TIMER_PARAMETER, default=0.04),
        HANDSHAKE_PARAMETER,
        *TIMING_PARAMETERS,
    ),
    outputs=(
        Output("acks", "TCP ACKs"),
        Output("by_timer", "of these, sent by the timer"),
        Output("segments_per_ack", "the mean d achieved"),
        Output("delay_s", "time of the file for one station, handshake included"),
        CAUTION,
    ),
    evaluate=_evaluate,
    example="thresholds=2,5,9 segments=1..40",
    valid="No loss and no reordering; an initial window of at least d; delay_s for one station "
    "whose window is the batch, so that data and ACKs never contend. " + ONE_FRAME,
)
