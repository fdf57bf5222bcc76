"""Does `airqueue measure --with` tell rightly how stations share? A confusion matrix.

Every case is a simulated access point with two stations, drawn from a seed: its queue and parameters,
its physical layer, the rate of each station, and whether others upload meanwhile. What is true of it
is known: whether the stations wait in one queue or apart, and by which rule they share.

"apart" of stations that are, "equal" of shares that are, and "undecided" are neither right nor wrong;
where the two are about equally fast "equal" is all that can be said, and right. Finished cases are
kept in a file, a line each, and are not repeated: the same command goes on.

    .venv/bin/python benches/stations.py                              # 60 access points
    .venv/bin/python benches/stations.py --cases 300 --keep stations.jsonl
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import finished
from airqueue.measure.prober import ProbeError
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.stations.method import measure
from verdicts import bound, log_uniform

SEED: Final = 577_597_901
"""Published: equal seeds give equal cases and equal answers."""
UNSURE: Final = ("apart", "equal", "undecided")
ALIKE: Final = 2.0
"""Ratio of rates alone up to which "equal" is all that can be said: twice the logarithm's
tolerance, and what aggregation adds."""
Draw = np.random.Generator
Table = Mapping[str, Any]


@dataclass(frozen=True)
class AccessPoint:
    """A queue with its truth, and the physical layers for which it holds."""

    queues: str
    shares: str
    queue: Table
    phys: Sequence[str] = ("802.11b", "802.11g", "802.11a", "802.11n")
    line_bps: float | None = None
    """Of a line before the access point, which then has the queue."""


@dataclass(frozen=True)
class Answer:
    """What the method said of a case, and the ratio of the rates alone that it found."""

    kind: str
    about: str
    truth: tuple[str, str]
    said: tuple[str, str]
    ratio: float
    seconds: float

    @property
    def marks(self) -> tuple[str, str]:
        """Whether each answer is right, wrong or unsure."""
        marks = []
        for truth, said in zip(self.truth, self.said, strict=True):
            alike = said == "equal" and truth != "proportional" and self.ratio <= ALIKE
            right = said == truth or alike
            marks.append("right" if right else "unsure" if unsure(truth, said) else "wrong")
        return marks[0], marks[1]


def unsure(truth: str, said: str) -> bool:
    """Whether an answer says less than the truth, and nothing else."""
    if said in ("apart", "equal"):
        return truth not in ("one_queue", "proportional")
    return said == "undecided"


def packets(draw: Draw, low: float, high: float) -> str:
    return f"{round(log_uniform(draw, low, high))} packets"


def fifo(draw: Draw) -> AccessPoint:
    ring = f"{int(draw.choice([0, 0, 10, 64]))} packets"
    return AccessPoint(
        "one_queue", "proportional", {"limit": packets(draw, 20, 1000), "ring": ring}
    )


def managed(draw: Draw) -> AccessPoint:
    name = str(draw.choice(["codel", "pie", "red"]))
    queue: dict[str, Any] = {"discipline": name, "limit": packets(draw, 300, 1000)}
    if name == "codel":
        queue["codel"] = {"target": f"{round(log_uniform(draw, 5, 50))} ms"}
    if name == "red":
        queue["red"] = {"min": "20 packets", "max": "80 packets"}
    return AccessPoint("one_queue", "proportional", queue)


def by_flow(draw: Draw) -> AccessPoint:
    name = str(draw.choice(["fq_codel", "drr", "sfq"]))
    limit = packets(draw, 30, 120) if name in ("drr", "sfq") else packets(draw, 300, 2000)
    return AccessPoint("by_flow", "equal_packets", {"discipline": name, "limit": limit})


def in_turn(draw: Draw) -> AccessPoint:
    """Frames of the stations in turn: packets in turn only where frames do not aggregate."""
    del draw
    queue = {"discipline": "mac80211", "mac80211": {"airtime_fairness": False}}
    return AccessPoint("by_station", "equal_packets", queue, ("802.11b", "802.11g", "802.11a"))


def by_airtime(draw: Draw) -> AccessPoint:
    del draw
    return AccessPoint("by_station", "equal_airtime", {"discipline": "mac80211"})


def line(draw: Draw) -> AccessPoint:
    """A line that is slower than the air: both stations are equally fast."""
    make = fifo if draw.random() < 0.5 else by_flow
    return replace(make(draw), phys=["802.11n"], line_bps=log_uniform(draw, 1e6, 20e6))


KINDS: Final[tuple[Callable[[Draw], AccessPoint], ...]] = (
    fifo,
    managed,
    by_flow,
    in_turn,
    by_airtime,
    line,
)
RATES: Final[Mapping[str, Sequence[str]]] = {
    "802.11b": [f"{rate} Mb/s" for rate in ("1", "2", "5.5", "11")],
    "802.11g": [f"{rate} Mb/s" for rate in (6, 9, 12, 18, 24, 36, 48, 54)],
    "802.11a": [f"{rate} Mb/s" for rate in (6, 9, 12, 18, 24, 36, 48, 54)],
    "802.11n": [f"HT-MCS{index}" for index in range(8)],
}


def drawn(seed: int, index: int) -> tuple[str, AccessPoint, str, Table]:
    """Return kind, access point, words, and path of the case of this number."""
    draw = np.random.default_rng([seed, index])
    make = KINDS[index % len(KINDS)]
    device = make(draw)
    phy = str(draw.choice(list(device.phys)))
    of_phy = RATES[phy][4:] if device.line_bps else RATES[phy]
    rates = [str(rate) for rate in draw.choice(list(of_phy), 2)]
    uploads = int(draw.integers(1, 4)) if draw.random() < 0.25 and not device.line_bps else 0
    about = f"{dict(device.queue)} over {phy} at {' and '.join(rates)}, {uploads} uploads"
    if device.line_bps:
        about += f", line of {device.line_bps / 1e6:.3g} Mb/s"
    return make.__name__, device, about, path(device, phy, rates, uploads)


def path(device: AccessPoint, phy: str, rates: Sequence[str], uploads: int) -> dict[str, Any]:
    """Return the path of two stations, as `SimulatedProber` has it."""
    names, queue = ("here", "other"), dict(device.queue)
    source = "server" if device.line_bps else "ap"
    stations: list[dict[str, Any]] = [
        {"name": "ap", **({} if device.line_bps else {"queue": queue})}
    ]
    stations += [{"name": n, "rate": r} for n, r in zip(names, rates, strict=True)]
    flows: list[dict[str, Any]] = []
    for name in names:
        flows.append({"name": f"to {name}", "from": source, "to": name, "source": "external"})
        flows.append({"name": f"from {name}", "from": name, "to": source, "source": "external"})
    if uploads:
        stations.append({"name": "others", "count": uploads})
        flows.append({"from": "others", "to": "ap"})
    scenario: dict[str, Any] = {"phy": {"standard": phy}, "stations": stations, "flows": flows}
    if phy == "802.11n":
        scenario["mac"] = {"access": "edca"}
    if device.line_bps:
        wire = {"name": source, "link": "ap", "rate": f"{device.line_bps:.0f} b/s", "queue": queue}
        scenario["hosts"] = [wire]
    first, second = ({"down": f"to {name}", "up": f"from {name}"} for name in names)
    return {"flows": 3, "cell": {"scenario": scenario, **first, "others": [second]}}


def answered(index: int, seed: int) -> Answer:
    """Measure a case and take down the answer."""
    started = time.monotonic()
    kind, device, about, config = drawn(seed, index)
    found = measure(SimulatedProber(config, seed=index), ["here", "other"])
    alone = [station["alone_bps"] or float("nan") for station in found["stations"]]
    ratio = max(alone) / min(alone)
    seconds = round(time.monotonic() - started, 1)
    said = (found["queues"], found["shares"])
    return Answer(kind, about, (device.queues, device.shares), said, ratio, seconds)


def matrix(answers: Sequence[Answer]) -> str:
    """Return what was said of each kind, and how often that was wrong."""
    lines = []
    for what, position in (("queues", 0), ("shares", 1)):
        kinds = list(dict.fromkeys(a.kind for a in answers))
        said = sorted({a.said[position] for a in answers}, key=lambda s: (s in UNSURE, s))
        lines.append("".join(f"{cell:>15}" for cell in (what, *said, "unsure", "wrong, at most")))
        for kind in [*kinds, "all"]:
            of = [a for a in answers if kind in (a.kind, "all")]
            counts = Counter(a.said[position] for a in of)
            marks = Counter(a.marks[position] for a in of)
            wrong = f"{marks['wrong']}, {bound(marks['wrong'], len(of)):.0%}"
            cells = [kind, *(counts[s] or "" for s in said), marks["unsure"] or "", wrong]
            lines.append("".join(f"{cell!s:>15}" for cell in cells))
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="file for the answers, read when it exists")
    options = parser.parse_args()
    before = {
        row["case"]: row["answer"]
        for row in finished.rows(options.keep)
        if row["seed"] == options.seed
    }
    answers: list[Answer] = []
    for index in range(options.first, options.first + options.cases):
        kept = before.get(index)
        if kept is not None:
            pairs = {key: tuple(kept[key]) for key in ("truth", "said")}
            answers.append(Answer(**{**kept, **pairs}))
            continue
        try:
            answer = answered(index, options.seed)
        except ProbeError as error:
            print(f"{index:4} {error}", file=sys.stderr)
            continue
        finished.keep(options.keep, {"seed": options.seed, "case": index, "answer": asdict(answer)})
        answers.append(answer)
        print(
            f"{index:4} {'/'.join(answer.marks):13} {answer.kind}: {', '.join(answer.said)}  "
            f"{answer.about}, ratio {answer.ratio:.3g}  ({answer.seconds:.0f} s)",
            flush=True,
        )
    print(matrix(answers))
    return 1 if any("wrong" in a.marks for a in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
