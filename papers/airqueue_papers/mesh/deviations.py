"""The printed standard deviations and jitters of Tables 3 to 9, and downloads beside uploads.

The paper does not say over what a deviation is taken. Here: over a flow's packets where there is one
flow, over the flows' means where there are several, in each run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Final

from airqueue.description import Description
from airqueue.figures import ConnectionFigure
from airqueue.runs import Work
from airqueue.simulate import Results
from airqueue.simulate.reported import known
from airqueue.simulate.work import PlainSeries
from airqueue_papers.claim import load
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Calculation, Item, Outcomes, Run, calculated
from airqueue_papers.measured import above, apart
from airqueue_papers.mesh import figures, networks
from airqueue_papers.mesh.chains import HOPS, SPACINGS_M
from airqueue_papers.mesh.networks import FIFO50, SCHEMES, SIZED

_INTERVAL_S: Final = 0.005
"""Of the time series: less than a packet takes over the chain, so that a value is of one packet."""
_SEEDS: Final = {Budget.QUICK: 3, Budget.FULL: 6}
_COST: Final = 0.6
"""CPU seconds of a series of 100 s."""
_ALIKE: Final = 0.1
"""A tenth: our reading of "similar", by the claim's note."""

Samples = Mapping[str, list[float]]
"""Scheme -> a deviation or jitter in each replication."""


def over_flows(outcomes: Outcomes, pattern: str) -> Iterable[Finding]:
    """Find the deviations over the flows of a table; pattern: claim of scheme and figure."""
    for what, unit, figure, scale in _OF_FLOWS:
        samples = {each.name: _deviations(outcomes[each.name], figure, scale) for each in SCHEMES}
        yield from _three(pattern.format("{}", f"{what}_std"), samples, f"{unit} over the flows")


_OF_FLOWS: Final[Sequence[tuple[str, str, ConnectionFigure, float]]] = (
    ("goodput", "kb/s", "goodput_bps", 1e-3),
    ("rtt", "ms", "rtt_mean_s", 1e3),
)


def jitters(outcomes: Outcomes, table: str) -> Iterable[Finding]:
    """Find the jitters of the calls of a table."""
    results = {each.name: outcomes[each.name] for each in SCHEMES}
    spread = {name: figures.value(_over_calls_ms(of)) for name, of in results.items()}
    return _three(
        f"mesh.{table}.{{}}.voip_jitter",
        {name: figures.samples_of_calls(of, "jitter_s", 1e3) for name, of in results.items()},
        "ms of jitter, by RFC 3550,",
        {
            name: f"; the calls' mean delays deviate by {figures.number(each.mean)} ms over the calls"
            for name, each in spread.items()
        },
    )


def _over_calls_ms(results: Results) -> list[float]:
    """Return the standard deviation of the calls' mean delays in each replication."""
    return [
        _spread([1e3 * known(run["flows"][name]["delay_mean_s"]) for name in figures.calls(run)])
        for _, run in sorted(results.runs.items())
    ]


def _deviations(results: Results, figure: ConnectionFigure, scale: float) -> list[float]:
    """Return the standard deviation over the transfers in each replication."""
    return [
        _spread([scale * known(of[figure]) for of in run["connections"].values()])
        for _, run in sorted(results.runs.items())
    ]


def _spread(values: Sequence[float]) -> float:
    """Return the standard deviation, 0 of less than two values."""
    return stdev(values) if len(values) > 1 else 0.0


def _three(
    pattern: str, samples: Samples, words: str, beside: Mapping[str, str] | None = None
) -> Iterable[Finding]:
    """Find a figure of the three schemes, which in print is largest with 50 packets.

    pattern: claim of a scheme; beside: scheme -> end of its sentence.
    """
    usual = samples[FIFO50.name]
    less = {
        name: figures.value(a - b for a, b in zip(usual, each, strict=True))
        for name, each in samples.items()
        if name != FIFO50.name
    }
    for scheme in SCHEMES:
        ours = figures.value(samples[scheme.name])
        smaller = less.values() if scheme is FIFO50 else [less[scheme.name]]
        yield figures.found(
            pattern.format(scheme.name),
            f"{figures.number(ours.mean)} {words} with {scheme.label}"
            f"{beside[scheme.name] if beside else ''}",
            (ours,),
            all(above(each) for each in smaller),
        )


# Tables 3 and 4: over the packets of one flow.


def _series_runs(budget: Budget) -> Mapping[str, Run]:
    seconds = networks.seconds(budget)
    return {
        f"{table}-{scheme.name}-{seed}": Calculation(
            Work(
                "series",
                {
                    "scenario": networks.scheme_chain(HOPS, spacing, seconds, scheme),
                    "seed": seed,
                    "interval_s": _INTERVAL_S,
                },
                _COST * seconds / 100,
            )
        )
        for table, spacing in SPACINGS_M.items()
        for scheme in SCHEMES
        for seed in range(1, _SEEDS[budget] + 1)
    }


def _series(outcomes: Outcomes, table: str, scheme: str) -> list[PlainSeries]:
    runs = [name for name in outcomes if name.startswith(f"{table}-{scheme}-")]
    return [calculated(outcomes, name) for name in runs]


def _over_packets_ms(seen: PlainSeries) -> float:
    """Return the deviation of the data's delays; an interval counts by what arrived in it."""
    flow = seen["flows"]["up"]
    rows = zip(seen["time_s"], flow["delay_mean_s"], flow["throughput_bps"], strict=True)
    found = [
        (1e3 * delay, arrived)
        for time, delay, arrived in rows
        if delay is not None and arrived and time is not None and time > networks.WARM_UP_S
    ]
    total = sum(weight for _, weight in found)
    mean = sum(delay * weight for delay, weight in found) / total
    return math.sqrt(sum(weight * (delay - mean) ** 2 for delay, weight in found) / total)


def _estimates_ms(seen: PlainSeries) -> list[float]:
    """Return TCP's own estimates over time, the smoothed round-trip times."""
    rows = zip(seen["time_s"], seen["flows"]["up"]["srtt_s"], strict=True)
    return [1e3 * rtt for time, rtt in rows if rtt and time and time > networks.WARM_UP_S]


def _smoothed(runs: Sequence[PlainSeries]) -> tuple[Value, Value]:
    """Return mean and standard deviation of TCP's estimates, over the replications."""
    estimates = list(map(_estimates_ms, runs))
    return figures.value(map(fmean, estimates)), figures.value(map(stdev, estimates))


def _compare_series(outcomes: Outcomes) -> Iterable[Finding]:
    for table in SPACINGS_M:
        runs = {each.name: _series(outcomes, table, each.name) for each in SCHEMES}
        smoothed = {name: _smoothed(of)[1] for name, of in runs.items()}
        yield from _three(
            f"mesh.{table}.{{}}.rtt_std",
            {name: list(map(_over_packets_ms, of)) for name, of in runs.items()},
            "ms over the packets",
            {
                name: f"; TCP's smoothed round-trip time deviates by {figures.number(each.mean)} ms"
                for name, each in smoothed.items()
            },
        )


def _say_estimates(outcomes: Outcomes) -> Iterable[str]:
    claims = load("mesh").claims
    for table in SPACINGS_M:
        words = []
        for scheme in SCHEMES:
            pair = _smoothed(_series(outcomes, table, scheme.name))
            mean, deviation = (figures.number(each.mean) for each in pair)
            of = claims[f"mesh.{table}.{scheme.name}.rtt"]
            printed = f"printed {of.printed} ({of.std:g})"
            words.append(f"{mean} ({deviation}) with {scheme.label}, {printed}")
        yield (
            f"{table.replace('table', 'Table ')}: TCP's own estimate of the round-trip time has, over"
            f" time, these means and standard deviations in ms: {'; '.join(words)}."
        )


# Downloads beside uploads.

_WIRE: Final = "10 us"
"""Delay of the Ethernet between gateway and server, which the paper does not print."""
DIRECTIONS: Final = {
    "up": networks.ChainEnds("up", _WIRE),
    "down": networks.ChainEnds("down", _WIRE),
}


def direction(ends: networks.ChainEnds, scheme: networks.Scheme, seconds: int) -> Description:
    """Return the chain of Table 3 with a server behind the gateway, and a flow up or down."""
    frames = networks.sized_frames(HOPS) if scheme is SIZED else None
    if frames and ends.direction == "down":
        frames.reverse()
    return networks.chain(HOPS, networks.CLOSE_M[HOPS], seconds, scheme.changes, frames, ends=ends)


def _updown_runs(budget: Budget) -> Mapping[str, Run]:
    seconds = networks.seconds(budget)
    described = {
        f"{which}-{scheme.name}": direction(ends, scheme, seconds)
        for which, ends in DIRECTIONS.items()
        for scheme in SCHEMES
    }
    return networks.runs(budget, described, 0.2)


def _compare_updown(outcomes: Outcomes) -> Iterable[Finding]:
    words, off = [], []
    for scheme in SCHEMES:
        pair = [outcomes[f"{which}-{scheme.name}"] for which in DIRECTIONS]
        kbps = [figures.goodput_kbps(each).mean for each in pair]
        ms = [figures.rtt_ms(each).mean for each in pair]
        off += [apart(*reversed(each)) for each in (kbps, ms)]
        words.append(
            f"{kbps[0]:.0f} and {kbps[1]:.0f} kb/s, {ms[0]:.1f} and {ms[1]:.1f} ms ({scheme.label})"
        )
    yield figures.found(
        "mesh.text.updown",
        f"up and down: {'; '.join(words)}; at most {100 * max(off):.1f} % apart",
        holds=max(off) <= _ALIKE,
    )


ITEMS: Final = (
    Item(
        "deviations",
        "Standard deviations of the round-trip times in Tables 3 and 4",
        _compare_series,
        _series_runs,
        notes=(
            "The paper does not say over what the deviations are taken. Here they are those of the "
            "one-way delays of the flow's packets: acknowledgements hardly wait on their way back.",
        ),
        says=_say_estimates,
    ),
    Item(
        "updown",
        "Downloads beside uploads over four hops",
        _compare_updown,
        _updown_runs,
        notes=(
            "The chain of Table 3 with a server behind the gateway. Sized buffers are the printed "
            "ones, the smallest at the node that sends first, for a download the gateway.",
        ),
    ),
)
