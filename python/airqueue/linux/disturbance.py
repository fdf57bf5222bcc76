"""Disturbances of a Host AP during a measurement: stalls, rate swings, limit swings.

They stand for what the APQ paper saw in real devices (section IV-B): access points that stop for
seconds, or whose rate adaptation halves and doubles the rate. A packets-per-second ceiling is no
event but a setting: ``HostApConfig.mpu_bytes``.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from airqueue.units import UnitError, parse_duration, parse_pair

Kind = Literal["stall", "swing", "limit"]

_LONGEST_STALL_S = 30.0


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Something that happens every ``every_s`` seconds, the first time after as long.

    ``value``: seconds that a stall lasts; the factor on the configured rate (swing) or on the
    configured limit (limit), which applies and stops applying in turn.
    """

    kind: Kind
    every_s: float
    value: float

    def __post_init__(self) -> None:
        if not 0.1 <= self.every_s <= 3600:
            raise UnitError(f"a {self.kind} every {self.every_s:g} s is outside 0.1 s to 3600 s")
        if self.kind == "stall" and not 0.05 <= self.value <= min(_LONGEST_STALL_S, self.every_s):
            raise UnitError(
                f"a stall of {self.value:g} s must last from 0.05 s to {_LONGEST_STALL_S:g} s "
                "and no longer than the time between stalls"
            )
        if self.kind != "stall" and not 0.01 <= self.value <= 100:
            raise UnitError(f"the factor {self.value:g} of a {self.kind} is outside 0.01 to 100")

    @classmethod
    def parse(cls, kind: Kind, text: str) -> Disturbance:
        """Return what ``EVERY:LENGTH`` (stall, ``10s:2s``) or ``EVERY:FACTOR`` describes."""
        example = "10s:2s" if kind == "stall" else "10s:0.5"
        every, value = parse_pair(text, f"a {kind}", example)
        if kind == "stall":
            return cls(kind, parse_duration(every), parse_duration(value))
        try:
            factor = float(value)
        except ValueError as error:
            raise UnitError(
                f"{text!r} is not a {kind}: {value!r} is not a factor; write for example {example}"
            ) from error
        return cls(kind, parse_duration(every), factor)


class Disturbed(Protocol):
    """The part of a Host AP that disturbances act on."""

    def change_rate(self, factor: float) -> None:
        """Set the rate to a multiple of the configured one."""
        ...

    def change_limit(self, limit: int | None) -> None:
        """Set the FIFO's limit; None: the configured one."""
        ...

    def stall(self, seconds: float, stop: threading.Event | None = None) -> None:
        """Serve nothing for a while; returns when it is over, or soon after ``stop`` is set."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """One disturbance: seconds since the disturbances began, and the new value."""

    at_s: float
    kind: Kind
    value: float


class Disturber:
    """Carries disturbances out on the wall clock, on one thread, so that none overlap.

    As a context manager it starts, and stops with the bed as it was configured. A disturbance that
    falls due during another waits for its end. An error on the thread (the kernel refused a
    change) ends the disturbances and is raised by ``stop``.
    """

    def __init__(self, bed: Disturbed, disturbances: Sequence[Disturbance], limit: int) -> None:
        """Prepare for a bed whose configured limit is ``limit``, in the FIFO's own unit."""
        self.events: list[Event] = []
        self._bed = bed
        self._disturbances = tuple(disturbances)
        self._limit = limit
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; the first disturbance comes after its ``every_s``."""
        if self._disturbances and self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="airqueue-disturb", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop, restore the configured state, and raise an error of the thread."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._thread = None
        if self._error is not None:
            raise self._error
        self._bed.change_rate(1.0)
        self._bed.change_limit(None)

    def __enter__(self) -> Disturber:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        began = time.monotonic()
        due = [(d.every_s, index, True) for index, d in enumerate(self._disturbances)]
        heapq.heapify(due)
        try:
            while True:
                at_s, index, apply = heapq.heappop(due)
                if self._stop.wait(max(0.0, began + at_s - time.monotonic())):
                    return
                disturbance = self._disturbances[index]
                self._carry_out(disturbance, apply, time.monotonic() - began)
                heapq.heappush(due, (at_s + disturbance.every_s, index, not apply))
        except Exception as error:
            self._error = error

    def _carry_out(self, disturbance: Disturbance, apply: bool, now_s: float) -> None:
        value = disturbance.value if apply or disturbance.kind == "stall" else 1.0
        self.events.append(Event(now_s, disturbance.kind, value))
        if disturbance.kind == "stall":
            self._bed.stall(value, self._stop)
        elif disturbance.kind == "swing":
            self._bed.change_rate(value)
        else:
            self._bed.change_limit(max(1, round(self._limit * value)))
