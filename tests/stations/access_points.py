"""Access points that share no code with ours: a queue, a rule, a service time for each station.

A prober for `airqueue.measure.stations`: each plan's packets arrive when they are planned, wait by
the rule, and are received by the clock of their station, which has an offset and drifts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from airqueue.measure.records import MISSING, Run
from airqueue.measure.stations.plans import OWN_FLOWS

HEADER_S = 0.0002
"""Time that any packet takes beside its bytes."""
BASE_S = 0.004
SETTLES_S = 0.0005


def station_of(flow):
    return max(0, flow - OWN_FLOWS + 1)


@dataclass
class AccessPoint:
    """``rule``: fifo, sparse_first (one queue, small packets first), flows, stations or airtime.

    ``rates_bps``: of each station; ``limit``: packets, of all in one queue, else of each queue.
    """

    rule: str
    rates_bps: tuple[float, ...]
    limit: int = 100
    offsets_s: tuple[float, ...] = (5.0, -3.0, 100.0)
    skew_ppm: tuple[float, ...] = (20.0, -30.0, 10.0)
    steps: bool = False
    """Whether the clock of station 1 is stepped in the middle of each run."""
    most_pps: float = 1e5
    runs: list[Run] = field(default_factory=list)
    direction = "down"
    clock_s: float = 0.0

    def max_rate_pps(self, size_bytes):
        return self.most_pps

    def elapsed_s(self):
        return self.clock_s

    def wait(self, seconds):
        self.clock_s += seconds

    def run(self, plan, meta, on_progress=None):
        packets = sorted(
            (start + k * length / count, n, flow, size)
            for n, (flow, start, length, count, size, _) in enumerate(plan.native())
            for k in range(count)
        )
        at = np.array([p[0] for p in packets]) * 1e-9
        flow = np.array([p[2] for p in packets])
        size = np.array([p[3] for p in packets])
        left = self._left(at, flow, size)
        received = np.full(len(at), MISSING)
        for station in set(map(station_of, flow)):
            rows = (np.vectorize(station_of)(flow) == station) & ~np.isnan(left)
            clock = left[rows] + BASE_S
            clock = self.offsets_s[station] + clock * (1 + 1e-6 * self.skew_ppm[station])
            if self.steps and station == 1:
                clock += 0.5 * (left[rows] > plan.end_s / 2)
            received[rows] = np.round(clock * 1e9).astype(np.int64)
        self.clock_s += plan.end_s
        sent = np.round(at * 1e9).astype(np.int64)
        run = Run(
            scheduled_ns=sent,
            sent_ns=sent,
            kernel_tx_ns=np.full(len(at), MISSING),
            received_ns=received,
            flow=flow.astype(np.uint8),
            size_bytes=size.astype(np.uint16),
            meta=dict(meta),
        )
        self.runs.append(run)
        return run

    def _queue_of(self, flow, size):
        if self.rule == "fifo":
            return 0
        if self.rule == "sparse_first":
            return int(size > 1000)
        return int(flow) if self.rule == "flows" else station_of(flow)

    def _left(self, at, flow, size):
        """When each packet left, NaN if it was refused."""
        left = np.full(len(at), np.nan)
        queues, served = {}, {}
        order = deque()
        free, n = 0.0, 0
        while n < len(at) or any(queues.values()):
            waiting = [q for q in order if queues[q]]
            if waiting and (n == len(at) or free <= at[n]):
                q = self._next(waiting, served)
                order.remove(q)
                order.append(q)
                packet = queues[q].popleft()
                rate = self.rates_bps[station_of(flow[packet])]
                takes = HEADER_S + 8 * float(size[packet]) / rate
                served[q] = served.get(q, 0.0) + takes
                free += takes
                left[packet] = free
                continue
            q = self._queue_of(flow[n], size[n])
            if q not in queues:
                queues[q] = deque()
                order.append(q)
            if not queues[q]:
                # Nobody saves up airtime while it has nothing to send.
                served[q] = max(served.get(q, 0.0), min((served[w] for w in waiting), default=0.0))
            if len(queues[q]) < self.limit:
                queues[q].append(n)
            if not waiting:
                free = max(free, at[n])
            n += 1
        return left

    def _next(self, waiting, served):
        if self.rule == "airtime":
            return min(waiting, key=served.__getitem__)
        return min(waiting) if self.rule == "sparse_first" else waiting[0]
