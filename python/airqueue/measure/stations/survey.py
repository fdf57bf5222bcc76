"""What measurements of several stations share: their header, and the search for a path's rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NotRequired, TypedDict

import numpy as np

from airqueue import text
from airqueue.measure.prober import ProbeError, Prober
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.stations.plans import SIZE_BYTES, Planned, flow_of

START_PPS: Final = 2e6 / (8 * SIZE_BYTES)
"""Of the first run of a search: a slow station gets no more than it carries in some seconds."""
FASTER: Final = 4.0
RUNS: Final = 6
"""Of a search, at most: to more than a gigabit per second."""
WITHIN_LIMITS: Final = 0.98
"""Share of the agreed rate that plans use: they round to whole packets."""


class HeaderDict(TypedDict):
    """What the results of such measurements begin with."""

    airqueue: NotRequired[str]
    created: NotRequired[str]
    target: str
    size_bytes: int
    elapsed_s: float
    interrupted: bool
    warnings: list[str]


def from_header(header: Mapping[str, Any], runs: Sequence[Run]) -> HeaderDict:
    """Return what a result has from the header of its runs, and which runs do not count."""
    found: HeaderDict = {
        "target": str(header.get("target", "")),
        "size_bytes": SIZE_BYTES,
        "elapsed_s": float(header.get("elapsed_s", 0.0)),
        "interrupted": bool(header.get("interrupted", False)),
        "warnings": [*(str(w) for w in header.get("warnings", ())), *left_out(runs)],
    }
    if "airqueue" in header:
        found["airqueue"] = str(header["airqueue"])
    if "created" in header:
        found["created"] = str(header["created"])
    return found


def counts(run: Run) -> bool:
    """Whether a run is whole, and no other client had a part in it."""
    return run.end == "complete" and not run.host.shared


def left_out(runs: Sequence[Run]) -> list[str]:
    """Say how many runs do not count, and why."""
    cut = sum(run.end != "complete" for run in runs)
    shared = sum(run.end == "complete" and run.host.shared for run in runs)
    reasons = (
        (cut, "an end heard nothing for too long"),
        (shared, "packets of other clients, or of a failed run just before, passed a server"),
    )
    return [
        f"Of {text.plural(len(runs), 'run')} {n} did not count, because {why}."
        for n, why in reasons
        if n
    ]


def agreed_pps(prober: Prober) -> float:
    """Return the packets per second that a plan may have, all flows together."""
    return WITHIN_LIMITS * prober.max_rate_pps(SIZE_BYTES)


@dataclass
class Survey:
    """The runs of a measurement, and what has been learned for the next ones."""

    runner: Runner
    names: list[str]
    most_pps: float
    """Of a plan, all flows together."""
    warnings: list[str] = field(default_factory=list, kw_only=True)
    done: float = field(default=0.0, kw_only=True)
    """Share of the steps that are done."""

    def run(self, planned: Planned, says: str) -> Run:
        """Say what comes, and carry it out."""
        plan, meta = planned
        self.runner.say(meta["kind"], says, self.done)
        return self.runner.run(plan, meta, self.done)

    def search(
        self,
        station: int,
        ceiling_pps: float,
        plan: Callable[[float, int], Planned],
        carried_pps: Callable[[Run, float], float | None],
    ) -> float | None:
        """Return about what a path carries; None if it carries all that may be sent.

        ``plan``: of a rate and the number of the run; ``carried_pps``: of a run and its rate, None if
        the path was not saturated. Raises ProbeError if no packet arrives.
        """
        rate = START_PPS
        for index in range(RUNS):
            rate = min(rate, ceiling_pps)
            run = self.run(plan(rate, index), f"looking for the rate of {self.names[station]}")
            self._check_size(run, station)
            carried = carried_pps(run, rate)
            if carried is not None:
                return carried
            if rate >= ceiling_pps:
                break
            rate *= FASTER
        return None

    def _check_size(self, run: Run, station: int) -> None:
        """Raise ProbeError if none of the packets to or from a station arrived."""
        large = run.flow == flow_of(station)
        if not np.any(large) or np.any(run.received[large]):
            return
        raise ProbeError(
            f"Of {int(np.count_nonzero(large))} packets of {SIZE_BYTES} bytes between the server and "
            f"{self.names[station]} none arrived: a link between the two may only carry smaller "
            f"packets, and several stations are measured with {SIZE_BYTES} bytes."
        )
