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
NEVER = 1 << 62
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

    def send(self, packets, rows, at, now, sent):
        """Send what an access holds; returns the time after it."""
        begun, (which, arrived) = now, sent
        for n in range(packets):
            if not rows or at[rows[-1]] > begun:
                break
            which.append(rows.pop())
            if self.apart_us is None:
                now += self.frame_us
                arrived.append(now)
                now += SIFS_US + RESPONSE_US + SIFS_US
            else:
                # An aggregate: all arrive behind its end, so far apart.
                arrived.append(now + self.frame_us + n * self.apart_us)
        if self.apart_us is not None:
            now += self.frame_us + SIFS_US + RESPONSE_US + SIFS_US
        return now - SIFS_US


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
        which, arrived_us = (
            np.array(of) for of in self._arrivals(at.tolist(), flow, octet.tolist())
        )
        grid = max(1, self.coarse_us)
        received[which] = (-(-arrived_us // grid) * grid + int((7 + BASE_S) * 1e6)) * 1000
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
        """Return the rows in the order of their arrivals, and these in microseconds."""
        draw = random.Random(self.seed + len(self.runs))
        waiting = self._waiting(flow, draw)
        tables = [{o: self._table(s, o) for o in set(octet)} for s in range(len(self.stations))]
        bursts = [
            {o: self.stations[s].burst(self._category(o)) for o in set(octet)}
            for s in range(len(self.stations))
        ]
        windows, counters = [None] * len(tables), [None] * len(tables)
        sent = [], []
        now = 0
        while waiting:
            first, ready = NEVER, []
            for s, rows in waiting.items():
                head = rows[-1]
                if at[head] > now:
                    continue
                aifsn, low, _ = tables[s][octet[head]]
                if counters[s] is None:
                    windows[s] = windows[s] or low
                    counters[s] = _drawn(draw, windows[s])
                due = aifsn + counters[s]
                ready.append((due, aifsn, s))
                first = min(first, due)
            if not ready:
                now = min(at[rows[-1]] for rows in waiting.values())
                continue
            winners = []
            for due, aifsn, s in ready:
                if due == first:
                    winners.append(s)
                elif first >= aifsn:
                    counters[s] -= first - aifsn + 1
            now += SIFS_US + first * SLOT_US
            for s in winners:
                _, low, high = tables[s][octet[waiting[s][-1]]]
                windows[s] = low if len(winners) == 1 else min(2 * windows[s] + 1, high)
                counters[s] = None
            if len(winners) == 1:
                (s,) = winners
                rows = waiting[s]
                burst = bursts[s][octet[rows[-1]]]
                now = self.stations[s].send(burst, rows, at, now, sent)
                if not rows:
                    del waiting[s]
                continue
            now += max(self.stations[s].frame_us for s in winners) + SIFS_US + RESPONSE_US
        return sent

    def _waiting(self, flow, draw):
        """Return the rows of each station, the first one last."""
        waiting = {}
        for number in range(len(self.stations)):
            rows = np.flatnonzero(flow == (0 if number == 0 else number + 1)).tolist()
            if number == 1:
                rows = [r for r in rows if draw.random() < self.share_of_plan]
            if rows:
                waiting[number] = rows[::-1]
        return waiting

    def _category(self, octet):
        return "be" if self.ignores else CATEGORY_OF[octet >> 2]

    def _table(self, s, octet):
        tables = self.stations[s].tables or self.tables
        return tables[self._category(octet)]


def _drawn(draw, window):
    """A counter from 0 up to the window, evenly: as random.randint draws, and four times as fast."""
    bits = (window + 1).bit_length()
    counter = draw.getrandbits(bits)
    while counter > window:
        counter = draw.getrandbits(bits)
    return counter
