"""The commit that brought the airtime scheduler to ath9k: three stations before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from airqueue_papers.anomaly import figures
from airqueue_papers.anomaly.scenarios import AIRTIME, ASSUMED, FQ_MAC, Case, simulations
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run, Setting
from airqueue_papers.measured import apart_above, series
from airqueue_papers.picture import Panel, PaperFigure

BEFORE: Final = Case(FQ_MAC, "tcp")
AFTER: Final = Case(AIRTIME, "tcp")
TRAFFICS: Final = {
    "udp": "with UDP in place of TCP",
    "both": "with an upload of each station beside its download",
}
"""Traffic that the commit may mean -> the setting, in a clause."""


def _instead(traffic: str) -> dict[str, Case]:
    return {case.name: Case(case.scheme, traffic) for case in (BEFORE, AFTER)}


def _runs(budget: Budget) -> Mapping[str, Run]:
    others = [case for traffic in TRAFFICS for case in _instead(traffic).values()]
    return simulations([BEFORE, AFTER, *others], budget)


def _compare(outcomes: Outcomes) -> Iterable[Finding]:
    found = {
        "before": figures.each(outcomes, BEFORE, figures.mbps),
        "after": figures.each(outcomes, AFTER, figures.mbps),
    }
    totals = {
        word: figures.of_runs(outcomes, case, lambda run, case=case: figures.total_mbps(run, case))  # type: ignore[misc]
        for word, case in (("before", BEFORE), ("after", AFTER))
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


def _pictures(outcomes: Outcomes) -> Iterable[PaperFigure]:
    names = BEFORE.stations
    printed = {"before": (19.17, 19.83, 2.58), "after": (25.09, 25.21, 1.77)}
    panels = []
    for word, case in (("before", BEFORE), ("after", AFTER)):
        ours = figures.each(outcomes, case, figures.mbps)
        lines = (
            series("simulation", dict(zip(names, ours, strict=True)), style="bars"),
            series("commit", dict(zip(names, printed[word], strict=True)), style="points", printed=True),
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
    settings=tuple(
        Setting(words, {name: case.name for name, case in _instead(traffic).items()})
        for traffic, words in TRAFFICS.items()
    ),
)
