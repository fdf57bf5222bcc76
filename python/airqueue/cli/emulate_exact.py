"""`airqueue emulate --exact` and `--twins`: what programs print, and how far the runs are."""

from __future__ import annotations

import select
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from airqueue import text
from airqueue.cli.progress import time_left
from airqueue.cli.signals import signals_end
from airqueue.emulate import exact, twins
from airqueue.emulate.session import Order

_STALLED_S: Final = 10.0
"""After this real time without virtual time the user is told why this may be."""
_STALLED: Final = (
    "The virtual clock has stood still for {:.0f} s: a program computes, or waits without sleeping. "
    "Ctrl-C ends the run."
)
_ERASE: Final = "\r\x1b[K"
MOST_STDIN_BYTES: Final = 64 << 20
"""Most bytes of standard input, which is kept in memory; a file may have more."""
_TERMINAL: Final = (
    "Standard input is a terminal, which programs on a virtual clock do not get: they read nothing. "
    "'< FILE' gives them a file."
)
_WAITING: Final = (
    "Standard input is read to its end before the run begins; '< /dev/null' gives programs none."
)


def run(
    scenario: str, order: Order, *, scratch: Path | None, quiet: bool, **options: Any
) -> exact.ExactRun:
    """Carry out an order on a virtual clock; what programs print goes to this process's streams.

    ``options`` are those of `exact.run`.
    """
    status = _Status(order.duration_s, quiet=quiet)
    stdin = _stdin(quiet=quiet)
    with signals_end():
        try:
            return exact.run(
                scenario,
                order,
                stdin=stdin,
                stdout=status.before(sys.stdout.buffer),
                stderr=status.before(sys.stderr.buffer),
                scratch=scratch,
                watch=status.show,
                **options,
            )
        finally:
            status.erase()


def _stdin(*, quiet: bool) -> bytes:
    """Return all of standard input, nothing of a terminal. Raises UsageError if it is too long.

    What somebody types comes at times that no seed determines, and so does what a pipe has later.
    """
    if sys.stdin is None or sys.stdin.closed:
        return b""
    given = sys.stdin.buffer
    if given.isatty():
        if not quiet:
            click.echo(_TERMINAL, err=True)
        return b""
    if not quiet and not _is_ready(given):
        click.echo(_WAITING, err=True)
    read = given.read(MOST_STDIN_BYTES + 1)
    if len(read) > MOST_STDIN_BYTES:
        raise click.UsageError(
            f"Standard input has more than {MOST_STDIN_BYTES >> 20} MiB: let the program read a file."
        )
    return read


def _is_ready(given: BinaryIO) -> bool:
    """Return whether there is something to read, or the end, within a second."""
    try:
        return bool(select.select([given], [], [], 1.0)[0])
    except (OSError, ValueError):  # not a file of the system: all of it is there
        return True


def run_twins(
    scenario: str, order: Order, count: int, *, quiet: bool, **options: Any
) -> list[exact.ExactRun]:
    """Carry out an order exactly, ``count`` times; what programs print is in the results.

    ``options`` are those of `twins.run`.
    """
    status = [
        _Status(order.duration_s, quiet=quiet, prefix=f"twin {number} of {count}: ")
        for number in range(1, count + 1)
    ]

    def watch(twin: int, progress: exact.Progress) -> None:
        status[twin - 1].show(progress)

    with signals_end():
        try:
            return twins.run(scenario, order, count, watch=watch, **options)
        finally:
            for each in status:
                each.erase()


class _Status:
    """A line on a terminal that says how far the run is; elsewhere only why it does not go on.

    ``prefix``: the beginning of the line.
    """

    def __init__(self, duration_s: float | None, *, quiet: bool, prefix: str = "") -> None:
        self._duration_s = duration_s
        self._prefix = prefix
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._began = time.monotonic()
        self._shown = ""
        self._warned = False

    def before(self, stream: BinaryIO) -> BinaryIO:
        """Return the stream; what is written there comes after the line has been erased."""
        return _Erasing(stream, self) if self._live else stream  # type: ignore[return-value]

    def show(self, progress: exact.Progress) -> None:
        """Show how far the run is."""
        if progress.stalled_s > _STALLED_S and not self._warned and not self._quiet:
            self._warned = True
            self.erase()
            click.echo(_STALLED.format(_STALLED_S), err=True)
        if self._live:
            line = self._prefix + self._line(progress)
            if line != self._shown:
                sys.stderr.write(_ERASE + line)
                sys.stderr.flush()
                self._shown = line

    def erase(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
            self._shown = ""

    def _line(self, progress: exact.Progress) -> str:
        done_s = progress.virtual_s
        if done_s <= 0:
            return "booting"
        if self._duration_s is None:
            return f"virtual time {text.seconds(done_s)}"
        spent_s = time.monotonic() - self._began
        left_s = spent_s * max(0.0, self._duration_s / done_s - 1)
        return (
            f"virtual time {text.seconds(done_s)} of {text.seconds(self._duration_s)}, "
            f"{time_left(left_s)}"
        )


class _Erasing:
    """A stream whose text takes the place of the status line."""

    def __init__(self, stream: BinaryIO, status: _Status) -> None:
        self._stream = stream
        self._status = status

    def write(self, data: bytes) -> int:
        """Write after the line has been erased."""
        self._status.erase()
        return self._stream.write(data)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()
