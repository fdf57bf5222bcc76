"""Runs a scenario in user-mode Linux, which is installed if permitted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from peers.install import UnavailableError, apt_install, checked
from validation.linux.scenarios import Scenario

_HERE = Path(__file__).parent
_ROOT = _HERE.parent.parent
_MODULES = Path("/usr/lib/uml/modules")
_LONGEST_S = 900

# Time stops while the kernel computes, so that the kernel cannot measure its speed at boot: the
# length of a delay loop is given, and the benchmarks of RAID are left out.
_KERNEL = (
    "mem=512M",
    "lpj=1000000",
    "initcall_blacklist=raid6_select_algo,calibrate_xor_blocks",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "con=null",
    "con0=null,fd:1",
    "quiet",
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


@dataclass(frozen=True, slots=True)
class Measured:
    """Fates of a scenario's packets in the kernel, in the order of their arrival."""

    left_ns: npt.NDArray[np.int64]
    marked: npt.NDArray[np.bool_]
    statistics: dict[str, Any]
    """Output of tc on the discipline at the end."""


def install(folder: Path) -> Kernel:
    """Return the kernel; its clock is compiled into the folder.

    Raises UnavailableError with the reason.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise UnavailableError("user-mode Linux is packaged for Linux on x86-64")
    for needed, package in (("linux.uml", "user-mode-linux"), ("tc", "iproute2")):
        if shutil.which(needed) is None:
            apt_install(package)
    program = shutil.which("linux.uml")
    modules = sorted(_MODULES.iterdir()) if _MODULES.is_dir() else []
    if program is None or not modules:
        raise UnavailableError(
            "user-mode-linux is installed, but its kernel or its modules are not"
        )
    clock = folder / "clock.so"
    sources = [str(_HERE / name) for name in ("clock.c", "registers.c")]
    command = ["cc", "-O2", "-shared", "-fPIC", *sources, "-o", str(clock), "-ldl"]
    checked(command, "compiling clock.c and registers.c")
    return Kernel(program, modules[-1], clock)


def run(kernel: Kernel, scenario: Scenario, number: int) -> Measured:
    """Boot, do a run of the scenario and switch off. The same run gives the same results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {"AIRQUEUE_SCENARIO": scenario.name, "AIRQUEUE_RUN": str(number)}
        boot(kernel, "validation.linux.guest", settings, folder, seed=number)
        found = np.loadtxt(folder / "packets", dtype=np.int64, ndmin=2)
        statistics = json.loads((folder / "statistics.json").read_text("utf-8"))
    measured = Measured(found[:, 0], found[:, 1] == 1, statistics)
    _check_books(measured)
    return measured


def boot(
    kernel: Kernel, guest: str, settings: Mapping[str, str], folder: Path, *, seed: int
) -> None:
    """Boot, run a module as the first process, which writes results into the folder, switch off.

    Raises UnavailableError if the module does not finish.
    """
    first = folder / "init"
    first.write_text(_first_process(kernel, guest, settings, folder), encoding="utf-8")
    first.chmod(0o755)
    done = subprocess.run(
        [kernel.program, *_KERNEL, f"uml_dir={folder}", f"init={first}"],
        env={**os.environ, "LD_PRELOAD": str(kernel.clock), "AIRQUEUE_SEED": str(seed)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=False,
    )
    if not (folder / "done").exists():
        raise UnavailableError(f"the run in user-mode Linux failed: {_last(done)}")


def _first_process(kernel: Kernel, guest: str, settings: Mapping[str, str], folder: Path) -> str:
    """The kernel's command line has no room for all of this."""
    environment = {
        "PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AIRQUEUE_FOLDER": str(folder),
        "AIRQUEUE_MODULES": str(kernel.modules),
        **settings,
    }
    exports = "".join(f"export {key}='{value}'\n" for key, value in environment.items())
    return f"#!/bin/sh\n{exports}cd '{_ROOT}'\nexec '{sys.executable}' -m {guest}\n"


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())[-600:] or f"code {done.returncode}"


def _check_books(measured: Measured) -> None:
    """Check that the discipline's counters agree with the receiver's."""
    told = measured.statistics
    dropped = int((measured.left_ns < 0).sum())
    if (told["drops"], told["qlen"]) != (dropped, 0):
        raise RuntimeError(f"{dropped} packets are missing, but the kernel says {told}")
