"""Inside user-mode Linux, as its first process: transfers through a bottleneck.

Each sender, the router and the receiver have their own network namespace, joined by veth pairs: a
router's packets no longer belong to a socket, whose limits would otherwise apply. The router's egress
to the receiver is the bottleneck, its egress to each sender delays by that flow's round trip.
Programs take no time on the virtual clock of clock.c, so that the applications never delay TCP.

A bottleneck with batches sends the packets of a batch at one instant (netem's slots). The receiver's
end of its veth pair then polls (NAPI) and merges (GRO), like the driver of a Wi-Fi card.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from airqueue.linux.virtual import first_process
from validation.linux.tcp import paths

MODULES = ("drivers/net/veth", "net/sched/sch_netem")
SAMPLE_S = 0.023
WINDOWS_EVERY = 5
"""Samples of the queue per sample of the windows."""

_LEAD_S = 1.0

_CHUNK = bytes(1 << 18)
_SEND_BYTES = 16 << 20
_RECEIVE_BYTES = 4 << 20
_PORT = 5001
_NEW_NETWORK = 0x40000000
_GET_QDISC = 38
_REQUEST_DUMP = 0x301
_DONE = 3
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_SIOCETHTOOL = 0x8946
_SET_TSO = 0x1F
_SET_GRO = 0x2C
_MOST_SEGMENTS = 65_535
"""As many as a device takes that has not been told otherwise (``GSO_MAX_SEGS``)."""


def main() -> None:
    """Run the transfers that the environment names."""
    path = paths.path(os.environ["AIRQUEUE_PATH"])
    # NewReno and CUBIC are part of the kernel.
    algorithm = ("net/ipv4/tcp_bbr",) if path.congestion == "bbr" else ()
    filtering = ("net/sched/sch_cake",) if path.back_bps else ()
    first_process.first_process((*MODULES, *algorithm, *filtering), lambda: _run(path))


def _words(text: str) -> None:
    subprocess.run(text.split(), check=True)


def _build(path: paths.Path) -> None:
    for name in ("router", "receiver"):
        _words(f"ip netns add {name}")
    _pair("router", "receiver", 0)
    pace = f"rate {path.rate_bps}bit"
    if path.batch is not None:
        every = f"{round(path.batch.every_s * 1e6)}us"
        pace = f"slot {every} {every} packets {path.batch.most_packets}"
        # A veth pair polls and merges only where the sending end leaves segmentation to no one.
        _offload("router", "to0", _SET_TSO, on=False)
        _offload("receiver", "hop", _SET_GRO, on=True)
    _words(
        f"ip netns exec router tc qdisc add dev to0 root handle 1: netem {pace}"
        f" limit {path.queue_packets}"
    )
    for number, flow in enumerate(path.flows, start=1):
        name = f"sender{number}"
        _words(f"ip netns add {name}")
        _pair("router", name, number)
        if path.bursts:
            # Segments are packets behind the sender's device, which gets several at once.
            _offload(name, "hop", _SET_TSO, on=False)
            _words(f"ip -n {name} link set dev hop gso_max_segs {_MOST_SEGMENTS}")
        _words(
            f"ip netns exec router tc qdisc add dev to{number} root netem"
            f" delay {round(flow.rtt_s * 1e6)}us limit 1000000"
        )
    if path.back_bps:
        _words(
            f"ip netns exec receiver tc qdisc add dev hop root cake bandwidth {path.back_bps}bit"
            f" besteffort triple-isolate raw rtt 100ms memlimit 200mb {path.ack_filter}"
        )
    if path.receive_bytes:
        _enter("receiver")
        limits = f"4096 131072 {path.receive_bytes}"
        Path("/proc/sys/net/ipv4/tcp_rmem").write_text(limits, encoding="ascii")
    _enter("router")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")


def _pair(router: str, other: str, number: int) -> None:
    """Join two namespaces: 10.9.NUMBER.1 is the router, 10.9.NUMBER.2 the other."""
    _words(f"ip link add to{number} netns {router} type veth peer name hop netns {other}")
    _end(router, f"to{number}", number, own=1, peer=2)
    _end(other, "hop", number, own=2, peer=1)
    _words(f"ip -n {other} route add default via 10.9.{number}.1")


def _end(space: str, device: str, number: int, own: int, peer: int) -> None:
    for words in (
        "link set lo up",
        # A segment is a packet: no segmentation or aggregation on the path.
        f"link set dev {device} address {_hardware(number, own)} gso_max_segs 1",
        f"link set dev {device} up",
        f"address add 10.9.{number}.{own}/24 dev {device}",
        f"neighbour add 10.9.{number}.{peer} lladdr {_hardware(number, peer)} dev {device}",
    ):
        _words(f"ip -n {space} {words}")


def _hardware(number: int, end: int) -> str:
    return f"02:00:00:00:{number:02x}:{end:02x}"


def _enter(space: str) -> None:
    """Move this process into a network namespace."""
    with Path("/run/netns", space).open("rb") as file:
        if first_process.LIBC.setns(file.fileno(), _NEW_NETWORK) != 0:
            raise OSError(f"cannot enter {space}")


def _offload(space: str, device: str, command: int, *, on: bool) -> None:
    """Switch an offload of a device, by that command of ethtool."""
    _enter(space)
    value = ctypes.create_string_buffer(struct.pack("II", command, on), 8)
    request = struct.pack("16sP16x", device.encode("ascii"), ctypes.addressof(value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, request)


class _Queue:
    """Reads the length of the bottleneck's queue from the kernel."""

    def __init__(self) -> None:
        _enter("router")
        self._device = socket.if_nametoindex("to0")
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self._answer = bytearray(1 << 16)

    def look(self) -> tuple[int, int]:
        """Return the packets in the queue, and the packets dropped so far."""
        message = struct.pack("BxxxiIII", 0, self._device, 0, 0, 0)
        header = struct.pack("IHHII", 16 + len(message), _GET_QDISC, _REQUEST_DUMP, 1, 0)
        self._netlink.send(header + message)
        found = None
        while True:
            size = self._netlink.recv_into(self._answer)
            at = 0
            while at < size:
                length, kind = struct.unpack_from("IH", self._answer, at)
                if kind == _DONE:
                    if found is None:
                        raise RuntimeError("the router has no bottleneck")
                    return found
                if struct.unpack_from("i", self._answer, at + 20)[0] == self._device:
                    found = _queue_statistics(self._answer[at + 36 : at + length])
                at += length + 3 & ~3


def _queue_statistics(attributes: bytearray) -> tuple[int, int]:
    """Find qlen and drops of gnet_stats_queue, in TCA_STATS2."""
    nested = _attribute(_attribute(attributes, 7), 3)
    length, _, drops = struct.unpack_from("III", nested)
    return length, drops


def _attribute(attributes: bytearray, wanted: int) -> bytearray:
    at = 0
    while at < len(attributes):
        length, kind = struct.unpack_from("HH", attributes, at)
        if kind & 0x3FFF == wanted:
            return attributes[at + 4 : at + length]
        at += length + 3 & ~3
    raise RuntimeError(f"the kernel's answer has no attribute {wanted}")


class _Transfers:
    """Active flows and their samples."""

    def __init__(self, path: paths.Path) -> None:
        self._path = path
        self._queue = _Queue()
        self._poll = select.epoll()
        self._ready: dict[int, Callable[[], object]] = {}
        self._senders: list[socket.socket] = []
        self._received = [0] * len(path.flows)
        self._receivers: list[socket.socket | None] = [None] * len(path.flows)
        self._sink = bytearray(_CHUNK)
        self._held_us = 0
        _enter("receiver")
        self._listener = _socket(tuned=path.receive_bytes > 0)
        self._listener.bind(("10.9.0.2", _PORT))
        self._listener.listen()
        self._when(self._listener, select.EPOLLIN, self._accept)
        self._start_s = time.clock_gettime(time.CLOCK_MONOTONIC) + _LEAD_S

    def _now_s(self) -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC) - self._start_s

    def _when(self, one: socket.socket, event: int, do: Callable[[], object]) -> None:
        self._ready[one.fileno()] = do
        self._poll.register(one, event)

    def run(self) -> None:
        """Run the flows until the end, and write the samples."""
        samples: list[str] = []
        windows: list[str] = []
        for number in range(1 + round(self._path.seconds / SAMPLE_S)):
            self._until(number * SAMPLE_S)
            counts = (*self._queue.look(), *self._received, *self._segments())
            samples.append(" ".join(map(str, (self._now_s(), *counts))))
            if number % WINDOWS_EVERY == 0:
                windows.extend(self._windows())
        if self._held_us and not self._path.receive_bytes:
            raise RuntimeError(f"the receive window held flows up for {self._held_us} us")
        for name, lines in (("windows", windows), ("samples", samples)):
            (first_process.FOLDER / name).write_text("\n".join(lines), encoding="ascii")

    def _until(self, at_s: float) -> None:
        """Write and read as sockets permit, and start flows when due, until ``at_s``."""
        while (left_s := at_s - self._now_s()) > 0.0:
            # The timeout of epoll is in milliseconds: samples would coincide with packets that
            # arrive, just after the queue has released one.
            select.select([self._poll], [], [], left_s)
            for file, _ in self._poll.poll(0):
                self._ready[file]()
        begun = len(self._senders)
        if begun < len(self._path.flows) and self._path.flows[begun].start_s <= self._now_s():
            self._begin(begun)

    def _begin(self, flow: int) -> None:
        _enter(f"sender{flow + 1}")
        sender = _socket()
        congestion = self._path.congestion.encode("ascii")
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
        sender.bind(("", _PORT + 1 + flow))
        sender.connect_ex(("10.9.0.2", _PORT))
        self._senders.append(sender)
        self._when(sender, select.EPOLLOUT, lambda: sender.send(_CHUNK))

    def _accept(self) -> None:
        receiver, (_, port) = self._listener.accept()
        receiver.setblocking(False)
        self._receivers[port - _PORT - 1] = receiver
        self._when(receiver, select.EPOLLIN, lambda: self._read(receiver, port - _PORT - 1))

    def _read(self, receiver: socket.socket, flow: int) -> None:
        self._received[flow] += receiver.recv_into(self._sink, len(self._sink), socket.MSG_TRUNC)

    def _segments(self) -> list[int]:
        """Segments with data that each receiver has got, then the segments that each has sent."""
        counts = [(0, 0)] * len(self._receivers)
        for flow, receiver in enumerate(self._receivers):
            if receiver is not None:
                info = receiver.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
                (sent,) = struct.unpack_from("I", info, 136)
                (data,) = struct.unpack_from("I", info, 152)
                counts[flow] = (data, sent)
        return [data for data, _ in counts] + [sent for _, sent in counts]

    def _windows(self) -> Iterator[str]:
        """Return TCP_INFO of each sender."""
        for flow, sender in enumerate(self._senders):
            info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            (rtt_us,) = struct.unpack_from("I", info, 68)
            threshold, window = struct.unpack_from("II", info, 76)
            (resent,) = struct.unpack_from("I", info, 100)
            held_us, buffer_us = struct.unpack_from("QQ", info, 176)
            self._held_us = max(self._held_us, held_us)
            if buffer_us:
                raise RuntimeError(f"the send buffer held flow {flow} up for {buffer_us} us")
            counts = (flow, window, threshold, rtt_us, resent, info[1], held_us)
            yield " ".join(map(str, (self._now_s(), *counts)))


def _run(path: paths.Path) -> None:
    _build(path)
    _Transfers(path).run()
    if path.back_bps:
        _write_statistics()


def _write_statistics() -> None:
    """What the receiver's CAKE has counted."""
    _enter("receiver")
    words = ("tc", "-s", "-j", "qdisc", "show", "dev", "hop")
    shown = subprocess.run(words, check=True, capture_output=True).stdout
    (first_process.FOLDER / "statistics.json").write_bytes(
        json.dumps(json.loads(shown)[0]).encode()
    )


def _socket(*, tuned: bool = False) -> socket.socket:
    """Return a socket whose buffers limit nothing; `tuned`: the kernel tunes the receive buffer."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BYTES)
    if not tuned:
        made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
    made.setblocking(False)
    return made


if __name__ == "__main__":
    main()
