"""Capture files: a header and the packet records of every run, appended as the runs end."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import Any, Final

from airqueue._native import CaptureWriter, NativeError, read_capture
from airqueue.measure.native import run_from_native, run_to_native
from airqueue.measure.prober import ProbeError
from airqueue.measure.records import Run

Path = str | PathLike[str]
_BEGIN: Final = b"AQCAPTUR"
"""Of every capture: MAGIC of crates/airqueue-probe/src/capture.rs."""
_PCAP: Final = ", but a capture of packets for Wireshark"
_OTHERS: Final = (
    (b"{", ", but JSON; `airqueue compare` and `airqueue size ap` read results of --json"),
    (b"\xd4\xc3\xb2\xa1", _PCAP),
    (b"\xa1\xb2\xc3\xd4", _PCAP),
    (b"\x0a\x0d\x0d\x0a", _PCAP),
)
"""How other files begin that one may take for captures, and what they are: JSON, pcap, pcapng."""


class CaptureError(ProbeError):
    """A capture could not be read or written; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture read back.

    ``torn``: it ended in the middle of a run, which is left out; the process that wrote it was
    killed, or writes still.
    """

    header: Mapping[str, Any]
    runs: list[Run]
    torn: bool


class CaptureFile:
    """A capture that grows: each run is on the disk when `append` returns.

    After an error, and after a kill at any moment, the file holds every run appended before.
    """

    def __init__(self, writer: CaptureWriter) -> None:
        self._writer = writer

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Any]) -> CaptureFile:
        """Begin a new capture in place of what was there. Raises CaptureError."""
        return cls._open(path, json.dumps(dict(header), allow_nan=False), append=False)

    @classmethod
    def resume(cls, path: Path) -> CaptureFile:
        """Add to an existing capture; a torn end is removed. Raises CaptureError."""
        return cls._open(path, "", append=True)

    @classmethod
    def _open(cls, path: Path, header: str, *, append: bool) -> CaptureFile:
        try:
            return cls(CaptureWriter(path, header, append=append))
        except NativeError as error:
            raise CaptureError(f"{error}.") from error

    def append(self, run: Run) -> None:
        """Add a run with its meta. Raises CaptureError."""
        meta = json.dumps(dict(run.meta), allow_nan=False)
        try:
            self._writer.append(meta, run_to_native(run))
        except NativeError as error:
            raise CaptureError(f"{error}.") from error

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def __enter__(self) -> CaptureFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def load(path: Path) -> Capture:
    """Read a capture. Raises CaptureError."""
    try:
        header, runs, torn = read_capture(path)
    except NativeError as error:
        raise CaptureError(_other_file(path) or f"{error}.") from error
    return Capture(
        header=_parse(header, path, "header"),
        runs=[
            run_from_native(run, _parse(meta, path, f"description of run {i + 1}"))
            for i, (meta, run) in enumerate(runs)
        ],
        torn=torn,
    )


def _other_file(path: Path) -> str | None:
    """Say what a file is that is no capture; None for a capture, or a file that cannot be read."""
    named = pathlib.Path(path)
    begin = _BEGIN
    # Opening a pipe would wait for a writer.
    if named.is_file():
        with suppress(OSError), named.open("rb") as file:
            begin = file.read(len(_BEGIN))
    if begin == _BEGIN:
        return None
    what = next((what for first, what in _OTHERS if begin.startswith(first)), "")
    return f"cannot read {path}: it is no capture of `airqueue measure --capture`{what}."


def _parse(text: str, path: Path, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(
            f"cannot read {path}: the {what} is not JSON; the file is damaged or was edited."
        ) from error
    if not isinstance(value, dict):
        raise CaptureError(f"cannot read {path}: the {what} is not a JSON object.")
    return value
