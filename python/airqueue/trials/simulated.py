"""Simulating the scenario of an advice, and the mean of a figure with its interval."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from airqueue.simulate import Results, Scenario
from airqueue.simulate.replications import ReplicationProgress
from airqueue.sizing.advice import Settings
from airqueue.stats import Interval, t_interval
from airqueue.text import seconds

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

REPLICATIONS: Final = 4
SEED: Final = 1
PACKET_S: Final = 1.7e-6
"""Computing time of a packet of TCP with its acknowledgement, about, on two processors of 2020."""
AGGREGATED_PACKET_S: Final = 0.5e-6
"""The same in an A-MPDU."""
MOST_S: Final = 30.0
"""Of computing: a trial that takes longer is carried out only if asked for."""

Progress = Callable[[str, float], None]
"""Called now and then with what is simulated, and how much of the trial is done, from 0 to 1."""


def nothing_said(_what: str, _fraction: float) -> None:
    """Say nothing of the progress."""


def too_long(packets: float, why: str, *, aggregated: bool = False) -> str | None:
    """Return why a trial would take long, with the time; None if it would not.

    packets: of all replications and settings. aggregated: whether they are sent in A-MPDUs.
    """
    cost_s = packets * (AGGREGATED_PACKET_S if aggregated else PACKET_S)
    return None if cost_s <= MOST_S else f"{why}, and a trial takes about {long_time(cost_s)}"


def long_time(time_s: float) -> str:
    """Return a time in the unit that people use for so long a time.

    >>> long_time(7.01), long_time(90), long_time(9000), long_time(3.7e6)
    ('7.01 s', '2 min', '2 hours', '43 days')
    """
    for name, unit_s in (("days", 86_400.0), ("hours", 3_600.0)):
        if time_s >= 2 * unit_s:
            return f"{time_s / unit_s:,.0f} {name}"
    return f"{time_s / 60:.0f} min" if time_s >= 60 else seconds(time_s)


def simulated(settings: Settings, on_progress: Callable[[float], None]) -> Results:
    """Simulate the scenario that an advice prints. on_progress: of this scenario, from 0 to 1.

    Raises ScenarioError, Interrupted.
    """
    return replicated(Scenario(tomllib.loads("\n".join(settings.lines))), on_progress)


def replicated(scenario: Scenario, on_progress: Callable[[float], None]) -> Results:
    """Simulate a scenario, as `simulated`."""

    def show(progress: ReplicationProgress) -> None:
        on_progress(progress.fraction)

    return scenario.simulate(SEED, REPLICATIONS, on_progress=show)


def goodput_bps(run: Run, flows: Iterable[str]) -> float:
    """Return what some flows of TCP get together in a replication."""
    return sum((run["connections"][flow]["goodput_bps"] or 0.0 for flow in flows), 0.0)


def mean(results: Results, figure: Callable[[Run], float]) -> Interval:
    """Return the mean of a figure over the replications, and its interval."""
    interval = t_interval([figure(run) for run in results.runs.values()])
    assert interval is not None, "a finished simulation has replications"
    return interval


def mean_if_any(results: Results, figure: Callable[[Run], float | None]) -> float | None:
    """Return the mean of a figure over the replications that have the figure; None if none has."""
    found = [each for run in results.runs.values() if (each := figure(run)) is not None]
    return sum(found) / len(found) if found else None
