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
    """Results: without markup, since they contain names from outside.

    On a terminal a table stands in its lines, and a table that is too wide has a line for each value,
    so that no value breaks. Elsewhere tables are tab-separated values: a line of headings, then one
    line for each row, and an empty line before the next table. Texts beside tables are comments
    there, so that programs find nothing but tables. ``comments`` is false where texts are not
    beside tables, as on stderr.
    """

    def __init__(self, *, stderr: bool = False, comments: bool = True) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)
        self._comments = comments and not stderr
        self._in_table = False

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts and tables."""
        for each in objects or ("",):
            if isinstance(each, Group):
                self.print(*each.renderables, **options)
            elif not self.is_terminal and isinstance(each, Table):
                self._write_table(each)
            elif not self.is_terminal:
                self._write(each, **options)
            elif isinstance(each, Table):
                self._show(each)
            else:
                super().print(each, **options)

    def _write_table(self, table: Table) -> None:
        """Write a table where there is no terminal: Rich would make spaces of tabs."""
        if self._in_table:
            self.file.write("\n")
        self.file.write(tab_separated(table) + "\n")
        self._in_table = True

    def _write(self, text: Any, **options: Any) -> None:
        """Write a text where there is no terminal, and so no width."""
        plain = _plain(text)
        self._in_table = self._in_table and "" not in plain.split("\n")
        shown = commented(plain) if self._comments else text
        super().print(shown, **{**options, "soft_wrap": True})

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


def stdout(*, comments: bool = True) -> Results:
    """Return the console for results; ``comments`` as of `Results`."""
    return Results(comments=comments)


def tab_separated(table: Table) -> str:
    """Return a table as tab-separated values: its title as a comment, its headings, its rows.

    The headings are there for a list, too, which shows none on a terminal.
    """
    lines = [commented(_line(table.title))] if table.title else []
    rows = [[_heading(column.header) for column in table.columns], *_rows(table)]
    joined = ("\t".join(row) for row in rows)
    # A name may begin as a comment does.
    lines += [f" {line}" if line.startswith("#") else line for line in joined]
    return "\n".join(lines)


def commented(text: str) -> str:
    """Return a text whose lines are comments; empty lines and comments stay."""
    return "\n".join(
        line if not line or line.startswith("# ") else f"# {line}" for line in text.split("\n")
    )


def bullets(console: Console, items: Iterable[str]) -> None:
    """Print sentences, each behind a dash; on a terminal they wrap beside it."""
    for item in items:
        if console.is_terminal:
            points = Table.grid(padding=(0, 1))
            points.add_row("-", Text(item))
            Console.print(console, points)
        else:
            console.print(f"- {item}")


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
