"""CoDel's control law to the departure: between which departures each drop fell due.

CoDel (RFC 8289) drops at the head, and only when a packet leaves: a drop that falls due at an instant
of the law is made at the next departure. So each instant t_1 + I S_k of the law lies between the
departure at which a packet was dropped and the departure before, whatever took the air meanwhile.
Behind the queue a driver's ring and the air hold R packets, and a packet leaves the queue when the
frame has arrived that carries the packet R places before (`airqueue.measure.disciplines.ring`).

Test: one R, one count at the beginning, one I and one t_1 are searched with which all of a step's
first drops lie so. Drops at random do this with the chance that each has to come between two
departures and not elsewhere in its gap, times all that is searched. Evenly spaced drops must not.

Target: from an interval before the first drop on all packets had waited for the target or longer, and
the packet before these had not, unless none was left behind that packet (RFC 8289, section 4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.disciplines.frames import Frames
from airqueue.measure.disciplines.observed import Floats, Ints, Step
from airqueue.measure.disciplines.ring import MOST_FRAMES

DROPS: Final = (6, 10, 14, 20, 28, 40, 60, 90, 130, 200)
"""How many of a step's first drops are compared with the law: fewer first, which rule most out."""
CHANCE: Final = 1e-7
"""Chance that drops at random follow the law of any ring, count and number of drops."""
EDGE: Final = 0.5
"""Packet times by which an instant may lie outside, for the jitter of hosts."""
STRAIGHT: Final = 0.5
"""Gaps between departures, median, by which evenly spaced drops must lie outside on both sides."""
JITTERS: Final = 3.0
"""Multiples of the quiet path's jitter, beside a packet's time, by which waits may be wrong."""


@dataclass(frozen=True, slots=True)
class Between:
    """Instants, in seconds, between which each of K drops fell due, for N rings: shape (N, K).

    ``rows``: places of the drops, shape (K,).
    """

    low: Floats
    high: Floats
    rows: Ints

    def first(self, rings: Ints, drops: int) -> Between:
        """Return the first drops of some rings."""
        return Between(self.low[rings, :drops], self.high[rings, :drops], self.rows[:drops])

    def one(self, ring: np.int64) -> Between:
        """Return the drops of one ring."""
        return Between(self.low[[ring]], self.high[[ring]], self.rows)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A law that all drops follow: one of the shapes, with the ring and the ends of I in seconds."""

    shape: int
    held: int
    interval_s: tuple[float, float]
    first_s: float
    """Instant of the first drop."""
    first: int
    """Place of the first drop."""
    drops: int
    gap_s: float
    """Median of the gaps between drops."""
    miss_s: float
    """Root mean square of the times by which drops missed the law."""
    curved: float
    """Misses of evenly spaced drops as a multiple of those of the law."""


def fit(step: Step, rows: Ints, shapes: Sequence[Floats]) -> list[Fitted]:
    """Return the laws that the most of the first drops follow, none if chance might do as well.

    rows: places of the drops. shapes: of each law the instants S_k from the first drop, in
    intervals, for as many drops as `DROPS` has at most.
    """
    if len(rows) < DROPS[0] or not len(step.arrived_s):
        return []
    every = _between(step, rows)
    law_of, edge = np.array(shapes), EDGE * step.packet_s
    tried = len(every.low) * len(shapes) * len(DROPS)
    held = np.repeat(np.arange(len(every.low)), len(shapes))
    law = np.tile(np.arange(len(shapes)), len(every.low))
    found: list[Fitted] = []
    for drops in DROPS:
        if every.low.shape[1] < drops or not len(held):
            break
        least, most = _intervals(every.first(held, drops), law_of[law, :drops], np.array([edge]))
        follows = least <= most
        held, law = held[follows], law[follows]
        least, most = least[follows], most[follows]
        of, shape = every.first(held, drops), law_of[law, :drops]
        straight = np.arange(drops, dtype=float)[np.newaxis]
        beside = STRAIGHT * np.median(of.high - of.low, axis=1)
        evenly = np.less_equal(*_intervals(of, straight, beside))
        telling = ~evenly & (tried * _chance(of, (least + most) / 2, shape, edge) <= CHANCE)
        longer = [
            _fitted(
                of.one(k), int(held[k]), int(law[k]), (float(least[k]), float(most[k])), shape[k]
            )
            for k in np.flatnonzero(telling)
        ]
        found = longer or found
    return found


def _fitted(
    of: Between, held: int, law: int, interval_s: tuple[float, float], shape: Floats
) -> Fitted:
    """Put together a law that drops between these instants follow."""
    interval = sum(interval_s) / 2
    late = of.high[0] - interval * shape
    first = (float(late.min()) + float(np.max(of.low[0] - interval * shape))) / 2
    miss = float(np.std(late))
    even = np.arange(len(shape))
    straight = float(np.std(of.high[0] - np.polyval(np.polyfit(even, of.high[0], 1), even)))
    return Fitted(
        law,
        held,
        interval_s,
        first,
        int(of.rows[0]),
        len(shape),
        float(np.median(interval * np.diff(shape))),
        miss,
        straight / max(miss, 1e-9),
    )


def _between(step: Step, rows: Ints) -> Between:
    """Return between which departures drops were made, for every ring that is tried.

    Of drops before the ring's packets have come, none is known: they are left out for all rings.
    """
    frames = Frames.any_of(step)
    ends, carried = frames.arrived_s, frames.carried
    most = round(MOST_FRAMES * float(np.median(frames.packets)))
    before = np.cumsum(~step.lost)[rows]
    known = (before - most >= frames.packets[0]) & (before < carried[-1])
    places = before[known] - np.arange(most + 1)[:, np.newaxis]
    frame = np.searchsorted(carried, places, side="right") - 1
    return Between(ends[frame - 1], ends[frame], rows[known])


def _intervals(of: Between, shape: Floats, edge: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest I with which some t_1 puts all drops in their places.

    Exactly: for each pair of drops the later one may not fall due too late, nor too soon, after the
    other. No I does if the least is greater than the greatest. ``edge``: one for all, or for each.
    """
    least, most = np.zeros(len(of.low)), np.full(len(of.low), np.inf)
    for apart in range(1, shape.shape[1]):
        gap = shape[:, apart:] - shape[:, :-apart]
        room = 2 * edge[:, np.newaxis]
        soonest = (of.low[:, apart:] - of.high[:, :-apart] - room) / gap
        latest = (of.high[:, apart:] - of.low[:, :-apart] + room) / gap
        least = np.maximum(least, soonest.max(axis=1))
        most = np.minimum(most, latest.min(axis=1))
    return least, most


def stays(ratio: Floats) -> Floats:
    """Return how likely a place at random stays in a gap between departures for one more drop.

    ratio: that gap over the law's gap g between drops. A gap at random is even between 0 and 2 g, as
    RED draws it, so that places wander by up to g from drop to drop. The largest eigenvalue of this
    walk within its bounds: ratio / 2 up to 1, beyond that exp(-pi^2 / 6 (ratio + 0.6)^2). At most 8 %
    are too much.
    """
    few = np.where(ratio < 1, ratio / 2, 0.0)
    return np.asarray(np.maximum(few, np.exp(-(np.pi**2) / 6 / (ratio + 0.6) ** 2)))


def _chance(of: Between, interval: Floats, shape: Floats, edge: float) -> Floats:
    """Return the chance that drops at random are all in their places.

    I puts one of them there, and is one of as many as can be told apart.
    """
    gaps = np.maximum(interval[:, np.newaxis] * np.diff(shape, axis=1), 1e-12)
    wide = (of.high - of.low)[:, 1:] + 2 * edge
    told_apart = np.maximum(1.0, gaps.sum(axis=1) / wide.mean(axis=1))
    return np.asarray(told_apart * np.prod(np.sort(stays(wide / gaps), axis=1)[:, 1:], axis=1))


def target(
    step: Step, drop: int, interval_s: tuple[float, float]
) -> tuple[float, float, float] | None:
    """Return the target and its ends in seconds, from departures as the queue saw them.

    ``drop``: place of the first drop. ``interval_s``: the ends of I. None where no packet left an
    interval before the first drop.
    """
    came, left = step.came_s[~step.lost], step.left_s[~step.lost]
    waited = left - came
    following = int(np.count_nonzero(~step.lost[:drop]))
    # It fell due after the departure before, an interval after the first packet that had waited.
    earliest = left[np.searchsorted(left, left[following]) - 1] - interval_s[1]
    first, end = np.searchsorted(left, [earliest, left[following] - interval_s[0]], side="right")
    if first < 1 or first == end:
        return None
    high = float(waited[end - 1 : following].min())
    # The packet before the first that had waited for the target: it had not, or left nothing behind.
    before = np.arange(np.searchsorted(left, left[first - 1]), end - 1)
    behind = np.searchsorted(came, left[before], side="right") - 1 - before
    low = 0.0 if np.any(behind <= 1) else min(high, float(waited[before].min()))
    # The empty path's delay holds a wait for the air, by which departures seem to be too early.
    doubt = (1 + JITTERS * step.jitter_packets) * step.packet_s
    low, high = max(0.0, low - doubt), high + doubt
    return (low + high) / 2, low, high
