"""HTTP paper, Figs 4 and 5: the total throughput of many unlimited downloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from airqueue import text
from airqueue.models.tcp_capacity import collision, collision_free
from airqueue_papers import ns2
from airqueue_papers.finding import Finding, Value
from airqueue_papers.http.scenarios import LARGE, Downloads
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart, furthest, grows, interval, percent, series
from airqueue_papers.picture import Panel, PaperFigure, Series

CONNECTIONS: Final = (1, 2, 3, 5, 8, 10, 15, 20, 30, 40)
ACKS: Final = (1, 2, 3, 4, 5)
TEN: Final = 10
FEW: Final = 5
MANY: Final = 40
NEAR: Final = 0.1
"""A tenth: our reading of "well", "good match" and "similar", by the claims' notes."""
_BOUND: Final = 0.02
_TIGHT: Final = 0.25
"""How far outside of bounds a value may be, and how far apart tight bounds, by the claim's note."""
_NS2_LIMIT: Final = 50
"""ns-2's default limit of a queue."""

ONE: Final = tuple(Downloads(n, window=1) for n in CONNECTIONS)
MANY_SEGMENTS: Final = tuple(Downloads(n) for n in CONNECTIONS)
LOSING: Final = tuple(Downloads(n, limit=_NS2_LIMIT) for n in CONNECTIONS)
SMALL_AND_LARGE: Final = (*ONE, *MANY_SEGMENTS)
_TEN_BY_D: Final = tuple(Downloads(TEN, d=d) for d in ACKS)


def present(outcomes: Outcomes, cases: Sequence[Downloads]) -> list[Downloads]:
    """Return the cases to run."""
    return [case for case in cases if case.name in outcomes]


@cache
def model_mbps(connections: float, d: float = 1) -> tuple[float, float]:
    """Return the capacity by the collision model and by the collision-free one, Eqs (10)-(12)."""
    contended = float(collision(connections, d).aggregate_bps) / 1e6
    return contended, float(collision_free(connections, d).aggregate_bps) / 1e6


def reference(case: Downloads) -> float | None:
    """Return the result of ns-2 for a case, in Mb/s."""
    found = ns2.downloads_bps(case.connections, case.window, case.d)
    return None if found is None else found / 1e6


def _runs_fig4(budget: Budget) -> Mapping[str, Run]:
    return {case.name: case.simulation(budget) for case in (*SMALL_AND_LARGE, *LOSING)}


def _runs_fig5(budget: Budget) -> Mapping[str, Run]:
    return {case.name: case.simulation(budget) for case in _TEN_BY_D}


def compare_fig4(
    outcomes: Outcomes,
    model: Callable[[float], tuple[float, float]] = model_mbps,
    contenders: Callable[[int], float] = lambda connections: 1 + connections / 2,
) -> Iterable[Finding]:
    """Find the claims of Fig. 4, also with another model and another number of contending nodes."""
    simulated = {case.connections: case.throughput(outcomes).mean for case in MANY_SEGMENTS}
    few = {n: (model(n)[0], simulated[n]) for n in CONNECTIONS if n <= FEW}
    n, error = furthest(few)
    yield Finding(
        "http.fig4.small",
        f"Up to {FEW} connections Eq. (10) is within {percent(error)} of the simulation with "
        f"W* = {LARGE} (furthest at {n}: {few[n][0]:.3f} and {few[n][1]:.3f} Mb/s).",
        holds=error <= NEAR,
    )
    contended, token = model(MANY)
    at_most = apart(token, simulated[MANY])
    yield Finding(
        "http.fig4.large",
        f"With {MANY} connections Eq. (9) gives {token:.3f} Mb/s, {percent(at_most)} from the "
        f"simulation's {simulated[MANY]:.3f}, and Eq. (10) {contended:.3f}, "
        f"{percent(apart(contended, simulated[MANY]))} from it.",
        holds=at_most <= NEAR and at_most < apart(contended, simulated[MANY]),
    )
    yield _bounds(simulated, model)
    yield from _about_the_models(outcomes, model, contenders)


def _bounds(
    simulated: Mapping[int, float], model: Callable[[float], tuple[float, float]]
) -> Finding:
    both = {n: sorted(model(n)) for n in simulated}
    outside = {
        n: max(low - simulated[n], simulated[n] - high, 0.0) / simulated[n]
        for n, (low, high) in both.items()
    }
    far = max(outside, key=lambda n: outside[n])
    wide = max(both, key=lambda n: both[n][1] / both[n][0])
    width = both[wide][1] / both[wide][0] - 1
    return Finding(
        "http.fig4.bounds",
        f"The simulation is at most {percent(outside[far])} outside of Eqs (9) and (10), with "
        f"{text.plural(far, 'connection')} ({simulated[far]:.3f} Mb/s, and {both[far][0]:.3f} to "
        f"{both[far][1]:.3f}); the two are at most {percent(width)} apart, with {wide}.",
        holds=max(outside.values()) <= _BOUND and width <= _TIGHT,
    )


def _about_the_models(
    outcomes: Outcomes,
    model: Callable[[float], tuple[float, float]],
    contenders: Callable[[int], float],
) -> Iterable[Finding]:
    crossing = next((n for n in range(2, 100) if model(n)[0] < model(n)[1]), None)
    where = "nowhere below 100" if crossing is None else f"at {crossing}"
    yield Finding(
        "http.order_small",
        f"Eq. (10) gives {model(2)[0]:.3f} Mb/s and Eq. (9) {model(2)[1]:.3f} with two "
        f"connections; it first gives less {where}.",
        holds=crossing is not None and crossing > TEN,
    )
    ten = Downloads(TEN, window=1)
    found, printed = ten.backlogged(outcomes), contenders(TEN)
    near = apart(found.mean, printed) <= 0.25
    why = (
        ""
        if near
        else ": the access point wins no more often than a station that has an acknowledgement, so "
        f"{TEN + 1 - found.mean:.1f} of the {TEN} packets wait in its queue and about one at the "
        "stations, however many there are"
    )
    yield Finding(
        "http.nb_multi",
        f"With {TEN} connections and W* = 1 the simulation has {interval(found, digits=2)} nodes "
        f"that contend, the formula {printed:g}{why}.",
        holds=near,
    )


def _compare_fig5(outcomes: Outcomes) -> Iterable[Finding]:
    found = {case.d: case.throughput(outcomes).mean for case in _TEN_BY_D}
    outside = {}
    for d, ours in found.items():
        low, high = sorted(model_mbps(TEN, d))
        outside[d] = max(low - ours, ours - high, 0.0) / ours
    worst = max(outside, key=lambda d: outside[d])
    yield Finding(
        "http.fig5.gain",
        f"Ten connections carry {', '.join(f'{found[d]:.3f}' for d in ACKS)} Mb/s for d = 1 to 5, "
        f"at most {percent(outside[worst])} outside of Eqs (11) and (12).",
        holds=grows(found.values()) and outside[worst] <= NEAR,
    )


def throughputs(outcomes: Outcomes, cases: Sequence[Downloads], key: str) -> dict[float, Value]:
    """Return the throughput in Mb/s over a field of the cases."""
    return {
        float(getattr(case, key)): case.throughput(outcomes) for case in present(outcomes, cases)
    }


def references(cases: Iterable[Downloads], key: str) -> dict[float, float]:
    """Return the available results of ns-2 in Mb/s over a field of the cases."""
    found = {float(getattr(case, key)): reference(case) for case in cases}
    return {x: value for x, value in found.items() if value is not None}


def _pictures_fig4(outcomes: Outcomes) -> Iterable[PaperFigure]:
    axis = tuple(float(n) for n in range(1, MANY + 1))
    lines = (
        series("collision model, Eq. (10)", {n: model_mbps(n)[0] for n in axis}),
        series("collision-free model, Eq. (9)", {n: model_mbps(n)[1] for n in axis}),
        _points("simulation, W* = 1000", outcomes, MANY_SEGMENTS),
        _points("simulation, W* = 1", outcomes, ONE),
        _points(f"simulation, W* = 1000, queue of {_NS2_LIMIT} packets", outcomes, LOSING),
        series("ns-2.35, W* = 1000", references(MANY_SEGMENTS, "connections"), style="points"),
    )
    panel = Panel("", "connections n_c", "throughput of all, Mb/s", lines)
    yield PaperFigure("http-fig4", "Throughput over connections, as Fig. 4", (panel,))


def _points(label: str, outcomes: Outcomes, cases: Sequence[Downloads]) -> Series:
    return series(label, throughputs(outcomes, cases, "connections"), style="points")


def _pictures_fig5(outcomes: Outcomes) -> Iterable[PaperFigure]:
    axis = [float(d) for d in ACKS]
    lines = (
        series("collision model, Eq. (12)", {d: model_mbps(TEN, d)[0] for d in axis}),
        series("collision-free model, Eq. (11)", {d: model_mbps(TEN, d)[1] for d in axis}),
        series("simulation, W* = 1000", throughputs(outcomes, _TEN_BY_D, "d"), style="points"),
        series("ns-2.35, W* = 1000", references(_TEN_BY_D, "d"), style="points"),
    )
    panel = Panel("", "segments per acknowledgement d", "throughput of all, Mb/s", lines)
    yield PaperFigure("http-fig5", "Ten connections over d, as Fig. 5", (panel,))


FIG4: Final = Item(
    "fig4",
    "Throughput over the number of connections (Fig. 4)",
    compare_fig4,
    _runs_fig4,
    _pictures_fig4,
    (
        "The paper does not print its queues' limits. The claims are judged with queues that lose "
        "nothing; a limit of 50 packets, ns-2's default, is drawn beside them.",
        "The third curve of Fig. 4, a model of others that the authors modified, is left out: the "
        "paper does not print the modification.",
        "Eq. (3) as printed counts the backoff of a collision twice, which lets Eq. (10) fall as "
        "stations are added; counted once it stays within 4 % of ns-2 up to 40 "
        "(`airqueue model tcp-capacity` with `collision_cost=corrected`).",
    ),
)
FIG5: Final = Item(
    "fig5",
    "Throughput of ten connections over the delayed-ACK parameter (Fig. 5)",
    _compare_fig5,
    _runs_fig5,
    _pictures_fig5,
    (
        "Acknowledgements that wait are sent at every multiple of 40 ms, as ns-2's FullTcp does; "
        "the paper does not say which of its agents it used.",
    ),
)
