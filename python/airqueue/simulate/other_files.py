"""Files of other commands, which somebody takes for scenarios."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_OTHERS: Final = (
    (
        {"scenario", "parameters"},
        "this is a sweep, not a scenario; `airqueue sweep FILE` carries it out",
    ),
    (
        {"radio", "nodes", "link"},
        "this is a mesh to be sized, not a scenario; `airqueue size mesh FILE` sizes its queues",
    ),
)
"""Keys that no scenario has, and what has all of them."""


def said(keys: Collection[str]) -> str | None:
    """Return what a table with these keys is, and who takes the file; None for a scenario."""
    return next((words for of, words in _OTHERS if of <= set(keys)), None)
