"""HTTP paper, Figs 7, 8 and 10: the session delay of many users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np

from airqueue.description_words import AckEveryValue, SizeDistributionName, ThinkDistributionName
from airqueue.models.web_session import session_delay
from airqueue_papers import ns2
from airqueue_papers.finding import Finding, Value
from airqueue_papers.http.downloads import NEAR
from airqueue_papers.http.scenarios import LARGE, MEAN_BYTES, THINK_S, Sessions
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart, apart_above, furthest, interval, percent, series
from airqueue_papers.picture import Panel, PaperFigure, Series

_BITS: Final = 8.0 * MEAN_BYTES
NODES: Final = {Budget.QUICK: (2, 11, 21, 51), Budget.FULL: (2, 6, 11, 16, 21, 26, 31, 41, 51)}
MOST: Final = 51
"""Nodes of the largest cell; the printed axis ends near it."""
_LAWS: Final = ("exponential", "pareto")
_WINDOWS: Final = (1, LARGE)
_MIDDLE: Final = 21
_ANY_LAW: Final = tuple(Sessions(_MIDDLE, law, 1) for law in (*_LAWS, "constant"))
_PAUSES: Final[tuple[ThinkDistributionName, ...]] = (
    "exponential",
    "pareto",
    "constant",
    "lognormal",
)
_ANY_PAUSE: Final = tuple(Sessions(_MIDDLE, window=1, pauses=law) for law in _PAUSES)
THINK: Final = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0)
_ELEVEN: Final = tuple(Sessions(11, window=1, think_s=think) for think in THINK)
SCHEMES: Final[tuple[AckEveryValue, ...]] = (1, 2, 3, "dynamic")
_GAIN: Final = 0.1
_MUCH: Final = 1.2


def _of(law: SizeDistributionName, window: int, outcomes: Outcomes) -> dict[int, Sessions]:
    """Return the cells run with a size law and a window, by their nodes."""
    cases = (Sessions(nodes, law, window) for nodes in NODES[Budget.FULL])
    return {case.nodes: case for case in cases if case.name in outcomes}


def _delays(cases: Mapping[int, Sessions], outcomes: Outcomes) -> dict[float, Value]:
    return {float(x): case.delay(outcomes) for x, case in cases.items()}


@cache
def model_s(nodes: float, think_s: float = THINK_S, cost: str = "printed") -> float:
    """Return Eq. (17) with the collision model."""
    return float(session_delay(nodes, think_s, _BITS, collision_cost=cost).mean_s)


def _curve(
    nodes: Sequence[float] | float, think_s: Sequence[float] | float, cost: str = "printed"
) -> dict[float, float]:
    """Return `model_s` over nodes or think times, whichever is a sequence."""
    solved = session_delay(nodes, think_s, _BITS, collision_cost=cost)
    axis = nodes if isinstance(nodes, Sequence) else think_s
    return dict(zip(np.atleast_1d(axis).tolist(), solved.mean_s.tolist(), strict=True))


def simulations(cases: Iterable[Sessions], budget: Budget) -> Mapping[str, Run]:
    """Return runs in which every user fetches 300 files as in Fig. 7, with a small budget 100."""
    return {case.name: case.simulation(budget.pick(100, 300), 5) for case in cases}


def _runs_fig7(budget: Budget) -> Mapping[str, Run]:
    cases = [Sessions(n, law, w) for n in NODES[budget] for law in _LAWS for w in _WINDOWS]
    return simulations((*cases, *_ANY_LAW, *_ANY_PAUSE), budget)


def compare_fig7(outcomes: Outcomes, model: Callable[..., float] = model_s) -> Iterable[Finding]:
    """Find the claims of Fig. 7, also with another model of the arguments of `model_s`."""
    found = {
        (law, window): _delays(_of(law, window, outcomes), outcomes)
        for law in _LAWS
        for window in _WINDOWS
    }
    small = {law: found[law, 1] for law in _LAWS}
    pairs = {(law, n): (model(n), small[law][n].mean) for law in _LAWS for n in small[law]}
    (law, n), error = furthest(pairs)
    once = apart(model(n, cost="corrected"), pairs[law, n][1])
    yield Finding(
        "http.fig7.model",
        f"Eq. (17) is furthest at {n:.0f} nodes with {law} sizes, {percent(error)} from the "
        f"simulation ({pairs[law, n][0]:.4f} and {interval(small[law][n], digits=4)} s); with the "
        f"cost of a collision counted once, where Eq. (3) counts its backoff twice, "
        f"{percent(once)}.",
        holds=error <= NEAR,
    )
    yield from _insensitive(outcomes, small)
    yield from _windows(found)


def _insensitive(
    outcomes: Outcomes, small: Mapping[str, Mapping[float, Value]]
) -> Iterable[Finding]:
    both = {n: (small["pareto"][n].mean, small["exponential"][n].mean) for n in small["pareto"]}
    n, error = furthest(both)
    yield Finding(
        "http.fig7.insens",
        f"With W* = 1 the two laws are at most {percent(error)} apart, at {n:.0f} nodes "
        f"(Pareto {both[n][0]:.4f}, exponential {both[n][1]:.4f} s).",
        holds=error <= NEAR,
    )
    means = {case.law: case.delay(outcomes).mean for case in _ANY_LAW}
    spread = max(means.values()) / min(means.values()) - 1
    yield Finding(
        "http.insens",
        f"With {_MIDDLE} nodes and W* = 1 the mean delay is "
        + ", ".join(f"{value:.4f} s ({law})" for law, value in means.items())
        + f": {percent(spread)} apart.",
        holds=spread <= NEAR,
    )
    paused = {case.pauses: case.delay(outcomes) for case in _ANY_PAUSE}
    spread = max(each.mean for each in paused.values()) / min(each.mean for each in paused.values())
    yield Finding(
        "http.insens.think",
        f"With {_MIDDLE} nodes, Pareto sizes and W* = 1 the mean delay is "
        + ", ".join(f"{interval(value, digits=4)} s ({law})" for law, value in paused.items())
        + f" by the law of think times: {percent(spread - 1)} apart.",
        holds=spread - 1 <= NEAR,
    )


def _windows(found: Mapping[tuple[str, int], Mapping[float, Value]]) -> Iterable[Finding]:
    small, large = found["exponential", 1], found["exponential", LARGE]
    n, error = furthest({n: (large[n].mean, small[n].mean) for n in small})
    yield Finding(
        "http.fig7.exponential",
        f"With exponential sizes W* = {LARGE} is at most {percent(error)} away from W* = 1, at "
        f"{n:.0f} nodes ({large[n].mean:.4f} and {small[n].mean:.4f} s).",
        holds=error <= NEAR,
    )
    one, thousand = found["pareto", 1][MOST], found["pareto", LARGE][MOST]
    yield Finding(
        "http.fig7.pareto",
        f"With Pareto sizes and {MOST} nodes W* = {LARGE} gives {interval(thousand)} s, "
        f"{thousand.mean / one.mean:.1f} times the {interval(one)} s of W* = 1.",
        holds=thousand.mean >= _MUCH * one.mean and apart_above(thousand, one),
    )


def _pictures_fig7(outcomes: Outcomes) -> Iterable[PaperFigure]:
    axis = [float(n) for n in range(2, MOST + 1)]
    lines: list[Series] = [series("model, Eq. (17)", _curve(axis, THINK_S))]
    for law in _LAWS:
        for window in _WINDOWS:
            cases = _of(law, window, outcomes)
            label = f"{law}, W* = {window}"
            lines.append(series(f"simulation, {label}", _delays(cases, outcomes), style="points"))
    references = {
        float(users + 1): found
        for users in (1, 5, 10, 15, 20)
        if (found := ns2.session_s(users, "pareto", LARGE)) is not None
    }
    lines.append(series(f"ns-2.35, pareto, W* = {LARGE}", references, style="points"))
    panel = Panel("", "nodes n, access point included", "mean session delay, s", tuple(lines))
    yield PaperFigure("http-fig7", "Session delay over the number of nodes, as Fig. 7", (panel,))


def compare_fig8(outcomes: Outcomes, model: Callable[..., float] = model_s) -> Iterable[Finding]:
    """Find the claim of Fig. 8, also with another model of the arguments of `model_s`."""
    pairs = {case.think_s: (model(11, case.think_s), case.delay(outcomes).mean) for case in _ELEVEN}
    think, error = furthest(pairs)
    once = apart(model(11, think, "corrected"), pairs[think][1])
    yield Finding(
        "http.fig8.load",
        f"Eq. (17) is furthest at a think time of {think:g} s, {percent(error)} from the simulation "
        f"({pairs[think][0]:.4f} and {pairs[think][1]:.4f} s), and {percent(once)} with the cost of "
        "a collision counted once.",
        holds=error <= 0.25,
    )


def _pictures_fig8(outcomes: Outcomes) -> Iterable[PaperFigure]:
    axis = [0.1 * k for k in range(10, 201, 2)]
    lines = (
        series("model, Eq. (17)", _curve(11, axis)),
        series("model, collisions counted once", _curve(11, axis, "corrected")),
        series("simulation", {c.think_s: c.delay(outcomes) for c in _ELEVEN}, style="points"),
    )
    panel = Panel("", "mean think time, s", "mean session delay, s", lines)
    yield PaperFigure("http-fig8", "Session delay over the think time, as Fig. 8", (panel,))


def _schemes(d: AckEveryValue, outcomes: Outcomes) -> dict[int, Sessions]:
    cases = (Sessions(nodes, d=d) for nodes in NODES[Budget.FULL])
    return {case.nodes: case for case in cases if case.name in outcomes}


def _compare_fig10(outcomes: Outcomes) -> Iterable[Finding]:
    most = {d: _schemes(d, outcomes)[MOST].delay(outcomes) for d in SCHEMES}
    shorter = {d: 1 - most[d].mean / most[1].mean for d in SCHEMES[1:]}
    yield Finding(
        "http.fig10.gain",
        f"With {MOST} nodes d = 1 takes {interval(most[1])} s; d = 2 is {percent(shorter[2], 0)} "
        f"shorter, d = 3 {percent(shorter[3], 0)}, and the dynamic scheme "
        f"{percent(shorter['dynamic'], 0)}.",
        holds=min(shorter[2], shorter[3]) >= _GAIN
        and all(apart_above(most[1], most[d]) for d in (2, 3)),
    )


def _pictures_fig10(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = tuple(
        series(
            "dynamic scheme" if d == "dynamic" else f"d = {d}",
            _delays(_schemes(d, outcomes), outcomes),
        )
        for d in SCHEMES
    )
    panel = Panel("", "nodes n, access point included", "mean session delay, s", lines)
    yield PaperFigure("http-fig10", "Session delay with delayed ACK, as Fig. 10", (panel,))


def _runs_fig10(budget: Budget) -> Mapping[str, Run]:
    return simulations([Sessions(n, d=d) for n in NODES[budget] for d in SCHEMES], budget)


AT_MEAN_SIZE: Final = (
    "Delays are scaled to the mean size of files: each run's mean, without handshake and last timer, "
    "over its mean number of segments, times the expected number."
)
FIG7: Final = Item(
    "fig7",
    "Session delay over the number of nodes (Fig. 7)",
    compare_fig7,
    _runs_fig7,
    _pictures_fig7,
    (
        AT_MEAN_SIZE,
        "Five runs of 300 files for each user, the printed number, or of 100 with the quick budget. "
        "Results of Pareto sizes with large windows still scatter, as the intervals show: a single "
        "file of tens of megabytes delays all others of its run.",
        "Think times are exponential: the simulation has no other distribution of pauses.",
    ),
)
FIG8: Final = Item(
    "fig8",
    "Session delay over the think time (Fig. 8)",
    compare_fig8,
    lambda budget: simulations(_ELEVEN, budget),
    _pictures_fig8,
    (AT_MEAN_SIZE,),
)
FIG10: Final = Item(
    "fig10",
    "Session delay with delayed acknowledgements over the number of nodes (Fig. 10)",
    _compare_fig10,
    _runs_fig10,
    _pictures_fig10,
    (
        AT_MEAN_SIZE,
        "Initial windows are d segments, and two with d = 1 and the dynamic scheme.",
    ),
)
