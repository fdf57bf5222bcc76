"""Is the token bucket of a shaper, or a policer, as deep as `airqueue measure` says?

Every case is drawn from a seed: rate, depth, queue, and what has the bucket. In the bed ``simulated``
that is a shaper or a policer on a virtual clock; in the bed ``kernel`` Linux's tbf or htb in
user-mode Linux, with real sockets, in front of a FIFO or a discipline. The interval should hold the
depth, and the capacity of a FIFO its limit.

    .venv/bin/python benches/buckets.py                             # 40 simulated devices
    .venv/bin/python benches/buckets.py --bed kernel --cases 20 --keep buckets.jsonl
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

import finished
from airqueue.linux import uml_measure
from airqueue.linux.config import HostApConfig, Shaper, parse_queue
from airqueue.measure.api import measure
from airqueue.measure.bucket import FULL, LONGEST_REST_S
from airqueue.measure.document import Document
from airqueue.measure.simulated import SimulatedProber
from verdicts import log_uniform

SEED: Final = 20_262_002
RATES_BPS: Final = {"simulated": (1e6, 300e6), "kernel": (1e6, 60e6)}
DEPTHS: Final = (20 * 1514, 12e6)
"""Bytes: from some packets to what fills in seconds."""
MANAGED: Final = ("fq_codel", "codel", "pie")


def drawn(draw: np.random.Generator, bed: str) -> dict[str, Any]:
    """Return a device: what it is, and what is true of it."""
    rate_bps = round(log_uniform(draw, *RATES_BPS[bed]))
    depth = round(log_uniform(draw, *DEPTHS))
    limit = round(log_uniform(draw, 10, 1000))
    if bed == "simulated":
        what = str(draw.choice(["shaper", "policer"], p=[0.7, 0.3]))
        return {"what": what, "rate_bps": rate_bps, "depth": depth, "queue": f"pfifo:{limit}"}
    queue = str(draw.choice(MANAGED)) if draw.random() < 0.5 else f"pfifo:{limit}"
    what = str(draw.choice(["tbf", "htb"]))
    return {"what": what, "rate_bps": rate_bps, "depth": depth, "queue": queue}


def simulated(case: dict[str, Any]) -> Document:
    """Measure a device on a virtual clock."""
    policer = case["what"] == "policer"
    config = {
        "rate_bps": float(case["rate_bps"]),
        "burst_bytes": case["depth"],
        "queue": case["queue"],
    }
    config |= {"policer": True} if policer else {"shaper": "token_bucket"}
    prober = SimulatedProber(config, seed=1)
    return measure(prober, header={"link_overhead_bytes": 0}).to_json()


def kernel(case: dict[str, Any]) -> Document:
    """Measure Linux's own shaper."""
    shaper: Shaper = case["what"]
    queue = parse_queue(case["queue"])
    config = HostApConfig(queue, case["rate_bps"], shaper=shaper, burst_bytes=case["depth"])
    return uml_measure.measure(config, seed=1).document


def answer(case: dict[str, Any], found: Document) -> dict[str, Any]:
    """Return what was said of a device, beside the truth."""
    bucket = found.get("token_bucket")
    fifo = case["queue"].startswith("pfifo") and case["what"] != "policer"
    limit = int(case["queue"].partition(":")[2]) if fifo else None
    said = None if bucket is None else bucket["bytes"]
    if bucket is None:
        verdict = "none"
    elif bucket["at_least"]:
        fills_s = 8 * case["depth"] / case["rate_bps"]
        verdict = "at least" if fills_s > FULL * LONGEST_REST_S else "wrong"
    else:
        assert bucket["ci95_bytes"] is not None  # known, since the bucket was full
        low, high = bucket["ci95_bytes"]
        verdict = "right" if low <= case["depth"] <= high else "wrong"
    ci95 = found["ci95"]
    counted = None if limit is None or ci95 is None else bool(ci95[0] <= limit <= ci95[1])
    name = None if found.get("discipline") is None else found["discipline"]["name"]
    wrong_name = case["queue"] in MANAGED and name not in (case["queue"], None)
    return {
        "said": said,
        "verdict": verdict,
        "counted": counted,
        "name": name,
        "wrong_name": wrong_name,
    }


def line(row: dict[str, Any]) -> str:
    """Return a line about an answer."""
    return (
        f"{row['case']:4} {row['verdict']:8} {row['depth']:>9} B, said {row['said'] or 0:>12.0f} B, "
        f"{row['what']} {row['queue']} at {row['rate_bps'] / 1e6:.2f} Mb/s, capacity "
        f"{row['counted']}, name {row['name']} ({row['seconds']} s)"
    )


def main() -> int:
    """Measure the cases and print a line for each, then the sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bed", choices=sorted(RATES_BPS), default="simulated")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="file for the answers, read when it exists")
    options = parser.parse_args()
    known = {(row["bed"], row["seed"], row["case"]): row for row in finished.rows(options.keep)}
    rows = []
    for number in range(options.cases):
        draw = np.random.default_rng([options.seed, number])
        case = drawn(draw, options.bed)
        key = (options.bed, options.seed, number)
        row = known.get(key)
        if row is None:
            began = time.perf_counter()
            found = (simulated if options.bed == "simulated" else kernel)(case)
            row = {"bed": options.bed, "seed": options.seed, "case": number, **case}
            row |= answer(case, found) | {"seconds": round(time.perf_counter() - began, 1)}
            finished.keep(options.keep, row)
        rows.append(row)
        print(line(row), flush=True)
    for verdict in ("right", "at least", "none", "wrong"):
        print(f"{verdict}: {sum(row['verdict'] == verdict for row in rows)} of {len(rows)}")
    counted = [row["counted"] for row in rows if row["counted"] is not None]
    print(f"capacity in its interval: {sum(counted)} of {len(counted)}")
    print(f"wrong names: {sum(row['wrong_name'] for row in rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
