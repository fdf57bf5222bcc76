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
    so that no value breaks. Elsewhere tables are tab-separated values: a line of headings, then one
    line for each row, and an empty line before the next table. Texts beside tables are comments
    there, so that programs find nothing but tables. ``comments`` is false where texts are not
    beside tables, as on stderr.
    """

    def __init__(self, *, stderr: bool = False, comments: bool = True) -> None:
        super().__init__(stderr=stderr)
        self._comments = comments and not stderr
        self._in_table = False

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
        """Print a text or a table where there is no terminal, and so no width."""
        if isinstance(each, Table):
            self.write([*[""] * self._in_table, tab_separated(each)])
            self._in_table = True
            return
        self._in_table = self._in_table and "" not in each.split("\n")
        self.write([commented(each) if self._comments else each])

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


def stdout(*, comments: bool = True) -> Results:
    """Return the console for results; ``comments`` as of `Results`."""
    return Results(comments=comments)


def tab_separated(table: Table) -> str:
    """Return a table as tab-separated values: its title as a comment, its headings, its rows.

    The headings are there for a list, too, which shows none on a terminal.
    """
    lines = [commented(_line(table.title))] if table.title else []
    rows = [[_heading(column.heading) for column in table.columns], *table.rows]
    joined = ("\t".join(map(_line, row)) for row in rows)
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
            first, *rest = wrap(item, console.width - 2)
            console.write([f"- {first}", *(f"  {line}" for line in rest)])
        else:
            console.print(f"- {item}")


def write_named(path: str, text: str) -> None:
    """Write a text to the file that the user named, ``-``: to stdout. Raises OSError."""
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
