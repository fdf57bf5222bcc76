"""Functions that tests run inside user-mode Linux; quick to import there."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airqueue.linux.errors import NamespaceError
from airqueue.linux.uml_guest import Inside


def look(inside: Inside, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Say two things, leave a file, send a packet through the bed, and return what tc counts."""
    inside.say({"first": arguments["word"]})
    (inside.files / "left").write_text(arguments["word"], "utf-8")
    began = time.monotonic()
    ping = ("ping", "-n", "-c", "1", "-W", "2", inside.bed.receiver_address)
    done = inside.bed.namespace("sender").run(ping)
    inside.say("second")
    return {
        "answered": done.returncode == 0,
        "round_trip_ms": float(done.stdout.split("time=")[1].split()[0]),
        "elapsed_s": time.monotonic() - began,
        "sent": inside.bed.shown()["packets"],
        "kernel": Path("/proc/sys/kernel/osrelease").read_text("ascii").strip(),
    }


def classes(inside: Inside, arguments: Mapping[str, Any]) -> list[list[int]]:
    """Send packets of several classes at once, flow i of class i, and return what class became what.

    A row is a class as sent, as received, and how many packets had both.
    """
    # What measures takes a while to load.
    from airqueue.linux.probing import prober_through  # noqa: PLC0415
    from airqueue.measure.plan import Plan, cbr  # noqa: PLC0415

    rate_pps, sent = arguments["rate_pps"], arguments["classes"]
    segments = (cbr(i, 0, 4, rate_pps, 1500, traffic_class=c) for i, c in enumerate(sent))
    with prober_through(inside.bed) as prober:
        run = prober.run(Plan(tuple(segments)), {})
    assert run.sent_class is not None
    assert run.received_class is not None
    pairs = zip(run.sent_class[run.received], run.received_class[run.received], strict=True)
    counts = Counter((int(sent), int(received)) for sent, received in pairs)
    return [[*pair, count] for pair, count in sorted(counts.items())]


def treated(inside: Inside, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Take the run of traffic classes alone, and return how they were treated."""
    # What measures takes a while to load.
    from airqueue.linux.probing import prober_through  # noqa: PLC0415
    from airqueue.measure.disciplines import classes, treatment  # noqa: PLC0415
    from airqueue.measure.disciplines.steps import Layout  # noqa: PLC0415
    from airqueue.measure.quiet import baseline, quiet_length_s  # noqa: PLC0415
    from airqueue.measure.session import Session  # noqa: PLC0415

    rate_pps = arguments["rate_pps"]
    quiet_s = quiet_length_s(rate_pps, 1)
    sparse = baseline(0.0, quiet_s, rate_pps, (1500,))
    laid_out = classes.classes_plan(Layout(1500, rate_pps, 1e6, 100, sparse, quiet_s))
    assert laid_out is not None
    with prober_through(inside.bed) as prober:
        run = prober.run(*laid_out)
    found = treatment.judge([Session(run)], idle=(0, 200))
    assert found is not None
    return dataclasses.asdict(found)


def fail(inside: Inside, arguments: Mapping[str, Any]) -> None:
    """Say something, and raise an error of the project."""
    inside.say("before")
    raise NamespaceError(f"nothing {arguments['of']} this")
