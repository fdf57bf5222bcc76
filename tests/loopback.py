"""What a packet socket sees on the loopback device, where other tests send, too."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

ETH_P_ALL = 0x0003
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 1 << 26
"""Room for what others send until the packets are read."""
QUIET_S = 0.2


@contextmanager
def listening() -> Iterator[socket.socket]:
    """A socket that sees every IP packet on the device; the test is skipped without the right."""
    try:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    except PermissionError:
        pytest.skip("watching packets needs root")
    with tap:
        with suppress(PermissionError):  # in a user namespace of an older kernel
            tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        tap.bind(("lo", ETH_P_ALL))
        tap.settimeout(QUIET_S)
        yield tap


def udp_of(packet: bytes) -> bytes:
    """What follows the IP header, without options and extension headers."""
    return packet[20:] if packet[0] >> 4 == 4 else packet[40:]


def packets_of(tap: socket.socket, port: int) -> Iterator[bytes]:
    """Yield the IP packets from or to a UDP port until `QUIET_S` pass without one."""
    last = time.monotonic()
    while time.monotonic() - last < QUIET_S:
        try:
            packet = tap.recv(65535)
        except TimeoutError:
            return
        udp = udp_of(packet)
        if port in (int.from_bytes(udp[:2]), int.from_bytes(udp[2:4])):
            yield packet
            last = time.monotonic()
