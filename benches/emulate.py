"""How late an emulation is, and how much it carries: real programs on this machine, in real time.

    python benches/emulate.py [--runs 5] [--seconds 60] [--device tun|veth] [--compare] [CASE...]

Each case is a network, and traffic of real programs in it. The table has medians over the runs, with
the load that the machine had beforehand: lateness depends on the machine and on its other work.
``--compare`` does each case without and with segmentation offload, in turns.
Lateness of writes, and the 99th percentile of that of reads; "FIFO": with SCHED_FIFO.
Needs root, or a user namespace (docs/emulate.md).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate import EmulatedNetwork, EmulationResults, emulate
from airqueue.emulate.devices import Device

RECEIVE = """
import socket, sys
kind = socket.SOCK_STREAM if sys.argv[1] == "tcp" else socket.SOCK_DGRAM
with socket.socket(socket.AF_INET, kind) as s:
    s.bind(("", 5001))
    if sys.argv[1] == "tcp":
        s.listen()
        s, _ = s.accept()
    while s.recv(1 << 18):
        pass
"""
# UDP: one packet after the other at its time, all that are due at once.
SEND = """
import socket, sys, time
peer, kind, bps, end = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
end += time.monotonic()
if kind == "tcp":
    with socket.create_connection((peer, 5001)) as s:
        while time.monotonic() < end:
            s.sendall(bytes(65536))
else:
    gap, data = 1500 * 8 / bps, bytes(1472)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((peer, 5001))
        due = time.monotonic()
        while max(due, time.monotonic()) < end:
            s.send(data)
            due += gap
            time.sleep(max(0.0, due - time.monotonic()))
"""
_WAIT_S = 20.0
LONGEST_S = 120
"""Of a run in which the guest of the home still goes from one access point to the other."""


@dataclass(frozen=True)
class Case:
    """A network, and the traffic from its server to its station, or back."""

    name: str
    scheme: str
    kind: str
    rate_bps: float = 0.0
    """Of UDP."""
    width: str = "80 MHz"
    stations: int = 1
    """Each with a flow of its own."""
    upload: bool = False
    """From the station to the server."""
    network: str = "cell"
    """``cell``: behind a wire of 5 ms; ``home``: such a cell with all that makes homes lag; ``mesh``:
    a chain of four hops; ``wire``: no air, no delay."""

    def scenario(self) -> dict[str, Any]:
        """A network of 802.11ax, with a server and stations that are real."""
        if self.network == "mesh":
            return self._mesh()
        if self.network == "wire":
            return {
                "warm_up": "0 s",
                "phy": {"standard": "802.11ax"},
                "stations": [{"name": "ap"}, {"name": "idle"}],
                "hosts": [
                    {"name": "server", "link": "ap", "real": True},
                    {"name": "sta", "link": "server", "real": True},
                ],
            }
        cell = {
            "warm_up": "100 ms",
            "phy": {"standard": "802.11ax", "width": self.width, "rate": self.scheme},
            "queue": {"discipline": "mac80211"},
            "stations": [{"name": "ap"}, {"name": "sta", "count": self.stations, "real": True}],
            "hosts": [{"name": "server", "link": "ap", "delay": "5 ms", "real": True}],
        }
        return _home(cell) if self.network == "home" else cell

    def _mesh(self) -> dict[str, Any]:
        """Each station decodes its neighbours only; one hop at a time has the channel."""
        positions = [[f"{45 * k} m", "0 m"] for k in range(5)]
        names = ["server", "relay1", "relay2", "relay3", "sta"]
        return {
            "warm_up": "0 s",
            "phy": {"standard": "802.11ax", "width": self.width, "rate": self.scheme},
            "medium": {
                "path_loss": {"log_distance": {"exponent": 3.0, "reference_loss": "46.4 dB"}},
                "thresholds": {"decode": "-85 dBm", "sense": "-105 dBm"},
            },
            "routing": {},
            "stations": [
                {
                    "name": name,
                    "position": position,
                    "power": "15 dBm",
                    "real": name in ("server", "sta"),
                }
                for name, position in zip(names, positions, strict=True)
            ],
        }


def _home(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell with beacons, sleepers of each kind, a scanner, one who goes from access point to access
    point, neighbours, interference and signals that change."""
    at_ap = {"access_point": "ap"}
    asleep = {"name": "phone", "power_save": at_ap}
    all_categories = ["vo", "vi", "be", "bk"]
    triggers = {**at_ap, "wake_up": "ps-poll", "uapsd": all_categories, "trigger_interval": "20 ms"}
    talks = {"name": "handset", "power_save": triggers}
    twt = {"interval": "102.4 ms", "duration": "8 ms"}
    agrees = {"name": "tablet", "power_save": {**at_ap, "twt": twt}}
    goes = [
        {"at": f"{at} s", "to": "attic" if at % 4 == 2 else "ap"} for at in range(2, LONGEST_S, 2)
    ]
    guest = {"name": "guest", "association": {"access_point": "ap", "roams": goes}}
    scans = {"name": "laptop", "scans": {**at_ap, "period": "2 s", "first": "500 ms"}}
    fades = {"shadowing": {"deviation": "3 dB", "coherence": "2 s"}, "fading": {"speed": "1 m/s"}}
    return {
        **cell,
        "stations": [*cell["stations"], {"name": "attic"}, asleep, talks, agrees, scans, guest],
        "beacons": [{"station": "ap"}, {"station": "attic"}],
        "medium": {"snr": "45 dB", "errors": "snr"},
        "links": [{"between": ["ap", "sta"], **fades}],
        "interference": [{"name": "headset", "bluetooth": {"load": 0.1}, "received": "-80 dBm"}],
        "neighbours": [
            {"name": "next-door", "load": 0.05},
            {"name": "downstairs", "load": 0.05, "heard_by": ["sta"]},
        ],
        "flows": [
            *(
                {
                    "name": f"news-{to}",
                    "from": "ap",
                    "to": to,
                    "source": "poisson",
                    "packet_rate": "20 packets/s",
                }
                for to in ("phone", "tablet", "guest")
            ),
            {"name": "call", "from": "ap", "to": "laptop", "source": "voice"},
            {"name": "talk", "from": "ap", "to": "handset", "source": "voice"},
            {"name": "answer", "from": "handset", "to": "ap", "source": "voice"},
        ],
    }


CASES = (
    Case("wire without delay", "", "udp", 1e6, network="wire"),
    Case("mesh of four hops, UDP 50 Mb/s", "HE-MCS9", "udp", 50e6, network="mesh"),
    Case("idle", "HE-MCS11", "udp", 1e5),
    Case("UDP 50 Mb/s", "HE-MCS11", "udp", 50e6),
    Case("UDP 100 Mb/s", "HE-MCS11", "udp", 100e6),
    Case("TCP, about 100 Mb/s", "HE-MCS11", "tcp", width="20 MHz"),
    Case("TCP, about 300 Mb/s", "HE-MCS9", "tcp"),
    Case("home, TCP, about 250 Mb/s", "HE-MCS9", "tcp", network="home"),
    Case("home, TCP, about 400 Mb/s", "HE-MCS9", "tcp", width="160 MHz", network="home"),
    Case("TCP, about 600 Mb/s", "HE-MCS9", "tcp", width="160 MHz"),
    Case("TCP to 8 stations, about 100 Mb/s", "HE-MCS11", "tcp", width="20 MHz", stations=8),
    Case("TCP upload, about 100 Mb/s", "HE-MCS11", "tcp", width="20 MHz", upload=True),
    Case("TCP upload, about 300 Mb/s", "HE-MCS9", "tcp", upload=True),
    Case("overload, UDP 1 Gb/s offered", "HE-MCS11", "udp", 1e9, width="20 MHz"),
)


def run(case: Case, seconds: float, device: Device | None, *, offload: bool) -> EmulationResults:
    """One run."""
    with emulate(case.scenario(), device=device, offload=offload) as net:
        names = [node.name for node in net.plan.nodes if node.name != "server"]
        flows = [(name, "server") if case.upload else ("server", name) for name in names]
        receivers = [receiver for _, receiver in flows]
        for receiver in receivers:
            net.host(receiver).popen([sys.executable, "-c", RECEIVE, case.kind])
        await_sockets(net, receivers)
        rate_bps = case.rate_bps / len(names)
        senders = [
            net.host(sender).popen(
                [sys.executable, "-c", SEND, receiver, case.kind, str(rate_bps), str(seconds)]
            )
            for sender, receiver in flows
        ]
        for sender in senders:
            if sender.wait(seconds + _WAIT_S) != 0:
                raise subprocess.SubprocessError(f"{case.name}: a sender failed")
    return net.report()


def await_sockets(net: EmulatedNetwork, names: list[str]) -> None:
    """Wait until the receivers have begun."""
    deadline = time.monotonic() + _WAIT_S
    while not all(net.host(name).listening() for name in names):
        if time.monotonic() > deadline:
            raise TimeoutError("the receivers do not begin")
        time.sleep(0.05)


def segments_per_ack(case: Case, results: EmulationResults) -> float | None:
    """Segments of TCP for each packet of the other direction: nearly all of these acknowledge."""
    if case.kind != "tcp":
        return None
    pairs = results.emulated["pairs"].items()
    from_server = {
        way: sum(
            pair["offered_packets"] for name, pair in pairs if name.startswith("server") is way
        )
        for way in (True, False)
    }
    return from_server[not case.upload] / max(from_server[case.upload], 1)


def row(case: Case, results: list[EmulationResults]) -> list[str]:
    """The medians over the runs of a case."""

    def median(values: list[float | None]) -> float:
        return statistics.median(value or 0.0 for value in values)

    emulated = [each.emulated for each in results]
    down_bps = [
        sum(each.rate_bps(pair) or 0.0 for pair in each.emulated["pairs"]) for each in results
    ]
    lost = sum(
        each.emulated["unwritten_packets"] + sum(each.device_drops.values()) for each in results
    )
    late = (
        1e3 * median([each["late_p50_s"] for each in emulated]),
        1e3 * median([each["late_p99_s"] for each in emulated]),
        1e3 * median([each["late_max_s"] for each in emulated]),
        1e3 * median([each["read_late_p99_s"] for each in emulated]),
    )
    acks = median([segments_per_ack(case, each) for each in results])
    return [
        case.name,
        "yes" if all(each.offload for each in results) else "no",
        f"{statistics.median(down_bps) / 1e6:.1f}",
        *(f"{value:.3f}" for value in late),
        f"{median([each['cpu_ratio'] for each in emulated]):.0%}",
        str(lost),
        f"{acks:.1f}" if acks else "",
        "yes" if all(each["priority"] for each in emulated) else "no",
    ]


def main() -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--device", choices=("tun", "veth"), help="kind of the nodes' devices")
    parser.add_argument("--compare", action="store_true", help="without and with offload")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="cases whose names have this word")
    options = parser.parse_args()
    table = Table(title=f"load beforehand {os.getloadavg()[0]:.2f}, {os.cpu_count()} processors")
    for head in (
        "case",
        "offload",
        "Mb/s",
        "late p50 ms",
        "p99",
        "max",
        "read p99",
        "CPU",
        "lost",
        "segments an ACK",
        "FIFO",
    ):
        table.add_column(head)
    for case in CASES:
        if options.cases and not any(word in case.name for word in options.cases):
            continue
        ways: dict[bool, list[EmulationResults]] = {
            way: [] for way in ((False, True) if options.compare else (True,))
        }
        for _ in range(options.runs):
            for offload, results in ways.items():
                results.append(run(case, options.seconds, options.device, offload=offload))
        for results in ways.values():
            table.add_row(*row(case, results))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
