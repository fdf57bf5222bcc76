"""The queue in which packets wait: which one is measured after a diagnosis, and measuring it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, cast

from airqueue.diagnose.records import Direction
from airqueue.diagnose.where import Finding
from airqueue.measure import api
from airqueue.measure.document import Document
from airqueue.measure.events import Event
from airqueue.measure.prober import ProbeError, Prober, RunInterrupted
from airqueue.measure.records import Run

PROFILE: Final = "quick"
ONE_PLACE: Final = ("access_point", "station", "line")
"""Verdicts with one queue in which packets wait."""


class _TimeOverError(Exception):
    """The time of the user is over."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue that was to be measured: where packets waited under the load of a site.

    ``measured``: the result of `airqueue.measure`, as its schema describes it. ``missing``: why there
    is no result, or none of a whole measurement. ``site`` is None if there was no queue to measure.
    """

    site: str | None
    direction: Direction | None
    measured: Document | None
    missing: str | None

    def belongs_to(self, finding: Finding) -> bool:
        """Whether this is the queue of a finding."""
        return (self.site, self.direction) == (finding.load.site, finding.direction)

    def to_json(self) -> dict[str, Any]:
        """Return what the document of a diagnosis has of it."""
        about = {"site": self.site, "direction": self.direction, "missing": self.missing}
        return {"queue": self.measured, "queue_of": about}


def queue_from_json(document: Mapping[str, Any]) -> Queue | None:
    """Read what `Queue.to_json` wrote; None if no queue was asked for, or asked for yet."""
    about = document.get("queue_of")
    if about is None:
        return None
    return Queue(
        about["site"],
        about["direction"],
        cast("Document | None", document.get("queue")),
        about["missing"],
    )


def no_queue(why: str) -> Queue:
    """Return a queue of which nothing is known."""
    return Queue(None, None, None, f"No queue was measured: {why}.")


def waits_most(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding whose load adds most to round trips, among those that are felt."""
    lagging = [finding for finding in findings if finding.lags]
    return max(lagging, key=lambda each: each.rise.value if each.rise else 0.0, default=None)


def to_measure(findings: Sequence[Finding]) -> Finding | Queue:
    """Return the finding whose queue is to be measured, or why there is none."""
    worst = waits_most(findings)
    if worst is None:
        return no_queue("no load made packets wait at a place that is known")
    if worst.place not in ONE_PLACE:
        return no_queue("packets wait in two, which a measurement would see as one")
    return worst


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a queue is measured, and who is told of it."""

    connect: Callable[[], AbstractContextManager[Prober]]
    target: str
    max_time_s: float | None = None
    on_event: Callable[[Event], None] = lambda event: None
    on_run: Callable[[Run], None] = lambda run: None


def measure(finding: Finding, measuring: Measuring) -> tuple[Queue, bool]:
    """Measure the queue of a finding; whatever ends it early, what was there until then is kept.

    Returns also whether that was Ctrl-C.
    """
    runs: list[Run] = []

    def keep(run: Run) -> None:
        runs.append(run)
        measuring.on_run(run)

    site, direction = finding.load.site, finding.direction
    try:
        found = _carry_out(measuring, keep)
        return Queue(site, direction, found, None), False
    except _TimeOverError:
        ended, interrupted = "the time was over", False
    except ProbeError as error:
        ended, interrupted = f"it broke off. {error}".rstrip("."), False
    except KeyboardInterrupt as stopped:
        ended = f"Ctrl-C ended it{f', and {stopped}'.rstrip('.') if str(stopped) else ''}"
        interrupted = True
    missing = f"The queue was not measured to the end: {ended}."
    so_far = _so_far(runs, measuring.target, direction)
    return Queue(site, direction, so_far, missing), interrupted


def _carry_out(measuring: Measuring, keep: Callable[[Run], None]) -> Document:
    with measuring.connect() as prober:

        def watched(event: Event) -> None:
            measuring.on_event(event)
            limit_s = measuring.max_time_s
            # The profile ends in time where it can; on slow paths one run alone may be too long.
            if limit_s is not None and prober.elapsed_s() > limit_s:
                raise _TimeOverError

        try:
            return api.measure(
                prober,
                profile=PROFILE,
                max_time_s=measuring.max_time_s,
                on_event=watched,
                on_run=keep,
                header={"target": measuring.target},
            ).to_json()
        except RunInterrupted as stopped:
            if stopped.run is not None:
                _keep_part(keep, stopped.run)
            raise


def _keep_part(keep: Callable[[Run], None], run: Run) -> None:
    """Keep what a run had until Ctrl-C, which stays Ctrl-C if its capture cannot be written."""
    try:
        keep(run)
    except ProbeError as error:
        raise KeyboardInterrupt(str(error)) from error


def _so_far(runs: Sequence[Run], target: str, direction: Direction) -> Document | None:
    """Evaluate the runs of a measurement that did not end; None before the first session."""
    if not any(run.meta.get("kind") == "session" for run in runs):
        return None
    header = {"profile": PROFILE, "direction": direction, "target": target, "interrupted": True}
    return api.analyze(runs, header).to_json()
