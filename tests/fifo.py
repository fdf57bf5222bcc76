"""An independent drop-tail queue, packet by packet, to hold the estimators against.

Deliberately not the project's simulator: some thirty lines that can be checked by eye.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from airqueue.measure.plan import Plan
from airqueue.measure.records import MISSING, Run


@dataclass
class Fifo:
    """``capacity`` packets (or bytes, with 14 of link header each) wait; one may be in service.

    ``shaper``: the packet that waits for tokens stays in the queue and leaves in no time;
    otherwise a link serves one packet beside the queue. ``drop_head``: push out the oldest.
    """

    capacity: float
    rate_bps: float = 7e6
    in_bytes: bool = False
    shaper: bool = False
    drop_head: bool = False
    base_delay_s: float = 0.001
    offset_s: float = 5.0
    skew_ppm: float = 0.0
    step: tuple[float, float] | None = None
    rate_at: tuple[tuple[float, float], ...] = ()

    def factor(self, t: float) -> float:
        now = 1.0
        for at, f in self.rate_at:
            if t >= at:
                now = f
        return now

    def run(self, plan: Plan, meta: dict) -> Run:
        packets = sorted(
            (s.start_s + k * s.duration_s / s.count, i, s.flow, s.size_bytes)
            for i, s in enumerate(plan.segments)
            for k in range(s.count)
        )
        n = len(packets)
        out = np.full(n, np.nan)
        queue: deque[int] = deque()
        serving, free_at, backlog = -1, 0.0, 0.0

        def frame(i: int) -> float:
            return packets[i][3] + 14 if self.in_bytes else 1

        def start_next(at: float) -> None:
            nonlocal serving, free_at, backlog
            serving = queue[0] if self.shaper else queue.popleft()
            if not self.shaper:
                backlog -= frame(serving)
            free_at = at + (packets[serving][3] + 14) * 8 / (self.rate_bps * self.factor(at))

        def advance(to: float) -> None:
            nonlocal serving, backlog
            while serving >= 0 and free_at <= to:
                out[serving] = free_at
                if self.shaper:
                    queue.popleft()
                    backlog -= frame(serving)
                serving = -1
                if queue:
                    start_next(free_at)

        for i, (at, *_rest) in enumerate(packets):
            advance(at)
            if serving < 0 and self.shaper and at >= free_at:
                out[i] = at
                free_at = at + (packets[i][3] + 14) * 8 / (self.rate_bps * self.factor(at))
                continue
            if backlog + frame(i) > self.capacity and (serving >= 0):
                if not self.drop_head:
                    continue
                backlog -= frame(queue.popleft())
            queue.append(i)
            backlog += frame(i)
            if serving < 0:
                if self.shaper:
                    serving = queue[0]
                else:
                    start_next(max(at, free_at))
        advance(float("inf"))
        arrived = ~np.isnan(out)
        seen = out + self.base_delay_s
        seen = seen * (1 + self.skew_ppm * 1e-6) + self.offset_s
        if self.step:
            seen = seen + np.where(out >= self.step[0], self.step[1], 0.0)
        received = np.full(n, MISSING)
        received[arrived] = np.round(seen[arrived] * 1e9).astype(np.int64)
        sent = np.array([round(p[0] * 1e9) for p in packets], dtype=np.int64)
        return Run(
            scheduled_ns=sent,
            sent_ns=sent.copy(),
            kernel_tx_ns=np.full(n, MISSING),
            received_ns=received,
            flow=np.array([p[2] for p in packets], dtype=np.uint8),
            size_bytes=np.array([p[3] for p in packets], dtype=np.uint16),
            meta=meta,
        )


class FifoProber:
    """A `Prober` over the queue above."""

    direction = "down"

    def __init__(self, fifo: Fifo) -> None:
        self.fifo, self.now = fifo, 0.0

    def max_rate_pps(self, size: int) -> float:
        return 1e9 / (8 * size)

    def run(self, plan, meta, on_progress=None) -> Run:
        self.now += plan.end_s
        return self.fifo.run(plan, meta)

    def elapsed_s(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
