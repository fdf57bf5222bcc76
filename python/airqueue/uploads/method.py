"""Carries out the runs of uploads, and leaves their records to `verdict`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airqueue.measure.events import Event
from airqueue.measure.prober import Prober
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.stations.observed import SATURATED
from airqueue.measure.stations.survey import Survey, agreed_pps, counts
from airqueue.uploads import plans
from airqueue.uploads.settings import NAMES, Category, Settings, expected, to_dict
from airqueue.uploads.verdict import UploadsDict, carried_pps, judge


def measure(
    prober: Prober,
    names: Sequence[str],
    settings: Settings,
    categories: Sequence[Category] = ("bk",),
    *,
    on_event: Callable[[Event], None] | None = None,
    on_run: Callable[[Run], None] | None = None,
    header: Mapping[str, Any] | None = None,
) -> UploadsDict:
    """Measure how stations win the medium, in one category and in two.

    ``names``: of the stations, this machine's first; the prober's direction is up, and its flows are
    as in `airqueue.measure.stations`. ``categories``: to compare with best effort. Raises ProbeError
    when the endpoints cannot carry out a run.
    """
    logs = {category: expected(settings, category, len(names)) for category in categories}
    contrasts = {c: math.exp(abs(log.log)) for c, log in logs.items() if log is not None}
    runner, most_pps = Runner(prober, on_event, on_run), agreed_pps(prober)
    survey = _Survey(runner, list(names), most_pps, contrasts)
    survey.warnings += [
        f"The settings leave {NAMES[c]} or best effort next to nothing: they are not compared."
        for c in categories
        if c not in contrasts
    ]
    survey.carry_out()
    about = {
        "elapsed_s": survey.runner.elapsed_s(),
        "stations": list(names),
        "settings": to_dict(settings),
        "warnings": survey.warnings,
    }
    return judge(survey.runner.runs, {**(header or {}), **about})


@dataclass
class _Survey(Survey):
    """Uploads of each station alone, and of all at once."""

    contrasts: dict[Category, float]
    """Of each category to compare: predicted accesses of one station over those of the other."""

    def carry_out(self) -> None:
        """Look for the rate of each station, then have all upload together."""
        steps = len(self.names) + 1 + 2 * len(self.contrasts)
        rates: list[float] = []
        for station, name in enumerate(self.names):
            rate = self._search(station)
            if rate is None:
                self.warnings.append(
                    f"The path of {name} could not be saturated within the agreed rates."
                )
                return
            rates.append(rate)
            self.done += 1 / steps
        wanted = [(plans.equal_plan(rates, self.most_pps), "all stations upload in best effort")]
        for category, contrast in self.contrasts.items():
            for first in (True, False):
                planned = plans.category_plan(
                    rates, category, first=first, most_pps=self.most_pps, contrast=contrast
                )
                who = self.names[0] if first else " and ".join(self.names[1:])
                wanted.append((planned, f"{who} in {NAMES[category]}, the rest in best effort"))
        for planned, says in wanted:
            if planned is None:
                self.warnings.append("The paths together are too fast for the agreed rates.")
                return
            if not counts(self.run(planned, says)):
                self.run(planned, f"{says}, again")
            self.done += 1 / steps

    def _search(self, station: int) -> float | None:
        """Return about what a path carries; None if it carries all that may be sent."""

        def saturated_pps(run: Run, rate: float) -> float | None:
            carried = carried_pps(run)
            return carried if 0 < carried < SATURATED * rate else None

        return self.search(
            station,
            self.most_pps,
            lambda rate, index: plans.rate_plan(station, rate, index),
            saturated_pps,
        )
