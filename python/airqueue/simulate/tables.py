"""Replications as tables, and back: a row for each replication and name, as columns and Parquet."""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args, get_type_hints

from airqueue import lazy, text
from airqueue.simulate.errors import ResultsError
from airqueue.simulate.reported import KINDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.parquet as pq

    from airqueue.figures import Kind
    from airqueue.records import SeriesDict
    from airqueue.simulate.report_types import Run

    Floats = npt.NDArray[np.float64]
    Table = Kind | Literal["limits", "medium"]
    """A table of results."""
    OverTime = Literal["flows", "queues"]
    """Kinds with time series."""
else:
    np = lazy.Module("numpy")
    pa, pq = lazy.Module("pyarrow"), lazy.Module("pyarrow.parquet")

LIMITS: Final[Literal["limits"]] = "limits"
"""The limits of queues that were set while a replication ran, with time and reason: a row each."""
TABLES: Final[tuple[Table, ...]] = (*KINDS, LIMITS, "medium")
SERIES: Final[Mapping[str, OverTime]] = {"flow_series": "flows", "queue_series": "queues"}
"""Name of a table of time series -> what they are of."""

_WORDS: Final = ("trigger", "reason")
"""Columns of text, besides the columns of names."""
_COUNTS: Final = ("replication", "limit_packets")
"""Columns of whole numbers, even if values are missing in some rows."""

Row = dict[str, Any]
"""Values by the names of columns."""
Columns = Mapping[str, Any]
"""Lists or arrays of equal length."""


def rows(kind: Table, runs: Mapping[int, Run]) -> Iterator[Row]:
    """Yield the rows of a kind, by replication and then in the scenario's order."""
    for replication, run in sorted(runs.items()):
        if kind == LIMITS:
            yield from ({"replication": replication, **row} for row in run.get(LIMITS, ()))
            continue
        if kind == "medium":
            whole = {"replication": replication, "duration_s": run["duration_s"]}
            yield {**whole, **run["medium"]}
            continue
        for name, figures in run[kind].items():
            yield {"replication": replication, KINDS[kind]: name, **figures}


def checked(kind: Table) -> Table:
    """Return the kind. Raises ResultsError that lists the kinds for another."""
    if kind not in TABLES:
        raise ResultsError(f"there are no figures {kind!r}; there are {', '.join(TABLES)}")
    return kind


def dataset(kind: Table, runs: Mapping[int, Run]) -> Any:
    """Return the figures of a kind over replications and names, as a data set of xarray."""
    if kind == LIMITS:
        raise ResultsError(f"{LIMITS}: has no names; to_pandas and to_arrow return it")
    noun = noun_of(kind)
    table = columns(kind, runs)
    coordinates: dict[str, Any] = {"replication": sorted(runs)}
    if noun is not None:
        coordinates[noun] = list(dict.fromkeys(table[noun]))
    shape = [len(of) for of in coordinates.values()]
    variables = {}
    for head, values in table.items():
        if head in coordinates:
            continue
        # Rows are by replication, and then in the scenario's order, the same in all replications.
        array = np.asarray(values, dtype=np.float64).reshape(shape)
        variables[head] = (tuple(coordinates), array, {"units": text.words_and_unit(head)[1]})
    return lazy.required("xarray").Dataset(variables, coordinates)


def noun_of(kind: Table) -> str | None:
    """Return the name of a table's column of names; None for a table without names."""
    return None if kind in {LIMITS, "medium"} else KINDS[cast("Kind", kind)]


def columns(kind: Table, runs: Mapping[int, Run]) -> dict[str, Any]:
    """Return the rows of a kind as columns, NaN where a figure is missing.

    The columns do not depend on the scenario: without rows they are there, too.
    """
    every = list(rows(kind, runs))
    if not every:
        return _no_rows(kind)
    return {
        head: [math.nan if row[head] is None else row[head] for row in every] for head in every[0]
    }


def _no_rows(kind: Table) -> dict[str, Any]:
    """Return the columns of a table without rows, of the types that they have with rows."""
    return {head: np.empty(0, dtype=of) for head, of in _types_of(kind).items()}


@functools.cache
def _types_of(kind: Table) -> Mapping[str, type]:
    """Return the types of a table's columns: hints are read once, which takes a millisecond."""
    from airqueue.figures import Figures  # noqa: PLC0415 - types that most commands do not need
    from airqueue.simulate.report_types import SetLimit  # noqa: PLC0415

    noun = noun_of(kind)
    heads: dict[str, object] = {"replication": int}
    if noun is not None:
        heads[noun] = str
    if kind == "medium":
        heads["duration_s"] = float
    if kind == LIMITS:
        heads |= get_type_hints(SetLimit)
    else:
        of = get_type_hints(Figures)[kind]
        heads |= get_type_hints(of if kind == "medium" else get_args(of)[1])
    return {head: _dtype(head, hint) for head, hint in heads.items()}


def _dtype(head: str, hint: object) -> type:
    if hint is str or str in get_args(hint):
        return object
    return np.int64 if hint is int or head in _COUNTS else np.float64


def runs_of(tables: Mapping[Table, Iterable[Row]]) -> dict[int, Run]:
    """Return the replications that the medium's table has, from the rows of all."""
    runs: dict[int, dict[str, Any]] = {}
    for row in tables["medium"]:
        figures = dict(row)
        replication, duration_s = figures.pop("replication"), figures.pop("duration_s")
        named: dict[str, Any] = {kind: {} for kind in KINDS}
        runs[replication] = {"duration_s": duration_s, **named, "medium": figures}
    for row in tables[LIMITS]:
        figures = dict(row)
        replication = figures.pop("replication")
        if replication in runs:
            runs[replication].setdefault(LIMITS, []).append(figures)
    for kind, noun in KINDS.items():
        for row in tables[kind]:
            figures = dict(row)
            replication, name = figures.pop("replication"), figures.pop(noun)
            if replication in runs:
                runs[replication][kind][name] = figures
    return cast("dict[int, Run]", runs)


def series_columns(series: SeriesDict, kind: OverTime) -> dict[str, Any]:
    """Return time series as columns: a row for each name and interval."""
    of_kind = cast("Mapping[str, Mapping[str, Floats]]", series[kind])
    if not of_kind:
        return {"time_s": np.empty(0), KINDS[kind]: []}
    first = next(iter(of_kind.values()))
    return {
        "time_s": np.tile(series["time_s"], len(of_kind)),
        KINDS[kind]: np.repeat(np.array(list(of_kind), dtype=object), len(series["time_s"])),
        **{head: np.concatenate([of[head] for of in of_kind.values()]) for head in first},
    }


def series_of(tables: Mapping[str, Iterable[Row]]) -> SeriesDict:
    """Return the time series from the rows of both tables."""
    found: dict[str, Any] = {"time_s": np.empty(0), "flows": {}, "queues": {}}
    for table, kind in SERIES.items():
        by_name: dict[str, dict[str, list[float]]] = {}
        for row in tables[table]:
            of = by_name.setdefault(row[KINDS[kind]], {})
            for head, value in row.items():
                if head != KINDS[kind]:
                    of.setdefault(head, []).append(math.nan if value is None else value)
        for name, lists in by_name.items():
            arrays = {head: np.array(values) for head, values in lists.items()}
            found["time_s"] = arrays.pop("time_s")
            found[kind][name] = arrays
    return cast("SeriesDict", found)


def to_csv(given: Columns) -> str:
    """Return columns as comma-separated values (RFC 4180, lines that end with LF); NaN is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(given)
    lists = [of.tolist() if isinstance(of, np.ndarray) else of for of in given.values()]
    for row in zip(*lists, strict=True):
        writer.writerow("" if isinstance(v, float) and math.isnan(v) else v for v in row)
    return file.getvalue()


def to_parquet(given: Columns) -> bytes:
    """Return columns as a Parquet file; NaN is a null."""
    return parquet(arrow(given))


def arrow(given: Columns) -> Any:
    """Return columns as a table of Arrow; NaN is a null."""
    return pa.table({head: column(values, _type(head, values)) for head, values in given.items()})


def column(values: Sequence[Any], of: Any) -> Any:
    """Return text, numbers or truth values as a column of Arrow; None and NaN are nulls.

    `pyarrow.array` would import pandas, which takes longer than a sweep of a few points.
    """
    if pa.types.is_floating(of):
        numbers = np.array(values, np.float64)  # None becomes NaN
        return _column(of, ~np.isnan(numbers), pa.py_buffer(numbers))
    try:
        return _column(of, np.ones(len(values), bool), *_content(values, of))
    except (AttributeError, TypeError, ValueError):
        # There are nulls; NaN alone differs from itself.
        known = np.array([value is not None and value == value for value in values], bool)  # noqa: PLR0124
    nothing = "" if pa.types.is_string(of) else 0
    given = [value if there else nothing for value, there in zip(values, known, strict=True)]
    return _column(of, known, *_content(given, of))


def _content(values: Sequence[Any], of: Any) -> tuple[Any, ...]:
    """Return the buffers of values without nulls. Raises one of three errors for a null."""
    if pa.types.is_string(of):
        octets = [value.encode() for value in values]
        ends = np.zeros(len(octets) + 1, np.int32)
        np.cumsum([*map(len, octets)], out=ends[1:])
        return pa.py_buffer(ends), pa.py_buffer(b"".join(octets))
    if pa.types.is_boolean(of):
        if None in values:
            raise TypeError
        return (pa.py_buffer(_bits(np.array(values, bool))),)
    return (pa.py_buffer(np.array(values, np.int64)),)


def _column(of: Any, known: npt.NDArray[np.bool_], *content: Any) -> Any:
    nulls = None if known.all() else pa.py_buffer(_bits(known))
    return pa.Array.from_buffers(of, len(known), [nulls, *content])


def _bits(truths: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Return truth values as Arrow's bits, the first one lowest."""
    return np.packbits(truths, bitorder="little")


def parquet(table: Any) -> bytes:
    """Return a table of Arrow as a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _type(head: str, values: Sequence[Any]) -> Any:
    """Return the type of a column, which does not depend on missing figures."""
    if head in KINDS.values() or head in _WORDS:
        return pa.string()
    if head in _COUNTS:
        return pa.int64()
    if isinstance(values, np.ndarray):
        return pa.from_numpy_dtype(values.dtype)
    # The engine writes figures that may be missing, or are not counts, as floats: 0.0, never 0.
    counts = all(type(value) is int for value in values)
    return pa.int64() if values and counts else pa.float64()


def from_parquet(path: Path) -> list[Row]:
    """Return the rows of a Parquet file. Raises OSError, or ResultsError for a foreign file."""
    data = path.read_bytes()
    try:
        found: list[Row] = pq.ParquetFile(io.BytesIO(data)).read().to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        words = str(error).splitlines()[0]
        raise ResultsError(f"{path}: no table that airqueue wrote: {words}") from error
    return found
