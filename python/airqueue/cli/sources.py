"""Where packet records come from and go to: endpoints over real sockets, capture files.

The one place of the command line that touches the native module, imported when a command needs it:
`airqueue --help` and `airqueue compare` do without.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from airqueue.measure.prober import Direction, Prober
from airqueue.measure.records import Run


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
        return cls(capture.CaptureFile.append(path))

    def append(self, run: Run) -> None:
        """Add a run and see it to the disk."""
        self._file.append(run)


def read_capture(path: str) -> tuple[dict[str, Any], list[Run]]:
    """Return header and runs of a capture; a run that was cut off in the middle is left out."""
    capture = importlib.import_module("airqueue.measure.capture")
    header, runs = capture.read_capture(path)
    return dict(header), list(runs)


def start_server(**options: Any) -> Any:
    """Start a server in its own thread."""
    return importlib.import_module("airqueue._native").Server(**options)
