"""CoDel's control law to the departure: between which departures each drop fell due.

CoDel (RFC 8289) drops at the head, and only when a packet leaves: a drop that falls due at an instant
of the law is made at the next departure. So each instant t_1 + I S_k of the law lies between the
departure at which a packet was dropped and the departure before, whatever took the air meanwhile.
Behind the queue a driver's ring and the air hold R packets, and a packet leaves the queue when the
frame has arrived that carries the packet R places before (`airqueue.measure.disciplines.ring`).

Test: one R, one count at the beginning, one I and one t_1 are searched with which all of a step's
first drops lie so. Drops at random do this with the chance that each has to come between two
departures and not elsewhere in its gap, times all that is searched. Evenly spaced drops must not.
What a step has told of R and I, other steps must agree with: there less is searched.

Target: from an interval before the first drop on all packets had waited for the target or longer, and
the packet before these had not, unless none was left behind that packet (RFC 8289, section 4.4).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from airqueue import _native
from airqueue.measure.disciplines.frames import Frames
from airqueue.measure.disciplines.observed import Bools, Floats, Ints, Step
from airqueue.measure.disciplines.ring import MOST_FRAMES

DROPS: Final = (6, 10, 14, 20, 28, 40, 60, 90, 130, 200)
"""How many of a step's first drops are compared with the law: fewer first, which rule most out."""
CHANCE: Final = 1e-7
"""Chance that drops at random follow the law of any ring, count and number of drops."""
AGAIN: Final = 1e-3
"""The same for another step of a device that follows the law: only how this one began is asked."""
UNTOLD: Final = 20
DIM: Final = 40
"""Drops after which a law is given up that drops at random follow as well, and after which one of all
that are searched: later gaps are smaller, and tell less."""
EDGE: Final = 0.5
"""Packet times by which an instant may lie outside, for the jitter of hosts."""
STRAIGHT: Final = 0.5
"""Gaps between departures, median, by which evenly spaced drops must lie outside on both sides."""
JITTERS: Final = 3.0
"""Multiples of the quiet path's jitter, beside a packet's time, by which waits may be wrong."""


@dataclass(frozen=True, slots=True)
class Between:
    """Instants, in seconds, between which each of K drops fell due, for N rings: shape (N, K).

    ``rows``: places of the drops, shape (K,). ``edge_s``: by how much an instant may lie outside.
    """

    low: Floats
    high: Floats
    rows: Ints
    edge_s: float

    @classmethod
    def of(cls, step: Step, rows: Ints) -> Between:
        """Return between which departures drops were made, for every ring that is tried.

        rows: places of the drops, of those that `traced` returns.
        """
        frames = Frames.any_of(step)
        ends, carried = frames.arrived_s, frames.carried
        held = np.arange(_longest_ring(frames) + 1)[:, np.newaxis]
        places = np.cumsum(~step.lost)[rows] - held
        frame = np.searchsorted(carried, places, side="right") - 1
        return cls(ends[frame - 1], ends[frame], rows, EDGE * step.packet_s)

    def after(self, passed: int) -> Between:
        """Return the drops that follow so many."""
        rows = self.rows[passed:]
        return replace(self, low=self.low[:, passed:], high=self.high[:, passed:], rows=rows)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a device: packets behind the queue and I in seconds, each with both ends."""

    held: tuple[int, int]
    interval_s: tuple[float, float]
    chance: float = AGAIN
    """Greatest chance that drops at random follow the law."""


ANY: Final = Known((0, sys.maxsize), (0.0, np.inf), CHANCE)
"""Nothing is known."""


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


@dataclass(frozen=True, slots=True)
class Followed:
    """Laws that some of a step's first drops follow, of N pairs of a ring and a shape.

    ``every``: between which departures all drops came; ``drops``: how many are compared. ``shapes``:
    of all laws. ``held``, ``law``: ring and shape. ``least``, ``most``: ends of I in seconds.
    ``chance``: of drops at random. Shape (N,).
    """

    every: Between
    drops: int
    shapes: Floats
    held: Ints
    law: Ints
    least: Floats
    most: Floats
    chance: Floats

    def some(self, which: Bools | Ints) -> Followed:
        """Return some of the pairs."""
        return replace(
            self,
            held=self.held[which],
            law=self.law[which],
            least=self.least[which],
            most=self.most[which],
            chance=self.chance[which],
        )

    @property
    def evenly(self) -> Bools:
        """Whether evenly spaced drops are in their places, too, or nearly; shape (N,)."""
        low, high = self.every.low, self.every.high
        straight = np.arange(self.drops, dtype=float)[np.newaxis]
        wide = high[self.held, : self.drops] - low[self.held, : self.drops]
        beside = STRAIGHT * np.median(wide, axis=1)
        pairs = self.held, np.zeros_like(self.held)
        between, drops = (low, high, straight), (0, self.drops)
        return np.less_equal(
            *_native.law_intervals(between, pairs, drops, beside, _any(len(beside)))
        )


def followed(every: Between, shapes: Floats, known: Known, unlikely: float) -> Iterator[Followed]:
    """Yield the laws that the first drops follow, for more and more of the drops.

    ``shapes``: as `fit` takes them. ``unlikely``: after `DIM` drops a law is given up that drops at
    random follow with a greater chance.

    The ends of I are exact: for each pair of drops the later one may not fall due too late, nor too
    soon, after the other.
    """
    rings = np.arange(max(0, known.held[0]), min(len(every.low), known.held[1] + 1))
    held, law = np.repeat(rings, len(shapes)), np.tile(np.arange(len(shapes)), len(rings))
    between, edge = (every.low, every.high, shapes), np.array([every.edge_s])
    least, most = _any(len(held))
    least, most = np.maximum(least, known.interval_s[0]), np.minimum(most, known.interval_s[1])
    for before, drops in pairwise((0, *DROPS)):
        if len(every.rows) < drops or not len(held):
            return
        ends = least, most
        least, most = _native.law_intervals(between, (held, law), (before, drops), edge, ends)
        seen = np.flatnonzero(least <= most)
        held, law, least, most = held[seen], law[seen], least[seen], most[seen]
        width = known.interval_s[1] - known.interval_s[0]
        chance = _native.law_chances(between, (held, law), drops, edge, (least + most) / 2, width)
        found = Followed(every, drops, shapes, held, law, least, most, chance)
        yield found
        likely = chance <= (unlikely if drops >= DIM else 1.0 if drops >= UNTOLD else np.inf)
        held, law, least, most = held[likely], law[likely], least[likely], most[likely]


def _any(number: int) -> tuple[Floats, Floats]:
    """Return the ends of so many intervals of which nothing is known."""
    return np.zeros(number), np.full(number, np.inf)


def fit(every: Between, shapes: Floats, *, known: Known = ANY, searches: int = 1) -> list[Fitted]:
    """Return the laws that the most of the first drops follow, none if chance might do as well.

    shapes: of each law the instants S_k from the first drop, in intervals, for as many drops as
    `DROPS` has at most; shape (laws, drops). searches: how many like this one are made.
    """
    rings = len(every.low[max(0, known.held[0]) : known.held[1] + 1])
    tried = rings * len(shapes) * len(DROPS) * searches
    found: Followed | None = None
    for seen in followed(every, shapes, known, 1 / max(1, tried)):
        telling = np.flatnonzero(tried * seen.chance <= known.chance)
        if not np.all(seen.some(telling).evenly):
            # Once one law is no chance, all that the drops follow may be the one.
            found = seen
    return [] if found is None else [_fitted(found, pair) for pair in range(len(found.held))]


def _fitted(found: Followed, pair: int) -> Fitted:
    """Put together a law that drops follow."""
    every, held, law = found.every, int(found.held[pair]), int(found.law[pair])
    low, high = (of[held, : found.drops] for of in (every.low, every.high))
    shape = found.shapes[law, : found.drops]
    interval_s = float(found.least[pair]), float(found.most[pair])
    interval = sum(interval_s) / 2
    late = high - interval * shape
    first = (float(late.min()) + float(np.max(low - interval * shape))) / 2
    miss = float(np.std(late))
    even = np.arange(len(shape))
    straight = float(np.std(high - np.polyval(np.polyfit(even, high, 1), even)))
    return Fitted(
        law,
        held,
        interval_s,
        first,
        int(every.rows[0]),
        len(shape),
        float(np.median(interval * np.diff(shape))),
        miss,
        straight / max(miss, 1e-9),
    )


def traced(step: Step, rows: Ints) -> tuple[Ints, int]:
    """Return the places of the drops that came between known departures, whatever ring is tried.

    And how many drops were before these: while the longest ring was filled no departures are known.
    """
    if not len(step.arrived_s):
        return rows[:0], 0
    frames = Frames.any_of(step)
    before = np.cumsum(~step.lost)[rows]
    early = int(np.count_nonzero(before - _longest_ring(frames) < frames.packets[0]))
    return rows[early:][before[early:] < frames.carried[-1]], early


def _longest_ring(frames: Frames) -> int:
    """Return how many packets a driver and the air may hold at most."""
    return round(MOST_FRAMES * float(np.median(frames.packets)))


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
