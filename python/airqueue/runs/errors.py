"""Errors of executing work; each message is a sentence that states what and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airqueue.runs.work import Work


class RunError(Exception):
    """Work that cannot be executed."""


class WorkError(RunError):
    """A piece of work failed: the message names the work and the reason."""

    def __init__(self, work: Work, why: str) -> None:
        super().__init__(f"{work}: {why}")
        self.work = work
        self.why = why


class BackendError(RunError):
    """Workers are missing, or a worker has another airqueue."""
