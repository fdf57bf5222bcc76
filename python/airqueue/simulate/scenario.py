"""A network to simulate, from a file, a dictionary or a few words."""

from __future__ import annotations

import copy
import functools
import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airqueue import _native, runs, text, toml_text
from airqueue.description import Description
from airqueue.files import named
from airqueue.monitored import Map, Snapshot
from airqueue.runs import Store, Work, execute
from airqueue.simulate import overrides as changes
from airqueue.simulate import recorded, renamed
from airqueue.simulate.directory import ResultsDirectory
from airqueue.simulate.errors import ScenarioError, check_whole
from airqueue.simulate.plain import plain
from airqueue.simulate.recorders import Recorders
from airqueue.simulate.replications import (
    MOST_REPLICATIONS,
    MOST_SEED,
    ReplicationProgress,
    Replications,
    available_workers,
    pieces,
    start,
)
from airqueue.simulate.reported import Run, described, map_of, run_of, snapshot_of
from airqueue.simulate.results import Results
from airqueue.simulate.work import one_replication, series_from, series_of_first

if TYPE_CHECKING:
    from airqueue.records import SeriesDict


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; ``results`` has the replications that had finished."""

    def __init__(self, results: Results) -> None:
        super().__init__()
        self.results = results


class Scenario:
    """A network that has been checked and can be simulated.

    ``description``: the keys of a scenario file as a dictionary (``docs/simulate.md``). Raises
    ScenarioError that names the key, what was found and what was expected. Warns with
    RenamedKeyWarning of keys by old names; `Scenario.description` has the new ones. Records that are
    files are read from the working directory, and their values are in `Scenario.description`.
    """

    def __init__(self, description: Mapping[str, object]) -> None:
        self._description = described(renamed.current(recorded.whole(plain(description))))
        try:
            self._native = _native.Scenario(json.dumps(self._description))
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    def __repr__(self) -> str:
        standard = self._description["phy"].get("standard", "a physical layer of its own")
        stations, flows = (
            text.plural(len(of), noun)
            for of, noun in ((self.stations, "station"), (self.flows, "flow"))
        )
        return f"<Scenario: {standard}, {stations}, {flows}, {self.duration_s:g} s>"

    def _repr_html_(self) -> str:
        from airqueue.simulate import notebook  # noqa: PLC0415 - most programs print nothing

        return notebook.of_scenario(self._description)

    @classmethod
    def from_toml(
        cls, path: str | os.PathLike[str], overrides: Mapping[str, object] | None = None
    ) -> Scenario:
        """Read a scenario file, with some values changed: ``{"flows.upload.rate": "2 Mb/s"}``.

        Raises OSError, or ScenarioError that names the file too.
        """
        try:
            unchanged = read_file(path)
            if not overrides:
                return cls(unchanged)
        except ScenarioError as error:
            raise ScenarioError(f"{named(path)}: {error}") from error
        try:
            return cls(changes.apply(unchanged, overrides))
        except ScenarioError as error:
            whose = f"{named(path)}, as changed" if _is_possible(unchanged) else named(path)
            raise ScenarioError(f"{whose}: {error}") from error

    def changed(self, overrides: Mapping[str, object]) -> Scenario:
        """Return the scenario with some values changed: ``{"mac.rts_threshold": "0 B"}``."""
        return Scenario(changes.apply(self._description, overrides))

    @property
    def description(self) -> Description:
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

    @property
    def routes(self) -> dict[str, list[str]]:
        """Names of the stations and hosts that each flow passes, both ends included."""
        routes = self._native.routes
        return {flow: routes[flow] for flow in self.flows}

    @property
    def ways(self) -> dict[str, list[str]]:
        """Former name of `routes`, removed with version 0.2."""
        warnings.warn("Scenario.ways is called Scenario.routes now", FutureWarning, stacklevel=2)
        return self.routes

    def figures(self) -> Run:
        """Return what figures a replication will have: those of one that has not begun yet.

        By kind and name, as `Results.runs` has them; of their values nothing can be said.
        """
        return run_of(self._native.start(0).results())

    def layout(self) -> tuple[Map, Snapshot]:
        """Return the map and what is seen at the beginning."""
        monitor = self._native.monitor()
        return map_of(monitor.map()), snapshot_of(monitor.snapshot(self._native.start(0)))

    def simulate(
        self,
        seed: int = 1,
        replications: int = 5,
        workers: int | None = None,
        on_progress: Callable[[ReplicationProgress], None] | None = None,
        recorders: Recorders | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> Results:
        """Simulate independent replications, as many at a time as ``workers`` (None: cores).

        Scenario, seed and version of airqueue determine the results, whatever the workers.
        Replication i of seed s is what the engine makes of the seed s · 2³² + i. The recorders are
        for the first one. ``out`` is a directory for all results, in which each replication is
        written as it finishes: those that are there already are not simulated again, and ``force``
        discards what else is there. Raises Interrupted on Ctrl-C, ScenarioError for arguments that
        make no sense, ResultsError for a directory with other results, and OSError where a file
        cannot be written.
        """
        check_whole("seed", seed, 0, MOST_SEED)
        check_whole("replications", replications, 1, MOST_REPLICATIONS)
        if workers is not None:
            check_whole("workers", workers, 1, MOST_REPLICATIONS)
        order = _Order(
            seed,
            replications,
            workers or available_workers(),
            on_progress,
            recorders or Recorders(),
        )
        if out is None:
            return self._execute(order, None)
        with ResultsDirectory.opened(out, self._description, seed, force=force) as directory:
            return self._execute(order, directory)

    def replicate(self, seed: int = 1, replication: int = 0) -> Run:
        """Simulate one replication, and return its figures as `Results.runs` has them.

        They are the same whether it is simulated alone or among others. Raises ScenarioError for
        arguments that make no sense, KeyboardInterrupt on Ctrl-C.
        """
        check_whole("seed", seed, 0, MOST_SEED)
        check_whole("replication", replication, 0, MOST_REPLICATIONS - 1)
        run = start(self._native, seed, replication)
        for _ in pieces(run):
            pass  # where Ctrl-C is handled
        return run_of(run.results())

    def _execute(self, order: _Order, directory: ResultsDirectory | None) -> Results:
        """Simulate what the directory does not have, and finish it."""
        effort = _Effort(self._description, order)
        backend, store = Replications(self._native, order.workers, order.recorders), None
        if directory is not None:
            directory.check_enough(order.replications)
            store = directory.store
            backend.on_begin = functools.partial(directory.begin_session, order.replications)
        interrupted = False
        try:
            effort.execute(store, backend)
        except KeyboardInterrupt:
            interrupted = True
        runs = effort.runs
        if interrupted and directory is not None:
            # One that was to be simulated again is still there.
            runs = directory.runs() | runs
        runs = dict(sorted(runs.items()))
        results = Results(self.description, order.seed, order.replications, runs, effort.series)
        if directory is not None and runs:
            directory.finish(runs, effort.series, results.to_text())
        if interrupted:
            raise Interrupted(results)
        return results


@dataclass(frozen=True, slots=True)
class _Order:
    """Extent and options of a scenario's simulation."""

    seed: int
    replications: int
    workers: int
    on_progress: Callable[[ReplicationProgress], None] | None
    recorders: Recorders


class _Effort:
    """Carrying out an order: the replications, and the time series of the first if asked for."""

    def __init__(self, description: Description, order: _Order) -> None:
        self._order = order
        count, recorders = order.replications, order.recorders
        works = [one_replication(description, order.seed, each) for each in range(count)]
        # A capture and a trace are not kept.
        self._again = {works[0].key} if recorders.again else set()
        if recorders.series_interval_s is not None:
            works.append(series_of_first(description, order.seed, recorders.series_interval_s))
        self._works = works
        self.runs: dict[int, Run] = {}
        """The figures of replications that finished, now or before."""
        self.series: SeriesDict | None = None

    def execute(self, store: Store | None, backend: Replications) -> None:
        """Simulate what the store does not have."""
        report = None if self._order.on_progress is None else functools.partial(self._tell, backend)
        execute(self._works, store, backend, report, self._note, again=self._again)

    def _note(self, work: Work, result: Any) -> tuple[Work, ...]:
        if work.kind == "simulation":
            self.runs[work.inputs["replication"]] = result
        else:
            self.series = series_from(result)
        return ()

    def _tell(self, backend: Replications, now: runs.WorkProgress) -> None:
        assert self._order.on_progress is not None
        count = self._order.replications
        self._order.on_progress(
            ReplicationProgress(
                len(self.runs), count, now.fraction, now.time_left_s, count - backend.asked
            )
        )


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the table of a TOML file, with the records that it names: files seen from its folder.

    Raises OSError, or ScenarioError that says what is wrong.
    """
    try:
        table = toml_text.parse(toml_text.read(path))
    except toml_text.TomlError as error:
        raise ScenarioError(str(error)) from error
    return recorded.whole(table, os.path.dirname(os.fspath(path)))  # noqa: PTH120 - "-" has none


def _is_possible(description: Mapping[str, object]) -> bool:
    try:
        Scenario(description)
    except ScenarioError:
        return False
    return True


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors."""
    loaded: dict[str, Any] = json.loads(_native.scenario_schema())
    return loaded
