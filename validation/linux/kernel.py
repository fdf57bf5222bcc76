"""Runs a scenario in user-mode Linux, which is installed if permitted."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airqueue.linux.errors import MachineUnavailableError
from airqueue.linux.virtual import machine
from airqueue.linux.virtual.machine import Kernel
from peers.install import UnavailableError, apt_install
from validation.linux.scenarios import Scenario

_ROOT = Path(__file__).parent.parent.parent


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
    for needed, package in (("linux.uml", "user-mode-linux"), ("tc", "iproute2")):
        if shutil.which(needed) is None:
            apt_install(package)
    try:
        return machine.find(folder)
    except MachineUnavailableError as error:
        raise UnavailableError(str(error)) from error


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

    Raises MachineError if the module does not finish.
    """
    machine.boot(kernel, [guest], folder, seed=seed, settings=settings, directory=_ROOT)


def _check_books(measured: Measured) -> None:
    """Check that the discipline's counters agree with the receiver's."""
    told = measured.statistics
    dropped = int((measured.left_ns < 0).sum())
    if (told["drops"], told["qlen"]) != (dropped, 0):
        raise RuntimeError(f"{dropped} packets are missing, but the kernel says {told}")
