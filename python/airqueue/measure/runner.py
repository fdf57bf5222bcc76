"""Runs in order, with progress, a record of each run, and resumption from stored runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airqueue.measure.events import Event
from airqueue.measure.plan import Plan
from airqueue.measure.prober import Prober, RunProgress
from airqueue.measure.records import Run
from airqueue.measure.session import Session

SAME_RUN = ("kind", "profile", "size_bytes", "index")
"""Meta values that identify a stored run."""


def waiting_words(progress: RunProgress) -> str:
    """Return what to say while other clients' runs come first."""
    n = progress.runs_ahead
    runs = f"{n} run{'' if n == 1 else 's'} of other clients"
    return f"waiting for {runs} with this server, about {progress.waits_s or 0.0:.0f} s"


class Runner:
    """Passes plans to a prober; runs of an earlier, interrupted measurement are not repeated.

    A profile decides what to run next from the runs so far alone, so replaying stored runs leads it
    to where it was interrupted.
    """

    def __init__(
        self,
        prober: Prober,
        on_event: Callable[[Event], None] | None = None,
        on_run: Callable[[Run], None] | None = None,
        previous: Sequence[Run] = (),
        max_time_s: float | None = None,
    ) -> None:
        self.prober = prober
        self.runs: list[Run] = []
        self._sessions: list[Session] = []
        self._on_event = on_event or (lambda event: None)
        self._on_run = on_run or (lambda run: None)
        self._stored = [r for r in previous if r.end != "cancelled"]
        self._stored_s = 0.0
        self._max_time_s = max_time_s

    @property
    def next_stored_kind(self) -> str | None:
        """Kind of the next stored run, None if there is none."""
        return str(self._stored[0].meta.get("kind")) if self._stored else None

    def sessions(self, *kinds: str) -> list[Session]:
        """Return the runs of some kinds, or all, each with what was computed of it before."""
        self._sessions += [Session(run) for run in self.runs[len(self._sessions) :]]
        found = self._sessions
        return [each for each in found if not kinds or each.run.meta.get("kind") in kinds]

    def elapsed_s(self) -> float:
        """Time spent measuring, that of stored runs included."""
        return self._stored_s + self.prober.elapsed_s()

    def out_of_time(self, next_run_s: float = 0.0) -> bool:
        """Whether a run of this length would pass the time limit."""
        return self._max_time_s is not None and self.elapsed_s() + next_run_s > self._max_time_s

    def say(
        self, phase: str, message: str, fraction: float | None = None, left_s: float | None = None
    ) -> None:
        """Report the next step to the user."""
        self._on_event(Event(phase, message, fraction, left_s))

    def run(
        self,
        plan: Plan,
        meta: Mapping[str, Any],
        fraction: float | None = None,
        left_s: float | None = None,
    ) -> Run:
        """Carry out one plan, or take it from the stored runs; remember and publish the result."""
        stored = self._take_stored(meta)
        if stored is not None:
            self._stored_s += float(stored.meta.get("elapsed_s", 0.0))
            self.runs.append(stored)
            return stored
        started = self.elapsed_s()

        waits = False

        def glimpse(progress: RunProgress) -> None:
            nonlocal waits
            if progress.runs_ahead:
                if not waits:
                    self.say("waiting", waiting_words(progress), fraction)
                waits = True
                self._on_event(Event("waiting", waiting_words(progress), fraction, None, progress))
                return
            if waits:
                waits = False
                self.say(str(meta["kind"]), str(meta.get("says", "")), fraction, left_s)
            left = None if left_s is None else max(0.0, left_s - progress.elapsed_s)
            self._on_event(
                Event(str(meta["kind"]), str(meta.get("says", "")), fraction, left, progress)
            )

        run = self.prober.run(plan, meta, glimpse)
        timing = {"started_s": started, "elapsed_s": self.elapsed_s() - started}
        run = dataclasses.replace(run, meta={**run.meta, **meta, **timing})
        return self.keep(run)

    def keep(self, run: Run) -> Run:
        """Keep a run and pass it to the capture."""
        self.runs.append(run)
        self._on_run(run)
        return run

    def _take_stored(self, meta: Mapping[str, Any]) -> Run | None:
        if not self._stored:
            return None
        if all(self._stored[0].meta.get(k) == meta.get(k) for k in SAME_RUN):
            return self._stored.pop(0)
        self._stored.clear()
        return None
