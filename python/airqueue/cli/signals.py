"""What ends a command in order, beside Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def signals_end() -> Iterator[None]:
    """Have SIGTERM and SIGHUP end the run in order, as Ctrl-C does."""

    def end(number: int, frame: object) -> None:
        raise click.exceptions.Exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
