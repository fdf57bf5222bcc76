"""EDCA, Sec. 6, future work: the scheme with calls beside data, with the kernel's TCP and ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from airqueue.figures import Figures
from airqueue_papers.edca.scenarios import Transfers
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.kernel import compare
from airqueue_papers.kernel.fairness import down_over_up
from airqueue_papers.picture import PaperFigure

SCHEMES: Final = {"802.11b": "default", "802.11e": "802.11e", "Table 2": "table2"}


def _case(where: Literal["apart", "together"]) -> compare.Case:
    schemes = {
        words: compare.linux(Transfers(3, 3, scheme, calls=where).scenario(1))
        for words, scheme in SCHEMES.items()
    }
    return compare.Case(f"calls-{where}", schemes, weight=25.0)


APART: Final = _case("apart")
TOGETHER: Final = _case("together")


def worst_rating(figures: Figures) -> float:
    """Return the smallest R of the E-model over the directions of all calls, at least 0.

    A direction of which no packet arrived has R = 0.
    """
    return max(0.0, min(call["r_factor"] or 0.0 for call in figures["calls"].values()))


RATING: Final = compare.Measure(
    "the rating R of the worst direction of a call",
    "worst call (R)",
    worst_rating,
    digits=1,
    relative=False,
)
RATIO: Final = compare.Measure(
    "the goodput of three downloads over that of three uploads",
    "goodput of downloads over uploads",
    down_over_up,
    digits=3,
    relative=False,
)
TOTAL: Final = compare.Measure(
    "the goodput of all six transfers",
    "goodput of all (Mb/s)",
    lambda figures: sum(compare.goodputs_bps(figures).values()) / 1e6,
    unit=" Mb/s",
)
MEASURES: Final = (RATING, RATIO, TOTAL)


def _runs(budget: Budget) -> dict[str, Run]:
    return {**APART.runs(budget), **TOGETHER.runs(budget)}


def _says(outcomes: Outcomes) -> Iterable[str]:
    yield "Does the scheme of Table 2 stay fair beside calls, and what do calls pay for it?"
    for where, case in (
        ("with six calls at stations of their own", APART),
        ("with a call at the station of each transfer", TOGETHER),
    ):
        for without in ("802.11b", "802.11e"):
            change = f"With Table 2 instead of {without}, {where},"
            words = compare.Words(change, f"with {without}", "with Table 2")
            for measure in MEASURES:
                yield from compare.sentences(outcomes, case, measure, words, without)
    yield compare.origin(outcomes, APART)


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    cases = {"calls at stations of their own": APART, "calls beside transfers": TOGETHER}
    for measure, name, what in (
        (RATING, "calls", "Calls"),
        (RATIO, "calls-fairness", "Fairness of transfers"),
    ):
        title = f"{what} under the scheme, with the kernel's TCP and ours"
        yield compare.picture(outcomes, cases, (measure,), f"beyond-kernel-{name}", title)


ITEM: Final = Item(
    "kernel-calls",
    "Calls beside data with the kernel's TCP (EDCA)",
    lambda _: (),
    _runs,
    _draw,
    notes=(
        "The paper's cell with three uploads, three downloads and six calls (G.711 with loss "
        "concealment, simulated in all runs). 802.11b: no categories. 802.11e: calls are voice, all "
        "of TCP is best effort, with the standard's parameters. Table 2: calls share the category of "
        "voice and its parameters with TCP's acknowledgements, at the access point also the queue of "
        "10 packets and the ring of 10. The paper leaves calls to future work. R: from 80 on most "
        "people are satisfied, below 60 nearly nobody is (ITU-T G.109).",
        compare.NOTE,
    ),
    says=_says,
    exact=True,
)
