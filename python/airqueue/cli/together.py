"""What measurements of several stations share: their files, Ctrl-C, and what they write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from airqueue.cli.common import stdout
from airqueue.cli.errors import INTERRUPTED
from airqueue.cli.progress import Display
from airqueue.files import check_writable, write_atomically
from airqueue.measure import schema
from airqueue.measure.capture import CaptureFile
from airqueue.measure.events import Event
from airqueue.measure.prober import Prober
from airqueue.measure.records import Run

Carry = Callable[[Prober, Callable[[Event], None], Callable[[Run], None]], Any]
"""Measures with a prober; the functions get events and finished runs."""


def measure_together(
    connect: Callable[[], AbstractContextManager[Prober]],
    header: Mapping[str, Any],
    carry: Carry,
    judge: Callable[[Sequence[Run], Mapping[str, Any]], Any],
    lines: Callable[[Any], Sequence[str]],
    *,
    json_path: str | None,
    capture_path: str | None,
    quiet: bool,
) -> None:
    """Measure, and write what was asked for; after Ctrl-C judge the finished runs.

    ``header``: of the capture, and for ``judge``; ``lines``: the result in words.
    """
    for path in (json_path, capture_path):
        if path is not None and path != "-":
            check_writable(path)
    runs: list[Run] = []
    with Display(quiet=quiet) as display:
        try:
            with (
                connect() as prober,
                nullcontext()
                if capture_path is None
                else CaptureFile.create(capture_path, header) as capture,
            ):

                def keep(run: Run) -> None:
                    runs.append(run)
                    if capture is not None:
                        capture.append(run)

                result = carry(prober, display.on_event, keep)
        except KeyboardInterrupt:
            if not runs:
                raise
            result = judge(runs, {**header, "interrupted": True})
    emit(result, lines(result), json_path)
    if result["interrupted"]:
        raise click.exceptions.Exit(INTERRUPTED)


def emit(result: Mapping[str, Any], lines: Sequence[str], json_path: str | None) -> None:
    """Write the file of the result if one is wanted, and show the result."""
    written = schema.to_text(result)
    if json_path is not None and json_path != "-":
        write_atomically(json_path, written)
    if json_path == "-":
        click.echo(written, nl=False)
        return
    console = stdout()
    headline, *rest = lines
    console.print(headline, style="bold", soft_wrap=True)
    for line in rest:
        console.print(line, soft_wrap=True)
