"""A network to simulate, from a file, a dictionary or a few words."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from airqueue import _native, toml_text
from airqueue.simulate import overrides as changes
from airqueue.simulate.errors import ScenarioError, check_whole
from airqueue.simulate.plain import plain
from airqueue.simulate.recorders import Recorders
from airqueue.simulate.replications import (
    MOST_REPLICATIONS,
    MOST_SEED,
    Progress,
    Replications,
    available_workers,
    engine_seed,
)
from airqueue.simulate.results import Results


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; ``results`` has the replications that had finished."""

    def __init__(self, results: Results) -> None:
        super().__init__()
        self.results = results


class Scenario:
    """A network that has been checked and can be simulated.

    ``description``: the keys of a scenario file as a dictionary (``docs/simulate.md``). Raises
    ScenarioError that names the key, what was found and what was expected.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._description: dict[str, Any] = plain(description)
        try:
            self._native = _native.Scenario(json.dumps(self._description))
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    @classmethod
    def from_toml(
        cls, path: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None
    ) -> Scenario:
        """Read a scenario file, with some values changed: ``{"flows.upload.rate": "2 Mb/s"}``.

        Raises OSError, or ScenarioError that names the file too.
        """
        try:
            unchanged = read_file(path)
            if not overrides:
                return cls(unchanged)
        except ScenarioError as error:
            raise ScenarioError(f"{path}: {error}") from error
        try:
            return cls(changes.apply(unchanged, overrides))
        except ScenarioError as error:
            whose = f"{path}, as changed" if _is_possible(unchanged) else path
            raise ScenarioError(f"{whose}: {error}") from error

    def changed(self, overrides: Mapping[str, Any]) -> Scenario:
        """Return the scenario with some values changed: ``{"mac.rts_threshold": "0 B"}``."""
        return Scenario(changes.apply(self._description, overrides))

    @property
    def description(self) -> dict[str, Any]:
        """A copy of the scenario's keys and values."""
        return copy.deepcopy(self._description)

    @property
    def duration_s(self) -> float:
        """Simulated time that the figures of a replication stand for."""
        return self._native.duration_s

    @property
    def warm_up_s(self) -> float:
        """Simulated time before that, which they leave out."""
        return self._native.warm_up_s

    @property
    def stations(self) -> list[str]:
        """Names of all stations, those of groups one by one."""
        return self._native.stations

    @property
    def flows(self) -> list[str]:
        """Names of all flows, those of groups one by one."""
        return self._native.flows

    def simulate(
        self,
        seed: int = 1,
        replications: int = 5,
        workers: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        recorders: Recorders | None = None,
    ) -> Results:
        """Simulate independent replications, as many at a time as ``workers`` (None: cores).

        Scenario, seed and version of airqueue determine the results, whatever the workers.
        Replication i of seed s is what the engine makes of the seed s · 2³² + i. The recorders are
        for the first one. Raises Interrupted on Ctrl-C, ScenarioError for arguments that make no
        sense, and OSError where a capture cannot be written.
        """
        check_whole("seed", seed, 0, MOST_SEED)
        check_whole("replications", replications, 1, MOST_REPLICATIONS)
        if workers is not None:
            check_whole("workers", workers, 1, MOST_REPLICATIONS)
        seeds = [engine_seed(seed, replication) for replication in range(replications)]
        working = min(workers or available_workers(), replications)
        crew = Replications(self._native, seeds, working, on_progress, recorders or Recorders())
        texts, interrupted = crew.run()
        runs = {replication: json.loads(text) for replication, text in texts.items()}
        results = Results(self.description, seed, replications, runs, crew.series)
        if interrupted:
            raise Interrupted(results)
        return results


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the table of a TOML file. Raises OSError, or ScenarioError that says what is wrong."""
    try:
        return toml_text.parse(toml_text.read(path))
    except toml_text.TomlError as error:
        raise ScenarioError(str(error)) from error


def _is_possible(description: Mapping[str, Any]) -> bool:
    try:
        Scenario(description)
    except ScenarioError:
        return False
    return True


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors."""
    loaded: dict[str, Any] = json.loads(_native.scenario_schema())
    return loaded
