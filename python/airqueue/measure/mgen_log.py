"""Log files of the traffic tool MGEN (version 5), text or binary, as columns of packets.

Formats: chapters 7 to 9 of the MGEN User's and Reference Guide, checked against what version 5.02
writes. Where the two differ the program is followed: its binary SEND records have type 3 and LISTEN
records type 4, and a SEND record of UDP has no field for a TCP message size.
"""

from __future__ import annotations

import ipaddress
import re
import struct
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

MAX_PACKETS = 5_000_000
"""Packets of one log that are read, and rows that a run made of it may have."""
MAX_LINE_BYTES = 65_536
MAX_ENDPOINTS = 4_096
DAY_US = 86_400_000_000

UDP = 1
RECV, RERR, SEND = 1, 2, 3
MESSAGE_VERSION = 2

BINARY_MAGIC = re.compile(rb"mgen version=\S{1,32} type=binary_log\n\0")
_LINE = re.compile(rb"(\S+) ([A-Z]+)(?: |$)")
_RECV = re.compile(
    rb"\S+ RECV (?:proto>(\w+) )?flow>(\d{1,10}) seq>(\d{1,10}) src>(\S+) dst>(\S+) "
    rb"sent>(\S+) size>(\d{1,10})(?: |$)"
)
_SEND = re.compile(
    rb"\S+ SEND (?:proto>(\w+) )?flow>(\d{1,10}) seq>(\d{1,10}) srcPort>\d{1,5} dst>(\S+) "
    rb"size>(\d{1,10})(?: |$)"
)
_TIME_OF_DAY = re.compile(rb"([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)\.(\d{6})")
_EPOCH_TIME = re.compile(rb"(\d{1,10})\.(\d{6})")
_OTHER_EVENTS = frozenset(
    b"RERR START STOP ON MOD OFF LISTEN IGNORE JOIN LEAVE CONNECT ACCEPT SHUTDOWN DISCONNECT "
    b"RECONNECT REPORT".split()
)
_RECV_FORM = "RECV proto>UDP flow>N seq>N src>ADDRESS/PORT dst>ADDRESS/PORT sent>TIME size>BYTES"
_SEND_FORM = "SEND proto>UDP flow>N seq>N srcPort>N dst>ADDRESS/PORT size>BYTES"


class MgenError(ValueError):
    """A log cannot be used; the message is one sentence naming the file and the place."""


class Endpoints:
    """Numbers for the addresses and ports met in the logs of one session."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.header_bytes: list[int] = []
        """Length of the IP and UDP headers of packets to that endpoint."""
        self._numbers: dict[bytes | tuple[bytes, int], int] = {}

    def of_text(self, text: bytes) -> int:
        """Number of ADDRESS/PORT; ValueError if it is none."""
        number = self._numbers.get(text)
        if number is None:
            address, _, port = text.decode("ascii").rpartition("/")
            number = self._number(ipaddress.ip_address(address), int(port))
            self._numbers[text] = number
        return number

    def of_bytes(self, address: bytes, port: int) -> int:
        """Number of a binary address of 4 or 16 bytes; ValueError for another length."""
        number = self._numbers.get((address, port))
        if number is None:
            number = self._number(ipaddress.ip_address(address), port)
            self._numbers[address, port] = number
        return number

    def _number(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> int:
        if not 0 <= port <= 65_535:
            raise ValueError("no port")
        name = f"{address}/{port}"
        if name in self.names:
            return self.names.index(name)
        if len(self.names) == MAX_ENDPOINTS or len(self._numbers) == 4 * MAX_ENDPOINTS:
            raise ValueError(f"more than {MAX_ENDPOINTS} different addresses")
        self.names.append(name)
        # RFC 791 and 8200, without options; UDP has 8 bytes of its own.
        v4 = address.version == 4 or address.ipv4_mapped is not None
        self.header_bytes.append(28 if v4 else 48)
        return len(self.names) - 1


def _column() -> array[int]:
    return array("q")


@dataclass
class Packets:
    """Columns of equal length, in the order of the log.

    Times in microseconds; ``received_us`` and ``source`` stay empty for a sender's packets. ``size``
    is the IP packet's. ``place`` is the line, in a binary log the byte, where the packet stands.
    """

    sent_us: array[int] = field(default_factory=_column)
    received_us: array[int] = field(default_factory=_column)
    flow: array[int] = field(default_factory=_column)
    seq: array[int] = field(default_factory=_column)
    source: array[int] = field(default_factory=_column)
    destination: array[int] = field(default_factory=_column)
    size: array[int] = field(default_factory=_column)
    place: array[int] = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.sent_us)


class _DayClock:
    """Turns times of day into a time that continues after midnight, despite jitter."""

    def __init__(self) -> None:
        self.last_us: int | None = None

    def unwrap(self, time_us: int, is_time_of_day: bool) -> int:
        """Return the time with that time of day that is nearest to the one before."""
        if is_time_of_day and self.last_us is not None:
            days = (self.last_us - time_us + DAY_US // 2) // DAY_US
            time_us += days * DAY_US
        self.last_us = time_us
        return time_us


@dataclass
class MgenLog:
    """Contents of one log file."""

    path: Path
    endpoints: Endpoints
    received: Packets = field(default_factory=Packets)
    sent: Packets = field(default_factory=Packets)
    not_udp: int = 0
    receive_errors: int = 0
    torn: bool = False
    unit: str = "line"

    def error(self, place: int, expected: str, found: object) -> MgenError:
        """Make the error for something malformed."""
        shown = repr(found[:80])[1:] if isinstance(found, bytes) else str(found)
        return MgenError(f"{self.path}, {self.unit} {place}: expected {expected}, found {shown}")

    def warnings(self) -> list[str]:
        """Sentences about what was left out."""
        said = []
        if self.torn:
            said.append(f"{self.path}: the last record is cut short and was left out")
        if self.not_udp:
            said.append(f"{self.path}: {self.not_udp} messages that are not UDP were left out")
        if self.receive_errors:
            said.append(f"{self.path}: the receiver could not read {self.receive_errors} messages")
        return said

    def add(self, to: Packets, place: int, size: int, values: tuple[int, int, int, int]) -> None:
        """Append (sent_us, flow, seq, destination) with the UDP payload ``size``."""
        sent_us, flow, seq, destination = values
        if len(to) == MAX_PACKETS:
            raise MgenError(
                f"{self.path} has more than {MAX_PACKETS} packets; cut it into sessions"
            )
        if flow >= 2**32 or seq >= 2**32:
            raise self.error(place, "flow and sequence number below 2^32", f"{flow} and {seq}")
        ip_size = size + self.endpoints.header_bytes[destination]
        if ip_size > 65_535:
            raise self.error(place, "a size that fits into an IP packet", size)
        to.sent_us.append(sent_us)
        to.flow.append(flow)
        to.seq.append(seq)
        to.destination.append(destination)
        to.size.append(ip_size)
        to.place.append(place)


def read_log(path: Path, endpoints: Endpoints) -> MgenLog:
    """Read a text or binary log, recognised by its beginning. Raises MgenError."""
    log = MgenLog(path, endpoints)
    try:
        with path.open("rb") as file:
            magic = BINARY_MAGIC.match(file.peek(128))
            if magic is None:
                _TextReader(log).read(file)
            else:
                log.unit = "byte"
                file.seek(magic.end())
                _read_binary(log, file)
    except OSError as error:
        raise MgenError(f"{path} cannot be read: {error.strerror or error}") from None
    return log


class _TextReader:
    """Reads the lines of a text log."""

    def __init__(self, log: MgenLog) -> None:
        self.log = log
        self.received_clock = _DayClock()
        self.stamp_clock = _DayClock()
        """For the send times that arrived in the packets: another computer's clock."""
        self.sent_clock = _DayClock()

    def read(self, file: IO[bytes]) -> None:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise self.log.error(number, f"at most {MAX_LINE_BYTES} bytes in a line", line)
            text = line.rstrip()
            # A log cut short ends inside a line. MGEN ends every line, so what stands there may be
            # cut even if it looks whole: size>72 can be the beginning of size>722.
            if not line.endswith(b"\n") and not text.endswith(b" STOP"):
                self.log.torn = True
                break
            if text and not text.startswith(b"mgen:"):
                self._line(number, text)

    def _line(self, number: int, line: bytes) -> None:
        match = _LINE.match(line)
        if match is None:
            raise self.log.error(number, "a time and the name of an MGEN event", line)
        event = match[2]
        if event == b"RECV":
            self._recv(number, line, match[1])
        elif event == b"SEND":
            self._send(number, line, match[1])
        elif event == b"RERR":
            self.log.receive_errors += 1
        elif event not in _OTHER_EVENTS:
            raise self.log.error(number, "an event of MGEN 5", event)

    def _recv(self, number: int, line: bytes, time: bytes) -> None:
        match = _RECV.match(line)
        if match is None:
            raise self.log.error(number, _RECV_FORM, line)
        protocol, flow, seq, source, destination, sent, size = match.groups()
        if protocol not in (None, b"UDP"):
            self.log.not_udp += 1
            return
        received_us = self.received_clock.unwrap(*self._time(number, time))
        if self.stamp_clock.last_us is None:
            self.stamp_clock.last_us = received_us
        sent_us = self.stamp_clock.unwrap(*self._time(number, sent))
        packets = self.log.received
        values = (sent_us, int(flow), int(seq), self._endpoint(number, destination))
        self.log.add(packets, number, int(size), values)
        packets.received_us.append(received_us)
        packets.source.append(self._endpoint(number, source))

    def _send(self, number: int, line: bytes, time: bytes) -> None:
        match = _SEND.match(line)
        if match is None:
            raise self.log.error(number, _SEND_FORM, line)
        protocol, flow, seq, destination, size = match.groups()
        if protocol not in (None, b"UDP"):
            self.log.not_udp += 1
            return
        sent_us = self.sent_clock.unwrap(*self._time(number, time))
        values = (sent_us, int(flow), int(seq), self._endpoint(number, destination))
        self.log.add(self.log.sent, number, int(size), values)

    def _time(self, number: int, text: bytes) -> tuple[int, bool]:
        """Microseconds, and whether they count from midnight rather than from 1970."""
        if match := _TIME_OF_DAY.fullmatch(text):
            hours, minutes, seconds, micros = map(int, match.groups())
            return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros, True
        if (match := _EPOCH_TIME.fullmatch(text)) and int(match[1]) < 2**32:
            return int(match[1]) * 1_000_000 + int(match[2]), False
        raise self.log.error(number, "a time as HH:MM:SS.ssssss or SECONDS.ssssss", text)

    def _endpoint(self, number: int, text: bytes) -> int:
        try:
            return self.log.endpoints.of_text(text)
        except ValueError:
            raise self.log.error(
                number, f"one of at most {MAX_ENDPOINTS} endpoints ADDRESS/PORT", text
            ) from None


class _TruncatedError(Exception):
    """A record ends before its fields do."""


class _Fields:
    """Takes big-endian fields off the front of a record."""

    def __init__(self, record: bytes) -> None:
        self.record = record
        self.at = 0

    def take(self, form: str) -> tuple[int, ...]:
        try:
            values = struct.unpack_from(form, self.record, self.at)
        except struct.error:
            raise _TruncatedError from None
        self.at += struct.calcsize(form)
        return values

    def address(self) -> tuple[bytes, int]:
        """Port, type, length and bytes of an address, given back as (bytes, port)."""
        port, _, length = self.take(">HBB")
        address = self.record[self.at : self.at + length]
        if len(address) != length:
            raise _TruncatedError
        self.at += length
        return address, port


def _read_binary(log: MgenLog, file: IO[bytes]) -> None:
    following = file.tell()
    while True:
        place = following
        head = file.read(4)
        if not head:
            return
        kind, protocol, length = struct.unpack(">BBH", head) if len(head) == 4 else (0, 0, 0)
        record = file.read(length)
        following += 4 + length
        if len(head) < 4 or len(record) < length:
            log.torn = True
            return
        if kind == 0:
            raise log.error(place, "a record type of MGEN 5", "type 0")
        if kind == RERR:
            log.receive_errors += 1
        elif kind in (RECV, SEND) and protocol != UDP:
            log.not_udp += 1
        elif kind in (RECV, SEND):
            _binary_packet(log, place, kind, _Fields(record))


def _binary_packet(log: MgenLog, place: int, kind: int, fields: _Fields) -> None:
    """Read a RECV record (event time, source, message) or a SEND record (message alone)."""
    try:
        received = fields.take(">II") if kind == RECV else (0, 0)
        source = fields.address() if kind == RECV else None
        size, version, _, flow, seq, *sent = fields.take(">HBBIIII")
        destination = fields.address()
    except _TruncatedError:
        raise log.error(
            place, "an MGEN message", f"a record that ends after {len(fields.record)} bytes"
        ) from None
    if version != MESSAGE_VERSION:
        raise log.error(place, f"MGEN message version {MESSAGE_VERSION}", version)
    if received[1] >= 1_000_000 or sent[1] >= 1_000_000:
        raise log.error(place, "less than 1000000 microseconds", max(received[1], sent[1]))
    packets = log.received if kind == RECV else log.sent
    try:
        number = log.endpoints.of_bytes(*destination)
        from_number = log.endpoints.of_bytes(*source) if source else 0
    except ValueError:
        raise log.error(
            place,
            f"one of at most {MAX_ENDPOINTS} IPv4 or IPv6 endpoints",
            f"destination {destination[0].hex() or 'without address'}",
        ) from None
    log.add(packets, place, size, (sent[0] * 1_000_000 + sent[1], flow, seq, number))
    if kind == RECV:
        packets.received_us.append(received[0] * 1_000_000 + received[1])
        packets.source.append(from_number)
