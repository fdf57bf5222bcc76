"""What is reported of a replication: the one place where text of the engine gets a type.

The types of figures are made from the engine's own definitions (`airqueue.figures`), as are those of
what a manager of the network sees (`airqueue.monitored`). Beside them stand here the limits of queues
that `airqueue.simulate.controlled` has set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NotRequired, TypedDict, cast

from airqueue.description import Description
from airqueue.figures import (
    CallFigures,
    ConnectionFigures,
    FigureOf,
    Figures,
    FlowFigures,
    Kind,
    QueueFigures,
    StationFigures,
    Summaries,
    Summary,
)
from airqueue.monitored import Buffers, Map, Snapshot

KINDS: Final[Mapping[Kind, str]] = {
    "flows": "flow",
    "connections": "flow",
    "calls": "flow",
    "stations": "station",
    "queues": "queue",
}
"""What has names -> what a column of names is called."""

Named = FlowFigures | ConnectionFigures | CallFigures | StationFigures | QueueFigures
"""Figures of one that has a name."""


class SetLimit(TypedDict):
    """A limit of a queue that was set while a replication ran."""

    time_s: float
    """When, warm-up included."""
    station: str
    flow: str | None
    """Whose packets in the station's queue; None: all of them."""
    limit_packets: int | None
    """None: again what the scenario says."""
    trigger: str
    """What led to it."""
    reason: str | None
    """Why it is this limit; None where it is released."""


class Run(Figures):
    """The figures of a replication, and which limits were set in it."""

    limits: NotRequired[list[SetLimit]]


def run_of(text: str) -> Run:
    """Return what the engine, or `steered`, says of a replication."""
    return as_run(json.loads(text))


def as_run(figures: object) -> Run:
    """Return what was kept of a replication as what it is."""
    return cast("Run", figures)


def described(tables: object) -> Description:
    """Return the description of a scenario as what it is; the engine checks it."""
    return cast("Description", tables)


def map_of(text: str) -> Map:
    """Return what the engine says of a network before it runs."""
    return cast("Map", json.loads(text))


def snapshot_of(text: str) -> Snapshot:
    """Return what the engine shows of a network at a moment."""
    return cast("Snapshot", json.loads(text))


def buffers_of(text: str) -> Buffers:
    """Return how the limits of queues are to be set."""
    return cast("Buffers", json.loads(text))


def known(value: float | None) -> float:
    """Return a figure that nothing can be without once time is counted, such as a throughput."""
    assert value is not None
    return value


def values(figures: object) -> Mapping[str, float | None]:
    """Return figures of one thing by names that are not known before, such as a user's."""
    return cast("Mapping[str, float | None]", figures)


def summaries(found: object) -> Mapping[str, Summary]:
    """Return summaries of one thing by names that are not known before."""
    return cast("Mapping[str, Summary]", found)


def of_each(run: Figures, of: FigureOf) -> dict[str, float | None]:
    """Return a figure of everything of a kind, by name: ``of_each(run, ("flows", "jitter_s"))``."""
    kind, figure = of
    return {name: figures[figure] for name, figures in named(run, kind).items()}


def summary_of_each(found: Summaries, of: FigureOf) -> dict[str, Summary]:
    """Return the summary of a figure of everything of a kind, by name."""
    kind, figure = of
    return {name: summaries(each)[figure] for name, each in found[kind].items()}


def named(run: Figures, kind: Kind) -> Mapping[str, Mapping[str, float | None]]:
    """Return a kind of figures by names that are not known before: of things, and of figures."""
    return cast("Mapping[str, Mapping[str, float | None]]", run[kind])
