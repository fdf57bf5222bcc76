"""Records beside a scenario: CSV files of signal-to-noise ratios, rates and shares of busy time.

The engine reads no files: what they have becomes values of the scenario's keys, so that a description
is whole, and results that are kept belong to these values.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from airqueue import files
from airqueue.simulate.errors import Problem, ScenarioError

MOST_BYTES: Final = 64 << 20
MOST_ROWS: Final = 1_000_000
_TIME: Final = "time_s"
_MOST_COLUMNS: Final = 50


@dataclass(frozen=True)
class _Column:
    """The column of a record's values."""

    name: str
    read: Callable[[str], Any]


def beside(description: Mapping[str, Any], folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description whose records are seen from a folder, that of the scenario's file.

    >>> beside({"links": [{"snr_trace": {"file": "walk.csv"}}]}, "home")
    {'links': [{'snr_trace': {'file': 'home/walk.csv'}}]}
    """
    changed: dict[str, Any] = dict(description)
    for path, table, _ in _records(description):
        if isinstance(name := table["file"], str):
            changed = _with(changed, path, table | {"file": os.fspath(Path(folder, name))})
    return changed


def named(description: Mapping[str, Any]) -> list[str]:
    """Return the files that the records of a description name.

    >>> named({"links": [{"rate_trace": {"file": "walk.csv"}}, {"distance": "3 m"}]})
    ['walk.csv']
    """
    files_named = (table["file"] for _, table, _ in _records(description))
    return [name for name in files_named if isinstance(name, str)]


def whole(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description with the values of the files that its records name.

    The given description stays as it is. Raises ScenarioError that names the key, the file, the
    line, what was found and what was expected.

    >>> whole({"links": [{"between": ["ap", "phone"], "snr_trace": {"time_s": [0.0]}}]})
    {'links': [{'between': ['ap', 'phone'], 'snr_trace': {'time_s': [0.0]}}]}
    """
    changed: dict[str, Any] = dict(description)
    for path, table, column in _records(description):
        key = _key(path)
        new = {name: value for name, value in table.items() if name != "file"}
        if twice := [name for name in (_TIME, column.name) if name in new]:
            raise ScenarioError(f"{key}.file: {twice[0]} is given, too; leave one of them out")
        name = table["file"]
        text = _text(f"{key}.file", name)
        try:
            times, values = _columns(text, column)
        except _LineError as error:
            raise ScenarioError(f"{key}.file: {name}{error}") from error
        changed = _with(changed, path, new | {_TIME: times, column.name: values})
    return changed


def located(problems: Sequence[Problem], description: Mapping[str, Any]) -> list[Problem]:
    """Return problems of values that files had, with the file and the line of each value.

    The problems are those of `whole` of the description.
    """
    places = {
        f"{_key(path)}.{name}": (table["file"], column)
        for path, table, column in _records(description)
        for name in (_TIME, column.name)
    }
    return [_located(each, places) for each in problems]


def _located(problem: Problem, places: Mapping[str, tuple[str, _Column]]) -> Problem:
    key, bracket, number = problem.key.removesuffix("]").rpartition("[")
    if not bracket or key not in places or not number.isdecimal():
        return problem
    file, column = places[key]
    rows = itertools.islice(_rows(_text(problem.key, file), column), int(number), None)
    for line, *_ in rows:
        return replace(problem, problem=f"{file}, line {line}: {problem.problem}")
    return problem


def _key(path: tuple[Any, ...]) -> str:
    return f"{path[0]}[{path[1]}]." + ".".join(path[2:])


def _records(
    description: Mapping[str, Any],
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], _Column]]:
    """Yield the place of each record that names a file, its table, and the column of its values."""
    for path, column in _places(description):
        table = _at(description, path)
        if isinstance(table, dict) and "file" in table:
            yield path, table, column


def _places(description: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], _Column]]:
    for number, _ in enumerate(_tables(description, "links")):
        yield ("links", number, "snr_trace"), _Column("snr_db", _number)
        yield ("links", number, "rate_trace"), _Column("rate", str.strip)
    for number, _ in enumerate(_tables(description, "interference")):
        yield ("interference", number, "occupancy", "trace"), _Column("busy_ratio", _number)


def _tables(description: Mapping[str, Any], key: str) -> list[Any]:
    tables = description.get(key)
    return tables if isinstance(tables, list) else []


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            return None
    return value


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of nested tables and lists with another value at a path."""
    if not path:
        return new
    copied = dict(value) if isinstance(value, Mapping) else list(value)
    copied[path[0]] = _with(value[path[0]], path[1:], new)
    return copied


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _text(key: str, name: object) -> str:
    """Return the text of a CSV file."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ScenarioError(f"{key}: {name!r}; expected the name of a CSV file")
    try:
        data = files.read_bytes(name, MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ScenarioError(f"{key}: {name}: {reason}; expected a CSV file") from error
    if len(data) > MOST_BYTES:
        raise ScenarioError(f"{key}: {name} is too large; expected at most {MOST_BYTES >> 20} MiB")
    try:
        return files.decode(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            f"{key}: {name}, line {line} is not UTF-8; expected a CSV file in UTF-8"
        ) from error


class _LineError(Exception):
    """What is wrong in a file, after its name."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f", line {line}: {problem}" if line else f": {problem}")


def _columns(text: str, column: _Column) -> tuple[list[float], list[Any]]:
    """Return times and values."""
    times: list[float] = []
    values: list[Any] = []
    for line, time, value in _rows(text, column):
        if len(times) == MOST_ROWS:
            raise _LineError(line, f"more than {MOST_ROWS:,} rows; expected fewer")
        if times and time <= times[-1]:
            raise _LineError(line, f"{time:g} s is not after {times[-1]:g} s; times must rise")
        times.append(time)
        values.append(value)
    if not times:
        raise _LineError(0, f"no rows; expected a line '{_TIME},{column.name}' and rows below it")
    return times, values


def _rows(text: str, column: _Column) -> Iterator[tuple[int, float, Any]]:
    """Yield line, time and value. Lines that are empty or begin with ``#`` are remarks."""
    rows = csv.reader(io.StringIO(text, newline=""))
    places: tuple[int, int] | None = None
    try:
        for row in rows:
            line = rows.line_num
            if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
                continue
            if places is None:
                places = _heading(line, row, column.name)
                continue
            if len(row) <= max(places):
                raise _LineError(
                    line, f"found {len(row)} cells; expected {_TIME} and {column.name}"
                )
            yield (
                line,
                _cell(line, _TIME, row[places[0]], _number),
                _cell(line, column.name, row[places[1]], column.read),
            )
    except csv.Error as error:
        raise _LineError(rows.line_num, f"{error}; expected a CSV file") from error


def _heading(line: int, heading: list[str], column: str) -> tuple[int, int]:
    names = [cell.strip() for cell in heading[:_MOST_COLUMNS]]
    if _TIME in names and column in names:
        return names.index(_TIME), names.index(column)
    shown = ",".join(names)[:80]
    raise _LineError(line, f"the heading {shown!r}; expected the columns {_TIME} and {column}")


def _cell(line: int, name: str, cell: str, read: Callable[[str], Any]) -> Any:
    try:
        value = read(cell)
    except ValueError:
        value = None
    if value is None or value == "":
        expected = "a number" if read is _number else "a value"
        raise _LineError(line, f"{name} is {cell.strip()[:40]!r}; expected {expected}") from None
    return value
