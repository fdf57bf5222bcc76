"""Machines of user-mode Linux whose first process is a bench's guest (`*_guest.py`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airqueue.linux.virtual import machine


def run(guest: str, task: Mapping[str, Any], airqueued: Path, folder: Path) -> None:
    """Run a guest's task in a machine; what the guest found is in the folder then."""
    (folder / "task.json").write_text(json.dumps(task), "utf-8")
    machine.boot(
        machine.find(folder),
        [guest],
        folder,
        seed=task["seed"],
        settings={
            "AIRQUEUED": str(airqueued),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        },
    )
