"""Plain UDP traffic through a Host AP, to check the bed without the measurement's endpoints."""

from __future__ import annotations

import functools
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from airqueue.linux.host_ap import HostAp

UDP_SEGMENT = 103
SO_TIMESTAMPNS = 35
_ATTEMPTS = 5
_LATE_S = 0.05
_STAMP = struct.Struct("!Id")
_KERNEL_STAMP = struct.Struct("@qq")
# The kernel stamps packets as they come only from a moment after the first socket on the machine
# asked for it, and until then when they are read. So one asks long before the first packet.
_ASKING = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
_ASKING.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


@dataclass(frozen=True)
class Arrival:
    """A packet that came: its number, when it was sent and when it came (one clock, seconds).

    It came when the kernel handed it to the receiver's interface, which is when it left the
    bottleneck; that a busy machine lets the receiving thread wait does not count.
    """

    seq: int
    sent_s: float
    arrived_s: float

    @property
    def delay_s(self) -> float:
        return self.arrived_s - self.sent_s


class Flow:
    """One UDP flow from the sender to the receiver, with a thread that notes what arrives."""

    def __init__(self, bed: HostAp, index: int = 0) -> None:
        family = socket.AF_INET6 if bed.config.ipv6 else socket.AF_INET
        header = 48 if bed.config.ipv6 else 28

        def udp() -> socket.socket:
            return socket.socket(family, socket.SOCK_DGRAM)

        self._header = header
        self._sender = bed.namespace("sender").call(udp)
        self._receiver = bed.namespace("receiver").call(udp)
        # The client is the receiver of a downlink and the sender of an uplink; the port is its own.
        port = bed.flow_ports[index]
        down = bed.config.direction == "down"
        self._receiver.bind((bed.receiver_address, port if down else 0))
        self._sender.bind((bed.sender_address, 0 if down else port))
        self._to = self._receiver.getsockname()[:2]
        self._receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        self._receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._receiver.settimeout(0.05)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._epoch_s = _monotonic_epoch_s()
        self.arrivals: list[Arrival] = []
        self.handed_over_s: list[float] = []
        """By packet number: when the kernel had it at the latest."""

    @property
    def sent(self) -> int:
        """Packets sent one by one so far."""
        return len(self.handed_over_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._sender.close()
        self._receiver.close()

    def train(self, count: int, size_bytes: int = 1500) -> None:
        """Send packets of an IP size back to back."""
        padding = bytes(size_bytes - self._header - _STAMP.size)
        for _ in range(count):
            self._sender.sendto(_STAMP.pack(self.sent, time.monotonic()) + padding, self._to)
            self.handed_over_s.append(time.monotonic())

    def batch(self, count: int, size_bytes: int = 1500) -> None:
        """Send packets in one call, which the kernel is to cut up (UDP_SEGMENT)."""
        payload = size_bytes - self._header
        ancillary = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", payload))]
        self._sender.sendmsg([bytes(count * payload)], ancillary, 0, self._to)

    def steady(
        self,
        rate_pps: float,
        seconds: float,
        size_bytes: int = 1500,
        stop: threading.Event | None = None,
    ) -> None:
        """Send evenly, catching up after a late wake-up, for a time or until told to stop."""
        stop = stop or threading.Event()
        began, first = time.monotonic(), self.sent
        while (now := time.monotonic() - began) < seconds and not stop.is_set():
            due = int(now * rate_pps) - (self.sent - first)
            self.train(max(0, due), size_bytes)
            time.sleep(min(0.001, 0.5 / rate_pps))

    def in_background(self, rate_pps: float, size_bytes: int = 1500) -> Background:
        """Start `steady` on a thread, until the returned context is left."""
        return Background(self, rate_pps, size_bytes)

    def wait_for(self, count: int, within_s: float = 5.0) -> None:
        """Wait until so many packets have come, or that long: the thread may be behind."""
        deadline = time.monotonic() + within_s
        while len(self.arrivals) < count and time.monotonic() < deadline:
            time.sleep(0.01)

    def _receive(self) -> None:
        while not self._stop.is_set():
            try:
                data, ancillary, _, _ = self._receiver.recvmsg(2048, 128)
            except TimeoutError:
                continue
            seq, sent_s = _STAMP.unpack_from(data)
            came_s = _kernel_stamp_s(ancillary) - self._epoch_s
            self.arrivals.append(Arrival(seq, sent_s, came_s))


def _monotonic_epoch_s() -> float:
    """When, on the clock of the day, with which the kernel stamps, the monotonic one was 0."""
    # A thread may have to wait between two readings, so the closest pair of some is taken.
    readings = ((time.monotonic(), time.time(), time.monotonic()) for _ in range(20))
    before, day, after = min(readings, key=lambda r: r[2] - r[0])
    return day - (before + after) / 2


def _kernel_stamp_s(ancillary: list[tuple[int, int, bytes]]) -> float:
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = _KERNEL_STAMP.unpack_from(content)
            return float(seconds + nanoseconds * 1e-9)
    raise AssertionError("the kernel gave a packet no time stamp")


class Background:
    """`Flow.steady` on a thread."""

    def __init__(self, flow: Flow, rate_pps: float, size_bytes: int) -> None:
        self._stop = threading.Event()
        arguments = (rate_pps, math.inf, size_bytes, self._stop)
        self._thread = threading.Thread(target=flow.steady, args=arguments, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def packets_to_see(frame_bytes: int, burst_bytes: int, rel: float) -> int:
    """So many packets that the burst is half of ``rel`` of them."""
    return math.ceil(burst_bytes / (rel / 2 * frame_bytes))


def shaped_bps(
    arrivals: Sequence[Arrival], frame_bytes: int, burst_bytes: int, rel: float
) -> float:
    """What the rate of a token bucket must have been at least, for these packets to come like that.

    In any time T after one of them came, a bucket lets through no more than its burst and rate * T.
    Timers that are late, a sender that is, and packets lost make this less than the rate, and
    nothing makes it more. It is the rate, to ``rel``, if but for once packets waited and timers were
    punctual while `packets_to_see` of them left.
    """
    packets = packets_to_see(frame_bytes, burst_bytes, rel)
    came_s = np.array([arrival.arrived_s for arrival in arrivals])
    if len(came_s) <= packets:
        return 0.0
    took_s = came_s[packets:] - came_s[:-packets]
    return float(8 * (packets * frame_bytes - burst_bytes) / took_s.min())


@dataclass(frozen=True)
class Wait:
    """How long a packet was the next to leave, and with the kernel, at least (seconds)."""

    began_s: float
    ended_s: float

    @property
    def length_s(self) -> float:
        return self.ended_s - self.began_s


def waits_at_the_head(flow: Flow) -> list[Wait]:
    """One for each packet but the first that came. A sender that is late makes none longer."""
    return [
        Wait(max(a.arrived_s, flow.handed_over_s[b.seq]), b.arrived_s)
        for a, b in pairwise(flow.arrivals)
    ]


class Lateness:
    """How late a thread that only sleeps was at worst, while this context was entered."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        nap_s = 0.005
        while not self._stop.is_set():
            before = time.monotonic()
            time.sleep(nap_s)
            self.worst_s = max(self.worst_s, time.monotonic() - before - nap_s)


def judged_when_punctual(test: Callable[..., None]) -> Callable[..., None]:
    """For a test in which commands and threads must run on time for the bed to do what it should.

    A failure counts if the machine kept no thread waiting for long meanwhile. If it did, the test
    has said nothing, and is repeated; what is wrong fails every time.
    """

    @functools.wraps(test)
    def repeated(**arguments: object) -> None:
        for _ in range(_ATTEMPTS - 1):
            with Lateness() as late:
                try:
                    return test(**arguments)
                except AssertionError:
                    if late.worst_s < _LATE_S:
                        raise
        return test(**arguments)

    return repeated


def wait_until_empty(bed: HostAp, within_s: float = 60.0) -> float:
    """Return how long the queue took to drain, or fail."""
    began = time.monotonic()
    while bed.queue_stats().backlog_packets:
        assert time.monotonic() - began < within_s, f"not empty after {within_s} s"
        time.sleep(0.01)
    return time.monotonic() - began
