"""Keeping results while further work goes on: a disk takes milliseconds until a file is safe."""

from __future__ import annotations

import queue
import threading
from types import TracebackType
from typing import Final

from airqueue.runs.result import Result
from airqueue.runs.store import Store
from airqueue.runs.work import Work

_THREADS: Final = 4
"""They mostly wait for the disk, which makes several files safe in the time of one."""
_MOST_WAITING: Final = 64
"""Results that wait to be written: more would only take memory."""


class Keeper:
    """Threads that write results into a store, within a ``with`` statement.

    At the end all results have been written, also if the statement is left by an exception.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._waiting: queue.Queue[tuple[Work, Result] | None] = queue.Queue(_MOST_WAITING)
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Keeper:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        if error is None:
            self.check()

    def keep(self, work: Work, result: Result) -> None:
        """Write a result, soon. Raises the error of an earlier one that cannot be written."""
        self.check()
        if len(self._threads) < _THREADS:
            self._threads.append(threading.Thread(target=self._write, name="keeper"))
            self._threads[-1].start()
        self._waiting.put((work, result))

    def check(self) -> None:
        """Raise the error of a result that cannot be written: of the disk, or of a number.

        Raises OSError, and ValueError for what JSON does not have, such as infinity.
        """
        if self._error is not None:
            raise self._error

    def _write(self) -> None:
        """Write what comes: the body of a thread."""
        while (item := self._waiting.get()) is not None:
            try:
                self.store.keep(*item)
            except BaseException as error:  # nobody would see the thread's: `check` raises this one
                self._error = self._error or error
