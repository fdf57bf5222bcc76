"""A prober over real sockets: a session with an `airqueue server`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from airqueue._native import Client, Load, NativeError
from airqueue.measure.native import FLOWS, highest_rate_pps, run_from_native
from airqueue.measure.plan import Plan
from airqueue.measure.prober import Direction, ProbeError, RunInterrupted, RunProgress
from airqueue.measure.records import Run

if TYPE_CHECKING:
    # Shapes that the stub names; the compiled module has no such types.
    from airqueue.records import LoadSeriesDict, PollDict

DEFAULT_PORT = 5860
PROGRESS_EVERY_S = 0.2
LOOK_EVERY_S = 0.25
"""How often it is looked whether a run has begun, whose load then begins."""
POLL_EVERY_S = 0.01
"""The longest delay until the end of a run, or Ctrl-C, is noticed."""
PARTIAL_WITHIN_S = 10.0
"""Longest wait for the records of a run that Ctrl-C stopped."""


class OverSockets(ABC):
    """What probers over sockets share: the time since they were made, and leaving with a block."""

    def __init__(self) -> None:
        self._made = time.monotonic()

    def elapsed_s(self) -> float:
        """Return the time since the prober was made in seconds."""
        return time.monotonic() - self._made

    def wait(self, seconds: float) -> None:
        """Let time pass with nothing sent."""
        time.sleep(seconds)

    @abstractmethod
    def close(self) -> None:
        """Leave all sessions."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def progress_of(seen: PollDict) -> RunProgress:
    """Return how far a run is, from what a client says."""
    return RunProgress(
        elapsed_s=seen["elapsed_s"],
        planned_s=seen["planned_s"],
        received=seen["received"],
        lost=seen["lost"],
        delay_s=seen["delay_s"],
        waits_s=seen["waits_s"],
        runs_ahead=seen["runs_ahead"],
    )


class LiveProber(OverSockets):
    """Carries out plans with a server: connects when made, leaves when closed.

    ``local_ports``: the flows' local UDP ports in order, any free port where none is given.
    ``netns``: path of a network namespace to open the sockets in. ``max_rate_bps``: own cap on the
    IP bit rate, beside the server's. ``max_wait_s``: longest wait for the first turn, where other
    clients measure with the server.

    Raises ProbeError, here and in `run`.
    """

    def __init__(
        self,
        host: str,
        port: int = DEFAULT_PORT,
        *,
        direction: Direction = "down",
        key: bytes | None = None,
        max_rate_bps: float | None = None,
        flows: int = FLOWS,
        local_ports: Sequence[int] = (),
        netns: str | PathLike[str] | None = None,
        timeout_s: float = 5.0,
        max_wait_s: float = 600.0,
    ) -> None:
        super().__init__()
        self.direction: Direction = direction
        self._max_rate_bps = max_rate_bps
        try:
            self._client = Client(
                host,
                port,
                key=key,
                flows=flows,
                local_ports=list(local_ports),
                netns=netns,
                timeout_s=timeout_s,
                max_wait_s=max_wait_s,
            )
        except NativeError as error:
            raise ProbeError(f"{error}.") from error
        self._limits = self._client.limits()

    def max_rate_pps(self, size_bytes: int) -> float:
        """Return the highest packet rate that both ends agree to for IP packets of this size."""
        return highest_rate_pps(self._limits, size_bytes, self._max_rate_bps)

    def run(
        self,
        plan: Plan,
        meta: Mapping[str, Any],
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> Run:
        """Carry out a plan; ``on_progress`` is called about five times a second.

        Raises ProbeError. Ctrl-C stops the run at both ends and raises RunInterrupted with the
        records until then.
        """
        try:
            self._client.start(plan.native(), self.direction)
            self._watch(on_progress)
            return run_from_native(self._client.finish(0.0), meta)
        except NativeError as error:
            raise ProbeError(f"{error}.") from error
        except KeyboardInterrupt:
            raise RunInterrupted(self._partial(meta)) from None
        except BaseException:
            self._stop()
            raise

    def run_with_load(
        self,
        plan: Plan,
        down: int,
        up: int,
        on_progress: Callable[[RunProgress], None] | None = None,
        *,
        after_s: float = 0.0,
    ) -> tuple[LoadSeriesDict, Run, int]:
        """Carry out a plan with connections of TCP beside it, opened ``after_s`` after its begin.

        Returns what the connections carried, the records of the plan, and when the plan began, in ns
        of CLOCK_MONOTONIC. Raises ProbeError. Ctrl-C stops both and raises KeyboardInterrupt.
        """
        load: Load | None = None
        began_ns: int | None = None
        try:
            self._client.start(plan.native(), self.direction)
            while not self._watch(on_progress, LOOK_EVERY_S):
                began_ns = self._client.poll()["started_ns"]
                if load is None and began_ns is not None and _is_over(began_ns, after_s):
                    load = self._client.load(down, up)
            run = run_from_native(self._client.finish(0.0), {"kind": "load"})
        except NativeError as error:
            raise ProbeError(f"{error}.") from error
        except BaseException:
            self._stop()
            raise
        if load is None or began_ns is None:
            raise ProbeError("The run ended before its load began; try again.")
        return load.stop(), run, began_ns

    def _watch(
        self, on_progress: Callable[[RunProgress], None] | None, within_s: float | None = None
    ) -> bool:
        """Wait for the records; False if they did not arrive in time."""
        began = time.monotonic()
        shown = began
        while (seen := self._client.poll())["state"] in ("running", "collecting"):
            now = time.monotonic()
            if within_s is not None and now > began + within_s:
                return False
            if on_progress is not None and now >= shown + PROGRESS_EVERY_S:
                shown = now
                on_progress(progress_of(seen))
            time.sleep(POLL_EVERY_S)
        return True

    def _stop(self) -> None:
        try:
            self._client.cancel()
        except NativeError:
            return  # the session is over: no more packets are sent

    def _partial(self, meta: Mapping[str, Any]) -> Run | None:
        self._stop()
        try:
            if self._watch(None, PARTIAL_WITHIN_S):
                return run_from_native(self._client.finish(0.0), meta)
        except NativeError:
            pass  # after Ctrl-C the reason why no records are left is of no interest
        return None

    def close(self) -> None:
        """Leave the session."""
        self._client.close()


def _is_over(began_ns: int, after_s: float) -> bool:
    """Whether so much time has passed since a time of CLOCK_MONOTONIC."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) >= began_ns + after_s * 1e9
