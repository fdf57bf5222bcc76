"""Tables of `airqueue simulate`: flows, stations, queues and the medium."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.files import named
from airqueue.simulate import Results
from airqueue.simulate.cautions import limit_words
from airqueue.simulate.reported import KINDS
from airqueue.simulate.reported import summaries as by_name
from airqueue.simulate.shown import LONG, SHOWN, figure_column, replications, scaled
from airqueue.simulate.tables import LIMITS
from airqueue.text import plural

if TYPE_CHECKING:
    from airqueue.figures import Kind, MediumSummary, Summary
    from airqueue.simulate.report_types import SetLimit

_MOST_ROWS: Final = 16
"""Rows of a table; of more names the least, the mean and the greatest of each figure is shown."""


def show(console: Console, path: str, results: Results) -> None:
    """Print the headline and the tables of a simulation."""
    summary = results.summary
    console.print(_headline(path, results), style="bold")
    for kind, noun in KINDS.items():
        if summary[kind] and kind != LONG:
            console.print()
            every = {name: by_name(of) for name, of in summary[kind].items()}
            console.print(_table(kind, noun, every))
    if results.queues_in_force:
        console.print()
        console.print(_in_force(results))
    if any(LIMITS in run for run in results.runs.values()):
        console.print()
        console.print(_limits(results))
    console.print()
    console.print(_medium(summary["medium"]))
    console.print()
    for words in results.warnings:
        console.print(f"Warning: {words}.")
    said = (
        "± is half the 95 % confidence interval of the mean."
        if len(results.runs) > 1
        else "One replication has no confidence interval."
    )
    console.print(f"{said} --json FILE has more figures, docs/reference/figures.md what they mean.")


def _headline(path: str, results: Results) -> str:
    return (
        f"{named(path)}: {replications(results)} of {results.duration_s:,g} s, seed {results.seed}"
    )


def _in_force(results: Results) -> Table:
    """Return the settings of each queue; of many queues, how many have each."""
    queues = results.queues_in_force
    table = Table("queue", "discipline", "holds at most")
    settings = {of["name"]: (of["discipline"], limit_words(of)) for of in queues}
    if len(settings) <= _MOST_ROWS:
        for name, of in settings.items():
            table.add_row(name, *of)
        return table
    for of, count in Counter(settings.values()).most_common(_MOST_ROWS):
        table.add_row(plural(count, "queue"), *of)
    return table


def _table(
    kind: Kind,
    noun: str,
    figures: Mapping[str, Mapping[str, Summary]],
) -> Table:
    """Return a row for each name, or three for many names."""
    every = {name: [of[name] for of in figures.values()] for name in SHOWN[kind]}
    # A figure without any value, as the time of transfers that do not end, needs no column.
    known = {n: c for n, c in every.items() if any(s["mean"] is not None for s in c)}
    columns = known or every
    many = len(figures) > _MOST_ROWS
    names: Iterable[str] = ("least", "mean", "greatest") if many else figures
    if many:
        columns = {name: _extremes(summaries) for name, summaries in columns.items()}
    table = Table(f"{len(figures):,} {kind}" if many else noun)
    cells = []
    for name, summaries in columns.items():
        heading, column = figure_column(name, summaries)
        table.add_column(heading, justify="right")
        cells.append(column)
    for name, *row in zip(names, *cells, strict=True):
        table.add_row(name, *row)
    return table


def _extremes(summaries: Sequence[Summary]) -> list[Summary]:
    """Return the least, the mean and the greatest of the means by name; these have no interval."""
    means = [s["mean"] for s in summaries if s["mean"] is not None]
    three = (min(means), math.fsum(means) / len(means), max(means)) if means else (None,) * 3
    return [{"mean": mean, "ci95": None} for mean in three]


def _limits(results: Results) -> Table:
    """Return a row for each time at which limits were set, of the first replication that has any."""
    number, run = next((each, run) for each, run in results.runs.items() if LIMITS in run)
    of_time: dict[float, list[SetLimit]] = {}
    for row in run[LIMITS]:
        of_time.setdefault(row["time_s"], []).append(row)
    table = Table("time\ns", "limits of queues\npackets", "because")
    table.title = f"replication {number}"
    times = list(of_time)
    for time_s in times[: _MOST_ROWS // 2]:
        table.add_row(*_limit_cells(time_s, of_time[time_s]))
    rest = times[_MOST_ROWS // 2 :]
    if len(rest) > _MOST_ROWS // 2:
        table.add_row("…", f"{len(rest) - _MOST_ROWS // 2:,} more times", "")
        rest = rest[-(_MOST_ROWS // 2) :]
    for time_s in rest:
        table.add_row(*_limit_cells(time_s, of_time[time_s]))
    return table


def _limit_cells(time_s: float, rows: Sequence[SetLimit]) -> tuple[str, str, str]:
    shown = [
        f"{row['station']}{'' if row['flow'] is None else ' ' + row['flow']} "
        f"{'released' if row['limit_packets'] is None else row['limit_packets']}"
        for row in rows[:_MOST_ROWS]
    ]
    if len(rows) > _MOST_ROWS:
        shown.append(f"and {len(rows) - _MOST_ROWS:,} more")
    return f"{time_s:,g}", ", ".join(shown), rows[0]["trigger"]


def _medium(figures: MediumSummary) -> Table:
    """Return a line for each figure of all stations together."""
    table = Table("all together")
    table.add_column("value", justify="right")
    for name in SHOWN["medium"]:
        words, unit, factor = scaled(name, [figures[name]["mean"]])
        _, cells = figure_column(name, [figures[name]])
        table.add_row(words, f"{cells[0]} {unit}".rstrip() if factor else cells[0])
    return table
