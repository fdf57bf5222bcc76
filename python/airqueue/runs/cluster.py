"""Work on a Dask cluster. If a worker dies, other workers get its work."""

from __future__ import annotations

import queue
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import airqueue
from airqueue import lazy, toml_text
from airqueue.runs import protocol
from airqueue.runs.errors import BackendError, RunError, WorkError
from airqueue.runs.result import Result
from airqueue.runs.work import Work

if TYPE_CHECKING:
    import logging
else:
    logging = lazy.Module("logging")

_CONNECT_S: Final = 10.0
_PATIENCE_S: Final = 60.0
"""Longest time of the cluster without workers."""
_CHECK_S: Final = 5.0
"""Interval between checks for workers."""
_ADDRESS: Final = re.compile(r"[a-z]+://[^\s/]+:[0-9]{1,5}")


def is_address(text: str) -> bool:
    """Return whether a text is the address of a scheduler, there or not."""
    return _ADDRESS.fullmatch(text) is not None


class Cluster:
    """The workers of a Dask scheduler, as ``tcp://HOST:8786``.

    Each worker must have the same airqueue as this process. Workers are looked up when work begins:
    CrewError then states what is wrong with the address, the scheduler or a worker.
    """

    def __init__(self, address: str, patience_s: float = _PATIENCE_S) -> None:
        """Name a scheduler; patience_s: how long the scheduler may be without workers."""
        self._address = address
        self._patience_s = patience_s

    @contextmanager
    def opened(self) -> Iterator[ClusterPool]:
        """Connect to the scheduler; the end of the context cancels work that has not begun."""
        client = _connected(self._address)
        pool = ClusterPool(client, self._address, self._patience_s)
        try:
            _check_versions(client)
            yield pool
        finally:
            pool.stop()


class ClusterPool:
    """Workers of a cluster at work."""

    def __init__(self, client: Any, address: str, patience_s: float) -> None:
        self._client = client
        self._address = address
        self._patience_s = patience_s
        self._works: dict[Any, Work] = {}
        """By future, for work that has not been collected."""
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._error: RunError | None = None
        self._seen = time.monotonic()
        """Time when a worker was last seen."""
        self._next_check = self._seen + min(_CHECK_S, patience_s)

    def submit(self, work: Work) -> None:
        """Hand a piece of work to the scheduler."""
        key = f"airqueue-{work.stored_key}"
        future = self._client.submit(run_on_worker, protocol.request(work), key=key)
        self._works[future] = work
        future.add_done_callback(self._done.put)

    def collect(self, timeout_s: float) -> list[tuple[Work, Result]]:
        """Return the finished work; raises WorkError or CrewError."""
        finished: list[tuple[Work, Result]] = []
        for future in self._finished_futures(timeout_s):
            work = self._works.pop(future)
            try:
                finished.append((work, self._result(work, future)))
            except RunError as error:
                self._error = error
        if self._error is not None and not finished:
            raise self._error
        return finished  # what finished is kept before an error is raised by the next call

    def _finished_futures(self, timeout_s: float) -> list[Any]:
        if self._error is not None:
            return []
        try:
            futures = [self._done.get(timeout=timeout_s)]
        except queue.Empty:
            self._check_alive()
            return []
        while not self._done.empty():
            futures.append(self._done.get_nowait())
        return futures

    def in_progress(self) -> float:
        """Return 0: a process does not report progress before its end."""
        return 0.0

    def stop(self) -> None:
        """Cancel work that has not begun, and disconnect."""
        if self._client.status == "running":
            self._client.cancel(list(self._works), force=True)
        self._client.close()

    def _result(self, work: Work, future: Any) -> Result:
        try:
            line, who = future.result()
        except Exception as error:
            raise self._failure(work, error) from error
        return protocol.answer(work, line, f"the worker {who}")

    def _failure(self, work: Work, error: Exception) -> RunError:
        """Translate an error of the cluster, not of the work."""
        name = type(error).__name__
        if name == "KilledWorker":
            return WorkError(work, "several workers that were at it died; is there enough memory?")
        if isinstance(error, ImportError | AttributeError):
            version = airqueue.__version__
            return BackendError(
                f"a worker cannot load airqueue {version}: {error}; install it there"
            )
        if self._client.status != "running":
            return self._gone()
        return BackendError(f"the cluster at {self._address} failed: {name}: {error}")

    def _check_alive(self) -> None:
        """Raise CrewError if the scheduler is gone, or has been without workers for too long."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_S
        try:
            workers = len(self._client.scheduler_info()["workers"])
        except (OSError, ValueError) as error:
            raise self._gone() from error
        if self._client.status != "running":
            raise self._gone()
        if workers:
            self._seen = now
        elif now - self._seen > self._patience_s:
            raise BackendError(
                f"the scheduler at {self._address} has no worker; start some, as with "
                f"'dask worker {self._address}'"
            )

    def _gone(self) -> BackendError:
        return BackendError(f"the scheduler at {self._address} is gone; what had finished is kept")


def run_on_worker(line: str) -> tuple[str, str]:
    """Execute a request on a worker; return the answer and the worker's address."""
    from distributed import get_worker  # noqa: PLC0415 - an optional dependency

    return protocol.run_request(line), get_worker().address


def _connected(address: str) -> Any:
    distributed = lazy.required("distributed")
    if not is_address(address):
        raise _nowhere(address, "no such address")
    # This module reports lost workers in sentences.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _nowhere(address, str(error) or type(error).__name__) from error


def _nowhere(address: str, why: str) -> BackendError:
    return BackendError(
        f"no Dask scheduler at {address!r}: {toml_text.short(why)}; expected tcp://HOST:PORT, the "
        "address that 'dask scheduler' prints"
    )


def _check_versions(client: Any) -> None:
    """Raise CrewError if a worker has another airqueue, or none."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, and few need a cluster

    # Imported by name, so that the check also runs on workers without airqueue.
    found = client.run(metadata.version, "airqueue", on_error="return")
    for worker, version in sorted(found.items()):
        if version != airqueue.__version__:
            has = f"airqueue {version}" if isinstance(version, str) else "no airqueue"
            raise BackendError(
                f"the worker {worker} has {has} and this is {airqueue.__version__}; install the "
                "same version on both"
            )
