"""The interface of all backends that execute work: local processes, or a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from airqueue.runs.result import Result
from airqueue.runs.work import Work


class WorkerPool(Protocol):
    """A backend at work."""

    def submit(self, work: Work) -> None:
        """Accept a piece of work; the work begins when a worker is free."""

    def collect(self, timeout_s: float) -> Sequence[tuple[Work, Result]]:
        """Return the work finished since the last call; wait ``timeout_s`` at most for a piece.

        Raises WorkError for work that failed, and CrewError if all workers are lost.
        """

    def in_progress(self) -> float:
        """Return the finished part of the work that has not been collected, by its weight.

        0 for backends that cannot observe a piece of work in progress.
        """


class Backend(Protocol):
    """Executes work; the results do not depend on the backend."""

    def opened(self) -> AbstractContextManager[WorkerPool]:
        """Start the workers; the end of the context stops all work within a moment."""
