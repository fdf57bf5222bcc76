"""The virtual machine of a test, or why the test is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from binaries import newest
from peers.install import UnavailableError
from wifi_vm import image, machine


def ready(*, txqs: bool | None) -> tuple[Path, image.Image]:
    """Return airqueued's newest binary and a kernel, with TXQ parameters or not, or skip."""
    airqueued = newest("airqueued")
    try:
        machine.install()
        return airqueued, image.build(txqs=txqs)
    except UnavailableError as reason:
        pytest.skip(f"no virtual machine with a Wi-Fi stack: {reason}")
