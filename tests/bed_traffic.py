"""Plain UDP traffic through a Host AP, to check the bed without the measurement's endpoints."""

from __future__ import annotations

import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Self

from airqueue.linux.bed import HostAp

UDP_SEGMENT = 103
_STAMP = struct.Struct("!Id")


@dataclass(frozen=True)
class Arrival:
    """A packet that came: its number, when it was sent and when it came (one clock, seconds)."""

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
        self._receiver.settimeout(0.05)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self.arrivals: list[Arrival] = []
        self.sent = 0

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
            self.sent += 1

    def batch(self, count: int, size_bytes: int = 1500) -> None:
        """Send packets in one call, which the kernel is to cut up (UDP_SEGMENT)."""
        payload = size_bytes - self._header
        ancillary = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", payload))]
        self._sender.sendmsg([bytes(count * payload)], ancillary, 0, self._to)
        self.sent += count

    def steady(self, rate_pps: float, seconds: float, size_bytes: int = 1500) -> None:
        """Send evenly, catching up after a late wake-up."""
        began, first = time.monotonic(), self.sent
        while (now := time.monotonic() - began) < seconds:
            due = int(now * rate_pps) - (self.sent - first)
            self.train(max(0, due), size_bytes)
            time.sleep(min(0.001, 0.5 / rate_pps))

    def in_background(self, rate_pps: float, seconds: float, size_bytes: int = 1500) -> Background:
        """Start `steady` on a thread; leaving the returned context waits for its end."""
        return Background(self, rate_pps, seconds, size_bytes)

    def _receive(self) -> None:
        while not self._stop.is_set():
            try:
                data = self._receiver.recv(2048)
            except TimeoutError:
                continue
            seq, sent_s = _STAMP.unpack_from(data)
            self.arrivals.append(Arrival(seq, sent_s, time.monotonic()))


class Background:
    """`Flow.steady` on a thread."""

    def __init__(self, flow: Flow, rate_pps: float, seconds: float, size_bytes: int) -> None:
        arguments = (rate_pps, seconds, size_bytes)
        self._thread = threading.Thread(target=flow.steady, args=arguments, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()


def wait_until_empty(bed: HostAp, within_s: float) -> float:
    """Return how long the queue took to drain, or fail."""
    began = time.monotonic()
    while bed.queue_stats().backlog_packets:
        assert time.monotonic() - began < within_s, f"not empty after {within_s} s"
        time.sleep(0.01)
    return time.monotonic() - began
