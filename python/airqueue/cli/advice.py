"""An advice on the screen and in JSON: the same content."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import wrap

import click

from airqueue.cli.common import bullets, stdout, write_named
from airqueue.cli.console import Console
from airqueue.cli.table import Table as TextTable
from airqueue.cli.talk import note, talk
from airqueue.cli.written import all_written
from airqueue.measure.schema import to_text
from airqueue.sizing.advice import Advice, Settings, Table, Value, said, with_unit


def emit(advice: Advice, json_path: str | None, *, alone: bool = False) -> None:
    """Write the JSON if there is a path, and show the advice; ``-`` shows JSON instead.

    ``alone``: what is read by a program, or with ``-q``, has the settings and nothing else.
    """
    with all_written() as write:
        if json_path is not None:
            write(write_named, json_path, to_text(advice.to_json()))
        if json_path == "-":
            return
        if alone and advice.settings and (talk.quiet or not stdout().is_terminal):
            note(advice.headline)
            write(_show_settings, advice)
        else:
            write(_show, advice)


def _show(advice: Advice) -> None:
    console = stdout()
    console.print(advice.headline, style="bold")
    console.print()
    console.print(_figures(advice))
    for table in advice.tables:
        console.print()
        console.print(_grid(table))
    _list(
        "Other answers:", [f"{other.name}: {other.why}" for other in advice.alternatives], console
    )
    _list("Mind:", list(advice.cautions), console)
    _show_settings(advice)


def _show_settings(advice: Advice) -> None:
    console, known = stdout(), set[str]()
    for settings in advice.settings:
        # A heading alone says nothing.
        if settings.lines or not known >= set(settings.notes):
            show_settings(settings, console, known)
        known |= set(settings.notes)


def _figures(advice: Advice) -> TextTable:
    table = TextTable()
    table.add_column("what")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("why")
    for figure in advice.figures:
        table.add_row(figure.label, with_unit(figure.name, figure.value), figure.reason)
    return table


def _grid(table: Table) -> TextTable:
    grid = TextTable(title=table.title)
    for index, column in enumerate(table.columns):
        values = [row[index] for row in table.rows]
        grid.add_column(
            column.label,
            justify="right" if _numeric(values) else "left",
        )
    for row in table.rows:
        cells = zip(table.columns, row, strict=True)
        grid.add_row(*(said(column.name, value) for column, value in cells))
    return grid


def _numeric(values: list[Value]) -> bool:
    return all(not isinstance(value, str) for value in values)


def _list(heading: str, items: list[str], console: Console) -> None:
    if not items:
        return
    console.print()
    console.print(heading)
    bullets(console, items)


def show_settings(settings: Settings, console: Console, known: Collection[str]) -> None:
    """Show settings without the notes that were shown before."""
    console.print()
    console.print(f"# {settings.target}: {settings.place}", style="bold")
    for line in settings.lines:
        # Users copy these lines: do not wrap them, whatever the width of the terminal.
        click.echo(line)
    for each in (each for each in settings.notes if each not in known):
        for line in wrap(each, console.width - 2):
            click.echo(f"# {line}")
