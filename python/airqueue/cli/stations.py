"""`airqueue measure HOST --with STATION`: several stations of one access point."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import click
from click.core import ParameterSource

from airqueue.cli.parameters import read_key
from airqueue.cli.together import emit, measure_together
from airqueue.measure.records import Run
from airqueue.measure.stations.method import measure
from airqueue.measure.stations.plans import PROFILE
from airqueue.measure.stations.verdict import judge
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
    check_goes_with(
        ctx, GOES_WITH, "does not go with --with, which measures downloads to several stations"
    )
    check_names(stations)


def check_names(stations: Sequence[str]) -> None:
    """Raise UsageError for stations that are named twice, or too many."""
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
    check_goes_with(ctx, OF_ANALYZE, "is not for a capture of several stations")
    if "stations" not in header:
        raise click.ClickException("The capture's header names no stations; it is damaged.")
    result = judge(runs, header)
    emit(result, stations_lines(result), json_path)


def check_goes_with(ctx: click.Context, known: Collection[str], why: str) -> None:
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
    names = [HERE, *stations]
    about = {**header, "profile": PROFILE, "stations": names}
    options: dict[str, Any] = {
        "key": read_key(key_file),
        "max_rate_bps": max_rate,
        "max_wait_s": max_wait,
    }
    measure_together(
        lambda: TogetherProber(host, stations, port, **options),
        about,
        lambda prober, on_event, on_run: measure(
            prober, names, on_event=on_event, on_run=on_run, header=about
        ),
        judge,
        stations_lines,
        json_path=json_path,
        capture_path=capture_path,
        quiet=quiet,
    )
