"""The two entry points: measure a path, analyze stored runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airqueue.measure.analysis import analyze
from airqueue.measure.events import Event
from airqueue.measure.paper import measure_paper
from airqueue.measure.path_mtu import fitting_sizes
from airqueue.measure.prober import Prober
from airqueue.measure.quick import measure_quick
from airqueue.measure.records import Run
from airqueue.measure.result import Measurement
from airqueue.measure.runner import Runner

PROFILES: Mapping[str, Callable[[Runner, Sequence[int]], dict[str, Any]]] = {
    "quick": measure_quick,
    "paper": measure_paper,
}
SIZES = (1500, 750)
"""The paper's two IP packet sizes in bytes."""


def measure(
    prober: Prober,
    *,
    profile: str = "quick",
    sizes: Sequence[int] = SIZES,
    max_time_s: float | None = None,
    on_event: Callable[[Event], None] | None = None,
    on_run: Callable[[Run], None] | None = None,
    previous: Sequence[Run] = (),
    header: Mapping[str, Any] | None = None,
) -> Measurement:
    """Measure the queue behind a prober.

    Parameters
    ----------
    prober : Prober
        Carries out runs: over sockets, or over a simulated path.
    profile : {"quick", "paper"}
        The method.
    sizes : sequence of int
        IP packet sizes in bytes, two of them to tell packets from bytes; where the path does not
        carry them, smaller ones take their place.
    max_time_s : float, optional
        Longest duration in seconds.
    on_event : callable, optional
        Gets each `Event`.
    on_run : callable, optional
        Gets each `Run` as it ends, for the capture file.
    previous : sequence of Run
        Runs of an interrupted measurement of the same path and profile, which are not repeated.
    header : dict, optional
        May carry ``target``.

    Returns
    -------
    Measurement

    Raises
    ------
    ProbeError
        The endpoints cannot carry out a run.
    KeyboardInterrupt
        Ctrl-C; every finished run was handed to ``on_run`` before.
    ValueError
        There is no such profile.
    """
    if profile not in PROFILES:
        known = " or ".join(PROFILES)
        raise ValueError(f"profile is {profile!r}; expected {known}")
    runner = Runner(prober, on_event, on_run, previous, max_time_s)
    wanted = sorted(set(sizes), reverse=True)
    findings = PROFILES[profile](runner, fitting_sizes(runner, wanted, profile))
    about = {"profile": profile, "direction": prober.direction, "elapsed_s": runner.elapsed_s()}
    return analyze(runner.runs, {**about, **(header or {}), **findings}, runner.sessions())


__all__ = ["PROFILES", "SIZES", "analyze", "measure"]
