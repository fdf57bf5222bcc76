"""Reads ns-2's trace of agents and dropped frames."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Ends = tuple[int, int]
"""Source and destination of a flow; there is one of each kind between two nodes."""


@dataclass
class Call:
    """Packets that a call sent after the warm-up, and those of them that arrived."""

    sent: int = 0
    arrived: int = 0
    delay_s: float = 0.0
    """Sum."""


@dataclass
class Timing:
    """Round trips of one connection."""

    sent_at: dict[int, float] = field(default_factory=dict)
    """By number, of what was sent once and is not acknowledged."""
    newest: int = -1
    """Sent."""
    acknowledged: int = -1
    count: int = 0
    sum_s: float = 0.0

    def on_sent(self, number: int, now: float) -> None:
        if number > self.newest:
            self.newest = number
            self.sent_at[number] = now
        else:
            self.sent_at.pop(number, None)

    def on_ack(self, number: int, now: float, *, counts: bool) -> None:
        if number <= self.acknowledged:
            return
        numbers = range(self.acknowledged + 1, number + 1)
        since = [self.sent_at.pop(old) for old in numbers if old in self.sent_at]
        # Behind what was sent again the others may have waited at the receiver.
        if counts and len(since) == len(numbers):
            self.count += 1
            self.sum_s += now - since[-1]
        self.acknowledged = number


class Watch:
    """What the trace says from ``begin_s`` on.

    ``s 2.714296098 _0_ AGT  --- 510 tcp 1500 [0 0 0 0] ------- [0:0 4:0 32 0] [261 0] 0 0`` is
    segment 261 on its way; ``D`` are drops, of an interface queue (``IFQ``) or, given up, of a MAC
    (``MAC RET``).
    """

    def __init__(self, nodes: int, begin_s: float) -> None:
        self.begin_s = begin_s
        self.overflows = [0] * nodes
        self.given_up = [0] * nodes
        self.timings: dict[Ends, Timing] = {}
        self.calls: dict[Ends, Call] = {}
        self.on_the_way: dict[str, float] = {}

    def on_line(self, line: str) -> None:
        if line[:2] == "D ":
            self.on_drop(line.split())
        elif line[:2] in ("s ", "r "):
            self.on_agent(line.split())

    def on_drop(self, words: list[str]) -> None:
        if float(words[1]) < self.begin_s:
            return
        node = int(words[2].strip("_"))
        if words[3] == "IFQ":
            self.overflows[node] += 1
        elif words[3:5] == ["MAC", "RET"]:
            self.given_up[node] += 1

    def on_agent(self, words: list[str]) -> None:
        sends, now, kind = words[0] == "s", float(words[1]), words[6]
        ends = (int(words[13][1:].partition(":")[0]), int(words[14].partition(":")[0]))
        if kind == "cbr":
            self.on_call(self.calls.setdefault(ends, Call()), words[5], now, sends=sends)
            return
        number = int(words[17][1:])
        if kind == "tcp" and sends:
            self.timings.setdefault(ends, Timing()).on_sent(number, now)
        elif kind == "ack" and not sends:
            timing = self.timings[ends[1], ends[0]]
            timing.on_ack(number, now, counts=now >= self.begin_s)

    def on_call(self, call: Call, packet: str, now: float, *, sends: bool) -> None:
        if sends and now >= self.begin_s:
            call.sent += 1
            self.on_the_way[packet] = now
        elif not sends and packet in self.on_the_way:
            call.arrived += 1
            call.delay_s += now - self.on_the_way.pop(packet)

    def rtt_s(self, source: int, destination: int) -> float:
        """Mean round-trip time of the connection between them; NaN if none was measured."""
        timing = self.timings.get((source, destination), Timing())
        return timing.sum_s / timing.count if timing.count else math.nan

    def call(self, source: int, destination: int) -> Call:
        """The call between them."""
        return self.calls.get((source, destination), Call())
