"""Where packet records come from and go to: endpoints over real sockets, capture files.

The one place of the command line that touches the native module, imported when a command needs it:
`airqueue --help` and `airqueue compare` do without.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, NoReturn, TypeGuard

from airqueue.measure.prober import Direction, Prober
from airqueue.measure.records import Run
from airqueue.measure.schema import ResultError

MAX_RUN_S = 86_400.0
"""No run lasts a day."""


def open_prober(
    host: str, port: int, *, direction: Direction, key: bytes | None, max_rate_bps: float | None
) -> AbstractContextManager[Prober]:
    """Open a session with the server; leaving the context closes it. Raises ProbeError."""
    live = importlib.import_module("airqueue.measure.live")
    prober: AbstractContextManager[Prober] = live.LiveProber(
        host, port, direction=direction, key=key, max_rate_bps=max_rate_bps
    )
    return prober


class Capture:
    """A capture file that grows run by run."""

    def __init__(self, file: Any) -> None:
        self._file = file

    @classmethod
    def create(cls, path: str, header: Mapping[str, Any]) -> Capture:
        """Begin a new capture in place of what was there."""
        capture = importlib.import_module("airqueue.measure.capture")
        return cls(capture.CaptureFile.create(path, header))

    @classmethod
    def resume(cls, path: str) -> Capture:
        """Add to an existing capture."""
        capture = importlib.import_module("airqueue.measure.capture")
        return cls(capture.CaptureFile.resume(path))

    def append(self, run: Run) -> None:
        """Add a run and see it to the disk."""
        self._file.append(run)


def read_capture(path: str) -> tuple[dict[str, Any], list[Run]]:
    """Return header and runs of a capture; a run that was cut off in the middle is left out."""
    capture = importlib.import_module("airqueue.measure.capture")
    loaded = capture.load(path)
    for number, run in enumerate(loaded.runs):
        check_meta(path, number, run.meta)
    return dict(loaded.header), list(loaded.runs)


def check_meta(path: str, number: int, meta: Mapping[str, Any]) -> None:
    """Raise ResultError if what a stored run says about itself is not what analyses rely on."""

    def refuse(what: str) -> NoReturn:
        raise ResultError(
            f"{path}: run {number} has {what}; it was not written by `airqueue measure`."
        )

    kind, size, index = meta.get("kind"), meta.get("size_bytes"), meta.get("index", 0)
    if not isinstance(kind, str):
        refuse(f"kind {kind!r} where a name is expected")
    if not _whole(size) or not 1 <= size <= 65535:
        refuse(f"size_bytes {size!r} where a packet size is expected")
    if not _whole(index) or index < 0:
        refuse(f"index {index!r} where a count is expected")
    phases = meta.get("phases", {})
    if not isinstance(phases, dict) or not all(map(_span, phases.values())):
        refuse("phases that are no pairs of times")
    if kind == "session" and not {"quiet", "hold", "after"} <= phases.keys():
        refuse("no phases quiet, hold and after")


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _span(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(v, int | float) for v in value)
        and 0 <= value[0] <= value[1] <= MAX_RUN_S
    )


def start_server(**options: Any) -> Any:
    """Start a server in its own thread."""
    return importlib.import_module("airqueue._native").Server(**options)
