"""Airtime paper, Abstract and Sec. 1: who has the airtime, and what that does to throughput."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from airqueue.models.ampdu import aggregate_exchange, largest_aggregate
from airqueue.stats import jain_index
from airqueue_papers.anomaly import figures
from airqueue_papers.anomaly.scenarios import (
    AIRTIME,
    AP,
    ASSUMED,
    FIFO,
    FQ_MAC,
    SCHEMES,
    SUBFRAMES,
    Case,
    by_scheme,
    simulations,
)
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import series
from airqueue_papers.picture import Panel, PaperFigure

EQUAL: Final = 0.95
"""Jain's index of throughputs that are equal."""
NEARLY_PERFECT: Final = 0.99
"""Jain's index of airtimes that are shared nearly perfectly."""
MUCH: Final = 1.5
"""Ratio of throughputs that is a large improvement."""
UDP: Final = by_scheme("udp")
TCP: Final = by_scheme("tcp")
NUMBERS: Final = (3, 10, 30)
"""Stations, one of which is slow."""


def _compare_udp(outcomes: Outcomes) -> Iterable[Finding]:
    fifo, slow_mbps = UDP[FIFO], figures.SLOW_BPS / 1e6
    rates = figures.each(outcomes, fifo, figures.mbps)
    equal = jain_index([value.mean for value in rates])
    yield Finding(
        "anomaly.sec1.lowest",
        f"With FIFO the stations receive {figures.listed(rates)} Mb/s, the slow one last; Jain's "
        f"index of these is {equal:.3f}, and the slow station's data rate is {slow_mbps:.1f} Mb/s.",
        holds=equal >= EQUAL and all(value.mean <= slow_mbps for value in rates[:-1]),
    )
    yield _fair("anomaly.abs.fair_udp", outcomes, UDP)
    described = [outcomes[case.name].scenario for case in UDP.values()]
    stations = [[s for s in each["stations"] if s["name"] != AP] for each in described]
    yield Finding(
        "anomaly.abs.clients",
        "The stations but for the access point have the same description with all schemes.",
        holds=all(each == stations[0] for each in stations),
    )


def _fair(claim: str, outcomes: Outcomes, cases: Mapping[str, Case]) -> Finding:
    found = {scheme: figures.fairness(outcomes, case) for scheme, case in cases.items()}
    words = "; ".join(f"{SCHEMES[name]} {figures.told(value, 3)}" for name, value in found.items())
    return Finding(
        claim,
        f"Jain's index of the stations' airtimes by scheme: {words}.",
        holds=found[AIRTIME].mean >= NEARLY_PERFECT,
    )


def _compare_tcp(outcomes: Outcomes) -> Iterable[Finding]:
    yield _fair("anomaly.abs.fair_tcp", outcomes, TCP)
    totals = _totals(outcomes, TCP)
    words = "; ".join(f"{SCHEMES[name]} {figures.told(value)}" for name, value in totals.items())
    yield Finding(
        "anomaly.abs.throughput",
        f"Goodput of the three downloads in Mb/s by scheme: {words}.",
        holds=totals[AIRTIME].mean >= MUCH * totals[FIFO].mean,
    )


def _totals(outcomes: Outcomes, cases: Mapping[str, Case]) -> dict[str, Value]:
    return {name: figures.total_mbps(outcomes, case) for name, case in cases.items()}


def _many(scheme: str, stations: int) -> Case:
    return Case(scheme, "tcp", stations - 1)


def _runs_many(budget: Budget) -> Mapping[str, Run]:
    return simulations([_many(s, n) for n in NUMBERS for s in (FQ_MAC, AIRTIME)], budget)


def _gains(outcomes: Outcomes) -> dict[int, float]:
    return {
        n: totals[AIRTIME].mean / totals[FQ_MAC].mean
        for n in NUMBERS
        for totals in [_totals(outcomes, {s: _many(s, n) for s in (FQ_MAC, AIRTIME)})]
    }


def _compare_many(outcomes: Outcomes) -> Iterable[Finding]:
    gains = _gains(outcomes)
    words = ", ".join(f"{gain:.2f} times with {n} stations" for n, gain in gains.items())
    yield Finding(
        "anomaly.commit.more",
        "Goodput of all downloads with the airtime scheduler, as a multiple of that without: "
        f"{words}.",
        holds=list(gains.values()) == sorted(gains.values()) and len({*gains.values()}) > 1,
    )


def gain_by_frames(stations: int) -> float:
    """Return the same multiple where every station always has a full frame, in closed form.

    With turns by frames ``n - 1`` fast frames and a slow one take ``(n - 1) T_f + T_s``, with equal
    airtimes ``n T_f``: ``1 + (T_s / T_f - 1) / n``, which falls with the number of stations.
    """
    fast_s, slow_s = (
        float(aggregate_exchange(layer, figures.MPDU_BYTES, rate, most).total_s)
        for layer, rate in (
            (figures.LAYERS[0], figures.FAST_BPS),
            (figures.LAYERS[1], figures.SLOW_BPS),
        )
        for most in [min(SUBFRAMES, float(largest_aggregate(layer, figures.MPDU_BYTES, rate)))]
    )
    return 1 + (slow_s / fast_s - 1) / stations


def _says_many(_: Outcomes) -> Iterable[str]:
    words = ", ".join(f"{gain_by_frames(n):.2f} with {n}" for n in NUMBERS)
    yield f"By the closed form for full frames the multiple is {words} stations."


def _bars(outcomes: Outcomes, cases: Mapping[str, Case]) -> tuple[Panel, ...]:
    names = next(iter(cases.values())).stations
    shared, carried = [], []
    for scheme, case in cases.items():
        found = figures.shares(outcomes, case)
        rates = figures.each(outcomes, case, figures.mbps)
        shared.append(series(SCHEMES[scheme], dict(zip(names, found, strict=True)), style="bars"))
        carried.append(series(SCHEMES[scheme], dict(zip(names, rates, strict=True)), style="bars"))
    return (
        Panel("", "station", "share of the airtime, %", tuple(shared)),
        Panel("", "station", "throughput, Mb/s", tuple(carried)),
    )


def _pictures_udp(outcomes: Outcomes) -> Iterable[PaperFigure]:
    title = "Airtime and throughput of UDP to two fast stations and a slow one"
    yield PaperFigure("anomaly-udp", title, _bars(outcomes, UDP))


def _pictures_tcp(outcomes: Outcomes) -> Iterable[PaperFigure]:
    title = "Airtime and goodput of downloads of two fast stations and a slow one"
    yield PaperFigure("anomaly-tcp", title, _bars(outcomes, TCP))


def _pictures_many(outcomes: Outcomes) -> Iterable[PaperFigure]:
    gains = {str(n): gain for n, gain in _gains(outcomes).items()}
    line = series("simulation", gains, style="bars")
    form = series("closed form", {str(n): gain_by_frames(n) for n in NUMBERS}, style="points")
    label = "goodput with the airtime scheduler over that without"
    title = "What the airtime scheduler gives among more stations"
    yield PaperFigure("anomaly-many", title, (Panel("", "stations", label, (line, form)),))


UDP_ITEM: Final = Item(
    "udp",
    "UDP to three stations: the anomaly and its end (Abstract, Sec. 1)",
    _compare_udp,
    lambda budget: simulations(UDP.values(), budget),
    _pictures_udp,
    (
        ASSUMED,
        "The airtime of a station is that of the frames to it, with their responses, and of data "
        "frames from it.",
    ),
)
TCP_ITEM: Final = Item(
    "tcp",
    "Downloads of three stations (Abstract)",
    _compare_tcp,
    lambda budget: simulations(TCP.values(), budget),
    _pictures_tcp,
    (ASSUMED,),
)
MANY: Final = Item(
    "many",
    "More stations (commit 63fefa050477)",
    _compare_many,
    _runs_many,
    _pictures_many,
    (
        ASSUMED,
        "One station has 7.2 Mb/s and the others 144.4, for any number of stations; in the commit's "
        "test the slow one of 30 was limited to 1 Mb/s, and the rates of the others are not printed.",
    ),
    says=_says_many,
)
