"""Reports of a replication: only this module gives the engine's text a type.

The types of figures are made from the engine's definitions (`airqueue.figures`), as are the types of
the engine's view of the network (`airqueue.monitored`); `airqueue.simulate.report_types` adds to
both.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from airqueue.description import Description
    from airqueue.figures import FigureOf, Figures, Kind, Summaries, Summary
    from airqueue.monitored import Buffers, Map, QueueInForce, Snapshot
    from airqueue.simulate.report_types import Run

KINDS: Final[Mapping[Kind, str]] = {
    "flows": "flow",
    "connections": "flow",
    "calls": "flow",
    "pings": "flow",
    "frames": "flow",
    "pages": "flow",
    "videos": "flow",
    "drops": "flow and place",
    "stations": "station",
    "beacons": "station",
    "sleep": "station",
    "absences": "station",
    "associations": "station",
    "interference": "source",
    "signals": "link",
    "queues": "queue",
}
"""Kind of a named thing -> title of the column of its names."""


def station_of(queue: str, stations: Collection[str]) -> str | None:
    """Return the station that has a queue; None for the queue of a wired link.

    With access categories a station has several queues: ``sta.be``, ``sta.vo``.
    """
    station = queue if queue in stations else queue.rpartition(".")[0]
    return station if station in stations else None


def is_of(name: str, group: str) -> bool:
    """Return whether a name is a group's own, or that of one of its members: ``sta3`` of ``sta``."""
    return name == group or (name.startswith(group) and name.removeprefix(group).isdigit())


def run_of(text: str) -> Run:
    """Return the report of a replication from the engine or from `steered`."""
    return as_run(json.loads(text))


def as_run(figures: object) -> Run:
    """Return the kept report of a replication with its type."""
    return cast("Run", figures)


def described(tables: object) -> Description:
    """Return the description of a scenario with its type; the engine checks the description."""
    return cast("Description", tables)


def map_of(text: str) -> Map:
    """Return the engine's map of a network before the run."""
    return cast("Map", json.loads(text))


def snapshot_of(text: str) -> Snapshot:
    """Return the engine's view of a network at a moment."""
    return cast("Snapshot", json.loads(text))


def buffers_of(text: str) -> Buffers:
    """Return the settings for adapting the limits of queues."""
    return cast("Buffers", json.loads(text))


def queues_in_force_of(text: str) -> list[QueueInForce]:
    """Return the settings of queues that are in force."""
    return cast("list[QueueInForce]", json.loads(text))


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
