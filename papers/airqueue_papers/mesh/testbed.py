"""The paper's test bed as a simulation: Fig. 1, Fig. 11, Tables 2, 10 and 11.

The paper's routers ran Linux 2.6.35 in the buildings of a campus. The scenarios are networks of equal
shape under the standard's MAC, with Linux's TCP and the buffers that the paper lists. The paper does
not print the positions of its nodes or other traffic on the air, so absolute values say little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from airqueue.description import Description
from airqueue.figures import FlowFigure
from airqueue.models.mesh_buffer import neighbourhood_buffer
from airqueue.models.mesh_exchange import mesh_exchange
from airqueue.runs import Work
from airqueue.simulate import Results
from airqueue_papers import measured
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Calculation, Item, Outcomes, Run, Setting, calculated
from airqueue_papers.mesh import figures, networks
from airqueue_papers.mesh.chains import KEPT
from airqueue_papers.picture import Panel, PaperFigure, Series

LENGTHS: Final = (2, 3, 4)
SPACINGS: Final = {"far": networks.FAR_M, "close": networks.CLOSE_M[4]}
BUFFERS: Final = {"default": False, "sized": True}
"""Names of buffers in claims, and whether the buffers are sized."""
CONDITIONS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "noise10": ("where a tenth of the frames is lost to noise", {"medium.errors": {"frame": 0.1}}),
    "noise20": ("where a fifth of the frames is lost to noise", {"medium.errors": {"frame": 0.2}}),
    "destroyed": (
        "where every overlap destroys both frames, and 15 % are lost to noise",
        {"medium.capture": "none", "medium.errors": {"frame": 0.15}},
    ),
}
"""Unprinted conditions of air and radios: words for a sentence, and changes of the scenario. The
paper's test bed shared the air with the wireless LAN of the campus."""
NOISY: Final = ("noise10", "noise20")
CLOSE: Final = "where all nodes sense each other"
FULL_RING: Final = 128
"""Descriptors of an access category of ath9k (Table 2)."""
_RATE_BPS: Final = 65e6
_WINDOW: Final = 100
_SERIES_S: Final = 0.5
_COST: Final = 0.2
_FAST_COST: Final = 0.7


# Fig. 1


def _fig1_runs(budget: Budget) -> Mapping[str, Run]:
    described = {
        "link": networks.single_link(networks.seconds(budget), {}),
        "ring200": networks.single_link(networks.seconds(budget), {"queue.ring": "200 packets"}),
        "slot20": networks.single_link(networks.seconds(budget), {"phy.slot": "long"}),
    }
    inputs = {"scenario": described["link"], "seed": 1, "interval_s": _SERIES_S}
    runs: dict[str, Run] = {"series": Calculation(Work("series", inputs, _FAST_COST))}
    return runs | networks.runs(budget, described, _FAST_COST, least=2)


def _compare_fig1(outcomes: Outcomes) -> Iterable[Finding]:
    found = {name: outcomes[name] for name in ("link", "ring200", "slot20")}
    most = {name: _delays_ms(each, "delay_max_s") for name, each in found.items()}
    mean = {name: _delays_ms(each, "delay_mean_s").mean for name, each in found.items()}
    yield figures.found(
        "mesh.fig1.delay",
        f"packets wait up to {most['link'].mean:.0f} ms and {mean['link']:.0f} in the mean, in a "
        f"queue of 1000 packets and a ring of 50; {mean['ring200']:.0f} in the mean with a ring of "
        f"200, {mean['slot20']:.0f} with the slots of 20 us that 802.11b stations nearby call for",
        (most["link"],),
        most["link"].mean > 500,
    )


def _delays_ms(results: Results, figure: FlowFigure) -> Value:
    return figures.value(figures.per_run(results, ("flows", figure), 1e3))


def _draw_fig1(outcomes: Outcomes) -> Iterable[PaperFigure]:
    seen = calculated(outcomes, "series")
    times = tuple(seen["time_s"])
    flow, queue = seen["flows"]["up"], seen["queues"]["node1"]
    delay = tuple(None if each is None else 1e3 * each for each in flow["delay_mean_s"])
    rate = tuple(None if each is None else each / 1e6 for each in flow["throughput_bps"])
    length = tuple(queue["length_mean_packets"])
    panels = (
        Panel("delay", "time (s)", "ms", (Series("data", times, delay),)),
        Panel("egress queue and ring", "time (s)", "packets", (Series("waiting", times, length),)),
        Panel("throughput", "time (s)", "Mb/s", (Series("data", times, rate),)),
    )
    yield PaperFigure("mesh-fig1", "A transfer at 36 Mb/s with Linux's buffers (Fig. 1)", panels)


# Fig. 11


def fig11_runs(budget: Budget) -> Mapping[str, Run]:
    """Return chains of all lengths with both buffers, in both places and under all conditions."""
    seconds = networks.seconds(budget)
    described = {
        f"{name}-{hops}-{where}": networks.linux_chain(hops, spacing, seconds, sized=sized)
        for hops in LENGTHS
        for where, spacing in SPACINGS.items()
        for name, sized in BUFFERS.items()
    } | {
        f"{name}-{hops}-{condition}": networks.linux_chain(
            hops, SPACINGS["far"], seconds, sized=sized, changes=changes
        )
        for hops in LENGTHS
        for condition, (_, changes) in CONDITIONS.items()
        for name, sized in BUFFERS.items()
    }
    return networks.runs(budget, described, _COST, least=3)


def _fig11_settings() -> tuple[Setting, ...]:
    """Return where else all chains could have been, and under which conditions."""
    labels = {"close": CLOSE} | {name: label for name, (label, _) in CONDITIONS.items()}
    return tuple(
        Setting(
            label,
            {f"{of}-{hops}-far": f"{of}-{hops}-{where}" for of in BUFFERS for hops in LENGTHS},
        )
        for where, label in labels.items()
    )


def _factor(outcomes: Outcomes, hops: int, where: str = "far") -> Value:
    return figures.shorter(outcomes[f"default-{hops}-{where}"], outcomes[f"sized-{hops}-{where}"])


def _kept(outcomes: Outcomes, hops: int, where: str = "far") -> Value:
    lost = figures.lost_percent(
        outcomes[f"default-{hops}-{where}"], outcomes[f"sized-{hops}-{where}"]
    )
    ends = [None if end is None else 100 - end for end in (lost.high, lost.low)]
    return Value(100 - lost.mean, *ends)


def _compare_fig11(outcomes: Outcomes) -> Iterable[Finding]:
    far = {hops: _factor(outcomes, hops) for hops in LENGTHS}
    # On shorter chains fewer losses keep windows from filling large buffers.
    falls = min(far[2].mean, far[3].mean) > far[4].mean > 2
    falls = falls and all(measured.above(each, 1.0) for each in far.values())
    for hops in LENGTHS:
        times = [figures.rtt_ms(outcomes[f"{name}-{hops}-far"]).mean for name in BUFFERS]
        sentence = f"round trips take {times[1]:.0f} ms instead of {times[0]:.0f}"
        yield figures.found(f"mesh.fig11.{hops}hop", sentence, (far[hops],), falls)
    yield from _compare_goodput(outcomes)
    yield from _compare_four(outcomes)
    by_air = {hops: _by_air_percent(outcomes[f"default-{hops}-far"]) for hops in LENGTHS}
    words = ", ".join(f"{each:.0f} % over {hops} hops" for hops, each in by_air.items())
    yield figures.found(
        "mesh.text.wireless",
        f"with large buffers MACs give up, of all lost packets, {words}",
        holds=by_air[2] < 50 < by_air[4],
    )


def _by_air_percent(results: Results) -> float:
    dropped, given_up = (sum(of.values()) for of in figures.lost_packets(results))
    return figures.share(given_up, dropped + given_up)


def _compare_goodput(outcomes: Outcomes) -> Iterable[Finding]:
    kept = {hops: _kept(outcomes, hops) for hops in LENGTHS}
    least = min((kept[2], kept[3]), key=lambda of: of.mean)
    yield figures.found(
        "mesh.fig11.goodput23",
        f"{kept[2].mean:.0f} % over two hops, {kept[3].mean:.0f} % over three",
        (least,),
        least.mean > 100 * KEPT and _below(least, 100),
    )
    yield figures.found(
        "mesh.fig11.4hop_goodput",
        f"{kept[4].mean:.0f} % over four hops",
        (kept[4],),
        kept[4].mean > 100 * KEPT and _below(kept[4], 100),
    )


def _compare_four(outcomes: Outcomes) -> Iterable[Finding]:
    falls = _factor(outcomes, 4).mean > 2
    for name, word in (("default", "large"), ("sized", "sized")):
        ours = figures.rtt_ms(outcomes[f"{name}-4-far"])
        sentence = f"{ours.mean:.0f} ms with {word} buffers"
        yield figures.found(f"mesh.text.4hop_{word}", sentence, (ours,), falls)


def _draw_fig11(outcomes: Outcomes) -> Iterable[PaperFigure]:
    names = tuple(f"{hops} hops" for hops in LENGTHS)
    titles = {"far": "200 m apart", "close": "all sense each other"}
    panels = []
    for title, axis, figure, printed, log in (
        ("goodput, of that with large buffers", "percent", _kept, (92.0, 92.0, 90.0), False),
        ("round-trip time, of that with sized buffers", "ratio", _factor, (100.0, 25.0, 6.0), True),
    ):
        drawn = []
        for where, label in titles.items():
            found = {f"{hops} hops": figure(outcomes, hops, where) for hops in LENGTHS}
            drawn.append(measured.series(label, found, style="bars"))
        drawn.append(Series("printed", names, printed, style="bars", printed=True))
        panels.append(Panel(title, "", axis, tuple(drawn), log_y=log, zero=not log))
    yield PaperFigure("mesh-fig11", "Chains of the test bed, simulated (Fig. 11)", tuple(panels))


# Table 10


def _table10_runs(budget: Budget) -> Mapping[str, Run]:
    seconds, far = networks.seconds(budget), SPACINGS["far"]
    described: dict[str, Description] = {}
    for name, sized in BUFFERS.items():
        described |= {
            name: networks.linux_pair(far, seconds, sized=sized),
            f"{name}-close": networks.linux_pair(SPACINGS["close"], seconds, sized=sized),
            f"{name}-window": networks.linux_pair(
                SPACINGS["close"],
                seconds,
                sized=sized,
                changes={"tcp.window": f"{_WINDOW} packets"},
            ),
        } | {
            f"{name}-{condition}": networks.linux_pair(far, seconds, sized=sized, changes=changes)
            for condition, (_, changes) in CONDITIONS.items()
        }
    return networks.runs(budget, described, 2 * _COST, least=3)


def _pair(
    outcomes: Outcomes, table: str, unit: str, goodput: Callable[[Results], Value]
) -> Iterable[Finding]:
    """Find the four cells of a table of default and sized buffers, and the text's statements."""
    usual, sized = outcomes["default"], outcomes["sized"]
    factor, lost = figures.shorter(usual, sized), figures.lost_percent(usual, sized)
    costs_little = measured.above(lost) and lost.mean < 100 * (1 - KEPT)
    for name in BUFFERS:
        for what, unit_of, figure in (("goodput", unit, goodput), ("rtt", "ms", figures.rtt_ms)):
            ours = figure(outcomes[name])
            sentence = f"{figures.number(ours.mean)} {unit_of} with {name} buffers"
            holds = factor.mean > 4 if what == "rtt" else costs_little
            yield figures.found(f"mesh.{table}.{name}.{what}", sentence, (ours,), holds)
    claimed = f"mesh.text.t{table.removeprefix('table')}"
    sentence = f"round trips are {factor.mean:.1f} times shorter with sized buffers"
    yield figures.found(claimed, sentence, (factor,), factor.mean > 4)
    sentence = f"sized buffers cost {lost.mean:.1f} % of the goodput"
    yield figures.found(f"{claimed}_loss", sentence, (lost,), costs_little)


def _below(value: Value, bound: float) -> bool:
    """Return whether a value is below a bound with its whole 95 % interval."""
    return (value.mean if value.high is None else value.high) < bound


def _scaled(value: Value, by: float) -> Value:
    low, high = (None if end is None else end * by for end in (value.low, value.high))
    return Value(value.mean * by, low, high)


def _setting(words: str, ending: str) -> Setting:
    """Return a setting that runs with default and with sized buffers have, with this end of names."""
    return Setting(words, {name: f"{name}-{ending}" for name in BUFFERS})


def _conditions(names: Iterable[str]) -> tuple[Setting, ...]:
    return tuple(_setting(CONDITIONS[name][0], name) for name in names)


_TABLE10: Final = (
    _setting(CLOSE, "close"),
    _setting(f"{CLOSE} and windows are of {_WINDOW} segments at most", "window"),
    *_conditions(CONDITIONS),
)


def _compare_table10(outcomes: Outcomes) -> Iterable[Finding]:
    yield from _pair(outcomes, "table10", "kb/s", figures.goodput_kbps)


# Table 11


def fast_buffer() -> float:
    """Return B for four hops at 65 Mb/s (Eq. 3)."""
    exchange = mesh_exchange("n-65-ack-6").round_trip_s
    return float(neighbourhood_buffer(4, exchange, _RATE_BPS).packets)


def table11_runs(budget: Budget) -> Mapping[str, Run]:
    """Return the 802.11n chain with both buffers, also with unprinted settings changed."""
    seconds = networks.seconds(budget)
    single = {"mac.aggregation.enabled": False}
    ring, packets = networks.RING_FRAMES, fast_buffer()
    described = {
        "default": networks.fast_chain(seconds, FULL_RING, None, {}),
        "sized": networks.fast_chain(seconds, FULL_RING, packets, {}),
        "sized-ring": networks.fast_chain(seconds, ring, packets, {}),
        "default-single": networks.fast_chain(seconds, FULL_RING, None, single),
        "sized-single": networks.fast_chain(seconds, ring, packets, single),
    }
    for condition in NOISY:
        changes = CONDITIONS[condition][1]
        described |= {
            f"default-{condition}": networks.fast_chain(seconds, FULL_RING, None, changes),
            f"sized-{condition}": networks.fast_chain(seconds, FULL_RING, packets, changes),
        }
    return networks.runs(budget, described, _FAST_COST, least=3)


_TABLE11: Final = (
    Setting(f"with a ring of {networks.RING_FRAMES} packets", {"sized": "sized-ring"}),
    _setting("without aggregation", "single"),
    *_conditions(NOISY),
)


def _compare_table11(outcomes: Outcomes) -> Iterable[Finding]:
    yield from _pair(outcomes, "table11", "Mb/s", goodput_mbps)


def goodput_mbps(results: Results) -> Value:
    """Return the mean goodput of the transfers."""
    return _scaled(figures.goodput_kbps(results), 1e-3)


def _labels(outcomes: Outcomes) -> dict[str, str]:
    """Return the labels of runs; default and sized buffers under equal conditions are adjacent."""
    pairs = sorted(outcomes, key=lambda name: name.partition("-")[2])
    return {name: name.replace("-", ", ") for name in pairs}


def _draw_table10(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = (
        ("goodput", "kb/s", figures.goodput_kbps, "mesh.table10.{}.goodput"),
        ("round-trip time", "ms", figures.rtt_ms, "mesh.table10.{}.rtt"),
    )
    labels = _labels(outcomes)
    title = "Two flows over disjoint paths (Table 10)"
    yield figures.bars("mesh-table10", title, outcomes, labels, panels)


def _draw_table11(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = (
        ("goodput", "Mb/s", goodput_mbps, "mesh.table11.{}.goodput"),
        ("round-trip time", "ms", figures.rtt_ms, "mesh.table11.{}.rtt"),
    )
    labels = _labels(outcomes)
    title = "Four hops of 802.11n (Table 11)"
    yield figures.bars("mesh-table11", title, outcomes, labels, panels)


# Table 2


def _compare_table2(outcomes: Outcomes) -> Iterable[Finding]:
    most = max(
        of["mpdus_per_frame"]
        for run in outcomes["small"].runs.values()
        for of in run["stations"].values()
        if of["mpdus_per_frame"] is not None
    )
    yield figures.found(
        "mesh.buf.ampdu",
        f"frames of a station that always has small packets carry {most:.1f} of them in the mean",
        (Value(most),),
        holds=most > 1,
    )


_SIMULATED: Final = (
    "A simulation, not a test bed: the standard's MAC with an acknowledgement at 2 Mb/s, CUBIC with "
    "Linux's timers and no limit of its window, 1448 bytes in a segment; a receiver keeps a frame "
    "while one begins that is 10 dB weaker. Default buffers are a "
    "transmit queue of 1000 packets and a ring of 50; sized ones have the packets of Eq. (16), the "
    "source's first, and a ring of 3."
)

ITEMS: Final = (
    Item(
        "fig1",
        "One transfer with Linux's buffers",
        _compare_fig1,
        _fig1_runs,
        _draw_fig1,
        notes=(
            "Two nodes of 802.11g alone at 36 Mb/s, with slots of 9 us, a transmit queue of 1000 "
            "packets and a ring of 50. TCP's congestion window is not recorded; throughput is drawn "
            "in its place.",
        ),
    ),
    Item(
        "fig11",
        "Chains of two to four hops with Linux's buffers, simulated",
        _compare_fig11,
        fig11_runs,
        _draw_fig11,
        notes=(
            _SIMULATED,
            "Neighbours are 200 m apart, so that nodes three hops apart do not sense each other: "
            "over four hops collisions then keep windows from filling large buffers, as the paper "
            "says. If all nodes sense each other, and over three hops unless frames are lost to "
            "noise too, windows fill the buffers.",
        ),
        settings=_fig11_settings(),
    ),
    Item(
        "table10",
        "Two flows over disjoint paths, simulated",
        _compare_table10,
        _table10_runs,
        _draw_table10,
        notes=(
            _SIMULATED,
            "Chains of three and four hops lie 50 m apart and neighbours 200 m. By the printed "
            "goodput and round-trip time each flow has 112 segments in flight with default buffers, "
            "far less than a queue of 1000 holds: losses or windows must have limited it.",
        ),
        settings=_TABLE10,
    ),
    Item(
        "table11",
        "Four hops of 802.11n, simulated",
        _compare_table11,
        table11_runs,
        _draw_table11,
        notes=(
            "A simulation, not a test bed: 802.11n at 65 Mb/s with aggregation, a download from a "
            "server behind the gateway, neighbours 200 m apart, radios as in Fig. 11, Linux's TCP, a "
            "transmit queue of 1000 packets and a ring of 128, those of ath9k. Sized buffers leave "
            "that ring, in which aggregates form: the printed 153 ms at 8.1 Mb/s are 107 packets of "
            "1448 bytes in flight, and 14 packets with rings of 3 hold 26.",
        ),
        settings=_TABLE11,
    ),
    Item(
        "table2",
        "Buffers of Linux and its drivers",
        _compare_table2,
        lambda budget: networks.runs(budget, {"small": networks.small_packets()}, 0.5, least=1),
    ),
)
