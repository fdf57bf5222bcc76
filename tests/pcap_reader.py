"""A reader of pcap files of 802.11 frames with radiotap headers, from the formats' documents."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

RTS, CTS, ACK, DATA, QOS_DATA = 0xB4, 0xC4, 0xD4, 0x08, 0x88

_ADDRESSES = {RTS: 2, CTS: 1, ACK: 1}


@dataclass(frozen=True)
class Frame:
    """A record. Stations are the last four bytes of their addresses."""

    end_ns: int
    """The record's time."""
    first_bit_us: int
    """TSFT."""
    flags: int
    rate_bps: float
    channel_mhz: int
    psdu_bytes: int
    kind: int
    retry: bool
    duration_us: int
    receiver: int
    transmitter: int | None
    sequence: int | None
    port: int | None
    """UDP destination, unless it is cut off."""

    @property
    def bad(self) -> bool:
        """Whether it is marked as lost."""
        return bool(self.flags & 0x40)

    @property
    def is_data(self) -> bool:
        return self.kind in (DATA, QOS_DATA)


def read(path: Path) -> list[Frame]:
    """Return all records of a file."""
    content = path.read_bytes()
    magic, major, minor, _, _, snap, link = struct.unpack_from("<IHHiIII", content)
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 127)
    frames, at = [], 24
    while at < len(content):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", content, at)
        at += 16
        assert kept == min(length, snap) and at + kept <= len(content)
        record = content[at : at + kept]
        frames.append(_frame(record, length, seconds * 10**9 + nanos))
        at += kept
    return frames


def _frame(record: bytes, length: int, end_ns: int) -> Frame:
    version, _, radiotap, present = struct.unpack_from("<BBHI", record)
    # TSFT, flags, rate, channel; each aligned to its size.
    assert (version, present, radiotap) == (0, 0b1111, 22)
    first_bit_us, flags, rate, channel_mhz, _ = struct.unpack_from("<QBBHH", record, 8)
    body = record[radiotap:]
    kind, bits, duration_us = struct.unpack_from("<BBH", body)
    addresses = [
        int.from_bytes(body[4 + 6 * i : 10 + 6 * i][2:]) for i in range(_ADDRESSES.get(kind, 3))
    ]
    sequence = port = None
    if kind in (DATA, QOS_DATA):
        (control,) = struct.unpack_from("<H", body, 22)
        sequence = control >> 4
        # MAC header, LLC/SNAP, and the ports behind IPv4 without options.
        at = (26 if kind == QOS_DATA else 24) + 8 + 20 + 2
        if at + 2 <= len(body):
            (port,) = struct.unpack_from(">H", body, at)
    return Frame(
        end_ns=end_ns,
        first_bit_us=first_bit_us,
        flags=flags,
        rate_bps=rate * 5e5,
        channel_mhz=channel_mhz,
        psdu_bytes=length - radiotap,
        kind=kind,
        retry=bool(bits & 0x08),
        duration_us=duration_us,
        receiver=addresses[0],
        transmitter=addresses[1] if len(addresses) > 1 else None,
        sequence=sequence,
        port=port,
    )
