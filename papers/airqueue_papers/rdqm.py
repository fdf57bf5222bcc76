"""RDQM: six downloads through a base station that divides its buffer by delay and rate.

The paper prints neither the other four delays of Fig. 2, nor which delay belongs to which rate in
Figs 3 and 4, nor which round-trip time a station reports. The delays here are the printed ones with
four between them. For the rates there are runs of three mixes: fast stations near, far, and some of
each. The mean over the mixes is compared; the figures show the band that the mixes span. The stations
report the smoothed round-trip time, which includes the base station's own queue; results with the
least round-trip time, without the queue, stand beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from airqueue.description import Description, FlowTable, StationTable
from airqueue.description_words import DisciplineName
from airqueue.simulate import Results
from airqueue.simulate.reported import known
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Paper, Run, Setting, Simulation
from airqueue_papers.measured import above, furthest, percent
from airqueue_papers.picture import Panel, PaperFigure, Series

DISCIPLINES: Final = {
    "droptail": "drop-tail",
    "rdqm": "RDQM, smoothed RTT told",
    "base": "RDQM, least RTT told",
}
DELAYS_MS: Final = (5, 30, 50, 80, 100, 120)
"""One-way delays of Fig. 2."""
FAR: Final = (5, 6)
"""The flows of 100 and 120 ms."""
RATES: Final = (11.0, 5.5, 1.0)
MIXES: Final[Mapping[str, Sequence[tuple[int, float]]]] = {
    # (one-way delay in ms, rate in Mb/s) of flows 1 to 6; the sixth is printed, with both ways.
    "fast-near": ((120, 1.0), (100, 5.5), (80, 5.5), (50, 11.0), (30, 11.0), (15, 11.0)),
    "fast-far": ((5, 1.0), (30, 5.5), (50, 5.5), (100, 11.0), (120, 11.0), (15, 11.0)),
    "mixed": ((80, 1.0), (5, 5.5), (120, 5.5), (50, 11.0), (100, 11.0), (15, 11.0)),
}
ALL: Final = tuple(range(1, 7))
SIXTH: Final = 6
LEGACY: Final = (2, 3, 4)
"""Flows of Fig. 4 whose stations do not report. The slow station reports: otherwise all flows get its
packet rate, and legacy flows less than the printed 600 kb/s."""
SLOW_LEGACY: Final = (1, 3, 5)
"""Flows that do not report, if the slow one is among them."""
LEAST_FRAMES: Final = 100
"""Least buffer for claims that hold regardless of the buffer."""
WARM_UP_S: Final = 40
_ALIKE: Final = 0.25
"""A quarter: our reading of "regardless" and "no significant difference", by the claims' notes."""


def scenario(
    flows: Sequence[tuple[int, float]],
    discipline: str,
    frames: int,
    duration_s: int,
    legacy: Sequence[int] = (),
) -> Description:
    """Return a base station with a download for each (one-way delay in ms, rate in Mb/s)."""
    numbered = list(enumerate(flows, 1))
    queue: DisciplineName = "droptail" if discipline == "droptail" else "rdqm"
    told: FlowTable = {
        "rdqm": True,
        "rdqm_rtt_kind": "base" if discipline == "base" else "smoothed",
    }
    stations: list[StationTable] = [
        {"name": f"sta{i}", "rate": f"{rate} Mb/s"} for i, (_, rate) in numbered
    ]
    return {
        "behaviour": "ns2",
        "duration": f"{duration_s} s",
        "warm_up": f"{WARM_UP_S} s",
        "phy": {"standard": "802.11b", "control_rate": "1 Mb/s"},
        "tcp": {"mss": "1460 B", "window": "10000 packets", "timestamps": True},
        "stations": [
            {"name": "ap", "queue": {"discipline": queue, "limit": f"{frames} packets"}},
            *stations,
        ],
        "hosts": [
            {"name": f"server{i}", "link": "ap", "rate": "100 Mb/s", "delay": f"{delay} ms"}
            for i, (delay, _) in numbered
        ],
        "flows": [
            {
                "name": f"flow{i}",
                "from": f"server{i}",
                "to": f"sta{i}",
                "source": "tcp",
                **({} if i in legacy else told),
            }
            for i, (_, rate) in numbered
        ],
    }


def _frames(budget: Budget) -> Sequence[int]:
    return budget.pick((50, 100, 200, 500), (25, 50, 100, 150, 200, 300, 400, 500))


def _simulation(budget: Budget, *described: Any, legacy: Sequence[int] = ()) -> Simulation:
    flows, discipline, frames = described
    # The paper's 600 s; a tenth of its steady state is enough to show the order.
    duration_s = budget.pick(60, 600)
    description = scenario(flows, discipline, frames, duration_s, legacy)
    return Simulation(description, 3, weight=budget.pick(0.2, 1.2))


def _delays(budget: Budget) -> Mapping[str, Run]:
    flows = [(delay, 11.0) for delay in DELAYS_MS]
    return {
        f"{discipline}-{frames}": _simulation(budget, flows, discipline, frames)
        for discipline in DISCIPLINES
        for frames in _frames(budget)
    }


def _rates(budget: Budget) -> Mapping[str, Run]:
    alone: dict[str, Run] = {
        "fast-alone": _simulation(budget, [(delay, 11.0) for delay in DELAYS_MS], "droptail", 200)
    }
    return alone | {
        f"{discipline}-{mix}-{frames}": _simulation(budget, flows, discipline, frames)
        for discipline in DISCIPLINES
        for mix, flows in MIXES.items()
        for frames in _frames(budget)
    }


def _mixed_population(budget: Budget) -> Mapping[str, Run]:
    halves = {"half": LEGACY, "slow-half": SLOW_LEGACY}
    with_legacy: dict[str, Run] = {
        f"{name}-{mix}-{frames}": _simulation(budget, flows, "rdqm", frames, legacy=legacy)
        for name, legacy in halves.items()
        for mix, flows in MIXES.items()
        for frames in _frames(budget)
    }
    return with_legacy | {k: v for k, v in _rates(budget).items() if k.startswith("rdqm-")}


@dataclass(frozen=True, slots=True)
class Axis:
    """The outcomes of one discipline along the buffer axis: name of a run -> frames of its buffer."""

    outcomes: Outcomes
    prefix: str
    mixes: Sequence[str] = ("",)

    @property
    def frames(self) -> list[int]:
        """Buffer sizes, ascending."""
        first = self._name(self.mixes[0])
        ends = [name.removeprefix(first) for name in self.outcomes if name.startswith(first)]
        return sorted(int(end) for end in ends if end.isdecimal())

    def results(self, frames: int) -> list[Results]:
        """Return the results at a buffer size, one for each mix."""
        return [self.outcomes[f"{self._name(mix)}{frames}"] for mix in self.mixes]

    def _name(self, mix: str) -> str:
        return f"{self.prefix}-{mix}-" if mix else f"{self.prefix}-"

    def goodput(self, flows: Sequence[int], frames: int, *, total: bool = False) -> Value:
        """Return the mean (or total) goodput of flows in kb/s at a buffer size, over the mixes."""
        samples = [_kbps(results, flows, total=total) for results in self.results(frames)]
        return _value([sum(each) / len(each) for each in zip(*samples, strict=True)])

    def over_buffers(self, flows: Sequence[int], *, total: bool = False) -> Value:
        """Return the goodput as a mean over all buffers from `LEAST_FRAMES` on."""
        return _value(self._samples(flows, total=total))

    def totals(self) -> list[float]:
        """Return each replication's goodput of all flows, a mean over buffers and mixes."""
        return self._samples(ALL, total=True)

    def _samples(self, flows: Sequence[int], *, total: bool) -> list[float]:
        samples = [
            _kbps(results, flows, total=total)
            for frames in self.frames
            if frames >= LEAST_FRAMES
            for results in self.results(frames)
        ]
        return [sum(each) / len(each) for each in zip(*samples, strict=True)]

    def band(self, flows: Sequence[int], frames: int) -> tuple[float, float]:
        """Return the least and greatest mean goodput of flows in kb/s over the mixes."""
        means = [_mean(_kbps(results, flows)) for results in self.results(frames)]
        return min(means), max(means)


def _kbps(results: Results, flows: Sequence[int], *, total: bool = False) -> list[float]:
    """Return the mean or total goodput of flows in each replication."""
    share = 1.0 if total else 1.0 / len(flows)
    return [
        share * sum(known(run["connections"][f"flow{i}"]["goodput_bps"]) for i in flows) / 1e3
        for _, run in sorted(results.runs.items())
    ]


def _value(samples: Sequence[float]) -> Value:
    value = Value.of(samples)
    assert value is not None  # a connection always has a goodput
    return value


def _mean(samples: Sequence[float]) -> float:
    return sum(samples) / len(samples)


def _compare_delays(outcomes: Outcomes) -> Iterable[Finding]:
    tail, rdqm, base = (Axis(outcomes, discipline) for discipline in DISCIPLINES)
    slowest = {frames: tail.goodput(FAR, frames).mean for frames in tail.frames}
    large = [frames for frames in tail.frames if frames >= 400] or [max(tail.frames)]
    far = tail.goodput(FAR, large[-1])
    yield Finding(
        "rdqm.s1.droptail.far",
        f"With drop-tail and {large[-1]} frames the flows of 100 and 120 ms get {far.mean:.0f} kb/s "
        f"each, the one of 5 ms {tail.goodput((1,), large[-1]).mean:.0f} kb/s.",
        (far,),
        holds=far.mean < tail.goodput((1,), large[-1]).mean,
    )
    below = max((frames for frames, kbps in slowest.items() if kbps < 700), default=0)
    yield Finding(
        "rdqm.s1.droptail.buffer",
        f"The largest buffer at which the far flows stay below 700 kb/s is {below} frames of the "
        f"{max(tail.frames)} that were tried.",
        (Value(below),),
        holds=below >= 300,
    )
    ours = rdqm.over_buffers(FAR)
    spread = [rdqm.goodput(FAR, frames).mean for frames in rdqm.frames if frames >= LEAST_FRAMES]
    yield Finding(
        "rdqm.s1.rdqm.far",
        f"RDQM gives the far flows {min(spread):.0f} to {max(spread):.0f} kb/s with {LEAST_FRAMES} "
        f"frames and more, {base.over_buffers(FAR).mean:.0f} if stations report the least "
        "round-trip time.",
        (ours,),
        holds=min(spread) > 700,
    )
    yield _any_buffer(rdqm)
    yield _order_of_delays(tail, rdqm)


def _any_buffer(rdqm: Axis) -> Finding:
    kbps = {frames: rdqm.goodput(FAR, frames).mean for frames in rdqm.frames}
    mean = _mean(list(kbps.values()))
    frames, off = furthest({frames: (each, mean) for frames, each in kbps.items()})
    return Finding(
        "rdqm.s1.rdqm.buffer",
        f"Under RDQM the far flows get {mean:.0f} kb/s as a mean over all buffers, and "
        f"{kbps[frames]:.0f} with {frames} frames, {percent(off)} apart.",
        holds=off <= _ALIKE,
    )


def _order_of_delays(tail: Axis, rdqm: Axis) -> Finding:
    frames = min(f for f in tail.frames if f >= LEAST_FRAMES)
    near, far = (tail.goodput(flows, frames).mean for flows in ((1, 2), FAR))
    fair_near, fair_far = (rdqm.goodput(flows, frames).mean for flows in ((1, 2), FAR))
    return Finding(
        "rdqm.s1.droptail.order",
        f"With {frames} frames the two nearest get {near:.0f} kb/s each and the two farthest "
        f"{far:.0f} under drop-tail, {fair_near:.0f} and {fair_far:.0f} under RDQM.",
        holds=near > 1.25 * far and fair_near < 1.25 * fair_far,
    )


def _compare_rates(outcomes: Outcomes) -> Iterable[Finding]:
    tail, rdqm, base = (Axis(outcomes, discipline, tuple(MIXES)) for discipline in DISCIPLINES)
    each, total = tail.over_buffers(ALL), _mbps(tail.over_buffers(ALL, total=True))
    alone = _mbps(_value(_kbps(outcomes["fast-alone"], ALL, total=True)))
    classes = {rate: tail.over_buffers(_at(rate)).mean for rate in RATES}
    words = ", ".join(f"{kbps:.0f} at {rate:g} Mb/s" for rate, kbps in classes.items())
    yield Finding(
        "rdqm.s2.droptail.flow",
        f"A flow gets {each.mean:.0f} kb/s under drop-tail: {words}.",
        (each,),
        holds=max(classes.values()) < 2 * min(classes.values()),
    )
    yield Finding(
        "rdqm.s2.droptail.total",
        f"All six get {total.mean:.2f} Mb/s together under drop-tail, {alone.mean:.2f} where all "
        "have 11 Mb/s.",
        (total,),
        holds=total.mean < 0.7 * alone.mean,
    )
    yield Finding(
        "rdqm.s2.avg_available",
        f"Six downloads at 11 Mb/s get {alone.mean:.2f} Mb/s together.",
        (alone,),
        holds=total.mean < 0.7 * alone.mean,
    )
    yield _individual_rates(tail)
    yield from _compare_classes(tail, rdqm, base)


def _individual_rates(tail: Axis) -> Finding:
    kbps = {i: tail.over_buffers((i,)).mean for i in ALL}
    mean = _mean(list(kbps.values()))
    flow, off = furthest({i: (each, mean) for i, each in kbps.items()})
    words = ", ".join(f"{each:.0f}" for each in kbps.values())
    return Finding(
        "rdqm.s2.droptail.equal",
        f"Under drop-tail flows 1 to 6 get {words} kb/s; flow {flow} is furthest from the mean, "
        f"{percent(off)}.",
        holds=off <= _ALIKE,
    )


def _compare_classes(tail: Axis, rdqm: Axis, base: Axis) -> Iterable[Finding]:
    shares = {rate: rdqm.over_buffers(_at(rate)) for rate in RATES}
    ordered = [shares[rate].mean for rate in RATES]
    for rate, name in zip(RATES, ("11", "5_5", "1"), strict=True):
        bands = [rdqm.band(_at(rate), frames) for frames in rdqm.frames if frames >= LEAST_FRAMES]
        yield Finding(
            f"rdqm.s2.rdqm.{name}",
            f"A flow at {rate:g} Mb/s gets {shares[rate].mean:.0f} kb/s under RDQM, between "
            f"{min(low for low, _ in bands):.0f} and {max(high for _, high in bands):.0f} by mix and "
            f"buffer; {base.over_buffers(_at(rate)).mean:.0f} if they report the least RTT.",
            (shares[rate],),
            holds=all(faster > slower for faster, slower in pairwise(ordered)),
        )
    total = rdqm.over_buffers(ALL, total=True)
    pairs = zip(rdqm.totals(), tail.totals(), strict=True)
    gained = _value([100 * (ours / usual - 1) for ours, usual in pairs])
    gain = gained.mean
    least = min(
        rdqm.goodput(ALL, frames, total=True).mean / tail.goodput(ALL, frames, total=True).mean
        for frames in rdqm.frames
    )
    yield Finding(
        "rdqm.s2.rdqm.total",
        f"All six get {total.mean / 1e3:.2f} Mb/s together under RDQM, "
        f"{base.over_buffers(ALL, total=True).mean / 1e3:.2f} if stations report the least RTT.",
        (_mbps(total),),
        holds=above(gained),
    )
    yield Finding(
        "rdqm.s2.rdqm.gain",
        f"RDQM carries {gain:.0f} % more than drop-tail, {100 * (least - 1):.0f} % at least at any "
        "buffer.",
        (gained,),
        holds=above(gained),
    )


def _compare_population(outcomes: Outcomes) -> Iterable[Finding]:
    mixes = tuple(MIXES)
    names = ("half", "rdqm", "slow-half")
    half, whole, slow = (Axis(outcomes, name, mixes) for name in names)
    taking_part = tuple(i for i in ALL if i not in LEGACY)
    legacy = half.over_buffers(LEGACY)
    ours, before = (axis.over_buffers(taking_part).mean for axis in (half, whole))
    yield Finding(
        "rdqm.s3.legacy",
        f"Flows whose stations do not report get {legacy.mean:.0f} kb/s, or "
        f"{slow.over_buffers(SLOW_LEGACY).mean:.0f} if the slow one is among them; flows that report "
        f"keep {100 * ours / before:.0f} % of their goodput among reporting flows alone.",
        (legacy,),
        # Flows that do not report take nothing from the flows that report.
        holds=ours > 0.75 * before,
    )
    others = tuple(i for i in taking_part if i != SIXTH)
    kept = half.over_buffers(others).mean / whole.over_buffers(others).mean
    smallest = min(half.frames)
    sixth = [axis.goodput((SIXTH,), smallest).mean for axis in (half, whole)]
    yield Finding(
        "rdqm.s3.rdqm",
        f"Flows that report keep {100 * kept:.0f} % of their goodput without legacy flows; flow 6 "
        f"gets {sixth[0]:.0f} instead of {sixth[1]:.0f} kb/s with {smallest} frames.",
        holds=abs(kept - 1) < 0.25 and sixth[0] > sixth[1],
    )


def _mbps(kbps: Value) -> Value:
    low, high = (None if end is None else end / 1e3 for end in (kbps.low, kbps.high))
    return Value(kbps.mean / 1e3, low, high)


def _at(rate: float) -> Sequence[int]:
    """Return the flows at a rate, which are the same in each mix."""
    return [i for i, (_, of_flow) in enumerate(MIXES["mixed"], 1) if of_flow == rate]


def _panel(title: str, axis: Axis, lines: Mapping[str, Sequence[int]]) -> Panel:
    """Return goodput over the buffer axis, with the band of the mixes if there are several."""
    series = []
    for label, flows in lines.items():
        values = [axis.goodput(flows, frames) for frames in axis.frames]
        ends = [(value.low, value.high) for value in values]
        if len(axis.mixes) > 1:
            ends = [axis.band(flows, frames) for frames in axis.frames]
        series.append(
            Series(
                label,
                tuple(map(float, axis.frames)),
                tuple(value.mean for value in values),
                tuple(low for low, _ in ends),
                tuple(high for _, high in ends),
                "band" if len(axis.mixes) > 1 else "line",
            )
        )
    return Panel(title, "buffer (frames)", "goodput per flow (kb/s)", tuple(series))


def _draw_delays(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = {f"{delay} ms": (i,) for i, delay in enumerate(DELAYS_MS, 1)}
    panels = [_panel(name, Axis(outcomes, key), lines) for key, name in DISCIPLINES.items()]
    yield PaperFigure("rdqm-fig2", "Six downloads with different delays (Fig. 2)", tuple(panels))


def _by_rate(outcomes: Outcomes, titles: Mapping[str, str]) -> tuple[Panel, ...]:
    lines = {f"{rate:g} Mb/s": _at(rate) for rate in RATES}
    axes = {name: Axis(outcomes, key, tuple(MIXES)) for key, name in titles.items()}
    return tuple(_panel(name, axis, lines) for name, axis in axes.items())


def _draw_rates(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = _by_rate(outcomes, DISCIPLINES)
    yield PaperFigure("rdqm-fig3", "Six downloads at three rates (Fig. 3)", panels)


def _draw_population(outcomes: Outcomes) -> Iterable[PaperFigure]:
    axis = Axis(outcomes, "half", tuple(MIXES))
    lines = {f"{rate:g} Mb/s, RDQM": [i for i in _at(rate) if i not in LEGACY] for rate in RATES}
    lines |= {f"{rate:g} Mb/s, legacy": [i for i in _at(rate) if i in LEGACY] for rate in RATES}
    panel = _panel("half of the stations report", axis, {k: v for k, v in lines.items() if v})
    yield PaperFigure("rdqm-fig4", "Stations that report beside others (Fig. 4)", (panel,))


def _least_told(mixes: Sequence[str] = ("",)) -> tuple[Setting, ...]:
    """Return the other reading of what stations report, for both budgets."""
    middles = [f"-{mix}-" if mix else "-" for mix in mixes]
    every = {frames for budget in Budget for frames in _frames(budget)}
    runs = {f"rdqm{each}{n}": f"base{each}{n}" for each in middles for n in sorted(every)}
    return (Setting("where stations report the least round-trip time", runs),)


PAPER: Final = Paper(
    "rdqm",
    (
        Item(
            "fig2",
            "Six delays, one rate",
            _compare_delays,
            _delays,
            _draw_delays,
            notes=(
                "The paper prints the delays of 100 and 120 ms; the other four are taken between 5 "
                "and 80 ms. TCP's window has no limit, as ns-2's default of 20 segments would hide "
                "the buffer.",
            ),
            settings=_least_told(),
        ),
        Item(
            "fig3",
            "Six flows at three rates",
            _compare_rates,
            _rates,
            _draw_rates,
            notes=(
                "700, 500 and 100 kb/s add up to the printed total with three flows at 11, two at "
                "5.5 and one at 1 Mb/s alone. The paper does not print which delay goes with which "
                "rate: the band spans three mixes, the line and our values are their mean.",
            ),
            settings=_least_told(tuple(MIXES)),
        ),
        Item(
            "fig4",
            "Half of the stations do not report",
            _compare_population,
            _mixed_population,
            _draw_population,
            notes=(
                "Of the three flows that report only the sixth is printed. Legacy flows come near "
                "the printed 600 kb/s only if the slow station reports: here one of 11 and two of "
                "5.5 Mb/s do not. With the slow one among the legacy flows all flows fall to its "
                "packet rate.",
            ),
        ),
    ),
)
