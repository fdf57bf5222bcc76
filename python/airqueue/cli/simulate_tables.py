"""Tables of `airqueue simulate`: flows, stations, queues and the medium."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict

from rich.console import Console
from rich.table import Table

from airqueue import text
from airqueue.figures import (
    CallFigure,
    ConnectionFigure,
    FlowFigure,
    Kind,
    MediumFigure,
    MediumSummary,
    QueueFigure,
    StationFigure,
    Summary,
)
from airqueue.files import named
from airqueue.simulate import Results
from airqueue.simulate.reported import KINDS, SetLimit
from airqueue.simulate.reported import summaries as by_name
from airqueue.simulate.tables import LIMITS


class _Shown(TypedDict):
    flows: tuple[FlowFigure, ...]
    connections: tuple[ConnectionFigure, ...]
    calls: tuple[CallFigure, ...]
    queues: tuple[QueueFigure, ...]
    stations: tuple[StationFigure, ...]
    medium: tuple[MediumFigure, ...]


SHOWN: Final[_Shown] = {
    "flows": ("throughput_bps", "loss_ratio", "delay_mean_s", "delay_p95_s"),
    "connections": (
        "goodput_bps",
        "rtt_mean_s",
        "retransmitted_ratio",
        "timeouts",
        "session_mean_s",
    ),
    "calls": ("mos", "r_factor", "mouth_to_ear_s", "late_ratio"),
    "queues": (
        "length_mean_packets",
        "length_max_packets",
        "sojourn_mean_s",
        "offered_packets",
        "dropped_packets",
    ),
    "stations": ("attempts", "collided_ratio", "airtime_ratio", "busy_ratio"),
    "medium": (
        "throughput_bps",
        "throughput_jain_index",
        "collided_ratio",
        "data_airtime_ratio",
        "lost_data_airtime_ratio",
        "control_airtime_ratio",
    ),
}
"""The figures in the tables; JSON and CSV have all."""

_MOST_ROWS: Final = 16
"""Rows of a table; of more names the least, the mean and the greatest of each figure is shown."""
_DIGITS: Final = 4
_DIGITS_OF_INTERVALS: Final = 2
"""Significant digits of a mean and of half its interval, at most."""


def show(console: Console, path: str, results: Results) -> None:
    """Print the headline and the tables of a simulation."""
    summary = results.summary
    console.print(_headline(path, results), style="bold")
    for kind, noun in KINDS.items():
        if summary[kind]:
            console.print()
            every = {name: by_name(of) for name, of in summary[kind].items()}
            console.print(_table(kind, noun, every))
    if any(LIMITS in run for run in results.runs.values()):
        console.print()
        console.print(_limits(results))
    console.print()
    console.print(_medium(summary["medium"]))
    console.print()
    said = (
        "± is half the 95 % confidence interval of the mean."
        if len(results.runs) > 1
        else "One replication has no confidence interval."
    )
    console.print(f"{said} --json FILE has more figures, docs/simulate.md what they mean.")


def _headline(path: str, results: Results) -> str:
    count = text.plural(len(results.runs), "replication")
    if not results.complete:
        count = f"{len(results.runs):,} of {text.plural(results.replications, 'replication')}"
    return f"{named(path)}: {count} of {results.duration_s:,g} s, seed {results.seed}"


def _table(kind: Kind, noun: str, figures: Mapping[str, Mapping[str, Summary]]) -> Table:
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


def figure_column(name: str, summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Return heading and cells of a figure, all cells in one unit."""
    words, unit, factor = _scaled(name, [s["mean"] for s in summaries])
    heading = words.replace(" ", "\n", 1) + (f"\n{unit}" if unit else "")
    return heading, [_cell(summary, factor) for summary in summaries]


def _cell(summary: Summary, factor: float) -> str:
    """Return a mean and half its interval, with as many digits as the interval leaves certain."""
    if summary["mean"] is None:
        return "–"
    mean = summary["mean"] / factor
    places = 0 if mean == math.floor(mean) else _DIGITS - _digits(mean)
    if summary["ci95"] is None:
        return f"{mean:,.{max(places, 0)}f}"
    low, high = summary["ci95"]
    half = (high - low) / 2 / factor
    if half == 0:
        return f"{mean:,.{max(places, 0)}f} ± 0"
    places = min(places, _DIGITS_OF_INTERVALS - _digits(half))
    return f"{mean:,.{max(places, 0)}f} ± {half:,.{max(places, 0)}f}"


def _digits(value: float) -> int:
    """Return the number of digits before the decimal point; zero or less for 0.5 and 0.05."""
    return math.floor(math.log10(abs(value))) + 1


def _scaled(name: str, values: Sequence[float | None]) -> tuple[str, str, float]:
    """Return a figure's words, its unit on the screen and what to divide by."""
    if name.endswith("_ratio"):
        return name.removesuffix("_ratio").replace("_", " "), "%", 0.01
    words, unit = text.words_and_unit(name)
    factor, unit = text.scale(unit, values)
    return words, unit, factor


def _limits(results: Results) -> Table:
    """Return a row for each time at which limits were set, of the first replication that has any."""
    number, run = next((each, run) for each, run in results.runs.items() if LIMITS in run)
    of_time: dict[float, list[SetLimit]] = {}
    for row in run[LIMITS]:
        of_time.setdefault(row["time_s"], []).append(row)
    table = Table("time\ns", "limits of queues\npackets", "because", title_justify="left")
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
    table.add_column("", justify="right")
    for name in SHOWN["medium"]:
        words, unit, factor = _scaled(name, [figures[name]["mean"]])
        _, cells = figure_column(name, [figures[name]])
        table.add_row(words, f"{cells[0]} {unit}".rstrip() if factor else cells[0])
    return table
