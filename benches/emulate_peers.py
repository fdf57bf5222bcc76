"""Emulators side by side: what a pipe carries, and what it adds to a delay of 5 ms each way.

    python benches/emulate_peers.py [--runs 3] [--seconds 5] [PEER...]

Each peer joins two namespaces. The same two programs are there: one pings the other on an idle
path, 20 times a second, sends TCP as fast as it can, and then UDP at a rate. Figures are medians
over the runs. Peers that are not installed have a row that says what they have, and how to get them;
ns-3's tap bridge is installed from Debian's packages and built, and `--mahimahi SOURCES` builds
mahimahi's mm-delay from its sources once. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate import emulate
from airqueue.linux.netns import Namespace

sys.path.insert(0, str(Path(__file__).parent.parent))

from peers.emulators import build_mahimahi, find_mahimahi, install_ns3_tap
from peers.install import BUILD, UnavailableError

DELAY_S: Final = 0.005
"""Each way."""
UDP_BPS: Final = 200e6
RATTAN: Final = "cargo install rattan --version 0.1.1 --locked"
_PATIENCE_S: Final = 60.0
# Starts a program with the ids of nobody and the effective ids of root, as the bit setuid would.
_AS_NOBODY: Final = """
import os, sys
os.setregid(65534, -1)
os.setreuid(65534, -1)
os.execv(sys.argv[1], sys.argv[1:])
"""

# Counts datagrams and a connection, says how much came, and ends.
SERVE: Final = """
import socket, threading
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("", 5002))
u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
counted = [0]
def count():
    while True:
        counted[0] += len(u.recv(2000)) + 28
threading.Thread(target=count, daemon=True).start()
with socket.create_server(("", 5001)) as listener:
    control, _ = listener.accept()
    data, _ = listener.accept()
    size = 0
    while got := len(data.recv(1 << 18)):
        size += got
    control.sendall(f"{size}\\n".encode())
    control.makefile().readline()
    control.sendall(f"{counted[0]}\\n".encode())
"""
ASK: Final = """
import json, re, socket, statistics, subprocess, sys, time
peer, seconds, bps, file = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
for _ in range(200):
    try:
        control = socket.create_connection((peer, 5001), 2)
        break
    except OSError:
        time.sleep(0.05)
lines = control.makefile()
control.settimeout(None)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect((peer, 5002))
shown = subprocess.run(["ping", "-c60", "-i0.05", peer], capture_output=True, text=True).stdout
trips = sorted(float(trip) / 1e3 for trip in re.findall("time=([0-9.]+) ms", shown))
with socket.create_connection((peer, 5001)) as data:
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        data.sendall(bytes(1 << 16))
tcp = 8 * int(lines.readline()) / (time.monotonic() - began)
gap, datagram, sent = 1500 * 8 / bps, bytes(1472), 0
began = due = time.monotonic()
while due < began + seconds:
    u.send(datagram)
    sent += 1500
    due += gap
    time.sleep(max(0.0, due - time.monotonic()))
took = time.monotonic() - began
time.sleep(0.5)
control.sendall(b"end\\n")
got = int(lines.readline())
trips.sort()
with open(file, "w") as out:
    json.dump({
        "trip_p50_s": statistics.median(trips), "trip_max_s": trips[-1], "tcp_bps": tcp,
        "udp_bps": 8 * got / took, "udp_offered_bps": 8 * sent / took,
    }, out)
"""
WIRES: Final[dict[str, Any]] = {
    "warm_up": "0 s",
    "phy": {"standard": "802.11ax"},
    "stations": [{"name": "ap"}, {"name": "idle"}],
    "hosts": [
        {"name": "server", "link": "ap", "real": True},
        {"name": "sta", "link": "server", "delay": "5 ms", "real": True},
    ],
}
CELL: Final[dict[str, Any]] = {
    "warm_up": "100 ms",
    "phy": {"standard": "802.11ax", "width": "160 MHz", "rate": "HE-MCS9"},
    "queue": {"discipline": "mac80211"},
    "stations": [{"name": "ap"}, {"name": "sta", "real": True}],
    "hosts": [{"name": "server", "link": "ap", "delay": "5 ms", "real": True}],
}


@dataclass(frozen=True)
class Peer:
    """An emulator, and what it has of what a Wi-Fi network does."""

    name: str
    run: Callable[[float], Mapping[str, float]]
    delay_s: float
    """Each way, that it is asked to add."""
    has: str
    """Of: contention for the medium, aggregation, queues of stations, lateness that is reported, a
    deterministic twin."""


def _python(text: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", text, *map(str, arguments)]


def _read(file: Path) -> dict[str, float]:
    return dict(json.loads(file.read_text("utf-8")))


def _airqueue(scenario: dict[str, Any], seconds: float) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory() as folder, emulate(scenario) as net:
        file = Path(folder, "figures")
        sta = next(node.name for node in net.plan.nodes if node.name != "server")
        server = net.host(sta).popen(_python(SERVE))
        address = net.plan.node(sta)
        assert address is not None
        done = net.host("server").run(_python(ASK, address.address, seconds, UDP_BPS, file))
        done.check_returncode()
        server.wait(_PATIENCE_S)
        late_s = net.report().emulated["late_p99_s"]
        return {**_read(file), "late_p99_s": late_s or 0.0}


@contextmanager
def _serving(namespace: Namespace) -> Iterator[Path]:
    """Has the program that counts in a namespace; yields the file for the figures of the other."""
    with tempfile.TemporaryDirectory() as folder:
        server = namespace.call(lambda: subprocess.Popen(_python(SERVE)))
        try:
            yield Path(folder, "figures")
            server.wait(_PATIENCE_S)
        finally:
            server.kill()
            server.wait()


def _between(left: Namespace, right: Namespace, devices: tuple[str, str], seconds: float) -> Any:
    """Figures of two namespaces whose devices are joined already."""
    for end, device, address in zip(
        (left, right), devices, ("10.9.0.1/24", "10.9.0.2/24"), strict=True
    ):
        _checked(end, ("ip", "address", "add", address, "dev", device))
        _checked(end, ("ip", "link", "set", "dev", device, "up"))
    with _serving(right) as file:
        _checked(left, _python(ASK, "10.9.0.2", seconds, UDP_BPS, file))
        return _read(file)


def _veth(seconds: float) -> Mapping[str, float]:
    with Namespace("left") as left, Namespace("right") as right:
        pair = ("ip", "link", "add", "name", "a", "type", "veth", "peer", "name", "b")
        _checked(left, (*pair, "netns", right.path), pass_fds=(right.fd,))
        return dict(_between(left, right, ("a", "b"), seconds))


def _rattan(seconds: float) -> Mapping[str, float]:
    program = shutil.which("rattan") or str(BUILD / "bin" / "rattan")
    if not os.access(program, os.X_OK):
        raise UnavailableError(f"{RATTAN} --root {BUILD}")
    delay = f"{1e3 * DELAY_S:g}ms"
    with Namespace("right") as right:
        _checked(right, ("ip", "link", "set", "dev", "lo", "up"))
        with _serving(right) as file:
            # The command runs behind the emulator, whose other end is the namespace that started it.
            ask = shlex.join(_python(ASK, "PEER", seconds, UDP_BPS, file)).replace(
                "PEER", '"$RATTAN_BASE"'
            )
            delays = ("--uplink-delay", delay, "--downlink-delay", delay)
            link = (program, "link", *delays, "--shell", "sh")
            _checked(right, (*link, "--", "sh", "-c", ask))
            return _read(file)


@contextmanager
def _started(namespace: Namespace, argv: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that runs in a namespace until the end of the block."""
    pipe = subprocess.PIPE
    process = namespace.call(
        lambda: subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _said(process: subprocess.Popen[str]) -> str:
    """The next line of a program; if there is none, what the program complains of."""
    assert process.stdout is not None and process.stderr is not None
    patience = threading.Timer(_PATIENCE_S, process.kill)
    patience.start()
    line = process.stdout.readline().strip()
    patience.cancel()
    if line:
        return line
    raise UnavailableError(f"the emulator failed: {process.stderr.read().strip()[-400:]}")


def _ns3(seconds: float, *options: str) -> Mapping[str, float]:
    """ns-3 makes both devices where it runs, and each goes to a namespace of its own from there."""
    argv = [*install_ns3_tap(), f"--delayMs={1e3 * DELAY_S:g}", *options]
    with (
        Namespace("left") as left,
        Namespace("right") as right,
        Namespace("middle") as middle,
    ):
        for namespace in (left, right, middle):
            # ns-3 aborts when a packet comes for a device that is down, as one that moves is.
            namespace.set_sysctl("net.ipv6.conf.default.disable_ipv6", "1")
        with _started(middle, argv) as process:
            _said(process)
            for device, end in (("server", left), ("sta", right)):
                move = ("ip", "link", "set", "dev", device, "netns", end.path)
                _checked(middle, move, pass_fds=(end.fd,))
            figures = dict(_between(left, right, ("server", "sta"), seconds))
            process.terminate()
            return {**figures, **json.loads(_said(process))}


def _mahimahi(seconds: float) -> Mapping[str, float]:
    """Its programs run in a namespace of their own making, as the user nobody; ours enters there."""
    inside = ("sh", "-c", 'echo "$$ $MAHIMAHI_BASE"; exec cat')
    program = (str(find_mahimahi()), f"{1e3 * DELAY_S:g}", *inside)
    with Namespace("right") as right:
        _checked(right, ("ip", "link", "set", "dev", "lo", "up"))
        right.set_sysctl("net.ipv4.ip_forward", "1")
        with _started(right, _python(_AS_NOBODY, *program)) as process, _serving(right) as file:
            inner, base = _said(process).split()
            enter = ("nsenter", f"--net=/proc/{inner}/ns/net")
            _checked(right, (*enter, *_python(ASK, base, seconds, UDP_BPS, file)))
            # The command inside ends with its input, and mahimahi with the command.
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_PATIENCE_S)
            return _read(file)


def _checked(namespace: Namespace, argv: Any, pass_fds: tuple[int, ...] = ()) -> None:
    done = namespace.run(argv, pass_fds=pass_fds)
    if done.returncode != 0:
        raise UnavailableError(f"{argv[0]} failed: {done.stderr.strip()}")


PEERS: Final = (
    Peer("veth, no emulator", _veth, 0.0, "none"),
    Peer("airqueue, wires", lambda s: _airqueue(WIRES, s), DELAY_S, "lateness, twin"),
    Peer(
        "airqueue, 802.11ax",
        lambda s: _airqueue(CELL, s),
        DELAY_S,
        "contention, aggregation, stations' queues, lateness, twin",
    ),
    Peer(
        "rattan",
        _rattan,
        DELAY_S,
        "none: a queue, a rate, delay and loss each way",
    ),
    Peer(
        "mahimahi",
        _mahimahi,
        DELAY_S,
        "none: a queue, a trace of the rate, delay and loss each way, in whole milliseconds",
    ),
    Peer(
        "ns-3 tap bridge, wire",
        _ns3,
        DELAY_S,
        "none; events that are late are not reported, but can be asked about",
    ),
    Peer(
        "ns-3 tap bridge, 802.11ax",
        lambda s: _ns3(s, "--wifi=1"),
        DELAY_S,
        "contention, aggregation, stations' queues; lateness as of the wire",
    ),
)


def row(peer: Peer, runs: int, seconds: float) -> list[str]:
    """The medians of a peer's runs, or how to get the peer."""
    try:
        done = [peer.run(seconds) for _ in range(runs)]
    except UnavailableError as absent:
        return [peer.name, "", "", "", "", "", f"{peer.has}. Not measured: {absent}"]

    def median(key: str) -> float:
        return statistics.median(each[key] for each in done)

    late = f"{1e3 * median('late_p99_s'):.2f}" if "late_p99_s" in done[0] else "not reported"
    return [
        peer.name,
        f"{median('tcp_bps') / 1e6:.0f}",
        f"{median('udp_bps') / 1e6:.0f} of {median('udp_offered_bps') / 1e6:.0f}",
        f"{1e3 * (median('trip_p50_s') - 2 * peer.delay_s):.2f}",
        f"{1e3 * (median('trip_max_s') - 2 * peer.delay_s):.2f}",
        late,
        peer.has,
    ]


def main() -> int:
    """Run the peers and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--mahimahi", type=Path, metavar="SOURCES", help="build its mm-delay first")
    parser.add_argument("peers", nargs="*", metavar="PEER", help="peers whose names have this word")
    options = parser.parse_args()
    if options.mahimahi:
        try:
            build_mahimahi(options.mahimahi)
        except UnavailableError as error:
            parser.error(str(error))
    table = Table(title=f"load beforehand {os.getloadavg()[0]:.2f}, {os.cpu_count()} processors")
    heads = ("TCP Mb/s", "UDP Mb/s", "added ms", "at most", "late p99 ms", "of Wi-Fi it has")
    for head in ("peer", *heads):
        table.add_column(head)
    for peer in PEERS:
        if not options.peers or any(word in peer.name for word in options.peers):
            table.add_row(*row(peer, options.runs, options.seconds))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
