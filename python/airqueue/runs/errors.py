"""What carrying out work raises; each message is a sentence that says what and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airqueue.runs.work import Work


class RunError(Exception):
    """Work that cannot be carried out."""


class WorkError(RunError):
    """A piece of work that failed: the message names it and says why."""

    def __init__(self, work: Work, why: str) -> None:
        super().__init__(f"{work}: {why}")
        self.work = work
        self.why = why


class BackendError(RunError):
    """Nobody there to do the work, or somebody with another airqueue."""
