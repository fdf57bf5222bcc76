"""Linux's TCP in exact emulations beside the simulator's, and what exact emulations cost.

    python benches/exact.py [--seeds 5] [--seconds 20] [--single] [CASE...]

Each case is a cell with one TCP connection, from its first packet on: once simulated with ``stack =
"linux"``, once with real programs and the kernel of user-mode Linux (docs/emulate.md). The table has
means over the seeds, and the 95 % interval of the difference relative to the simulation.

Both send bursts of two segments and more as one (segmentation offload); with ``--single`` neither
does, except where the sender's station holds it back.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate import Order, Program, exact
from airqueue.simulate import Scenario
from transfers import RECEIVER, SENDER, difference


def receive_buffer() -> str:
    """The largest receive buffer of this machine's TCP, which exact emulations have, too."""
    return f"{Path('/proc/sys/net/ipv4/tcp_rmem').read_text('ascii').split()[2]} B"


@dataclass(frozen=True)
class Case:
    """A cell with a server, and the direction of the transfer."""

    name: str
    phy: dict[str, Any]
    upload: bool = False
    queue_packets: int = 200
    delay: str = "10 ms"
    small_queue: bool = False
    """The sender's station holds it back (TCP small queues), and the kernel keeps its bursts."""

    @property
    def ends(self) -> tuple[str, str]:
        """Sender and receiver."""
        return ("sta", "server") if self.upload else ("server", "sta")

    def queue(self, figures: Mapping[str, Any]) -> float:
        """Mean length of the queue before the air, in packets."""
        station = "sta" if self.upload else "ap"
        queues = figures["queues"]
        return queues[station if station in queues else f"{station}.be"]["length_mean_packets"]

    def scenario(self, *, real: bool, seconds: float, bursts: bool) -> dict[str, Any]:
        """The network, without a transfer if the nodes are real."""
        sender, receiver = self.ends
        transfer = {"name": "transfer", "from": sender, "to": receiver, "source": "tcp"}
        return {
            "duration": f"{seconds} s",
            "warm_up": "0 s",
            "phy": self.phy,
            "queue": {"discipline": "droptail", "limit": f"{self.queue_packets} packets"},
            "tcp": {
                "stack": "linux",
                "receive_buffer": receive_buffer(),
                "segmentation_offload": bursts or self.small_queue,
                "small_queue": SHARE if self.small_queue else False,
            },
            "stations": [{"name": "ap"}, {"name": "sta", "real": real}],
            "hosts": [{"name": "server", "link": "ap", "delay": self.delay, "real": real}],
            **({} if real else {"flows": [transfer]}),
        }


SHARE = "4.8828125 ms"
_PACING = "net.ipv4.tcp_pacing_ss_ratio=1000 net.ipv4.tcp_pacing_ca_ratio=600"
"""The kernel has 1/1024 s of its pacing rate, and takes factors of this rate up to 10: with 10 and 6
it has 5/1024 s of the rate with 2 and 1.2, in slow start too."""

AC = {"standard": "802.11ac", "width": "80 MHz", "rate": "VHT-MCS8"}
CASES = (
    Case("5 Mb/s", {"standard": "802.11b", "rate": "11 Mb/s"}),
    Case("24 Mb/s", {"standard": "802.11g", "rate": "54 Mb/s"}),
    Case("100 Mb/s", {"standard": "802.11ac", "width": "40 MHz", "rate": "VHT-MCS5"}),
    Case("300 Mb/s", AC, queue_packets=1000),
    Case("5 Mb/s, upload", {"standard": "802.11b", "rate": "11 Mb/s"}, upload=True),
    Case("24 Mb/s, upload", {"standard": "802.11g", "rate": "54 Mb/s"}, upload=True),
    Case("5 Mb/s, small", {"standard": "802.11b", "rate": "11 Mb/s"}, True, small_queue=True),
    Case("24 Mb/s, small", {"standard": "802.11g", "rate": "54 Mb/s"}, True, small_queue=True),
    Case("300 Mb/s, small", AC, True, queue_packets=1000, small_queue=True),
)


def simulated(case: Case, seed: int, seconds: float, *, bursts: bool) -> tuple[float, float]:
    """Bits per second delivered, and the mean queue in packets."""
    run = Scenario(case.scenario(real=False, seconds=seconds, bursts=bursts)).replicate(seed)
    return run["flows"]["transfer"]["throughput_bps"], case.queue(run)


def emulated(case: Case, seed: int, seconds: float, *, bursts: bool) -> tuple[float, float, float]:
    """The same of an exact emulation, and its real time."""
    sender, receiver = case.ends
    send = shlex.join(SENDER)
    if case.small_queue:
        send = f"sysctl -qw {_PACING} && exec {send}"
    elif not bursts:
        send = f"ip link set dev airqueue0 gso_max_segs 1 && exec {send}"
    order = Order(
        Program(sender, ("sh", "-c", send)),
        (Program(receiver, RECEIVER),),
        duration_s=seconds,
    )
    scenario = case.scenario(real=True, seconds=seconds, bursts=bursts)
    done = exact.run(scenario, order, seed=seed, back_pressure=case.small_queue)
    if case.small_queue and done.results.without_back_pressure:
        reasons = "; ".join(done.results.without_back_pressure.values())
        raise SystemExit(f"{case.name}: the kernel's sender is not held back: {reasons}")
    rate_bps = done.results.rate_bps(f"{sender}->{receiver}") or 0.0
    return rate_bps, case.queue(done.results.figures), done.wall_s


def main() -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--single", action="store_true", help="segments one by one, no bursts")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="cases whose names have this word")
    options = parser.parse_args()
    table = Table(title=f"{options.seeds} seeds of {options.seconds:g} s")
    for head in (
        "case",
        "simulated",
        "kernel",
        "difference",
        "queue",
        "kernel",
        "difference",
        "s/s",
    ):
        table.add_column(head, justify="right")
    seeds = range(1, options.seeds + 1)
    for case in CASES:
        if options.cases and not any(word in case.name for word in options.cases):
            continue
        bursts = not options.single
        ours = [simulated(case, seed, options.seconds, bursts=bursts) for seed in seeds]
        kernels = [emulated(case, seed, options.seconds, bursts=bursts) for seed in seeds]
        rates, queues = zip(*ours, strict=True)
        kernel_rates, kernel_queues, walls = zip(*kernels, strict=True)
        table.add_row(
            case.name,
            f"{np.mean(rates) / 1e6:.2f}",
            f"{np.mean(kernel_rates) / 1e6:.2f}",
            difference(kernel_rates, rates),
            f"{np.mean(queues):.1f}",
            f"{np.mean(kernel_queues):.1f}",
            difference(kernel_queues, queues),
            f"{np.mean(walls) / options.seconds:.2f}",
        )
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
