"""From the runs to what is said of the stations: pure functions of records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

import numpy as np

from airqueue import text
from airqueue.measure.records import Run
from airqueue.measure.stations import queues, shares
from airqueue.measure.stations.observed import is_saturated, rate_pps, wait_ratio
from airqueue.measure.stations.plans import (
    ALONE,
    SIZE_BYTES,
    SPARE_FLOW,
    TOGETHER,
    TWO_TO_ONE,
    flow_of,
)
from airqueue.measure.stations.survey import HeaderDict, counts, from_header


class EvidenceDict(TypedDict):
    """What one test saw."""

    name: str
    says: str
    value: float | None


class StationDict(TypedDict):
    """A station, and what the path to it carries alone, in IP bits per second; None: not
    measured."""

    name: str
    alone_bps: float | None


class PairDict(TypedDict):
    """What is said of two stations.

    ``airtime_shares``: of the first one, in each run that flooded both, of the time that packets of
    the two took: by their numbers and by how long one of either takes alone. ``packet_shares``: by
    numbers.
    """

    stations: list[str]
    queues: queues.Queues
    shares: shares.Rule
    packet_shares: list[float]
    airtime_shares: list[float]
    evidence: list[EvidenceDict]


class StationsDict(HeaderDict):
    """The result of a measurement of several stations."""

    format: Literal["airqueue-stations"]
    version: Literal[1]
    queues: queues.Queues
    shares: shares.Rule
    says: str
    stations: list[StationDict]
    pairs: list[PairDict]


Rates = Sequence[float | None]

QUEUES: Final[Mapping[queues.Queues, str]] = {
    "one_queue": "All stations wait in one queue",
    "by_flow": "Each flow has a queue of its own",
    "by_station": "Each station has a queue of its own",
    "apart": "Stations wait apart, in a queue for each flow or for each station",
    "undecided": "The records do not tell whether stations share a queue",
}
SHARES: Final[Mapping[shares.Rule, str]] = {
    "proportional": "shares are proportional to arrivals",
    "equal_packets": "shares are equal in packets",
    "equal_airtime": "shares are equal in airtime",
    "equal": "shares are equal (in packets or in airtime: these stations are about equally fast)",
    "undecided": "the rule of the shares is not known",
}


@dataclass(frozen=True, slots=True)
class _Records:
    """The runs of one measurement, by what they are for."""

    runs: Sequence[Run]

    def of(self, kind: str, *stations: int) -> list[Run]:
        """Return the whole runs of a kind that flood these stations."""
        return [
            r
            for r in self.runs
            if r.meta["kind"] == kind and r.meta["stations"] == list(stations) and counts(r)
        ]

    def alone_pps(self, station: int) -> float | None:
        """Return what the path to a station carries alone."""
        flow = flow_of(station)
        floods = [(run, rate_pps(run, flow)) for run in self.of(ALONE, station)]
        known = [rate for run, rate in floods if rate and is_saturated(run, flow, rate)]
        return float(np.median(known)) if known else None


def judge(runs: Sequence[Run], header: Mapping[str, Any]) -> StationsDict:
    """Judge the runs. ``header``: ``target``, ``stations`` (names, this machine's first), and
    others."""
    names: list[str] = list(header["stations"])
    records = _Records(runs)
    rates = [records.alone_pps(station) for station in range(len(names))]
    pairs = [_pair(records, names, rates, 0, other) for other in range(1, len(names))]
    flooded = [p for p in pairs if p["evidence"]]
    how, rule = _agreed([p["queues"] for p in flooded]), _agreed([p["shares"] for p in flooded])
    return {
        "format": "airqueue-stations",
        "version": 1,
        **from_header(header, runs),
        "queues": how,
        "shares": rule,
        "says": f"{QUEUES[how]}; {SHARES[rule]}.",
        "stations": [
            {"name": name, "alone_bps": None if rate is None else rate * 8 * SIZE_BYTES}
            for name, rate in zip(names, rates, strict=True)
        ],
        "pairs": flooded,
    }


def _agreed(answers: Sequence[Any]) -> Any:
    """Return what all pairs say alike; an answer that says more goes with one that says less."""
    told = set(answers)
    for vague, exact in (
        ("apart", ("by_flow", "by_station")),
        ("equal", ("equal_packets", "equal_airtime")),
    ):
        if vague in told and told & set(exact):
            told.discard(vague)
    return told.pop() if len(told) == 1 else "undecided"


def _pair(records: _Records, names: Sequence[str], rates: Rates, a: int, b: int) -> PairDict:
    """Judge two stations."""
    pair = _Pair(records, (names[a], names[b]), (a, b), (rates[a], rates[b]))
    found = pair.together()
    rule = shares.judge([(ratio, by) for ratio, by, _ in found])
    two, waits = pair.two_to_one(), pair.waits()
    how = queues.judge(rule, [f[0] for f in found], two[0], [ratio for ratio, _ in waits])
    return {
        "stations": [names[a], names[b]],
        "queues": how,
        "shares": rule,
        "packet_shares": [_share(ratio.log) for ratio, _, _ in found],
        "airtime_shares": [_share(ratio.log - by["equal_airtime"]) for ratio, by, _ in found],
        "evidence": [*(says for *_, says in found), *two[1], *(says for _, says in waits)],
    }


@dataclass(frozen=True, slots=True)
class _Pair:
    """What the runs say of two stations, each answer with its evidence."""

    records: _Records
    names: tuple[str, str]
    stations: tuple[int, int]
    rates: tuple[float | None, float | None]

    @property
    def flows(self) -> tuple[int, int]:
        """Flows of the floods to the two."""
        return flow_of(self.stations[0]), flow_of(self.stations[1])

    def together(self) -> list[tuple[shares.Ratio, dict[shares.Rule, float], EvidenceDict]]:
        """Return the ratios of what left for the two, and what the rules predict of them."""
        first, second = self.rates
        if not first or not second:
            return []
        found = []
        for run in self.records.of(TOGETHER, *self.stations):
            seen = shares.ratio(run, self.flows[:1], self.flows[1:])
            if seen is None:
                continue
            by = shares.predictions(run, self.flows, (first, second))
            more_to = self.names[self.stations.index(run.meta["more_to"])]
            says = (
                f"Of floods to {self.names[0]} and {self.names[1]}, more to {more_to}, the first "
                f"got {_share(seen.log):.0%} of the packets and "
                f"{_share(seen.log - by['equal_airtime']):.0%} of the airtime; of arrivals it had "
                f"{_share(by['proportional']):.0%}."
            )
            found.append((seen, by, _evidence("together", says, _share(seen.log))))
        return found

    def two_to_one(self) -> tuple[shares.Ratio | None, list[EvidenceDict]]:
        """Return the ratio where this machine has two flows."""
        for run in self.records.of(TWO_TO_ONE, *self.stations):
            seen = shares.ratio(run, [self.flows[0], SPARE_FLOW], self.flows[1:])
            if seen is not None:
                says = (
                    f"Of two floods to {self.names[0]} and one to {self.names[1]} the former got "
                    f"{_share(seen.log):.0%} of the packets."
                )
                return seen, [_evidence("two_to_one", says, _share(seen.log))]
        return None, []

    def waits(self) -> list[tuple[float, EvidenceDict]]:
        """Return how sparse packets to either wait beside a flood to the other, over the
        flood's."""
        found = []
        for flooded, other in ((0, 1), (1, 0)):
            rate = self.rates[flooded]
            if not rate:
                continue
            for run in self.records.of(ALONE, self.stations[flooded])[-1:]:
                waited = wait_ratio(run, self.flows[flooded], self.flows[other], 1 / rate)
                if waited is None:
                    continue
                ratio, flood_s = waited
                says = (
                    f"While packets of a flood to {self.names[flooded]} waited "
                    f"{text.seconds(flood_s)}, sparse ones to {self.names[other]} waited "
                    f"{max(0.0, ratio):.0%} of that."
                )
                found.append((ratio, _evidence("waits_across", says, ratio)))
        return found


def _evidence(name: str, says: str, value: float) -> EvidenceDict:
    return {"name": name, "says": says, "value": value}


def _share(log: float) -> float:
    """Return the share that belongs to the logarithm of a ratio."""
    return 1 / (1 + math.exp(-log))
