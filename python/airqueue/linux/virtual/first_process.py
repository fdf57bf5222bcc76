"""Common parts of first processes inside user-mode Linux, with Python's standard library only."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from airqueue.linux.mounts import mount

FOLDER = Path("/run/airqueue")
"""Mount point of the host's folder, for results."""

_POWER_OFF = 0x4321FEDC
_FINIT_MODULE = 313
_ALREADY_THERE = 17

LIBC = ctypes.CDLL(None, use_errno=True)


def first_process(modules: Sequence[str], work: Callable[[], None]) -> None:
    """Prepare the machine, do the work, and switch the machine off in any case."""
    try:
        mount("proc", "/proc")
        mount("sysfs", "/sys")
        _mount_folder()
        for module in modules:
            insert(module)
        Path("/proc/self/timerslack_ns").write_text("1", encoding="ascii")
        work()
        (FOLDER / "done").touch()
    except Exception:  # the host shows the text; the machine must end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.sync()
        LIBC.reboot(_POWER_OFF)


def in_child(work: Callable[[], int]) -> int:
    """Do the work in a child, and return its exit code; below zero the signal that ended it.

    The first process reaps what programs leave behind.
    """
    worker = os.fork()
    if worker == 0:
        os._exit(work())
    ended = status = 0
    while ended != worker:
        ended, status = os.wait()
    return os.waitstatus_to_exitcode(status)


def make_writable() -> int:
    """Let processes write anywhere: what they write is in memory, and gone at the end.

    The host's files stay as they are. Devices are those of this machine. Returns a descriptor of the
    directory below which all that has been written is found.
    """
    insert("fs/overlayfs/overlay")
    for name in ("upper", "work", "root"):
        Path("/run", name).mkdir()
    mount("overlay", "/run/root", "lowerdir=/,upperdir=/run/upper,workdir=/run/work")
    written = os.open("/run/upper", os.O_RDONLY | os.O_DIRECTORY)
    os.chroot("/run/root")
    os.chdir("/")
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")):
        Path(where).mkdir(exist_ok=True)
        mount(kind, where)
    for kind, where in (("devpts", "/dev/pts"), ("tmpfs", "/dev/shm")):
        Path(where).mkdir(exist_ok=True)
        mount(kind, where)
    _mount_folder()
    return written


def _mount_folder() -> None:
    mount("tmpfs", "/run", "mode=755")
    FOLDER.mkdir()
    mount("hostfs", str(FOLDER), os.environ["AIRQUEUE_FOLDER"])


def insert(name: str) -> None:
    """Insert a module of the kernel, named by its path without the ending, and what it needs."""
    modules = Path(os.environ["AIRQUEUE_MODULES"])
    path = f"kernel/{name}.ko"
    needed = _dependencies(modules)
    if path not in needed:
        raise FileNotFoundError(f"this kernel has no module {name}")
    for each in (*reversed(needed[path].split()), path):
        with (modules / each).open("rb") as file:
            done = LIBC.syscall(_FINIT_MODULE, file.fileno(), b"", 0)
        if done != 0 and ctypes.get_errno() != _ALREADY_THERE:
            raise OSError(ctypes.get_errno(), f"insert {each}")


@functools.cache
def _dependencies(modules: Path) -> dict[str, str]:
    """Return for each module those that it needs."""
    lines = (modules / "modules.dep").read_text("ascii").splitlines()
    return dict(line.split(":", 1) for line in lines)
