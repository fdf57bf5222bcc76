"""The figures that the headers of examples promise: beneath a command, what the command shows.

A header has lines that a reader and a test understand alike::

    #     airqueue simulate examples/simulate/overloaded-ap.toml
    #         expect flows.call.delay_mean_s    210 ms to 230 ms    115 packets of 1500 B at 6 Mb/s
    #     airqueue simulate examples/simulate/overloaded-ap.toml --set "flows.download.rate=4 Mb/s"
    #         expect flows.call.delay_mean_s    0.5 ms to 2 ms      now and then behind a frame

Two spaces or more separate a figure's name, its range and the reason for the range. CONTRIBUTING.md
says how to choose a range.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airqueue import units
from airqueue.simulate import ScenarioError, overrides

HOW: Final = "CONTRIBUTING.md has `How to write an example`"

_COMMAND: Final = re.compile(r"# +(airqueue .*)")
_EXPECT: Final = re.compile(r"# +expect\b *(.*)")
_RANGE: Final = re.compile(r"(\S.*?) to (\S.*)")


class HeaderError(Exception):
    """A header that does not say properly what to expect; the message has file and line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and the range that its value shall be in."""

    where: str
    """File and line, for messages."""
    key: str
    """As in the JSON, without the `mean`: ``flows.call.delay_mean_s``."""
    written: str
    """The range as the header has it."""
    low: float
    high: float

    def misses(self, found: float | None) -> str:
        """Return what is wrong with a value; nothing if the value is in the range."""
        if found is not None and self.low <= found <= self.high:
            return ""
        return f"{self.where}: {self.key} is {found}, expected {self.written}"

    def overlaps(self, other: Row) -> bool:
        """Whether a value could be in both ranges."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a header, and the figures that the header expects of it."""

    where: str
    words: tuple[str, ...]
    """Of the command line, the name ``airqueue`` first."""
    rows: tuple[Row, ...]

    @property
    def file(self) -> str:
        """Return the example that the command reads."""
        return next(word for word in self.words if word.startswith("examples/"))

    @property
    def changes(self) -> dict[str, Any]:
        """Return what ``--set`` changes."""
        given = [self.words[at + 1] for at, word in enumerate(self.words) if word == "--set"]
        try:
            return dict(overrides.read(each) for each in given)
        except ScenarioError as error:
            raise HeaderError(f"{self.where}: {error}") from error

    def misses(self, value: Callable[[str], float | None]) -> list[str]:
        """Return what is wrong with the figures that ``value`` has by their names."""
        return [wrong for row in self.rows if (wrong := row.misses(value(row.key)))]


def commands(text: str, file: str) -> list[Command]:
    """Return the commands of a header. Raises HeaderError that says which line is wrong."""
    found: list[Command] = []
    for where, line in _lines(text, file):
        if (command := _COMMAND.fullmatch(line)) is not None:
            found.append(Command(where, tuple(shlex.split(command[1])), ()))
        elif (expected := _EXPECT.fullmatch(line)) is not None:
            if not found:
                raise HeaderError(f"{where}: `expect` without a command above; {HOW}")
            above = found.pop()
            row = _row(where, expected[1])
            found.append(Command(above.where, above.words, (*above.rows, row)))
    return found


def _lines(text: str, file: str) -> Iterator[tuple[str, str]]:
    """Yield the header's lines, each with its place; a line that ends in a backslash goes on."""
    begun, at = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("#"):
            return
        at = at or number
        if line.endswith("\\"):
            begun += line[:-1]
            continue
        yield f"{file}:{at}", begun + (line.lstrip("# ") if begun else line)
        begun, at = "", 0


def _row(where: str, text: str) -> Row:
    columns = re.split(r" {2,}", text.strip())
    if len(columns) != 3:
        raise HeaderError(
            f"{where}: found `expect {text}`; expected a figure, a range and the reason, with two "
            f"spaces or more between them; {HOW}"
        )
    key, written, _ = columns
    limits = _RANGE.fullmatch(written)
    if limits is None:
        raise HeaderError(f"{where}: the range is {written!r}; expected as in `1 ms to 20 ms`")
    low, high = (_number(where, key, each) for each in limits.groups())
    if not low <= high:
        raise HeaderError(f"{where}: the range is {written!r}; expected the smaller value first")
    return Row(where, key, written, low, high)


def _number(where: str, key: str, text: str) -> float:
    """Return a value in the unit that the figure's name has."""
    try:
        return units.of_figure(key.rpartition(".")[2], text)
    except units.UnitError as error:
        raise HeaderError(f"{where}: {key} is {error}") from error


def without_figures(file: str) -> str:
    """Return what is wrong with an example that does not say what to expect."""
    return f"{file}: no line `expect ...` beneath the command that runs the example; {HOW}"


def lacks(found: list[Command], file: str) -> list[str]:
    """Return what an example does not say: figures as it is, and with a change others."""
    told = [command for command in found if command.rows]
    plain = [command for command in told if not command.changes]
    changed = [command for command in told if command.changes]
    if not plain:
        return [without_figures(file)]
    if not changed:
        return [f"{file}: no command with `--set` has a line `expect ...`; {HOW}"]
    return [wrong for command in changed for wrong in _alike(plain[0], command)]


def _alike(plain: Command, changed: Command) -> list[str]:
    """Return what a changed example does not show to be different."""
    base = {row.key: row for row in plain.rows}
    both = [(base[row.key], row) for row in changed.rows if row.key in base]
    if not both:
        return [f"{changed.where}: none of its figures is expected of the unchanged example, too"]
    return [
        f"{other.where}: the range of {other.key} overlaps that of {row.where}: no difference shows"
        for row, other in both
        if row.overlaps(other)
    ]


def summarised(summary: Mapping[str, Any], key: str) -> float | None:
    """Return a figure of a simulation's summary, by its name in the JSON."""
    kind, _, rest = key.partition(".")
    name, _, figure = rest.rpartition(".")
    try:
        of = summary[kind][name] if name else summary[kind]
        found: float | None = of[figure]["mean"]
    except KeyError as error:
        raise HeaderError(f"{key}: the results have no {error}") from None
    return found


def advised(advice: Mapping[str, Any], key: str) -> float | None:
    """Return a figure of an advice: ``figures.NAME``, or ``TABLE.ROW.COLUMN``.

    A row is named by its first column.
    """
    kind, _, rest = key.partition(".")
    name, _, column = rest.rpartition(".")
    if kind == "figures":
        found = [each["value"] for each in advice["figures"] if each["name"] == rest]
    else:
        tables = [table for table in advice["tables"] if table["name"] == kind]
        rows = [
            row for table in tables for row in table["rows"] if next(iter(row.values())) == name
        ]
        found = [row[column] for row in rows if column in row]
    if len(found) != 1:
        raise HeaderError(f"{key}: the advice has {len(found)} figures of that name; expected one")
    value: float | None = found[0]
    return value
