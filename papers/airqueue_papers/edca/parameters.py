"""EDCA paper, Figs 3 to 5: the effect of TXOP, AIFS and CWmin on two saturated stations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from airqueue.description_words import CountdownName
from airqueue.models.airtime import FCS_BYTES, LLC_SNAP_BYTES, QOS_HEADER_BYTES, exchange
from airqueue.models.battiti_li import battiti_li
from airqueue.models.edca_txop import packets_per_txop, step_s
from airqueue.models.phy_names import phy
from airqueue_papers.edca.figures import found, runs
from airqueue_papers.edca.scenarios import IP_BYTES, WINDOW, Access, Pair
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart, furthest, interval, percent, series
from airqueue_papers.picture import Panel, PaperFigure

LONGEST_US: Final = 8192
"""Largest TXOP: as many units of 32 us as the driver's eight bits hold."""
GRID_US: Final = {Budget.QUICK: 128, Budget.FULL: 64}
"""Step between the TXOPs tried."""
AIFS: Final = tuple(range(21))
WINDOWS: Final = tuple(1 << k for k in range(1, 11))
NEAR: Final = 0.1
_EDGE: Final = 0.02
_PACKET: Final = 0.05
_ROUGHLY: Final = 1.5
_LEAST_WINDOW: Final = 8
RULES: Final[Mapping[CountdownName, str]] = {
    "edca": "simulation, EDCA countdown",
    "freeze": "simulation, counters freeze",
}
_LAYERS: Final = {
    # Name, preamble in `phy`, rate of acknowledgements.
    "the long preamble and acknowledgements at 2 Mb/s": ("b", 2e6),
    "the short one and 2 Mb/s": ("b-short", 2e6),
}


def _txop(us: int) -> Pair:
    return Pair(Access(txop=f"{us} us"))


def _aifs(slots: int, rule: CountdownName = "edca") -> Pair:
    return Pair(Access(aifs_slots=slots), rule)


def _window(values: int, rule: CountdownName = "edca") -> Pair:
    return Pair(Access(window=values), rule)


def ratio(outcomes: Outcomes, pair: Pair) -> Value:
    """Return packets of the second station for each of the first."""
    return found(
        run["flows"]["second"]["delivered_packets"] / run["flows"]["first"]["delivered_packets"]
        for run in runs(outcomes[pair.name])
    )


@cache
def _packet_us(layer: str = "b-short", control_bps: float = 11e6) -> tuple[float, float, float]:
    """Return frame, acknowledgement and SIFS of a packet in us."""
    timing = phy(layer)
    size = IP_BYTES + QOS_HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES
    times = exchange(timing, size, 11e6, control_rate_bps=control_bps)
    frame, response = float(times.frame_s), float(times.response_s)
    return 1e6 * frame, 1e6 * (response - timing.sifs_s), 1e6 * timing.sifs_s


def _step_us(layer: str = "b-short", control_bps: float = 11e6) -> float:
    return float(step_s(*(each * 1e-6 for each in _packet_us(layer, control_bps)))) * 1e6


def _fit(txop_us: float) -> float:
    """Return the packets that fit a TXOP by the formula."""
    return float(packets_per_txop(txop_us * 1e-6, *(each * 1e-6 for each in _packet_us())))


def _tried(outcomes: Outcomes) -> dict[int, Value]:
    """Return the ratio by TXOP in us."""
    every = range(0, LONGEST_US + 1, GRID_US[Budget.FULL])
    return {us: ratio(outcomes, _txop(us)) for us in every if _txop(us).name in outcomes}


def measured_step_us(ratios: Mapping[int, Value]) -> float:
    """Return the mean distance of the TXOPs at which the ratio rounds to the next number."""
    edges: dict[int, float] = {}
    below = 0
    for us, value in ratios.items():
        edges.setdefault(round(value.mean), (below + us) / 2)
        below = us
    counts = sorted(count for count in edges if count > 1)
    if len(counts) < 2:
        return 0.0
    return (edges[counts[-1]] - edges[counts[0]]) / (counts[-1] - counts[0])


def _compare_txop(outcomes: Outcomes) -> Iterable[Finding]:
    ratios = _tried(outcomes)
    step = measured_step_us(ratios)
    others = ", ".join(f"{_step_us(*layer):.0f} us with {name}" for name, layer in _LAYERS.items())
    yield Finding(
        "edca.fig3.step",
        f"The ratio rises by one every {step:.0f} us; frame, acknowledgement and two SIFS take "
        f"{_step_us():.0f} us with the short preamble and acknowledgements at 11 Mb/s, which the "
        f"paper does not print, and {others}.",
        (Value(step),),
        holds=step > 0,
    )
    width = _EDGE * _step_us()
    clear = {us: (value.mean, _fit(us)) for us, value in ratios.items() if _clear(us, width)}
    us, error = furthest(clear)
    yield Finding(
        "edca.fig3.shape",
        f"Over {len(clear)} TXOPs up to {LONGEST_US} us the ratio is at most {percent(error)} from "
        f"the number of packets that fit (at {us} us: {clear[us][0]:.2f} and {clear[us][1]:.0f}).",
        holds=error <= _PACKET,
    )


def _clear(us: float, width: float) -> bool:
    """Return whether every edge of a step is at least ``width`` away."""
    return _fit(max(us - width, 0)) == _fit(us + width)


def _model(access: Access) -> float:
    """Return the second station's packets for each of the first, by Battiti and Li."""
    largest = [WINDOW - 1, access.window - 1]
    solved = battiti_li([1, 1], [0, access.aifs_slots], largest)
    return float(solved.ratio(1, 0))


def _compare_aifs(outcomes: Outcomes) -> Iterable[Finding]:
    ours = {slots: 1 / ratio(outcomes, _aifs(slots)).mean for slots in AIFS}
    model = {slots: 1 / _model(Access(slots)) for slots in AIFS}
    off = {slots: apart(model[slots], ours[slots]) for slots in AIFS}
    good = max((s for s in AIFS if all(off[each] <= NEAR for each in range(s + 1))), default=0)
    beyond = min(good + 1, AIFS[-1])
    yield Finding(
        "edca.fig4",
        f"The model is within a tenth of the simulation up to a difference of {good} slots, "
        f"{percent(off[beyond])} off at {beyond} and {percent(off[AIFS[-1]])} at {AIFS[-1]}, where "
        "it gives the station with the longer AIFS "
        f"{'more' if model[AIFS[-1]] < ours[AIFS[-1]] else 'less'} than the simulation.",
        (Value(float(good)),),
        holds=off[AIFS[-1]] > NEAR,
    )
    middle, last = AIFS[-1] // 2, AIFS[-1]
    first = (ours[middle] / ours[0]) ** (1 / middle)
    then = (ours[last] / ours[middle]) ** (1 / (last - middle))
    yield Finding(
        "edca.fig4.exponential",
        f"A slot multiplies the ratio of the throughputs by {first:.3f} over the first {middle} "
        f"slots and by {then:.3f} over the next; it is {ours[middle]:.2f} at {middle} and "
        f"{ours[last]:.1f} at {last}.",
        holds=first > 1 and apart(then - 1, first - 1) <= 0.25,
    )


def _compare_windows(outcomes: Outcomes) -> Iterable[Finding]:
    ours = {w: ratio(outcomes, _window(w)) for w in WINDOWS}
    times = {w: value.mean * w / WINDOW for w, value in ours.items() if w >= _LEAST_WINDOW}
    worst = max(times, key=lambda w: max(times[w], 1 / times[w]))
    small = WINDOWS[0]
    yield Finding(
        "edca.fig5",
        f"From {_LEAST_WINDOW} to {WINDOWS[-1]} the ratio is at most {times[worst]:.2f} times "
        f"{WINDOW}/CWmin (at {worst}); below it grows faster, to {ours[small].mean:.0f} at {small}, "
        f"{ours[small].mean * small / WINDOW:.0f} times that.",
        holds=max(times[worst], 1 / times[worst]) <= _ROUGHLY,
    )
    pairs = {w: (_model(Access(window=w)), value.mean) for w, value in ours.items()}
    w, error = furthest(pairs)
    frozen = ratio(outcomes, _window(WINDOWS[1], "freeze"))
    yield Finding(
        "edca.fig5.model",
        f"The model is furthest at CWmin {w}, {percent(error)} from the simulation "
        f"({pairs[w][0]:.4g} and {interval(ours[w], digits=2)}); with counters that freeze in busy "
        f"slots, as in legacy DCF, the ratio at {WINDOWS[1]} would be {frozen.mean:.0f}.",
        holds=error <= NEAR,
    )


def _both_rules(pairs: Sequence[Pair], budget: Budget) -> Mapping[str, Run]:
    every = [replace(pair, rule=rule) for pair in pairs for rule in RULES]
    return {pair.name: pair.simulation(budget.pick(100, 400), 4) for pair in every}


def _runs_txop(budget: Budget) -> Mapping[str, Run]:
    pairs = [_txop(us) for us in range(0, LONGEST_US + 1, GRID_US[budget])]
    return {pair.name: pair.simulation(budget.pick(60, 120), 1) for pair in pairs}


def _pictures_txop(outcomes: Outcomes) -> Iterable[PaperFigure]:
    ratios = {float(us): value for us, value in _tried(outcomes).items()}
    lines = (
        series("packets that fit", {us: _fit(us) for us in ratios}, style="steps"),
        series("simulation", ratios, style="points"),
    )
    panel = Panel("", "TXOP of the second station, us", "throughput, second to first", lines)
    yield PaperFigure("edca-fig3", "Throughput ratio over TXOP, as Fig. 3", (panel,))


def _pictures_aifs(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = [series("Battiti and Li", {float(s): 1 / _model(Access(s)) for s in AIFS})]
    for rule, label in RULES.items():
        ratios = {float(s): _inverse(ratio(outcomes, _aifs(s, rule))) for s in AIFS}
        lines.append(series(label, ratios, style="points"))
    panel = Panel("", "AIFS difference, slots", "throughput, first to second", tuple(lines))
    yield PaperFigure("edca-fig4", "Throughput ratio over AIFS, as Fig. 4", (panel,))


def _inverse(value: Value) -> Value:
    if value.low is None or value.high is None or value.low <= 0:
        return Value(1 / value.mean)
    return Value(1 / value.mean, 1 / value.high, 1 / value.low)


def _pictures_windows(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = [
        series("Battiti and Li", {float(w): _model(Access(window=w)) for w in WINDOWS}),
        series("32/CWmin", {float(w): WINDOW / w for w in WINDOWS}),
    ]
    for rule, label in RULES.items():
        ratios = {
            float(w): Value(ratio(outcomes, _window(w, rule)).mean)
            for w in WINDOWS
            if rule == "edca" or w > WINDOWS[0]
        }
        lines.append(series(label, ratios, style="points"))
    panel = Panel(
        "",
        "CWmin of the second station, values",
        "throughput, second to first",
        tuple(lines),
        log_x=True,
        log_y=True,
        zero=False,
    )
    yield PaperFigure("edca-fig5", "Throughput ratio over CWmin, as Fig. 5", (panel,))


_COUNTDOWN: Final = (
    "The paper does not say whether counters move in the slot in which another station begins to "
    "transmit. The claims are judged with EDCA's rule, by which counters move; with the rule "
    "of legacy DCF, small windows would gain far more than the printed agreement allows."
)

FIG3: Final = Item(
    "fig3",
    "Throughput ratio over the TXOP of one station (Fig. 3)",
    _compare_txop,
    _runs_txop,
    _pictures_txop,
    (
        "Preamble and rate of acknowledgements are not printed; the short preamble and 11 Mb/s come "
        "nearest to the printed 1270 us, and are used in all runs of this paper.",
        "Packets have 1400 bytes of UDP payload, 1428 with headers.",
    ),
)
FIG4: Final = Item(
    "fig4",
    "Throughput ratio over the AIFS of one station (Fig. 4)",
    _compare_aifs,
    lambda budget: _both_rules([_aifs(slots) for slots in AIFS], budget),
    _pictures_aifs,
    (
        _COUNTDOWN,
        "The model takes runs of idle slots as geometric. The other station's backoff bounds them, "
        "so that a long AIFS ends less often than in the model.",
    ),
)
FIG5: Final = Item(
    "fig5",
    "Throughput ratio over the CWmin of one station (Fig. 5)",
    _compare_windows,
    lambda budget: _both_rules([_window(values) for values in WINDOWS], budget),
    _pictures_windows,
    (
        _COUNTDOWN,
        "With counters that freeze and CWmin 2 the other station hardly ever counts down: that "
        "point is left out.",
    ),
)
