"""`airqueue diagnose --queue`: the measurement of the queue in which packets wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

import airqueue
from airqueue.cli.measure import Job, server_address
from airqueue.cli.parameters import DURATION
from airqueue.diagnose.order import Order
from airqueue.diagnose.queue import PROFILE, Measuring, Queue, measure, no_queue, to_measure
from airqueue.diagnose.records import Records
from airqueue.diagnose.where import Finding, findings
from airqueue.measure import api
from airqueue.measure.events import Event
from airqueue.measure.prober import Prober

queue_option = click.option(
    "--queue",
    "queue",
    is_flag=True,
    help="Then measure the queue in which packets wait: what it is, and what it holds.",
)
capture_option = click.option(
    "--capture",
    "capture_path",
    metavar="FILE",
    help="With --queue: store every packet record, as `airqueue measure` does.",
)
max_time_option = click.option(
    "--max-time",
    type=DURATION,
    metavar="TIME",
    help="With --queue: stop measuring so long after the beginning, e.g. 60s.",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whether a queue is to be measured, and the options that go with that."""

    queue: bool
    capture_path: str | None
    max_time_s: float | None

    def check(self, *, server: bool) -> None:
        """Raise click.UsageError. server: whether there is one to measure with."""
        for flag, value in (("--capture", self.capture_path), ("--max-time", self.max_time_s)):
            if value is not None and not self.queue:
                raise click.UsageError(f"{flag} is for the measurement of a queue: give --queue.")
        if self.queue and not server:
            raise click.UsageError(
                "--queue needs an `airqueue server` at the other end: name its HOST."
            )


def measure_queue(
    records: Records,
    order: Order,
    wanted: Wanted,
    *,
    began_s: float,
    on_event: Callable[[Event], None],
) -> tuple[Queue, bool]:
    """Measure the queue in which packets wait, and say whether Ctrl-C ended that.

    began_s: when the diagnosis began, on the clock of time.monotonic.
    """
    chosen = to_measure(findings(records))
    if isinstance(chosen, Queue):
        return chosen, False
    host = order.server_of(chosen.load.site)
    if host is None:
        return no_queue("behind it there is no `airqueue server`, the load is of the web"), False
    left_s = None
    if wanted.max_time_s is not None:
        left_s = wanted.max_time_s - (time.monotonic() - began_s)
        if left_s <= 0:
            return no_queue("the diagnosis took all of --max-time"), False
    job = _job(chosen, server_address(host, order.port), wanted.capture_path)

    @contextmanager
    def connect() -> Iterator[Prober]:
        waits_s = order.max_wait_s if left_s is None else min(order.max_wait_s, left_s)
        with (
            order.prober(chosen.load.site, chosen.direction, waits_s) as prober,
            job.capturing(),
        ):
            yield prober

    measuring = Measuring(connect, job.header["target"], left_s, on_event, job.on_run)
    return measure(chosen, measuring)


def _job(finding: Finding, target: str, capture_path: str | None) -> Job:
    """Describe the measurement, as `airqueue measure --resume` reads it in the capture."""
    header = {
        "target": target,
        "profile": PROFILE,
        "direction": finding.direction,
        "sizes": list(api.SIZES),
        "airqueue": airqueue.__version__,
    }
    return Job(header, capture_path)
