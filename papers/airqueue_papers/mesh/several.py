"""Tables 6 to 9, and a paced flow beside others: the parking lot and the cross."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from airqueue.simulate import Results, Scenario, mesh
from airqueue.simulate.reported import known
from airqueue_papers import measured
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.mesh import deviations, figures, networks, ns2
from airqueue_papers.mesh.chains import HOPS, KEPT, Gain, cells, draw_table, gains
from airqueue_papers.mesh.networks import FIFO50, SCHEMES, SIZED, TCPAP
from airqueue_papers.picture import PaperFigure

SHAPES: Final[Mapping[str, tuple[Callable[..., Scenario], bool]]] = {
    # Table -> network, and whether the network has calls.
    "table6": (mesh.parking_lot, False),
    "table7": (mesh.parking_lot, True),
    "table8": (mesh.cross, False),
    "table9": (mesh.cross, True),
}
TRIED: Final = ("ack2", "control11", networks.SEPARATE)
"""Variants tried; a limit of 32 segments has no effect, since windows stay smaller."""
BOUND_MS: Final = 150.0
"""Tolerable one-way delay of a call, after the paper."""
SENT_KBPS: Final = 8.0
STARVED: Final = 0.1
"""Share of the others' goodput below which a paced flow starves."""
_LOT_COST: Final = 0.3
_CROSS_COST: Final = 0.6


def _seconds(budget: Budget) -> int:
    """Return the counted time, which is shorter than for one flow since every flow counts."""
    return budget.pick(60, 150)


def table_runs(table: str, budget: Budget) -> Mapping[str, Run]:
    """Return the three schemes of a table, each also with unprinted settings changed."""
    shape, calls = SHAPES[table]
    network = (shape, calls, _seconds(budget))
    described = networks.runs_of(lambda *scheme: networks.several(*network, *scheme), TRIED)
    cost = _LOT_COST if shape is mesh.parking_lot else _CROSS_COST
    return networks.runs(budget, described, cost, least=3)


def call_ms(results: Results) -> Value:
    """Return the calls' mean delay."""
    return figures.of_calls(results, "delay_mean_s", 1e3)


def call_kbps(results: Results) -> Value:
    """Return the throughput of the calls."""
    return figures.of_calls(results, "throughput_bps", 1e-3)


def _calls(outcomes: Outcomes, table: str, network: str) -> Iterable[Finding]:
    """Find rate and delay of the calls with the three schemes."""
    times = {scheme.name: call_ms(outcomes[scheme.name]).mean for scheme in SCHEMES}
    rates = {scheme.name: call_kbps(outcomes[scheme.name]).mean for scheme in SCHEMES}
    for scheme in SCHEMES:
        name = scheme.name
        rate, time = call_kbps(outcomes[name]), call_ms(outcomes[name])
        lost = figures.share(SENT_KBPS - rate.mean, SENT_KBPS)
        yield figures.found(
            f"mesh.{table}.{name}.voip_rate",
            f"{lost:.1f} % of the calls' packets are lost with {scheme.label}",
            (rate,),
            rates[name] < 0.99 * SENT_KBPS
            if scheme is FIFO50
            else rates[name] > rates[FIFO50.name],
        )
        yield figures.found(
            f"mesh.{table}.{name}.voip_delay",
            f"{time.mean:.0f} ms with {scheme.label}",
            (time,),
            time.mean > BOUND_MS if scheme is FIFO50 else time.mean < BOUND_MS,
            ns2.of(network, name, "call"),
        )
    yield from deviations.jitters(outcomes, table)
    yield _bound(f"mesh.text.{table.replace('able', '')}_bound", times)


def _bound(name: str, times: Mapping[str, float]) -> Finding:
    words = ", ".join(f"{times[s.name]:.0f} ms with {s.label}" for s in SCHEMES)
    return figures.found(
        name,
        f"calls take {words}",
        holds=times[FIFO50.name] > BOUND_MS > max(times[TCPAP.name], times[SIZED.name]),
    )


def _compare_table6(outcomes: Outcomes) -> Iterable[Finding]:
    network = "parking-lot"
    yield from cells(outcomes, "mesh.table6.{}.{}", network)
    yield from deviations.over_flows(outcomes, "mesh.table6.{}.{}")
    for scheme, ending in ((TCPAP, "ap"), (SIZED, "ours")):
        yield from gains(outcomes, Gain(network, scheme.name, f"mesh.text.t6_{ending}"))
    factor = figures.shorter(outcomes[FIFO50.name], outcomes[SIZED.name])
    alone = figures.shorter(outcomes["alone-fifo50"], outcomes["alone-sized"])
    yield figures.found(
        "mesh.text.modest",
        f"round trips are {factor.mean:.1f} times shorter for three flows, {alone.mean:.1f} times "
        "for the one of Table 3",
        holds=measured.apart_above(alone, factor),
    )


def _table6_runs(budget: Budget) -> Mapping[str, Run]:
    alone = {
        f"alone-{scheme.name}": networks.scheme_chain(
            HOPS, networks.CLOSE_M[HOPS], networks.seconds(budget), scheme
        )
        for scheme in (FIFO50, SIZED)
    }
    return {**table_runs("table6", budget), **networks.runs(budget, alone, 0.25)}


def _compare_table7(outcomes: Outcomes) -> Iterable[Finding]:
    network = "parking-lot-calls"
    yield from cells(outcomes, "mesh.table7.{}.ftp_{}", network)
    yield from deviations.over_flows(outcomes, "mesh.table7.{}.ftp_{}")
    yield from _calls(outcomes, "table7", network)
    below = figures.lost_percent(outcomes[SIZED.name], outcomes[TCPAP.name])
    rates = [figures.goodput_kbps(outcomes[scheme.name]).mean for scheme in (TCPAP, SIZED)]
    yield figures.found(
        "mesh.text.t7_gain",
        f"{rates[0]:.0f} kb/s with TCP-AP, {rates[1]:.0f} with sized buffers",
        (below,),
        measured.above(below),
    )
    together = {s.name: _together_kbps(outcomes[s.name]) for s in SCHEMES}
    files = {s.name: _together_kbps(outcomes[f"files-{s.name}"]) for s in SCHEMES}
    words = ", ".join(
        f"{together[s.name].mean:.0f} and {files[s.name].mean:.0f} ({s.label})" for s in SCHEMES
    )
    yield figures.found(
        "mesh.text.t7_combined",
        f"files and calls get, and files alone, in kb/s: {words}",
        holds=all(measured.apart_above(files[name], together[name]) for name in files),
    )


def _together_kbps(results: Results) -> Value:
    """Return the goodput of all transfers and calls."""
    samples = []
    for _, run in sorted(results.runs.items()):
        calls = [of for name, of in run["flows"].items() if name.startswith(figures.CALL)]
        bps = [known(of["goodput_bps"]) for of in run["connections"].values()]
        bps += [known(of["throughput_bps"]) for of in calls]
        samples.append(sum(bps) / 1e3)
    return figures.value(samples)


def _table7_runs(budget: Budget) -> Mapping[str, Run]:
    files = table_runs("table6", budget)
    return {
        **table_runs("table7", budget),
        **{f"files-{scheme.name}": files[scheme.name] for scheme in SCHEMES},
    }


def _compare_table8(outcomes: Outcomes) -> Iterable[Finding]:
    yield from cells(outcomes, "mesh.table8.{}.{}", "cross")
    yield from deviations.over_flows(outcomes, "mesh.table8.{}.{}")
    for scheme, ending in ((TCPAP, "ap"), (SIZED, "ours")):
        yield from gains(outcomes, Gain("cross", scheme.name, f"mesh.text.t8_{ending}"))


def _compare_table9(outcomes: Outcomes) -> Iterable[Finding]:
    network = "cross-calls"
    yield from cells(outcomes, "mesh.table9.{}.ftp_{}", network)
    yield from deviations.over_flows(outcomes, "mesh.table9.{}.ftp_{}")
    yield from _calls(outcomes, "table9", network)
    usual, sized = outcomes[FIFO50.name], outcomes[SIZED.name]
    factor = _calls_shorter(usual, sized)
    yield figures.found(
        "mesh.text.t9",
        f"calls take {call_ms(sized).mean:.0f} ms instead of {call_ms(usual).mean:.0f}",
        (factor,),
        factor.mean > 3,
    )
    lost = figures.lost_percent(usual, sized)
    rates = figures.goodput_kbps(usual).mean, figures.goodput_kbps(sized).mean
    yield figures.found(
        "mesh.text.t9_loss",
        f"{rates[1]:.0f} kb/s instead of {rates[0]:.0f}; the printed Table 9 has 3.7 %",
        (lost,),
        measured.above(lost) and lost.mean < 100 * (1 - KEPT),
    )


def _calls_shorter(usual: Results, sized: Results) -> Value:
    return Value(call_ms(usual).mean / call_ms(sized).mean)


def _paced_runs(budget: Budget) -> Mapping[str, Run]:
    network = (mesh.parking_lot, False, _seconds(budget))
    described = {}
    for pacing in ("tcp-ap", "tcp-ap-code"):
        one = networks.Scheme(pacing, "one paced", {"flows.up4.tcp.pacing": pacing})
        described[pacing] = networks.several(*network, one)
    none = table_runs("table6", budget)[FIFO50.name]
    return {**networks.runs(budget, described, _LOT_COST, least=3), "none": none}


def _flow_kbps(results: Results) -> dict[str, float]:
    connections = results.summary["connections"]
    return {name: known(of["goodput_bps"]["mean"]) / 1e3 for name, of in connections.items()}


def _of_others(results: Results) -> float:
    """Return the goodput of the flow over four hops, relative to the mean of the two others."""
    rates = _flow_kbps(results)
    return 2 * rates["up4"] / (rates["up5"] + rates["up6"])


def _compare_paced(outcomes: Outcomes) -> Iterable[Finding]:
    ours, code = _of_others(outcomes["tcp-ap"]), _of_others(outcomes["tcp-ap-code"])
    rates = _flow_kbps(outcomes["tcp-ap"])
    yield figures.found(
        "mesh.text.paced",
        f"over 4, 5 and 6 hops {rates['up4']:.0f}, {rates['up5']:.0f} and {rates['up6']:.0f} kb/s; "
        f"{code:.2f} with the mean absolute deviation of the authors' code",
        (Value(ours),),
        ours < 2 * STARVED,
    )
    rates = _flow_kbps(outcomes["none"])
    yield figures.found(
        "mesh.text.unpaced",
        f"over 4, 5 and 6 hops {rates['up4']:.0f}, {rates['up5']:.0f} and {rates['up6']:.0f} kb/s",
        holds=min(rates.values()) > 3 * STARVED * max(rates.values()),
    )


def _draw_calls(name: str, title: str, table: str) -> Callable[[Outcomes], list[PaperFigure]]:
    """Return a function that draws transfers and calls beside the print."""
    labels = {scheme.name: scheme.label for scheme in SCHEMES}
    panels = (
        ("goodput", "kb/s", figures.goodput_kbps, f"mesh.{table}.{{}}.ftp_goodput"),
        ("round-trip time", "ms", figures.rtt_ms, f"mesh.{table}.{{}}.ftp_rtt"),
        ("delay of calls", "ms", call_ms, f"mesh.{table}.{{}}.voip_delay"),
    )
    return lambda outcomes: [figures.bars(name, title, outcomes, labels, panels)]


_APART: Final = (
    "Sized buffers are computed while the network runs, for each flow as if it were alone, and each "
    "flow has its own queue at each node, with fair service of the queues, as in the paper's parking "
    "lot. Nodes outside a flow's bottleneck have the buffer of the node before.",
    "Neighbours are 200 m apart and control frames go at 1 Mb/s, neither of which is printed.",
)
_CALLS: Final = (
    "With one queue for all, calls lose a quarter of their packets in small buffers, which the "
    "printed rates exclude: the queues of Table 9 must have been separate as well.",
)

ITEMS: Final = (
    Item(
        "table6",
        "Parking lot, three transfers",
        _compare_table6,
        _table6_runs,
        draw_table("mesh-table6", "Parking lot, transfers (Table 6)", "table6"),
        notes=_APART,
        settings=networks.settings(TRIED),
    ),
    Item(
        "table7",
        "Parking lot, three transfers and three calls",
        _compare_table7,
        _table7_runs,
        _draw_calls("mesh-table7", "Parking lot, transfers and calls (Table 7)", "table7"),
        notes=_APART,
        settings=networks.settings(TRIED),
    ),
    Item(
        "table8",
        "Cross, four transfers",
        _compare_table8,
        partial(table_runs, "table8"),
        draw_table("mesh-table8", "Cross, transfers (Table 8)", "table8"),
        notes=_APART,
        settings=networks.settings(TRIED),
    ),
    Item(
        "table9",
        "Cross, four transfers and four calls",
        _compare_table9,
        partial(table_runs, "table9"),
        _draw_calls("mesh-table9", "Cross, transfers and calls (Table 9)", "table9"),
        notes=(*_APART, *_CALLS),
        settings=networks.settings(TRIED),
    ),
    Item(
        "paced",
        "A paced flow beside two others that are not paced",
        _compare_paced,
        _paced_runs,
        notes=("The parking lot of Table 6 with 50 packets everywhere.",),
    ),
)
