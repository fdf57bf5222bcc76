"""Airtime paper, Table 1, whose numbers are as remembered: frames, airtime, throughput of UDP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airqueue.models.airtime import exchange_s
from airqueue.models.rate_mix import airtime_fair, packet_fair
from airqueue_papers.anomaly import figures
from airqueue_papers.anomaly.airtimes import UDP
from airqueue_papers.anomaly.scenarios import AIRTIME, ASSUMED, FIFO
from airqueue_papers.claim import load
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Item, Outcomes
from airqueue_papers.measured import series
from airqueue_papers.picture import Panel, PaperFigure

_FAST: Final = (figures.LAYERS[0], figures.FAST_BPS)
_SLOW: Final = (figures.LAYERS[1], figures.SLOW_BPS)
_BEST_EFFORT_AIFSN: Final = 3


def modelled_mbps(scheme: str) -> tuple[float, ...]:
    """Return the throughput of each station by our closed form, with frames of the table's size.

    FIFO gives each station a frame in turn, the airtime scheduler a third of the time.
    """
    sizes = load("anomaly").claims[f"anomaly.table1.{scheme}.size"].numbers
    assert sizes is not None
    cycle_s = [
        float(exchange_s(layer, size, rate, aifsn=_BEST_EFFORT_AIFSN))
        for size, (layer, rate) in zip(sizes, (_FAST, _FAST, _SLOW), strict=True)
    ]
    shared = airtime_fair if scheme == AIRTIME else packet_fair
    return tuple((shared(cycle_s, sizes).throughput_bps / 1e6).tolist())


def _compare(outcomes: Outcomes) -> Iterable[Finding]:
    for scheme in (FIFO, AIRTIME):
        case, place = UDP[scheme], f"anomaly.table1.{scheme}"
        sizes = figures.each(outcomes, case, figures.frame_bytes)
        yield Finding(
            f"{place}.size",
            f"A frame to each station has {figures.listed(sizes, 0)} bytes, by its airtime.",
            sizes,
        )
        shares = figures.shares(outcomes, case)
        yield Finding(
            f"{place}.share",
            f"The stations have {figures.listed(shares)} % of the airtime.",
            shares,
        )
        modelled = tuple(map(Value, modelled_mbps(scheme)))
        yield Finding(
            f"{place}.model",
            f"By our closed form for frames of the table's size, {figures.listed(modelled)} Mb/s.",
            modelled,
        )
        rates = figures.each(outcomes, case, figures.mbps)
        yield Finding(
            f"{place}.measured", f"The stations receive {figures.listed(rates)} Mb/s.", rates
        )


def _pictures(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = []
    for scheme, title in ((FIFO, "FIFO"), (AIRTIME, "airtime scheduler")):
        names = UDP[scheme].stations
        printed = load("anomaly").claims[f"anomaly.table1.{scheme}.measured"].numbers or []
        ours = figures.each(outcomes, UDP[scheme], figures.mbps)
        modelled = modelled_mbps(scheme)
        lines = (
            series("simulation", dict(zip(names, ours, strict=True)), style="bars"),
            series("closed form", dict(zip(names, modelled, strict=True)), style="points"),
            series(
                "as remembered",
                dict(zip(names, map(float, printed), strict=True)),
                style="points",
                printed=True,
            ),
        )
        panels.append(Panel(title, "station", "throughput, Mb/s", lines))
    yield PaperFigure("anomaly-table1", "Throughput of UDP, as Table 1", tuple(panels))


TABLE1: Final = Item(
    "table1",
    "Frames, airtime and throughput of UDP (Table 1, not read)",
    _compare,
    lambda budget: {UDP[scheme].name: UDP[scheme].simulation(budget) for scheme in (FIFO, AIRTIME)},
    _pictures,
    (
        ASSUMED,
        "The page of the paper that could be read ends before the table. Its numbers are as "
        "remembered, and count nowhere. The paper's model could not be read either: the closed form "
        "is `airqueue model rate-mix` with a frame in place of a packet.",
    ),
)
