"""Writes logs as MGEN 5.02 does, text and binary, for the tests of their reader."""

import dataclasses
import socket
import struct
from pathlib import Path

DAY_US = 86_400_000_000
EPOCH_US = 1_700_000_000_000_000
SOURCE, PORT = "192.0.2.7", 45_101


@dataclasses.dataclass(frozen=True)
class Packet:
    """A packet that MGEN sends; times in microseconds, by the sender's and the receiver's clock."""

    flow: int
    seq: int
    sent_us: int
    received_us: int | None
    payload: int = 1472
    destination: str = "198.51.100.3"
    source_port: int = PORT


def clock(time_us: int, epoch: bool = False) -> str:
    if epoch:
        return f"{time_us // 1_000_000}.{time_us % 1_000_000:06d}"
    seconds, micros = divmod(time_us % DAY_US, 1_000_000)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}.{micros:06d}"


def recv_line(p: Packet, epoch: bool = False) -> str:
    assert p.received_us is not None
    return (
        f"{clock(p.received_us, epoch)} RECV proto>UDP flow>{p.flow} seq>{p.seq} "
        f"src>{SOURCE}/{p.source_port} dst>{p.destination}/5000 sent>{clock(p.sent_us, epoch)} "
        f"size>{p.payload} gps>INVALID,999.000000,999.000000,4294966297 \n"
    )


def send_line(p: Packet, epoch: bool = False) -> str:
    return (
        f"{clock(p.sent_us, epoch)} SEND proto>UDP flow>{p.flow} seq>{p.seq} "
        f"srcPort>{p.source_port} dst>{p.destination}/5000 size>{p.payload} \n"
    )


def address(text: str, port: int) -> bytes:
    if ":" in text:
        return struct.pack(">HBB", port, 2, 16) + socket.inet_pton(socket.AF_INET6, text)
    return struct.pack(">HBB", port, 1, 4) + socket.inet_aton(text)


def message(p: Packet) -> bytes:
    sent = divmod(p.sent_us, 1_000_000)
    head = struct.pack(">HBBIIII", p.payload, 2, 8, p.flow, p.seq, *sent)
    return head + address(p.destination, 5000) + bytes(20)


def record(kind: int, body: bytes, protocol: int = 1) -> bytes:
    return struct.pack(">BBH", kind, protocol, len(body)) + body


def recv_record(p: Packet) -> bytes:
    assert p.received_us is not None
    received = struct.pack(">II", *divmod(p.received_us, 1_000_000))
    return record(1, received + address(SOURCE, p.source_port) + message(p))


def send_record(p: Packet) -> bytes:
    return record(3, message(p))


MAGIC = b"mgen version=5.02b type=binary_log\n\0"
START = record(8, struct.pack(">II", EPOCH_US // 1_000_000, 0), protocol=0)


def write_logs(folder: Path, packets: list[Packet], form: str) -> tuple[Path, Path]:
    """Write the receiver's and the sender's log: ``text``, ``epoch`` or ``binary``."""
    arrived = sorted((p for p in packets if p.received_us is not None), key=lambda p: p.received_us)
    left = sorted(packets, key=lambda p: p.sent_us)
    receiver, sender = folder / "receiver.drc", folder / "sender.drc"
    if form == "binary":
        receiver.write_bytes(MAGIC + START + b"".join(map(recv_record, arrived)))
        sender.write_bytes(MAGIC + START + b"".join(map(send_record, left)))
        return receiver, sender
    epoch = form == "epoch"
    for path, lines in (
        (receiver, [recv_line(p, epoch) for p in arrived]),
        (sender, [send_line(p, epoch) for p in left]),
    ):
        first, last = clock(EPOCH_US, epoch), clock(EPOCH_US, epoch)
        path.write_text(f"{first} START Mgen Version 5.02b\n" + "".join(lines) + f"{last} STOP\n")
    return receiver, sender


def write_text(folder: Path, *lines: str, name: str = "receiver.drc") -> Path:
    path = folder / name
    path.write_text("".join(lines))
    return path
