"""Trials of a mesh's limits: a scenario with the queues that it has, and with those of the advice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from airqueue.simulate import Scenario
from airqueue.sizing.mesh import MeshForecast
from airqueue.sizing.mesh_trial import MeshTrial, TriedFlow
from airqueue.trials.simulated import (
    REPLICATIONS,
    Progress,
    goodput_bps,
    mean,
    mean_if_any,
    nothing_said,
    replicated,
)

MOST_STATIONS: Final = 50
MOST_S: Final = 300.0
"""Simulated time of a replication."""


def why_not(scenario: Scenario, forecast: MeshForecast) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    stations = len(forecast.buffers.topology.nodes)
    if stations > MOST_STATIONS:
        return f"{stations} stations are more than {MOST_STATIONS}"
    time_s = scenario.duration_s + scenario.warm_up_s
    if time_s > MOST_S:
        return f"the file asks for {time_s:g} s, and a trial takes minutes"
    return None


def try_limits(
    scenario: Scenario, forecast: MeshForecast, on_progress: Progress = nothing_said
) -> MeshTrial:
    """Simulate a scenario as it is, and with the limits. Raises ScenarioError, Interrupted."""
    return MeshTrial(
        _tried(scenario, forecast, lambda part: on_progress("simulating the file", part / 2)),
        _tried(
            _limited(scenario, forecast),
            forecast,
            lambda part: on_progress("simulating the limits", 0.5 + part / 2),
        ),
        REPLICATIONS,
    )


def _limited(scenario: Scenario, forecast: MeshForecast) -> Scenario:
    """Return the scenario with the limits set at its beginning, and never again."""
    description: dict[str, Any] = dict(scenario.description)
    description.pop("buffers", None)
    limits = [
        {"at": "0 s", "station": node, "queue_limit": f"{max(1, round(packets))} packets"}
        for node, packets in forecast.buffers.node_packets(with_ring=False).items()
    ]
    description["changes"] = [*limits, *description.get("changes", [])]
    return Scenario(description)


def _tried(
    scenario: Scenario, forecast: MeshForecast, on_progress: Callable[[float], None]
) -> dict[str, TriedFlow]:
    results = replicated(scenario, on_progress)

    def flow(name: str) -> TriedFlow:
        goodput = mean(results, lambda run: goodput_bps(run, [name]))
        delay_s = mean_if_any(results, lambda run: run["flows"][name]["delay_mean_s"])
        return TriedFlow(goodput.mean, goodput.half_width, delay_s)

    return {name: flow(name) for name in (each.buffers.flow.name for each in forecast.flows)}
