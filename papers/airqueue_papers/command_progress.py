"""The progress of runs on a terminal, for the command and for the campaigns of the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airqueue.cli.progress import on_terminal
from airqueue.measure.events import Event
from airqueue.runs import WorkProgress


@contextmanager
def shown() -> Iterator[Callable[[WorkProgress], None]]:
    """Yield a function that shows progress on a terminal; elsewhere the function shows nothing."""
    with on_terminal() as show:
        yield lambda progress: show(_event(progress))


def _event(progress: WorkProgress) -> Event:
    before = f", {progress.kept} from before" if progress.kept else ""
    return Event(
        phase="reproduction",
        message=f"{progress.finished} of {progress.pieces} runs{before}",
        fraction=progress.fraction,
        time_left_s=progress.time_left_s,
    )
