"""The commit that brought the airtime scheduler to ath9k: three stations before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from airqueue_papers.anomaly import figures
from airqueue_papers.anomaly.scenarios import AIRTIME, ASSUMED, FQ_MAC, SLOW, Case, simulations
from airqueue_papers.claim import load
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run, Setting
from airqueue_papers.measured import apart_above, series
from airqueue_papers.picture import Panel, PaperFigure

BEFORE: Final = Case(FQ_MAC, "tcp")
AFTER: Final = Case(AIRTIME, "tcp")
_LESS: Final = "HT-MCS13"
"""A rate that a rate control may find for the fast stations, 115.6 Mb/s."""
_FEWER: Final = 19
"""Packets of 28 434 bytes, a frame to a fast station in the paper's Table 1 as remembered."""
OTHERS: Final[Mapping[str, Callable[[Case], Case]]] = {
    "with UDP in place of TCP": lambda case: replace(case, traffic="udp"),
    "with an upload of each station beside its download": lambda case: replace(
        case, traffic="both"
    ),
    "with 115.6 Mb/s for the fast stations": lambda case: replace(case, rates=(_LESS, SLOW)),
    "with frames of 19 packets at most": lambda case: replace(case, subframes=_FEWER),
}
"""What the commit does not print, in a clause -> the case with it."""


def _runs(budget: Budget) -> Mapping[str, Run]:
    both = (BEFORE, AFTER)
    others = [change(case) for change in OTHERS.values() for case in both]
    return simulations([*both, *others], budget)


def _compare(outcomes: Outcomes) -> Iterable[Finding]:
    found = {
        "before": figures.each(outcomes, BEFORE, figures.mbps),
        "after": figures.each(outcomes, AFTER, figures.mbps),
    }
    totals = {
        "before": figures.total_mbps(outcomes, BEFORE),
        "after": figures.total_mbps(outcomes, AFTER),
    }
    before, after = found["before"], found["after"]
    gain = all(apart_above(new, old) for new, old in zip(after[:-1], before[:-1], strict=True))
    loss = apart_above(before[-1], after[-1])
    more = apart_above(totals["after"], totals["before"])
    for word, rates in found.items():
        yield from _of(word, rates, totals[word], (gain, loss, more))


def _of(
    word: str, rates: tuple[Value, ...], total: Value, holds: tuple[bool, bool, bool]
) -> Iterable[Finding]:
    """Yield the findings for one column of the commit's table."""
    gain, loss, more = holds
    yield Finding(
        f"anomaly.commit.{word}.fast",
        f"The fast stations receive {figures.listed(rates[:-1], 2)} Mb/s.",
        rates[:-1],
        holds=gain,
    )
    yield Finding(
        f"anomaly.commit.{word}.slow",
        f"The slow station receives {figures.told(rates[-1])} Mb/s.",
        rates[-1:],
        holds=loss,
    )
    yield Finding(
        f"anomaly.commit.{word}.total",
        f"All stations receive {figures.told(total)} Mb/s.",
        (total,),
        holds=more,
    )


def _says(outcomes: Outcomes) -> Iterable[str]:
    totals = [figures.total_mbps(outcomes, case).mean for case in (BEFORE, AFTER)]
    printed = [
        float((load("anomaly").claims[f"anomaly.commit.{word}.total"].numbers or [0])[0])
        for word in ("before", "after")
    ]
    yield (
        "The airtime scheduler makes the throughput of all three "
        f"{printed[1] / printed[0]:.2f} times as large in print, and {totals[1] / totals[0]:.2f} "
        "times here."
    )


def _pictures(outcomes: Outcomes) -> Iterable[PaperFigure]:
    names = BEFORE.stations
    claims = load("anomaly").claims
    panels = []
    for word, case in (("before", BEFORE), ("after", AFTER)):
        ours = figures.each(outcomes, case, figures.mbps)
        printed = [
            float(number)
            for which in ("fast", "slow")
            for number in claims[f"anomaly.commit.{word}.{which}"].numbers or ()
        ]
        lines = (
            series("simulation", dict(zip(names, ours, strict=True)), style="bars"),
            series("commit", dict(zip(names, printed, strict=True)), style="points", printed=True),
        )
        panels.append(Panel(word, "station", "throughput, Mb/s", lines))
    title = "Three stations before and after the airtime scheduler"
    yield PaperFigure("anomaly-commit", title, tuple(panels))


COMMIT: Final = Item(
    "commit",
    "Three stations before and after the scheduler (commit 63fefa050477)",
    _compare,
    _runs,
    _pictures,
    (
        ASSUMED,
        "The commit does not say which traffic its throughputs are of: a download of each station is "
        "assumed. Before it, ath9k already had the queues of mac80211.",
    ),
    says=_says,
    settings=tuple(
        Setting(words, {case.name: change(case).name for case in (BEFORE, AFTER)})
        for words, change in OTHERS.items()
    ),
)
