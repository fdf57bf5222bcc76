"""`airqueue analyze`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from airqueue.cli.captures import read_capture
from airqueue.cli.common import json_option, report_option
from airqueue.cli.expect import expect_options, expectation
from airqueue.cli.output import Outputs
from airqueue.cli.spooled import on_disk
from airqueue.cli.stations import analyze_stations
from airqueue.cli.uploads import analyze_uploads
from airqueue.files import named
from airqueue.measure import api
from airqueue.measure.mgen import read_mgen
from airqueue.measure.records import Run
from airqueue.measure.stations.plans import PROFILE
from airqueue.uploads.plans import PROFILE as UPLOADS


@click.command(short_help="Evaluate a stored capture again.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["capture", "mgen"]),
    default="capture",
    show_default=True,
    help="mgen: receiver's logs of MGEN, the tool of the APQ paper.",
)
@click.option(
    "--sender-log",
    "sender_logs",
    metavar="FILE",
    multiple=True,
    help="With --format mgen: the sender's log, once for each FILE in the same order.",
)
@json_option
@report_option
@expect_options
def analyze(
    files: tuple[str, ...],
    file_format: str,
    sender_logs: tuple[str, ...],
    json_path: str | None,
    report_path: str | None,
    **expected: Any,
) -> None:
    """Run every estimator and the verdict again over stored packet records.

    FILE is a capture of `airqueue measure --capture`, also of an interrupted one; of MGEN logs
    several, one for each session. - is standard input.

    \b
    Examples:
      airqueue analyze lab.capture --report lab.html
      airqueue analyze --format mgen run1500.log run750.log --json -

    Exit codes are those of `airqueue measure`.
    """
    wanted = expectation(**expected)
    if sender_logs and (file_format != "mgen" or len(sender_logs) != len(files)):
        raise click.UsageError("--sender-log goes with --format mgen, once for each FILE.")
    if file_format == "capture" and len(files) != 1:
        raise click.UsageError("A capture holds a whole measurement; give one FILE.")
    for logs in (files, sender_logs):
        named_files = [log for log in logs if log != "-"]
        if len(set(named_files)) != len(named_files):
            raise click.UsageError("A log holds one session: name each file once.")
    outputs = Outputs(json_path, report_path)
    outputs.check([*files, *sender_logs])
    header: dict[str, Any]
    names = [named(file) for file in files]
    with on_disk([*files, *sender_logs]) as paths:
        if file_format == "mgen":
            runs = _mgen_sessions(paths[: len(files)], paths[len(files) :])
            header = {"warnings": [w for run in runs for w in run.meta.get("warnings", ())]}
        else:
            header, runs = read_capture(str(paths[0]))
    if not runs:
        raise click.ClickException(
            f"{names[0]} holds no whole run, so there is nothing to evaluate."
        )
    if header.get("profile") == PROFILE:
        analyze_stations(click.get_current_context(), header, runs, json_path)
        return
    if header.get("profile") == UPLOADS:
        analyze_uploads(click.get_current_context(), header, runs, json_path)
        return
    measured = api.analyze(runs, {**header, "target": ", ".join(names)})
    result = measured.to_json()
    outputs.emit(result, runs)
    wanted.enforce(result)


def _mgen_sessions(files: Sequence[Path], sender_logs: Sequence[Path]) -> list[Run]:
    """Read one session from every log; sessions of one packet size are numbered from 0."""
    seen: Counter[int] = Counter()
    runs = []
    for i, path in enumerate(files):
        run = read_mgen(path, sender_logs[i] if sender_logs else None)
        size = int(run.meta["size_bytes"])
        runs.append(dataclasses.replace(run, meta={**run.meta, "index": seen[size]}))
        seen[size] += 1
    return runs
