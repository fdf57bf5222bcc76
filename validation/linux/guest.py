"""Inside user-mode Linux, as its first process: one scenario through the kernel's discipline.

Packets leave through a veth pair: the discipline under a token bucket at the egress of one end, a
packet socket with the kernel's time stamps at the other. The sender's socket must not limit the
queue (a queued packet counts as unsent), so its buffer is larger than any
queue here. On the virtual clock of clock.c a program takes no time, and the sender is never late.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

from airqueue.linux.virtual import first_process
from validation.linux import acks, scenarios
from validation.linux.scenarios import Arrival, Scenario

_MODULES = ("drivers/net/veth", "net/sched/sch_tbf")
_SO_TIMESTAMPNS = 35
_ETHERNET_IP = 0x0800
_HEADERS = 28
"""IPv4 and UDP."""
_TCP = 6
_SEQUENCE_NUMBER = 24
"""Place in a TCP packet."""
_LET_DRAIN_S = 30.0
_ABSOLUTE = 1
_LATE_NS = 2000
_HOSTS = 3
"""Number of senders, and of receivers."""


def main() -> None:
    """Run the scenario that the environment names."""
    scenario = scenarios.scenario(os.environ["AIRQUEUE_SCENARIO"])
    modules = (*_MODULES, f"net/sched/sch_{scenario.discipline.name}")
    first_process.first_process(modules, lambda: _run(scenario, int(os.environ["AIRQUEUE_RUN"])))


def _source(host: int) -> str:
    return f"10.9.0.{1 + 2 * host}"


def _destination(host: int) -> str:
    return f"10.9.0.{2 + 2 * host}"


def _build(scenario: Scenario) -> None:
    for words in (
        "ip link add out type veth peer name in",
        "ip link set lo up",
        "ip link set in address 02:00:00:00:00:02 up",
        "ip link set out up",
        *(f"ip address add {_source(host)}/24 dev out" for host in range(_HOSTS)),
        *(
            f"ip neighbour add {_destination(host)} lladdr 02:00:00:00:00:02 dev out"
            for host in range(_HOSTS)
        ),
        f"tc qdisc add dev out root handle 1: tbf rate {scenarios.RATE_BPS}bit"
        f" burst {scenarios.BURST_BYTES} limit 10000000",
        f"tc qdisc add dev out parent 1:1 handle {scenarios.HANDLE:x}: {scenario.discipline.tc}",
    ):
        subprocess.run(words.split(), check=True)


def _run(scenario: Scenario, run: int) -> None:
    _build(scenario)
    packets = scenario.arrivals(run)
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETHERNET_IP))
    receiver.bind(("in", _ETHERNET_IP))
    receiver.setsockopt(socket.SOL_SOCKET, 33, 1 << 30)  # SO_RCVBUFFORCE
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    receiver.setblocking(False)
    send = _senders(packets, names_queues=scenario.discipline.names_queues)
    received = [(-1, 0)] * len(packets)
    start_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) + 1_000_000_000
    for number, packet in enumerate(packets):
        _sleep_until(start_ns + packet.at_ns)
        send(number, packet)
        if number % 200 == 0:
            _check_time(start_ns + packet.at_ns)
            _receive(receiver, start_ns, received)
    time.sleep(_LET_DRAIN_S)
    _receive(receiver, start_ns, received)
    _write(received)


def _sleep_until(at_ns: int) -> None:
    at = struct.pack("qq", *divmod(at_ns, 1_000_000_000))
    first_process.LIBC.clock_nanosleep(time.CLOCK_REALTIME, _ABSOLUTE, at, None)


def _check_time(at_ns: int) -> None:
    late_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - at_ns
    if not 0 <= late_ns <= _LATE_NS:
        raise RuntimeError(f"a packet leaves {late_ns} ns late: the clock is not a virtual one")


def _senders(packets: Sequence[Arrival], *, names_queues: bool) -> Callable[[int, Arrival], object]:
    """Return what sends a packet with its number."""
    sockets = {(p.flow, p.ect): _sender(p, names_queues) for p in packets if p.tcp is None}
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.setsockopt(socket.SOL_SOCKET, 32, 1 << 30)  # SO_SNDBUFFORCE

    def send(number: int, packet: Arrival) -> None:
        if packet.tcp is None:
            payload = struct.pack("!I", number).ljust(packet.size_bytes - _HEADERS, b"\0")
            sockets[packet.flow, packet.ect].send(payload)
            return
        source, destination = _source(packet.source), _destination(packet.destination)
        addresses = (socket.inet_aton(source), socket.inet_aton(destination))
        port, size_bytes = 1000 + packet.flow, packet.size_bytes
        raw.sendto(acks.packet(packet.tcp, addresses, port, number, size_bytes), (destination, 0))

    return send


def _sender(packet: Arrival, names_queue: bool) -> socket.socket:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, 32, 1 << 30)  # SO_SNDBUFFORCE
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, packet.dscp << 2 | (2 if packet.ect else 0))
    if names_queue:
        queue = scenarios.HANDLE << 16 | packet.flow + 1
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, queue)
    sender.bind((_source(packet.source), 0))
    sender.connect((_destination(packet.destination), 1000 + packet.flow))
    return sender


def _arrived(receiver: socket.socket) -> Iterator[tuple[bytes, int]]:
    """Yield headers and time stamp of each packet received since the last call."""
    while True:
        try:
            data, ancillary, _, _ = receiver.recvmsg(64, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        yield data, seconds * 1_000_000_000 + nanoseconds


def _receive(receiver: socket.socket, start_ns: int, received: list[tuple[int, int]]) -> None:
    for data, stamp_ns in _arrived(receiver):
        at = _SEQUENCE_NUMBER if data[9] == _TCP else _HEADERS
        (number,) = struct.unpack("!I", data[at : at + 4])
        received[number] = (stamp_ns - start_ns, int(data[1] & 3 == 3))


def _statistics() -> object:
    words = ("tc", "-s", "-j", "qdisc", "show", "dev", "out")
    shown = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return next(qdisc for qdisc in shown if qdisc["handle"] == f"{scenarios.HANDLE:x}:")


def _write(received: Sequence[tuple[int, int]]) -> None:
    lines = (f"{stamp_ns} {ce}" for stamp_ns, ce in received)
    (first_process.FOLDER / "packets").write_text("\n".join(lines), encoding="ascii")
    (first_process.FOLDER / "statistics.json").write_text(
        json.dumps(_statistics()), encoding="ascii"
    )


if __name__ == "__main__":
    main()
