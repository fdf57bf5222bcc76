"""Loads: what fills the queues of a path while round trips are measured.

A flood needs an `airqueue server` at the other end; its packets come at a steady rate somewhat
above the path's, whatever is lost. Transfers of the web need any HTTP server, and slow down as all
TCP does.
"""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from airqueue.diagnose.records import Direction, Load, LoadKind
from airqueue.measure.plan import FLOOD_FLOW, Plan, cbr
from airqueue.measure.prober import Prober, RunProgress
from airqueue.measure.quick import (
    FILL,
    LEAST_OVERLOAD,
    PROBE_FLOWS,
    Found,
    baseline,
    farewell,
    find_rate,
)
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session

SIZE_BYTES: Final = 1500
QUIET_S: Final = 0.3
"""Of the flood's own run: its packets' delay without a queue."""
FILL_S: Final = 2.0
"""At three times the path's rate this fills a queue that delays by up to four seconds."""
HOLD: Final = 1.1
"""Offered rate while round trips are measured, as a multiple of the path's: the queue stays full."""
PROBES_PPS: Final = 10.0
SETTLE_S: Final = 2.5
"""Until transfers have filled a queue; slow start takes some round trips."""
CONNECTIONS: Final = 4
CHUNK_BYTES: Final = 1 << 16
TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.05
TICKS_S: Final = 0.1
MOST_UPLOAD_BYTES: Final = 1 << 30
"""Announced length of an upload; it ends long before."""

Say = Callable[[str, float | None], None]
"""Takes what is done now, and the time left if known."""


class LoadError(Exception):
    """A load could not be made; the message is one sentence that says what to do."""


class Clock(Protocol):
    """Seconds since the diagnosis began."""

    def __call__(self) -> float:
        """Return the time."""
        ...


@dataclass
class Flood:
    """Packets of UDP from or to an `airqueue server`."""

    site: str
    prober: Prober
    clock: Clock
    hold_s: float
    kind: LoadKind = "flood"

    def carry_out(self, say: Say) -> Load:
        """Find the rate of the path, then keep its queue full for ``hold_s``. Raises ProbeError."""
        direction = self.prober.direction
        say(f"looking for the rate of the path, {direction}", None)
        runner = Runner(self.prober)
        size = SIZE_BYTES
        found = find_rate(runner, size, None)
        if found is None:
            return self._idle()
        plan, meta = flood_plan(size, found, self.hold_s)
        began: list[float] = []

        def glimpse(progress: RunProgress) -> None:
            if progress.runs_ahead:
                say("waiting for other clients of the server", progress.waits_s)
                return
            began.append(self.clock() - progress.elapsed_s)
            say(f"loading the path, {direction}", progress.planned_s - progress.elapsed_s)

        session = Session(self.prober.run(plan, meta, glimpse))
        # The latest answer about the run's beginning is delayed least.
        zero = float(np.median(began)) if began else self.clock() - plan.end_s
        start, end = session.phases["hold"]
        return Load(
            self.site,
            direction,
            self.kind,
            zero + start,
            zero + end,
            session.rate_pps("hold") * size * 8,
            _flood_rise_s(session),
        )

    def _idle(self) -> Load:
        most = self.prober.max_rate_pps(SIZE_BYTES) * SIZE_BYTES * 8e-6
        why = (
            f"The path carries {most:.0f} Mb/s, all that the two ends may send: nothing was filled."
        )
        now = self.clock()
        return Load(self.site, self.prober.direction, self.kind, now, now, idle=why)


def flood_plan(size: int, found: Found, hold_s: float) -> tuple[Plan, dict[str, Any]]:
    """Lay out a flood: quiet, fill, hold, with sparse packets of another flow beside it."""
    fill_pps, hold_pps = (
        max(LEAST_OVERLOAD * found.rate_pps, min(factor * found.rate_pps, found.ceiling_pps))
        for factor in (FILL, HOLD)
    )
    filled = QUIET_S + FILL_S
    end = filled + hold_s
    segments = (
        *baseline(0.0, QUIET_S, found.rate_pps, (size,)),
        cbr(FLOOD_FLOW, QUIET_S, filled, fill_pps, size),
        cbr(FLOOD_FLOW, filled, end, hold_pps, size),
        cbr(PROBE_FLOWS[0], filled, end, PROBES_PPS, size),
        *farewell(end + 0.05, size),
    )
    phases = {
        "quiet": [0.0, QUIET_S],
        "fill": [QUIET_S, filled],
        "hold": [filled, end],
        "after": [end, end],
    }
    return Plan(segments), {"kind": "load", "size_bytes": size, "phases": phases}


def _flood_rise_s(session: Session) -> float | None:
    """Return how much longer the flood's packets needed in ``hold`` than packets before the flood."""
    delay = session.run.delay_s
    before = delay[session.during("quiet") & session.run.received]
    loaded = delay[session.during("hold") & session.flood & session.run.received]
    if not len(before) or not len(loaded):
        return None
    return float(np.median(loaded) - np.median(before))


@dataclass
class Transfers:
    """Downloads of one address of the web, or uploads to one, over and over."""

    site: str
    direction: Direction
    url: str
    clock: Clock
    hold_s: float
    most_bytes: int
    kind: LoadKind = "web"
    _stop: threading.Event = field(default_factory=threading.Event)
    _moved: list[int] = field(default_factory=lambda: [0] * CONNECTIONS)
    _failed: list[str] = field(default_factory=list)

    def carry_out(self, say: Say) -> Load:
        """Transfer until round trips were measured for ``hold_s``. Raises LoadError."""
        threads = [
            threading.Thread(target=self._transfer, args=(i,), daemon=True)
            for i in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        began = self.clock()
        try:
            settled, ended = self._watch(say, began)
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(TIMEOUT_S)
        first, last = settled[1], ended[1]
        length = max(ended[0] - settled[0], 1e-9)
        return Load(
            self.site,
            self.direction,
            self.kind,
            settled[0],
            ended[0],
            8 * (last - first) / length,
        )

    def _watch(self, say: Say, began: float) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return time and bytes when the queue had filled, and at the end."""
        settled: tuple[float, int] | None = None
        says = f"{'downloading' if self.direction == 'down' else 'uploading'} {self.url}"
        while True:
            now, moved = self.clock(), sum(self._moved)
            if len(self._failed) == CONNECTIONS:
                raise LoadError(f"{self.url} cannot be transferred: {self._failed[-1]}.")
            if moved and settled is None and now > began + SETTLE_S:
                settled = now, moved
            full = moved >= self.most_bytes
            if settled is not None and (now >= settled[0] + self.hold_s or full):
                return settled, (now, moved)
            if full or (not moved and now > began + TIMEOUT_S):
                why = "the limit of bytes was reached" if full else "nothing was transferred"
                raise LoadError(
                    f"{self.url} did not load the path for long enough ({why}): name a larger file, "
                    "or raise --max-bytes."
                )
            say(says, SETTLE_S + self.hold_s - (now - began))
            time.sleep(POLL_S)

    def _transfer(self, index: int) -> None:
        try:
            while not self._stop.is_set():
                before = self._moved[index]
                self._once(index)
                if self._moved[index] == before:
                    time.sleep(TICKS_S)
        except (OSError, ValueError, urllib.error.URLError) as error:
            if not self._stop.is_set():
                self._failed.append(str(error).rstrip("."))

    def _once(self, index: int) -> None:
        body = self._body(index) if self.direction == "up" else None
        request = urllib.request.Request(self.url, body, method="POST" if body else "GET")
        request.add_header("Accept-Encoding", "identity")
        if body is not None:
            request.add_header("Content-Length", str(MOST_UPLOAD_BYTES))
            request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            while not self._stop.is_set() and (data := answer.read1(CHUNK_BYTES)):
                if self.direction == "down":
                    self._moved[index] += len(data)

    def _body(self, index: int) -> Iterator[bytes]:
        chunk = bytes(CHUNK_BYTES)
        for _ in range(MOST_UPLOAD_BYTES // CHUNK_BYTES):
            if self._stop.is_set():
                raise OSError("stopped")
            yield chunk
            self._moved[index] += CHUNK_BYTES
