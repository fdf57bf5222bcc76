"""Small models of devices that are not the plain queue of `fifo.py`: stages to pass in turn.

A stage takes packets as (time, row) in order of time and gives back those that come out of it, in
order too. Rows of the plan are 0 and up, cross traffic has negative rows. Times in seconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from airqueue.measure.plan import Plan
from airqueue.measure.records import MISSING, Run

LINK_HEADER = 14
CROSS_BYTES = 1000

Timed = list[tuple[float, int]]


@dataclass
class Path:
    """What a stage may know of the run: sizes by row, the time of its start, chance."""

    sizes: Sequence[int]
    start_s: float
    rng: np.random.Generator

    def frame(self, row: int) -> int:
        return CROSS_BYTES + LINK_HEADER if row < 0 else self.sizes[row] + LINK_HEADER


class Stage:
    """Passes everything on."""

    def through(self, packets: Timed, path: Path) -> Timed:
        return packets


@dataclass
class Link(Stage):
    """A queue in front of a link; subclasses say what is admitted and what is dropped inside.

    One packet is in service beside the queue. ``service`` gives the seconds that a frame of so many
    bytes takes from an instant on; ``stalls`` are (begin, length). Both by the measurement's clock.
    """

    capacity: float = 100
    rate_bps: float = 7e6
    service: Callable[[float, int, np.random.Generator], float] | None = None
    stalls: tuple[tuple[float, float], ...] = ()

    waiting: deque = field(default_factory=deque, init=False)
    held: float = field(default=0, init=False)

    def cost(self, frame: int) -> float:
        return 1

    def admits(self, now: float, frame: int, path: Path) -> bool:
        return self.held + self.cost(frame) <= self.capacity

    def take(self, now: float, path: Path) -> tuple[float, int] | None:
        """The next packet to be sent, (arrival, row); None if none is left."""
        return self.pop(path) if self.waiting else None

    def pop(self, path: Path) -> tuple[float, int]:
        packet = self.waiting.popleft()
        self.held -= self.cost(path.frame(packet[1]))
        return packet

    def duration(self, now: float, frame: int, path: Path) -> float:
        if self.service is not None:
            return self.service(now + path.start_s, frame, path.rng)
        return frame * 8 / self.rate_bps

    def stall_left(self, now: float) -> float:
        if not self.stalls:
            return 0.0
        return sum(begin + long - now for begin, long in self.stalls if begin <= now < begin + long)

    def through(self, packets: Timed, path: Path) -> Timed:
        out: Timed = []
        serving: int | None = None
        free_at = 0.0
        self.waiting.clear()
        self.held = 0

        def serve(now: float) -> None:
            nonlocal serving, free_at
            following = self.take(now, path)
            serving = None
            if following is not None:
                serving = following[1]
                begin = now + self.stall_left(now + path.start_s)
                free_at = begin + self.duration(begin, path.frame(serving), path)

        for at, row in [*packets, (float("inf"), 0)]:
            while serving is not None and free_at <= at:
                out.append((free_at, serving))
                serve(free_at)
            if at == float("inf"):
                break
            if serving is not None and not self.admits(at, path.frame(row), path):
                continue
            self.waiting.append((at, row))
            self.held += self.cost(path.frame(row))
            if serving is None:
                serve(at)
        return out


@dataclass
class CellLink(Link):
    """Shared memory of cells: every frame takes whole ones."""

    cell: int = 256

    def cost(self, frame: int) -> float:
        return -(-frame // self.cell)


@dataclass
class PacketsAndBytes(Link):
    """Both limits at once."""

    limit_bytes: float = 60_000

    def admits(self, now, frame, path):
        held_bytes = sum(path.frame(r) for _, r in self.waiting)
        return len(self.waiting) < self.capacity and held_bytes + frame <= self.limit_bytes


@dataclass
class Hysteresis(Link):
    """Drops from full until half empty."""

    closed: bool = field(default=False, init=False)
    reopen: float = 0.5

    def admits(self, now, frame, path):
        if self.closed and self.held <= self.reopen * self.capacity:
            self.closed = False
        if not self.closed and self.held + 1 > self.capacity:
            self.closed = True
        return not self.closed


@dataclass
class CoDel(Link):
    """RFC 8289 with its constants; the hard limit is ``capacity``."""

    target: float = 0.005
    interval: float = 0.1

    def through(self, packets, path):
        self.first_above = 0.0
        self.dropping = False
        self.next_drop = 0.0
        self.count = self.last_count = 0
        return super().through(packets, path)

    def _one(self, now, path):
        if not self.waiting:
            self.first_above = 0.0
            return None, False
        packet = self.pop(path)
        if now - packet[0] < self.target or self.held < 2:
            self.first_above = 0.0
            return packet, False
        if self.first_above == 0.0:
            self.first_above = now + self.interval
            return packet, False
        return packet, now >= self.first_above

    def take(self, now, path):
        packet, ok = self._one(now, path)
        if packet is None:
            self.dropping = False
            return None
        if self.dropping:
            if not ok:
                self.dropping = False
            while self.dropping and now >= self.next_drop:
                self.count += 1
                packet, ok = self._one(now, path)
                if packet is None or not ok:
                    self.dropping = False
                else:
                    self.next_drop += self.interval / self.count**0.5
        elif ok:
            packet, _ = self._one(now, path)
            self.dropping = True
            delta = self.count - self.last_count
            recent = now - self.next_drop < 16 * self.interval
            self.count = delta if delta > 1 and recent else 1
            self.next_drop = now + self.interval / self.count**0.5
            self.last_count = self.count
        return packet


@dataclass
class Pie(Link):
    """RFC 8033 in its essence: drop probability follows the queueing delay, every 15 ms."""

    target: float = 0.015

    def through(self, packets, path):
        self.p, self.old, self.next = 0.0, 0.0, 0.0
        return super().through(packets, path)

    def admits(self, now, frame, path):
        while now >= self.next:
            self.next = max(self.next + 0.015, now - 0.015)
            delay = sum(path.frame(r) for _, r in self.waiting) * 8 / self.rate_bps
            step = 0.125 * (delay - self.target) + 1.25 * (delay - self.old)
            for bound, divisor in (
                (1e-6, 2048),
                (1e-5, 512),
                (1e-4, 128),
                (1e-3, 32),
                (1e-2, 8),
                (0.1, 2),
            ):
                if self.p < bound:
                    step /= divisor
                    break
            self.p = min(1.0, max(0.0, self.p + step))
            self.old = delay
        return super().admits(now, frame, path) and (self.held < 2 or path.rng.random() >= self.p)


@dataclass
class RandomDropInside(Link):
    """A full queue drops a random waiting packet rather than the new one."""

    def admits(self, now, frame, path):
        if self.held + 1 > self.capacity:
            k = int(path.rng.integers(len(self.waiting)))
            del self.waiting[k]
            self.held -= 1
        return True


@dataclass
class Policer(Stage):
    """A bucket: what finds no tokens is dropped, the rest passes at once."""

    rate_bps: float = 7e6
    bucket: float = 200_000

    def through(self, packets, path):
        out, tokens, last = [], self.bucket, 0.0
        for at, row in packets:
            tokens = min(self.bucket, tokens + (at - last) * self.rate_bps / 8)
            last = at
            if tokens >= path.frame(row):
                tokens -= path.frame(row)
                out.append((at, row))
        return out


@dataclass
class Loss(Stage):
    share: float = 0.01
    burst: int = 1

    def through(self, packets, path):
        out, skip = [], 0
        for packet in packets:
            if skip == 0 and path.rng.random() < self.share / self.burst:
                skip = self.burst
            if skip:
                skip -= 1
            else:
                out.append(packet)
        return out


@dataclass
class Delay(Stage):
    """More delay by chance; in order unless ``reorders``."""

    draw: Callable[[np.random.Generator], float]
    reorders: bool = False

    def through(self, packets, path):
        out, last = [], 0.0
        for at, row in packets:
            late = at + self.draw(path.rng)
            last = late if self.reorders else max(late, last)
            out.append((last, row))
        return sorted(out)


@dataclass
class PowerSave(Stage):
    """Asleep after ``idle_s`` without packets; then held until it wakes."""

    idle_s: float = 0.1
    wake_s: float = 0.1

    def through(self, packets, path):
        out, last, awake_at = [], -1e9, -1e9
        for at, row in packets:
            if at - last > self.idle_s and at > awake_at:
                awake_at = at + self.wake_s
            last = at
            out.append((max(at, awake_at), row))
        return out


@dataclass
class Cross(Stage):
    """Adds packets of others at a share of a rate; ``on_s`` and ``off_s`` alternate."""

    pps: float
    on_s: float = 1.0
    off_s: float = 0.0
    poisson: bool = True
    clump: int = 1

    def through(self, packets, path):
        end = packets[-1][0] if packets else 0.0
        extra, at, row = [], 0.0, 0
        while at < end:
            gap = self.clump / self.pps
            at += path.rng.exponential(gap) if self.poisson else gap
            if (at + path.start_s) % (self.on_s + self.off_s) < self.on_s:
                for _ in range(self.clump):
                    row -= 1
                    extra.append((at, row))
        return list(heapq.merge(packets, extra))


@dataclass
class DevicesProber:
    """A `Prober` over stages; the receiver's clock is off by ``offset_s`` and ``skew_ppm``."""

    stages: Sequence[Stage]
    base_delay_s: float = 0.001
    offset_s: float = 5.0
    skew_ppm: float = 0.0
    seed: int = 1
    limit_bps: float = 1e9
    direction = "down"
    now: float = 0.0
    runs: int = 0
    gives_up_s: float = 1.8

    def max_rate_pps(self, size: int) -> float:
        return self.limit_bps / (8 * size)

    def elapsed_s(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def run(self, plan: Plan, meta, on_progress=None) -> Run:
        planned = sorted(
            (s.start_s + k * s.duration_s / s.count, i, s.flow, s.size_bytes)
            for i, s in enumerate(plan.segments)
            for k in range(s.count)
        )
        self.runs += 1
        rng = np.random.default_rng([self.seed, self.runs])
        path = Path([p[3] for p in planned], self.now, rng)
        packets: Timed = [(p[0], row) for row, p in enumerate(planned)]
        for stage in self.stages:
            packets = stage.through(packets, path)
        n = len(planned)
        out = np.full(n, np.nan)
        # The first of several copies, which comes last here.
        arriving = [(at, row) for at, row in reversed(packets) if row >= 0]
        out[[row for _, row in arriving]] = [at for at, _ in arriving]
        sent = np.array([round(p[0] * 1e9) for p in planned], dtype=np.int64)
        end = "complete"
        seen = np.sort(out[~np.isnan(out)])
        # Only time in which packets were due counts as silence.
        due = np.array([p[0] for p in planned])
        idle = np.max(np.diff(due)) if len(due) > 1 else 0.0
        silent = np.flatnonzero(np.diff(seen) > self.gives_up_s + idle)
        if len(silent):
            limit = seen[silent[0]] + self.gives_up_s
            end = "sender_silent"
            out[out > limit] = np.nan
            sent[sent > limit * 1e9] = MISSING
        arrived = ~np.isnan(out)
        received = np.full(n, MISSING)
        at = (out[arrived] + self.base_delay_s) * (1 + self.skew_ppm * 1e-6) + self.offset_s
        received[arrived] = np.round(at * 1e9).astype(np.int64)
        self.now += plan.end_s + 0.1
        return Run(
            scheduled_ns=np.array([round(p[0] * 1e9) for p in planned], dtype=np.int64),
            sent_ns=sent,
            kernel_tx_ns=np.full(n, MISSING),
            received_ns=received,
            flow=np.array([p[2] for p in planned], dtype=np.uint8),
            size_bytes=np.array([p[3] for p in planned], dtype=np.uint16),
            end=end,
            meta=meta,
        )
