"""Simulating the scenario of an advice, and the mean of a figure with its interval."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from typing import Final

from airqueue.simulate import Results, Scenario
from airqueue.simulate.replications import ReplicationProgress
from airqueue.simulate.reported import Run
from airqueue.sizing.advice import Settings
from airqueue.stats import Interval, t_interval

REPLICATIONS: Final = 4
SEED: Final = 1

Progress = Callable[[str, float], None]
"""Called now and then with what is simulated, and how much of the trial is done, from 0 to 1."""


def nothing_said(_what: str, _fraction: float) -> None:
    """Say nothing of the progress."""


def simulated(settings: Settings, on_progress: Callable[[float], None]) -> Results:
    """Simulate the scenario that an advice prints. on_progress: of this scenario, from 0 to 1.

    Raises ScenarioError, Interrupted.
    """
    scenario = Scenario(tomllib.loads("\n".join(settings.lines)))

    def show(progress: ReplicationProgress) -> None:
        on_progress(progress.fraction)

    return scenario.simulate(SEED, REPLICATIONS, on_progress=show)


def goodput_bps(run: Run, flows: Iterable[str]) -> float:
    """Return what some flows of TCP get together in a replication."""
    return sum((run["connections"][flow]["goodput_bps"] or 0.0 for flow in flows), 0.0)


def mean(results: Results, figure: Callable[[Run], float | None]) -> Interval:
    """Return the mean of a figure over the replications that have the figure, and its interval."""
    found: Iterable[float | None] = (figure(run) for run in results.runs.values())
    interval = t_interval([each for each in found if each is not None])
    return interval or Interval(float("nan"), float("nan"), float("nan"), 0)
