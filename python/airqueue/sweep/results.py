"""Results of a sweep: figures with intervals at each point, and the tables on disk."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import airqueue
from airqueue import lazy, text
from airqueue.simulate import tables
from airqueue.simulate.results import Results, summarised
from airqueue.sweep.errors import SweepError
from airqueue.sweep.figures import Figure, Pattern
from airqueue.sweep.points import Point
from airqueue.sweep.spec import Spec

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from airqueue.description import Description
    from airqueue.figures import Summaries, Summary
    from airqueue.simulate.report_types import Run
else:
    pd, pq = lazy.Module("pandas"), lazy.Module("pyarrow.parquet")

FORMAT: Final = "airqueue-sweep"
VERSION: Final = 1
NAMES: Final = ("points", "summary", *tables.TABLES)
"""Of the tables."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a point."""

    point: Point
    description: Description
    """Its scenario."""
    replications: tuple[int, ...]
    """The finished replications."""
    complete: bool
    """Whether the point has all its replications."""
    wide: tuple[Figure, ...]
    """Figures whose intervals exceed the sweep's target, finally so if ``complete``."""


@dataclass(frozen=True, repr=False)
class SweepResults:
    """The results of a sweep; the tables stay on disk until they are used."""

    path: Path
    spec: Spec
    outcomes: tuple[Outcome, ...]
    """Rows in the order of the points."""
    warnings: tuple[str, ...] = ()
    """What would mislead a reader of the figures, a sentence each without its full stop."""

    def __repr__(self) -> str:
        points = text.plural(len(self.outcomes), "point")
        part = "" if self.complete else ", not complete"
        return f"<SweepResults: {points}, {self.replications:,} replications{part}, in {self.path}>"

    @property
    def complete(self) -> bool:
        """Whether every point has all its replications."""
        return all(outcome.complete for outcome in self.outcomes)

    @property
    def replications(self) -> int:
        """Number for all points together."""
        return sum(len(outcome.replications) for outcome in self.outcomes)

    @functools.cached_property
    def points(self) -> pd.DataFrame:
        """A row for each point: its parameters, replications, and whether it is narrow enough."""
        return self.table("points")

    @functools.cached_property
    def summary(self) -> pd.DataFrame:
        """A row for each point and figure: mean, 95 % interval, and the number of values."""
        return self.table("summary")

    def table(self, name: str) -> pd.DataFrame:
        """Return a table, as ``flows`` or ``medium``: a row for each replication and name.

        Raises SweepError that lists the tables for another name.
        """
        return pd.read_parquet(self.path / f"{_checked(name)}.parquet")

    def to_pandas(self, name: str) -> pd.DataFrame:
        """Return a table of all points as a data frame of pandas.

        Parameters
        ----------
        name : str
            ``points``, ``summary``, or a kind of figures such as ``flows`` or ``medium``.

        Returns
        -------
        pandas.DataFrame
            A row for each point, for each point and figure, or for each replication and name.

        Raises
        ------
        SweepError
            There is no such table; the message lists those that there are.
        OSError
            The directory is not there any more.
        MissingExtraError
            pandas is not installed: ``pip install 'airqueue[tables]'``.
        """
        return self.table(name)

    def to_arrow(self, name: str) -> pa.Table:
        """Return a table of all points as a table of Arrow.

        Parameters
        ----------
        name : str
            As for `to_pandas`.

        Returns
        -------
        pyarrow.Table
            As of `to_pandas`.

        Raises
        ------
        SweepError
            There is no such table; the message lists those that there are.
        OSError
            The directory is not there any more.
        MissingExtraError
            pyarrow is not installed: ``pip install 'airqueue[tables]'``.
        """
        return self._columns(name)

    def over(self, pattern: Pattern) -> list[Summary]:
        """Return mean and interval of a figure at each point; of several names their mean.

        The interval is over replications; the value of a replication is the mean over the names that
        have the figure. No value at a point gives no mean and no interval.
        """
        noun = tables.noun_of(pattern.kind)
        wanted = ["point", "replication", pattern.figure, *([noun] if noun else [])]
        table = self._columns(pattern.kind, wanted)
        if pattern.figure not in table.column_names:
            return [summarised([]) for _ in self.outcomes]
        rows = zip(*(table[column].to_pylist() for column in wanted), strict=True)
        matches = functools.cache(pattern.matches)
        found: dict[int, dict[int, list[float]]] = {}
        for point, replication, value, *names in rows:
            if value is not None and all(map(matches, names)):
                found.setdefault(point, {}).setdefault(replication, []).append(value)
        means = {
            point: [math.fsum(of) / len(of) for of in replications.values()]
            for point, replications in found.items()
        }
        return [summarised(means.get(each.point.number, [])) for each in self.outcomes]

    def _columns(self, name: str, wanted: Sequence[str] | None = None) -> pa.Table:
        """Return these columns of a table, as far as there are such, or all."""
        # Not read_table, which imports pandas.
        with pq.ParquetFile(self.path / f"{_checked(name)}.parquet") as file:
            return file.read(wanted)

    def to_text(self) -> str:
        """Return the output of ``--json`` as text, the content of ``summary.json``."""
        return (self.path / "summary.json").read_text("utf-8")


def summary(spec: Spec, outcome: Outcome, figures: Mapping[int, Run]) -> Summaries:
    """Return means and intervals of a point's figures, by kind and name as `Results` has them."""
    count = len(outcome.replications)
    return Results(outcome.description, spec.seed, count, figures).summary


def point_text(outcome: Outcome, figures: Summaries) -> str:
    """Return a point with its summary as JSON on one line."""
    about = {
        "point": outcome.point.number,
        "parameters": outcome.point.values,
        "replications": len(outcome.replications),
        "wide": [".".join(filter(None, figure)) for figure in outcome.wide],
    }
    return json.dumps({**about, **figures}, ensure_ascii=False, allow_nan=False)


def whole_text(results: SweepResults, points: Sequence[str]) -> str:
    """Return all points as JSON, given each as `point_text` has it: a line for each."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "airqueue": airqueue.__version__,
        "seed": results.spec.seed,
        "parameters": [each.path for each in results.spec.parameters],
        "complete": results.complete,
        "warnings": list(results.warnings),
    }
    lines = ",\n".join(points)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "points": [\n{lines}\n]}}\n'


def _checked(name: str) -> str:
    if name not in NAMES:
        raise SweepError(f"there is no table {name!r}; there are {', '.join(NAMES)}")
    return name
