"""Processes of user-mode Linux that tests look for."""

from __future__ import annotations

import time
from pathlib import Path


def machines(folder: Path) -> list[int]:
    """Return the processes of machines that began in a folder below this one."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if (each / "cwd").readlink().is_relative_to(folder):
                found.append(int(each.name))
        except OSError:
            continue
    return found


def machines_left(folder: Path, wait_s: float = 10.0) -> list[int]:
    """Return the machines that are still there after some time in which they may end."""
    deadline = time.monotonic() + wait_s
    while machines(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return machines(folder)
