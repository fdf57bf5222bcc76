"""Work in processes of this machine. If a process dies, its work is executed again.

This module starts the processes itself instead of using `concurrent.futures`, so that the module
knows which piece of work a process died of, other processes go on, and a caller's script does not
need ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final

from airqueue.runs import protocol
from airqueue.runs.errors import BackendError, RunError, WorkError
from airqueue.runs.result import Result
from airqueue.runs.work import Work
from airqueue.runs.worker import READY

_MOST_DEATHS: Final = 3
"""Deaths of processes until their piece of work is considered the reason."""
_MAIN: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from airqueue.runs.worker import serve; serve()"
)
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Limits for libraries that would otherwise use all cores in each process."""


class Local:
    """A number of processes of this machine; None: the number of cores for this process."""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise RunError(f"workers: {workers!r}; expected at least 1")
        self._workers = workers or len(os.sched_getaffinity(0))

    @contextmanager
    def opened(self) -> Iterator[LocalPool]:
        """Start processes as work arrives, and end all of them with the context."""
        pool = LocalPool(self._workers)
        try:
            yield pool
        finally:
            pool.stop()


class LocalPool:
    """Running processes, each with a thread that waits for the process."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads: list[threading.Thread] = []
        self._todo: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Work, Result] | Exception] = queue.SimpleQueue()
        self._error: Exception | None = None
        self._deaths: Counter[str] = Counter()
        """By key of the work; one thread at a time has a piece."""
        self._lock = threading.Lock()
        """Guards the next two fields."""
        self._processes: set[_Process] = set()
        self._stopped = False

    def submit(self, work: Work) -> None:
        """Accept a piece of work; start another process unless there are enough."""
        self._todo.put(work)
        if len(self._threads) < self._workers:
            name = f"worker {len(self._threads) + 1}"
            self._threads.append(threading.Thread(target=self._work, name=name))
            self._threads[-1].start()

    def collect(self, timeout_s: float) -> list[tuple[Work, Result]]:
        """Return the finished work; raises WorkError or CrewError."""
        finished: list[tuple[Work, Result]] = []
        while self._error is None:
            try:
                item = self._done.get(timeout=0 if finished else timeout_s)
            except queue.Empty:
                return finished
            if isinstance(item, Exception):
                self._error = item
            else:
                finished.append(item)
        if finished:
            return finished  # the error is not gone: it is raised by the next call
        raise self._error

    def in_progress(self) -> float:
        """Return 0: a process does not report progress before its end."""
        return 0.0

    def stop(self) -> None:
        """End all processes at once; finished results are not lost."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        """Pass work to a process and receive its answers: the body of a thread."""
        process = None
        while (work := self._todo.get()) is not None and not self._stopped:
            try:
                process = process or self._start()
                self._done.put((work, protocol.answer(work, process.ask(work), "a process here")))
            except _DiedError as died:
                self._forget(process)
                process = None
                if not self._stopped:
                    self._lost(work, died)
            except OSError as error:
                self._done.put(BackendError(f"no process can be started: {error}"))
            # Any other error, too: collect would wait for the result of a thread that has ended.
            except Exception as error:
                self._done.put(error)
        self._forget(process)

    def _start(self) -> _Process:
        with self._lock:
            if self._stopped:
                raise _DiedError("")
            process = _Process()
            self._processes.add(process)
        try:
            process.await_ready()
        except _DiedError as died:
            self._forget(process)
            if self._stopped:
                raise
            raise BackendError(f"a process that was to work ended at once{died}") from died
        return process

    def _forget(self, process: _Process | None) -> None:
        if process is not None:
            with self._lock:
                self._processes.discard(process)
            process.close()

    def _lost(self, work: Work, died: _DiedError) -> None:
        self._deaths[work.key] += 1
        if self._deaths[work.key] < _MOST_DEATHS:
            self._todo.put(work)
            return
        times = f"{_MOST_DEATHS} processes that were at it died, the last one{died}"
        self._done.put(WorkError(work, f"{times}; is there enough memory for it?"))


class _DiedError(Exception):
    """A process ended; the message states how, as the end of a sentence."""


class _Process:
    """One process; see `worker`."""

    def __init__(self) -> None:
        # The process's stderr, for the message if the process dies; open as long as the process runs.
        self._said: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env={**dict.fromkeys(_THREADS, "1"), **os.environ},
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C in the terminal does not reach the process
            )
        except BaseException:
            self._said.close()
            raise

    def await_ready(self) -> None:
        """Wait until the process has loaded all modules."""
        if self._read() != f"{READY}\n":
            raise self._died()

    def ask(self, work: Work) -> str:
        """Return the answer to a request, however long it takes; raises _DiedError."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(protocol.request(work) + "\n")
            stdin.flush()
        except (OSError, ValueError) as error:
            raise self._died() from error
        line = self._read()
        if not line.endswith("\n"):
            raise self._died()
        return line

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """End the process, and wait for its end."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            with suppress(OSError):  # unwritten data have no reader any more
                if stream is not None:
                    stream.close()
        self._process.wait()

    def _read(self) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        return stdout.readline()

    def _died(self) -> _DiedError:
        self._process.kill()
        code = self._process.wait()
        how = f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        self._said.seek(0)
        last = [line.strip() for line in self._said if line.strip()][-1:]
        return _DiedError(f"{how}: {last[0]}" if last else how)
