"""Shared by all commands, and quick to import: ``--json``, ``--report``, and results on stdout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click
from rich.cells import cell_len
from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from airqueue.files import write_atomically

json_option = click.option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write the result as JSON; '-' prints it on stdout and nothing else there.",
)
report_option = click.option(
    "--report", "report_path", metavar="FILE", help="Write a self-contained HTML report."
)
_PROSE: Final = 4
"""A cell with so many spaces is prose, which may wrap; values never do."""
_BROKEN_NAME: Final = re.compile(r"(?<=[_.])\n")


class Results(Console):
    """Results on stdout: without markup, since they contain names from outside.

    On a terminal a table stands in its lines, and a table that is too wide has a line for each value,
    so that no value breaks. Elsewhere tables are tab-separated values, with one line for each row.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts and tables."""
        for each in objects or ("",):
            if isinstance(each, Group):
                self.print(*each.renderables, **options)
            elif isinstance(each, Table) and not self.is_terminal:
                # Rich would make spaces of tabs.
                self.file.write(tab_separated(each) + "\n")
            elif not isinstance(each, Table):
                # Only a terminal has a width.
                super().print(each, **{"soft_wrap": not self.is_terminal, **options})
            else:
                self._show(each)

    def _show(self, table: Table) -> None:
        for column in table.columns:
            column.min_width = _least_width(column)
        wide = self.options.update(max_width=10**6)
        if Measurement.get(self, wide, table).minimum <= self.width:
            super().print(table)
            return
        if table.title:
            super().print(table.title, style="bold")
        heads = [_heading(column.header) for column in table.columns]
        most = max(map(len, heads), default=0)
        for row in _rows(table):
            super().print()
            for head, cell in zip(heads, row, strict=True):
                super().print(f"{head:<{most}}  {cell}", soft_wrap=cell.count(" ") < _PROSE)


def stdout() -> Results:
    """Return the console for results."""
    return Results()


def tab_separated(table: Table) -> str:
    """Return a table as tab-separated values, its title and its headings first."""
    lines = [_line(table.title)] if table.title else []
    if table.show_header:
        lines.append("\t".join(_heading(column.header) for column in table.columns))
    lines += ["\t".join(row) for row in _rows(table)]
    return "\n".join(lines)


def bullets(console: Console, items: Iterable[str]) -> None:
    """Print sentences, each behind a dash; on a terminal they wrap beside it."""
    for item in items:
        if console.is_terminal:
            points = Table.grid(padding=(0, 1))
            points.add_row("-", Text(item))
            Console.print(console, points)
        else:
            console.print(f"- {item}", soft_wrap=True)


def write_json(path: str, text: str) -> None:
    """Write JSON to a file, ``-``: to stdout. Raises OSError."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)


def _least_width(column: Column) -> int | None:
    """Return the width at which no value of a column breaks; None for prose, which may wrap."""
    cells = [line for cell in column._cells for line in _plain(cell).splitlines()]
    if any(cell.count(" ") >= _PROSE for cell in cells):
        return None
    return max(map(cell_len, [*cells, *_plain(column.header).split()]), default=0)


def _rows(table: Table) -> list[Sequence[str]]:
    columns = [[_line(cell) for cell in column._cells] for column in table.columns]
    return list(zip(*columns, strict=True))


def _heading(cell: Any) -> str:
    """Return a heading on one line. A name that goes on in the next line is whole again."""
    return _line(_BROKEN_NAME.sub("", _plain(cell)))


def _line(cell: Any) -> str:
    """Return the text of a cell on one line without tabs."""
    return " ".join(_plain(cell).split())


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell or "")
