"""EDCA, Figs 6 to 9, with the kernel's TCP: uploads and downloads with and without the scheme."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airqueue.figures import Figures
from airqueue.stats import jain_index
from airqueue_papers.edca.scenarios import Transfers
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.kernel import compare
from airqueue_papers.picture import PaperFigure

SCHEMES: Final = {"802.11b": "default", "Table 2": "table2"}


def _case(name: str, uploads: int, downloads: int) -> compare.Case:
    schemes = {
        words: compare.linux(Transfers(uploads, downloads, scheme).scenario(1))
        for words, scheme in SCHEMES.items()
    }
    return compare.Case(name, schemes, weight=25.0)


UPLOADS: Final = _case("uploads", 12, 0)
MIXED: Final = _case("mixed", 6, 6)


def fairness(figures: Figures) -> float:
    """Return Jain's index of the goodputs of all twelve."""
    return jain_index(list(compare.goodputs_bps(figures).values()))


def down_over_up(figures: Figures) -> float:
    """Return the goodput of the downloads over that of the uploads."""
    goodputs = compare.goodputs_bps(figures)
    down, up = (
        sum(bps for name, bps in goodputs.items() if name.startswith(direction))
        for direction in ("down", "up")
    )
    return down / up


JAIN: Final = compare.Measure(
    "Jain's index of the goodputs of all twelve",
    "fairness of all twelve (Jain)",
    fairness,
    digits=3,
    relative=False,
)
RATIO: Final = compare.Measure(
    "the goodput of six downloads over that of six uploads",
    "goodput of downloads over uploads",
    down_over_up,
    digits=3,
    relative=False,
)
TOTAL: Final = compare.Measure(
    "the goodput of all twelve",
    "goodput of all (Mb/s)",
    lambda figures: sum(compare.goodputs_bps(figures).values()) / 1e6,
    unit=" Mb/s",
)


def _runs(budget: Budget) -> dict[str, Run]:
    return {**UPLOADS.runs(budget), **MIXED.runs(budget)}


def _says(outcomes: Outcomes) -> Iterable[str]:
    yield "Does the scheme of Table 2 make uploads and downloads fair with the kernel's TCP?"
    for words, case, measures in (
        ("twelve uploads", UPLOADS, (JAIN,)),
        ("six uploads and six downloads", MIXED, (RATIO, JAIN)),
    ):
        of_case = compare.Words(f"With Table 2, for {words},", "without Table 2", "with Table 2")
        for measure in measures:
            yield from compare.sentences(outcomes, case, measure, of_case)
    yield compare.origin(outcomes, MIXED)


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    title = "Six uploads and six downloads with the kernel's TCP and ours (as EDCA Figs 7 and 9)"
    measures = (RATIO, JAIN, TOTAL)
    yield compare.picture(outcomes, {"": MIXED}, measures, "beyond-kernel-fairness", title)
    title = "Twelve uploads with the kernel's TCP and ours (as EDCA Figs 6 and 8)"
    yield compare.picture(outcomes, {"": UPLOADS}, (JAIN, TOTAL), "beyond-kernel-uploads", title)


ITEM: Final = Item(
    "kernel-fairness",
    "Uploads with the kernel's TCP (EDCA)",
    lambda _: (),
    _runs,
    _draw,
    notes=(
        "The paper's cell of 802.11b with queues of 10 packets and rings of 10, connections that end "
        "in the access point, which is a real node too. Receivers set the DSCP EF on their sockets, "
        "so that acknowledgements have the category of voice, and senders send best effort: the "
        "scheme needs no change of the kernel. Without the scheme the cell has no categories.",
        compare.NOTE,
    ),
    says=_says,
    exact=True,
)
