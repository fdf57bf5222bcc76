"""`simulate`: a scenario in any form in, its results out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from airqueue.simulate.recorders import Recorders
from airqueue.simulate.replications import ReplicationProgress
from airqueue.simulate.results import Results
from airqueue.simulate.scenario import Scenario


def simulate(
    scenario: Scenario | Mapping[str, object] | str | os.PathLike[str],
    changes: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    replications: int = 5,
    workers: int | None = None,
    series_interval_s: float | None = None,
    on_progress: Callable[[ReplicationProgress], None] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Results:
    """Simulate a network, and return the figures of its flows, queues and stations.

    ``airqueue.simulate(...)`` is this function.

    Parameters
    ----------
    scenario : Scenario, dict, str or path
        The network: a checked scenario, the keys of a scenario file as a dictionary, or the path of
        a scenario file.
    changes : dict, optional
        Values of the scenario to change, as ``--set`` does: ``{"phy.rate": "6 Mb/s"}``.
    seed : int
        From 0 to 2³² - 1. Scenario, seed and version of airqueue determine the results.
    replications : int
        Independent runs; the confidence intervals come from them.
    workers : int, optional
        Replications at the same time. None: as many as this process has cores.
    series_interval_s : float, optional
        Also records the first replication over time, with intervals of this length in seconds.
    on_progress : callable, optional
        Called with a `ReplicationProgress` now and then.
    out : path, optional
        A directory in which each replication is kept as it finishes.

    Returns
    -------
    Results
        Summary, and data frames with a row for each replication and name; units are in the names.

    Raises
    ------
    ScenarioError
        A scenario that cannot be simulated; ``problems`` has all its errors, each with its key.
    ResultsError
        A directory with other results.
    OSError
        A file that cannot be read or written.
    Interrupted
        Ctrl-C; ``results`` has the replications that had finished.

    Examples
    --------
    >>> from airqueue.simulate import simulate
    >>> network = {
    ...     "duration": "1 s",
    ...     "phy": {"standard": "802.11g"},
    ...     "stations": [{"name": "ap", "like": "apq-2011"}, {"name": "phone"}],
    ...     "flows": [{"from": "ap", "to": "phone", "source": "tcp"}],
    ... }
    >>> results = simulate(network, {"duration": "2 s"}, replications=2)
    >>> results.duration_s, len(results.runs), results.queues_in_force[0]["limit_packets"]
    (2.0, 2, 121)
    """
    checked = Scenario.of(scenario, changes)
    recorders = Recorders(series_interval_s=series_interval_s)
    return checked.simulate(seed, replications, workers, on_progress, recorders, out=out)
