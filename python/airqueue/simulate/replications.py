"""Replications of a scenario over the processor's cores, interruptible at any time.

Each replication is a separate run in a thread; the engine releases Python's lock while the run
advances. A run advances in pieces of simulated time, so that the process handles Ctrl-C and reports
progress; the pieces do not affect the results.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airqueue.runs import Work
from airqueue.runs.result import Result
from airqueue.simulate import work as kinds_of_work
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.recorders import Recorders

if TYPE_CHECKING:
    from airqueue import _native
    from airqueue.simulate.controlled import ControlledReplication

MOST_SEED: Final = 2**32 - 1
MOST_REPLICATIONS: Final = 100_000
_PIECE_S: Final = 0.1
"""Wall-clock time: approximate duration of a piece of a run, and longest wait of Ctrl-C."""


@dataclass(frozen=True, slots=True)
class ReplicationProgress:
    """Progress of all replications together."""

    finished: int
    """Replications."""
    replications: int
    fraction: float
    """Of all simulated time."""
    time_left_s: float | None
    """Remaining wall-clock time; None until a part has been simulated."""
    kept: int = 0
    """Finished replications that were kept before."""


def engine_seed(seed: int, replication: int) -> int:
    """Return the engine's seed of a replication: ``seed`` × 2³² + ``replication``.

    The engine seeds its random streams by a hash of this number, so streams are independent of each
    other. Two seeds never share a replication.
    """
    return (seed << 32) | replication


def available_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def start(
    scenario: _native.Scenario, seed: int, replication: int, recorders: Recorders | None = None
) -> _native.Run | ControlledReplication:
    """Return a replication that has not begun; the recorders are for the first one alone."""
    options = recorders.options() if recorders is not None and replication == 0 else {}
    try:
        run = scenario.start(engine_seed(seed, replication), **options)
        if recorders is not None and recorders.trace is not None and replication == 0:
            scenario.watch(run, recorders.trace)
        if scenario.buffers is None:
            return run
        return _controlled(scenario, run)
    except ValueError as error:
        raise ScenarioError(str(error)) from error


def pieces(run: _native.Run | ControlledReplication) -> Iterator[float]:
    """Execute a run; yield after each piece how much has been simulated, in seconds."""
    piece_s = run.end_s / 1000
    while not run.done:
        began = time.monotonic()
        run.advance(piece_s)
        took = time.monotonic() - began
        yield run.now_s
        # Never more than twice as long as the piece before: a network may become busy.
        piece_s *= min(2.0, _PIECE_S / took if took > 0 else 2.0)


class Replications:
    """Executes replications of one scenario in threads of this process.

    A backend of `airqueue.runs` for the two kinds of `airqueue.simulate.work`, for this scenario
    alone. One run gives all requested results of a replication, and its capture.
    """

    def __init__(
        self,
        scenario: _native.Scenario,
        workers: int,
        recorders: Recorders,
    ) -> None:
        self._scenario = scenario
        self._workers = workers
        self._recorders = recorders
        self.on_begin: Callable[[], None] | None = None
        """Called before the first piece of work is accepted."""
        self._wanted: dict[int, list[Work]] = {}
        """The requested work of each replication; complete when the first results are collected."""
        self.asked = 0
        """How many replications are asked for their figures."""
        self._todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        """Holds for all that follows."""
        self._results: dict[int, list[Result]] = {}
        """Of replications that have finished and are not collected: one for each piece of work."""
        self._simulated_s: dict[int, float] = {}
        """Of replications that are not collected, how much has been simulated."""

    @contextmanager
    def opened(self) -> Iterator[Replications]:
        """Stop all threads with the context, each after its piece."""
        try:
            yield self
        finally:
            self._stop.set()
            for thread in self._threads:
                if thread.ident is not None:
                    thread.join()

    def submit(self, work: Work) -> None:
        """Accept a piece of work; all work must be submitted before results are collected."""
        if not self._wanted and self.on_begin is not None:
            self.on_begin()
        self.asked += work.kind == "simulation"
        self._wanted.setdefault(work.inputs.get("replication", 0), []).append(work)

    def collect(self, timeout_s: float) -> list[tuple[Work, Result]]:
        """Return the results of the next replication; raises the error of a thread."""
        if not self._threads:
            self._begin()
        try:
            finished = self._done.get(timeout=timeout_s)
        except queue.Empty:
            return []
        if isinstance(finished, BaseException):
            raise finished
        with self._lock:
            self._simulated_s.pop(finished)
            results = self._results.pop(finished)
        return list(zip(self._wanted[finished], results, strict=True))

    def in_progress(self) -> float:
        """Return how much of replications that have not been collected is done."""
        with self._lock:
            simulated_s = sum(self._simulated_s.values())
        return simulated_s / (self._scenario.warm_up_s + self._scenario.duration_s)

    def _begin(self) -> None:
        for replication in self._wanted:
            self._todo.put(replication)
        for number in range(min(self._workers, len(self._wanted))):
            thread = threading.Thread(target=self._work, name=f"replications {number}")
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        """Execute replications until all are done: the body of a thread."""
        try:
            while not self._stop.is_set():
                try:
                    replication = self._todo.get_nowait()
                except queue.Empty:
                    return
                self._replicate(replication)
        except BaseException as error:
            self._done.put(error)
            self._stop.set()

    def _replicate(self, replication: int) -> None:
        """Execute one replication, or a part of the replication if all threads are to stop."""
        works = self._wanted[replication]
        run = start(self._scenario, works[0].inputs["seed"], replication, self._recorders)
        try:
            for simulated_s in pieces(run):
                with self._lock:
                    self._simulated_s[replication] = simulated_s
                if self._stop.is_set():
                    return
            results = [_result(work, run) for work in works]
            if self._recorders is not None and replication == 0:
                self._recorders.take(run)
        finally:
            run.close_pcap()
        with self._lock:
            self._results[replication] = results
        self._done.put(replication)


def _result(work: Work, run: _native.Run | ControlledReplication) -> Result:
    if work.kind == "simulation":
        return Result.read(run.results())
    series = run.series()
    assert series is not None  # the recorders have an interval
    return Result.of(kinds_of_work.plain_series(series))


def _controlled(scenario: _native.Scenario, run: _native.Run) -> ControlledReplication:
    from airqueue.simulate.controlled import ControlledReplication  # noqa: PLC0415 - NumPy is slow to load

    return ControlledReplication(scenario, run)
