"""What the load adds to the round trips of each leg, with intervals.

Round trips under one load depend on each other, since they wait in the same queue: intervals come
from a bootstrap of whole blocks of time (Künsch 1989), the same blocks for all legs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airqueue import text
from airqueue.diagnose.records import Floats, Leg, Load, Records

BLOCK_S: Final = 0.5
"""Length of a block: longer than the queue of most access points needs to follow its load."""
RESAMPLES: Final = 1000
FEWEST: Final = 8
"""Answered probes that a median needs, with and without the load."""
_SEED: Final = 20110914
"""Of the resampling alone: the same records give the same intervals."""


@dataclass(frozen=True, slots=True)
class Span:
    """A value with its 95 % interval, in seconds."""

    value: float
    low: float
    high: float

    @property
    def spoken(self) -> str:
        """The value with its interval, in words."""
        low, high = text.seconds(self.low), text.seconds(self.high)
        return f"{text.seconds(self.value)} [{low}, {high}]"


@dataclass(frozen=True, slots=True)
class Trips:
    """Round trips of a leg in one part of the diagnosis, in seconds; None with too few answers."""

    sent: int
    answered: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    jitter_s: float | None
    """Mean difference of round trips that follow each other."""

    @property
    def per_minute(self) -> float | None:
        """Round trips of the median length that fit into a minute."""
        return None if not self.p50_s else 60.0 / self.p50_s

    @property
    def lost(self) -> float:
        """Share of the probes without an answer."""
        return 1 - self.answered / self.sent if self.sent else 0.0


def trips(parts: Sequence[Leg]) -> Trips:
    """Return the round trips of parts of one leg together."""
    sent = sum(len(part.sent_s) for part in parts)
    known = [part.round_trip_s[~np.isnan(part.round_trip_s)] for part in parts]
    values = np.concatenate(known) if known else np.zeros(0)
    if len(values) < FEWEST:
        return Trips(sent, len(values), None, None, None, None)
    p50, p95, p99 = (float(np.percentile(values, q)) for q in (50, 95, 99))
    steps = np.concatenate([np.abs(np.diff(each)) for each in known])
    return Trips(sent, len(values), p50, p95, p99, float(steps.mean()) if len(steps) else None)


def under(leg: Leg, load: Load) -> Trips:
    """Return the round trips under a load."""
    return trips([leg.between(load.began_s, load.ended_s)])


def without_load(records: Records, leg: Leg) -> Trips:
    """Return the round trips of the quiet parts."""
    return trips([leg.between(*each) for each in records.quiet])


def rises(records: Records, legs: Sequence[Leg], load: Load) -> list[Span] | None:
    """Return what the load adds to the median round trip of each leg, then the last less the first.

    The last value is the rise of the last leg minus that of the first: of what lies between their
    ends. None if a leg has fewer than `FEWEST` answers with the load, or without.
    """
    found = resampled(records, legs, load)
    if found is None:
        return None
    points, draws = found
    values = np.append(points, points[-1] - points[0])
    draws = np.column_stack([draws, draws[:, -1] - draws[:, 0]])
    return [span(value, column) for value, column in zip(values, draws.T, strict=True)]


def along(load: Load) -> Span | None:
    """Return what a load adds to the median delay of another flow's packets in its direction.

    None if there are no such packets, or fewer than `FEWEST` arrived with the load, or before.
    """
    way = load.one_way
    if way is None or not len(way.sent_s):
        return None
    leg = Leg(load.direction, "", "", way.sent_s, way.delay_s)
    before = _blocks(leg, float(way.sent_s[0]), way.opened_s)
    under_load = _blocks(leg, load.began_s, load.ended_s)
    if min(len(_all(before)), len(_all(under_load))) < FEWEST:
        return None
    draws = _resampled([(before, under_load)], _SEED)
    return span(_middle(under_load) - _middle(before), draws[:, 0])


def rise(records: Records, leg: Leg, load: Load) -> float | None:
    """Return what the load adds to the median round trip of a leg, in seconds.

    None if there are fewer than `FEWEST` answers with the load, or without.
    """
    idle, loaded = _split(records, leg, load)
    if min(len(_all(idle)), len(_all(loaded))) < FEWEST:
        return None
    return _middle(loaded) - _middle(idle)


def span(value: float, draws: Floats) -> Span:
    """Return a value with the interval of its resampled values."""
    low, high = np.percentile(draws, [2.5, 97.5])
    return Span(float(value), float(min(low, value)), float(max(high, value)))


def resampled(
    records: Records, legs: Sequence[Leg], load: Load, seed: int = _SEED
) -> tuple[Floats, Floats] | None:
    """Return the rises of the legs' medians, shape (legs,), and of resampled blocks, (n, legs).

    None if a leg has fewer than `FEWEST` answers with the load, or without.
    """
    measured = [_split(records, leg, load) for leg in legs]
    if any(len(_all(part)) < FEWEST for parts in measured for part in parts):
        return None
    points = np.array([_middle(loaded) - _middle(idle) for idle, loaded in measured])
    return points, _resampled(measured, seed)


Blocks = list[Floats]


def _split(records: Records, leg: Leg, load: Load) -> tuple[Blocks, Blocks]:
    """Return the answered round trips in blocks: without the load, and under it."""
    idle = [block for each in records.quiet for block in _blocks(leg, *each)]
    return idle, _blocks(leg, load.began_s, load.ended_s)


def _blocks(leg: Leg, began_s: float, ended_s: float) -> Blocks:
    """Return the answered round trips by block; a block may be empty."""
    part = leg.between(began_s, ended_s)
    known = ~np.isnan(part.round_trip_s)
    number = max(1, round((ended_s - began_s) / BLOCK_S))
    which = np.minimum(((part.sent_s - began_s) / BLOCK_S).astype(int), number - 1)
    return [part.round_trip_s[known & (which == block)] for block in range(number)]


def _all(blocks: Blocks) -> Floats:
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _middle(blocks: Blocks) -> float:
    return float(np.median(_all(blocks)))


def _resampled(measured: Sequence[tuple[Blocks, Blocks]], seed: int) -> Floats:
    """Return rises of resampled blocks, shape (at most `RESAMPLES`, legs)."""
    draw = np.random.default_rng(seed)
    drawn = [
        [draw.integers(len(part), size=len(part)) for part in measured[0]] for _ in range(RESAMPLES)
    ]
    of_idle, of_loaded = (np.array(chosen) for chosen in zip(*drawn, strict=True))
    found = [_medians(loaded, of_loaded) - _medians(idle, of_idle) for idle, loaded in measured]
    rows = np.column_stack(found)
    return rows[~np.isnan(rows).any(axis=1)]


def _medians(blocks: Blocks, chosen: npt.NDArray[np.int64]) -> Floats:
    """Return the medians of blocks, for each row of their numbers; NaN where none has an answer.

    All rows have the same values in one order, as often as their blocks were chosen.
    """
    rows, number = chosen.shape
    places = chosen + number * np.arange(rows)[:, np.newaxis]
    times = np.bincount(places.ravel(), minlength=rows * number).reshape(rows, number)
    values = _all(blocks)
    order = np.argsort(values)
    of_block = np.repeat(np.arange(number), [len(block) for block in blocks])[order]
    upto = np.cumsum(times[:, of_block], axis=1)
    answers = upto[:, -1]
    below, above = (
        values[order[np.minimum(np.sum(upto <= at[:, np.newaxis], axis=1), len(values) - 1)]]
        for at in ((answers - 1) // 2, answers // 2)
    )
    return np.where(answers > 0, (below + above) / 2, np.nan)
