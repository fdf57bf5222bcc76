"""A network to simulate, from a file, a dictionary or a few words."""

from __future__ import annotations

import copy
import functools
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airqueue import _native, runs, text, toml_text
from airqueue.files import named
from airqueue.runs import Store, Work, execute
from airqueue.runs.result import Result
from airqueue.simulate import other_files, recorded, renamed
from airqueue.simulate import overrides as changes
from airqueue.simulate.directory import ResultsDirectory
from airqueue.simulate.errors import Problem, ScenarioError, check_whole
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
from airqueue.simulate.reported import (
    described,
    map_of,
    queues_in_force_of,
    run_of,
    snapshot_of,
)
from airqueue.simulate.results import Results
from airqueue.simulate.work import one_replication, series_from, series_of_first

if TYPE_CHECKING:
    from airqueue.description import Description
    from airqueue.monitored import Map, QueueInForce, Snapshot
    from airqueue.records import SeriesDict
    from airqueue.simulate.report_types import Run


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; ``results`` has the replications that had finished."""

    def __init__(self, results: Results) -> None:
        super().__init__()
        self.results = results


class Scenario:
    """A network that has been checked and can be simulated.

    Warns with RenamedKeyWarning of keys by old names; `Scenario.description` has the new ones.

    Parameters
    ----------
    description : dict
        The keys of a scenario file (``docs/reference/scenario-keys.md``). Files of records are read
        from the working directory, and their values are in `Scenario.description`.
    others_real : bool, optional
        Whether an emulation makes nodes real that the description does not mark: their programs may
        use links that no flow uses, whose changes have no effect otherwise and are refused.

    Raises
    ------
    ScenarioError
        The scenario cannot be simulated: ``problems`` has all errors, each with its key, what was
        found and what was expected.
    """

    def __init__(self, description: Mapping[str, object], *, others_real: bool = False) -> None:
        given = plain(description)
        if not isinstance(given, dict):
            raise ScenarioError(
                f"{description!r}; expected a dictionary with the keys of a scenario file: "
                "Scenario.from_toml reads a file"
            )
        of_another = other_files.said(given)
        if of_another is not None:
            raise ScenarioError(of_another)
        self.records = recorded.named(given)
        """Files of records that the description named."""
        self._others_real = others_real
        self._description = described(renamed.current(recorded.whole(given)))
        text = json.dumps(self._description)
        try:
            self._native = _native.Scenario(text, others_real=others_real)
        except ValueError as error:
            found = _native.scenario_problems(text, others_real=others_real)
            problems = [Problem(*each) for each in found]
            problems = recorded.located(problems or [Problem("", str(error))], given)
            raise ScenarioError.of(problems) from error

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[Description], dict[str, Any]]:
        """Copies and pickles are made anew from the description."""
        make = functools.partial(Scenario, others_real=self._others_real)
        return make, (self._description,), {"records": self.records}

    def __eq__(self, other: object) -> bool:
        """Scenarios are equal if their descriptions are."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._description == other._description

    def __hash__(self) -> int:
        return hash(json.dumps(self._description, sort_keys=True))

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
    def of(
        cls,
        given: Scenario | Mapping[str, object] | str | os.PathLike[str],
        overrides: Mapping[str, object] | None = None,
        *,
        others_real: bool = False,
    ) -> Scenario:
        """Return the scenario that is given in one of its forms.

        Parameters
        ----------
        given : Scenario, dict, str or path
            A checked scenario, the keys of a scenario file, or the path of a scenario file.
        overrides : dict, optional
            Values to change, as `Scenario.changed` takes them.
        others_real : bool, optional
            As for `Scenario`.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            The scenario cannot be simulated, or what is given is none.
        OSError
            The file cannot be read.
        """
        if isinstance(given, str | os.PathLike) and os.fspath(given):
            return cls.from_toml(given, overrides, others_real=others_real)
        if not isinstance(given, Scenario | Mapping):
            raise ScenarioError(
                f"{toml_text.found(given)} is no scenario; expected a Scenario, a dictionary with "
                "the keys of a scenario file, or the path of one"
            )
        scenario = given if isinstance(given, Scenario) else cls(given, others_real=others_real)
        return scenario.changed(overrides) if overrides else scenario

    @classmethod
    def from_toml(
        cls,
        path: str | os.PathLike[str],
        overrides: Mapping[str, object] | None = None,
        *,
        others_real: bool = False,
    ) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path : str or path
            The file; ``-`` is standard input.
        overrides : dict, optional
            Values to change: ``{"flows.upload.rate": "2 Mb/s"}``.
        others_real : bool, optional
            As for `Scenario`.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            The scenario cannot be simulated; the message names the file and the lines, too.
        OSError
            The file cannot be read.
        """
        with errors_in(path) as source:
            unchanged = read_file(path, source)
            if not overrides:
                return cls(unchanged, others_real=others_real)
        try:
            return cls(changes.apply(unchanged, overrides), others_real=others_real)
        except ScenarioError as error:
            if _is_possible(unchanged, others_real=others_real):
                raise _in_file(error, f"{named(path)}, as changed", []) from error
            raise _in_file(error, named(path), source) from error

    def changed(self, overrides: Mapping[str, object]) -> Scenario:
        """Return the scenario with some values changed.

        Parameters
        ----------
        overrides : dict
            Values by their keys, joined by dots: ``{"mac.rts_threshold": "0 B"}``. An element of a
            list is named by its ``name`` or its place.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            There is no such place, or the changed scenario cannot be simulated.
        """
        changed = changes.apply(self._description, overrides)
        return Scenario(changed, others_real=self._others_real)

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

    def queues_in_force(self) -> list[QueueInForce]:
        """Return the discipline and the limits of each queue that has figures, in their order.

        They are those of the scenario, or where it says nothing the defaults.
        """
        return queues_in_force_of(self._native.queues_in_force())

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
        """Simulate independent replications.

        Scenario, seed and version of airqueue determine the results, whatever the workers.
        Replication i of seed s is what the engine makes of the seed s · 2³² + i.

        Parameters
        ----------
        seed : int
            From 0 to 2³² - 1.
        replications : int
            At least 1.
        workers : int, optional
            Replications at the same time. None: as many as this process has cores.
        on_progress : callable, optional
            Called with a `ReplicationProgress` now and then.
        recorders : Recorders, optional
            A capture and time series of the first replication.
        out : path, optional
            A directory for all results, in which each replication is written as it finishes;
            those that are there already are not simulated again.
        force : bool
            Discards what else ``out`` has.

        Returns
        -------
        Results

        Raises
        ------
        Interrupted
            Ctrl-C; ``results`` has the replications that had finished.
        ScenarioError
            Arguments that make no sense.
        ResultsError
            A directory with other results.
        OSError
            A file that cannot be written.
        """
        seed = check_whole("seed", seed, 0, MOST_SEED)
        replications = check_whole("replications", replications, 1, MOST_REPLICATIONS)
        if workers is not None:
            workers = check_whole("workers", workers, 1, MOST_REPLICATIONS)
        recorders = recorders or Recorders()
        whole_s, interval_s = self.warm_up_s + self.duration_s, recorders.series_interval_s
        if interval_s is not None and interval_s > whole_s:
            raise ScenarioError(
                f"the series have intervals of {text.seconds(interval_s)}, and the run ends after "
                f"{text.seconds(whole_s)}: give shorter ones"
            )
        order = _Order(
            seed,
            replications,
            workers or available_workers(),
            on_progress,
            recorders,
        )
        if out is None:
            return self._execute(order, None)
        with ResultsDirectory.opened(out, self._description, seed, force=force) as directory:
            return self._execute(order, directory)

    def replicate(self, seed: int = 1, replication: int = 0) -> Run:
        """Simulate one replication, which gives the same figures alone as among others.

        Parameters
        ----------
        seed : int
            From 0 to 2³² - 1.
        replication : int
            Its number, from 0.

        Returns
        -------
        dict
            Figures by kind and name, as `Results.runs` has them; units are in the names.

        Raises
        ------
        ScenarioError
            Arguments that make no sense.
        KeyboardInterrupt
            Ctrl-C.
        """
        return run_of(self.replicated(seed, replication))

    def replicated(self, seed: int, replication: int) -> str:
        """Return what `replicate` does, as the engine's JSON: for whoever passes the figures on."""
        seed = check_whole("seed", seed, 0, MOST_SEED)
        replication = check_whole("replication", replication, 0, MOST_REPLICATIONS - 1)
        run = start(self._native, seed, replication)
        for _ in pieces(run):
            pass  # where Ctrl-C is handled
        return run.results()

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

    def _note(self, work: Work, result: Result) -> tuple[Work, ...]:
        if work.kind == "simulation":
            self.runs[work.inputs["replication"]] = result.value
        else:
            self.series = series_from(result.value)
        return ()

    def _tell(self, backend: Replications, now: runs.WorkProgress) -> None:
        assert self._order.on_progress is not None
        count = self._order.replications
        self._order.on_progress(
            ReplicationProgress(
                len(self.runs), count, now.fraction, now.time_left_s, count - backend.asked
            )
        )


def read_file(path: str | os.PathLike[str], source: list[str] | None = None) -> dict[str, Any]:
    """Return the table of a TOML file. The records that it names are seen from its folder.

    The file's text is added to ``source``. Raises OSError, or ScenarioError that says what is
    wrong, and does not name the file.
    """
    try:
        text = toml_text.read(path)
        if source is not None:
            source.append(text)
        table = toml_text.parse(text)
    except toml_text.TomlError as error:
        raise ScenarioError(str(error)) from error
    return recorded.beside(table, Path(path).parent)


@contextmanager
def errors_in(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Let errors of a scenario name the file, and the line of each key.

    Yields a list for `read_file`, which puts the file's text there.
    """
    source: list[str] = []
    try:
        yield source
    except ScenarioError as error:
        raise _in_file(error, named(path), source) from error


def _in_file(error: ScenarioError, file: str, source: Sequence[str]) -> ScenarioError:
    """Return the error with the file, and with the lines of keys where the file's text is known."""
    if not error.problems:
        return ScenarioError(f"{file}: {error}")
    keys = [each.key for each in error.problems]
    lines = _native.toml_lines(source[0], keys) if source else [None] * len(keys)
    found = [replace(each, line=at) for each, at in zip(error.problems, lines, strict=True)]
    return ScenarioError.of(found, file)


def _is_possible(description: Mapping[str, object], *, others_real: bool) -> bool:
    try:
        Scenario(description, others_real=others_real)
    except ScenarioError:
        return False
    return True


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors."""
    loaded: dict[str, Any] = json.loads(_native.scenario_schema())
    return loaded
