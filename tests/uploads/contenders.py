"""Stations that contend slot by slot, and share no code with ours: a prober for `airqueue.uploads`.

Each station has the packets of its upload, which wait in a queue without a limit. The server's clock
has an offset; all packets arrive some milliseconds after their frame.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from airqueue.measure.records import MISSING, Run

SLOT_US, SIFS_US, RESPONSE_US = 9, 16, 28
BASE_S = 0.004
CATEGORY_OF = {0: "be", 8: "bk", 34: "vi", 46: "vo"}


@dataclass
class Station:
    """``frame_us``: of a packet; ``packets``: in an access, apart by a step of an exchange unless
    ``apart_us`` says otherwise, for any category, or by category."""

    frame_us: int = 200
    packets: int | dict[str, int] = 1
    apart_us: int | None = None
    tables: dict | None = None

    def burst(self, category):
        return self.packets if isinstance(self.packets, int) else self.packets.get(category, 1)


@dataclass
class Contenders:
    """``tables``: of each category (AIFSN, CWmin, CWmax); a station may have its own.

    ``ignores``: all packets are in best effort. ``coarse_us``: the server sees times so coarse.
    """

    stations: tuple[Station, ...]
    tables: dict[str, tuple[int, int, int]]
    ignores: bool = False
    coarse_us: int = 0
    share_of_plan: float = 1.0
    """Of the packets of station 1 that its program sends."""
    most_pps: float = 1e5
    seed: int = 1
    runs: list[Run] = field(default_factory=list)
    direction = "up"
    clock_s: float = 0.0

    def max_rate_pps(self, size_bytes):
        return self.most_pps

    def elapsed_s(self):
        return self.clock_s

    def wait(self, seconds):
        self.clock_s += seconds

    def run(self, plan, meta, on_progress=None):
        rows = sorted(
            (start // 1000 + k * (length // 1000) // count, n, flow, size, octet)
            for n, (flow, start, length, count, size, octet) in enumerate(plan.native())
            for k in range(count)
        )
        at = np.array([r[0] for r in rows])
        flow = np.array([r[2] for r in rows])
        octet = np.array([r[4] for r in rows])
        received = np.full(len(rows), MISSING)
        # Single elements of lists are read several times faster than those of arrays.
        for row, arrived_us in self._arrivals(at.tolist(), flow, octet.tolist()):
            grid = max(1, self.coarse_us)
            late = (arrived_us + grid - 1) // grid * grid
            received[row] = (late + int((7 + BASE_S) * 1e6)) * 1000
        self.clock_s += plan.end_s
        run = Run(
            scheduled_ns=at * 1000,
            sent_ns=at * 1000,
            kernel_tx_ns=np.full(len(rows), MISSING),
            received_ns=received,
            flow=flow.astype(np.uint8),
            size_bytes=np.array([r[3] for r in rows], dtype=np.uint16),
            meta=dict(meta),
        )
        self.runs.append(run)
        return run

    def _arrivals(self, at, flow, octet):
        """Yield the rows and arrivals in microseconds."""
        draw = random.Random(self.seed + len(self.runs))
        waiting = {}
        for number in range(len(self.stations)):
            rows = np.flatnonzero(flow == (0 if number == 0 else number + 1)).tolist()
            if number == 1:
                rows = [r for r in rows if draw.random() < self.share_of_plan]
            if rows:
                waiting[number] = rows[::-1]
        tables = [{o: self._table(s, o) for o in set(octet)} for s in range(len(self.stations))]
        windows, counters = [None] * len(tables), [None] * len(tables)
        now = 0
        while waiting:
            ready = []
            for s, rows in waiting.items():
                if at[rows[-1]] <= now:
                    aifsn, low, _ = tables[s][octet[rows[-1]]]
                    if counters[s] is None:
                        windows[s] = windows[s] or low
                        counters[s] = draw.randint(0, windows[s])
                    ready.append((aifsn + counters[s], aifsn, s))
            if not ready:
                now = min(at[rows[-1]] for rows in waiting.values())
                continue
            first = min(ready)[0]
            winners = [s for due, _, s in ready if due == first]
            for due, aifsn, s in ready:
                if due > first >= aifsn:
                    counters[s] -= first - aifsn + 1
            now += SIFS_US + first * SLOT_US
            for s in winners:
                _, low, high = tables[s][octet[waiting[s][-1]]]
                windows[s] = low if len(winners) == 1 else min(2 * windows[s] + 1, high)
                counters[s] = None
            if len(winners) == 1:
                now = yield from self._sent(winners[0], waiting, at, octet, now)
                continue
            now += max(self.stations[s].frame_us for s in winners) + SIFS_US + RESPONSE_US

    def _sent(self, s, waiting, at, octet, now):
        """Send what an access holds; returns the time after it."""
        station, rows = self.stations[s], waiting[s]
        begun = now
        for n in range(station.burst(self._category(octet[rows[-1]]))):
            if not rows or at[rows[-1]] > begun:
                break
            if station.apart_us is None:
                now += station.frame_us
                yield rows.pop(), now
                now += SIFS_US + RESPONSE_US + SIFS_US
            else:
                # An aggregate: all arrive behind its end, so far apart.
                yield rows.pop(), now + station.frame_us + n * station.apart_us
        if station.apart_us is not None:
            now += station.frame_us + SIFS_US + RESPONSE_US + SIFS_US
        if not rows:
            del waiting[s]
        return now - SIFS_US

    def _category(self, octet):
        return "be" if self.ignores else CATEGORY_OF[octet >> 2]

    def _table(self, s, octet):
        tables = self.stations[s].tables or self.tables
        return tables[self._category(octet)]
