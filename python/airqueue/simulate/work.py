"""Replications as pieces of work: of the kind ``simulation`` the figures of one, of the kind
``series`` what the first does over time.

`airqueue.runs` keeps both under a key made of all their inputs.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from airqueue import lazy
from airqueue.runs import Work, kinds
from airqueue.runs.result import Result

if TYPE_CHECKING:
    import numpy as np

    from airqueue.description import Description
    from airqueue.records import SeriesDict
    from airqueue.simulate.scenario import Scenario
else:
    np = lazy.Module("numpy")

_SERIES_WEIGHT: Final = 1e-6
"""Relative to the replication that records the series: recording costs almost nothing."""


class PlainSeries(TypedDict):
    """`airqueue.records.SeriesDict` as JSON: None for a missing number."""

    time_s: list[float | None]
    flows: dict[str, dict[str, list[float | None]]]
    """Columns by the name of a flow, and by their own."""
    queues: dict[str, dict[str, list[float | None]]]


def simulation(inputs: Mapping[str, Any]) -> Result:
    """Return the figures of one replication, as `Results.runs` has them: the engine's text.

    ``scenario``: the description; ``seed`` and ``replication`` as for `Scenario.simulate`.
    """
    scenario = _checked(json.dumps(inputs["scenario"]))
    return Result.read(scenario.replicated(inputs["seed"], inputs["replication"]))


def series(inputs: Mapping[str, Any]) -> PlainSeries:
    """Return `Results.series` of the first replication, as lists; null for a missing number.

    ``scenario``: the description; ``seed``; ``interval_s``: between two values.
    """
    from airqueue.simulate.recorders import Recorders  # noqa: PLC0415 - it imports this module

    recorders = Recorders(series_interval_s=inputs["interval_s"])
    results = _checked(json.dumps(inputs["scenario"])).simulate(
        seed=inputs["seed"], replications=1, workers=1, recorders=recorders
    )
    assert results.series is not None  # they were asked for
    return plain_series(results.series)


def one_replication(scenario: Description, seed: int, replication: int) -> Work:
    """Return one replication of a scenario as a piece of work."""
    inputs = {"scenario": scenario, "seed": seed, "replication": replication}
    return Work("simulation", inputs, name=f"replication {replication}")


def series_of_first(scenario: Description, seed: int, interval_s: float) -> Work:
    """Return the time series of a scenario's first replication as a piece of work."""
    inputs = {"scenario": scenario, "seed": seed, "interval_s": interval_s}
    return Work("series", inputs, _SERIES_WEIGHT, "the time series of replication 0")


def plain_series(found: SeriesDict) -> PlainSeries:
    """Return time series as plain JSON."""
    return {
        "time_s": _plain(found["time_s"]),
        "flows": _plain_columns(found["flows"]),
        "queues": _plain_columns(found["queues"]),
    }


def series_from(plain: PlainSeries) -> SeriesDict:
    """Return the time series that `plain_series` was given."""
    named = {
        kind: {
            name: {head: _array(each) for head, each in of.items()} for name, of in every.items()
        }
        for kind, every in (("flows", plain["flows"]), ("queues", plain["queues"]))
    }
    return cast("SeriesDict", {"time_s": _array(plain["time_s"]), **named})


def _plain_columns(every: Mapping[str, object]) -> dict[str, dict[str, list[float | None]]]:
    arrays = cast("Mapping[str, Mapping[str, Iterable[float]]]", every)
    return {
        name: {head: _plain(values) for head, values in of.items()} for name, of in arrays.items()
    }


def _plain(values: Iterable[float]) -> list[float | None]:
    return [float(each) if math.isfinite(each) else None for each in values]


def _array(values: Iterable[float | None]) -> np.ndarray:
    return np.array([math.nan if each is None else each for each in values], dtype=np.float64)


@functools.lru_cache(maxsize=4)
def _checked(description: str) -> Scenario:
    """Return a scenario; the replications of one follow each other."""
    from airqueue.simulate.scenario import Scenario  # noqa: PLC0415 - it imports this module

    return Scenario(json.loads(description))


def _steering(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the code that adapts limits of queues in scenarios with the table ``buffers``."""
    scenario = inputs.get("scenario")
    if not isinstance(scenario, Mapping) or "buffers" not in scenario:
        return ()
    models = ("airqueue.models", "airqueue.qoe", "airqueue.units", "airqueue.stats")
    return ("airqueue.sizing", *models)


_PACKAGES: Final = ("airqueue.simulate", "airqueue.traces")

kinds.register("simulation", simulation, _PACKAGES, _steering)
kinds.register("series", series, _PACKAGES, _steering)
