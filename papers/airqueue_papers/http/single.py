"""HTTP paper, Figs 3, 12, 13 and the gain with 802.11a: one unlimited download."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from airqueue.models.http_timing import DOT11A, DOT11B
from airqueue.models.tcp_capacity import collision_free, single_station_bps
from airqueue.models.tcp_window import tcp_window
from airqueue_papers.finding import Finding, Value
from airqueue_papers.http.downloads import ACKS, NEAR, references, throughputs
from airqueue_papers.http.scenarios import LARGE, SEGMENT_BITS, Downloads
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart_above, furthest, grows, percent, series
from airqueue_papers.picture import Panel, PaperFigure

WINDOWS: Final = (1, 2, 3, 4, 6, 10, 20, 50, 100, LARGE)
_LARGE: Final = tuple(Downloads(d=d) for d in ACKS)
_SMALL: Final = tuple(Downloads(window=d, d=d) for d in ACKS)
_BY_WINDOW: Final = tuple(Downloads(window=window) for window in WINDOWS)
_FAST: Final = tuple(Downloads(d=d, layer="802.11a") for d in (1, 2))


def _mbps(d: float, *, large: bool) -> float:
    """Return Eq. (8), or with W* = d Eq. (11) for one connection."""
    bps = single_station_bps(d) if large else collision_free(1, d).aggregate_bps
    return float(bps) / 1e6


def _runs(cases: Sequence[Downloads], budget: Budget) -> Mapping[str, Run]:
    return {case.name: case.simulation(budget) for case in cases}


def compare_fig3(outcomes: Outcomes, delayed: int = 2) -> Iterable[Finding]:
    """Find the claims of Fig. 3; ``delayed``: d of the formulas' gain, 1 for none."""
    pairs = {c.d: (_mbps(c.d, large=True), c.throughput(outcomes).mean) for c in _LARGE}
    d, error = furthest(pairs)
    yield Finding(
        "http.fig3.d",
        f"The simulation carries {_listed(pair[1] for pair in pairs.values())} Mb/s for d = 1 to "
        f"5; Eq. (8) is within {percent(error)} (furthest at d = {d}, {pairs[d][0]:.3f}).",
        holds=grows(pair[1] for pair in pairs.values()) and error <= NEAR,
    )
    yield from _gains(outcomes, delayed)


def _gains(outcomes: Outcomes, d: int) -> Iterable[Finding]:
    """Yield the findings on the gain of d = 2 with 802.11a, which is printed, and with 802.11b."""
    plain, delayed = single_station_bps([1, d], DOT11A).tolist()
    fast = delayed / plain - 1
    slow = _mbps(d, large=True) / _mbps(1, large=True) - 1
    simulated_fast = _gain(outcomes, _FAST)
    simulated_slow = _gain(outcomes, _LARGE)
    yield Finding(
        "http.gain11a",
        f"Eq. (8) with the standard's 802.11a gives {percent(fast)}, and the simulation of such a "
        f"cell {percent(simulated_fast)}; the paper prints the two rates and no other parameter.",
        (Value(100 * fast),),
        holds=fast > slow,
    )
    yield Finding(
        "http.fig3.rate",
        f"The gain of d = 2 is {percent(fast)} with 802.11a and {percent(slow)} with 802.11b by "
        f"Eq. (8), and {percent(simulated_fast)} and {percent(simulated_slow)} in the simulation.",
        holds=fast > slow and simulated_fast > simulated_slow,
    )


def _gain(outcomes: Outcomes, cases: Sequence[Downloads]) -> float:
    plain, delayed = (case.throughput(outcomes).mean for case in cases[:2])
    return delayed / plain - 1


def _compare_fig12(outcomes: Outcomes) -> Iterable[Finding]:
    phi = tcp_window(WINDOWS).contention_s.tolist()
    found = [case.throughput(outcomes) for case in _BY_WINDOW]
    simulated = [value.mean for value in found]
    few, many = simulated[0], simulated[-1]
    falls = grows(-each for each in phi)
    # Above some ten segments throughputs differ by less than their intervals.
    yield Finding(
        "http.fig12.phi",
        f"phi falls from {1e6 * phi[0]:.0f} us at W* = 1 to {1e6 * phi[-1]:.0f} us at {LARGE}, "
        f"and the simulation carries {few:.3f} and {many:.3f} Mb/s, {percent(many / few - 1)} more.",
        holds=falls and apart_above(found[-1], found[0]) and few == min(simulated),
    )


def _compare_fig13(outcomes: Outcomes) -> Iterable[Finding]:
    small = {c.d: (_mbps(c.d, large=False), c.throughput(outcomes).mean) for c in _SMALL}
    large = {c.d: (_mbps(c.d, large=True), c.throughput(outcomes).mean) for c in _LARGE}
    errors = [furthest(small)[1], furthest(large)[1]]
    more = {d: large[d][1] / small[d][1] - 1 for d in ACKS}
    gains = [
        apart_above(many.throughput(outcomes), few.throughput(outcomes))
        for few, many in zip(_SMALL, _LARGE, strict=True)
    ]
    theory = all(large[d][0] > small[d][0] for d in ACKS)
    yield Finding(
        "http.fig13.window",
        f"W* = {LARGE} carries {percent(more[ACKS[0]])} more than W* = d at d = 1 and "
        f"{percent(more[ACKS[-1]])} more at d = 5 in the simulation, from which the formulas are at "
        f"most {percent(max(errors))} away.",
        holds=theory and all(gains) and max(errors) <= NEAR,
    )


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _pictures_fig3(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = (
        series("Eq. (8)", {float(d): _mbps(d, large=True) for d in range(1, 11)}),
        series("simulation, W* = 1000", throughputs(outcomes, _LARGE, "d"), style="points"),
        series("ns-2.35, W* = 1000", references(_LARGE, "d"), style="points"),
    )
    panel = Panel("", "segments per acknowledgement d", "throughput, Mb/s", lines)
    yield PaperFigure("http-fig3", "One connection over d, as Fig. 3", (panel,))


def _pictures_fig12(outcomes: Outcomes) -> Iterable[PaperFigure]:
    exchanges = float(DOT11B.data_exchange_s + DOT11B.ack_exchange_s)
    axis = [float(window) for window in WINDOWS]
    solved = dict(zip(axis, (1e6 * tcp_window(axis).contention_s).tolist(), strict=True))
    left = {
        window: 1e6 * (SEGMENT_BITS / (1e6 * value.mean) - exchanges)
        for window, value in throughputs(outcomes, _BY_WINDOW, "window").items()
    }
    lines = (
        series("phi(W*), Eq. (20)", solved),
        series("simulation: time of a segment without its frames", left, style="points"),
    )
    panel = Panel("", "window W*, segments", "contention per segment, us", lines, log_x=True)
    yield PaperFigure("http-fig12", "Time lost in contention over the window, as Fig. 12", (panel,))


def _pictures_fig13(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = [
        line
        for cases, large, label in ((_SMALL, False, "W* = d"), (_LARGE, True, "W* = 1000"))
        for line in (
            series(f"formula, {label}", {float(d): _mbps(d, large=large) for d in ACKS}),
            series(f"simulation, {label}", throughputs(outcomes, cases, "d"), style="points"),
            series(f"ns-2.35, {label}", references(cases, "d"), style="points"),
        )
    ]
    panel = Panel("", "segments per acknowledgement d", "throughput, Mb/s", tuple(lines))
    yield PaperFigure("http-fig13", "Two windows over d, as Fig. 13", (panel,))


FIG3: Final = Item(
    "fig3",
    "One connection over the delayed-ACK parameter (Fig. 3), and the gain with 802.11a",
    compare_fig3,
    lambda budget: _runs((*_LARGE, *_FAST), budget),
    _pictures_fig3,
    (
        "The last term of Eq. (8) as printed lacks T_slot, which is added here.",
        "Of 802.11a the paper prints 54 and 6 Mb/s. The rest is IEEE 802.11's: a window of 16, "
        "slots of 9 us, whole symbols, TCP acknowledgements at 54 Mb/s.",
    ),
)
FIG12: Final = Item(
    "fig12",
    "Time lost in contention over the window (Fig. 12)",
    _compare_fig12,
    lambda budget: _runs(_BY_WINDOW, budget),
    _pictures_fig12,
    (
        "The simulation's points are the time of a segment and its acknowledgement without the "
        "frames that Table 1 makes of them. Its RTS has 160 bits, as in the standard and in ns-2, "
        "which is 20 us less for each segment than Table 1 says, and its first backoff is 15 slots "
        "and not 15.5 on average. Most of the rest comes from backoffs of both ends "
        "that run at the same time, where the formula has one after the other.",
    ),
)
FIG13: Final = Item(
    "fig13",
    "Windows of d and of 1000 segments (Fig. 13)",
    _compare_fig13,
    lambda budget: _runs((*_SMALL, *_LARGE), budget),
    _pictures_fig13,
)
