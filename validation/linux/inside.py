"""Common parts of first processes inside user-mode Linux, with Python's standard library only."""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

FOLDER = Path("/tmp")
"""Mount point of the host's folder for results."""

_POWER_OFF = 0x4321FEDC
_FINIT_MODULE = 313

LIBC = ctypes.CDLL(None, use_errno=True)


def first_process(modules: Sequence[str], work: Callable[[], None]) -> None:
    """Prepare the machine, do the work, and switch the machine off in any case."""
    try:
        for kind, where in (("proc", "/proc"), ("sysfs", "/sys")):
            mount(kind, where)
        mount("hostfs", str(FOLDER), os.environ["AIRQUEUE_FOLDER"])
        for module in modules:
            _insert(Path(os.environ["AIRQUEUE_MODULES"], "kernel", f"{module}.ko"))
        Path("/proc/self/timerslack_ns").write_text("1", encoding="ascii")
        work()
        (FOLDER / "done").touch()
    except Exception:  # the console shows it; the machine must end
        traceback.print_exc()
    finally:
        os.sync()
        sys.stdout.flush()
        LIBC.reboot(_POWER_OFF)


def mount(kind: str, where: str, options: str = "") -> None:
    """Mount a file system that needs no device."""
    if LIBC.mount(b"none", where.encode(), kind.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} on {where}")


def _insert(module: Path) -> None:
    with module.open("rb") as file:
        if LIBC.syscall(_FINIT_MODULE, file.fileno(), b"", 0) != 0:
            raise OSError(ctypes.get_errno(), f"insert {module}")
