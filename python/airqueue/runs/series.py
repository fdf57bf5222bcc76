"""Work of the kind ``series``: what one replication of a scenario does over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from airqueue.simulate import Recorders, Scenario


def series(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return `Results.series` of the first replication, as lists; null where there is no number.

    ``scenario``: the description; ``seed``; ``interval_s``: between two values.
    """
    recorders = Recorders(series_interval_s=inputs["interval_s"])
    results = Scenario(inputs["scenario"]).simulate(
        seed=inputs["seed"], replications=1, workers=1, recorders=recorders
    )
    found = results.series
    assert found is not None  # it was asked for
    flows, queues = found["flows"].items(), found["queues"].items()
    return {
        "time_s": _plain(found["time_s"]),
        "flows": {name: _listed(figures) for name, figures in flows},
        "queues": {name: _listed(figures) for name, figures in queues},
    }


def _listed(figures: Mapping[str, Any]) -> dict[str, list[float | None]]:
    return {figure: _plain(values) for figure, values in figures.items()}


def _plain(values: Iterable[float]) -> list[float | None]:
    return [float(each) if math.isfinite(each) else None for each in values]
