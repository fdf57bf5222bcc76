"""The results of a sweep as Parquet tables, the parameters of each point beside its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from airqueue import lazy
from airqueue.figures import Summaries, Summary
from airqueue.simulate import tables
from airqueue.simulate.reported import KINDS, Run, summaries
from airqueue.simulate.tables import TABLES
from airqueue.sweep.points import Point
from airqueue.sweep.results import NAMES, Outcome
from airqueue.sweep.spec import Spec
from airqueue.sweep.values import quantity

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazy.Module("pyarrow")

_METADATA: Final = b"airqueue"


class Tables:
    """The tables, point by point: a row for each replication and name, or for each figure."""

    def __init__(self, spec: Spec, points: Sequence[Point]) -> None:
        found = columns([each.path for each in spec.parameters], points)
        self._columns = {head: (cells, pa.array(cells).type) for head, cells in found.items()}
        self._has_rule = bool(spec.rule.widths)
        self._parts: dict[str, list[Any]] = {name: [] for name in NAMES}

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
        rows = list(_summary_rows(summary, len(outcome.replications)))
        found = {head: [row[head] for row in rows] for head in _SUMMARY_TYPES}
        self._add("summary", number, found, len(rows))

    def files(self, origin: str) -> Iterator[tuple[str, bytes]]:
        """Yield the tables as Parquet files, ``origin`` in their metadata."""
        for name, parts in self._parts.items():
            # Only points with a call have the columns of calls.
            whole = pa.concat_tables(parts, promote_options="permissive")
            whole = whole.replace_schema_metadata({_METADATA: origin.encode()})
            yield name, tables.parquet(whole)

    def _add(self, name: str, point: int, found: Mapping[str, Any], rows: int) -> None:
        before: dict[str, Any] = {"point": pa.array([point] * rows, pa.int64())}
        for head, (cells, of_type) in self._columns.items():
            before[head] = pa.array([cells[point]] * rows, of_type)
        types = {"summary": _SUMMARY_TYPES, "points": _POINT_TYPES}.get(name)
        if types is None:
            table = tables.arrow(found)
        else:
            arrays = {head: pa.array(found[head], getattr(pa, of)()) for head, of in types.items()}
            table = pa.table(arrays)
        # A parameter may be what a figure says, too: the medium has its duration.
        own = {head: table[head] for head in table.column_names if head not in before}
        self._parts[name].append(pa.table({**before, **own}))


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


def _summary_rows(found: Summaries, replications: int) -> Iterator[dict[str, Any]]:
    every: list[tuple[str, str | None, Mapping[str, Summary]]] = [
        (kind, name, summaries(figures)) for kind in KINDS for name, figures in found[kind].items()
    ]
    every.append(("medium", None, summaries(found["medium"])))
    for kind, name, figures in every:
        for figure, of in figures.items():
            low, high = of["ci95"] or (None, None)
            yield {
                "kind": kind,
                "name": name,
                "figure": figure,
                "mean": of["mean"],
                "ci95_low": low,
                "ci95_high": high,
                "n": 0 if of["mean"] is None else of.get("n", replications),
            }


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
