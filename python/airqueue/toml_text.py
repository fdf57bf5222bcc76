"""TOML files as people and programs hand them over: bounded, and refused in one sentence."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

MAX_FILE_BYTES: Final = 1 << 20
_LONG_KEY: Final = re.compile(r"(?:[^.=,#\[\]{}\n]{0,70}\.){50}")
"""Fifty keys joined by dots: no file of ours has them, and tomllib's time grows with their square."""


class TomlError(ValueError):
    """Text that is no TOML: the message names the place, what was found and what was expected."""

    def __init__(self, place: str, found: str, expected: str) -> None:
        super().__init__(f"{place}: {found}; expected {expected}")
        self.place = place
        self.found = found
        self.expected = expected


def read(path: str | os.PathLike[str]) -> str:
    """Return the text of a file. Raises OSError or TomlError, which does not name the file."""
    with Path(path).open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TomlError("the file", "too large", f"at most {MAX_FILE_BYTES >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TomlError("the file", f"line {line} is not UTF-8", "a TOML file in UTF-8") from error


def parse(text: str) -> dict[str, Any]:
    """Return the table that a text describes.

    Raises TomlError, which names line and column where there are any.

    >>> parse('[phy]\\nstandard = "802.11b"')
    {'phy': {'standard': '802.11b'}}
    """
    if any(line.count(".") >= 50 and _LONG_KEY.search(line) for line in text.splitlines()):
        raise TomlError("the text", "a key of fifty parts", "a flat TOML file")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("the text", "nested too deeply", "a flat TOML file") from error
    except ValueError as error:
        raise TomlError("the text", f"no TOML: {short(str(error))}", "TOML") from error


def found(value: object) -> str:
    """Return a value for a message: short, on one line.

    >>> found(None), found([1, 2]), found("11")
    ('nothing', 'a list of 2', "'11'")
    """
    if value is None:
        return "nothing"
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "a table"
        return f"{kind} of {len(value):,}"
    if isinstance(value, int) and abs(value) > 10**18:
        return "a huge number"
    return short(repr(value))


def short(text: str) -> str:
    """Return a text for a message: 80 characters of it at most."""
    return text if len(text) <= 80 else f"{text[:77]}..."
