"""A prober over a simulated bottleneck or access point: the same endpoints on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from airqueue._native import NativeError, SimulatedPath
from airqueue.measure.native import FLOWS, highest_rate_pps, run_from_native
from airqueue.measure.plan import Plan
from airqueue.measure.prober import Direction, ProbeError, RunProgress
from airqueue.measure.records import Run

if TYPE_CHECKING:
    from airqueue.records import TruthDict


class SimulatedProber:
    """Carries out plans over a simulated path; equal arguments give equal records.

    ``config``: keys and values of the simulated bottleneck, units in the names; what is not given
    keeps its default; ``flows`` is as many as the profiles use. ``cell`` puts an 802.11 network in
    the place of the bottleneck: its ``scenario``, and which of its flows go ``down`` and ``up``.
    Raises ProbeError, here and in `run`.
    """

    def __init__(
        self, config: Mapping[str, Any], seed: int = 0, direction: Direction = "down"
    ) -> None:
        self.direction: Direction = direction
        try:
            self._path = SimulatedPath({"flows": FLOWS, **config}, seed)
        except NativeError as error:
            raise ProbeError(f"{error}.") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise ProbeError(f"The path configuration is not plain data: {error}.") from error
        self._limits = self._path.limits()

    def max_rate_pps(self, size_bytes: int) -> float:
        """Return the highest packet rate that both ends agree to for IP packets of this size."""
        return highest_rate_pps(self._limits, size_bytes)

    def run(
        self,
        plan: Plan,
        meta: Mapping[str, Any],
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> Run:
        """Carry out a plan; ``on_progress`` is called once, at its end."""
        try:
            native = self._path.run(plan.native(), self.direction)
        except NativeError as error:
            raise ProbeError(f"{error}.") from error
        run = run_from_native(native, meta)
        if on_progress is not None:
            on_progress(_summary(run, plan.end_s))
        return run

    def truth(self) -> TruthDict:
        """Return what really happened in the device during the last run."""
        return self._path.truth()

    def elapsed_s(self) -> float:
        """Return the path's virtual time in seconds."""
        return self._path.now_s()

    def wait(self, seconds: float) -> None:
        """Let virtual time pass with nothing sent."""
        self._path.wait(seconds)


def _summary(run: Run, planned_s: float) -> RunProgress:
    delay = run.delay_s[run.received]
    return RunProgress(
        elapsed_s=planned_s,
        planned_s=planned_s,
        received=int(np.count_nonzero(run.received)),
        lost=int(np.count_nonzero(run.lost)),
        delay_s=float(delay[-1] - delay.min()) if len(delay) else None,
    )
