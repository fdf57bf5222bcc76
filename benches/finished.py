"""Finished cases of a bench in a file, a JSON line each: the same command goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


def rows(file: Path | None) -> list[dict[str, Any]]:
    """Return what is kept; nothing without a file."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def keep(file: Path | None, row: Mapping[str, Any]) -> None:
    """Add a finished case; nothing is kept without a file."""
    if file is not None:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(row) + "\n")


def runs(
    file: Path | None,
    tasks: Iterable[Mapping[str, Any]],
    once: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    say: Callable[[Mapping[str, Any]], str],
) -> list[Mapping[str, Any]]:
    """Return a row for each task: as it is kept, or run, kept and told."""
    kept = rows(file)
    found: list[Mapping[str, Any]] = []
    for task in tasks:
        row = next((row for row in kept if row["task"] == task), None)
        if row is None:
            row = {"task": task, **once(task)}
            keep(file, row)
            print(say(row), flush=True)
        found.append(row)
    return found
