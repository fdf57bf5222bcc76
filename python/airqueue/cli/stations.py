"""`airqueue measure HOST --with STATION`: several stations of one access point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from airqueue.cli.together import Asked, Kind, analyze_together, check_goes_with, measure_together
from airqueue.measure.records import Run
from airqueue.measure.stations.method import measure
from airqueue.measure.stations.plans import PROFILE
from airqueue.measure.stations.verdict import judge
from airqueue.measure.stations.words import stations_lines
from airqueue.measure.together import TogetherProber

KIND: Final = Kind("several stations", ("stations",), judge, stations_lines)
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


def check_options(ctx: click.Context, stations: Sequence[str]) -> None:
    """Raise UsageError for options of the measurement of one path, and for stations named twice."""
    check_goes_with(
        ctx, GOES_WITH, "does not go with --with, which measures downloads to several stations"
    )
    check_names(stations)
    if ctx.params.get("host") in stations:
        raise click.UsageError(
            "--with names HOST itself, which is measured anyway: name other stations."
        )


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
    analyze_together(ctx, runs, header, KIND, json_path)


def measure_stations(asked: Asked, header: Mapping[str, Any]) -> None:
    """Measure, and write what was asked for; after Ctrl-C judge the finished runs."""
    about = {**header, "profile": PROFILE, "stations": asked.names}
    limits = asked.limits()
    measure_together(
        asked,
        lambda: TogetherProber(asked.host, asked.stations, asked.port, **limits),
        about,
        lambda prober, on_event, on_run: measure(
            prober, asked.names, on_event=on_event, on_run=on_run, header=about
        ),
        KIND,
    )
