"""Tables as text: columns as wide as their values, prose wrapped, values never broken."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, Literal

Justify = Literal["left", "right"]
_PROSE: Final = 4
"""Spaces in a cell of prose, at least."""
_GAP: Final = 2
"""Spaces between the columns of a table without lines."""


@dataclass(slots=True)
class Column:
    """A column: its heading, and the style in which a terminal shows its values."""

    heading: str = ""
    justify: Justify = "left"
    no_wrap: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table, as pieces of text, each with the style that a terminal gives the piece."""

    pieces: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The line without styles."""
        return "".join(text for text, _ in self.pieces).rstrip()


@dataclass(slots=True)
class _Row:
    cells: tuple[str, ...]
    style: str
    ends_section: bool = False


class Table:
    """Headings and rows of text; ``boxed``: between lines."""

    def __init__(
        self, *headings: str, title: str = "", boxed: bool = True, show_header: bool = True
    ) -> None:
        self.title = title
        self.boxed = boxed
        self.show_header = show_header
        self.columns = [Column(heading) for heading in headings]
        self._rows: list[_Row] = []

    def add_column(
        self,
        heading: str = "",
        justify: Justify = "left",
        *,
        no_wrap: bool = False,
        style: str = "",
    ) -> None:
        """Add a column to the right."""
        self.columns.append(Column(heading, justify, no_wrap, style))

    def add_row(self, *cells: str, style: str = "") -> None:
        """Add a row; a row may have fewer cells than there are columns."""
        if len(cells) > len(self.columns):
            problem = f"A row of {len(cells)} cells in a table of {len(self.columns)} columns."
            raise ValueError(problem)
        absent = len(self.columns) - len(cells)
        self._rows.append(_Row((*cells, *[""] * absent), style))

    def add_section(self) -> None:
        """Draw a line beneath the last row."""
        if self._rows:
            self._rows[-1].ends_section = True

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells of each row."""
        return [row.cells for row in self._rows]

    def fits(self, width: int) -> bool:
        """Return whether the table needs no more than a width without breaking a value."""
        return sum(low for low, _ in self._spans()) + self._frame() <= width

    def lines(self, width: int) -> Iterator[Line]:
        """Yield the lines of the table; where it does not fit, as narrow as values allow."""
        widths = _shares(self._spans(), width - self._frame())
        if self.title:
            yield from (Line(((line, "bold"),)) for line in wrap(self.title, width))
        if self.boxed:
            yield _rule("┏━┳┓", widths)
        if self.show_header and self.columns:
            heads = [column.heading for column in self.columns]
            yield from self._row(heads, widths, ["bold"] * len(heads), heading=True)
            if self.boxed:
                yield _rule("┡━╇┩", widths)
        for row in self._rows:
            styles = [" ".join((row.style, column.style)).strip() for column in self.columns]
            yield from self._row(row.cells, widths, styles)
            if self.boxed and row.ends_section and row is not self._rows[-1]:
                yield _rule("├─┼┤", widths)
        if self.boxed:
            yield _rule("└─┴┘", widths)

    def _frame(self) -> int:
        """Return the width of what is between and beside the columns."""
        count = len(self.columns)
        return 3 * count + 1 if self.boxed else _GAP * max(count - 1, 0)

    def _spans(self) -> list[tuple[int, int]]:
        """Return the least and the natural width of each column."""
        spans = []
        for index, column in enumerate(self.columns):
            cells = [row.cells[index] for row in self._rows]
            head = column.heading if self.show_header else ""
            natural = _widest(line for cell in (head, *cells) for line in cell.splitlines())
            words = _widest(word for cell in (head, *cells) for word in cell.split())
            values = _widest(line for cell in cells for line in cell.splitlines())
            prose = not column.no_wrap and any(map(is_prose, cells))
            spans.append((words if prose else max(values, words), natural))
        return spans

    def _row(
        self,
        cells: Sequence[str],
        widths: Sequence[int],
        styles: Sequence[str],
        *,
        heading: bool = False,
    ) -> Iterator[Line]:
        """Yield the lines of a row, whose cells wrap in their columns."""
        bar = "┃" if heading else "│"
        wrapped = [wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
        if heading:
            # Headings stand upon the values.
            most = max(map(len, wrapped))
            wrapped = [[""] * (most - len(lines)) + lines for lines in wrapped]
        for parts in zip_longest(*wrapped, fillvalue=""):
            pieces = [(f"{bar} ", "")] if self.boxed else []
            each = zip(parts, self.columns, widths, styles, strict=True)
            for number, (part, column, width, style) in enumerate(each):
                if number:
                    pieces.append((f" {bar} " if self.boxed else " " * _GAP, ""))
                room = " " * (width - cells_wide(part))
                pieces.append((room + part if column.justify == "right" else part + room, style))
            if self.boxed:
                pieces.append((f" {bar}", ""))
            yield Line(tuple(pieces))


def cells_wide(text: str) -> int:
    """Return how many places of a terminal a text takes.

    >>> cells_wide("sta1 é"), cells_wide("基地"), cells_wide("e\\u0301")
    (6, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def is_prose(cell: str) -> bool:
    """Return whether a cell is prose, which may wrap; a value never does."""
    return cell.count(" ") >= _PROSE


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text, broken at spaces; a word that is too long has its own line.

    >>> wrap("one two three", 7)
    ['one two', 'three']
    """
    lines = []
    for line in text.split("\n"):
        if cells_wide(line) <= width:
            lines.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        made = ""
        for word in line.split():
            longer = f"{made} {word}" if made else indent + word
            if made and cells_wide(longer) > width:
                lines.append(made)
                longer = word
            made = longer
        lines.append(made)
    return lines


def _widest(texts: Iterable[str]) -> int:
    return max(map(cells_wide, texts), default=0)


def _shares(spans: Sequence[tuple[int, int]], room: int) -> list[int]:
    """Return the widths of columns: natural ones, or the widest that can give way made narrower."""
    widths = [natural for _, natural in spans]
    while (over := sum(widths) - room) > 0:
        can = [n for n, (low, _) in enumerate(spans) if widths[n] > low]
        if not can:
            break
        widest = max(can, key=lambda n: widths[n])
        second = max((widths[n] for n in can if n != widest), default=0)
        least = max(spans[widest][0], min(second, widths[widest] - 1))
        widths[widest] = max(widths[widest] - over, least)
    return widths


def _rule(signs: str, widths: Sequence[int]) -> Line:
    line = signs[2].join(signs[1] * (width + 2) for width in widths)
    return Line(((signs[0] + line + signs[3], ""),))
