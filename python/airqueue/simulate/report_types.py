"""Types of a replication's report: for type checkers alone, since each takes time to be made.

The types of figures are made from the engine's definitions (`airqueue.figures`). This module adds the
limits of queues that `airqueue.simulate.controlled` has set.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from airqueue.figures import (
    AbsenceFigures,
    AssociationFigures,
    BeaconFigures,
    CallFigures,
    ConnectionFigures,
    DropFigures,
    Figures,
    FlowFigures,
    FrameFigures,
    InterferenceFigures,
    PageFigures,
    PingFigures,
    QueueFigures,
    SignalFigures,
    SleepFigures,
    StationFigures,
    VideoFigures,
)

Named = (
    FlowFigures
    | ConnectionFigures
    | CallFigures
    | PingFigures
    | FrameFigures
    | PageFigures
    | VideoFigures
    | DropFigures
    | StationFigures
    | BeaconFigures
    | SleepFigures
    | AbsenceFigures
    | AssociationFigures
    | InterferenceFigures
    | SignalFigures
    | QueueFigures
)
"""Figures of one that has a name."""


class SetLimit(TypedDict):
    """A limit of a queue that was set while a replication ran."""

    time_s: float
    """Time of the change, warm-up included."""
    station: str
    flow: str | None
    """The flow whose packets the limit counts; None: all packets of the station's queue."""
    limit_packets: int | None
    """None: the scenario's limit again."""
    trigger: str
    """The change that led to the limit."""
    reason: str | None
    """The reason for the size; None for a released limit."""


class Run(Figures):
    """The figures of a replication, and the limits set in the replication."""

    limits: NotRequired[list[SetLimit]]
