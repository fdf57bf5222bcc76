"""MESH, Tables 3 and 4, with the kernel's TCP: chains of four hops with sized and larger buffers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airqueue.figures import Figures
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.kernel import compare
from airqueue_papers.mesh import networks
from airqueue_papers.mesh.chains import HOPS, SPACINGS_M
from airqueue_papers.picture import PaperFigure

BUFFERS: Final = {"50 packets": networks.FIFO50, "sized": networks.SIZED}


def _case(table: str) -> compare.Case:
    spacing_m = SPACINGS_M[table]
    return compare.Case(
        table,
        {
            words: compare.linux(networks.scheme_chain(HOPS, spacing_m, 1, scheme))
            for words, scheme in BUFFERS.items()
        },
        weight=12.0,
    )


CLOSE: Final = _case("table3")
FAR: Final = _case("table4")


def goodput_kbps(figures: Figures) -> float:
    """Return the goodput of the transfer."""
    return sum(compare.goodputs_bps(figures).values()) / 1e3


def rtt_ms(figures: Figures) -> float:
    """Return the transfer's mean round-trip time."""
    (connection,) = figures["connections"].values()
    return 1e3 * (connection["rtt_mean_s"] or 0.0)


RTT: Final = compare.Measure("the mean round-trip time", "round-trip time (ms)", rtt_ms, " ms", 0)
GOODPUT: Final = compare.Measure("the goodput", "goodput (kb/s)", goodput_kbps, " kb/s", 0)
GOODPUT_MBPS: Final = compare.Measure(
    "the goodput", "goodput (Mb/s)", lambda figures: goodput_kbps(figures) / 1e3, " Mb/s", 1
)


def _runs(budget: Budget) -> dict[str, Run]:
    return {**CLOSE.runs(budget), **FAR.runs(budget)}


def _says(outcomes: Outcomes) -> Iterable[str]:
    yield "Do sized buffers shorten round trips of the kernel's TCP, and what do they cost?"
    for where, case in (
        ("where all nodes sense each other", CLOSE),
        ("where the end nodes do not sense each other", FAR),
    ):
        change = f"With sized buffers instead of 50 packets, {where},"
        words = compare.Words(change, "with 50 packets", "with sized buffers")
        for measure in (RTT, GOODPUT):
            yield from compare.sentences(outcomes, case, measure, words)
    yield compare.origin(outcomes, CLOSE)


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    cases = {"all in carrier sense": CLOSE, "end nodes apart": FAR}
    title = "Four hops with the kernel's TCP and ours (as MESH Tables 3 and 4)"
    yield compare.picture(outcomes, cases, (RTT, GOODPUT), "beyond-kernel-chains", title)


ITEM: Final = Item(
    "kernel-chains",
    "Four hops with the kernel's TCP (MESH)",
    lambda _: (),
    _runs,
    _draw,
    notes=(
        "The paper's chains under the MAC of ns-2 at 11 Mb/s, with the buffers of Tables 3 and 4. "
        "TCP-AP, the paper's third scheme, is not in the kernel. The kernel's round-trip time is its "
        "smoothed one, from the oldest segment that an acknowledgement covers, weighted with the "
        "acknowledged bytes; ours is the mean over acknowledgements, from the newest segment.",
        compare.NOTE,
    ),
    says=_says,
    exact=True,
)
