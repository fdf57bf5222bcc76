"""Carries out the runs of several stations, and leaves their records to `verdict`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from airqueue.measure.events import Event
from airqueue.measure.prober import Prober
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.stations import plans
from airqueue.measure.stations.observed import is_saturated, rate_pps
from airqueue.measure.stations.plans import Pair, flow_of
from airqueue.measure.stations.survey import FASTER, Survey, agreed_pps, counts
from airqueue.measure.stations.verdict import StationsDict, judge

TRIES: Final = 3
"""Floods to a station alone: one that the path carries whole shows a rate that was too low, and one
that is cut short shows none."""


def measure(
    prober: Prober,
    names: Sequence[str],
    *,
    on_event: Callable[[Event], None] | None = None,
    on_run: Callable[[Run], None] | None = None,
    header: Mapping[str, Any] | None = None,
) -> StationsDict:
    """Measure how stations share what lies between them and the server.

    ``names``: of the stations, this machine's first; the prober has two flows to this machine and
    one to each of the others, in this order. Raises ProbeError when the endpoints cannot carry out
    a run.
    """
    survey = _Survey(Runner(prober, on_event, on_run), list(names), agreed_pps(prober))
    survey.carry_out()
    about = {
        "elapsed_s": survey.runner.elapsed_s(),
        "stations": list(names),
        "warnings": survey.warnings,
    }
    return judge(survey.runner.runs, {**(header or {}), **about})


@dataclass
class _Survey(Survey):
    """Floods to each station alone, and to two at once."""

    rates_pps: list[float | None] = field(default_factory=list)
    """What the path to each station carries alone."""

    def carry_out(self) -> None:
        """Flood each station alone, then each of the others together with this one."""
        count = len(self.names)
        for station, name in enumerate(self.names):
            self.rates_pps.append(self._alone(station))
            if self.rates_pps[station] is None:
                self.warnings.append(
                    f"The path to {name} could not be saturated within the agreed rates."
                )
            self.done += 1 / (2 * count - 1)
        for station in range(1, count):
            self._together(station)
            self.done += 1 / (2 * count - 1)

    def _alone(self, station: int) -> float | None:
        """Return what the path to a station carries alone; None if nothing saturates it."""
        guess, count = self._search(station), len(self.names)
        for index in range(TRIES):
            if guess is None:
                return None
            planned = plans.alone_plan(station, guess, count, self.most_pps, index)
            run = self.run(planned, f"measuring the rate of {self.names[station]} alone")
            carried = rate_pps(run, flow_of(station))
            if carried is None:
                continue
            if not is_saturated(run, flow_of(station), carried):
                guess = carried * FASTER / 2
            elif counts(run):
                return carried
            else:
                # A smaller flood leaves room for the few packets that keep other stations in the run.
                guess = min(guess, carried)
        return None

    def _search(self, station: int) -> float | None:
        """Return about what a path carries; None if it carries all that may be sent."""
        flow, count = flow_of(station), len(self.names)

        def saturated_pps(run: Run, _: float) -> float | None:
            carried = _carried(run, flow)
            return carried if carried > 0 and is_saturated(run, flow, carried) else None

        return self.search(
            station,
            self.most_pps - plans.total_pps(plans.sparse(count, [flow])),
            lambda rate, index: plans.rate_plan(station, rate, count, index),
            saturated_pps,
        )

    def _together(self, station: int) -> None:
        """Flood this machine and a station together, if the paths to both are known."""
        own, other = self.rates_pps[0], self.rates_pps[station]
        if own is None or other is None:
            return
        pair, count, most = Pair(0, station, (own, other)), len(self.names), self.most_pps
        wanted = (
            plans.together_plan(pair, more_to_first=True, stations=count, most_pps=most),
            plans.together_plan(pair, more_to_first=False, stations=count, most_pps=most),
            plans.two_to_one_plan(pair, count, most),
        )
        both = f"{self.names[0]} and {self.names[station]}"
        for planned in wanted:
            if planned is None:
                self.warnings.append(f"The paths to {both} are too fast for the agreed rates.")
                return
            if not counts(self.run(planned, f"flooding {both}")):
                self.run(planned, f"flooding {both} again")


def _carried(run: Run, flow: int) -> float:
    """Return the packets per second of a flood that arrived, over the time in which they did."""
    start, end = run.meta["phases"]["load"]
    sent = (run.flow == flow) & (run.scheduled_ns >= start * 1e9) & (run.scheduled_ns < end * 1e9)
    at = run.received_ns[sent & run.received]
    return float(len(at) / max(end - start, np.ptp(at) * 1e-9)) if len(at) else 0.0
