"""Figures of packets for comparison, computed equally for the kernel and for us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from validation.linux.scenarios import Arrival, Scenario

GONE = -1
"""Marks a dropped packet, in place of its departure time."""


@dataclass(frozen=True, slots=True)
class Window:
    """Fates of the packets offered in a window of time."""

    from_s: float
    to_s: float
    offered: int
    dropped: int
    marked: int
    median_sojourn_s: float
    """Sojourn time of the packets that were not dropped."""
    p95_sojourn_s: float


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrivals as columns."""

    at_ns: npt.NDArray[np.int64]
    flow: npt.NDArray[np.uint32]
    size_bytes: npt.NDArray[np.uint32]
    ect: npt.NDArray[np.bool_]
    dscp: npt.NDArray[np.uint32]
    hosts: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, packets: Sequence[Arrival]) -> Columns:
        """Return the columns of arrivals."""
        at, flow, size, ect, dscp, *_ = zip(*packets, strict=True)
        return cls(
            np.array(at, np.int64),
            np.array(flow, np.uint32),
            np.array(size, np.uint32),
            np.array(ect, np.bool_),
            np.array(dscp, np.uint32),
            {packet.flow: (packet.source, packet.destination) for packet in packets},
        )

    def watched(self, scenario: Scenario) -> npt.NDArray[np.bool_]:
        """Return which packets the figures of a scenario count."""
        flows = scenario.traffic.watched
        return np.isin(self.flow, self.flow if flows is None else list(flows))


def windows(
    scenario: Scenario,
    run: int,
    at_ns: npt.NDArray[np.int64],
    left_ns: npt.NDArray[np.int64],
    marked: npt.NDArray[np.bool_],
) -> Iterator[Window]:
    """Yield the figures of each window; ``left_ns`` is GONE where a packet was dropped."""
    start_s = scenario.start_s(run)
    sojourn_s = (left_ns - at_ns) / 1e9
    for from_s, to_s in scenario.traffic.windows_s:
        since_s = at_ns / 1e9 - start_s
        inside = (since_s >= from_s) & (since_s < to_s)
        passed = inside & (left_ns != GONE)
        median, p95 = np.percentile(sojourn_s[passed], [50, 95])
        yield Window(
            from_s,
            to_s,
            offered=int(inside.sum()),
            dropped=int(inside.sum() - passed.sum()),
            marked=int((marked & passed).sum()),
            median_sojourn_s=float(median),
            p95_sojourn_s=float(p95),
        )
