"""A directory with the results of one scenario and seed, which replications can be added to.

What is there at any moment is whole: each file is written beside its place and then renamed. A
replication that has finished is a file of its own until the tables are written, so that nothing
but the replications under way is lost with the process. The medium's table is the last of the
tables and the summary the last of all files: what the one has the others have, and where the
summary is they are all of one piece.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import airqueue
from airqueue import provenance, toml_text
from airqueue.files import alone, write_atomically
from airqueue.simulate import tables
from airqueue.simulate.errors import ResultsError
from airqueue.simulate.recorders import Recorders

if TYPE_CHECKING:
    from airqueue._native import SeriesDict

FORMAT: Final = "airqueue-provenance"
VERSION: Final = 1
_SCENARIO: Final = "scenario.toml"
_PROVENANCE: Final = "provenance.json"
_SUMMARY: Final = "summary.json"
_PARTS: Final = "replications"
"""The directory of finished replications that the tables do not have yet."""
_TABLES: Final = tuple(f"{name}.parquet" for name in (*tables.TABLES, *tables.SERIES))
_FILES: Final = (_SUMMARY, *_TABLES, _PROVENANCE, _SCENARIO)
"""Everything else, in the order in which it is discarded."""
_INSTEAD: Final = "choose another directory, or discard them with --force (in Python force=True)"


class Directory:
    """A directory that this process alone writes to; see `opened`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts = path / _PARTS

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: str | os.PathLike[str],
        scenario: Mapping[str, Any],
        seed: int,
        *,
        force: bool = False,
    ) -> Iterator[Directory]:
        """Make the directory, or go on in one with results of this scenario, seed and version.

        ``force`` discards what results there are. Raises OSError, or ResultsError if it has others,
        or if another process writes there.
        """
        directory = cls(Path(path))
        with alone(directory._path, ResultsError):
            directory._sweep()
            if force:
                directory._discard()
            directory._claim(scenario, seed)
            yield directory

    def runs(self) -> dict[int, dict[str, Any]]:
        """Return the replications that have finished: those of the tables, and those since."""
        runs = _runs(self._path) if self._file("medium").exists() else {}
        for part in self._parts.glob("*.json"):
            if part.stem.isdecimal():
                runs[int(part.stem)] = _json(part)
        return dict(sorted(runs.items()))

    def missing(
        self, runs: Mapping[int, tables.Run], replications: int, recorders: Recorders
    ) -> list[int]:
        """Return the replications to be simulated, if those of `runs` are there, to have so many.

        The first is simulated again for a capture, and for time series that are not there. Raises
        ResultsError if there are more: finished work is not thrown away unasked.
        """
        if runs and max(runs) >= replications:
            raise ResultsError(
                f"{self._path}: has replication {max(runs)} already, counted from 0; ask for at "
                f"least {max(runs) + 1} replications, or {_INSTEAD}"
            )
        interval_s = recorders.series_interval_s
        has_series = interval_s is None or self._has_series(interval_s)
        known = runs.keys() if recorders.pcap is None and has_series else runs.keys() - {0}
        return [each for each in range(replications) if each not in known]

    def _has_series(self, interval_s: float) -> bool:
        """Whether there are time series with these intervals."""
        if not all(self._file(name).exists() for name in tables.SERIES):
            return False
        ends = self.series()["time_s"]
        return len(ends) > 0 and abs(float(ends[0]) - interval_s) < 1e-9

    def series(self) -> SeriesDict:
        """Return the time series. Raises OSError if there are none."""
        return tables.series_of({name: _rows(self._path, name) for name in tables.SERIES})

    def begin_session(self, replications: int) -> None:
        """Note that this process adds to the directory, which is to have so many replications."""
        noted = self._noted()
        noted["sessions"].append({**provenance.session(), "replications": replications})
        self._write(_PROVENANCE, _text(noted))

    def keep(self, replication: int, figures: str, series: SeriesDict | None) -> None:
        """Write down a replication that has finished: its figures as JSON, and its series if any."""
        if series is not None:
            self.write_series(series)
        self._parts.mkdir(exist_ok=True)
        write_atomically(self._parts / f"{replication}.json", figures)

    def write_series(self, series: SeriesDict) -> None:
        """Write the tables of the time series. Those of others go first: two that differ are none."""
        _remove(self._file(name) for name in tables.SERIES)
        for name, kind in tables.SERIES.items():
            self._write_table(name, tables.series_columns(series, kind))

    def finish(self, runs: Mapping[int, tables.Run], summary: str) -> None:
        """Write the tables of all replications and their summary, which are the last files."""
        (self._path / _SUMMARY).unlink(missing_ok=True)
        for kind in tables.TABLES:
            self._write_table(kind, tables.columns(kind, runs))
        self._write(_SUMMARY, summary)
        self._drop_parts()

    def _claim(self, scenario: Mapping[str, Any], seed: int) -> None:
        """Make it the directory of these results; raise ResultsError if it is another's."""
        text = toml_text.render(scenario)
        there = {name for name in _FILES if (self._path / name).exists()}
        if _PROVENANCE in there:
            self._check(scenario, seed)
            return
        # A process may have been killed between the two files.
        if _SCENARIO in there and (self._path / _SCENARIO).read_text("utf-8") == text:
            there.remove(_SCENARIO)
        if there:
            raise ResultsError(
                f"{self._path}: has {min(there)} and no {_PROVENANCE} that says what of; {_INSTEAD}"
            )
        self._write(_SCENARIO, text)
        noted = {
            "format": FORMAT,
            "version": VERSION,
            "airqueue": airqueue.__version__,
            "git_revision": provenance.git_revision(),
            "seed": seed,
            "sessions": [],
        }
        self._write(_PROVENANCE, _text(noted))

    def _check(self, scenario: Mapping[str, Any], seed: int) -> None:
        """Raise ResultsError unless the results there have the same origin as those to come."""
        noted = self._noted()
        self._same("version of airqueue", noted.get("airqueue"), airqueue.__version__)
        revisions = noted.get("git_revision"), provenance.git_revision()
        if None not in revisions:
            self._same("revision of airqueue", *revisions)
        self._same("seed", noted.get("seed"), seed)
        described = self._path / _SCENARIO
        try:
            there = toml_text.parse(described.read_text("utf-8"))
        except ValueError as error:
            raise ResultsError(f"{described}: {error}") from error
        difference = _difference(there, scenario)
        if difference is not None:
            key, was, now = difference
            self._same("scenario", was, now, key)

    def _same(self, what: str, there: object, here: object, key: str = "it") -> None:
        if there != here:
            was, now = toml_text.found(there), toml_text.found(here)
            message = f"has results of another {what}: {key} is {was} there and {now} here"
            raise ResultsError(f"{self._path}: {message}; {_INSTEAD}")

    def _noted(self) -> dict[str, Any]:
        path = self._path / _PROVENANCE
        noted = _json(path)
        if noted.get("format") != FORMAT or noted.get("version") != VERSION:
            raise ResultsError(f"{path}: not of this version of airqueue; {_INSTEAD}")
        return noted

    def _write(self, name: str, content: str | bytes) -> None:
        write_atomically(self._path / name, content)

    def _write_table(self, name: str, columns: tables.Columns) -> None:
        write_atomically(self._file(name), tables.to_parquet(columns))

    def _file(self, table: str) -> Path:
        return self._path / f"{table}.parquet"

    def _sweep(self) -> None:
        """Remove what a process that was killed had not yet renamed."""
        for name in _FILES:
            _remove(self._path.glob(f".{name}.*.tmp"))
        _remove(self._parts.glob(".*.tmp"))

    def _discard(self) -> None:
        """Remove all results, and nothing else that may be in the directory."""
        _remove(self._path / name for name in _FILES)
        self._drop_parts()

    def _drop_parts(self) -> None:
        _remove(self._parts.glob("*.json"))
        with suppress(OSError):  # it was not there, or has what is not ours
            self._parts.rmdir()


def read(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[int, dict[str, Any]], SeriesDict | None]:
    """Return summary, replications and time series of a directory.

    Raises OSError, or ResultsError if the results there are not whole.
    """
    root = Path(path)
    if not root.is_dir() or not (root / _SUMMARY).exists():
        raise ResultsError(
            f"{root}: has no {_SUMMARY}; expected a directory of finished results: the same "
            "simulation again finishes one that was broken off"
        )
    summary = _json(root / _SUMMARY)
    runs = _runs(root)
    if sorted(runs) != summary.get("finished"):
        raise ResultsError(f"{root}: tables and {_SUMMARY} have different replications")
    has_series = all((root / f"{name}.parquet").exists() for name in tables.SERIES)
    return summary, runs, Directory(root).series() if has_series else None


def _runs(root: Path) -> dict[int, dict[str, Any]]:
    try:
        return tables.runs_of({kind: _rows(root, kind) for kind in tables.TABLES})
    except KeyError as error:
        raise ResultsError(f"{root}: a table has no column {error}") from error


def _rows(root: Path, table: str) -> list[tables.Row]:
    return tables.from_parquet(root / f"{table}.parquet")


def _json(path: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_bytes())
    except ValueError as error:
        raise ResultsError(f"{path}: no JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise ResultsError(f"{path}: {toml_text.found(loaded)}; expected an object")
    return loaded


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _difference(there: Any, here: Any, place: str = "") -> tuple[str, Any, Any] | None:
    """Return the first place where two descriptions differ, and the values; None stands for none."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        dot = f"{place}." if place else ""
        pairs = [(f"{dot}{key}", there.get(key), here.get(key)) for key in {**there, **here}]
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = [
            (f"{place}[{index}]", *pair) for index, pair in enumerate(zip(there, here, strict=True))
        ]
    else:
        return None if there == here else (place, there, here)
    found = (_difference(old, new, name) for name, old, new in pairs)
    return next((each for each in found if each is not None), None)
