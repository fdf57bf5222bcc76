"""MESH, Sec. 8, future work: what A-MPDUs do to sized buffers, with the kernel's TCP and ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airqueue.description import Description
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget, Item, Outcomes, Run, Simulation
from airqueue_papers.kernel import compare
from airqueue_papers.kernel.chains import GOODPUT_MBPS, RTT
from airqueue_papers.mesh import networks, testbed
from airqueue_papers.picture import Panel, PaperFigure, Series

LARGE: Final = "1000 packets"
SIZED: Final = "sized"
FRAMES: Final = {"single": "one packet a frame", "aggregated": "A-MPDUs"}
MULTIPLES: Final = (1, 2, 4, 8, 16, 32)
"""Of B, the size for frames of one packet: sizes that are simulated with our TCP."""
KEPT: Final = 0.9
"""Share of the goodput with queues of 1000 packets: about what the paper's sizes cost (Sec. 7)."""


def _network(frames: str, total: float | None) -> Description:
    """Return four hops of 802.11n with rings of 3 packets, and B or 1000 packets before these."""
    changes = {} if frames == "aggregated" else {"mac.aggregation.enabled": False}
    return compare.linux(networks.fast_chain(1, networks.RING_FRAMES, total, changes))


def _case(frames: str) -> compare.Case:
    sizes = {LARGE: None, SIZED: testbed.fast_buffer()}
    schemes = {words: _network(frames, total) for words, total in sizes.items()}
    return compare.Case(frames, schemes, weight=40.0)


CASES: Final = {frames: _case(frames) for frames in FRAMES}


def _multiple(frames: str, multiple: int) -> str:
    return f"{frames}-times{multiple}"


def _runs(budget: Budget) -> dict[str, Run]:
    runs: dict[str, Run] = {}
    for frames, case in CASES.items():
        runs |= case.runs(budget)
        for multiple in MULTIPLES:
            described = _network(frames, multiple * testbed.fast_buffer())
            runs[_multiple(frames, multiple)] = Simulation(described, compare.SEEDS, weight=2.0)
    return runs


def _at_multiples(outcomes: Outcomes, frames: str, measure: compare.Measure) -> list[Value]:
    """Return a measure at each multiple of B, with our CUBIC."""
    runs = (outcomes[_multiple(frames, multiple)].runs for multiple in MULTIPLES)
    return [measure.value([of[at] for at in sorted(of)]) for of in runs]


def _enough(outcomes: Outcomes, frames: str) -> str:
    """Return a sentence with the least multiple of B that keeps the goodput."""
    cubic, _, _ = compare.CONGESTION
    largest = GOODPUT_MBPS.value(CASES[frames].figures(outcomes, compare.OURS, cubic, LARGE))
    goodputs = _at_multiples(outcomes, frames, GOODPUT_MBPS)
    times = _at_multiples(outcomes, frames, RTT)
    many = f"{100 * KEPT:.0f} % of the {largest.mean:.1f} Mb/s with {LARGE} at each node"
    for multiple, goodput, time in zip(MULTIPLES, goodputs, times, strict=True):
        if goodput.mean >= KEPT * largest.mean:
            size = "B itself" if multiple == 1 else f"{multiple} times B"
            return (
                f"With {FRAMES[frames]} and our CUBIC the least size tried that keeps {many} is "
                f"{size}, at round trips of {time.mean:.0f} ms."
            )
    return (
        f"With {FRAMES[frames]} and our CUBIC no size up to {MULTIPLES[-1]} times B keeps {many}."
    )


def _says(outcomes: Outcomes) -> Iterable[str]:
    yield (
        f"Eq. (3) gives B = {testbed.fast_buffer():.1f} packets for four hops at 65 Mb/s, from the "
        "time of an exchange of one packet. Does B suffice where a frame carries many?"
    )
    for frames, case in CASES.items():
        change = f"With B packets instead of {LARGE} at each node, for {FRAMES[frames]},"
        words = compare.Words(change, f"with {LARGE}", "with B packets")
        for measure in (GOODPUT_MBPS, RTT):
            yield from compare.sentences(outcomes, case, measure, words)
        yield _enough(outcomes, frames)
    yield compare.origin(outcomes, CASES["single"])


def _lines(outcomes: Outcomes, measure: compare.Measure) -> Iterable[Series]:
    for frames, words in FRAMES.items():
        values = _at_multiples(outcomes, frames, measure)
        yield Series(
            words,
            tuple(float(multiple) for multiple in MULTIPLES),
            tuple(value.mean for value in values),
            tuple(value.low for value in values),
            tuple(value.high for value in values),
        )


def _draw(outcomes: Outcomes) -> Iterable[PaperFigure]:
    measures = (GOODPUT_MBPS, RTT)
    cases = {words: CASES[frames] for frames, words in FRAMES.items()}
    title = "Four hops of 802.11n with buffers of B packets, the kernel's TCP and ours"
    yield compare.picture(outcomes, cases, measures, "beyond-kernel-aggregates", title)
    panels = (
        Panel("", "size of the shared buffer, in B", measure.axis, lines, log_x=True)
        for measure in measures
        for lines in [tuple(_lines(outcomes, measure))]
    )
    title = "How large a shared buffer A-MPDUs need (our CUBIC)"
    yield PaperFigure("beyond-aggregates-sizes", title, tuple(panels))


ITEM: Final = Item(
    "kernel-aggregates",
    "A-MPDUs and sized buffers with the kernel's TCP (MESH)",
    lambda _: (),
    _runs,
    _draw,
    notes=(
        "The chain of Table 11: 802.11n at 65 Mb/s, a download over four hops from a server 1 ms "
        "behind the gateway, neighbours 200 m apart. B is divided by Eq. (16); each node has a ring "
        "of 3 packets besides, as in the paper's test bed, so that a frame carries at most the "
        "packets that ring and queue hold. The paper leaves A-MPDUs to future work.",
        compare.NOTE,
    ),
    says=_says,
    exact=True,
)
