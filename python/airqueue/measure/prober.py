"""Interface of the method to a network: carries out a plan and returns packet records.

The same search, sessions and estimators run over real sockets (`airqueue.measure.live`) and over a
simulated bottleneck or access point on a virtual clock (`airqueue.measure.simulated`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from airqueue.measure.plan import Plan
from airqueue.measure.records import Run

Direction = Literal["down", "up"]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A snapshot of the current run. Delay is above the least delay of this run, in seconds.

    ``waits_s``: estimated time until the run's turn while other clients measure, None in its turn;
    ``runs_ahead``: their runs that come first.
    """

    elapsed_s: float
    planned_s: float
    received: int
    lost: int
    delay_s: float | None
    waits_s: float | None = None
    runs_ahead: int = 0


class ProbeError(Exception):
    """A run could not be carried out; the message is one sentence that says what to do."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run, after it was stopped at both ends.

    ``run`` holds the records until then, or None if they could not be fetched.
    """

    def __init__(self, run: Run | None) -> None:
        super().__init__()
        self.run = run


class Prober(Protocol):
    """Carries out traffic plans."""

    direction: Direction

    def max_rate_pps(self, size_bytes: int, /) -> float:
        """Return the highest packet rate that the endpoints agree to for IP packets of a size."""
        ...

    def run(
        self,
        plan: Plan,
        meta: Mapping[str, Any],
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> Run:
        """Carry out a plan and return its records.

        Raises ProbeError when the endpoints cannot do it, RunInterrupted (a KeyboardInterrupt)
        after Ctrl-C.
        """
        ...

    def elapsed_s(self) -> float:
        """Time since the prober was made, on its own (wall or virtual) clock, in seconds."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass on the prober's clock with nothing sent."""
        ...
