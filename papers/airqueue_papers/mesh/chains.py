"""Tables 3 to 5 and Fig. 8: one transfer over a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from airqueue.simulate import Results
from airqueue.simulate.reported import known
from airqueue_papers import measured
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.mesh import figures, networks, ns2
from airqueue_papers.mesh.networks import FIFO50, SCHEMES, SIZED, TCPAP
from airqueue_papers.picture import Panel, PaperFigure, Series

HOPS: Final = 4
SPACINGS_M: Final = {"table3": networks.CLOSE_M[HOPS], "table4": networks.FAR_M}
KEPT: Final = 0.85
"""Share of the goodput with 50 packets: the paper concludes that less delay costs little."""
SHORT: Final = 0.25
"""Share of the round-trip time with 50 packets: the paper concludes that it falls by far."""
SHARED_FRAMES: Final = 12
"""B in Fig. 8."""
_COST: Final = 0.15
"""CPU seconds of a chain in 100 s."""


def table_runs(table: str, budget: Budget) -> Mapping[str, Run]:
    """Return the three schemes of Table 3 or 4, each also with unprinted settings changed."""
    network = (HOPS, SPACINGS_M[table], networks.seconds(budget))
    described = networks.runs_of(lambda *scheme: networks.scheme_chain(*network, *scheme))
    return networks.runs(budget, described, _COST)


def cells(outcomes: Outcomes, pattern: str, network: str) -> Iterable[Finding]:
    """Find goodput and round-trip time of the three schemes; pattern: claim of scheme and figure."""
    for what, unit, figure in (
        ("goodput", "kb/s", figures.goodput_kbps),
        ("rtt", "ms", figures.rtt_ms),
    ):
        means = {scheme.name: figure(outcomes[scheme.name]).mean for scheme in SCHEMES}
        for scheme in SCHEMES:
            name, ours = scheme.name, figure(outcomes[scheme.name])
            of_usual = figures.share(ours.mean, means[FIFO50.name])
            beside = "" if scheme is FIFO50 else f", {of_usual:.0f} % of that with 50 packets"
            yield figures.found(
                pattern.format(name, what),
                f"{figures.number(ours.mean)} {unit} with {scheme.label}{beside}",
                (ours,),
                _goodput_holds(name, outcomes) if what == "goodput" else _time_holds(name, means),
                ns2.of(network, name, what),
            )


def _goodput_holds(scheme: str, outcomes: Outcomes) -> bool:
    """Return whether 50 packets give more goodput than the scheme, or than all others, but little."""
    others = (TCPAP.name, SIZED.name) if scheme == FIFO50.name else (scheme,)
    lost = [figures.lost_percent(outcomes[FIFO50.name], outcomes[each]) for each in others]
    return all(measured.above(each) and each.mean <= 100 * (1 - KEPT) for each in lost)


def _time_holds(scheme: str, times: Mapping[str, float]) -> bool:
    """Return whether a round-trip time has the same rank among the three as in the paper."""
    longest, shortest = times[FIFO50.name], times[TCPAP.name]
    if scheme == SIZED.name:
        return shortest < times[scheme] <= SHORT * longest
    if scheme == TCPAP.name:
        return shortest == min(times.values()) and shortest <= SHORT * longest
    return longest > max(times[TCPAP.name], times[SIZED.name])


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of a scheme in an ns-2 network, and the two claims about the gain."""

    network: str
    scheme: str
    claim: str
    """Claim about the factor."""
    loss_claim: str = ""
    """Claim about the loss, if not ``claim`` with the suffix ``_loss``."""


def gains(outcomes: Outcomes, gain: Gain) -> Iterable[Finding]:
    """Find the factor by which a scheme shortens round-trip times, and its cost in goodput."""
    usual, other = outcomes[FIFO50.name], outcomes[gain.scheme]
    shorter, lost = figures.shorter(usual, other), figures.lost_percent(usual, other)
    times = figures.rtt_ms(usual).mean, figures.rtt_ms(other).mean
    rates = figures.goodput_kbps(usual).mean, figures.goodput_kbps(other).mean
    yield figures.found(
        gain.claim,
        f"round trips take {times[1]:.0f} ms instead of {times[0]:.0f}",
        (shorter,),
        shorter.mean > 1 / SHORT and measured.above(shorter, 1.0),
        ns2.shorter(gain.network, gain.scheme),
    )
    yield figures.found(
        gain.loss_claim or f"{gain.claim}_loss",
        f"{rates[1]:.0f} kb/s instead of {rates[0]:.0f}",
        (lost,),
        measured.above(lost) and lost.mean < 100 * (1 - KEPT),
        ns2.lost_percent(gain.network, gain.scheme),
    )


def _compare_table3(outcomes: Outcomes) -> Iterable[Finding]:
    network = "chain-4-130"
    yield from cells(outcomes, "mesh.table3.{}.{}", network)
    factor, loss = "mesh.text.rtt_factor_t3", "mesh.text.tput_loss"
    yield from gains(outcomes, Gain(network, SIZED.name, factor, loss))
    queues = outcomes[TCPAP.name].summary["queues"]
    mean = max(known(of["length_mean_packets"]["mean"]) for of in queues.values())
    most = max(known(of["length_max_packets"]["mean"]) for of in queues.values())
    yield figures.found(
        "mesh.text.hardly_queues",
        f"the longest of the queues holds {mean:.2f} packets in the mean with TCP-AP, and "
        f"{most:.0f} at most",
        holds=mean < 2 and most < networks.USUAL_FRAMES / 4,
    )


def _table4_runs(budget: Budget) -> Mapping[str, Run]:
    close = table_runs("table3", budget)[FIFO50.name]
    return {**table_runs("table4", budget), "close": close}


def _compare_table4(outcomes: Outcomes) -> Iterable[Finding]:
    network = "chain-4-200"
    yield from cells(outcomes, "mesh.table4.{}.{}", network)
    factor, loss = "mesh.text.rtt_factor_t4", "mesh.text.tput_loss_t4"
    yield from gains(outcomes, Gain(network, SIZED.name, factor, loss))
    by_air = [_by_air_percent(outcomes[name]) for name in ("close", FIFO50.name)]
    yield figures.found(
        "mesh.text.losses",
        f"of all lost packets MACs give up {by_air[0]:.0f} % where all nodes sense each other, and "
        f"{by_air[1]:.0f} % where the end nodes do not; the others find no room in a queue",
        holds=by_air[0] < 50 < by_air[1],
    )


def _by_air_percent(results: Results) -> float:
    """Return the share of lost packets that MACs gave up."""
    dropped, given_up = map(sum, (of.values() for of in figures.lost_packets(results)))
    return figures.share(given_up, dropped + given_up)


def draw_table(
    name: str, title: str, table: str, what: str = ""
) -> Callable[[Outcomes], list[PaperFigure]]:
    """Return a function that draws goodput and round-trip time of the schemes beside the print."""
    labels = {scheme.name: scheme.label for scheme in SCHEMES}
    panels = (
        ("goodput", "kb/s", figures.goodput_kbps, f"mesh.{table}.{{}}.{what}goodput"),
        ("round-trip time", "ms", figures.rtt_ms, f"mesh.{table}.{{}}.{what}rtt"),
    )
    return lambda outcomes: [figures.bars(name, title, outcomes, labels, panels)]


# Table 5

LENGTHS: Final = (4, 5, 6)
"""Hops of the averaged chains: TCP-AP's pace covers four hops."""
SHORTER: Final = (2, 3)
"""Hops of chains that are drawn and reported beside these."""


def _topologies(lengths: Iterable[int] = LENGTHS) -> list[tuple[int, float]]:
    """Return hops and distance of chains, the closer ones first."""
    places = (networks.CLOSE_M, dict.fromkeys(networks.CLOSE_M, networks.FAR_M))
    return [(hops, place[hops]) for place in places for hops in lengths]


def _table5_runs(budget: Budget) -> Mapping[str, Run]:
    described = {
        f"{hops}-{spacing:g}-{scheme.name}": networks.scheme_chain(
            hops, spacing, networks.seconds(budget), scheme
        )
        for hops, spacing in _topologies((*SHORTER, *LENGTHS))
        for scheme in SCHEMES
    }
    return networks.runs(budget, described, _COST, least=3)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A figure of chains, relative to the figure with one of the schemes."""

    outcomes: Outcomes
    figure: Callable[[Results], Value]
    to: str

    def each(self, scheme: str, lengths: Iterable[int] = LENGTHS) -> list[float]:
        """Return the relative figure for all chains of these lengths."""
        return [
            self._mean(hops, spacing, scheme) / self._mean(hops, spacing, self.to)
            for hops, spacing in _topologies(lengths)
        ]

    def mean(self, scheme: str, lengths: Iterable[int] = LENGTHS) -> Value:
        """Return the mean over chains, without interval since the chains are not a sample."""
        all_of = self.each(scheme, lengths)
        return Value(sum(all_of) / len(all_of))

    def _mean(self, hops: int, spacing: float, scheme: str) -> float:
        return self.figure(self.outcomes[f"{hops}-{spacing:g}-{scheme}"]).mean


def _of_ns2(figure: Callable[[str, str], float | None], scheme: str) -> float | None:
    """Return the mean of ns-2's figure over the same chains, or None if one is missing."""
    found = [figure(f"chain-{hops}-{spacing:g}", scheme) for hops, spacing in _topologies()]
    known = [each for each in found if each is not None]
    return sum(known) / len(known) if len(known) == len(found) else None


def _ns2_kept(network: str, scheme: str) -> float | None:
    lost = ns2.lost_percent(network, scheme)
    return None if lost is None else 1 - lost / 100


def _compare_table5(outcomes: Outcomes) -> Iterable[Finding]:
    goodputs = Normalised(outcomes, figures.goodput_kbps, FIFO50.name)
    times = Normalised(outcomes, figures.rtt_ms, TCPAP.name)
    for scheme in SCHEMES:
        name = scheme.name
        for what, normalised in (("goodput", goodputs), ("rtt", times)):
            mean, all_of = normalised.mean(name), normalised.each(name)
            yield figures.found(
                f"mesh.table5.{name}.{what}",
                f"{min(all_of):.2f} to {max(all_of):.2f} over {len(all_of)} chains of 4 to 6 hops; "
                f"{normalised.mean(name, SHORTER).mean:.2f} in the mean over 2 and 3 hops",
                (mean,),
                _between(scheme, what, mean.mean, times),
                _of_ns2(_ns2_kept, name) if what == "goodput" else None,
            )
    yield from _summary(outcomes, goodputs)
    best = max(max(goodputs.each(scheme.name)) for scheme in (TCPAP, SIZED))
    least = min(min(times.each(scheme.name)) for scheme in (FIFO50, SIZED))
    early = min(min(times.each(scheme.name, SHORTER)) for scheme in SCHEMES)
    yield figures.found(
        "mesh.text.order",
        f"over 4 to 6 hops the other schemes' highest goodput is {best:.3f} of that with 50 packets, "
        f"and their shortest round trip {least:.2f} of that with TCP-AP; over 2 and 3 hops, for "
        f"which TCP-AP paces by one hop, {early:.2f}",
        holds=best < 1 and least > 1,
    )


def _between(scheme: networks.Scheme, what: str, mean: float, times: Normalised) -> bool:
    """Return whether a normalised mean has its place in the paper's order of the schemes."""
    if scheme.name == (FIFO50.name if what == "goodput" else TCPAP.name):
        return True  # the scheme by which the others are divided
    if what == "goodput":
        return KEPT <= mean < 1
    return 1 < mean <= times.mean(FIFO50.name).mean * (SHORT if scheme is SIZED else 1)


def _summary(outcomes: Outcomes, goodputs: Normalised) -> Iterable[Finding]:
    kept, short = goodputs.each(SIZED.name), goodputs.mean(SIZED.name, SHORTER).mean
    yield figures.found(
        "mesh.text.table5",
        f"sized buffers keep {100 * min(kept):.0f} to {100 * max(kept):.0f} % of the goodput, and "
        f"{100 * short:.0f} % over 2 and 3 hops",
        (Value(100 * goodputs.mean(SIZED.name).mean),),
        min(kept) >= KEPT and max(kept) < 1,
        100 * (_of_ns2(_ns2_kept, SIZED.name) or 0.0),
    )
    factors = [
        1 / each for each in Normalised(outcomes, figures.rtt_ms, FIFO50.name).each(SIZED.name)
    ]
    yield figures.found(
        "mesh.text.table5_rtt",
        f"round trips are {min(factors):.1f} to {max(factors):.1f} times shorter",
        (Value(sum(factors) / len(factors)),),
        min(factors) >= 1 / SHORT,
        _of_ns2(ns2.shorter, SIZED.name),
    )


def _draw_table5(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = []
    lengths = (*SHORTER, *LENGTHS)
    hops = tuple(map(str, lengths))
    for title, normalised in (
        ("goodput", Normalised(outcomes, figures.goodput_kbps, FIFO50.name)),
        ("round-trip time", Normalised(outcomes, figures.rtt_ms, TCPAP.name)),
    ):
        series = []
        for scheme in SCHEMES:
            all_of = normalised.each(scheme.name, lengths)
            close, far = all_of[: len(lengths)], all_of[len(lengths) :]
            series.append(Series(f"{scheme.label}, all sense each other", hops, tuple(close)))
            series.append(Series(f"{scheme.label}, 200 m", hops, tuple(far)))
        base = next(each.label for each in SCHEMES if each.name == normalised.to)
        axis, times = f"of that with {base}", normalised.figure is figures.rtt_ms
        panels.append(Panel(title, "hops", axis, tuple(series), log_y=times, zero=not times))
    yield PaperFigure("mesh-table5", "Chains of 2 to 6 hops (Table 5)", tuple(panels))


# Fig. 8

DIVISIONS: Final = {"equal": "equal", "weighted": "ratio"}


def _fig8_runs(budget: Budget) -> Mapping[str, Run]:
    described = {
        f"{name}-{where}": networks.chain(
            HOPS,
            spacing,
            networks.seconds(budget),
            {},
            networks.sized_frames(HOPS, SHARED_FRAMES, rule),
        )
        for name, rule in DIVISIONS.items()
        for where, spacing in (("far", networks.FAR_M), ("close", networks.CLOSE_M[HOPS]))
    }
    return networks.runs(budget, described, _COST, least=5)


def _drop_percent(results: Results) -> dict[str, float]:
    """Return each queue's share of all that queues dropped."""
    dropped, _ = figures.lost_packets(results)
    return {name: figures.share(each, sum(dropped.values())) for name, each in dropped.items()}


def _compare_fig8(outcomes: Outcomes) -> Iterable[Finding]:
    far = {name: outcomes[f"{name}-far"] for name in DIVISIONS}
    shares = {name: _drop_percent(outcomes[name]) for name in outcomes}
    last, source = "node1", f"node{HOPS}"
    yield figures.found(
        "mesh.fig8.equal",
        f"{shares['equal-far'][last]:.0f} % of the drops are at the last relay where the end nodes "
        f"do not sense each other, {shares['equal-close'][last]:.0f} % where all do",
        (Value(shares["equal-far"][last]),),
        shares["equal-far"][last] > 2 * shares["weighted-far"][last],
    )
    yield figures.found(
        "mesh.fig8.weighted",
        f"{shares['weighted-far'][source]:.0f} % of the drops are at the source where the end nodes "
        f"do not sense each other, {shares['weighted-close'][source]:.0f} % where all do; the first "
        f"relay has {shares['weighted-far'][f'node{HOPS - 1}']:.0f} %",
        (Value(shares["weighted-far"][source]),),
        shares["weighted-far"][source] > 50,
    )
    pairs = zip(
        *(figures.per_run(far[n], ("connections", "rtt_mean_s")) for n in DIVISIONS), strict=True
    )
    shorter = figures.value(100 * (1 - weighted / equal) for equal, weighted in pairs)
    times = [figures.rtt_ms(far[name]).mean for name in DIVISIONS]
    yield figures.found(
        "mesh.fig8.rtt",
        f"round trips take {times[1]:.1f} ms with weighted buffers, {times[0]:.1f} with equal ones",
        (shorter,),
        measured.above(shorter),
    )
    gained = {where: _gained_percent(outcomes, where) for where in ("far", "close")}
    yield figures.found(
        "mesh.fig8.tput",
        f"{figures.goodput_kbps(far['weighted']).mean:.0f} kb/s with weighted buffers and "
        f"{figures.goodput_kbps(far['equal']).mean:.0f} with equal ones, "
        f"{measured.interval(gained['far'], digits=1)} % more, where the end nodes do not sense each "
        f"other; {measured.interval(gained['close'], digits=1)} % more where all do",
        (gained["far"],),
        measured.above(gained["far"]),
    )


def _gained_percent(outcomes: Outcomes, where: str) -> Value:
    """Return the gain in goodput of weighted over equal buffers."""
    equal, weighted = (outcomes[f"{name}-{where}"] for name in DIVISIONS)
    pairs = zip(
        *(figures.per_run(each, ("connections", "goodput_bps")) for each in (equal, weighted)),
        strict=True,
    )
    return figures.value(100 * (after / before - 1) for before, after in pairs)


def _draw_fig8(outcomes: Outcomes) -> Iterable[PaperFigure]:
    titles = {"far": "end nodes do not sense each other", "close": "all nodes sense each other"}
    panels = []
    for where, title in titles.items():
        series = []
        for division in DIVISIONS:
            runs = outcomes[f"{division}-{where}"].runs.values()
            drops = {
                f"node {place}": figures.value(
                    run["queues"][f"node{HOPS + 1 - place}"]["dropped_packets"] for run in runs
                )
                for place in range(1, HOPS + 1)
            }
            series.append(measured.series(division, drops, style="bars"))
        panels.append(Panel(title, "hop, from the source", "drops (packets)", tuple(series)))
    yield PaperFigure("mesh-fig8", "Where queues drop packets (Fig. 8)", tuple(panels))


_SILENT: Final = (
    "The rate of control frames, distances and TCP's variant are not printed: control frames go at "
    "1 Mb/s, TCP is ns-2's NewReno with an acknowledgement for every segment and no limit of its "
    "window. Buffers are the printed 2, 2, 3 and 3 packets, the source's first; ns-2's limits, which "
    "count the frame in the MAC."
)

ITEMS: Final = (
    Item(
        "table3",
        "Four hops, all nodes sense each other",
        _compare_table3,
        partial(table_runs, "table3"),
        draw_table("mesh-table3", "Four hops, all in carrier sense (Table 3)", "table3"),
        notes=(_SILENT, "Neighbours are 130 m apart: 520 m are less than the 550 m of ns-2."),
        settings=networks.settings(),
    ),
    Item(
        "table4",
        "Four hops, end nodes do not sense each other",
        _compare_table4,
        _table4_runs,
        draw_table("mesh-table4", "Four hops, end nodes apart (Table 4)", "table4"),
        notes=(
            _SILENT,
            "Neighbours are 200 m apart, ns-2's usual distance: nodes three hops apart do not sense "
            "each other either. If only the end nodes do not, capture resolves all collisions.",
        ),
        settings=networks.settings(),
    ),
    Item(
        "table5",
        "Chains of several lengths",
        _compare_table5,
        _table5_runs,
        _draw_table5,
        notes=(
            "The paper does not say which topologies: chains of four to six hops are averaged, each "
            "with all nodes in carrier sense and with 200 m between neighbours. Over fewer hops "
            "TCP-AP paces by one hop instead of four: these chains are drawn beside the others.",
        ),
    ),
    Item(
        "fig8",
        "Where queues drop packets",
        _compare_fig8,
        _fig8_runs,
        _draw_fig8,
        notes=(
            "Twelve packets over four queues, the source's first: 3, 3, 3, 3 and, by Eq. (16), 2, 3, "
            "3, 4. The paper does not print which chain was used: drops at the last relay occur if "
            "the end nodes do not sense each other, so this one is compared; both are drawn.",
        ),
    ),
)  # fmt: skip
