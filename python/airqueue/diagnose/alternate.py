"""A setting switched on and off in turn: what the setting changes, whatever else changes meanwhile.

Two diagnoses one after the other differ by the setting and by everything else that has changed on
the path. So pairs of diagnoses are made, one without and one with the setting, close to each other,
and the order within the pairs alternates (without, with, with, without, ...): a steady drift adds
to one pair what it takes from the next. The statistic is the mean of the pairs' differences, the
interval Student's over pairs: a drift that does not cancel makes pairs differ, and the interval
longer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from airqueue import text
from airqueue.diagnose import records as recorded
from airqueue.diagnose.again import load_key
from airqueue.diagnose.felt import Span, rise
from airqueue.diagnose.records import Load, Records
from airqueue.diagnose.words import load_words
from airqueue.stats import t_interval

State = Literal["without", "with"]
WITHOUT: Final[State] = "without"
WITH: Final[State] = "with"
PAIRS: Final = 6
"""Student's factor of six pairs is 2.6; of four it is 3.2, of two 12.7."""
FEWEST_PAIRS: Final = 2
"""Of which an interval can be given."""
MOST_PAIRS: Final = 50


@dataclass(frozen=True, slots=True)
class Half:
    """A diagnosis in one state of the setting."""

    state: State
    records: Records


def order(pairs: int) -> list[State]:
    """Return the states of so many pairs, one after the other."""
    found: list[State] = []
    for pair in range(pairs):
        found += [WITHOUT, WITH] if pair % 2 == 0 else [WITH, WITHOUT]
    return found


@dataclass(frozen=True, slots=True)
class Paired:
    """What the setting changes under one load.

    ``rises_s``: what the load adds to the median round trip in each pair, without and with the
    setting. ``change``: mean of the differences, with less without. ``carried``: the same of the
    load's rate in bits per second; None if the rate is not known in every pair.
    """

    load: Load
    rises_s: tuple[tuple[float, float], ...]
    change: Span
    rates_bps: tuple[float, float] | None
    carried: Span | None

    @property
    def word(self) -> str:
        """better, worse or undecided, by the interval."""
        if self.change.high < 0:
            return "better"
        return "worse" if self.change.low > 0 else "undecided"

    @property
    def says(self) -> str:
        """The change as a sentence."""
        without, with_it = (
            text.seconds(math.fsum(column) / len(column))
            for column in zip(*self.rises_s, strict=True)
        )
        verdict = {
            "better": "better",
            "worse": "worse",
            "undecided": "whether the setting matters cannot be told",
        }[self.word]
        return (
            f"During {load_words(self.load)} round trips grow by {with_it} with the setting, by "
            f"{without} without, in {len(self.rises_s)} pairs in turn: {verdict}, a change of "
            f"{self.change.spoken}.{self._rates}"
        )

    @property
    def _rates(self) -> str:
        if self.rates_bps is None or self.carried is None:
            return ""
        without, with_it = (_mbps(rate) for rate in self.rates_bps)
        low, high = _mbps(self.carried.low), _mbps(self.carried.high)
        return (
            f" The load carries {with_it} Mb/s with the setting and {without} Mb/s without, a "
            f"change of {_mbps(self.carried.value)} Mb/s [{low}, {high}]."
        )


def _mbps(bps: float) -> str:
    return f"{bps * 1e-6:.3g}"


def paired(halves: Sequence[Half]) -> list[Paired]:
    """Compare the states over all whole pairs: a pure function, one answer for each load.

    A load that is not known in both halves of a pair counts without this pair. No answer for loads
    with fewer than `FEWEST_PAIRS` pairs.
    """
    pairs = [_by_state(halves[n : n + 2]) for n in range(0, len(halves) - 1, 2)]
    keys = dict.fromkeys(load_key(load) for each in halves for load in each.records.loads)
    found = []
    for key in keys:
        known = [both for pair in pairs if (both := _both(pair, key)) is not None]
        if len(known) >= FEWEST_PAIRS:
            found.append(_compared(known))
    return found


_Felt = tuple[Load, float]
"""A load, and what the load adds to the median round trip to its end, in seconds."""


def _by_state(pair: Sequence[Half]) -> Mapping[State, Records]:
    return {half.state: half.records for half in pair}


def _both(pair: Mapping[State, Records], key: tuple[str, str, str]) -> tuple[_Felt, _Felt] | None:
    without, with_it = (_felt(pair.get(state), key) for state in (WITHOUT, WITH))
    return None if without is None or with_it is None else (without, with_it)


def _felt(records: Records | None, key: tuple[str, str, str]) -> _Felt | None:
    if records is None:
        return None
    load = next((each for each in records.loads if load_key(each) == key), None)
    leg = None if load is None else records.leg(load.site)
    if load is None or leg is None:
        return None
    value = rise(records, leg, load)
    return None if value is None else (load, value)


def _compared(known: Sequence[tuple[_Felt, _Felt]]) -> Paired:
    rises = tuple((without[1], with_it[1]) for without, with_it in known)
    rates = [
        (without[0].carried_bps, with_it[0].carried_bps)
        for without, with_it in known
        if without[0].carried_bps is not None and with_it[0].carried_bps is not None
    ]
    means = carried = None
    if len(rates) == len(known):
        first, second = (math.fsum(each or 0.0 for each in way) for way in zip(*rates, strict=True))
        means = first / len(rates), second / len(rates)
        carried = _change([(one or 0.0, two or 0.0) for one, two in rates])
    return Paired(known[-1][1][0], rises, _change(rises), means, carried)


def _change(pairs: Sequence[tuple[float, float]]) -> Span:
    """Return the mean difference with Student's interval; two pairs or more."""
    interval = t_interval([with_it - without for without, with_it in pairs])
    assert interval is not None
    return Span(interval.mean, interval.low, interval.high)


@dataclass(frozen=True, slots=True)
class Alternated:
    """All halves in the order in which they were measured, and the state that was left."""

    halves: tuple[Half, ...]
    left: State

    @property
    def records(self) -> Records:
        """The last diagnosis in the state that was left; the last one of all if there is none."""
        same = [half.records for half in self.halves if half.state == self.left]
        return same[-1] if same else self.halves[-1].records

    @property
    def says(self) -> list[str]:
        """What the setting changes, in sentences; too few pairs are one sentence, too."""
        found = [each.says for each in paired(self.halves)]
        return found or [
            f"What the setting changes is not known: no load was felt in {FEWEST_PAIRS} whole pairs."
        ]

    def to_json(self) -> dict[str, Any]:
        """Return what a document has of the comparison."""
        return {
            "left": self.left,
            "changes": [_to_json(each) for each in paired(self.halves)],
            "halves": [
                {"state": half.state, "records": recorded.to_json(half.records)}
                for half in self.halves
            ],
        }


def _to_json(found: Paired) -> dict[str, Any]:
    return {
        "site": found.load.site,
        "direction": found.load.direction,
        "load": found.load.kind,
        "word": found.word,
        "says": found.says,
        "rises_s": [list(each) for each in found.rises_s],
        "change_s": asdict(found.change),
        "change_bps": None if found.carried is None else asdict(found.carried),
    }


def from_json(document: Mapping[str, Any]) -> Alternated | None:
    """Return the comparison of a document that the schema accepts, or None."""
    kept = document.get("alternated")
    if kept is None:
        return None
    halves = [Half(each["state"], recorded.from_json(each["records"])) for each in kept["halves"]]
    return Alternated(tuple(halves), kept["left"])
