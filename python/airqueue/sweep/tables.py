"""The results of a sweep as Parquet tables, the parameters of each point beside its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from airqueue import lazy
from airqueue.simulate import tables
from airqueue.simulate.reported import KINDS, summaries
from airqueue.simulate.tables import TABLES
from airqueue.sweep.points import Point
from airqueue.sweep.results import NAMES, Outcome
from airqueue.sweep.spec import Spec
from airqueue.sweep.values import quantity

if TYPE_CHECKING:
    import pyarrow as pa

    from airqueue.figures import Summaries, Summary
    from airqueue.simulate.report_types import Run
else:
    pa = lazy.Module("pyarrow")

_METADATA: Final = b"airqueue"


class Tables:
    """The tables, point by point: a row for each replication and name, or for each figure."""

    def __init__(self, spec: Spec, points: Sequence[Point]) -> None:
        found = columns([each.path for each in spec.parameters], points)
        self._columns = {head: (cells, _type_of(cells)) for head, cells in found.items()}
        self._has_rule = bool(spec.rule.widths)
        self._parts: dict[str, list[Any]] = {name: [] for name in NAMES}
        self._rows = {name: _Rows() for name in NAMES}

    def add(self, outcome: Outcome, runs: Mapping[int, Run], summary: Summaries) -> None:
        """Add a point."""
        number = outcome.point.number
        # Without ``until`` there is no target for intervals.
        narrow = not outcome.wide if self._has_rule and outcome.complete else None
        about = {"replications": [len(outcome.replications)], "narrow": [narrow]}
        self._add("points", number, about, 1)
        for name in TABLES:
            found = tables.columns(name, runs)
            self._add(name, number, found, len(found["replication"]))
        found = _summary_columns(summary, len(outcome.replications))
        self._add("summary", number, found, len(found["figure"]))

    def files(self, origin: str) -> Iterator[tuple[str, bytes]]:
        """Yield the tables as Parquet files, ``origin`` in their metadata."""
        for name, parts in self._parts.items():
            if self._rows[name].points or not parts:
                self._convert(name)
            # Only points with a call have the columns of calls.
            whole = pa.concat_tables(parts, promote_options="permissive")
            whole = whole.replace_schema_metadata({_METADATA: origin.encode()})
            yield name, tables.parquet(whole)

    def _add(self, name: str, point: int, found: Mapping[str, Any], rows: int) -> None:
        """Add rows: many at a time become a table of Arrow, each of which has its cost."""
        gathered = self._rows[name]
        if gathered.points and (
            (rows and list(found) != list(gathered.found)) or len(gathered.points) > _MOST_ROWS
        ):
            self._convert(name)
        self._rows[name].add(point, found, rows)

    def _convert(self, name: str) -> None:
        found, points = self._rows[name].found, self._rows[name].points
        self._rows[name] = _Rows()
        before: dict[str, Any] = {"point": tables.column(points, pa.int64())}
        for head, (cells, of_type) in self._columns.items():
            before[head] = tables.column([cells[point] for point in points], of_type)
        types = {"summary": _SUMMARY_TYPES, "points": _POINT_TYPES}.get(name)
        if types is None:
            table = tables.arrow(found)
        else:
            table = pa.table(
                {head: tables.column(found[head], getattr(pa, of)()) for head, of in types.items()}
            )
        # A parameter may be what a figure says, too: the medium has its duration.
        own = {head: table[head] for head in table.column_names if head not in before}
        self._parts[name].append(pa.table({**before, **own}))


class _Rows:
    """Rows of a table, with the same columns, on their way to Arrow."""

    def __init__(self) -> None:
        self.found: Mapping[str, Any] = {}
        self.points: list[int] = []
        """The point of each row."""

    def add(self, point: int, found: Mapping[str, Any], rows: int) -> None:
        """Add the rows of a point."""
        if not self.points:
            # Without rows they are columns of the right types.
            self.found = found
        elif rows:
            for head, values in self.found.items():
                values.extend(found[head])
        self.points.extend([point] * rows)


def _type_of(cells: Sequence[Any]) -> Any:
    """Return the type of a parameter's column."""
    kinds = {type(cell) for cell in cells}
    if kinds <= {int, float}:
        return pa.int64() if kinds == {int} else pa.float64()
    return pa.bool_() if kinds == {bool} else pa.string()


_MOST_ROWS: Final = 10_000
"""Rows of a table that are gathered: as lists they take several times the memory of columns."""
_POINT_TYPES: Final = {"replications": "int64", "narrow": "bool_"}
_SUMMARY_TYPES: Final = {
    "kind": "string",
    "name": "string",
    "figure": "string",
    "mean": "float64",
    "ci95_low": "float64",
    "ci95_high": "float64",
    "n": "int64",
}


def _summary_columns(found: Summaries, replications: int) -> dict[str, list[Any]]:
    """Return a row for each figure, as columns."""
    every: list[tuple[str, str | None, Mapping[str, Summary]]] = [
        (kind, name, summaries(figures)) for kind in KINDS for name, figures in found[kind].items()
    ]
    every.append(("medium", None, summaries(found["medium"])))
    made: dict[str, list[Any]] = {head: [] for head in _SUMMARY_TYPES}
    for kind, name, figures in every:
        made["kind"] += [kind] * len(figures)
        made["name"] += [name] * len(figures)
        made["figure"] += figures
        for of in figures.values():
            mean = of["mean"]
            low, high = of["ci95"] or (None, None)
            made["mean"].append(mean)
            made["ci95_low"].append(low)
            made["ci95_high"].append(high)
            made["n"].append(0 if mean is None else of.get("n", replications))
    return made


def columns(paths: Sequence[str], points: Sequence[Point]) -> dict[str, list[Any]]:
    """Return the columns of parameters: by name a value for each point.

    If all values are quantities of one kind, the column has numbers in the base unit, and the unit is
    in the column's name, as in ``flows.up.rate_bps``. Numbers and truth values stay unchanged;
    other values become text, tables and lists JSON.
    """
    found: dict[str, list[Any]] = {}
    for path in paths:
        head, cells = column(path, [point.values[path] for point in points])
        found[head] = cells
    return found


def column(path: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the name and the cells of a parameter's column."""
    quantities = [quantity(value) for value in values]
    units = {each[1] for each in quantities if each is not None}
    if None not in quantities and len(units) == 1:
        unit = units.pop()
        numbers = [each[0] for each in quantities if each is not None]
        whole = all(isinstance(number, int) for number in numbers)
        return f"{path}_{unit}" if unit else path, numbers if whole else [*map(float, numbers)]
    if all(isinstance(value, bool) for value in values):
        return path, list(values)
    return path, [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in values
    ]
