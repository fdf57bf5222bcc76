"""What measurements of several stations share: their files, Ctrl-C, and what they write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import click

from airqueue.cli.captures import unnamed_capture, where_kept
from airqueue.cli.common import stdout, write_named
from airqueue.cli.errors import INTERRUPTED
from airqueue.cli.parameters import given_options, read_key
from airqueue.cli.progress import Display
from airqueue.cli.written import all_written, check_outputs
from airqueue.measure import schema
from airqueue.measure.capture import CaptureFile
from airqueue.measure.events import Event
from airqueue.measure.prober import ProbeError, Prober
from airqueue.measure.records import Run

Carry = Callable[[Prober, Callable[[Event], None], Callable[[Run], None]], Any]
"""Measures with a prober; the functions get events and finished runs."""


HERE: Final = "this station"
OF_ANALYZE: Final = frozenset({"files", "file_format", "json_path"})
"""Parameters of `airqueue analyze` that several stations have too."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of measurement of several stations, from its runs to words."""

    what: str
    """What a capture is of."""
    needed: Sequence[str]
    """Keys that the header of a capture must have."""
    judge: Callable[[Sequence[Run], Mapping[str, Any]], Any]
    lines: Callable[[Any], Sequence[str]]
    """The result in words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What every measurement of several stations is asked for."""

    host: str
    port: int
    stations: Sequence[str]
    """Without this one."""
    key_file: str | None
    json_path: str | None
    capture_path: str | None
    max_rate: float | None
    max_wait: float
    quiet: bool

    @property
    def names(self) -> list[str]:
        """The names of all stations, this one's first."""
        return [HERE, *self.stations]

    def limits(self) -> dict[str, Any]:
        """Return the key and the limits for `TogetherProber`."""
        return {
            "key": read_key(self.key_file),
            "max_rate_bps": self.max_rate,
            "max_wait_s": self.max_wait,
        }


def measure_together(
    asked: Asked,
    connect: Callable[[], AbstractContextManager[Prober]],
    header: Mapping[str, Any],
    carry: Carry,
    kind: Kind,
) -> None:
    """Measure, and write what was asked for; after Ctrl-C judge the finished runs.

    The finished runs stay in a file, also if an end fails. ``header``: of the capture, and for the
    verdict.
    """
    check_outputs(
        [("--json", asked.json_path), ("--capture", asked.capture_path)], [asked.key_file]
    )
    runs: list[Run] = []
    with Display(quiet=asked.quiet) as display:
        try:
            with connect() as prober, _recording(asked.capture_path, header, runs) as keep:
                result = carry(prober, display.on_event, keep)
        except (KeyboardInterrupt, ProbeError) as stopped:
            if not runs:
                raise
            where = where_kept(_saved(asked.capture_path, header, runs), resumable=False)
            if isinstance(stopped, ProbeError):
                raise ProbeError(f"{stopped} {where}") from stopped
            click.echo(f"Interrupted. {where}", err=True)
            result = kind.judge(runs, {**header, "interrupted": True})
    _emit(result, kind.lines(result), asked.json_path)
    if result["interrupted"]:
        raise click.exceptions.Exit(INTERRUPTED)


@contextmanager
def _recording(
    path: str | None, header: Mapping[str, Any], runs: list[Run]
) -> Iterator[Callable[[Run], None]]:
    """Keep runs in a list, and each at once in the capture if there is one."""
    with nullcontext() if path is None else CaptureFile.create(path, header) as capture:

        def keep(run: Run) -> None:
            runs.append(run)
            if capture is not None:
                capture.append(run)

        yield keep


def _saved(path: str | None, header: Mapping[str, Any], runs: Sequence[Run]) -> str:
    """Return the file of the runs; write one if the user named no capture."""
    if path is None:
        path = unnamed_capture()
        with CaptureFile.create(path, header) as capture:
            for run in runs:
                capture.append(run)
    return path


def analyze_together(
    ctx: click.Context,
    runs: Sequence[Run],
    header: Mapping[str, Any],
    kind: Kind,
    json_path: str | None,
) -> None:
    """Judge the runs of a capture again."""
    check_goes_with(ctx, OF_ANALYZE, f"is not for a capture of {kind.what}")
    for key in kind.needed:
        if key not in header:
            raise click.ClickException(f"The capture's header names no {key}; it is damaged.")
    result = kind.judge(runs, header)
    _emit(result, kind.lines(result), json_path)


def check_goes_with(ctx: click.Context, known: Collection[str], why: str) -> None:
    """Raise UsageError for an option on the command line that is not one of these."""
    for parameter in given_options(ctx):
        if parameter.name not in known:
            raise click.UsageError(f"{parameter.opts[-1]} {why}; leave it out.")


def _emit(result: Mapping[str, Any], lines: Sequence[str], json_path: str | None) -> None:
    """Write the file of the result if one is wanted, and show the result, even if that fails."""
    with all_written() as write:
        if json_path is not None:
            write(write_named, json_path, schema.to_text(result))
        if json_path != "-":
            write(_show, lines)


def _show(lines: Sequence[str]) -> None:
    console = stdout(comments=False)
    headline, *rest = lines
    console.print(headline, style="bold", soft_wrap=True)
    for line in rest:
        console.print(line, soft_wrap=True)
