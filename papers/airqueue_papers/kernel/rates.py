"""RDQM, Fig. 3, with the kernel's TCP: six downloads at three rates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airqueue.figures import Figures
from airqueue_papers import rdqm
from airqueue_papers.item import Item, Outcomes
from airqueue_papers.kernel import compare, delays
from airqueue_papers.picture import PaperFigure

MIX: Final = "mixed"
CASE: Final = compare.Case(
    "rates",
    {
        name: delays.network(list(rdqm.MIXES[MIX]), discipline)
        for name, discipline in delays.DISCIPLINES.items()
    },
    weight=25.0,
)


def slow_kbps(figures: Figures) -> float:
    """Return the goodput of the flow at 1 Mb/s."""
    slow = [rate for _, rate in rdqm.MIXES[MIX]].index(min(rdqm.RATES)) + 1
    return compare.goodputs_bps(figures)[f"flow{slow}"] / 1e3


SLOW: Final = compare.Measure(
    "the goodput of the flow at 1 Mb/s", "goodput at 1 Mb/s (kb/s)", slow_kbps, " kb/s", 0
)


def _says(outcomes: Outcomes) -> Iterable[str]:
    yield "Does RDQM carry more where rates differ with the kernel's TCP?"
    yield from compare.sentences(outcomes, CASE, delays.TOTAL, delays.WORDS)
    yield compare.origin(outcomes, CASE)


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    title = "Three rates with the kernel's TCP and ours (as RDQM Fig. 3)"
    measures = (delays.TOTAL, SLOW)
    yield compare.picture(outcomes, {"": CASE}, measures, "beyond-kernel-rates", title)


ITEM: Final = Item(
    "kernel-rates",
    "Rates with the kernel's TCP (RDQM)",
    lambda _: (),
    CASE.runs,
    _draw,
    notes=(
        delays.NOTE,
        f"Of the three mixes of delays and rates in rdqm.fig3 this is the one called {MIX}.",
        compare.NOTE,
    ),
    says=_says,
    exact=True,
)
