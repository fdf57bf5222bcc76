"""From the runs to what is said of the stations: pure functions of records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypedDict

import numpy as np

from airqueue import text
from airqueue.measure.records import Run
from airqueue.measure.stations.survey import HeaderDict, counts, from_header
from airqueue.uploads import elsewhere, ratios, txop
from airqueue.uploads.accesses import Accesses, accesses
from airqueue.uploads.plans import CATEGORY, EQUAL, RATE, SIZE_BYTES, flow_of, uploads_of
from airqueue.uploads.settings import (
    CATEGORIES,
    NAMES,
    AccessDict,
    Category,
    Prediction,
    Settings,
    expected,
    from_dict,
    to_dict,
)

WAITED: Final = 3.0
"""Packet times that a station's packets must wait, or it did not always have some to send: its host
may be slow, or lose them before the air."""
CARRIED: Final = 0.95
"""A station that gets more than this of what it is offered may get all that it wants."""


class StationDict(TypedDict):
    """A station, and what its path carries alone in best effort, in IP bits per second."""

    name: str
    alone_bps: float | None


class EqualDict(TypedDict):
    """Uploads of all stations in best effort; shares in the order of the stations."""

    fairness: ratios.Fairness
    jain: float
    jain_low: float
    jain_high: float
    packet_shares: list[float]
    access_shares: list[float]
    packets_per_access: list[float]


class PairDict(TypedDict):
    """Two stations, of which one is in the category and the other in best effort, and the reverse.

    ``ratio``: accesses of the station in the category for each of the one in best effort, with its
    99 % interval; ``predicted``: the same by the settings. None: not known, and why in ``reason``.
    """

    stations: list[str]
    obedience: ratios.Obedience
    ratio: float | None
    low: float | None
    high: float | None
    predicted: float | None
    no_difference: bool
    reason: str


class BurstsDict(TypedDict):
    """Packets in an access of a station in the category; see `airqueue.uploads.txop`."""

    station: str
    limit: txop.Limit
    packets: int | None
    allowed: int | None
    step_s: float | None


class CategoryDict(TypedDict):
    """What is said of a category beside best effort."""

    category: Category
    obedience: ratios.Obedience
    pairs: list[PairDict]
    bursts: list[BurstsDict]


class UploadsDict(HeaderDict):
    """The result of a measurement of uploads."""

    format: Literal["airqueue-uploads"]
    version: Literal[1]
    settings: dict[Category, AccessDict]
    obedience: ratios.Obedience
    says: str
    stations: list[StationDict]
    equal: EqualDict | None
    categories: list[CategoryDict]


OBEDIENCE: Final[Mapping[ratios.Obedience, str]] = {
    "obeyed": "Stations obey the AIFS and windows of the settings",
    "not_obeyed": "Stations do not obey the AIFS and windows of the settings",
    "undecided": "The records do not tell whether stations obey the AIFS and windows of the settings",
}
FAIRNESS: Final[Mapping[ratios.Fairness, str]] = {
    "equal": "in one category they win the medium equally often",
    "unequal": "in one category they do not win the medium equally often",
    "undecided": "it is not known whether they win the medium equally often in one category",
}
UNSATURATED: Final = "a station did not have packets waiting all the time"
COARSE: Final = "accesses hold several packets whose times do not tell accesses apart"
FEW: Final = "a station had too few accesses"
MISSING_RUN: Final = "a run is missing"
STARVED: Final = "the settings leave one of the categories next to nothing"


@dataclass(frozen=True, slots=True)
class _Found:
    """A run that may be judged, or why it may not."""

    accesses: Accesses | None
    reason: str = ""


@dataclass(frozen=True)
class _Records:
    """The whole runs of a measurement."""

    runs: Sequence[Run]
    stations: int

    @cached_property
    def alone_pps(self) -> list[float | None]:
        """What the path of each station carried in the last upload of the station alone."""
        found: list[float | None] = [None] * self.stations
        for run in self.runs:
            station = uploads_of(run.meta)[0].station
            if run.meta["kind"] == RATE and station < self.stations:
                found[station] = carried_pps(run) or None
        return found

    def of(self, kind: str, **about: object) -> list[Run]:
        """Return the runs of a kind with uploads of all stations."""
        return [
            r
            for r in self.runs
            if r.meta["kind"] == kind
            and len(r.meta["uploads"]) == self.stations
            and all(r.meta[key] == value for key, value in about.items())
        ]

    @cached_property
    def behind_a_line(self) -> bool:
        """Whether a line, and not the air, seems to be the limit of all stations."""
        together = [(run, accesses(run)) for run in (*self.of(EQUAL), *self.of(CATEGORY))]
        known = [(run, found) for run, found in together if found is not None]
        return elsewhere.is_line(known, self.alone_pps)

    def found(self, kind: str, **about: object) -> _Found:
        """Return the accesses of the last run of a kind."""
        of = self.of(kind, **about)
        if not of:
            return _Found(None, MISSING_RUN)
        found = accesses(of[-1])
        if found is None or not _saturated(of[-1], found):
            return _Found(None, UNSATURATED)
        if self.behind_a_line:
            return _Found(None, elsewhere.LINE)
        if elsewhere.are_apart(found, self.alone_pps):
            return _Found(None, elsewhere.EACH)
        return _Found(found)


def judge(runs: Sequence[Run], header: Mapping[str, Any]) -> UploadsDict:
    """Judge the runs.

    ``header``: ``stations`` (names, this machine's first), ``settings``, ``target`` and others.
    """
    names: list[str] = list(header["stations"])
    settings = from_dict(header["settings"])
    whole = [run for run in runs if counts(run)]
    records = _Records(whole, len(names))
    equal = _equal(records)
    categories = [
        _category(records, names, settings, category)
        for category in CATEGORIES
        if any(r.meta["kind"] == CATEGORY and r.meta["category"] == category for r in whole)
    ]
    obedience = _overall([each["obedience"] for each in categories])
    fairness: ratios.Fairness = equal["fairness"] if equal else "undecided"
    return {
        "format": "airqueue-uploads",
        "version": 1,
        **from_header(header, runs),
        "settings": to_dict(settings),
        "obedience": obedience,
        "says": f"{OBEDIENCE[obedience]}{_for(categories)}; {FAIRNESS[fairness]}.",
        "stations": [
            {"name": name, "alone_bps": None if rate is None else rate * 8 * SIZE_BYTES}
            for name, rate in zip(names, records.alone_pps, strict=True)
        ],
        "equal": equal,
        "categories": categories,
    }


def _for(categories: Sequence[CategoryDict]) -> str:
    """Name what was compared with best effort."""
    names = [NAMES[each["category"]] for each in categories]
    return f" for {text.listed(names, 'and')}" if names else ""


def _overall(found: Sequence[ratios.Obedience]) -> ratios.Obedience:
    """Return what is said of all: one disobedience is enough, and nothing else is overlooked."""
    if "not_obeyed" in found:
        return "not_obeyed"
    return "obeyed" if found and all(f == "obeyed" for f in found) else "undecided"


def carried_pps(run: Run) -> float:
    """Return the packets per second of an upload that arrived, over the time in which they did."""
    during = run.scheduled_ns < float(run.meta["length_s"]) * 1e9
    at = run.received_ns[run.received & during]
    if len(at) < 2:
        return 0.0
    return float((len(at) - 1) / max(float(run.meta["length_s"]), float(np.ptp(at)) * 1e-9))


def _saturated(run: Run, found: Accesses) -> bool:
    """Whether all stations were offered more than they got, and their packets waited."""
    length = found.end_s - found.start_s
    for upload in uploads_of(run.meta):
        got = float(ratios.in_blocks(found, upload.station, packets=True).sum())
        if not 0 < got < CARRIED * upload.rate_pps * length:
            return False
        if _waited_s(run, upload.station, found) < WAITED * length / got:
            return False
    return True


def _waited_s(run: Run, station: int, found: Accesses) -> float:
    """Return how much longer packets of a station took, in the median, than the quickest did.

    By the clocks of station and server, whose offset cancels out.
    """
    rows = (run.flow == flow_of(station)) & run.sent & run.received
    delay, at = run.delay_s[rows], run.received_ns[rows] * 1e-9
    inside = (at >= found.start_s) & (at < found.end_s)
    return float(np.median(delay[inside]) - delay.min()) if np.any(inside) else 0.0


def _equal(records: _Records) -> EqualDict | None:
    stations = records.stations
    found = records.found(EQUAL).accesses
    index = None if found is None else ratios.jain(found)
    if found is None or index is None:
        return None
    pairs = itertools.combinations(range(stations), 2)
    logs = [ratios.ratio(found, a, b) for a, b in pairs]
    fairness = ratios.fairness(logs) if found.told_apart else "undecided"
    count = np.bincount(found.station, minlength=stations).astype(float)
    packets = np.bincount(found.station, weights=found.packets, minlength=stations)
    return {
        "fairness": fairness,
        "jain": index.index,
        "jain_low": index.low,
        "jain_high": index.high,
        "packet_shares": (packets / packets.sum()).tolist(),
        "access_shares": (count / count.sum()).tolist(),
        "packets_per_access": (packets / np.maximum(count, 1)).tolist(),
    }


def _category(
    records: _Records, names: Sequence[str], settings: Settings, category: Category
) -> CategoryDict:
    """Judge a category beside best effort."""
    count = len(names)
    first, second = (
        records.found(CATEGORY, category=category, first=first) for first in (True, False)
    )
    log = expected(settings, category, count)
    pairs = [
        _pair((names[0], names[station]), station, (first, second), log)
        for station in range(1, count)
    ]
    limit_s = settings[category].txop_s
    has = [(0, first), *((station, second) for station in range(1, count))]
    return {
        "category": category,
        "obedience": _overall([pair["obedience"] for pair in pairs]),
        "pairs": pairs,
        "bursts": [_bursts(names[s], found.accesses, s, limit_s) for s, found in has],
    }


def _pair(
    names: tuple[str, str], station: int, found: tuple[_Found, _Found], log: Prediction | None
) -> PairDict:
    seen, reason = _difference(station, found)
    if seen is not None and log is None:
        reason = STARVED
    judged = ratios.obedience(seen, log)
    return {
        "stations": list(names),
        "obedience": judged,
        "ratio": None if seen is None else math.exp(seen.value),
        "low": None if seen is None else math.exp(seen.value - seen.half),
        "high": None if seen is None else math.exp(seen.value + seen.half),
        "predicted": None if log is None else math.exp(log.log),
        "no_difference": seen is not None
        and seen.half <= ratios.WIDEST
        and seen.is_near(ratios.ALIKE),
        "reason": reason,
    }


def _difference(station: int, found: tuple[_Found, _Found]) -> tuple[ratios.Log | None, str]:
    """Return D of this machine and a station, or why it is not known."""
    logs = []
    for each in found:
        if each.accesses is None:
            return None, each.reason
        if not each.accesses.told_apart:
            return None, COARSE
        log = ratios.ratio(each.accesses, 0, station)
        if log is None:
            return None, FEW
        logs.append(log)
    return ratios.difference(logs[0], logs[1]), ""


def _bursts(name: str, found: Accesses | None, station: int, limit_s: float) -> BurstsDict:
    seen = None if found is None else txop.bursts(found, station)
    step = None if seen is None else seen.step_s
    return {
        "station": name,
        "limit": txop.judge(seen, limit_s),
        "packets": None if seen is None else seen.high,
        "allowed": None if step is None else txop.allowed(limit_s, step)[1],
        "step_s": step,
    }
