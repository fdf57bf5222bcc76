"""Trials of what `airqueue size` advises: the option, and what is shown meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from airqueue import lazy
from airqueue.cli.progress import on_terminal
from airqueue.measure.events import Event

if TYPE_CHECKING:
    from airqueue import trials
    from airqueue.trials.simulated import Progress
else:
    # Without a trial no simulator is needed.
    trials = lazy.Module("airqueue.trials")

__all__ = ["simulate_option", "trials", "tried"]

Trial = TypeVar("Trial")

simulate_option = click.option(
    "--simulate/--no-simulate",
    "simulate",
    default=None,
    help="Simulate the advice beside other settings even if that takes long, or never. Without "
    "either: if a trial takes less than half a minute.",
)


def tried(
    simulate: bool | None,
    why_not: Callable[[], str | None],
    carry_out: Callable[[Progress], Trial],
) -> tuple[Trial | None, str | None]:
    """Carry out a trial where one is asked for, or does not take long.

    Returns the trial, or why there is none where one would be expected. ``why_not``: why it would
    take long, if it would.
    """
    if simulate is False:
        return None, None
    why = why_not()
    if why is not None and not simulate:
        return None, f"{why}; --simulate carries it out"
    with _shown() as on_progress:
        return carry_out(on_progress), None


@contextmanager
def _shown() -> Iterator[Progress]:
    """Yield what shows the progress of a trial on a terminal, with the time left."""
    begun_s = time.monotonic()
    with on_terminal() as show:

        def on_progress(what: str, fraction: float) -> None:
            spent_s = time.monotonic() - begun_s
            left_s = spent_s * (1.0 - fraction) / fraction if fraction > 0 else None
            show(Event(phase="trial", message=what, fraction=fraction, time_left_s=left_s))

        yield on_progress
