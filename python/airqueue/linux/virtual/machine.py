"""User-mode Linux on the host: found, given a virtual clock, and booted."""

from __future__ import annotations

import mmap
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airqueue.linux.errors import MachineError, MachineUnavailableError

_HERE: Final = Path(__file__).parent
_MODULES: Final = Path("/usr/lib/uml/modules")
_SHARED_MEMORY: Final = Path("/dev/shm")
_OUTPUT: Final = "console"
_LOOK_S: Final = 0.02
"""How often it is looked whether a machine has ended."""

# The kernel makes its random numbers from this line, too, so that the name of a folder must not be in
# it; at the beginning /proc is the host's, in which the kernel is the process that looks.
# Time stops while the kernel computes, so that the kernel cannot measure its speed at boot: the
# length of a delay loop is given, and the benchmarks of RAID are left out. So is the device that has
# the host's random numbers.
_KERNEL: Final = (
    "lpj=1000000",
    "initcall_blacklist=raid6_select_algo,calibrate_xor_blocks,rng_init",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "con=null",
    "con0=null,fd:1",
    "quiet",
    "uml_dir=./",
    "init=/proc/self/cwd/init",
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """User-mode Linux with a preloaded clock."""

    program: str
    modules: Path
    clock: Path

    @property
    def release(self) -> str:
        """Release, as reported by uname."""
        return self.modules.name


def check() -> tuple[str, Path]:
    """Return the kernel's program and modules.

    Raises MachineUnavailableError with one sentence if something that a machine needs is absent.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise MachineUnavailableError("user-mode Linux is packaged for Linux on x86-64 only")
    program = shutil.which("linux.uml")
    modules = sorted(_MODULES.iterdir()) if _MODULES.is_dir() else []
    if program is None or not modules:
        raise MachineUnavailableError(
            "user-mode Linux is not installed: 'apt-get install user-mode-linux' provides it"
        )
    if shutil.which("cc") is None:
        raise MachineUnavailableError(
            "the virtual clock needs a C compiler: 'apt-get install gcc libc6-dev' provides one"
        )
    return program, modules[-1]


def find(folder: Path) -> Kernel:
    """Return the kernel; its clock is compiled into the folder.

    Raises MachineUnavailableError with one sentence.
    """
    program, modules = check()
    clock = folder / "clock.so"
    sources = [str(_HERE / name) for name in ("clock.c", "processes.c")]
    command = ["cc", "-O2", "-shared", "-fPIC", *sources, "-o", str(clock), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineUnavailableError(
            f"the virtual clock could not be compiled: {_short(done.stderr) or done.returncode}"
        )
    return Kernel(program, modules, clock)


def boot(
    kernel: Kernel,
    guest: Sequence[str],
    folder: Path,
    *,
    seed: int,
    settings: Mapping[str, str] | None = None,
    directory: Path | None = None,
    memory_mb: int = 512,
    date_s: int = 0,
    watch: Callable[[float], None] = lambda virtual_s: None,
) -> None:
    """Boot, run a module of Python as the first process, and return when the machine is off.

    ``guest``: name of the module and its arguments. It calls `first_process.first_process`, and finds
    ``settings`` in its environment and ``folder`` at `first_process.FOLDER`. ``directory`` is where
    it starts. ``date_s``: the date inside at the beginning, in seconds since 1970. ``watch`` is
    called now and then with the time inside; what it raises ends the machine and is raised here.

    Raises MachineError if the work was not finished.
    """
    first = folder / "init"
    first.write_text(_script(kernel, guest, folder, settings or {}, directory), encoding="utf-8")
    first.chmod(0o755)
    shown = folder / "clock"
    shown.write_bytes(bytes(8))
    environment = {
        **_memory_folder(folder, memory_mb),
        "PATH": os.environ.get("PATH", os.defpath),
        "LD_PRELOAD": str(kernel.clock),
        "AIRQUEUE_SEED": str(seed),
        "AIRQUEUE_DATE": str(date_s),
        "AIRQUEUE_CLOCK": str(shown),
    }
    command = [kernel.program, f"mem={memory_mb}M", *_KERNEL]
    # A regular file: a pipe would interrupt the machine when it has been read.
    with (folder / _OUTPUT).open("wb") as console, shown.open("r+b") as clock:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _keep_on_one_processor(process.pid)
            with mmap.mmap(clock.fileno(), 8, prot=mmap.PROT_READ) as view:
                while process.poll() is None:
                    time.sleep(_LOOK_S)
                    (now_ns,) = struct.unpack("q", view[:8])
                    watch(now_ns * 1e-9)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if not (folder / "done").exists():
        raise MachineError(
            f"the run in user-mode Linux failed: {_last(folder, process.returncode)}"
        )


def _script(
    kernel: Kernel,
    guest: Sequence[str],
    folder: Path,
    settings: Mapping[str, str],
    directory: Path | None,
) -> str:
    """The kernel's command line has no room for all of this."""
    environment = {
        "PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        # The modules of this process, which may have been told where to find them.
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        **settings,
        "AIRQUEUE_FOLDER": str(folder),
        "AIRQUEUE_MODULES": str(kernel.modules),
    }
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in environment.items())
    go = f"cd {shlex.quote(str(directory))}\n" if directory is not None else ""
    return f"#!/bin/sh\n{exports}{go}exec {shlex.join([sys.executable, '-m', *guest])}\n"


def _memory_folder(folder: Path, memory_mb: int) -> dict[str, str]:
    """Return where the memory of the machine is kept, if not in shared memory as by default.

    Containers often have little shared memory, or forbid to execute what is in it.
    """
    try:
        found = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return {"TMPDIR": str(folder)}
    enough = found.f_bavail * found.f_frsize >= memory_mb << 20
    return {} if enough and not found.f_flag & os.ST_NOEXEC else {"TMPDIR": str(folder)}


def _keep_on_one_processor(pid: int) -> None:
    """Only one process of the machine runs at a time: a change of processor would only cost time."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(pid, {allowed[pid % len(allowed)]})


def _last(folder: Path, code: int) -> str:
    return _short((folder / _OUTPUT).read_text("utf-8", errors="replace")) or f"exit code {code}"


def _short(text: str) -> str:
    return " ".join(text.split())[-600:]
