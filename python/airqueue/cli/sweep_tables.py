"""Tables of `airqueue sweep`: a row of figures for each point, and the points left open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from airqueue import text
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.files import named
from airqueue.simulate.shown import figure_column
from airqueue.sweep import Sweep, SweepError, SweepResults
from airqueue.sweep.figures import Pattern
from airqueue.sweep.points import Point

_USUAL: Final = (
    "flows.*.throughput_bps",
    "flows.*.loss_ratio",
    "flows.*.delay_mean_s",
)
"""Figures of the table where neither the file nor the command names any."""
_MOST_ROWS: Final = 100
_MOST_WIDE: Final = 5
"""Points that are named for their wide intervals."""
_LONGEST: Final = 40


def usual(sweep: Sweep) -> tuple[Pattern, ...]:
    """Return the figures whose intervals a sweep waits for; without any, the most usual figures."""
    named = sweep.spec.rule.patterns or [Pattern.read(each) for each in _USUAL]
    found = []
    for pattern in dict.fromkeys(named):
        try:
            sweep.check_figures([pattern], "")
        except SweepError:
            continue  # a network without flows
        found.append(pattern)
    return tuple(found)


def show_points(console: Console, path: str, sweep: Sweep) -> None:
    """Print the points of a sweep without simulating them."""
    rule = sweep.spec.rule
    each = text.plural(rule.most, "replication")
    if rule.widths:
        each = f"{rule.least:,} to {each}"
    count = text.plural(len(sweep.points), "point")
    console.print(f"{named(path)}: {count}, {each} each, seed {sweep.spec.seed}", style="bold")
    table = _started(sweep.parameters, sweep.points)
    longest = _longest(console)
    for point in sweep.points:
        table.add_row(*_cells(point, longest))
    console.print()
    console.print(table)


def show(console: Console, path: str, results: SweepResults, patterns: Sequence[Pattern]) -> None:
    """Print the table of a sweep, and the paths of its files."""
    console.print(_headline(path, results), style="bold")
    outcomes = results.outcomes[:_MOST_ROWS]
    points = [outcome.point for outcome in outcomes]
    table = _started([each.path for each in results.spec.parameters], points)
    table.add_column("runs", justify="right", no_wrap=True)
    columns = [[f"{len(outcome.replications):,}" for outcome in outcomes]]
    for pattern in patterns:
        heading, cells = figure_column(pattern.figure, results.over(pattern)[: len(outcomes)])
        table.add_column(f"{pattern.of_what}\n{heading}", justify="right", no_wrap=True)
        columns.append(cells)
    longest = _longest(console)
    for point, *cells in zip(points, *columns, strict=True):
        table.add_row(*_cells(point, longest), *cells)
    console.print()
    console.print(table)
    console.print()
    if len(outcomes) < len(results.outcomes):
        console.print(f"{len(results.outcomes) - len(outcomes):,} more points are in the tables.")
    for words in results.warnings:
        console.print(f"Warning: {words}.")
    for words in (*_wide(results), _explained(patterns, results)):
        console.print(words)


def _headline(path: str, results: SweepResults) -> str:
    points = text.plural(len(results.outcomes), "point")
    if not results.complete:
        points = f"{sum(each.complete for each in results.outcomes):,} of {points}"
    runs = text.plural(results.replications, "run")
    return f"{named(path)}: {points}, {runs}, seed {results.spec.seed}"


def _started(paths: Sequence[str], points: Sequence[Point]) -> Table:
    """Return a table with the columns of parameters; numbers stand at the right."""
    table = Table()
    table.add_column("point", justify="right", no_wrap=True)
    for path in paths:
        numbers = all(isinstance(point.values[path], int | float) for point in points)
        heading = path.replace(".", ".\n")
        # Without enough room these columns wrap, not the numbers.
        table.add_column(heading, justify="right" if numbers else "left")
    return table


def _longest(console: Console) -> int | None:
    """Return how long values of parameters may be: they have to fit only a terminal."""
    return _LONGEST if console.is_terminal else None


def _cells(point: Point, longest: int | None) -> list[str]:
    return [str(point.number), *(_written(value, longest) for value in point.values.values())]


def _written(value: Any, longest: int | None) -> str:
    words = str(value).lower() if isinstance(value, bool) else str(value)
    return words if longest is None or len(words) <= longest else f"{words[: longest - 3]}..."


def _wide(results: SweepResults) -> list[str]:
    """Return notes on the points whose intervals stayed too wide."""
    wide = [each for each in results.outcomes if each.complete and each.wide]
    if not wide:
        return []
    named = [
        f"  {outcome.point}: {', '.join('.'.join(filter(None, each)) for each in outcome.wide)}"
        for outcome in wide[:_MOST_WIDE]
    ]
    more = [f"  and {len(wide) - _MOST_WIDE:,} more points"] if len(wide) > _MOST_WIDE else []
    most = text.plural(results.spec.rule.most, "replication")
    return [f"With {most}, intervals are still wider than asked for:", *named, *more]


def _explained(patterns: Sequence[Pattern], results: SweepResults) -> str:
    several = "Of several names the mean is shown. " if any(p.is_open for p in patterns) else ""
    half = "± is half the 95 % confidence interval of the mean. " if patterns else ""
    return f"{several}{half}{results.path} has all tables, docs/sweep.md what is in them."
