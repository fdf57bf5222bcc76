"""Notebooks kept as Python files: cells begin with ``# %%``, texts with ``# %% [markdown]``.

Spyder, VS Code, PyCharm and Jupytext read such files as they are; `to_notebook` makes what Jupyter
reads (nbformat 4.5).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_MARK: Final = "# %%"
_TEXT: Final = "[markdown]"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: a text, or code."""

    is_text: bool
    source: str
    line: int
    """Of the file, from 1: the first one of the source."""


def cells(content: str) -> Iterator[Cell]:
    """Yield the cells of a file; what is before the first mark is no cell.

    >>> [(cell.is_text, cell.source) for cell in cells("# %% [markdown]\\n# Hello\\n# %%\\n1 + 1\\n")]
    [(True, 'Hello'), (False, '1 + 1')]
    """
    heads, lines = list[tuple[int, bool]](), content.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(_MARK):
            heads.append((number, _TEXT in line))
    ends = [number for number, _ in heads[1:]] + [len(lines)] * bool(heads)
    for (number, is_text), end in zip(heads, ends, strict=True):
        body = lines[number + 1 : end]
        if is_text:
            body = [line.removeprefix("#").removeprefix(" ") for line in body]
        yield Cell(is_text, "\n".join(body).strip("\n"), number + 2)


def to_notebook(content: str) -> str:
    """Return the cells as a notebook of Jupyter."""
    return json.dumps(
        {
            "cells": [_cell(number, cell) for number, cell in enumerate(cells(content))],
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
        ensure_ascii=False,
    )


def _cell(number: int, cell: Cell) -> dict[str, Any]:
    lines = cell.source.splitlines(keepends=True)
    common = {"id": f"cell-{number}", "metadata": {}, "source": lines}
    if cell.is_text:
        return {"cell_type": "markdown", **common}
    return {"cell_type": "code", **common, "execution_count": None, "outputs": []}
