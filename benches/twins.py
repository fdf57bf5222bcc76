"""Emulations in real time beside exact ones of the same seeds: do programs see the same network?

    python benches/twins.py [--pairs 5] [--seconds 10] [PRESET...]

In each preset the server sends to the phone over TCP. The table has the mean difference of real-time
runs from exact runs with its 95 % interval, of throughput and of the delays in the network, and how
late packets were. Both have equal draws of the network only until the first packet: pairs are not
correlated, and intervals are as wide as those of independent runs.
Needs what `make bench-emulate` needs, and user-mode Linux (docs/emulate.md).
"""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from airqueue.emulate import EmulatedNetwork, EmulationResults, Order, Program, catalogue, exact
from airqueue.emulate.session import Session
from transfers import RECEIVER, SENDER, difference

# The line of this preset is faster than half of what the machine carries.
CHANGES = {"quiet-flat": {"hosts.server.rate": "100 Mb/s"}}
FIGURES = ("delay_p50_s", "delay_p95_s")


def order(seconds: float) -> Order:
    """A transfer from the server to the phone."""
    return Order(
        Program("server", SENDER),
        (Program("phone", RECEIVER),),
        duration_s=seconds,
    )


def in_real_time(preset: str, seed: int, seconds: float) -> EmulationResults:
    """A run on this machine."""
    network = EmulatedNetwork(preset, seed=seed, changes=CHANGES.get(preset))
    try:
        Session(network, order(seconds), lambda sentence: None).run()
    finally:
        network.close()
    return network.report()


def figures(results: EmulationResults) -> list[float]:
    """Throughput in bit/s, and delays in seconds."""
    pair = results.emulated["pairs"]["server->phone"]
    return [results.rate_bps("server->phone") or 0.0, *(pair[name] or 0.0 for name in FIGURES)]


def main() -> int:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("presets", nargs="*", metavar="PRESET", default=catalogue.names())
    options = parser.parse_args()
    table = Table(title=f"{options.pairs} pairs of {options.seconds:g} s")
    for head in ("preset", "Mb/s", "throughput", "delay p50", "delay p95", "late p99, ms"):
        table.add_column(head, justify="right")
    load = os.getloadavg()[0]
    for preset in options.presets:
        real, exactly, late = [], [], []
        for seed in range(1, options.pairs + 1):
            run = in_real_time(preset, seed, options.seconds)
            late.append(1e3 * (run.emulated["late_p99_s"] or 0.0))
            real.append(figures(run))
            twin = exact.run(
                preset,
                order(options.seconds),
                seed=seed,
                changes=CHANGES.get(preset),
                tcp=exact.tcp_of_this_machine(),
            )
            exactly.append(figures(twin.results))
        columns = zip(zip(*real, strict=True), zip(*exactly, strict=True), strict=True)
        rates = np.mean([each[0] for each in exactly]) / 1e6
        differences = [difference(ours, theirs) for ours, theirs in columns]
        table.add_row(preset, f"{rates:.2f}", *differences, f"{np.median(late):.2f}")
    console = Console(width=120)
    console.print(table)
    console.print(f"Load beforehand {load:.2f}, {os.cpu_count()} processors.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
