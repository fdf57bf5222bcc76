"""Executing work: kept results are not computed again, and new results are kept at once."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from airqueue.runs.backend import Backend, WorkerPool
from airqueue.runs.keeper import Keeper
from airqueue.runs.result import Result
from airqueue.runs.store import Store
from airqueue.runs.work import Work

_REFRESH_S: Final = 0.25
"""Interval between progress reports."""

Further: TypeAlias = Callable[[Work, Result], Iterable[Work]]


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """Progress of all work together."""

    finished: int
    """Pieces, kept ones included."""
    pieces: int
    kept: int
    """Finished pieces whose results were kept before."""
    fraction: float
    """Finished part of all work by its weight, 0 to 1."""
    time_left_s: float | None
    """Remaining wall-clock time; None until a part of the work is done."""


def execute(
    works: Iterable[Work],
    store: Store | None = None,
    backend: Backend | None = None,
    on_progress: Callable[[WorkProgress], None] | None = None,
    further: Further | None = None,
    *,
    again: Container[str] = (),
) -> Mapping[str, Any]:
    """Execute work and return its results by key; results do not depend on the backend.

    ``store`` keeps results, and work with a kept result is not executed again (None: results are
    not kept). ``backend`` executes the work (None: a local process for each core). ``further`` is
    called once with each piece of work and its result, also a kept result, and returns the work
    that follows. ``again`` has keys of work to execute although its result is kept, for a side
    effect of the work. Heavy pieces begin first. Raises WorkError that names a failed piece,
    CrewError, OSError where a result cannot be written, and lets KeyboardInterrupt pass: in each
    case all work in progress is stopped, and finished results are kept.
    """
    with ExitStack() as stack:
        keeper = None if store is None else stack.enter_context(Keeper(store))
        pool = stack.enter_context((backend or _local()).opened())
        effort = _Effort(pool, keeper, on_progress, further, again)
        effort.take(works)
        while effort.waiting:
            for work, result in pool.collect(_REFRESH_S):
                effort.finish(work, result)
            effort.report()
    return effort.results


def _local() -> Backend:
    """Return a process for each core; its module loads for whoever needs these."""
    from airqueue.runs.local import Local  # noqa: PLC0415

    return Local()


class _Effort:
    """The requested work, and its progress."""

    def __init__(
        self,
        pool: WorkerPool,
        keeper: Keeper | None,
        on_progress: Callable[[WorkProgress], None] | None,
        further: Further | None,
        again: Container[str],
    ) -> None:
        self._pool = pool
        self._again = again
        self._keeper = keeper
        self._on_progress = on_progress
        self._further = further
        self._works: dict[str, Work] = {}
        self._results: dict[str, Any] = {}
        self._began = time.monotonic()
        self._reported_at = -math.inf
        self._weight = 0.0
        self._kept = 0
        self._kept_weight = 0.0
        self._done_weight = 0.0
        self.waiting = 0
        """Pieces that have been submitted and have not finished."""

    @property
    def results(self) -> Mapping[str, Any]:
        """The results by key, in the order in which the work came."""
        if self._keeper is None:
            return {key: self._results[key] for key in self._works}
        return _Kept(self._keeper.store, self._works)

    def take(self, works: Iterable[Work]) -> None:
        """Submit new work, and the work that follows from kept results."""
        new: list[Work] = []
        todo = deque(works)
        while todo:
            work = todo.popleft()
            if work.key in self._works:
                continue
            self._works[work.key] = work
            self._weight += work.weight
            try:
                result = self._read(work)
            except KeyError:
                new.append(work)
                continue
            self._kept += 1
            self._kept_weight += work.weight
            todo.extend(self._followers(work, Result.of(result)))
        self.waiting += len(new)
        for work in sorted(new, key=lambda each: -each.weight):
            self._pool.submit(work)
        self.report()

    def finish(self, work: Work, result: Result) -> None:
        """Keep a result, and submit the work that follows from it."""
        if self._keeper is None:
            self._results[work.key] = result.value
        else:
            self._keeper.keep(work, result)
        self.waiting -= 1
        self._done_weight += work.weight
        self.take(self._followers(work, result))

    def report(self) -> None:
        """Report progress."""
        now = time.monotonic()
        if self._on_progress is None or not self._works:
            return
        if self.waiting and now < self._reported_at + _REFRESH_S / 2:
            return
        self._reported_at = now
        total, done = self._weight, self._done_weight + self._pool.in_progress()
        left = max(total - self._kept_weight - done, 0.0)
        elapsed = now - self._began
        pieces = len(self._works)
        progress = WorkProgress(
            finished=pieces - self.waiting,
            pieces=pieces,
            kept=self._kept,
            fraction=1.0 if self.waiting == 0 else min((self._kept_weight + done) / total, 1.0),
            time_left_s=elapsed * left / done if done > 0 else None,
        )
        self._on_progress(progress)

    def _read(self, work: Work) -> Any:
        if self._keeper is None or work.key in self._again:
            raise KeyError(work.key)
        return self._keeper.store.read(work)

    def _followers(self, work: Work, result: Result) -> Iterable[Work]:
        return () if self._further is None else self._further(work, result)


class _Kept(Mapping[str, Any]):
    """Results that stay on disk until they are used: together they may be large."""

    def __init__(self, store: Store, works: Mapping[str, Work]) -> None:
        self._store = store
        self._works = works

    def __getitem__(self, key: str) -> Any:
        return self._store.read(self._works[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._works)

    def __len__(self) -> int:
        return len(self._works)
