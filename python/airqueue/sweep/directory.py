"""The directory of a sweep: finished replications, and the tables built from them.

``runs`` keeps each finished replication under a key made of all its inputs. The tables are built
from ``runs`` each time, so that interruptions of the sweep do not affect them. ``summary.json`` is
removed first and written last: if the file exists, all tables exist and agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import airqueue
from airqueue import lazy, provenance
from airqueue.files import NotJsonError, alone, parse_json, write_atomically
from airqueue.runs import Store
from airqueue.simulate import cautions
from airqueue.sweep import results as of
from airqueue.sweep import tables
from airqueue.sweep.errors import SweepError
from airqueue.sweep.results import FORMAT, VERSION, Outcome, SweepResults
from airqueue.sweep.spec import Spec

_PROVENANCE: Final = "provenance.json"
_SUMMARY: Final = "summary.json"
_RUNS: Final = "runs"
_TABLES: Final = tuple(f"{name}.parquet" for name in of.NAMES)
FILES: Final = (_PROVENANCE, _SUMMARY, *_TABLES)
"""Everything but the runs."""


class SweepDirectory:
    """A directory that this process alone writes to; see `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store(path / _RUNS)

    @classmethod
    @contextmanager
    def opened(cls, path: str | os.PathLike[str]) -> Iterator[SweepDirectory]:
        """Make the directory, or continue the directory of this sweep or of an earlier version of it.

        Raises OSError, or SweepError if the directory has other results, or if another process
        writes to the directory; MissingExtraError if the tables could not be written in the end.
        """
        lazy.required("pyarrow")
        directory = cls(Path(path))
        with alone(directory.path, SweepError):
            directory._check()
            yield directory

    def begin_session(self, spec: Spec) -> None:
        """Record the sweep, the version, and this process."""
        sessions = self._noted().get("sessions", [])
        session = {**provenance.session(), **_program()}
        noted = {**_origin(spec), "sessions": [*sessions, session]}
        content = json.dumps(noted, indent=1, ensure_ascii=False)
        write_atomically(self.path / _PROVENANCE, f"{content}\n")

    def finish(
        self, results: SweepResults, runs_of: Callable[[Outcome], Mapping[int, Any]]
    ) -> SweepResults:
        """Write all tables, and the summary at the end.

        Returns the results with warnings on their figures.
        """
        (self.path / _SUMMARY).unlink(missing_ok=True)
        made = tables.Tables(results.spec, [outcome.point for outcome in results.outcomes])
        points = []
        dropped, silent = {}, {}
        for outcome in results.outcomes:
            found = runs_of(outcome)
            summary = of.summary(results.spec, outcome, found)
            made.add(outcome, found, summary)
            points.append(of.point_text(outcome, summary))
            if worst := cautions.dropped_acks(summary):
                dropped[str(outcome.point)] = worst[0]
            if flows := cautions.silent_flows(summary):
                silent[str(outcome.point)] = flows
        warnings = (*results.warnings, *cautions.of_points(dropped, silent))
        warned = replace(results, warnings=warnings)
        origin = json.dumps(_origin(results.spec), ensure_ascii=False)
        for name, content in made.files(origin):
            write_atomically(self.path / f"{name}.parquet", content)
        write_atomically(self.path / _SUMMARY, of.whole_text(warned, points))
        return warned

    def _check(self) -> None:
        """Raise SweepError if the directory has other results."""
        if (self.path / _PROVENANCE).exists():
            self._noted()
            return
        there = [name for name in (_SUMMARY, *_TABLES) if (self.path / name).exists()]
        if there:
            raise SweepError(
                f"{self.path}: has {there[0]} and no {_PROVENANCE} that says what of; choose another "
                "directory"
            )

    def _noted(self) -> dict[str, Any]:
        path = self.path / _PROVENANCE
        if not path.exists():
            return {}
        try:
            noted = parse_json(path.read_bytes(), str(path), "choose another directory")
        except NotJsonError as error:
            raise SweepError(str(error)) from error
        if not isinstance(noted, dict) or noted.get("format") != FORMAT:
            raise SweepError(f"{path}: not of a sweep; choose another directory")
        return noted


def _origin(spec: Spec) -> dict[str, Any]:
    """Return all inputs of the results, without time and place of their computation."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **_program(),
        "sweep": spec.description,
        "scenario": spec.scenario,
    }


def _program() -> dict[str, Any]:
    return {"airqueue": airqueue.__version__, "git_revision": provenance.git_revision()}
