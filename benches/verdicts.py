"""How often `airqueue measure` errs: access points drawn at random, plain and managed.

Every case is a simulated path with the real endpoints (`airqueue.measure.simulated`), drawn from a
seed: kind, limits, parameters, physical layer, rates and other stations. What may be said of it is
known beforehand: a plain FIFO has a capacity; a queue that is managed or kept apart by flow has
none; of one that is shared with others' packets no number need be given. A number for a queue that
has none, or one that is off by more than a packet and 0.5 % (and half a burst, where the device
sends bursts), is an error; "undecided" is not, but is counted.

Finished cases are kept in a file, a line each, and are not repeated: the same command goes on.

    .venv/bin/python benches/verdicts.py                            # 400 cases in some minutes
    .venv/bin/python benches/verdicts.py --cases 40 --only codel    # some of them
    .venv/bin/python benches/verdicts.py --cases 600 --keep verdicts.jsonl
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from airqueue.measure.api import measure
from airqueue.measure.prober import ProbeError
from airqueue.measure.result import Measurement
from airqueue.measure.simulated import SimulatedProber

sys.path.insert(0, str(Path(__file__).parent))  # tests import this bench from elsewhere
import finished

SEED = 20_260_301
"""Published: equal seeds give equal cases and equal answers."""
WRONG_PACKETS, WRONG_SHARE = 1.0, 0.005
"""A FIFO's number that is off by more than both is an error."""
PACKET_BITS = 8 * 1514
FASTEST_BPS = {
    "802.11b": 7e6,
    "802.11g": 30e6,
    "802.11a": 30e6,
    "802.11n": 72e6,
    "802.11ac": 433e6,
}
"""What a cell carries at most, by the standard and for each stream, of UDP."""
NO_DELAY_S = 1e-3
"""For disciplines that act by the number of packets: any rate will do."""
Draw = np.random.Generator
Config = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A device and what is true of it: its capacity, None if it has none."""

    kind: str
    about: str
    config: Config
    capacity: float | None
    counted_in: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the method said of a case."""

    kind: str
    about: str
    truth: float | None
    verdict: str
    capacity: float | None
    ci95: tuple[float, float] | None
    right: bool
    wrong: bool
    evidence: tuple[str, ...]
    seconds: float


def log_uniform(draw: Draw, low: float, high: float) -> float:
    return float(np.exp(draw.uniform(math.log(low), math.log(high))))


def seconds(value: float) -> str:
    return f"{value * 1e3:g} ms"


def radio(draw: Draw) -> Config:
    """A physical layer with single frames or, in one case of three, aggregates."""
    if draw.random() < 2 / 3:
        return {"standard": str(draw.choice(["802.11b", "802.11g", "802.11a"]))}
    return {
        "standard": str(draw.choice(["802.11n", "802.11ac"])),
        "streams": int(draw.integers(1, 3)),
    }


def over_air(draw: Draw, queue: Config, others: Sequence[Config] = ()) -> Config:
    """The queue in an access point; other stations upload in one case of four."""
    uploaders = int(draw.integers(1, 4)) if draw.random() < 0.25 else 0
    return in_cell(radio(draw), queue, uploaders, others)


def beside_uploads(queue: Config, uploaders: int, rate: str = "HT-MCS3") -> Config:
    """The queue in an access point of 802.11n, with so many other stations that upload."""
    return in_cell({"standard": "802.11n", "rate": rate}, queue, uploaders)


def in_cell(phy: Config, queue: Config, uploaders: int, others: Sequence[Config] = ()) -> Config:
    """The queue in an access point, with so many other stations that upload."""
    stations: list[Config] = [{"name": "ap", "queue": queue}, {"name": "laptop"}, {"name": "guest"}]
    flows: list[Config] = [
        {"from": "ap", "to": "laptop", "source": "external"},
        {"from": "laptop", "to": "ap", "source": "external"},
        *others,
    ]
    if uploaders:
        stations.append({"name": "other", "count": uploaders})
        flows.append({"from": "other", "to": "ap"})
    scenario = {"phy": phy, "stations": stations, "flows": flows}
    return {"cell": {"scenario": scenario, "down": "ap->laptop", "up": "laptop->ap"}}


def over_wire(rate_bps: float, queue: Config, others: Sequence[Config] = ()) -> Config:
    """The queue of a line in front of a radio that is faster than the line."""
    scenario = {
        "phy": {"standard": "802.11ac", "streams": 2},
        "stations": [{"name": "ap"}, {"name": "laptop"}],
        "hosts": [
            {"name": "server", "link": "ap", "rate": f"{rate_bps:.0f} b/s", "queue": queue},
        ],
        "flows": [
            {"from": "server", "to": "laptop", "source": "external"},
            {"from": "laptop", "to": "server", "source": "external"},
            *others,
        ],
    }
    return {"cell": {"scenario": scenario, "down": "server->laptop", "up": "laptop->server"}}


def placed(draw: Draw, queue: Config, limit: int, acts_s: float) -> tuple[str, Config]:
    """Put a managed queue before a line or the air, where it is so slow that it must act.

    acts_s: delay from which on the discipline acts; the full queue has twice that at least. A queue
    that is faster is a FIFO for all that anyone could see.
    """
    slow_enough = limit * PACKET_BITS / (2 * acts_s)
    if draw.random() < 0.5:
        config = over_air(draw, queue)
        phy = config["cell"]["scenario"]["phy"]
        if slow_enough > FASTEST_BPS[phy["standard"]] * phy.get("streams", 1):
            return str(phy["standard"]), config
    fastest = min(200e6, slow_enough)
    rate = log_uniform(draw, fastest / 30, fastest)
    return f"line of {rate / 1e6:.3g} Mb/s", over_wire(rate, queue)


def plain(draw: Draw) -> Case:
    """A drop-tail queue of packets, with a ring at times."""
    limit = round(log_uniform(draw, 10, 2000))
    ring = int(draw.choice([0, 0, 10, 64]))
    rate = log_uniform(draw, 1e6, 200e6)
    if draw.random() < 0.5:
        config: Config = {"queue": f"pfifo:{limit}", "ring_packets": ring, "rate_bps": rate}
        place = f"link of {rate / 1e6:.3g} Mb/s"
    else:
        config = over_air(draw, {"limit": f"{limit} packets", "ring": f"{ring} packets"})
        place = config["cell"]["scenario"]["phy"]["standard"]
    return Case("plain", f"{limit} packets, ring {ring}, {place}", config, limit + ring, "packets")


def plain_bytes(draw: Draw) -> Case:
    """A drop-tail queue of bytes."""
    limit = round(log_uniform(draw, 20_000, 1_500_000))
    rate = log_uniform(draw, 1e6, 200e6)
    config = {"queue": f"bfifo:{limit}", "rate_bps": rate, "link_layer_bytes": 14}
    return Case("bytes", f"{limit} B, {rate / 1e6:.3g} Mb/s", config, limit, "bytes")


def lossy(draw: Draw) -> Case:
    """A drop-tail queue before a radio that loses packets and serves them unevenly."""
    limit = round(log_uniform(draw, 20, 1000))
    rate = log_uniform(draw, 2e6, 100e6)
    share = float(draw.uniform(0.001, 0.01))
    config = {
        "queue": f"pfifo:{limit}",
        "rate_bps": rate,
        "loss_probability": share,
        "service_jitter_s": float(draw.uniform(0, 0.5)) * PACKET_BITS / rate,
    }
    about = f"{limit} packets, {rate / 1e6:.3g} Mb/s, loss {share:.2%}"
    return Case("lossy", about, config, limit, "packets")


def shared(draw: Draw) -> Case:
    """A drop-tail queue with steady packets of others: 4 to 30 % of the line."""
    limit = round(log_uniform(draw, 30, 1000))
    share = log_uniform(draw, 0.04, 0.3)
    source = str(draw.choice(["cbr", "poisson"]))
    size = int(draw.choice([300, 1000, 1500]))
    rate = log_uniform(draw, 4e6, 100e6)
    theirs = {
        "from": "server",
        "to": "ap",
        "source": source,
        "rate": f"{share * rate:.0f} b/s",
        "size": f"{size} B",
    }
    config = over_wire(rate, {"limit": f"{limit} packets"}, [theirs])
    about = f"{limit} packets, {rate / 1e6:.3g} Mb/s, {source} of {share:.0%} in {size} B"
    return Case("shared", about, config, limit, "packets")


def codel(draw: Draw) -> Case:
    target, interval = [(0.005, 0.1), (0.02, 0.1), (0.05, 0.5), (0.3, 1.0)][draw.integers(4)]
    limit = round(log_uniform(draw, 50, 2000))
    table = {"target": seconds(target), "interval": seconds(interval)}
    queue = {"discipline": "codel", "limit": f"{limit} packets", "codel": table}
    place, config = placed(draw, queue, limit, target)
    return Case("codel", f"{limit} packets, {target:g}/{interval:g} s, {place}", config, None)


def pie(draw: Draw) -> Case:
    limit = round(log_uniform(draw, 50, 2000))
    target = float(draw.choice([0.015, 0.02, 0.1]))
    queue = {
        "discipline": "pie",
        "limit": f"{limit} packets",
        "pie": {"target": seconds(target), "behaviour": str(draw.choice(["rfc", "linux"]))},
    }
    place, config = placed(draw, queue, limit, target)
    return Case("pie", f"{limit} packets, {target:g} s, {place}", config, None)


def red(draw: Draw) -> Case:
    limit = round(log_uniform(draw, 60, 1000))
    low = round(limit * float(draw.uniform(0.1, 0.3)))
    high = round(limit * float(draw.uniform(0.4, 0.9)))
    table = {
        "min": f"{low} packets",
        "max": f"{high} packets",
        "probability": float(draw.choice([0.02, 0.1, 0.5])),
        "weight": float(2.0 ** -draw.integers(5, 13)),
    }
    queue = {"discipline": "red", "limit": f"{limit} packets", "red": table}
    place, config = placed(draw, queue, limit, NO_DELAY_S)
    about = f"{limit} packets, {low}-{high}, weight {table['weight']:.5f}, {place}"
    return Case("red", about, config, None)


def fair(draw: Draw) -> Case:
    name = str(draw.choice(["fq_codel", "cake", "sfq", "drr"]))
    limit = round(log_uniform(draw, 100, 2000))
    queue: Config = {"discipline": name}
    if name != "cake":
        queue["limit"] = f"{limit} packets"
    place, config = placed(draw, queue, limit, NO_DELAY_S)
    return Case("fair", f"{name}, {limit} packets, {place}", config, None)


KINDS: tuple[tuple[Callable[[Draw], Case], float], ...] = (
    (plain, 4),
    (plain_bytes, 1),
    (lossy, 1),
    (shared, 2),
    (codel, 4),
    (pie, 2),
    (red, 3),
    (fair, 1),
)
"""Kinds and how often each is drawn, of 18."""


def drawn(seed: int, index: int) -> Case:
    """Return the case of this number: independent of all others."""
    draw = np.random.default_rng([seed, index])
    weights = np.array([weight for _, weight in KINDS])
    kind = KINDS[draw.choice(len(KINDS), p=weights / weights.sum())][0]
    return kind(draw)


def answered(case: Case, seed: int) -> Answer:
    """Measure a case and judge the answer."""
    started = time.monotonic()
    result = measure(SimulatedProber(case.config, seed=seed))
    right, wrong = judged(case, result)
    return Answer(
        case.kind,
        case.about,
        case.capacity,
        result.verdict,
        result.capacity,
        result.ci95,
        right,
        wrong,
        tuple(e.says for e in result.evidence),
        round(time.monotonic() - started, 2),
    )


def judged(case: Case, result: Measurement) -> tuple[bool, bool]:
    """Whether an answer is right, and whether it is a wrong number."""
    if result.capacity is None:
        return case.capacity is None or case.kind == "shared", False
    if case.capacity is None or result.capacity_unit != case.counted_in:
        return False, True
    packet = 1514 if case.counted_in == "bytes" else 1
    slack = max(WRONG_PACKETS * packet, WRONG_SHARE * case.capacity)
    if result.resolution is not None:
        slack += (result.resolution["packets"] - 0.5) * packet
    low = high = result.capacity
    if case.kind == "lossy" and result.ci95 is not None:
        # Where packets are lost after the queue or before it is not known: the interval covers both.
        low, high = result.ci95
    near = low - slack <= case.capacity <= high + slack
    return near, not near


def bound(errors: int, cases: int) -> float:
    """Upper end of the error rate that so many errors leave possible (Clopper-Pearson, 95 %)."""
    return float(stats.beta.ppf(0.95, errors + 1, cases - errors)) if errors < cases else 1.0


def table(answers: Sequence[Answer]) -> str:
    rows = [f"{'kind':8}{'cases':>7}{'right':>7}{'none':>7}{'wrong':>7}  at most"]
    for kind in [*dict.fromkeys(a.kind for a in answers), "all"]:
        of = [a for a in answers if kind in (a.kind, "all")]
        right, wrong = sum(a.right for a in of), sum(a.wrong for a in of)
        rows.append(
            f"{kind:8}{len(of):7}{right:7}{len(of) - right - wrong:7}{wrong:7}"
            f"  {bound(wrong, len(of)):.1%}"
        )
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=400)
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
        if row["seed"] == options.seed
    }
    answers = []
    for index in range(options.first, options.first + options.cases):
        case = drawn(options.seed, index)
        if options.only not in case.kind:
            continue
        answer = before.get(index)
        if answer is None:
            try:
                answer = answered(case, index)
            except ProbeError as error:
                print(f"{index:4} {case.kind} {case.about}: {error}", file=sys.stderr)
                continue
            row = {"seed": options.seed, "case": index, "answer": asdict(answer)}
            finished.keep(options.keep, row)
        answers.append(answer)
        mark = "WRONG" if answer.wrong else "ok" if answer.right else "none"
        said = "" if answer.capacity is None else f" {answer.capacity:.1f}"
        print(
            f"{index:4} {mark:5} {answer.kind:8} {answer.verdict}{said}  {answer.about}"
            f"  ({answer.seconds:.1f} s)",
            flush=True,
        )
    print(table(answers))
    verdicts = Counter((a.kind, a.verdict) for a in answers)
    print(", ".join(f"{kind} {verdict} {n}" for (kind, verdict), n in sorted(verdicts.items())))
    return 1 if any(a.wrong for a in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
