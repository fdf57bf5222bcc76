"""Functions that tests run inside user-mode Linux; quick to import there."""

from __future__ import annotations

import time
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


def fail(inside: Inside, arguments: Mapping[str, Any]) -> None:
    """Say something, and raise an error of the project."""
    inside.say("before")
    raise NamespaceError(f"nothing {arguments['of']} this")
