"""HTTP paper, Fig. 9 and Sec. 4.2: windows against a finite buffer, and round robin instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from airqueue_papers.finding import Finding, Value
from airqueue_papers.http.downloads import NEAR
from airqueue_papers.http.scenarios import LARGE, THINK_S, LargeAndSmall, Sessions
from airqueue_papers.http.users import AT_MEAN_SIZE, model_s, simulations
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart, apart_above, interval, percent, series
from airqueue_papers.picture import Panel, PaperFigure

NODES: Final = 21
BUFFER: Final = 30
"""B of Fig. 9, packets."""
_QUARTER: Final = 0.25
_FIFTH: Final = 0.2
WINDOWS: Final = {
    Budget.QUICK: (5, 15, 30, 35, 60, LARGE),
    Budget.FULL: (5, 10, 15, 20, 25, 30, 35, 60, LARGE),
}
_PRINTED_TO: Final = 35
"""End of the axis of Fig. 9."""

_SMALL: Final = Sessions(NODES, window=1)
_FIRST_COME: Final = Sessions(NODES)
_BY_TURNS: Final = Sessions(NODES, discipline="drr")
_FQ_CODEL: Final = Sessions(NODES, discipline="fq_codel")
_MIXED: Final = (
    LargeAndSmall(NODES, 1),
    LargeAndSmall(NODES, LARGE),
    LargeAndSmall(NODES, LARGE, "drr"),
)


_BUSIER_S: Final = 5.0
"""A possible think time of Fig. 9, whose own is not printed."""


def _finite(window: int, think_s: float = THINK_S) -> Sessions:
    return Sessions(NODES, window=window, limit=BUFFER, think_s=think_s)


def _runs_fig9(budget: Budget) -> Mapping[str, Run]:
    windows = WINDOWS[budget]
    busier = [_finite(window, _BUSIER_S) for window in (min(windows), BUFFER)]
    return simulations([*map(_finite, windows), *busier], budget)


def _by_window(outcomes: Outcomes) -> dict[int, Value]:
    cases = [_finite(window) for window in WINDOWS[Budget.FULL]]
    return {case.window: case.delay(outcomes) for case in cases if case.name in outcomes}


def _compare_fig9(outcomes: Outcomes) -> Iterable[Finding]:
    delays = _by_window(outcomes)
    low, top = delays[min(delays)], delays[BUFFER]
    beyond = {window: value for window, value in delays.items() if window > BUFFER}
    off = max(apart(value.mean, top.mean) for value in beyond.values())
    rise = top.mean / low.mean - 1
    busier = [_finite(window, _BUSIER_S).delay(outcomes) for window in (min(delays), BUFFER)]
    yield Finding(
        "http.fig9.shape",
        f"The mean delay is {interval(low)} s at W* = {min(delays)} and {interval(top)} s at W* = "
        f"B = {BUFFER}, {percent(rise, 0)} longer; beyond, it is at most {percent(off, 0)} away "
        f"from that; with pauses of {_BUSIER_S:g} s, as the figure's are not printed, it would be "
        f"{busier[0].mean:.3f} and {busier[1].mean:.3f} s, "
        f"{percent(busier[1].mean / busier[0].mean - 1, 0)} longer.",
        holds=rise >= _FIFTH and off <= _QUARTER,
    )
    means = [value.mean for value in beyond.values()]
    spread = max(means) / min(means) - 1
    yield Finding(
        "http.fig9.beyond",
        "Beyond B the mean delay is "
        + ", ".join(f"{value.mean:.3f} s (W* = {window})" for window, value in beyond.items())
        + f": {percent(spread, 0)} apart.",
        holds=spread <= _QUARTER,
    )


def _pictures_fig9(outcomes: Outcomes) -> Iterable[PaperFigure]:
    delays = {float(w): v for w, v in _by_window(outcomes).items() if w <= _PRINTED_TO}
    lines = (
        series("simulation", delays),
        series("model for small windows, Eq. (17)", dict.fromkeys(delays, model_s(NODES))),
    )
    panel = Panel("", "window W*, segments", "mean session delay, s", lines)
    title = "Session delay over the window, B = 30 packets, as Fig. 9"
    yield PaperFigure("http-fig9", title, (panel,))


def _compare_turns(outcomes: Outcomes) -> Iterable[Finding]:
    yield _large_and_small_files(outcomes)
    small, first, turns, fq_codel = (
        case.delay(outcomes) for case in (_SMALL, _FIRST_COME, _BY_TURNS, _FQ_CODEL)
    )
    error = apart(turns.mean, small.mean)
    yield Finding(
        "http.roundrobin",
        f"With W* = {LARGE} the mean delay is {interval(first)} s first come first served and "
        f"{interval(turns)} s by turns, {percent(error)} from the {interval(small)} s of W* = 1; "
        f"FQ-CoDel has {interval(fq_codel)} s.",
        holds=apart_above(first, turns) and error <= NEAR,
    )


def _large_and_small_files(outcomes: Outcomes) -> Finding:
    """One user of large files among users of small files: the paper's elephants and mice."""
    small, large = (
        [case.delay(outcomes, size) for case in _MIXED[:2]] for size in ("small", "large")
    )
    turns = [_MIXED[2].delay(outcomes, size) for size in ("small", "large")]
    return Finding(
        "http.mice",
        f"From W* = 1 to {LARGE} files of 10 MB go from {interval(large[0], digits=1)} to "
        f"{interval(large[1], digits=1)} s, and files of 16 kB of {NODES - 2} others from "
        f"{interval(small[0])} to {interval(small[1])} s; by turns W* = {LARGE} gives "
        f"{interval(turns[1], digits=1)} and {interval(turns[0])} s.",
        holds=apart_above(small[1], small[0]) and apart_above(large[0], large[1]),
    )


def _pictures_turns(outcomes: Outcomes) -> Iterable[PaperFigure]:
    cases = {
        "W* = 1": _SMALL,
        "W* = 1000": _FIRST_COME,
        "W* = 1000, by turns": _BY_TURNS,
        "W* = 1000, FQ-CoDel": _FQ_CODEL,
    }
    means = series(
        "simulation", {label: c.delay(outcomes) for label, c in cases.items()}, style="bars"
    )
    mixed = dict(zip(cases, _MIXED, strict=False))
    panels = [Panel("Pareto sizes", "", "mean session delay, s", (means,))]
    for size, title in (("small", "files of 16 kB, beside"), ("large", "files of 10 MB")):
        delays = {label: case.delay(outcomes, size) for label, case in mixed.items()}
        line = series("simulation", delays, style="bars")
        panels.append(Panel(title, "", "mean session delay, s", (line,)))
    yield PaperFigure("http-roundrobin", "Small windows, or sharing by turns", tuple(panels))


def _runs_turns(budget: Budget) -> Mapping[str, Run]:
    mixed = {case.name: case.simulation(budget) for case in _MIXED}
    return {**simulations((_SMALL, _FIRST_COME, _BY_TURNS, _FQ_CODEL), budget), **mixed}


FIG9: Final = Item(
    "fig9",
    "Session delay over the window with a finite buffer (Fig. 9)",
    _compare_fig9,
    _runs_fig9,
    _pictures_fig9,
    (
        AT_MEAN_SIZE,
        "B counts as ns-2's limits do, the packet in the MAC included. The printed axis ends at 35; "
        "60 and 1000 are run for the statement on all larger windows.",
    ),
)
ROUND_ROBIN: Final = Item(
    "roundrobin",
    "Small windows, or sharing by turns at the access point (Sec. 4.2)",
    _compare_turns,
    _runs_turns,
    _pictures_turns,
    (
        AT_MEAN_SIZE,
        f"{NODES} nodes and Pareto sizes; by turns is deficit round robin over connections with "
        "queues that lose nothing, as the others but FQ-CoDel's have them.",
    ),
)
