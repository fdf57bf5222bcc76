"""A sweep: the points of a file, and the replications that each of them gets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from airqueue import runs, toml_text
from airqueue.files import named
from airqueue.runs import Store, Work
from airqueue.runs.backend import Backend, WorkerPool
from airqueue.runs.result import Result
from airqueue.simulate import cautions, overrides
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.reported import KINDS
from airqueue.simulate.scenario import Scenario
from airqueue.sweep import figures, points, spec
from airqueue.sweep.directory import SweepDirectory
from airqueue.sweep.errors import SweepError
from airqueue.sweep.figures import Figure
from airqueue.sweep.points import Dimension, Point
from airqueue.sweep.results import Outcome, SweepResults

if TYPE_CHECKING:
    from airqueue.description import Description
    from airqueue.simulate.report_types import Run


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; ``results`` has the replications that had finished."""

    def __init__(self, results: SweepResults) -> None:
        super().__init__()
        self.results = results


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """Progress of a sweep."""

    finished: int
    """Points that do not need more replications."""
    points: int
    runs: runs.WorkProgress
    """The replications that are known to be needed so far."""


class Sweep:
    """A sweep whose scenarios have all been checked.

    Parameters
    ----------
    description : dict
        The keys of a sweep file (``docs/sweep.md``); its ``scenario`` may also be a dictionary or a
        `Scenario`.
    folder : path
        Base of relative paths.

    Raises
    ------
    SweepError
        A sweep that cannot be: the message names the key, the value found and the value expected.
    OSError
        A scenario that cannot be read.
    """

    def __init__(
        self, description: Mapping[str, object], folder: str | os.PathLike[str] = "."
    ) -> None:
        self.spec = spec.read(description, Path(folder))
        self.parameters = tuple(each.path for each in self.spec.parameters)
        """The paths of the parameters, in the order of the file."""
        given = self.spec
        self.dimensions: tuple[Dimension, ...] = points.dimensions(
            given.parameters, given.zipped, given.samples, given.sample_seed
        )
        self.points: tuple[Point, ...] = tuple(points.points(self.dimensions, self.parameters))
        self._weights: list[float] = []
        self._figures: list[Run] = []
        """Runs of points whose figures differ from those of earlier points."""
        for point in self.points:
            self._check(point)
        self.check_figures(self.spec.rule.patterns, "until.")

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep file.

        Parameters
        ----------
        path : str or path
            The file; ``-`` is standard input.

        Returns
        -------
        Sweep

        Raises
        ------
        SweepError
            A sweep that cannot be; the message names the file, too.
        OSError
            A file that cannot be read.
        """
        try:
            description = toml_text.parse(toml_text.read(path))
            return cls(description, Path(path).parent)
        except (toml_text.TomlError, SweepError) as error:
            raise SweepError(f"{named(path)}: {error}") from error

    def scenario(self, point: Point) -> Description:
        """Return the description of a point's scenario."""
        try:
            return overrides.apply(self.spec.scenario, point.values)
        except ScenarioError as error:
            raise SweepError(f"parameters.{error}") from error

    def run(
        self,
        out: str | os.PathLike[str],
        backend: Backend | None = None,
        on_progress: Callable[[SweepProgress], None] | None = None,
    ) -> SweepResults:
        """Simulate what a directory does not have, and write the tables into it.

        Every finished replication is kept at once.

        Parameters
        ----------
        out : str or path
            The directory, which is made.
        backend : Backend, optional
            Executes the replications; the tables do not depend on it. None: a process for each core.
        on_progress : callable, optional
            Called with a `SweepProgress` now and then.

        Returns
        -------
        SweepResults

        Raises
        ------
        Interrupted
            Ctrl-C; ``results`` has the replications that had finished.
        RunError
            Work that fails.
        SweepError
            A directory with other results.
        OSError
            A file that cannot be written.
        """
        with SweepDirectory.opened(out) as directory:
            announced = _Announced(
                backend or runs.Local(), lambda: directory.begin_session(self.spec)
            )
            effort = _Effort(self, directory.store)
            interrupted = False
            try:
                effort.execute(announced, on_progress)
            except KeyboardInterrupt:
                announced.begin()
                interrupted = True
            outcomes = tuple(effort.outcomes())
            found = SweepResults(directory.path, self.spec, outcomes, self.warnings())
            results = directory.finish(found, effort.runs)
        if interrupted:
            raise Interrupted(results)
        return results

    def work(self, point: Point, description: Description, replication: int) -> Work:
        """Return one replication of a point as a piece of work."""
        inputs = {"scenario": description, "seed": self.spec.seed, "replication": replication}
        name = f"{point}, replication {replication}"
        return Work("simulation", inputs, self._weights[point.number], name)

    def warnings(self) -> tuple[str, ...]:
        """Return a warning if the points compare queue disciplines with unequal limits.

        Devices are compared as they are, and limits that the sweep sets as it sets them.
        """
        ends = [path.rpartition(".")[2] for path in self.parameters]
        if ("discipline" not in ends and "queue" not in ends) or {"limit", "like"} & {*ends}:
            return ()
        compared: dict[str, Point] = {}
        for point in self.points:
            queues = {p: v for p, v in point.values.items() if ".queue" in f".{p}"}
            compared.setdefault(json.dumps(queues, default=str), point)
        several = [Scenario(self.scenario(each)) for each in compared.values()]
        return tuple(cautions.of_compared(each.queues_in_force() for each in several))

    def check_figures(self, patterns: Iterable[figures.Pattern], key: str) -> None:
        """Raise SweepError, ``key`` before its message, for a pattern without a match."""
        figures.check(list(patterns), self._figures, key)

    def _check(self, point: Point) -> None:
        """Raise SweepError unless the point's scenario can be simulated."""
        described = self.scenario(point)
        try:
            scenario = Scenario(described)
        except ScenarioError as error:
            where = f"{self.spec.source}: " if self.spec.source else ""
            raise SweepError(f"{point}: {where}{error}") from error
        # The cost of a run grows with the simulated time and the number of active stations and flows.
        seconds = scenario.warm_up_s + scenario.duration_s
        self._weights.append(seconds * (len(scenario.stations) + len(scenario.flows)))
        found = scenario.figures()
        if not any(_same_names(found, known) for known in self._figures):
            self._figures.append(found)


def _same_names(one: Run, other: Run) -> bool:
    return all(list(one[kind]) == list(other[kind]) for kind in KINDS)


class _Announced:
    """A backend whose session is recorded once it is there: a wrong address leaves no record."""

    def __init__(self, backend: Backend, record: Callable[[], None]) -> None:
        self._backend = backend
        self._record = record
        self._recorded = False

    @contextmanager
    def opened(self) -> Iterator[WorkerPool]:
        """Open the backend."""
        with self._backend.opened() as pool:
            self.begin()
            yield pool

    def begin(self) -> None:
        """Record the session, once."""
        if not self._recorded:
            self._recorded = True
            self._record()


@dataclass
class _Course:
    """The replications of one scenario, which several points may share."""

    point: Point
    description: Description
    count: int
    """Number of replications known to be needed so far."""
    keys: dict[int, str] = field(default_factory=dict)
    """Figures of the finished replications, by replication."""
    selected: dict[int, dict[Figure, float | None]] = field(default_factory=dict)
    """The figures that decide on more replications."""

    @property
    def finished(self) -> bool:
        """Whether all needed replications have finished."""
        return len(self.keys) == self.count


class _Effort:
    """The execution of a sweep: further replications follow from earlier results."""

    def __init__(self, sweep: Sweep, store: Store) -> None:
        self._sweep = sweep
        self._rule = sweep.spec.rule
        self._store = store
        self._of_point: list[_Course] = []
        self._where: dict[str, tuple[_Course, int]] = {}
        """Key of a piece of work -> the owner of the replication."""
        self._works: dict[str, Work] = {}
        courses: dict[str, _Course] = {}
        for point in sweep.points:
            description = sweep.scenario(point)
            text = json.dumps(description, sort_keys=True)
            course = courses.setdefault(text, _Course(point, description, self._rule.least))
            self._of_point.append(course)
        self._courses = list(courses.values())

    def execute(
        self, backend: Backend | None, on_progress: Callable[[SweepProgress], None] | None
    ) -> None:
        """Simulate until every point has its replications."""

        def report(progress: runs.WorkProgress) -> None:
            if on_progress is not None:
                finished = sum(course.finished for course in self._of_point)
                on_progress(SweepProgress(finished, len(self._of_point), progress))

        works = [work for course in self._courses for work in self._more(course, 0)]
        runs.execute(works, self._store, backend, report, self._further)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each point: its finished replications."""
        for point, course in zip(self._sweep.points, self._of_point, strict=True):
            wide = self._rule.wide([course.selected[i] for i in sorted(course.selected)])
            yield Outcome(
                point,
                course.description,
                tuple(sorted(course.keys)),
                complete=course.finished,
                wide=tuple(sorted(wide)),
            )

    def runs(self, outcome: Outcome) -> dict[int, Run]:
        """Return the figures of a point's replications."""
        keys = self._of_point[outcome.point.number].keys
        return {i: self._store.read(self._works[keys[i]]) for i in outcome.replications}

    def _more(self, course: _Course, first: int) -> Iterator[Work]:
        for replication in range(first, course.count):
            work = self._sweep.work(course.point, course.description, replication)
            self._where[work.key] = (course, replication)
            self._works[work.key] = work
            yield work

    def _further(self, work: Work, result: Result) -> Iterable[Work]:
        course, replication = self._where[work.key]
        course.keys[replication] = work.key
        if not self._rule.widths:
            return ()
        course.selected[replication] = self._rule.selected(result.value)
        if not course.finished:
            return ()
        before = course.count
        course.count = self._rule.next([course.selected[i] for i in range(before)])
        return list(self._more(course, before))
