"""`airqueue measure`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import click
from click.core import ParameterSource

import airqueue
from airqueue.cli.captures import read_capture, unnamed_capture, where_kept
from airqueue.cli.common import json_option, report_option
from airqueue.cli.errors import INTERRUPTED
from airqueue.cli.expect import expect_options, expectation
from airqueue.cli.output import Outputs
from airqueue.cli.parameters import (
    DURATION,
    RATE,
    SIZES,
    Whole,
    key_option,
    max_wait_option,
    read_key,
)
from airqueue.cli.progress import Display
from airqueue.cli.stations import check_options, measure_stations
from airqueue.cli.together import Asked
from airqueue.cli.uploads import EDCA, check_uploads, measure_uploads, uploads_options
from airqueue.measure import api
from airqueue.measure.capture import CaptureFile
from airqueue.measure.document import Document
from airqueue.measure.live import LiveProber
from airqueue.measure.prober import Direction, ProbeError, Prober, RunInterrupted
from airqueue.measure.records import Run


@dataclass
class Job:
    """One measurement: its settings and the file for its runs."""

    header: dict[str, Any]
    """Metadata of the capture: ``target``, ``profile``, ``direction``, ``sizes``."""
    capture_path: str | None
    max_time_s: float | None = None
    resumable: bool = False
    """Whether a capture of it can be gone on with by ``--resume``."""
    previous: Sequence[Run] = ()
    runs: list[Run] = field(default_factory=list)
    """All runs so far, ``previous`` included."""
    _capture: CaptureFile | None = None

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Keep the capture file open during the measurement, if there is a capture."""
        if self.capture_path is None:
            yield
            return
        opened = (
            CaptureFile.resume(self.capture_path)
            if self.previous
            else CaptureFile.create(self.capture_path, self.header)
        )
        with opened as self._capture:
            yield

    def on_run(self, run: Run) -> None:
        """Keep a finished run; write the run to disk at once if there is a capture."""
        self.runs.append(run)
        if self._capture is not None:
            self._capture.append(run)

    def save(self) -> str | None:
        """Return the file of the runs; write one if the user named no capture. None: no runs."""
        if not self.runs:
            return None
        if self.capture_path is None:
            self.capture_path = unnamed_capture()
            with CaptureFile.create(self.capture_path, self.header) as capture:
                for run in self.runs:
                    capture.append(run)
        return self.capture_path


@click.command(short_help="Measure the queue between here and a server.")
@click.argument("host")
@click.option("--port", default=5860, show_default=True, type=Whole(1, 65535))
@click.option(
    "--with",
    "with_stations",
    metavar="STATION",
    multiple=True,
    help="Another station of the access point, where `airqueue server --attend HOST` runs: measure "
    "how stations share. Repeat for several.",
)
@uploads_options
@click.option(
    "--direction",
    type=click.Choice(["down", "up"]),
    default="down",
    show_default=True,
    help="down: the queue towards this machine; up: from it.",
)
@click.option(
    "--profile",
    type=click.Choice(sorted(api.PROFILES, reverse=True)),
    default="quick",
    show_default=True,
    help="paper: the method as published, about an hour for each size.",
)
@click.option(
    "--sizes",
    type=SIZES,
    default="1500,750",
    show_default=True,
    help="IP packet sizes in bytes; two of them tell packets from bytes.",
)
@key_option
@json_option
@report_option
@click.option("--capture", "capture_path", metavar="FILE", help="Store every packet record.")
@click.option("--resume", "resume_path", metavar="FILE", help="Go on with an interrupted capture.")
@click.option("--max-rate", type=RATE, metavar="RATE", help="Never send faster, e.g. 300mbit.")
@click.option(
    "--max-time",
    type=DURATION,
    metavar="TIME",
    help="End after this, e.g. 90s or 5min, or when there is enough for an answer if that is later.",
)
@max_wait_option
@expect_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def measure(
    *,
    host: str,
    port: int,
    with_stations: tuple[str, ...],
    uploads: bool,
    categories: tuple[str, ...],
    edca: tuple[EDCA, ...],
    direction: Direction,
    profile: str,
    sizes: tuple[int, ...],
    key_file: str | None,
    json_path: str | None,
    report_path: str | None,
    capture_path: str | None,
    resume_path: str | None,
    max_rate: float | None,
    max_time: float | None,
    max_wait: float,
    quiet: bool,
    **expected: Any,
) -> None:
    """Measure the queue between this machine and HOST, where `airqueue server` runs.

    The measurement saturates the path for some seconds at a time: whoever else uses it will notice.
    Ctrl-C keeps what was measured until then.

    \b
    Examples:
      airqueue measure 192.0.2.1
      airqueue measure ap-lab.example --json result.json --report result.html
      airqueue measure 192.0.2.1 --direction up --capture up.capture
      airqueue measure 192.0.2.1 --resume up.capture
      airqueue measure 192.0.2.1 --expect managed --max-delay 50ms
      airqueue measure 192.0.2.1 --with 192.0.2.20 --with 192.0.2.21
      airqueue measure 192.0.2.1 --with 192.0.2.20 --uploads --category vo --edca vo=2/3/7/1.504ms

    Exit codes: 0 a result, and as expected; 1 it could not be measured; 2 wrong usage;
    3 not as expected; 4 undecided whether it is as expected; 130 interrupted. Without an
    expectation every result is 0.
    """
    if not host.strip():
        raise click.UsageError("HOST is empty; give a name or an IP address.")
    common = {"airqueue": airqueue.__version__, "created": _now().strftime("%Y-%m-%dT%H:%M:%SZ")}
    common["target"] = server_address(host, port)
    asked = Asked(
        host=host,
        port=port,
        stations=with_stations,
        key_file=key_file,
        json_path=json_path,
        capture_path=capture_path,
        max_rate=max_rate,
        max_wait=max_wait,
        quiet=quiet,
    )
    if check_uploads(click.get_current_context(), with_stations, uploads=uploads):
        measure_uploads(asked, common, categories, edca)
        return
    if with_stations:
        check_options(click.get_current_context(), with_stations)
        measure_stations(asked, common)
        return
    wanted = expectation(**expected)
    if capture_path is not None and resume_path is not None:
        raise click.UsageError("--resume goes on with its own file; leave --capture out.")
    outputs = Outputs(json_path, report_path)
    outputs.check([key_file, resume_path], capture_path)
    key = read_key(key_file)
    header = {**common, "profile": profile, "direction": direction, "sizes": list(sizes)}
    job = Job(header, resume_path or capture_path, max_time_s=max_time, resumable=True)
    if resume_path is not None:
        _resume(job, resume_path, click.get_current_context())

    def connect() -> AbstractContextManager[Prober]:
        return LiveProber(
            host,
            port,
            direction=job.header["direction"],
            key=key,
            max_rate_bps=max_rate,
            max_wait_s=max_wait,
        )

    result = carry_out(job, connect, quiet=quiet)
    outputs.emit(result, job.runs)
    if result["interrupted"]:
        raise click.exceptions.Exit(INTERRUPTED)
    wanted.enforce(result)


def _resume(job: Job, path: str, ctx: click.Context) -> None:
    """Load an interrupted measurement and keep its settings; other settings are wrong usage."""
    profile, target = job.header["profile"], job.header["target"]
    header, runs = read_capture(path)
    if header.get("profile", profile) not in api.PROFILES:
        raise click.UsageError(
            f"{path} is of several stations, and --resume goes on with captures of one path; "
            f"`airqueue analyze {path}` judges what {path} holds."
        )
    if header.get("target", target) != target:
        raise click.UsageError(
            f"{path} was measured with {header['target']}, and not with {target}; one result is of "
            "one path. Name the same HOST and --port, or leave --resume out."
        )
    for name in ("profile", "direction", "sizes"):
        if name not in header or header[name] == job.header[name]:
            continue
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            was = header[name]
            shown = ",".join(map(str, was)) if isinstance(was, list) else str(was)
            raise click.UsageError(f"{path} was measured with --{name} {shown}; leave it at that.")
        job.header[name] = header[name]
    job.previous = runs
    job.runs = list(runs)


def carry_out(
    job: Job, connect: Callable[[], AbstractContextManager[Prober]], *, quiet: bool
) -> Document:
    """Measure; after Ctrl-C name the file of the runs and evaluate the finished runs."""

    def measured(display: Display) -> Document:
        with connect() as prober, job.capturing():
            try:
                found = api.measure(
                    prober,
                    profile=job.header["profile"],
                    sizes=job.header["sizes"],
                    max_time_s=job.max_time_s,
                    on_event=display.on_event,
                    on_run=job.on_run,
                    previous=job.previous,
                    header={"target": job.header["target"]},
                )
            except RunInterrupted as stopped:
                if stopped.run is not None:
                    job.on_run(stopped.run)
                raise
            return found.to_json()

    return kept(job, measured, quiet=quiet)


def kept(job: Job, measured: Callable[[Display], Document], *, quiet: bool) -> Document:
    """Return what a function measures that hands all runs to the job; keep them whatever happens."""
    with Display(quiet=quiet) as display:
        try:
            return measured(display)
        except KeyboardInterrupt:
            pass
        except ProbeError as error:
            where = job.save()
            if where is None:
                raise
            raise ProbeError(f"{error} {where_kept(where, resumable=job.resumable)}") from error
    return _interrupted(job)


def _interrupted(job: Job) -> Document:
    where = job.save()
    if where is None:
        raise KeyboardInterrupt
    click.echo(f"Interrupted. {where_kept(where, resumable=job.resumable)}", err=True)
    header: Mapping[str, Any] = {**job.header, "interrupted": True}
    return api.analyze(job.runs, header).to_json()


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def server_address(host: str, port: int) -> str:
    """Return host and port as results name a server."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
