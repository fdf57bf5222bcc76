"""Does `airqueue measure` name queue disciplines rightly? A confusion matrix over random devices.

Every case is drawn from a seed: kind, parameters, rate, and the bed in which it is measured. In the
bed ``simulated`` the device is a line or an access point on a virtual clock, in the bed
``aggregated`` an access point that sends A-MPDUs, in the bed ``shared`` the FIFO of one in which
packets to another station wait, too, in the bed ``kernel`` Linux's own discipline in user-mode
Linux, behind a token bucket, with real sockets. A discipline that never acts, because its
full queue is shorter than its target, is not drawn.

A name that is not the device's is wrong, and so is a capacity of a managed queue; "managed" without a
name, and "undecided", are neither right nor wrong; of a shared FIFO "managed" is wrong, and
"undecided" is right. Of a parameter its interval should hold the truth.
Finished cases are kept in a file, a line each, and are not repeated: the same command goes on.

    .venv/bin/python benches/disciplines.py                             # 60 simulated devices
    .venv/bin/python benches/disciplines.py --bed kernel --cases 30 --keep kernel.jsonl
    .venv/bin/python benches/disciplines.py --bed aggregated --cases 96
    .venv/bin/python benches/disciplines.py --bed shared --cases 40
    .venv/bin/python benches/disciplines.py --only codel --cases 100
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import finished
from airqueue.linux import uml_measure
from airqueue.linux.config import HostApConfig, Shaper, parse_queue
from airqueue.measure.api import measure
from airqueue.measure.document import Document
from airqueue.measure.prober import ProbeError
from airqueue.measure.simulated import SimulatedProber
from verdicts import FASTEST_BPS, PACKET_BITS, bound, in_cell, log_uniform, over_air, over_wire

SEED: Final = 20_261_127
"""Published: equal seeds give equal cases and equal answers."""
RATES_BPS: Final = {
    "simulated": (1e6, 300e6),
    "kernel": (1e6, 60e6),
    "aggregated": (20e6, 300e6),
    "shared": (1e6, 300e6),
}
AGGREGATED_BPS: Final = {
    ("802.11n", "HT-MCS3"): 26e6,
    ("802.11n", "HT-MCS7"): 65e6,
    ("802.11ac", "VHT-MCS7"): 293e6,
    ("802.11ax", "HE-MCS5"): 289e6,
}
"""What these send at most: the rates of the standard, of one stream."""
UNNAMED: Final = ("managed", "managed_by_flow", "fq_codel_or_cake", "undecided")
"""Answers without a name of a discipline."""
SHARED: Final = "shared"
FRAME: Final = 1514
Draw = np.random.Generator


@dataclass(frozen=True)
class Device:
    """A device as both beds have it: tc's words, and the keys of scenarios."""

    name: str
    """What the measurement should say."""
    words: str
    queue: Mapping[str, Any]
    acts_at: float = 0.0
    """Packets in the queue, or seconds, at which the discipline acts."""
    limit: int = 1000
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the method said of a case; ``held``: whether each parameter's interval holds the truth."""

    kind: str
    about: str
    name: str
    capacity: float | None
    verdict: str
    held: dict[str, bool]
    seconds: float

    @property
    def right(self) -> bool:
        return self.name == ("undecided" if self.kind == SHARED else self.kind)

    @property
    def wrong(self) -> bool:
        if self.kind == SHARED:
            return self.name not in ("undecided", "fifo")
        managed = self.kind not in ("fifo", "policer")
        return (managed and self.capacity is not None) or not (self.right or self.name in UNNAMED)


def fifo(draw: Draw) -> Device:
    limit = round(log_uniform(draw, 20, 1000))
    return Device("fifo", f"pfifo:{limit}", {"limit": f"{limit} packets"}, limit=limit)


def of_bytes(draw: Draw) -> Device:
    limit = round(log_uniform(draw, 30_000, 1_500_000))
    return Device("fifo", f"bfifo:{limit}", {"limit": f"{limit} B"}, limit=limit // FRAME)


def _codel(draw: Draw, name: str) -> Device:
    interval = log_uniform(draw, 0.05, 0.5)
    interval_ms = round(1e3 * interval)
    target_ms = max(1, round(interval_ms * draw.uniform(0.04, 0.15)))
    limit = round(log_uniform(draw, 300, 2000))
    words = f"{name} limit {limit} target {target_ms}ms interval {interval_ms}ms noecn"
    table = {"target": f"{target_ms} ms", "interval": f"{interval_ms} ms"}
    queue = {"discipline": name, "limit": f"{limit} packets", name: table}
    truth = {"target_s": target_ms / 1e3, "interval_s": interval_ms / 1e3}
    return Device(name, words, queue, target_ms / 1e3, limit, truth)


def codel(draw: Draw) -> Device:
    return _codel(draw, "codel")


def fq_codel(draw: Draw) -> Device:
    return _codel(draw, "fq_codel")


def pie(draw: Draw) -> Device:
    target_ms = round(1e3 * log_uniform(draw, 0.005, 0.1))
    limit = round(log_uniform(draw, 300, 2000))
    table = {"target": f"{target_ms} ms", "behaviour": str(draw.choice(["rfc", "linux"]))}
    queue = {"discipline": "pie", "limit": f"{limit} packets", "pie": table}
    words = f"pie limit {limit} target {target_ms}ms"
    return Device("pie", words, queue, target_ms / 1e3, limit, {"target_s": target_ms / 1e3})


def red(draw: Draw) -> Device:
    low = round(log_uniform(draw, 10, 100))
    high, probability = round(low * draw.uniform(2.5, 5)), round(log_uniform(draw, 0.03, 0.5), 3)
    limit = 3 * high
    weight = 2.0 ** -int(draw.integers(4, 10))
    table = {
        "min": f"{low} packets",
        "max": f"{high} packets",
        "probability": probability,
        "weight": weight,
    }
    queue = {"discipline": "red", "limit": f"{limit} packets", "red": table}
    burst = (2 * low + high) // 3 + 1
    sizes = f"limit {limit * FRAME} min {low * FRAME} max {high * FRAME} avpkt {FRAME}"
    return Device("red", f"red {sizes} burst {burst} probability {probability}", queue, limit=limit)


def by_flow(draw: Draw) -> Device:
    name = str(draw.choice(["sfq", "drr"]))
    limit = round(log_uniform(draw, 30, 127))
    words = f"sfq limit {limit}" if name == "sfq" else "drr"
    return Device("fifo_by_flow", words, {"discipline": name, "limit": f"{limit} packets"})


def cake(draw: Draw) -> Device:
    rtt_ms = round(1e3 * log_uniform(draw, 0.03, 0.3))
    truth = {"interval_s": rtt_ms / 1e3, "target_s": rtt_ms / 20e3}
    table = {"rtt": f"{rtt_ms} ms"}
    queue = {"discipline": "cake", "cake": table}
    return Device("cake", f"cake rtt {rtt_ms}ms", queue, 0.0, 10_000, truth)


def policer(draw: Draw) -> Device:
    del draw
    return Device("policer", "", {})


KINDS: Final[tuple[Callable[[Draw], Device], ...]] = (
    fifo,
    of_bytes,
    codel,
    fq_codel,
    pie,
    red,
    by_flow,
    cake,
    policer,
)


def shared(draw: Draw) -> Device:
    device = fifo(draw)
    return replace(device, name=SHARED)


def drawn(seed: int, index: int, bed: str) -> tuple[Device, float, Draw]:
    """Return the device of this number, its rate in bits/s, and chance for what is around it."""
    kinds = [kind for kind in KINDS if bed == "simulated" or kind is not policer]
    if bed == SHARED:
        kinds = [shared]
    draw = np.random.default_rng([seed, index, list(RATES_BPS).index(bed)])
    device = kinds[index % len(kinds)](draw)
    low, high = RATES_BPS[bed]
    if device.acts_at:
        # Fast queues are full before they act.
        high = min(high, device.limit * PACKET_BITS / (2 * device.acts_at))
    return device, log_uniform(draw, low, high), draw


def parameters(device: Device, rate_bps: float, bed: str) -> Mapping[str, float]:
    """Return the parameters that act: CAKE lengthens both to fit packets (cake_set_rate).

    No packet is late before it has waited for four packet times (cobalt_should_drop).
    """
    if bed != "kernel" or device.name != "cake":
        return device.parameters
    interval_s, given_s = device.parameters["interval_s"], device.parameters["target_s"]
    target_s = max(1.5 * 8 * FRAME / rate_bps, given_s)
    return {
        "target_s": max(target_s, 4 * 8 * FRAME / rate_bps),
        "interval_s": max(interval_s + target_s - given_s, 2 * target_s),
    }


def measured(
    device: Device, rate_bps: float, draw: Draw, bed: str, seed: int
) -> tuple[str, Document]:
    """Measure a device; returns where it was, and the document."""
    if bed == "kernel":
        shaper: Shaper = "own" if device.name == "cake" else "tbf"
        config = HostApConfig(parse_queue(device.words), round(rate_bps), shaper)
        return config.describe(), uml_measure.measure(config, seed=seed).document
    if bed == "aggregated":
        about, path = aggregated(device, rate_bps, draw)
        return about, measure(SimulatedProber(path, seed=seed)).to_json()
    if bed == SHARED:
        about, path = beside_a_flow(device, draw)
        return about, measure(SimulatedProber(path, seed=seed)).to_json()
    about = f"{dict(device.queue)} at {rate_bps / 1e6:.3g} Mb/s"
    if device.name == "policer":
        path: dict[str, Any] = {"policer": True, "rate_bps": rate_bps}
    else:
        path = over_wire(rate_bps, dict(device.queue))
        phy = str(draw.choice(["802.11b", "802.11g", "802.11a"]))
        slow_enough = not device.acts_at or rate_bps >= FASTEST_BPS[phy]
        if slow_enough and draw.random() < 1 / 3:
            path = over_air(draw, dict(device.queue))
            path["cell"]["scenario"]["phy"] = {"standard": phy}
            about = f"{dict(device.queue)} over {phy}"
    return about, measure(SimulatedProber(path, seed=seed)).to_json()


def aggregated(device: Device, most_bps: float, draw: Draw) -> tuple[str, dict[str, Any]]:
    """Return an access point of 802.11n or later, not faster than this, and where that is."""
    slow_enough = [phy for phy, bps in AGGREGATED_BPS.items() if bps <= most_bps]
    phys = slow_enough or [min(AGGREGATED_BPS, key=lambda phy: AGGREGATED_BPS[phy])]
    standard, rate = phys[int(draw.integers(len(phys)))]
    path = over_air(draw, dict(device.queue))
    path["cell"]["scenario"]["phy"] = {"standard": standard, "rate": rate}
    return f"{dict(device.queue)} over {standard}, {rate}", path


def beside_a_flow(device: Device, draw: Draw) -> tuple[str, dict[str, Any]]:
    """Return a FIFO of 802.11b, g or a in which packets of a flow to another station wait, too."""
    phy = str(draw.choice(["802.11b", "802.11g", "802.11a"]))
    mbps = round(float(draw.uniform(0.05, 0.35)) * FASTEST_BPS[phy] / 1e6, 2)
    source = str(draw.choice(["cbr", "poisson"]))
    flow = {"from": "ap", "to": "guest", "source": source, "rate": f"{mbps} Mb/s", "size": "1500 B"}
    path = in_cell({"standard": phy}, dict(device.queue), 0, [flow])
    return f"{dict(device.queue)} over {phy}, {source} of {mbps} Mb/s", path


def answered(index: int, seed: int, bed: str) -> Answer:
    """Measure a case and take down the answer."""
    started = time.monotonic()
    device, rate_bps, draw = drawn(seed, index, bed)
    about, found = measured(device, rate_bps, draw, bed, index)
    discipline = found.get("discipline")
    name: str = found["verdict"]
    given: Mapping[str, Any] = {}
    if discipline is not None:
        name, given = discipline["name"] or "undecided", discipline["parameters"]
    held = {
        key: given[key]["ci95"][0] <= truth <= given[key]["ci95"][1]
        for key, truth in parameters(device, rate_bps, bed).items()
        if key in given and name == device.name
    }
    seconds = round(time.monotonic() - started, 1)
    return Answer(device.name, about, name, found["capacity"], found["verdict"], held, seconds)


def matrix(answers: Sequence[Answer]) -> str:
    """Return the confusion matrix, and how often intervals hold the truth."""
    kinds = list(dict.fromkeys(a.kind for a in answers))
    names = sorted({a.name for a in answers}, key=lambda n: (n in UNNAMED, n))
    width = max(map(len, [*kinds, *names])) + 2
    lines = ["".join(f"{cell:>{width}}" for cell in ("", *names, "wrong, at most"))]
    for kind in [*kinds, "all"]:
        of = [a for a in answers if kind in (a.kind, "all")]
        counts = Counter(a.name for a in of)
        wrong = sum(a.wrong for a in of)
        cells = [
            kind,
            *(counts[name] or "" for name in names),
            f"{wrong}, {bound(wrong, len(of)):.0%}",
        ]
        lines.append("".join(f"{cell!s:>{width}}" for cell in cells))
    for key in ("target_s", "interval_s"):
        values = [a.held[key] for a in answers if key in a.held]
        if values:
            lines.append(f"{key}: the interval holds the truth in {sum(values)} of {len(values)}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bed", choices=sorted(RATES_BPS), default="simulated")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument(
        "--from", type=int, default=0, dest="first", help="number of the first case"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help="kinds that contain this")
    parser.add_argument("--keep", type=Path, help="file for the answers, read when it exists")
    options = parser.parse_args()
    before = {
        row["case"]: Answer(**row["answer"])
        for row in finished.rows(options.keep)
        if (row["seed"], row["bed"]) == (options.seed, options.bed)
    }
    kinds = {kind(np.random.default_rng(0)).name for kind in KINDS}
    if not any(options.only in name for name in kinds):
        parser.error(f"--only {options.only}: the kinds are {', '.join(sorted(kinds))}")
    answers: list[Answer] = []
    for index in range(options.first, options.first + options.cases):
        if options.only not in drawn(options.seed, index, options.bed)[0].name:
            continue
        answer = before.get(index)
        if answer is None:
            try:
                answer = answered(index, options.seed, options.bed)
            except ProbeError as error:
                print(f"{index:4} {error}", file=sys.stderr)
                continue
            row = {"seed": options.seed, "bed": options.bed, "case": index}
            finished.keep(options.keep, {**row, "answer": asdict(answer)})
        answers.append(answer)
        mark = "WRONG" if answer.wrong else "ok" if answer.right else "-"
        missed = "".join(f" {key} missed" for key, holds in answer.held.items() if not holds)
        print(
            f"{index:4} {mark:5} {answer.kind}: {answer.name}{missed}  {answer.about}"
            f"  ({answer.seconds:.0f} s)",
            flush=True,
        )
    print(matrix(answers))
    return 1 if any(a.wrong for a in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
