"""Emulations on a virtual clock: never late, and the same each time."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from airqueue import scratch as scratch_files
from airqueue.emulate import guest
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.network import Given
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.session import Order
from airqueue.files import check_writable, copy_atomically
from airqueue.linux.virtual import machine
from airqueue.simulate import Scenario
from airqueue.simulate.plain import plain
from airqueue.traces import Opportunities

BEGINNING_S: Final = 1_767_225_600
"""Date inside at the beginning, unless SOURCE_DATE_EPOCH is set: 1 January 2026, 0:00 UTC."""
MEMORY_MB: Final = 1024
_NOT_PASSED_ON: Final = ("LD_PRELOAD", "LD_LIBRARY_PATH")
# One processor inside. The cryptographic library would take random numbers from the processor.
_SETTINGS: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


# What a new network namespace takes from the first one (tcp_sk_init in net/ipv4/tcp_ipv4.c); all
# other settings of TCP begin with the kernel's defaults there.
_INHERITED: Final = ("tcp_congestion_control", "tcp_rmem", "tcp_wmem")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exact emulation is."""

    virtual_s: float
    """Time inside; programs begin at about zero."""
    stalled_s: float
    """Real time since the time inside last went on."""


@dataclass(frozen=True, slots=True)
class ExactRun:
    """What became of an exact emulation."""

    results: EmulationResults
    exit_code: int
    """As `Session.run` returns it."""
    wall_s: float
    """Real time that the run took, boot included."""
    stdout: bytes
    """What programs printed there, where no stream was given."""
    stderr: bytes
    opportunities: Opportunities | None = None
    """Those of ``trace``."""


def run(
    scenario: Given,
    order: Order,
    *,
    stdin: bytes = b"",
    stdout: BinaryIO | None = None,
    stderr: BinaryIO | None = None,
    real: Sequence[str] = (),
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    back_pressure: bool = True,
    scratch: Path | None = None,
    tcp: Mapping[str, str] | None = None,
    pcap: Mapping[str, str | os.PathLike[str]] | None = None,
    trace: str | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> ExactRun:
    """Carry out an order in a scenario's network on a virtual clock; return when all is over.

    The arguments are those of `EmulatedNetwork`; the seed also determines all random numbers that
    the kernel gives to programs. ``stdin`` is the standard input of the main program, whole before
    the run begins: a text that came while the run goes on would come at times that no seed
    determines. What programs print goes to ``stdout`` and ``stderr``; without a
    stream the result has the text. Programs read the host's files; what they write is gone at the
    end, except below ``scratch``, a folder to which it is then copied. ``tcp``: settings below
    ``net.ipv4`` in place of the kernel's defaults. Files of ``pcap`` are made at the end.
    ``watch`` is called now and then; what it raises ends the run.

    Raises EmulationError or MachineError with one sentence, and OSError for a file.
    """
    began = time.monotonic()
    given = (
        os.fspath(scenario)
        if isinstance(scenario, str | os.PathLike)
        else Scenario.of(scenario, others_real=bool(real)).description
    )
    for file in (pcap or {}).values():
        check_writable(file)
    out, err = BytesIO(), BytesIO()
    date_s = _date_s()
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
        scratch = scratch.resolve()
    with scratch_files.folder() as folder:
        kernel = machine.find(folder)
        task = {
            "scenario": given,
            "real": list(real),
            "seed": seed,
            "changes": plain(changes or {}),
            "back_pressure": back_pressure,
            "order": order.to_json(),
            "tcp": dict(tcp or {}),
            "scratch": None if scratch is None else str(scratch),
            "pcap": list(pcap or {}),
            "trace": trace,
            "directory": str(Path.cwd()),
            "environment": _environment(),
        }
        (folder / guest.TASK).write_text(json.dumps(task), encoding="utf-8")
        (folder / guest.STDIN).write_bytes(stdin)
        follower = _Follower(folder, stdout or out, stderr or err, watch)
        try:
            machine.boot(
                kernel,
                [guest.__name__],
                folder,
                seed=seed,
                settings=_SETTINGS,
                memory_mb=MEMORY_MB,
                date_s=date_s,
                watch=follower.look,
            )
        finally:
            follower.close()
        error = folder / guest.ERROR
        if error.exists():
            raise EmulationError(error.read_text("utf-8").strip())
        document = json.loads((folder / guest.RESULT).read_text("utf-8"))
        kept = folder / guest.SCRATCH
        if scratch is not None and kept.is_dir():
            shutil.copytree(kept, scratch, symlinks=True, dirs_exist_ok=True)
        results = EmulationResults.from_document(document)
        results = _with_captures(results, folder, pcap or {})
        kept_trace = folder / guest.OPPORTUNITIES
        found = Opportunities.from_json(kept_trace.read_text("utf-8")) if trace else None
    wall_s = time.monotonic() - began
    code = document["exit_code"]
    return ExactRun(results, code, wall_s, out.getvalue(), err.getvalue(), found)


def _with_captures(
    results: EmulationResults, folder: Path, pcap: Mapping[str, str | os.PathLike[str]]
) -> EmulationResults:
    """Copy the captures to where they were asked for, and return the results with these files."""
    captures = []
    for number, (node, file) in enumerate(pcap.items()):
        copy_atomically(folder / guest.capture(number), file)
        (of_node,) = (each for each in results.captures if each.node == node)
        captures.append(replace(of_node, file=os.fspath(file)))
    return replace(results, captures=tuple(captures))


def tcp_of_this_machine() -> dict[str, str]:
    """Return the settings of TCP that a node of a real-time emulation has from this machine."""
    folder = Path("/proc/sys/net/ipv4")
    return {name: (folder / name).read_text("ascii").strip() for name in _INHERITED}


def _environment() -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    # Where the instruction cannot be trapped, OpenSSL at least does not use RDRAND and RDSEED.
    return {"OPENSSL_ia32cap": "~0x4000000000000000:~0x40000", **found}


def _date_s() -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        return BEGINNING_S
    if not given.isascii() or not given.isdigit() or int(given) >= 2**32:
        raise EmulationError(
            f"SOURCE_DATE_EPOCH is {given!r}, expected whole seconds since 1970, as {BEGINNING_S} is"
        )
    return int(given)


class _Follower:
    """Passes on what programs print, and says how far the run is."""

    def __init__(
        self, folder: Path, stdout: BinaryIO, stderr: BinaryIO, watch: Callable[[Progress], None]
    ) -> None:
        self._streams = []
        for name, to in ((guest.STDOUT, stdout), (guest.STDERR, stderr)):
            (folder / name).touch()
            self._streams.append(((folder / name).open("rb"), to))
        self._watch = watch
        self._virtual_s = 0.0
        self._since = time.monotonic()

    def look(self, virtual_s: float) -> None:
        """Pass on what is new."""
        self._pass_on()
        now = time.monotonic()
        if virtual_s != self._virtual_s:
            self._virtual_s, self._since = virtual_s, now
        self._watch(Progress(max(0.0, virtual_s - guest.PROGRAMS_AT_S), now - self._since))

    def close(self) -> None:
        """Pass on the rest."""
        self._pass_on()
        for source, _ in self._streams:
            source.close()

    def _pass_on(self) -> None:
        for source, to in self._streams:
            text = source.read()
            if text:
                to.write(text)
                to.flush()
