"""The binaries that `make endpoint` builds, for tests that run them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def newest(name: str) -> Path:
    """Return the binary that was built last; a test that asks is skipped where there is none."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    built = [path.resolve() for path in target.glob(f"*/{name}") if path.is_file()]
    if not built:
        pytest.skip(f"{name} is not built: make endpoint")
    return max(built, key=lambda path: path.stat().st_mtime)
