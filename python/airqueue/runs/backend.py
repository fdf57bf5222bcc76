"""What everyone who carries out work can do: local processes, or a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from airqueue.runs.work import Work


class WorkerPool(Protocol):
    """A backend at work."""

    def submit(self, work: Work) -> None:
        """Take a piece of work; it begins when somebody is free."""

    def collect(self, timeout_s: float) -> Sequence[tuple[Work, Any]]:
        """Return what finished since the last call, after waiting so long for the first of it.

        Raises WorkError for work that failed, and CrewError if nobody can work any more.
        """

    def under_way(self) -> float:
        """Return how much is done of the work that has not been collected, by its weight.

        0 where nobody looks into a piece of work while it is carried out.
        """


class Backend(Protocol):
    """Who carries out work; the results are the same whoever it is."""

    def opened(self) -> AbstractContextManager[WorkerPool]:
        """Call them together; the end of the context stops all work in a moment."""
