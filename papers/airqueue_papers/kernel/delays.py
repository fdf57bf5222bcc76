"""RDQM, Fig. 2, with the kernel's TCP: six downloads with different delays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airqueue.description import Description
from airqueue.description_words import DisciplineName
from airqueue.figures import Figures
from airqueue_papers import rdqm
from airqueue_papers.item import Item, Outcomes
from airqueue_papers.kernel import compare
from airqueue_papers.picture import PaperFigure

FRAMES: Final = 200
NEAR: Final = (1, 2)
"""The flows of 5 and 30 ms."""
DISCIPLINES: Final[dict[str, DisciplineName]] = {"drop-tail": "droptail", "RDQM": "rdqm"}


def network(flows: list[tuple[int, float]], discipline: DisciplineName) -> Description:
    """Return RDQM's network with Linux's TCP.

    Stations report the wire's round-trip time and their packets' smoothed time at the access point:
    only our own TCP could report what it measures itself.
    """
    described = rdqm.scenario(flows, discipline, FRAMES, 1)
    for flow, (delay, _) in zip(described["flows"], flows, strict=True):
        del flow["rdqm"]
        flow["rdqm_rtt"] = f"{2 * delay} ms"
        flow["rdqm_rtt_kind"] = "smoothed"
    return compare.linux(described)


CASE: Final = compare.Case(
    "delays",
    {
        name: network([(delay, 11.0) for delay in rdqm.DELAYS_MS], discipline)
        for name, discipline in DISCIPLINES.items()
    },
    weight=35.0,
)


def far_over_near(figures: Figures) -> float:
    """Return the goodput of the flows of 100 and 120 ms over that of the flows of 5 and 30 ms."""
    goodputs = compare.goodputs_bps(figures)
    far, near = (sum(goodputs[f"flow{i}"] for i in flows) for flows in (rdqm.FAR, NEAR))
    return far / near


RATIO: Final = compare.Measure(
    "the goodput of the two farthest flows over that of the two nearest",
    "goodput of far over near flows",
    far_over_near,
    relative=False,
)
TOTAL: Final = compare.Measure(
    "the goodput of all six",
    "goodput of all (Mb/s)",
    lambda figures: sum(compare.goodputs_bps(figures).values()) / 1e6,
    unit=" Mb/s",
)
WORDS: Final = compare.Words("Under RDQM instead of drop-tail", "under drop-tail", "under RDQM")
NOTE: Final = (
    "The paper's cell, except for TCP and its segments: the standard's timing of ns-2, 11 Mb/s, a "
    f"buffer of {FRAMES} frames. Stations report to the access point the round-trip time of the wire "
    "and the smoothed time of their packets at the access point; what a kernel's TCP itself measures "
    "at a receiver does not reach its link layer. The way of acknowledgements through the air is "
    "therefore not in the reports, here and in the simulations beside."
)


def _says(outcomes: Outcomes) -> Iterable[str]:
    yield "Does RDQM give far flows as much as near ones with the kernel's TCP?"
    yield from compare.sentences(outcomes, CASE, RATIO, WORDS)
    yield compare.origin(outcomes, CASE)


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    title = "Six delays with the kernel's TCP and ours (as RDQM Fig. 2)"
    yield compare.picture(outcomes, {"": CASE}, (RATIO, TOTAL), "beyond-kernel-delays", title)


ITEM: Final = Item(
    "kernel-delays",
    "Delays with the kernel's TCP (RDQM)",
    lambda _: (),
    CASE.runs,
    _draw,
    notes=(NOTE, compare.NOTE),
    says=_says,
    exact=True,
)
