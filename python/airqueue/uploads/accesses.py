"""Channel accesses in the arrivals at a server: how many there were, and how many packets each had.

Stations contend for accesses, not for packets. A packet belongs to the access of the packet before
it, of the same station, where the records show that:

- *aggregates*: it follows within `TOGETHER_S`. No access is so short: AIFS, preamble, SIFS and the
  response alone take longer, so the two came in one A-MPDU.
- *bursts*: within a TXOP packets follow each other after a constant time, frame, SIFS, response,
  SIFS; a new access adds AIFSN slots, two at least, and a number of slots that differs from access
  to access. If most of the shortest gaps of a station lie within `PRECISION_S` of each other, few
  within the next `VALLEY_S`, and all gaps behind packets of others are longer, the former are those
  of bursts. Without bursts the shortest gaps are those of backoffs of no slot, behind any packet.

Neither is seen where times are coarser than that: devices that collect packets before they pass them
on, rates that change from frame to frame. Then packets of different stations follow within
`TOGETHER_S` too (`Accesses.mixed`), which frames cannot. And accesses of stations take turns at least
as often as at random, so that fewer changes of the station than these (`Accesses.turns`) show that
several packets came in an access and were not told apart. Nothing is said in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airqueue.measure.records import Run
from airqueue.measure.stations.plans import flow_of
from airqueue.uploads.plans import uploads_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

TOGETHER_S: Final = 70e-6
"""AIFS of two slots (28 us), the shortest preamble of OFDM (20 us), SIFS and a response (16 + 24 us)
take 88 us without any data."""
PRECISION_S: Final = 3e-6
VALLEY_S: Final = 28e-6
"""Holds the next backoff that is one slot longer, 20 us at most."""
LONGER_S: Final = 12e-6
"""By how much an access behind a packet of another station takes longer than the next packet of a
burst: two slots of 9 us at least, but for responses of different length."""
PEAK: Final = 2.0
"""Gaps of a burst over those in the valley behind them."""
LEAST_GAPS: Final = 20
MOST_MIXED: Final = 0.02
"""Of changes of the station, those within `TOGETHER_S`."""
LEAST_TURNS: Final = 0.85
"""Changes of the station over those of accesses in random order; contention has at least as many."""
SETTLING: Final = 0.15
ENDING: Final = 0.05
"""Parts of an upload that are not counted: queues fill, and stations do not end at one instant."""
LEAST_PART: Final = 0.5
"""Of an upload that must be left to be counted."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Accesses in the order of time, in the part of a run in which all stations upload."""

    at_s: Floats
    """Arrival of the first packet of each, by the server's clock."""
    station: Ints
    packets: Ints
    start_s: float
    end_s: float
    stations: int
    steps_s: tuple[float | None, ...]
    """Of each station: the time from packet to packet within a burst; None: no bursts."""
    aggregates: tuple[bool, ...]
    """Of each station: whether accesses hold aggregates."""
    mixed: float
    """Of changes of the station, the share that is faster than any access."""

    @property
    def turns(self) -> float:
        """Changes of the station over what is expected of as many accesses in random order."""
        count = np.bincount(self.station, minlength=self.stations)
        total = int(count.sum())
        expected = (total**2 - float(np.sum(count.astype(float) ** 2))) / max(total, 1)
        changes = int(np.count_nonzero(np.diff(self.station)))
        return changes / expected if expected > 0 else 1.0

    @property
    def told_apart(self) -> bool:
        """Whether accesses are told from each other."""
        return self.turns >= LEAST_TURNS and self.mixed <= MOST_MIXED


def accesses(run: Run) -> Accesses | None:
    """Return the accesses of a run with uploads of all stations; None if too little is left."""
    stations = [u.station for u in uploads_of(run.meta)]
    got = run.received
    at = (run.received_ns[got] * 1e-9).astype(np.float64)
    of_flow = {flow_of(station): station for station in stations}
    flow = run.flow[got]
    known = np.isin(flow, list(of_flow))
    at, flow = at[known], flow[known]
    if {int(f) for f in np.unique(flow)} != set(of_flow):
        return None
    order = np.argsort(at, kind="stable")
    at, flow = at[order], flow[order]
    of = np.array([of_flow.get(f, -1) for f in range(256)], dtype=np.intp)
    station = of[flow]
    first = [float(at[np.argmax(station == s)]) for s in stations]
    length = float(run.meta["length_s"])
    start, end = max(first) + SETTLING * length, min(first) + (1 - ENDING) * length
    if end - start < LEAST_PART * length:
        return None
    inside = (at >= start) & (at < end)
    return _grouped(at[inside], station[inside], start, end, len(stations))


def _grouped(at: Floats, station: Ints, start: float, end: float, count: int) -> Accesses:
    same = np.zeros(len(at), dtype=bool)
    own = np.diff(station, prepend=-1) == 0
    gap = np.diff(at, prepend=-np.inf)
    steps: list[float | None] = []
    aggregates: list[bool] = []
    for s in range(count):
        rows = own & (station == s)
        together = rows & (gap < TOGETHER_S)
        apart = rows & ~together
        step = burst_step_s(gap[apart], gap[~own & (station == s)][1:])
        same |= together
        if step is not None:
            same |= apart & (gap <= step + PRECISION_S)
        steps.append(step)
        aggregates.append(bool(np.any(together)))
    starts = np.flatnonzero(~same)
    changes = gap[~own][1:]
    packets = np.diff(starts, append=len(at))
    return Accesses(
        at_s=at[starts],
        station=station[starts],
        packets=packets.astype(np.intp),
        start_s=start,
        end_s=end,
        stations=count,
        steps_s=tuple(steps),
        aggregates=tuple(aggregates),
        mixed=float(np.mean(changes < TOGETHER_S)) if len(changes) else 0.0,
    )


def burst_step_s(gaps: Floats, behind_others: Floats) -> float | None:
    """Return the time from packet to packet within bursts; None if gaps do not show bursts.

    ``gaps``: of packets behind one of the same station; ``behind_others``: behind one of another.
    """
    if len(gaps) < LEAST_GAPS or len(behind_others) < LEAST_GAPS:
        return None
    ordered = np.sort(gaps)
    least = float(ordered[len(ordered) // 200])
    here = int(np.count_nonzero(np.abs(gaps - least) <= PRECISION_S))
    beyond = int(
        np.count_nonzero((gaps > least + PRECISION_S) & (gaps <= least + PRECISION_S + VALLEY_S))
    )
    if here < LEAST_GAPS or here < PEAK * beyond or here < len(gaps) / 4:
        return None
    if least > float(np.sort(behind_others)[len(behind_others) // 100]) - LONGER_S:
        return None
    near = gaps[np.abs(gaps - least) <= PRECISION_S]
    return float(np.median(near))
