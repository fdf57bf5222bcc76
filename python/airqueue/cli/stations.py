"""`airqueue measure HOST --with STATION`: several stations of one access point."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import click
from click.core import ParameterSource

from airqueue.cli.common import stdout
from airqueue.cli.errors import INTERRUPTED
from airqueue.cli.parameters import read_key
from airqueue.cli.progress import Display
from airqueue.files import check_writable, write_atomically
from airqueue.measure import schema
from airqueue.measure.capture import CaptureFile
from airqueue.measure.records import Run
from airqueue.measure.stations.method import measure
from airqueue.measure.stations.plans import PROFILE
from airqueue.measure.stations.verdict import StationsDict, judge
from airqueue.measure.stations.words import stations_lines
from airqueue.measure.together import TogetherProber

HERE: Final = "this station"
MOST_STATIONS: Final = 8
"""Beside this one: every station is in every run with sparse packets."""
GOES_WITH: Final = frozenset(
    {
        "host",
        "port",
        "with_stations",
        "key_file",
        "json_path",
        "capture_path",
        "max_rate",
        "max_wait",
        "quiet",
    }
)
"""Parameters of `airqueue measure` that several stations have too."""
OF_ANALYZE: Final = frozenset({"files", "file_format", "json_path"})
"""Those of `airqueue analyze`."""


def check_options(ctx: click.Context, stations: Sequence[str]) -> None:
    """Raise UsageError for options of the measurement of one path, and for stations named twice."""
    _refuse_others(
        ctx, GOES_WITH, "does not go with --with, which measures downloads to several stations"
    )
    if len(set(stations)) != len(stations):
        raise click.UsageError("--with names a station twice; name each once.")
    if len(stations) > MOST_STATIONS:
        raise click.UsageError(
            f"--with names {len(stations)} stations; give {MOST_STATIONS} at most."
        )


def analyze_stations(
    ctx: click.Context, header: Mapping[str, Any], runs: Sequence[Run], json_path: str | None
) -> None:
    """Judge the runs of a capture again."""
    _refuse_others(ctx, OF_ANALYZE, "is not for a capture of several stations")
    if "stations" not in header:
        raise click.ClickException("The capture's header names no stations; it is damaged.")
    emit(judge(runs, header), json_path)


def _refuse_others(ctx: click.Context, known: Collection[str], why: str) -> None:
    """Raise UsageError for an option on the command line that is not one of these."""
    for parameter in ctx.command.get_params(ctx):
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and name not in known:
            raise click.UsageError(f"{parameter.opts[-1]} {why}; leave it out.")


def measure_stations(
    host: str,
    port: int,
    stations: Sequence[str],
    header: Mapping[str, Any],
    *,
    key_file: str | None,
    json_path: str | None,
    capture_path: str | None,
    max_rate: float | None,
    max_wait: float,
    quiet: bool,
) -> None:
    """Measure, and write what was asked for; after Ctrl-C judge the finished runs."""
    for path in (json_path, capture_path):
        if path is not None and path != "-":
            check_writable(path)
    names = [HERE, *stations]
    about = {**header, "profile": PROFILE, "stations": names}
    runs: list[Run] = []
    key = read_key(key_file)
    with Display(quiet=quiet) as display:
        try:
            with (
                TogetherProber(
                    host, stations, port, key=key, max_rate_bps=max_rate, max_wait_s=max_wait
                ) as prober,
                nullcontext()
                if capture_path is None
                else CaptureFile.create(capture_path, about) as capture,
            ):

                def keep(run: Run) -> None:
                    runs.append(run)
                    if capture is not None:
                        capture.append(run)

                result = measure(
                    prober, names, on_event=display.on_event, on_run=keep, header=about
                )
        except KeyboardInterrupt:
            if not runs:
                raise
            result = judge(runs, {**about, "interrupted": True})
    emit(result, json_path)
    if result["interrupted"]:
        raise click.exceptions.Exit(INTERRUPTED)


def emit(result: StationsDict, json_path: str | None) -> None:
    """Write the file of the result if one is wanted, and show the result."""
    written = schema.to_text(result)
    if json_path is not None and json_path != "-":
        write_atomically(json_path, written)
    if json_path == "-":
        click.echo(written, nl=False)
        return
    console = stdout()
    headline, *lines = stations_lines(result)
    console.print(headline, style="bold", soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=True)
