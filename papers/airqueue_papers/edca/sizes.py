"""EDCA paper, Sec. 4: the effects of TXOP, AIFS and CWmin with packets of other sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from airqueue_papers.edca.parameters import NEAR, ratio
from airqueue_papers.edca.scenarios import UDP_BYTES, Access, Pair
from airqueue_papers.finding import Finding
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart, furthest, percent, series
from airqueue_papers.picture import Panel, PaperFigure

SIZES: Final = (350, 700)
"""Bytes of payload; the paper does not print the other sizes."""
_SECOND: Final[Mapping[str, Access]] = {
    **{f"TXOP {n}": Access(txop=f"{n} packets") for n in (2, 4, 6)},
    **{f"AIFS {slots}": Access(aifs_slots=slots) for slots in (5, 10, 20)},
    **{f"CWmin {values}": Access(window=values) for values in (8, 128, 1024)},
}
"""The second station's parameters."""


def _by_size(outcomes: Outcomes, payload: int) -> dict[str, float]:
    """Return packets of the second station for each of the first, by its parameters."""
    return {
        name: ratio(outcomes, Pair(access, payload=payload)).mean
        for name, access in _SECOND.items()
    }


def _compare(outcomes: Outcomes) -> Iterable[Finding]:
    usual = _by_size(outcomes, UDP_BYTES)
    pairs = {
        (size, name): (found, usual[name])
        for size in SIZES
        for name, found in _by_size(outcomes, size).items()
    }
    (size, name), off = furthest(pairs)
    acts = min(apart(found, 1.0) for found in usual.values())
    yield Finding(
        "edca.sec4.sizes",
        f"With {' and '.join(map(str, SIZES))} bytes the ratio is at most {percent(off)} from that "
        f"with {UDP_BYTES} ({name}, {size} bytes: {pairs[size, name][0]:.3g} and {usual[name]:.3g}), "
        f"and each parameter moves the ratio by {percent(acts)} or more.",
        holds=off <= NEAR < acts,
    )


def _runs(budget: Budget) -> Mapping[str, Run]:
    pairs = [
        Pair(access, payload=payload)
        for access in _SECOND.values()
        for payload in (UDP_BYTES, *SIZES)
    ]
    return {pair.name: pair.simulation(budget.pick(100, 400), 4) for pair in pairs}


def _pictures(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = tuple(
        series(f"{payload} bytes", _by_size(outcomes, payload), style="bars")
        for payload in (UDP_BYTES, *SIZES)
    )
    panel = Panel("", "of the second station", "throughput, second to first", lines, log_y=True)
    yield PaperFigure("edca-sizes", "Throughput ratio by the size of packets", (panel,))


SIZES_ITEM: Final = Item(
    "sizes",
    "Packets of other sizes (Sec. 4)",
    _compare,
    _runs,
    _pictures,
    ("A TXOP holds so many packets, whatever their size: in time the paper's steps are shorter.",),
)
