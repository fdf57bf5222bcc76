"""Progress of a measurement on stderr: step, progress, time left, live delay and loss."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from airqueue import text
from airqueue.cli.console import Console
from airqueue.cli.live import Live
from airqueue.cli.talk import talk

if TYPE_CHECKING:
    from airqueue.measure.events import Event
    from airqueue.measure.prober import RunProgress

_BAR: Final = 24
"""Places of the bar of progress."""


class LiveLine:
    """A line on a terminal that goes away at the end; nothing if ``quiet``. A context manager.

    ``_parts`` are the texts of the line, ``first`` before anything is known, ``_live`` says whether
    there is a terminal.
    """

    def __init__(self, *, quiet: bool, first: str = "connecting") -> None:
        quiet = quiet or talk.quiet
        self._console = Console(file=sys.stderr, quiet=quiet)
        self._live = self._console.is_terminal and not quiet and talk.progress
        self._parts: tuple[str, ...] = (first,)
        self._line = Live(self._console, lambda: ["  ".join(filter(None, self._parts))])
        self._said = ""

    def __enter__(self) -> Self:
        if self._live:
            self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._line.stop()


class Display(LiveLine):
    """A live line on a terminal, one plain line per step elsewhere, nothing if ``quiet``.

    Use as a context manager and hand `on_event` to `airqueue.measure.api.measure`.
    """

    def __init__(self, *, quiet: bool = False, first: str = "connecting") -> None:
        super().__init__(quiet=quiet, first=first)

    def on_event(self, event: Event) -> None:
        """Show an event."""
        if self._live:
            self._show(event)
        elif event.progress is None and event.message != self._said:
            self._said = event.message
            self._console.print(event.message, soft_wrap=True)

    def _show(self, event: Event) -> None:
        waiting = event.progress is not None and event.progress.runs_ahead > 0
        if event.progress is None or waiting or not self._said:
            # The name of the step stays during its run; a wait tells how much of it is left.
            self._said = event.message
        self._parts = (
            self._said,
            _bar(event.fraction),
            time_left(event.time_left_s),
            "" if event.progress is None or waiting else glimpse(event.progress),
        )


@contextmanager
def on_terminal() -> Iterator[Callable[[Event], None]]:
    """Yield a function that shows events on a terminal; elsewhere the function shows nothing."""
    display = None
    with ExitStack() as stack:

        def show(event: Event) -> None:
            nonlocal display
            if sys.stderr.isatty() and talk.progress and not talk.quiet:
                display = display or stack.enter_context(Display(first=event.message))
                display.on_event(event)

        yield show


def _bar(fraction: float | None) -> str:
    """Return a bar of what is done; an empty one if nobody knows."""
    done = round(_BAR * min(max(fraction or 0.0, 0.0), 1.0))
    return "█" * done + "─" * (_BAR - done)


def time_left(seconds: float | None) -> str:
    """Return ``about 12 s left``, or nothing if the time is unknown."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(seconds, 0):.0f} s left"
    return f"about {seconds / 60:.0f} min left"


def glimpse(progress: RunProgress) -> str:
    """Return live delay and loss of the current run."""
    parts = []
    if progress.delay_s is not None:
        parts.append(f"delay {text.seconds(progress.delay_s)}")
    total = progress.received + progress.lost
    if total:
        parts.append(f"loss {text.percent(progress.lost / total)}")
    return "  ".join(parts)
