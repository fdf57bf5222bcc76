"""Replications of a scenario over the processor's cores, interruptible at any time.

Each replication is a run of its own in a thread; the engine does not hold Python's lock while it
advances. A run advances piece by piece of simulated time, so that Ctrl-C is heard and progress is
known; pieces change nothing in what is simulated.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.recorders import Recorders

if TYPE_CHECKING:
    from airqueue import _native
    from airqueue._native import SeriesDict
    from airqueue.simulate.steered import Steered

MOST_SEED: Final = 2**32 - 1
MOST_REPLICATIONS: Final = 100_000
_PIECE_S: Final = 0.1
"""Of the wall clock: how long a piece of a run takes about, and how long Ctrl-C waits at most."""
_REFRESH_S: Final = 0.25
"""How often progress is told."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far all replications together are."""

    finished: int
    """Replications."""
    replications: int
    fraction: float
    """Of all simulated time."""
    time_left_s: float | None
    """On the wall clock; None until something has been simulated."""
    kept: int = 0
    """Of those that finished, how many were there before."""


def engine_seed(seed: int, replication: int) -> int:
    """Return the engine's seed of a replication: ``seed`` × 2³² + ``replication``.

    The engine makes its streams from a hash of it, so that they are independent of each other, and no
    replication of one seed is one of another seed.
    """
    return (seed << 32) | replication


def available_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


class Replications:
    """The replications ``missing`` of a scenario; `run` returns what finished, also when interrupted.

    ``counts_sent`` is as for `Steered`. ``kept`` others are there already. ``on_progress`` is called
    from the calling thread, ``on_finished`` from several, with a replication, its figures as JSON,
    and the series if it has any.
    """

    def __init__(
        self,
        scenario: _native.Scenario,
        seed: int,
        missing: Sequence[int],
        workers: int,
        recorders: Recorders,
        *,
        counts_sent: bool = False,
        kept: int = 0,
        on_progress: Callable[[Progress], None] | None = None,
        on_finished: Callable[[int, str, SeriesDict | None], None] | None = None,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._missing = missing
        self._recorders = recorders
        self._counts_sent = counts_sent
        self.series: SeriesDict | None = None
        """Of the first replication, once it has finished, if they are recorded."""
        self._kept = kept
        self._tell = on_progress
        self._finished = on_finished
        self._threads = [
            threading.Thread(target=self._work, name=f"replications {i}")
            for i in range(min(workers, len(missing)))
        ]
        self._stop = threading.Event()
        self._idle = threading.Semaphore(0)
        """Counts the threads that have ended."""
        self._lock = threading.Lock()
        """Holds for all that follows."""
        self._next = 0
        self._results: dict[int, str] = {}
        self._under_way_s: dict[int, float] = {}
        self._error: BaseException | None = None

    def run(self) -> tuple[dict[int, str], bool]:
        """Return the engine's JSON of each replication that finished, and whether it was Ctrl-C
        that left the others out.
        """
        began = time.monotonic()
        interrupted = False
        try:
            for thread in self._threads:
                thread.start()
            self._await(began)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self._stop.set()
            for thread in self._threads:
                if thread.ident is not None:
                    thread.join()
        if self._error is not None:
            raise self._error
        return dict(sorted(self._results.items())), interrupted

    def _await(self, began: float) -> None:
        """Wait until all threads have ended."""
        ended = 0
        while ended < len(self._threads):
            ended += self._idle.acquire(timeout=_REFRESH_S)
            if self._tell is not None and self._error is None:
                self._tell(self._progress(time.monotonic() - began))

    def _progress(self, elapsed: float) -> Progress:
        each_s = self._scenario.warm_up_s + self._scenario.duration_s
        with self._lock:
            finished = len(self._results)
            done = finished + sum(self._under_way_s.values()) / each_s
        missing, replications = len(self._missing), self._kept + len(self._missing)
        left = elapsed * max(missing - done, 0) / done if done > 0 else None
        fraction = min((self._kept + done) / replications, 1.0)
        return Progress(self._kept + finished, replications, fraction, left, self._kept)

    def _work(self) -> None:
        """Carry out replications until there are none left: what a thread does."""
        try:
            while not self._stop.is_set():
                with self._lock:
                    index = self._next
                    self._next += 1
                if index >= len(self._missing):
                    return
                self._replicate(self._missing[index])
        except BaseException as error:
            self._error = error
            self._stop.set()
        finally:
            self._idle.release()

    def _replicate(self, replication: int) -> None:
        """Carry out one replication, or a part of it if all are to stop."""
        run = self._start(replication)
        try:
            self._advance(run, replication)
        finally:
            run.close_pcap()

    def _start(self, replication: int) -> _native.Run | Steered:
        options = self._recorders.options() if replication == 0 else {}
        try:
            run = self._scenario.start(engine_seed(self._seed, replication), **options)
            if self._scenario.buffers is None:
                return run
            return _steered(self._scenario, run, counts_sent=self._counts_sent)
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    def _advance(self, run: _native.Run | Steered, replication: int) -> None:
        piece_s = run.end_s / 1000
        while not self._stop.is_set():
            if run.done:
                self._finish(replication, run)
                return
            began = time.monotonic()
            run.advance(piece_s)
            took = time.monotonic() - began
            with self._lock:
                self._under_way_s[replication] = run.now_s
            # Never more than twice as long as the piece before: a network may become busy.
            piece_s *= min(2.0, _PIECE_S / took if took > 0 else 2.0)

    def _finish(self, replication: int, run: _native.Run | Steered) -> None:
        """Take the results of a run that is done."""
        result, series = run.results(), run.series()
        if self._finished is not None:
            self._finished(replication, result, series)
        with self._lock:
            self.series = series or self.series
            self._results[replication] = result
            self._under_way_s.pop(replication, None)


def _steered(scenario: _native.Scenario, run: _native.Run, *, counts_sent: bool) -> Steered:
    from airqueue.simulate.steered import Steered  # noqa: PLC0415 - scipy is slow to load

    return Steered(scenario, run, counts_sent=counts_sent)
