"""Tables of `airqueue model`: the list of models, one point, the rows of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airqueue import text
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.models import sweep
from airqueue.models.arguments import Request, written
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.sweep import is_number

_HEADING_WIDTH = 12
"""Names of columns are broken at underscores into lines of about this width."""

_MOST_ROWS = 2000
"""Rows that are printed; of more, as many from both ends, and it is said."""


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    cells: tuple[str, ...]
    justify: Any = "right"

    @property
    def width(self) -> int:
        """Width in characters, with padding and the line beside the column."""
        return max(len(line) for line in (*self.heading.split("\n"), *self.cells)) + 3


def explained(parameter: Parameter) -> str:
    """Return the description of a parameter, with its unit, choices and default."""
    # Users type a quantity with a unit, whatever unit the model computes in.
    word = parameter.kind.value.partition(" in ")[0]
    kind = "" if parameter.kind in (Kind.NUMBER, Kind.CHOICE) else f"{word}, "
    if parameter.kind is Kind.CHOICE:
        kind = f"one of {', '.join(parameter.choices)}; "
    default = "required" if parameter.required else f"default {written_of(parameter)}"
    return f"{parameter.help} [{kind}{default}]"


def written_of(parameter: Parameter) -> str:
    """Return the default of a parameter as a user would type it."""
    return written(parameter.kind, parameter.default)


def show_list(console: Console, models: Sequence[Model]) -> None:
    """Print a sentence for each model."""
    table = Table(boxed=False, show_header=False)
    table.add_column("model", no_wrap=True, style="bold")
    table.add_column("about")
    for model in models:
        table.add_row(model.name, model.summary)
    console.print(table)
    console.print()
    console.print("Parameters, outputs and an example: airqueue model NAME --help")


def show(
    console: Console, request: Request, outputs: Sequence[Output], rows: Sequence[sweep.Row]
) -> None:
    """Print the figures: a line for each output of one point, or a row for each of several."""
    console.print(request.model.summary, style="bold")
    if request.given:
        console.print(f"With {request.given}")
    console.print()
    if len(rows) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        _rows(console, request, outputs, [*rows[:half], *rows[-half:]])
        console.print(
            f"\nThese are the first {half:,} and the last {half:,} of {len(rows):,} rows; "
            "--csv FILE and --json FILE write all."
        )
    elif request.sweeps:
        _rows(console, request, outputs, rows)
    else:
        _point(console, outputs, rows[0])


def _point(console: Console, outputs: Sequence[Output], row: sweep.Row) -> None:
    table = Table("output")
    table.add_column("value", justify="right")
    table.add_column("what it is")
    for output in outputs:
        table.add_row(output.name, _figure(row[output.name]), output.help)
    console.print(table)


def _rows(
    console: Console, request: Request, outputs: Sequence[Output], rows: Sequence[sweep.Row]
) -> None:
    swept = [s.parameter for s in request.sweeps]
    keys = [
        _Column(_heading(p.name), tuple(written(p.kind, row[p.name]) for row in rows))
        for p in swept
    ]
    columns = [_Column(_heading(o.name), _figures([row[o.name] for row in rows])) for o in outputs]
    for block in _blocks(keys, columns, console.width if console.is_terminal else 10**6):
        table = Table()
        for column in (*keys, *block):
            table.add_column(column.heading, justify=column.justify)
        for cells in zip(*(column.cells for column in (*keys, *block)), strict=True):
            table.add_row(*cells)
        console.print(table)
    helps = Table(boxed=False, show_header=False)
    helps.add_column("column", no_wrap=True)
    helps.add_column("what it is")
    described: Mapping[str, str] = sweep.result(request, outputs, ())["columns"]
    for name, words in described.items():
        helps.add_row(name, words)
    console.print(helps)


def _blocks(
    keys: Sequence[_Column], columns: Sequence[_Column], width: int
) -> Iterator[list[_Column]]:
    """Yield the columns of tables that fit beside the keys; wide ones alone, to be folded."""
    room = width - 1 - sum(column.width for column in keys)
    block: list[_Column] = []
    for column in columns:
        if block and sum(c.width for c in (*block, column)) > room:
            yield block
            block = []
        block.append(column)
    yield block


def _heading(name: str) -> str:
    """Return a name in lines of a narrow column."""
    lines = [""]
    for part in name.split("_"):
        if lines[-1] and len(lines[-1]) + len(part) > _HEADING_WIDTH:
            lines.append("")
        lines[-1] += f"{part}_"
    return "\n".join(lines).removesuffix("_")


def _figures(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the cells of a column: numbers with common decimals, anything else by itself."""
    numbers = [value for value in values if is_number(value)]
    shown = iter(text.significant(numbers))
    return tuple(next(shown) if is_number(value) else _figure(value) for value in values)


def _figure(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(_figures(value))
    return text.significant([value])[0] if is_number(value) else str(value)
