"""TCP acknowledgements for the ACK filter: headers with all that the filter looks at.

The guest reads this file too: it needs nothing but Python's own library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

_IP_BYTES = 20
_TCP_BYTES = 20
_TCP = 6
_SEGMENT = 1448
_FLAGS = {"fin": 1, "syn": 2, "ack": 16, "ece": 64, "cwr": 128}

Blocks = tuple[tuple[int, int], ...]


class Header(NamedTuple):
    """A TCP header, in the words of ``airqueue.simulate.TcpHeader``."""

    ack: int | None
    has_data: bool = False
    connection: int = 0
    syn: bool = False
    fin: bool = False
    ece: bool = False
    cwr: bool = False
    timestamps: tuple[int, int] | None = None
    sack: Blocks = ()

    @property
    def options(self) -> bytes:
        """The options, padded to words with NOP."""
        found = b""
        if self.timestamps is not None:
            found += struct.pack("!BBBBII", 1, 1, 8, 10, *self.timestamps)
        if self.sack:
            numbers = [number for block in self.sack for number in block]
            found += struct.pack(f"!BBBB{len(numbers)}I", 1, 1, 5, 2 + 4 * len(numbers), *numbers)
        return found

    @property
    def header_bytes(self) -> int:
        """Bytes of the IP header, the TCP header and the options."""
        return _IP_BYTES + _TCP_BYTES + len(self.options)


def packet(
    header: Header, addresses: tuple[bytes, bytes], port: int, number: int, size_bytes: int
) -> bytes:
    """Return an IPv4 packet with the header; the number of the packet is the sequence number.

    The kernel computes the checksum of the IP header; nobody checks that of TCP.
    """
    flags = sum(bit for name, bit in _FLAGS.items() if name != "ack" and getattr(header, name))
    flags |= 0 if header.ack is None else _FLAGS["ack"]
    words = (_TCP_BYTES + len(header.options)) // 4
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size_bytes, 1, 0, 64, _TCP, 0, *addresses)
    ports_and_numbers = struct.pack("!HHII", 5001, port, number, header.ack or 0)
    tcp = ports_and_numbers + struct.pack("!BBHHH", words << 4, flags, 8192, 0, 0) + header.options
    return (ip + tcp).ljust(size_bytes, b"\0")


@dataclass(slots=True)
class _Receiver:
    """The end of a connection that acknowledges, and does now and then what is rare in a network."""

    draws: Random
    stamped: bool
    ack: int = 1_000_000
    blocks: Blocks = ()
    ece: bool = False

    def _happens(self, probability: float) -> bool:
        return self.draws.random() < probability

    def _advance(self) -> None:
        """Data arrives in order, or fills the hole, or arrives beyond the hole."""
        which = self.draws.random()
        if not self.blocks:
            if which < 0.75:
                self.ack += 2 * _SEGMENT
            elif which < 0.9:
                start = self.ack + _SEGMENT
                self.blocks = ((start, start + _SEGMENT),)
            return
        (start, end), *others = self.blocks
        if which < 0.2:
            self.ack, self.blocks = max(end for _, end in self.blocks), ()
        elif which < 0.6:
            self.blocks = ((start, end + _SEGMENT), *others)
        elif which < 0.7 and len(others) < 2:
            beyond = max(end for _, end in self.blocks) + 4 * _SEGMENT
            self.blocks = ((beyond, beyond + _SEGMENT), *self.blocks)
        elif which < 0.8:
            self.blocks = (*others, (start, end))

    def header(self, at_s: float) -> Header:
        """Return the next header, of an acknowledgement or of data."""
        self._advance()
        self.ece ^= self._happens(0.05)
        ack, blocks = self.ack, self.blocks
        clock = 1000 + int(1000 * at_s)
        stamps = (clock, clock - 30)
        if self._happens(0.03):  # an acknowledgement that was overtaken
            ack, blocks, stamps = ack - 2 * _SEGMENT, (), (clock - 5, clock - 35)
        elif self._happens(0.03):  # a report of a duplicate
            blocks = ((ack - _SEGMENT, ack), *blocks[:2])
        elif self._happens(0.03):
            stamps = (clock, clock - 60)
        return Header(
            ack=None if self._happens(0.01) else ack,
            has_data=self._happens(0.05),
            syn=self._happens(0.01),
            fin=self._happens(0.01),
            ece=self.ece,
            cwr=self._happens(0.03),
            timestamps=stamps if self.stamped else None,
            sack=blocks,
        )


def headers(seed: int, seconds: float, pause_s: float) -> Iterator[tuple[float, Header, int]]:
    """Yield times in s, headers and sizes in bytes of a connection's packets.

    Up to ten packets come in a train, 0.1 to 0.4 ms apart; trains have pauses of up to twice
    ``pause_s``. Connections with an odd seed have no timestamps.
    """
    draws = Random(seed)
    receiver = _Receiver(draws, stamped=seed % 2 == 0)
    at_s = 0.0
    while True:
        at_s += 2.0 * pause_s * draws.random()
        for _ in range(1 + int(10 * draws.random())):
            at_s += 1e-4 * (1.0 + 3.0 * draws.random())
            if at_s >= seconds:
                return
            header = receiver.header(at_s)
            data_bytes = 1 + int(600 * draws.random()) if header.has_data else 0
            yield at_s, header, header.header_bytes + data_bytes
