"""Emulations in real time beside exact ones of the same seeds: do programs see the same network?

    python benches/twins.py [--pairs 5] [--seconds 10] [--keep FILE] [--slots LEAST MOST] [SCENE...]

Each preset has a scene, and some networks of the papers: programs send over TCP as much as they can,
or over UDP packets at random times, which are the same in both runs of a pair. The table has the
mean difference of real-time runs from exact runs with its 95 % interval, of throughput and of the
delays in the network, what it says beside the limits below, and how late packets were. With --keep
a scene goes on from the pairs in the file, and its pairs end when the intervals are narrow enough.
With --slots nothing runs in real time: what the receiver sends waits for slots, as for a program or
an emulator that is late, in one exact run of each pair.
Needs what `make bench-emulate` needs, and user-mode Linux (docs/emulate.md).
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import finished
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate import EmulatedNetwork, EmulationResults, Order, Program, catalogue, exact
from airqueue.emulate.session import Session
from airqueue.stats import t_interval
from airqueue_papers.edca.scenarios import Transfers
from airqueue_papers.emulation import Emulation
from airqueue_papers.kernel import aggregates, chains, compare
from transfers import difference

NARROW: Final = 0.01
"""Half of an interval that is narrow enough, as a share of the exact runs' mean."""
LIMIT: Final = 0.02
"""The mean difference that may be, as a share."""
LIMIT_S: Final = 0.2e-3
"""Or, of a delay."""
FEWEST_PAIRS: Final = 4

# Real-time priority where permitted: a program that is late sends other packets, or acknowledgements
# in clumps, to which the sender's TCP reacts.
PRIORITY = """
import os
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except OSError:
    pass
"""
# Packets of UDP at random times, with exponential gaps, or as much as TCP takes. The time counts from
# the first data on: programs start at once on the virtual clock alone. No data of TCP is sent after
# the end.
SEND = f"""{PRIORITY}
import random, socket, struct, sys, time
kind, seconds, bps, seed = sys.argv[1], *map(float, sys.argv[2:])
peer = os.environ["AIRQUEUE_PEER"], 5001
if kind == "tcp":
    s = socket.create_connection(peer)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0.0:
        s.settimeout(left)
        try:
            s.send(bytes(1 << 16))
        except TimeoutError:
            break
    s.close()
else:
    draw = random.Random(seed)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(peer)
    end = time.monotonic() + seconds
    due = time.monotonic()
    while (due := due + draw.expovariate(bps / 10_000)) < end:
        time.sleep(max(0.0, due - time.monotonic()))
        s.send(bytes(1222))
"""
RECEIVE = f"""{PRIORITY}
import socket, sys
if sys.argv[1] == "udp":
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", 5001))
else:
    with socket.create_server(("", 5001)) as listener:
        s, _ = listener.accept()
try:
    while s.recv(1 << 18):
        pass
except ConnectionResetError:
    pass
"""
SPARE_S: Final = 10.0
"""Time for the programs' start, at most."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A network, and what programs do there."""

    scenario: str | Mapping[str, object]
    sender: str = "server"
    receiver: str = "phone"
    udp_mbps: float | None = None
    """Rate of IP packets; without, over TCP."""
    changes: Mapping[str, object] | None = None

    def order(self, seed: int, seconds: float) -> Order:
        """Return what is to be run."""
        kind = "tcp" if self.udp_mbps is None else "udp"
        rate_bps = 1e6 * (self.udp_mbps or 0.0)
        send = (sys.executable, "-c", SEND, kind, str(seconds), str(rate_bps), str(seed))
        receive = (sys.executable, "-c", RECEIVE, kind)
        programs = Program(self.sender, send), (Program(self.receiver, receive),)
        return Order(*programs, duration_s=seconds + SPARE_S)

    @property
    def real(self) -> list[str]:
        """The nodes that the scenario itself does not call real."""
        return [] if isinstance(self.scenario, str) else [self.sender, self.receiver]

    def figures(self, results: EmulationResults, seconds: float) -> dict[str, float]:
        """Return throughput in bit/s, and delays in seconds."""
        of = results.emulated["pairs"][f"{self.sender}->{self.receiver}"]
        return {
            "throughput": 8 * of["delivered_bytes"] / seconds,
            "delay p50": of["delay_p50_s"] or 0.0,
            "delay p95": of["delay_p95_s"] or 0.0,
        }


def _cell() -> Mapping[str, object]:
    """EDCA's cell under Table 2, and a laptop."""
    described: dict[str, Any] = dict(compare.linux(Transfers(3, 3, "table2").scenario(1)))
    return {**described, "stations": [*described["stations"], {"name": "laptop"}]}


def _full_access_point() -> Mapping[str, object]:
    """An access point as APQ measures them: a FIFO of 100 packets, with more than it carries."""
    return {
        "duration": "30 s",
        "phy": {"standard": "802.11g", "rate": "24 Mb/s"},
        "queue": {"limit": "100 packets"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "hosts": [{"name": "server", "link": "ap", "rate": "100 Mb/s", "delay": "1 ms"}],
        "flows": [],
    }


def _of_paper(case: compare.Case, scheme: str) -> Mapping[str, object]:
    return Emulation(case.schemes[scheme], "cubic", 1, 0.0, 1.0).scenario


SCENES: Final = {
    # The line of this preset is faster than half of what the machine carries.
    "quiet-flat": Scene("quiet-flat", changes={"hosts.server.rate": "100 Mb/s"}),
    "fq-codel": Scene("fq-codel"),
    "bloated-fifo": Scene("bloated-fifo"),
    "mesh-two-hops": Scene("mesh-two-hops"),
    "sleeping-phone": Scene("sleeping-phone", udp_mbps=4.0),
    "sleeping-call": Scene("sleeping-call", udp_mbps=4.0),
    "agreed-wake-times": Scene("agreed-wake-times", udp_mbps=4.0),
    "living-room": Scene("living-room", udp_mbps=4.0),
    "scanning-laptop": Scene("scanning-laptop", receiver="laptop", udp_mbps=4.0),
    "roaming-phone": Scene("roaming-phone", udp_mbps=4.0),
    "evening-with-neighbours": Scene("evening-with-neighbours", udp_mbps=2.0),
    "home-evening": Scene("home-evening", udp_mbps=4.0),
    "far-station": Scene("far-station", udp_mbps=4.0),
    "conference-hall": Scene("conference-hall", udp_mbps=2.0),
    "upload-starves-call": Scene("upload-starves-call", "phone", "server", udp_mbps=1.0),
    "edca-table2": Scene(_cell(), "laptop", "ap", udp_mbps=0.5),
    "mesh-chain": Scene(_of_paper(chains.CLOSE, "50 packets"), "node4", "gateway"),
    "mesh-802.11n": Scene(_of_paper(aggregates.CASES["aggregated"], "sized"), receiver="node4"),
    "apq-full": Scene(_full_access_point(), udp_mbps=30.0),
}
assert set(catalogue.names()) <= set(SCENES), "a preset has no scene"


def _in_real_time(scene: Scene, seed: int, seconds: float) -> EmulationResults:
    # Exact runs have no segmentation offload.
    network = EmulatedNetwork(
        scene.scenario, real=scene.real, seed=seed, changes=scene.changes, offload=False
    )
    try:
        Session(network, scene.order(seed, seconds), lambda sentence: None).run()
    finally:
        network.close()
    return network.report()


def _exact(
    scene: Scene, order: Order, seed: int, *, back_pressure: bool = True
) -> EmulationResults:
    done = exact.run(
        scene.scenario,
        order,
        real=scene.real,
        seed=seed,
        changes=scene.changes,
        back_pressure=back_pressure,
        tcp=exact.tcp_of_this_machine(),
    )
    return done.results


def _pair(scene: Scene, seed: int, seconds: float, slots: list[str] | None) -> dict[str, Any]:
    """Run a pair; return the figures of both, and how late the first was."""
    order = scene.order(seed, seconds)
    if slots is None:
        run = _in_real_time(scene, seed, seconds)
    else:
        # In front of the receiver's device, where back-pressure would have a discipline act too late.
        slotted = f"tc qdisc add dev airqueue0 root netem slot {shlex.join(slots)}"
        (receiver,) = order.others
        argv = ("sh", "-c", f"{slotted} && exec {shlex.join(receiver.argv)}")
        late = replace(order, others=(Program(receiver.node, argv),))
        run = _exact(scene, late, seed, back_pressure=False)
    twin = _exact(scene, order, seed, back_pressure=slots is None)
    return {
        "real_time": scene.figures(run, seconds),
        "exact": scene.figures(twin, seconds),
        "late_p99_s": run.emulated["late_p99_s"] or 0.0,
    }


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the pairs of a scene say of one figure."""

    mean: float
    half: float
    """Half the width of the 95 % interval of the difference."""
    difference: float

    @property
    def narrow(self) -> bool:
        """Whether the interval is narrow enough for a verdict."""
        return self.half <= NARROW * self.mean

    def word(self, *, delay: bool) -> str:
        """Return a verdict: within the limit, not within, or too noisy to say."""
        limit = max(LIMIT * self.mean, LIMIT_S if delay else 0.0)
        if abs(self.difference) + self.half <= limit:
            return "yes"
        return "no" if abs(self.difference) - self.half > limit else "noisy"


def _judge(pairs: list[dict[str, Any]], figure: str) -> Judgement | None:
    """Return what the pairs say, or None if there are too few."""
    ours, theirs = (
        np.array([each[who][figure] for each in pairs]) for who in ("real_time", "exact")
    )
    interval = t_interval(ours - theirs)
    if interval is None or interval.n < FEWEST_PAIRS:
        return None
    half = (interval.high - interval.low) / 2
    return Judgement(float(theirs.mean()), half, interval.mean)


def _enough(pairs: list[dict[str, Any]]) -> bool:
    found = [_judge(pairs, figure) for figure in ("throughput", "delay p50", "delay p95")]
    return all(each is not None and each.narrow for each in found)


def _row(name: str, pairs: list[dict[str, Any]]) -> list[str]:
    cells = [name, str(len(pairs))]
    cells.append(f"{np.mean([each['exact']['throughput'] for each in pairs]) / 1e6:.2f}")
    for figure in ("throughput", "delay p50", "delay p95"):
        columns = ([each[who][figure] for each in pairs] for who in ("real_time", "exact"))
        found = _judge(pairs, figure)
        word = "" if found is None else f", {found.word(delay=figure != 'throughput')}"
        cells.append(f"{difference(*columns)}{word}")
    return [*cells, f"{1e3 * np.median([each['late_p99_s'] for each in pairs]):.2f}"]


def main() -> int:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5, help="at most, of each scene")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="where pairs are kept, as JSON lines"
    )
    parser.add_argument(
        "--slots", nargs=2, metavar=("LEAST", "MOST"), help="as tc's netem has them: 50us 150us"
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", default=list(SCENES))
    options = parser.parse_args()
    if unknown := sorted(set(options.scenes) - set(SCENES)):
        parser.error(f"no scene {unknown[0]!r}: there are {', '.join(SCENES)}")
    load = os.getloadavg()[0]
    pairs: dict[str, list[dict[str, Any]]] = {name: [] for name in options.scenes}
    wanted = [(name, options.seconds, options.slots) for name in pairs]
    for each in finished.rows(options.keep):
        if (each["scene"], each["seconds"], each.get("slots")) in wanted:
            pairs[each["scene"]].append(each)
    how = {"seconds": options.seconds, "slots": options.slots}
    for seed in range(1, options.pairs + 1):
        for name, done in pairs.items():
            if any(each["seed"] == seed for each in done) or _enough(done):
                continue
            found = _pair(SCENES[name], seed, options.seconds, options.slots)
            done.append({"scene": name, "seed": seed, **how, **found})
            finished.keep(options.keep, done[-1])
    table = Table(title=f"At most {options.pairs} pairs of {options.seconds:g} s")
    for head in ("scene", "pairs", "Mb/s", "throughput", "delay p50", "delay p95", "late p99, ms"):
        table.add_column(head, justify="right")
    for name, done in pairs.items():
        if done:
            table.add_row(*_row(name, done))
    console = Console(width=150)
    console.print(table)
    console.print(
        f"yes: the whole interval is within {100 * LIMIT:g} %, or {1e3 * LIMIT_S:g} ms of a delay; "
        f"no: not within; noisy: neither is shown. Load beforehand {load:.2f}, {os.cpu_count()} "
        "processors."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
