"""The outputs of a command: one that cannot be written keeps none of the others back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from airqueue.cli.errors import said


class Writing:
    """Writes one output after the other, and keeps what failed for the end."""

    def __init__(self) -> None:
        self.failed: list[Exception] = []

    def __call__(self, write: Callable[..., object], *arguments: Any) -> None:
        """Call a function that writes an output."""
        try:
            write(*arguments)
        except Exception as error:
            # What is written twice, as before and after a long work, fails twice.
            if str(error) not in map(str, self.failed):
                self.failed.append(error)


@contextmanager
def all_written() -> Iterator[Writing]:
    """Write outputs, each even if another fails, and raise what failed at the end.

    The work behind them may have taken hours, and cannot be had again. Of several errors each
    is said.
    """
    writing = Writing()
    try:
        yield writing
    except BaseException:
        _say(writing.failed)
        raise
    # What has no sentence is raised: a defect of ours, whose place a traceback must show.
    failed = sorted(writing.failed, key=lambda error: said(error) is None)
    _say(failed[:-1])
    if failed:
        raise failed[-1]


def _say(failed: list[Exception]) -> None:
    for error in failed:
        click.echo(f"Error: {said(error) or repr(error)}", err=True)
