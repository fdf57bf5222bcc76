"""`airqueue diagnose`."""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass
from typing import Any, Final

import click

import airqueue
from airqueue.cli.common import json_option, report_option
from airqueue.cli.diagnose_files import Files, flent_option, prometheus_option
from airqueue.cli.diagnose_queue import (
    Wanted,
    capture_option,
    max_time_option,
    measure_queue,
    queue_option,
)
from airqueue.cli.diagnose_switch import Switching, measure_in_turn, switch_options
from airqueue.cli.diagnose_view import View, emit
from airqueue.cli.errors import INTERRUPTED
from airqueue.cli.parameters import (
    DURATION,
    RATE,
    Whole,
    given_options,
    key_option,
    max_wait_option,
    read_key,
)
from airqueue.cli.plans import PlanFile, plan_option, sets_option
from airqueue.cli.size_options import device_option, line_device_option
from airqueue.diagnose.advice import Asking
from airqueue.diagnose.again import changes
from airqueue.diagnose.alternate import Alternated, State
from airqueue.diagnose.alternate import from_json as alternated_from_json
from airqueue.diagnose.loads import LoadError
from airqueue.diagnose.order import AUTO, MOST_BYTES, NONE, Order, Web
from airqueue.diagnose.order import diagnose as carry_out
from airqueue.diagnose.queue import Queue, no_queue, queue_from_json
from airqueue.diagnose.records import DIRECTIONS, Direction, Records, from_json
from airqueue.diagnose.result import CREATED, diagnosis, read_diagnosis
from airqueue.diagnose.timeline import BrokenOffError
from airqueue.measure.live import DEFAULT_PORT

_DIRECTIONS: Final[dict[str, tuple[Direction, ...]]] = {
    "down": ("down",),
    "up": ("up",),
    "both": DIRECTIONS,
}


_MEASURING: Final = frozenset(
    {
        "port",
        "gateway",
        "direction",
        "together",
        "load",
        "max_bytes",
        "hold",
        "key_file",
        "max_rate",
        "max_wait",
        "queue",
        "switch",
    }
)
"""Options that only a measurement heeds."""


@click.command(short_help="Say why it lags, where, and what to set.")
@click.argument("host", required=False)
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=Whole(1, 65535))
@click.option(
    "--wire",
    metavar="HOST",
    help="Another `airqueue server`, on the access point's own wire: loads the radio alone.",
)
@click.option(
    "--gateway",
    default=AUTO,
    show_default=True,
    metavar="ADDRESS",
    help=f"The router behind the access point; {AUTO}: the first one on the way to HOST; {NONE}.",
)
@click.option(
    "--direction",
    type=click.Choice([*_DIRECTIONS]),
    default="both",
    show_default=True,
    help="Of the load: down to this machine, up from it, one after the other.",
)
@click.option("--together", is_flag=True, help="Then load both directions at once, too.")
@click.option(
    "--load",
    type=click.Choice(["tcp", "flood"]),
    default="tcp",
    show_default=True,
    help="tcp: connections as a download has them; flood: UDP that keeps the queue full.",
)
@click.option("--download", metavar="URL", help="Load by downloading this again and again.")
@click.option("--upload", metavar="URL", help="Load by sending data there (HTTP POST).")
@click.option(
    "--max-bytes",
    type=Whole(1),
    default=MOST_BYTES,
    show_default=True,
    help="Of all transfers of the web in a direction.",
)
@click.option(
    "--hold",
    type=DURATION,
    default="5s",
    show_default=True,
    metavar="TIME",
    help="How long each full queue is watched.",
)
@key_option
@click.option("--max-rate", type=RATE, metavar="RATE", help="Of floods, e.g. 300mbit.")
@max_wait_option
@queue_option
@capture_option
@max_time_option
@device_option
@line_device_option
@click.option("--again", metavar="FILE", help="Compare with an earlier result (--json).")
@switch_options
@click.option(
    "--from",
    "stored",
    metavar="FILE",
    help="Measure nothing: judge a stored result (--json) again, and write the files from it.",
)
@json_option
@report_option
@flent_option
@prometheus_option
@plan_option
@sets_option
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def diagnose(
    *,
    host: str | None,
    port: int,
    wire: str | None,
    gateway: str,
    direction: str,
    together: bool,
    load: str,
    download: str | None,
    upload: str | None,
    max_bytes: int,
    hold: float,
    key_file: str | None,
    max_rate: float | None,
    max_wait: float,
    queue: bool,
    capture_path: str | None,
    max_time: float | None,
    device: str,
    line_device: str,
    again: str | None,
    switch: tuple[str, str] | None,
    pairs: int | None,
    leave: State | None,
    settle: float | None,
    stored: str | None,
    json_path: str | None,
    report_path: str | None,
    flent_path: str | None,
    prometheus_path: str | None,
    plan_path: str | None,
    sets: str | None,
    quiet: bool,
) -> None:
    """Say why it lags: load the path to HOST, and watch who waits on which part of it.

    HOST runs `airqueue server`, best beyond the provider's line. Without HOST the load is a
    --download or an --upload of the web, for which nothing needs to be installed. Whoever else uses
    the path notices the load, some ten seconds in each direction; --queue takes about half a
    minute more. Ctrl-C keeps the loads that have ended.

    Between a diagnosis and the next (--again) more may change than the setting. --switch sets the
    setting and takes it away again and again, and compares pairs of neighbouring diagnoses.

    \b
    Examples:
      airqueue diagnose server.example
      airqueue diagnose server.example --wire 192.168.1.2 --json now.json --report now.html
      airqueue diagnose server.example --queue --max-time 90s
      airqueue diagnose server.example --together
      airqueue diagnose --download https://server.example/large.bin
      airqueue diagnose server.example --again now.json
      airqueue diagnose server.example --switch 'ssh ap ./without.sh' 'ssh ap ./with.sh'
      airqueue diagnose --from now.json --flent now.flent.gz --plan plan.json

    Exit codes: 0 a result; 1 nothing could be diagnosed, or an error, a failed --switch among them,
    ended the diagnosis early, with a result of what was diagnosed before; 2 wrong usage; 130
    interrupted.
    """
    plan = PlanFile(plan_path, sets)
    plan.check()
    files = Files(json_path, report_path, flent_path, prometheus_path, plan)
    files.check(capture_path, [again, stored, key_file])
    wanted = Wanted(queue, capture_path, max_time)
    in_turn = Switching(switch, pairs, leave, settle)
    in_turn.check(again=again is not None, queue=queue, together=together)
    before = None if again is None else from_json(read_diagnosis(again)["records"])
    if stored is not None:
        if host is not None or download is not None or upload is not None or wire is not None:
            raise click.UsageError("--from measures nothing: leave hosts and addresses out.")
        _refuse_measuring(click.get_current_context())
        wanted.check(server=False)
        measured = _stored(stored)
    else:
        try:
            order = Order(
                host,
                Web(download, upload, max_bytes),
                port,
                wire,
                gateway,
                _DIRECTIONS[direction],
                hold,
                load == "flood",
                max_rate,
                max_wait,
                read_key(key_file),
                together,
            )
        except LoadError as error:
            raise click.UsageError(str(error)) from error
        wanted.check(server=host is not None or wire is not None)
        if switch is None:
            measured = _measured(order, wanted, quiet=quiet)
        else:
            measured = _in_turn(order, in_turn, quiet=quiet)
    records, about = measured.records, measured.about
    compared = [] if before is None else changes(before, records)
    found = diagnosis(records, Asking(device, line_device), measured.queue, measured.alternated)
    emit(found, compared, about, files)
    if measured.error is not None:
        raise measured.error
    if not measured.put_back:
        raise click.exceptions.Exit(1)
    if stored is None and about["interrupted"]:
        raise click.exceptions.Exit(INTERRUPTED)


def _refuse_measuring(context: click.Context) -> None:
    """Raise UsageError for what only a measurement heeds."""
    for parameter in given_options(context):
        if parameter.name in _MEASURING:
            raise click.UsageError(f"--from measures nothing: leave {parameter.opts[0]} out.")


@dataclass(frozen=True, slots=True)
class _Measured:
    """What the result rests on; ``about``: what the document says about the measurement."""

    records: Records
    queue: Queue | None
    about: dict[str, Any]
    alternated: Alternated | None = None
    put_back: bool = True
    """Whether a switched setting was left as the user chose."""
    error: Exception | None = None
    """What ended the diagnosis, or diagnoses in turn, early."""


def _in_turn(order: Order, wanted: Switching, *, quiet: bool) -> _Measured:
    """Carry out an order without and with a setting in turn."""
    began = time.monotonic()
    with View(quiet=quiet) as view:
        turns, left, put_back = measure_in_turn(order, wanted, view)
    created = datetime.datetime.now(datetime.UTC)
    about = _about(order, created, began, interrupted=turns.interrupted or turns.error is not None)
    found = Alternated(turns.halves, left)
    return _Measured(found.records, None, about, found, put_back, turns.error)


def _measured(order: Order, wanted: Wanted, *, quiet: bool) -> _Measured:
    """Carry out an order, once."""
    began = time.monotonic()
    known: Queue | None = None
    error: Exception | None = None
    with View(quiet=quiet) as view:
        try:
            records, interrupted = carry_out(order, view.on_glimpse)
        except BrokenOffError as broke:
            records, interrupted, error = broke.records, True, broke.error
        # Of the records: flent's times count back from here.
        created = datetime.datetime.now(datetime.UTC)
        if wanted.queue and interrupted:
            what = "Ctrl-C" if error is None else "an error"
            known = no_queue(f"{what} ended the diagnosis before")
        elif wanted.queue:
            known, interrupted = measure_queue(
                records, order, wanted, began_s=began, on_event=view.on_event
            )
    about = _about(order, created, began, interrupted=interrupted)
    return _Measured(records, known, about, error=error)


def _about(
    order: Order, created: datetime.datetime, began_s: float, *, interrupted: bool
) -> dict[str, Any]:
    return {
        "airqueue": airqueue.__version__,
        "created": created.strftime(CREATED),
        "target": order.target,
        "elapsed_s": round(time.monotonic() - began_s, 3),
        "interrupted": interrupted,
    }


def _stored(path: str) -> _Measured:
    """Return what a stored result rests on. Raises DiagnosisError."""
    document = read_diagnosis(path)
    kept = {name: document[name] for name in ("created", "target", "elapsed_s", "interrupted")}
    about = {"airqueue": airqueue.__version__, **kept}
    records, queue = from_json(document["records"]), queue_from_json(document)
    return _Measured(records, queue, about, alternated_from_json(document))
