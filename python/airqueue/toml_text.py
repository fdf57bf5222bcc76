"""TOML files as people and programs hand them over: bounded, and refused in one sentence. And TOML
that we write.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from airqueue import files

MAX_FILE_BYTES: Final = 1 << 20
_LONG_KEY: Final = re.compile(r"(?:[^.=,#\[\]{}\n]{0,70}\.){50}")
"""Fifty keys joined by dots: no file of ours has them, and tomllib's time grows with their square."""
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class TomlError(ValueError):
    """Text that is no TOML: the message names the place, what was found and what was expected.

    The place is empty where it is the whole text.
    """

    def __init__(self, place: str, found: str, expected: str) -> None:
        super().__init__(f"{place}: {found}; expected {expected}".removeprefix(": "))
        self.place = place
        self.found = found
        self.expected = expected


def read(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, ``-``: of standard input.

    Raises OSError or TomlError, which does not name the file.
    """
    data = files.read_bytes(path, MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TomlError("", "too large", f"at most {MAX_FILE_BYTES >> 20} MiB")
    try:
        return files.decode(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TomlError("", f"line {line} is not UTF-8", "a TOML file in UTF-8") from error


def parse(text: str) -> dict[str, Any]:
    """Return the table that a text describes.

    Raises TomlError, which names line and column where there are any.

    >>> parse('[phy]\\nstandard = "802.11b"')
    {'phy': {'standard': '802.11b'}}
    """
    if any(line.count(".") >= 50 and _LONG_KEY.search(line) for line in text.splitlines()):
        raise TomlError("", "a key of fifty parts", "a flat TOML file")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("", "nested too deeply", "a flat TOML file") from error
    except ValueError as error:
        raise _not_toml(str(error)) from error


def _not_toml(reason: str) -> TomlError:
    """Return tomllib's reason, which ends in ``(at line 2, column 6)`` or the like."""
    what, _, place = reason.removesuffix(")").rpartition(" (at ")
    if not what:
        what, place = reason, ""
    return TomlError(place, short(what[0].lower() + what[1:]), "valid TOML")


def render(table: Mapping[str, Any]) -> str:
    """Return a table as TOML that `parse` makes the same table of.

    Texts, truth values, numbers, lists and tables of them.

    >>> print(render({"duration": "1 s", "stations": [{"name": "ap"}]}), end="")
    duration = "1 s"
    <BLANKLINE>
    [[stations]]
    name = "ap"
    """
    return "\n".join(_lines(table, ())).lstrip("\n") + "\n"


def _lines(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a table: its values, which headings would end, and then its tables."""
    for key, value in table.items():
        if not _is_below(value):
            yield f"{_key(key)} = {_inline(value)}"
    for key, value in table.items():
        if _is_below(value):
            place = (*above, _key(key))
            alone = isinstance(value, Mapping)
            for each in [value] if alone else value:
                yield ""
                yield f"[{'.'.join(place)}]" if alone else f"[[{'.'.join(place)}]]"
                yield from _lines(each, place)


def _is_below(value: Any) -> bool:
    """Whether a value gets a heading: a table, or a list of nothing else."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{_key(key)} = {_inline(each)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, str):
        # JSON escapes what TOML wants escaped but DEL, and in the same words.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()  # True is true, and 1E5 is 1e5


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _inline(key)


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
