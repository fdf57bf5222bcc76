"""EDCA paper, Sec. 5: TCP uploads and downloads with default parameters and with Table 2's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from airqueue.models.edca_fairness import tcp_fairness
from airqueue_papers import ns2
from airqueue_papers.edca import figures
from airqueue_papers.edca.figures import mean
from airqueue_papers.edca.scenarios import AP, LikeNs2, Shared, Transfers
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run
from airqueue_papers.measured import apart, apart_above, furthest, interval, percent, scaled, series
from airqueue_papers.picture import Panel, PaperFigure

UPLOADS: Final = Transfers(12)
MIXED: Final = Transfers(6, 6)
FAIR_UPLOADS: Final = replace(UPLOADS, scheme="table2")
FAIR_MIXED: Final = replace(MIXED, scheme="table2")
FEW: Final = tuple(Transfers(count) for count in (2, 3, 4, 5, 6, 8, 12))
RANGE: Final = (
    Transfers(3, 9, "table2"),
    Transfers(9, 3, "table2"),
    Transfers(2, 4, "table2"),
    Transfers(6, 6, "table2", background_mbps=0.5),
)
_LIKE_NS2: Final = (LikeNs2(2), LikeNs2(3))
_SHARED: Final = tuple(Shared(up, down) for up in (1, 3, 6, 12) for down in (1, 3, 6))
UNFAIR: Final = 0.8
"""Jain's index below which uploads are grossly unfair."""
STARVED: Final = 0.1
DEGRADED: Final = 0.95
RESTORED: Final = 0.98
_TENTH: Final = 0.1
_NEAR_ALL: Final = 0.15
_HALF_OF_ALL: Final = 6
"""Most stations that count as "quite quickly"."""


def delayed(case: Transfers) -> Transfers:
    """Return the case with an acknowledgement for every second segment."""
    return replace(case, ack_every=2)


def simulations(cases: Iterable[Transfers], budget: Budget) -> Mapping[str, Run]:
    """Return tests of five minutes as in Sec. 3, or of 1.5 minutes with the small budget."""
    length, count = budget.pick(90, 300), budget.pick(8, 16)
    return {case.name: case.simulation(length, count) for case in cases}


def _runs_sec5(budget: Budget) -> Mapping[str, Run]:
    shared = {case.name: case.simulation(budget.pick(10, 60), 3) for case in _SHARED}
    as_ns2 = {case.name: case.simulation(170, budget.pick(8, 32)) for case in _LIKE_NS2}
    return {**simulations((*FEW, *map(delayed, FEW)), budget), **shared, **as_ns2}


def _share(outcomes: Outcomes, case: Shared) -> float:
    """Return the access point's share of the packets that got through, mean over replications."""
    shares = []
    for run in figures.runs(outcomes[case.name]):
        done = {name: each["acknowledged_packets"] for name, each in run["stations"].items()}
        shares.append(done[AP] / sum(done.values()))
    return mean(shares)


def _degraded(outcomes: Outcomes, cases: Sequence[Transfers]) -> int | None:
    """Return the least number of uploads with a fairness below `DEGRADED`."""
    return next(
        (c.uploads for c in cases if figures.fairness(outcomes, c.name).mean < DEGRADED), None
    )


def _ns2_of_three() -> float:
    """Return ns-2's index of three uploads to a server 5 ms away."""
    return ns2.value("Jain's index", kind="uploads", flows="3*up:5:11") or 0.0


def _compare_sec5(outcomes: Outcomes) -> Iterable[Finding]:
    alone = _degraded(outcomes, FEW)
    every_second = _degraded(outcomes, [delayed(case) for case in FEW])
    three = figures.fairness(outcomes, FEW[1].name)
    words = "none up to 12" if every_second is None else str(every_second)
    as_ns2 = [figures.fairness(outcomes, case.name).mean for case in _LIKE_NS2]
    yield Finding(
        "edca.sec5.three",
        f"Jain's index falls below {DEGRADED} from {alone or 'none'} uploads on, with an "
        f"acknowledgement for every second segment from {words}; with three it is "
        f"{interval(three)}; with ns-2's TCP and MAC, queues of 50 packets and a server 5 ms away it "
        f"is {as_ns2[0]:.3f} with two and {as_ns2[1]:.3f} with three, and ns-2 itself has "
        f"{_ns2_of_three():.3f}.",
        () if alone is None else (Value(float(alone)),),
        holds=alone is not None and alone <= _HALF_OF_ALL,
    )
    shares = {
        (case.uploads, case.downloads): (_share(outcomes, case), 1 / (case.uploads + 1))
        for case in _SHARED
    }
    one = {uploads: pair for (uploads, downloads), pair in shares.items() if downloads == 1}
    uploads, error = furthest(one)
    yield Finding(
        "edca.sec5.share",
        f"Beside saturated uploads the access point's share is at most {percent(error)} from "
        f"1/(n + 1), at {uploads} ({one[uploads][0]:.4f} and {one[uploads][1]:.4f}).",
        holds=error <= _TENTH,
    )
    (uploads, downloads), error = furthest(shares)
    yield Finding(
        "edca.sec5.dlshare",
        f"Saturated downloads share the access point's turns: at most {percent(error)} from "
        f"1/(n_u + 1), with {uploads} uploads and {downloads} downloads; with TCP, Fig. 7 has less, "
        "as acknowledgements of uploads take their part.",
        holds=error <= _TENTH,
    )


def _compare_fig6(outcomes: Outcomes) -> Iterable[Finding]:
    index, least = (f(outcomes, UPLOADS.name) for f in (figures.fairness, figures.smallest))
    other = [f(outcomes, delayed(UPLOADS).name) for f in (figures.fairness, figures.smallest)]
    yield Finding(
        "edca.fig6",
        f"Jain's index is {interval(index)} and the smallest flow has {percent(least.mean)} of the "
        f"mean; with an acknowledgement for every second segment {interval(other[0])} and "
        f"{percent(other[1].mean)}.",
        holds=index.mean < UNFAIR and least.mean < STARVED,
    )


def _downloads(outcomes: Outcomes, case: Transfers) -> Value:
    """Return the goodput of a download over that of an upload, mean over replications."""
    tests = figures.runs(outcomes[case.name])
    return figures.found(
        mean(figures.goodputs(run, "down")) / mean(figures.goodputs(run, "up")) for run in tests
    )


def _among_uploads(outcomes: Outcomes, case: Transfers) -> float:
    """Return the largest upload over the smallest, by their means over replications in order."""
    tests = [sorted(figures.goodputs(run, "up")) for run in figures.runs(outcomes[case.name])]
    smallest, largest = (mean([test[k] for test in tests]) for k in (0, -1))
    return largest / max(smallest, 1e-9)


def _compare_fig7(outcomes: Outcomes) -> Iterable[Finding]:
    ratio, within = _downloads(outcomes, MIXED), _among_uploads(outcomes, MIXED)
    other = delayed(MIXED)
    yield Finding(
        "edca.fig7",
        f"A download gets {percent(ratio.mean, 2)} of an upload's goodput, and the largest upload "
        f"{within:.1f} times the smallest; with an acknowledgement for every second segment "
        f"{percent(_downloads(outcomes, other).mean, 2)} and "
        f"{_among_uploads(outcomes, other):.1f}; were data and acknowledgements alike, six "
        f"downloads would share {percent(float(tcp_fairness(6, 6).downloads_share))}.",
        holds=ratio.mean < 0.5 and within >= 2,
    )


def _compare_fig8(outcomes: Outcomes) -> Iterable[Finding]:
    off = figures.deviation(outcomes, FAIR_UPLOADS.name)
    before, after = (figures.fairness(outcomes, c.name) for c in (UPLOADS, FAIR_UPLOADS))
    other = figures.deviation(outcomes, delayed(FAIR_UPLOADS).name)
    yield Finding(
        "edca.fig8",
        f"A test's furthest flow is {interval(off, 100, 1)} % from the mean, and "
        f"{interval(other, 100, 1)} % with an acknowledgement for every second segment.",
        (scaled(off, 100),),
        holds=apart_above(after, before),
    )
    yield Finding(
        "edca.fig8.restored",
        f"Jain's index is {interval(after, digits=4)} with Table 2 and {interval(before)} without.",
        holds=after.mean > RESTORED and before.mean < UNFAIR,
    )


def _compare_fig9(outcomes: Outcomes) -> Iterable[Finding]:
    flows = [value.mean for value in figures.each_flow(outcomes, FAIR_MIXED.name)]
    off = max(apart(each, mean(flows)) for each in flows)
    ratio = _downloads(outcomes, FAIR_MIXED)
    one = figures.deviation(outcomes, FAIR_MIXED.name)
    other = _downloads(outcomes, delayed(FAIR_MIXED))
    yield Finding(
        "edca.fig9",
        f"Flows' means are at most {percent(off)} from the mean of all, a download gets "
        f"{interval(ratio)} of an upload's goodput, and in one test the furthest flow is "
        f"{percent(one.mean)} off; with an acknowledgement for every second segment a download "
        f"gets {interval(other)}.",
        holds=off <= _NEAR_ALL and apart(ratio.mean, 1) <= _NEAR_ALL,
    )


def _compare_range(outcomes: Outcomes) -> Iterable[Finding]:
    found = {_words(case): figures.fairness(outcomes, case.name).mean for case in RANGE}
    yield Finding(
        "edca.sec52.range",
        "Jain's index is "
        + ", ".join(f"{index:.3f} {words}" for words, index in found.items())
        + ".",
        holds=min(found.values()) > DEGRADED,
    )


def _words(case: Transfers) -> str:
    words = f"with {case.uploads} uploads and {case.downloads} downloads"
    return f"{words} beside {case.background_mbps} Mb/s" * bool(case.background_mbps) or words


def _panels(outcomes: Outcomes, case: Transfers) -> tuple[Panel, ...]:
    """Return one test by station as in print, and all tests from the smallest flow to the largest."""
    count = case.uploads + case.downloads
    stations = [str(number) for number in range(1, count + 1)]
    first = figures.goodputs(figures.runs(outcomes[case.name])[0])
    one = series("simulation", dict(zip(stations, first, strict=True)), style="bars")
    order = dict(zip(stations, figures.in_order(outcomes, case.name), strict=True))
    every = series("simulation, mean over tests", order, style="bars")
    return (
        Panel("one test", "station", "goodput, kb/s", (one,)),
        Panel("all tests", "flow, from the smallest", "goodput, kb/s", (every,)),
    )


def _item(
    title: str,
    case: Transfers,
    compare: Callable[[Outcomes], Iterable[Finding]],
    *,
    besides: Sequence[Transfers] = (),
    notes: tuple[str, ...] = (),
) -> Item:
    """Return an item whose figure is the goodputs of a case; the title ends in ``(Fig. 6)``."""
    what, _, number = title.rstrip(")").partition(" (Fig. ")
    name = f"fig{number}"

    def runs(budget: Budget) -> Mapping[str, Run]:
        return simulations((case, delayed(case), *besides), budget)

    def pictures(outcomes: Outcomes) -> Iterable[PaperFigure]:
        yield PaperFigure(f"edca-{name}", f"{what}, as Fig. {number}", _panels(outcomes, case))

    return Item(name, title, compare, runs, pictures, (ASSUMED, *notes))


def _pictures_sec5(outcomes: Outcomes) -> Iterable[PaperFigure]:
    lines = tuple(
        series(label, {float(c.uploads): figures.fairness(outcomes, c.name) for c in cases})
        for label, cases in (
            ("an acknowledgement for every segment", FEW),
            ("for every second segment", [delayed(case) for case in FEW]),
        )
    )
    panel = Panel("", "uploads", "Jain's index of goodputs", lines)
    yield PaperFigure("edca-sec5", "Fairness over the number of uploads", (panel,))


def _pictures_range(outcomes: Outcomes) -> Iterable[PaperFigure]:
    panels = tuple(replace(_panels(outcomes, case)[0], title=_words(case)) for case in RANGE)
    yield PaperFigure("edca-sec52", "Table 2 with other numbers of flows", panels)


ASSUMED: Final = (
    "Assumed, since not printed: connections end in the access point; AIMD with SACK and the timers "
    "of Linux; an acknowledgement for every segment, as in the paper's argument, with one for every "
    "second segment beside; tests of five minutes, as for the calibration."
)
SEC5: Final = Item(
    "sec5",
    "Shares of the medium with default parameters (Sec. 5.1)",
    _compare_sec5,
    _runs_sec5,
    _pictures_sec5,
    (ASSUMED, "Shares of transmission opportunities are measured with saturated UDP."),
)
FIG6: Final = _item("Twelve TCP uploads (Fig. 6)", UPLOADS, _compare_fig6)
FIG7: Final = _item("Six uploads and six downloads (Fig. 7)", MIXED, _compare_fig7)
FIG8: Final = _item(
    "Twelve TCP uploads with Table 2 (Fig. 8)",
    FAIR_UPLOADS,
    _compare_fig8,
    besides=(UPLOADS,),
)
FIG9: Final = _item(
    "Six uploads and six downloads with Table 2 (Fig. 9)",
    FAIR_MIXED,
    _compare_fig9,
    notes=("A TXOP of n_d packets has one packet for each download with packets waiting.",),
)
SEC52: Final = Item(
    "sec52",
    "Table 2 with other numbers of flows (Sec. 5.2)",
    _compare_range,
    lambda budget: simulations(RANGE, budget),
    _pictures_range,
    (ASSUMED,),
)
