"""Shared by all commands, and quick to import: ``--json``, ``--report``, and results on stdout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import click

from airqueue.cli.console import Console
from airqueue.cli.table import Table, is_prose, wrap
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
_ROOM: Final = 20
"""Places that prose has in a line at least, however narrow the terminal."""
_BROKEN_NAME: Final = re.compile(r"(?<=[_.])\n")


class Results(Console):
    """Results on stdout, or on stderr where stdout is a program's.

    On a terminal a table stands in its lines, and a table that is too wide has a line for each value,
    so that no value breaks. Elsewhere tables are tab-separated values: a line of headings and a line
    for each row, behind a comment with the title if there is one. An empty line is before a table
    and between the table and what follows.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr)
        self._last = ""
        """What was printed last elsewhere than on a terminal: text, a table or an empty line."""

    def print(self, *objects: str | Table, style: str = "", soft_wrap: bool = False) -> None:
        """Print texts and tables; only a terminal has a width at which texts wrap."""
        for each in objects or ("",):
            if not self.is_terminal:
                self._plain(each)
            elif not isinstance(each, Table) or each.fits(self.width):
                super().print(each, style=style, soft_wrap=soft_wrap)
            else:
                self._values(each)

    def _plain(self, each: str | Table) -> None:
        table = isinstance(each, Table)
        if (table and self._last == "text") or (self._last == "table" and each != ""):
            self.write([""])
        self.write([tab_separated(each) if isinstance(each, Table) else each])
        self._last = "table" if table else "text" if each else "empty"

    def _values(self, table: Table) -> None:
        """Print a line for each value."""
        if table.title:
            super().print(table.title, style="bold")
        heads = [_heading(column.heading) for column in table.columns]
        most = max(map(len, heads), default=0)
        for row in table.rows:
            super().print()
            for head, cell in zip(heads, map(_line, row), strict=True):
                room = max(self.width - most - 2, _ROOM)
                first, *rest = wrap(cell, room) if is_prose(cell) else [cell]
                below = (" " * (most + 2) + line for line in rest)
                self.write([f"{head:<{most}}  {first}", *below])


def stdout() -> Results:
    """Return the console for results."""
    return Results()


def tab_separated(table: Table) -> str:
    """Return a table as tab-separated values: its title as a comment, its headings, its rows."""
    lines = [f"# {_line(table.title)}"] if table.title else []
    if table.show_header:
        lines.append("\t".join(_heading(column.heading) for column in table.columns))
    lines += ["\t".join(map(_line, row)) for row in table.rows]
    return "\n".join(lines)


def bullets(console: Console, items: Iterable[str]) -> None:
    """Print sentences, each behind a dash; on a terminal they wrap beside it."""
    for item in items:
        if console.is_terminal:
            first, *rest = wrap(item, console.width - 2)
            console.write([f"- {first}", *(f"  {line}" for line in rest)])
        else:
            console.print(f"- {item}", soft_wrap=True)


def write_json(path: str, text: str) -> None:
    """Write JSON to a file, ``-``: to stdout. Raises OSError."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)


def _heading(text: str) -> str:
    """Return a heading on one line. A name that goes on in the next line is whole again."""
    return _line(_BROKEN_NAME.sub("", text))


def _line(text: str) -> str:
    """Return a text on one line without tabs."""
    return " ".join(text.split())
