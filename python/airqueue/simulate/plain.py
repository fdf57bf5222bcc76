"""Descriptions as plain data: the types of JSON, and values that every check accepts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from airqueue.simulate.errors import ScenarioError
from airqueue.toml_text import found

DEEPEST: Final = 16
"""Levels of tables and lists; scenarios have less than half as many."""


def plain(value: Any, place: str = "", depth: int = 0) -> Any:
    """Return a copy of tables, lists, texts, truth values and finite numbers.

    numpy's numbers and arrays become Python's. Raises ScenarioError that names the place of other
    values: a date, a number that is not finite, None, a key that is not text.
    """
    if depth > DEEPEST:
        raise ScenarioError(f"{place}: nested too deeply; expected at most {DEEPEST} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ScenarioError(f"{place or 'the top level'}: the key {key!r}; expected text")
        return {
            key: plain(each, f"{place}.{key}" if place else key, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(each, f"{place}[{index}]", depth + 1) for index, each in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(f"{place}: {value!r}; expected a finite number")
    if isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist(), place, depth)
    raise ScenarioError(f"{place}: {found(value)}; expected text, a number, a list or a table")
