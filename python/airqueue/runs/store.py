"""Results on disk: one file for each piece of work, named by its stored key."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import airqueue
from airqueue.files import write_atomically
from airqueue.runs.result import Result
from airqueue.runs.work import Work

FORMAT: Final = "airqueue-run"
VERSION: Final = 1


class Store:
    """A directory of results. Several processes may use it at the same time.

    Files are written atomically, so that a killed process loses only its work in progress; a power
    failure may lose the names of the last files, too. A foreign or damaged file counts as missing and
    is written anew.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: set[Path] = set()
        """Directories that are there."""

    def read(self, work: Work) -> Any:
        """Return the result of a piece of work; raises KeyError if the result is missing."""
        try:
            there = json.loads(self._file(work.stored_key).read_bytes())
        except (OSError, ValueError) as error:
            raise KeyError(work.stored_key) from error
        expected = {"format": FORMAT, "version": VERSION, "key": work.stored_key}
        if not isinstance(there, dict) or not (expected.items() <= there.items()):
            raise KeyError(work.stored_key)
        try:
            return there["result"]
        except KeyError:
            raise KeyError(work.stored_key) from None

    def __contains__(self, work: Work) -> bool:
        try:
            self.read(work)
        except KeyError:
            return False
        return True

    def write(self, work: Work, result: Any) -> None:
        """Keep a result together with its inputs. Raises OSError."""
        self.keep(work, Result.of(result))

    def keep(self, work: Work, result: Result) -> None:
        """Keep a result, as `write` does."""
        file = self._file(work.stored_key)
        if file.parent not in self._made:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(file.parent)
        about = {
            "format": FORMAT,
            "version": VERSION,
            "key": work.stored_key,
            "airqueue": airqueue.__version__,
            "kind": work.kind,
            "inputs": work.inputs,
        }
        head = json.dumps(about, ensure_ascii=False, allow_nan=False)[:-1]
        write_atomically(file, f'{head}, "result": {result.text}}}\n', certain=False)

    def _file(self, key: str) -> Path:
        # Spread over directories: there may be a hundred thousand files.
        return self.path / key[:2] / f"{key}.json"
