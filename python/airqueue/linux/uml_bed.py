"""The test bed inside user-mode Linux: the kernel's own disciplines on an exact virtual clock.

The bed, its truth and the machine are here; what is run in them is any function of the project. Runs
of the same function with the same arguments and seed are the same, whatever else the host does.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airqueue import scratch
from airqueue.linux import config as configs
from airqueue.linux import uml_guest
from airqueue.linux.config import ConfigError, HostApConfig
from airqueue.linux.errors import HostApError, MachineError, MachineUnavailableError
from airqueue.linux.preflight import Check, needed_tools
from airqueue.linux.privileges import missing_tools
from airqueue.linux.virtual import machine

BEGINNING_S: Final = 1_767_225_600
"""Date inside at the beginning: 1 January 2026, 0:00 UTC."""
MEMORY_MB: Final = 1024
_SETTINGS: Final = {
    # One processor inside. The cryptographic library would take random numbers from the processor.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",
    "PYTHONHASHSEED": "0",
}
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


class FunctionError(HostApError):
    """The function inside has raised an error of the project; ``kind`` names its class."""

    def __init__(self, kind: str, says: str) -> None:
        super().__init__(says)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a function that was run in a bed."""

    result: Any
    """What the function returned: JSON values."""
    truth: dict[str, Any]
    """As `HostAp.truth`; ``settings`` are the kernel's own of the queue, defaults included."""
    virtual_s: float
    """Time inside that the function took."""
    wall_s: float
    """Real time that everything took, boot included."""


def check(config: HostApConfig | None = None) -> None:
    """Raise an error of one sentence if user-mode Linux, or what a bed needs in it, is absent."""
    _, folder = machine.check()
    if config is not None and config.policer != "none":
        # Debian builds it without NF_TABLES_INET.
        raise ConfigError("user-mode Linux cannot police: measure policers on the host's kernel")
    absent = missing_tools(needed_tools())
    if absent:
        raise MachineUnavailableError(absent)
    for name in () if config is None else uml_guest.modules(config):
        if not (folder / f"kernel/{name}.ko").exists():
            what = Path(name).name.removeprefix("sch_")
            raise MachineUnavailableError(
                f"user-mode Linux {folder.name} has no {what}: choose another queue or option"
            )


def requirement() -> Check:
    """Return whether a bed can be built in user-mode Linux here, as `preflight.checks` says it."""
    try:
        check()
    except MachineUnavailableError as error:
        return Check("user-mode Linux", str(error), "--kernel uml")
    return Check("user-mode Linux", "", "--kernel uml")


def run(
    config: HostApConfig,
    function: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    seed: int = 1,
    hear: Callable[[Any], None] = lambda said: None,
    watch: Callable[[float, float], None] = lambda virtual_s, stalled_s: None,
    files: Path | None = None,
    memory_mb: int = MEMORY_MB,
) -> Ran:
    """Boot a machine, build the bed in it, run ``package.module:function`` there, and switch it off.

    The function is called with `uml_guest.Inside` and the arguments, JSON values both ways. ``hear``
    gets what the function says while it runs. ``watch`` is called now and then with the time inside
    and the real time for which it has stood still; what these two raise ends the run. What the
    function has left in its folder of files is copied below ``files``, also when the run fails.

    Raises MachineUnavailableError if there is no user-mode Linux, HostApError if the bed cannot be
    built, FunctionError with what the function raised, and MachineError for all else.
    """
    began = time.monotonic()
    if not _FUNCTION.fullmatch(function):
        raise ConfigError(f"{function!r} is no function; write package.module:function")
    if not 0 <= seed < 2**63:
        raise ConfigError(f"the seed {seed} is outside 0 to 2^63 - 1")
    check(config)
    with scratch.folder() as folder:
        task = {
            "config": configs.to_json(config),
            "function": function,
            "arguments": dict(arguments or {}),
        }
        (folder / uml_guest.TASK).write_text(json.dumps(task), encoding="utf-8")
        follower = _Follower(folder, hear, watch)
        try:
            machine.boot(
                machine.find(folder),
                [uml_guest.__name__],
                folder,
                seed=seed,
                settings=_SETTINGS,
                memory_mb=memory_mb,
                date_s=BEGINNING_S,
                watch=follower.look,
            )
            follower.listen()
        finally:
            follower.close()
            if files is not None and (folder / uml_guest.FILES).is_dir():
                shutil.copytree(folder / uml_guest.FILES, files, dirs_exist_ok=True)
        _raise_error(folder / uml_guest.ERROR)
        found = json.loads((folder / uml_guest.RESULT).read_text("utf-8"))
    return Ran(**found, wall_s=time.monotonic() - began)


def _raise_error(file: Path) -> None:
    if not file.exists():
        return
    error = json.loads(file.read_text("utf-8"))
    if error["kind"] == uml_guest.UNFORESEEN:
        raise MachineError(f"the function failed inside user-mode Linux: {error['says']}")
    raise FunctionError(error["kind"], error["says"])


class _Follower:
    """Passes on what the function says, and says how far the run is."""

    def __init__(
        self, folder: Path, hear: Callable[[Any], None], watch: Callable[[float, float], None]
    ) -> None:
        path = folder / uml_guest.SAID
        path.touch()
        self._file = path.open("r", encoding="utf-8")
        self._line = ""
        self._hear = hear
        self._watch = watch
        self._virtual_s = 0.0
        self._since = time.monotonic()

    def look(self, virtual_s: float) -> None:
        """Pass on what is new."""
        self.listen()
        now = time.monotonic()
        if virtual_s != self._virtual_s:
            self._virtual_s, self._since = virtual_s, now
        self._watch(max(0.0, virtual_s - uml_guest.BEGINS_AT_S), now - self._since)

    def listen(self) -> None:
        """Pass on the lines that have been written in full."""
        self._line += self._file.read()
        *lines, self._line = self._line.split("\n")
        for line in lines:
            self._hear(json.loads(line))

    def close(self) -> None:
        """Listen no more."""
        self._file.close()
