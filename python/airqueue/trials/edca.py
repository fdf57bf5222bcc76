"""Trials of EDCA's parameters: uploads and downloads with plain 802.11, and with the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from airqueue.sizing.advice import Settings
from airqueue.sizing.edca import EdcaSizing
from airqueue.sizing.edca_trial import EdcaTrial, TriedAccess, scenarios
from airqueue.sizing.settings import two_way
from airqueue.stats import jain_index
from airqueue.trials.simulated import (
    REPLICATIONS,
    Progress,
    goodput_bps,
    mean,
    nothing_said,
    simulated,
    too_long,
)

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run

CONTEND: Final = 10.0
"""Stations up to which a packet costs what it costs alone."""
CELLS: Final = 2
"""Plain 802.11, and the settings."""


def why_not(sized: EdcaSizing) -> str | None:
    """Return why a trial would take long, as a sentence; None if it would not."""
    time_s = two_way.DURATION_S + two_way.WARM_UP_S
    packets = CELLS * REPLICATIONS * time_s / sized.cell.packet_s
    flows = sized.uploads + sized.downloads
    # Where so many contend, listening costs as much as sending.
    return too_long(packets * max(1.0, flows / CONTEND), f"there are {flows} flows")


def try_access(sized: EdcaSizing, on_progress: Progress = nothing_said) -> EdcaTrial:
    """Simulate plain 802.11, and the settings. Raises ScenarioError, Interrupted."""
    plain, settings = scenarios(sized)
    return EdcaTrial(
        _tried(sized, plain, lambda part: on_progress("simulating plain 802.11", part / 2)),
        _tried(
            sized, settings, lambda part: on_progress("simulating the settings", 0.5 + part / 2)
        ),
        REPLICATIONS,
    )


def _tried(
    sized: EdcaSizing, scenario: Settings, on_progress: Callable[[float], None]
) -> TriedAccess:
    results = simulated(scenario, on_progress)
    uploads = two_way.names(two_way.UPLOAD, sized.uploads)
    downloads = two_way.names(two_way.DOWNLOAD, sized.downloads)

    def each(names: tuple[str, ...]) -> tuple[float | None, float | None]:
        if not names:
            return None, None
        interval = mean(results, lambda run: goodput_bps(run, names) / len(names))
        return interval.mean, interval.half_width

    def fairness(run: Run) -> float:
        return jain_index([goodput_bps(run, [name]) for name in uploads + downloads])

    return TriedAccess(*each(uploads), *each(downloads), mean(results, fairness).mean)
