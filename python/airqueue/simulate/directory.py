"""A directory with the results of one scenario and seed, which replications can be added to.

``runs`` keeps each finished replication under a key made of all its inputs, so that `airqueue.runs`
continues after any end of a process. The tables are built from ``runs`` each time. Every file is
written under a temporary name and then renamed, the summary last: if the summary exists, all tables
exist and agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import airqueue
from airqueue import lazy, provenance, toml_text
from airqueue.files import NotJsonError, alone, parse_json, write_atomically
from airqueue.runs import Store, Work
from airqueue.simulate import tables
from airqueue.simulate.errors import OtherResultsError, ResultsError
from airqueue.simulate.work import one_replication, plain_series, series_of_first

if TYPE_CHECKING:
    from airqueue.description import Description
    from airqueue.records import SeriesDict
    from airqueue.simulate.report_types import Run

FORMAT: Final = "airqueue-provenance"
VERSION: Final = 2
_BEFORE: Final = 1
"""It kept what had finished in the tables, and until they were written in `_RUNS_BEFORE`."""
_SCENARIO: Final = "scenario.toml"
_PROVENANCE: Final = "provenance.json"
_SUMMARY: Final = "summary.json"
_RUNS: Final = "runs"
"""The directory of all finished work."""
_RUNS_BEFORE: Final = "replications"
_TABLES: Final = tuple(f"{name}.parquet" for name in (*tables.TABLES, *tables.SERIES))
FILES: Final = (_SUMMARY, *_TABLES, _PROVENANCE, _SCENARIO)
"""Everything else, in the order in which it is discarded."""


class ResultsDirectory:
    """A directory that this process alone writes to; see `opened`."""

    def __init__(self, path: Path, scenario: Description, seed: int) -> None:
        self._path = path
        self._scenario = scenario
        self._seed = seed
        self.store = Store(path / _RUNS)

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: str | os.PathLike[str],
        scenario: Description,
        seed: int,
        *,
        force: bool = False,
    ) -> Iterator[ResultsDirectory]:
        """Make the directory, or continue a directory of this scenario, seed and version.

        ``force`` discards other results. Raises OSError, or ResultsError if the directory has other
        results, or if another process writes to the directory; MissingExtraError if the tables could
        not be written in the end.
        """
        lazy.required("pyarrow")
        directory = cls(Path(path), scenario, seed)
        with alone(directory._path, ResultsError):
            directory._sweep()
            if force:
                directory._discard()
            directory._claim()
            yield directory

    def runs(self) -> dict[int, Run]:
        """Return the finished replications, of all requested so far."""
        found: dict[int, Run] = {}
        for replication in range(self._most()):
            with suppress(KeyError):
                found[replication] = self.store.read(self.work(replication))
        return found

    def work(self, replication: int) -> Work:
        """Return what a replication is kept as."""
        return one_replication(self._scenario, self._seed, replication)

    def check_enough(self, replications: int) -> None:
        """Raise ResultsError if the directory has more: tables do not silently omit finished work."""
        more = range(replications, self._most())
        last = next((each for each in reversed(more) if self.work(each) in self.store), None)
        if last is not None:
            raise OtherResultsError(
                f"{self._path}: has replication {last} already, counted from 0",
                f"ask for at least {last + 1} replications, ",
            )

    def _most(self) -> int:
        """Return the largest number of replications that was requested."""
        return max((each["replications"] for each in self._noted()["sessions"]), default=0)

    def begin_session(self, replications: int) -> None:
        """Note that this process adds to the directory, which is to have so many replications."""
        noted = self._noted()
        noted["sessions"].append({**provenance.session(), "replications": replications})
        self._write(_PROVENANCE, _text(noted))

    def keep(self, runs: Mapping[int, Run], series: SeriesDict | None) -> None:
        """Keep replications, and the series of the first, like newly finished work."""
        for replication, figures in runs.items():
            self.store.write(self.work(replication), figures)
        if series is not None and len(series["time_s"]):
            interval_s = float(series["time_s"][0])
            work = series_of_first(self._scenario, self._seed, interval_s)
            self.store.write(work, plain_series(series))

    def finish(self, runs: Mapping[int, Run], series: SeriesDict | None, summary: str) -> None:
        """Write the tables of all replications, those of the series if any, and the summary last."""
        (self._path / _SUMMARY).unlink(missing_ok=True)
        for kind in tables.TABLES:
            self._write_table(kind, tables.columns(kind, runs))
        if series is not None:
            # Those of others go first: two that differ are none.
            _remove(self._file(name) for name in tables.SERIES)
            for name, kind in tables.SERIES.items():
                self._write_table(name, tables.series_columns(series, kind))
        self._write(_SUMMARY, summary)

    def _claim(self) -> None:
        """Make this the directory of these results; raise ResultsError if it has other results."""
        text = toml_text.render(self._scenario)
        there = {name for name in FILES if (self._path / name).exists()}
        if _PROVENANCE in there:
            self._check()
            return
        # A process may have been killed between the two files.
        if _SCENARIO in there and (self._path / _SCENARIO).read_text("utf-8") == text:
            there.remove(_SCENARIO)
        if there:
            raise OtherResultsError(
                f"{self._path}: has {min(there)} and no {_PROVENANCE} that says what of"
            )
        self._write(_SCENARIO, text)
        noted = {
            "format": FORMAT,
            "version": VERSION,
            "airqueue": airqueue.__version__,
            "git_revision": provenance.git_revision(),
            "seed": self._seed,
            "sessions": [],
        }
        self._write(_PROVENANCE, _text(noted))

    def _check(self) -> None:
        """Raise ResultsError unless the existing results have the origin of the new results."""
        noted = self._noted()
        self._same("version of airqueue", noted.get("airqueue"), airqueue.__version__)
        revisions = noted.get("git_revision"), provenance.git_revision()
        if None not in revisions:
            self._same("revision of airqueue", *revisions)
        self._same("seed", noted.get("seed"), self._seed)
        described = self._path / _SCENARIO
        try:
            there = toml_text.parse(described.read_text("utf-8"))
        except ValueError as error:
            raise ResultsError(f"{described}: {error}") from error
        difference = _difference(there, self._scenario)
        if difference is not None:
            key, was, now = difference
            self._same("scenario", was, now, key)

    def _same(self, what: str, there: object, here: object, key: str = "it") -> None:
        if there != here:
            was, now = toml_text.found(there), toml_text.found(here)
            message = f"has results of another {what}: {key} is {was} there and {now} here"
            raise OtherResultsError(f"{self._path}: {message}")

    def _noted(self) -> dict[str, Any]:
        path = self._path / _PROVENANCE
        noted = _json(path)
        if noted.get("format") != FORMAT or noted.get("version") not in (_BEFORE, VERSION):
            raise OtherResultsError(f"{path}: not of this version of airqueue")
        if noted["version"] == _BEFORE:
            raise OtherResultsError(
                f"{path}: of an airqueue that kept replications in another way; finished results can "
                "be read, and not be added to"
            )
        return noted

    def _write(self, name: str, content: str | bytes) -> None:
        write_atomically(self._path / name, content)

    def _write_table(self, name: str, columns: tables.Columns) -> None:
        write_atomically(self._file(name), tables.to_parquet(columns))

    def _file(self, table: str) -> Path:
        return self._path / f"{table}.parquet"

    def _sweep(self) -> None:
        """Remove files that a killed process had not renamed yet."""
        for name in FILES:
            _remove(self._path.glob(f".{name}.*.tmp"))
        _remove((self._path / _RUNS).glob("*/.*.tmp"))

    def _discard(self) -> None:
        """Remove all results, and leave other files in the directory."""
        _remove(self._path / name for name in FILES)
        runs = self._path / _RUNS
        for kept, pattern in ((runs, "*/*.json"), (self._path / _RUNS_BEFORE, "*.json")):
            _remove(kept.glob(pattern))
        for emptied in (*runs.glob("*"), runs, self._path / _RUNS_BEFORE):
            with suppress(OSError):  # the directory did not exist, or has foreign files
                emptied.rmdir()


def read(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[int, Run], SeriesDict | None]:
    """Return summary, replications and time series of a directory.

    Raises OSError, or ResultsError if the results are incomplete.
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
    return summary, runs, _series(root) if has_series else None


def _runs(root: Path) -> dict[int, Run]:
    try:
        return tables.runs_of({kind: _rows(root, kind) for kind in tables.TABLES})
    except KeyError as error:
        raise ResultsError(f"{root}: a table has no column {error}") from error


def _series(root: Path) -> SeriesDict:
    return tables.series_of({name: _rows(root, name) for name in tables.SERIES})


def _rows(root: Path, table: str) -> list[tables.Row]:
    return tables.from_parquet(root / f"{table}.parquet")


def _json(path: Path) -> dict[str, Any]:
    try:
        loaded = parse_json(path.read_bytes(), str(path), "choose another directory")
    except NotJsonError as error:
        raise ResultsError(str(error)) from error
    if not isinstance(loaded, dict):
        raise ResultsError(f"{path}: {toml_text.found(loaded)}; expected an object")
    return loaded


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _difference(there: Any, here: Any, place: str = "") -> tuple[str, Any, Any] | None:
    """Return the first place where two descriptions differ, and the values; None: missing."""
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
