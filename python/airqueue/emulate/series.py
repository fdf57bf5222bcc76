"""Figures of an emulation over time, in bounded memory.

The engine counts from the beginning. The counters of moments are kept, and the figures of the time
between two of them are exact, whichever moments between them are forgotten: when there are too many
moments, every second one is, and intervals become twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from airqueue import _native

if TYPE_CHECKING:
    from airqueue.records import LiveDict

EVERY_S: Final = 0.5
"""Interval at the beginning, with few real nodes."""
MOST_INTERVALS: Final = 240
_FEW_PAIRS: Final = 64
"""Counters of more pairs than this take long to read and much memory: intervals are longer."""
_LEAST_INTERVALS: Final = 30
MOST_NAMES: Final = 10
"""Stations with the most air time, and queues with the most packets, of which there are series."""


class Series:
    """The counters of a network in the course of time; ``pairs``: how many pairs it counts."""

    def __init__(self, pairs: int) -> None:
        many = max(1, math.ceil(pairs / _FEW_PAIRS))
        self.every_s = EVERY_S * many
        """How often counters are to be added."""
        self._most = max(_LEAST_INTERVALS, MOST_INTERVALS // many)
        self._moments: list[_native.Moment] = []
        self._elapsed_s: list[float] = []
        self._last: _native.Moment | None = None

    def add(self, moment: _native.Moment) -> None:
        """Add the counters of a moment, unless they follow too soon after others."""
        now_s = moment.elapsed_s
        # The moments come from a clock that is late now and then.
        if self._elapsed_s and now_s < self._elapsed_s[-1] + 0.9 * self.every_s:
            return
        self._moments.append(moment)
        self._elapsed_s.append(now_s)
        if len(self._moments) > self._most:
            del self._moments[1::2], self._elapsed_s[1::2]
            self.every_s *= 2

    def end(self, moment: _native.Moment) -> None:
        """Set the counters of the end."""
        self._last = moment

    def document(self) -> dict[str, Any] | None:
        """Return the figures of each interval as JSON has them; None without an interval.

        ``time_s`` has the ends of intervals, after ``begin_s``, since real time began. Where nothing
        was delivered a delay is None.
        """
        moments = list(self._moments)
        begin = moments[0] if moments else None
        if self._last is not None:
            end_s = self._last.elapsed_s
            last_s = moments[-1].elapsed_s if moments else end_s
            # A last interval of a few packets would have no rate worth the name.
            if len(moments) > 1 and end_s - last_s < 0.5 * self.every_s:
                moments.pop()
            moments.append(self._last)
        if begin is None or len(moments) < 2:
            return None
        between = [now.since(before) for before, now in pairwise(moments)]
        return {
            "begin_s": begin.elapsed_s,
            "time_s": [each["elapsed_s"] for each in between],
            "late_p99_s": [each["late_p99_s"] for each in between],
            "pairs": _pairs(between),
            "stations": _stations(between),
            "queues": _queues(between),
        }


def _pairs(between: list[LiveDict]) -> dict[str, Any]:
    found = {}
    for name in between[0]["pairs"]:
        of = [each["pairs"][name] for each in between]
        if any(each["offered_packets"] or each["delivered_packets"] for each in of):
            found[name] = {
                "delivered_bps": [each["delivered_bps"] for each in of],
                "delay_p50_s": [each["delay_p50_s"] for each in of],
                "delay_p95_s": [each["delay_p95_s"] for each in of],
                "lost_packets": [each["dropped_packets"] + each["given_up_packets"] for each in of],
            }
    return found


def _stations(between: list[LiveDict]) -> dict[str, Any]:
    of = {
        name: [each["stations"][name]["airtime_ratio"] or 0.0 for each in between]
        for name in between[0]["stations"]
    }
    return {name: {"airtime_ratio": values} for name, values in _largest(of).items()}


def _queues(between: list[LiveDict]) -> dict[str, Any]:
    of = {
        name: [each["queues"][name]["packets"] for each in between] for name in between[0]["queues"]
    }
    return {name: {"packets": values} for name, values in _largest(of).items()}


def _largest(of: Mapping[str, list[Any]]) -> Mapping[str, list[Any]]:
    """Return those with the largest sums, without zeros, in their order."""
    sums = {name: sum(values) for name, values in of.items() if any(values)}
    kept = sorted(sums, key=lambda name: -sums[name])[:MOST_NAMES]
    return {name: values for name, values in of.items() if name in kept}
