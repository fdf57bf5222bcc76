"""Transfers of the web as a load: any HTTP server will do, and nothing has to be installed there."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from airqueue.diagnose.loads import (
    CONNECTIONS,
    SETTLE_S,
    LoadError,
    Say,
    Times,
    payload_share,
)
from airqueue.diagnose.records import Direction, Load, LoadKind, Stretch, stretches

CHUNK_BYTES: Final = 1 << 16
TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.05
PAUSE_S: Final = 0.1
"""After a transfer without any data."""
MOST_UPLOAD_BYTES: Final = 1 << 30
"""Announced length of an upload; it ends long before."""


@dataclass
class Transfers:
    """Downloads of one address of the web, or uploads to one, over and over."""

    site: str
    direction: Direction
    url: str
    times: Times
    hold_s: float
    most_bytes: int
    kind: LoadKind = "web"
    _stop: threading.Event = field(default_factory=threading.Event)
    _moved: list[int] = field(default_factory=lambda: [0] * CONNECTIONS)
    _failed: list[str] = field(default_factory=list)
    _seen: list[tuple[float, int]] = field(default_factory=list)
    """Times, and the bytes until then."""

    def carry_out(self, say: Say) -> Load:
        """Transfer until round trips were measured for ``hold_s``. Raises LoadError."""
        threads = [
            threading.Thread(target=self._transfer, args=(i,), daemon=True)
            for i in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        began = self.times.clock()
        try:
            settled, ended = self._watch(say, began)
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(TIMEOUT_S)
        share = payload_share(self.times.answered_by(self.site))
        bits = 8 * (ended[1] - settled[1]) / share
        length = max(ended[0] - settled[0], 1e-9)
        return Load(
            self.site,
            self.direction,
            self.kind,
            settled[0],
            ended[0],
            bits / length,
            rates=self._rates(share),
        )

    def _watch(self, say: Say, began: float) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return time and bytes when the queue had filled, and at the end."""
        settled: tuple[float, int] | None = None
        says = f"{'downloading' if self.direction == 'down' else 'uploading'} {self.url}"
        while True:
            now, moved = self.times.clock(), sum(self._moved)
            self._seen.append((now, moved))
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

    def _rates(self, share: float) -> tuple[Stretch, ...]:
        """Return the rates as they were seen while it went on; ``share`` of them is data."""
        if len(self._seen) < 2:
            return ()
        at_s, moved = np.array(self._seen, dtype=float).T
        return stretches(at_s, 8 * np.diff(moved) / share)

    def _transfer(self, index: int) -> None:
        try:
            while not self._stop.is_set():
                before = self._moved[index]
                self._once(index)
                if self._moved[index] == before:
                    time.sleep(PAUSE_S)
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
