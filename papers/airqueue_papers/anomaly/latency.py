"""Airtime paper, Abstract, and slides: latency under load, and what applications have of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from airqueue.figures import Figures
from airqueue.simulate.reported import known
from airqueue_papers.anomaly import figures
from airqueue_papers.anomaly.airtimes import TCP
from airqueue_papers.anomaly.scenarios import (
    AIRTIME,
    ASSUMED,
    CALL,
    FIFO,
    FQ_MAC,
    LEGACY,
    PAGE,
    PINGED,
    SCHEMES,
    Case,
    by_scheme,
    simulations,
)
from airqueue_papers.finding import Finding
from airqueue_papers.item import Item, Outcomes, Setting
from airqueue_papers.measured import scaled, series
from airqueue_papers.picture import Panel, PaperFigure

ORDER: Final = 10
"""An order of magnitude."""
MOS_GAIN: Final = 1.0
PAGE_GAIN: Final = 2.0
USED: Final = by_scheme("applications")
LOW: Final = {
    scheme: Case(scheme, "tcp", 1, (LEGACY, LEGACY)) for scheme in (FIFO, FQ_MAC, AIRTIME)
}


_DRIVER_ALONE: Final = replace(LOW[FIFO], limit="1 packet")


def _compare_latency(outcomes: Outcomes) -> Iterable[Finding]:
    found = {scheme: figures.pings_ms(outcomes, case) for scheme, case in TCP.items()}
    said = "; ".join(
        f"{SCHEMES[scheme]} {times['fast1'].mean:.1f} and {times['slow'].mean:.1f}"
        for scheme, times in found.items()
    )
    for claim, scheme in (("latency", AIRTIME), ("bufferbloat", FQ_MAC)):
        ratios = [found[FIFO][name].mean / found[scheme][name].mean for name in PINGED]
        yield Finding(
            f"anomaly.abs.{claim}",
            "Median round trip of pings to a fast station and to the slow one, beside a download of "
            f"each, in ms: {said}; with {SCHEMES[scheme]} they are {ratios[0]:.1f} and "
            f"{ratios[1]:.1f} times shorter than with FIFO.",
            holds=all(ratio >= ORDER for ratio in ratios),
        )


def _pictures_latency(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = tuple(
        series(SCHEMES[scheme], figures.pings_ms(outcomes, case), style="bars")
        for scheme, case in TCP.items()
    )
    panel = Panel("", "station", "median round trip, ms", lines, log_y=True, zero=False)
    yield PaperFigure("anomaly-latency", "Pings beside downloads, by scheme", (panel,))


def _mos(run: Figures) -> float:
    """Return the call's MOS, 1 where no packet arrived in time."""
    found = run["calls"][CALL]["mos"]
    return 1.0 if found is None else known(found)


def _page_s(run: Figures) -> float:
    return known(run["connections"][PAGE]["session_mean_s"])


def _compare_applications(outcomes: Outcomes) -> Iterable[Finding]:
    mos = {scheme: figures.of_runs(outcomes, case, _mos) for scheme, case in USED.items()}
    pages = {scheme: figures.of_runs(outcomes, case, _page_s) for scheme, case in USED.items()}
    said = "; ".join(
        f"{SCHEMES[scheme]} {mos[scheme].mean:.2f} and {pages[scheme].mean:.2f} s"
        for scheme in USED
    )
    yield Finding(
        "anomaly.abs.applications",
        "MOS of a best-effort call to the slow station, and the time of a file of 100 kB to a fast "
        f"one, beside three downloads: {said}.",
        holds=mos[AIRTIME].mean >= mos[FIFO].mean + MOS_GAIN
        and pages[FIFO].mean >= PAGE_GAIN * pages[AIRTIME].mean,
    )


def _compare_lowest(outcomes: Outcomes) -> Iterable[Finding]:
    fifo, new = (figures.pings_ms(outcomes, LOW[scheme]) for scheme in (FIFO, AIRTIME))
    longer = {
        name: max(times.values(), key=lambda value: value.mean)
        for name, times in (("fifo", fifo), ("new", new))
    }
    before_s = scaled(longer["fifo"], 1e-3)
    yield Finding(
        "anomaly.slides.before",
        f"With FIFO the median round trip of pings beside two downloads is "
        f"{figures.told(before_s)} s, the longer of the two stations'.",
        (before_s,),
    )
    yield Finding(
        "anomaly.slides.after",
        f"With the new queues the median round trip of pings beside two downloads is "
        f"{figures.told(longer['new'], 1)} ms, the longer of the two stations'.",
        (longer["new"],),
    )


LATENCY: Final = Item(
    "latency",
    "Latency under load (Abstract)",
    _compare_latency,
    lambda budget: simulations(TCP.values(), budget),
    _pictures_latency,
    (ASSUMED, "Ten pings a second, at random times, from the server."),
)
APPLICATIONS: Final = Item(
    "applications",
    "A call and a user of the web beside downloads (Abstract)",
    _compare_applications,
    lambda budget: simulations(USED.values(), budget),
    notes=(ASSUMED, "The paper's own numbers of calls and pages could not be read."),
)
LOWEST: Final = Item(
    "lowest",
    "Two stations at the lowest rate (slides of Linux Plumbers 2016)",
    _compare_lowest,
    lambda budget: simulations([*LOW.values(), _DRIVER_ALONE], budget),
    notes=(
        ASSUMED,
        'The slide has "2 station test, lowest mcs(0) wifi rate (1mbit)", and neither the traffic '
        "nor the buffers: a download of each station at 1 Mb/s.",
    ),
    settings=(
        Setting("where the driver alone holds packets", {LOW[FIFO].name: _DRIVER_ALONE.name}),
    ),
)
