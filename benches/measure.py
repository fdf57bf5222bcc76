"""Accuracy and duration of `airqueue measure` on real kernel queues, as a table.

Every row is one `airqueue testbed measure` as a user would type it, against a target stated before
the run. Rows run one after the other; a whole table takes about half an hour.

    .venv/bin/python benches/measure.py                 # everything
    .venv/bin/python benches/measure.py --only pfifo    # rows whose name contains a word
    .venv/bin/python benches/measure.py --json out.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AIRQUEUE = Path(sys.executable).parent / "airqueue"
Result = dict[str, Any]
Check = Callable[[Result], list[str]]
"""Result -> what it misses, a phrase each; empty if it reaches the target."""


@dataclass(frozen=True)
class Row:
    """One measurement and what it must reach."""

    name: str
    options: tuple[str, ...]
    checks: tuple[Check, ...]
    truth: float | None = None
    """Capacity in the device's own unit; None: no single capacity may be given."""
    slack: float = 0.0

    @property
    def unit(self) -> str | None:
        """What the device counts in; None where it holds too little to tell."""
        if self.truth is None or self.truth <= 2:
            return None
        return "bytes" if self.options[1].startswith("bfifo") else "packets"


@dataclass
class Outcome:
    """What a row gave."""

    row: Row
    result: Result | None
    elapsed_s: float
    misses: list[str] = field(default_factory=list)

    @property
    def wrong_but_confident(self) -> bool:
        """A capacity is given, and neither it nor its interval is within the target of the truth."""
        r = self.result
        if r is None or r["capacity"] is None:
            return False
        if self.row.truth is None:
            return True
        low, high = r["ci95"]
        return not low - self.row.slack <= self.row.truth <= high + self.row.slack


def estimate_within(name: str, truth: float, packets: float, share: float) -> Check:
    def check(result: Result) -> list[str]:
        estimator = result["estimators"].get(name)
        if estimator is None:
            return [f"no {name} estimate"]
        allowed = max(packets, share * truth)
        return [
            f"{name} {row['packets']:.2f} at {size} B, allowed ±{allowed:g}"
            for size, row in estimator["by_size"].items()
            if abs(row["packets"] - truth) > allowed
        ]

    return check


def capacity_within(truth: float, allowed: float) -> Check:
    def check(result: Result) -> list[str]:
        got = result["capacity"]
        if got is None:
            return [f"no capacity ({result['verdict']}, counted in {result['counted_in']})"]
        return [] if abs(got - truth) <= allowed else [f"capacity {got:g}, allowed ±{allowed:g}"]

    return check


def says(key: str, *allowed: str) -> Check:
    def check(result: Result) -> list[str]:
        return [] if result[key] in allowed else [f"{key} is {result[key]}"]

    return check


def no_longer_than(seconds: float) -> Check:
    def check(result: Result) -> list[str]:
        took = result["elapsed_s"]
        return [] if took <= seconds else [f"took {took:.1f} s of {seconds:g} s"]

    return check


def time_limit(packets: int) -> float:
    return 30 if packets <= 250 else 60 if packets <= 1000 else 90


def packet_queues() -> Iterator[Row]:
    for shaper in ("tbf", "htb"):
        for n in (30, 50, 100, 250, 500, 1000, 2000):
            allowed = max(1, 0.005 * n)
            checks = (
                says("verdict", "fifo"),
                says("counted_in", "packets"),
                estimate_within("counting", n, 1, 0.005),
                estimate_within("published", n, 1.5, 0.03),
                capacity_within(n, allowed),
                no_longer_than(time_limit(n)),
            )
            options = ("--queue", f"pfifo:{n}", "--rate", "7mbit", "--shaper", shaper)
            yield Row(f"pfifo:{n} {shaper} 7 Mb/s", options, checks, n, allowed)


def byte_queues() -> Iterator[Row]:
    for shaper, limits in (("tbf", (30_000, 75_000, 150_000, 400_000)), ("htb", (60_000, 250_000))):
        for limit in limits:
            allowed = max(1514, 0.01 * limit)
            checks = (
                says("verdict", "fifo"),
                says("counted_in", "bytes"),
                capacity_within(limit, allowed),
            )
            options = ("--queue", f"bfifo:{limit}", "--rate", "7mbit", "--shaper", shaper)
            yield Row(f"bfifo:{limit} {shaper} 7 Mb/s", options, checks, limit, allowed)


def fast_and_bursty() -> Iterator[Row]:
    for shaper in ("tbf", "htb"):
        for rate in (100, 300):
            checks = (
                says("verdict", "fifo"),
                says("counted_in", "packets"),
                capacity_within(500, 64),
            )
            options = ("--queue", "pfifo:500", "--rate", f"{rate}mbit", "--burst", "64p")
            name = f"pfifo:500 {shaper} {rate} Mb/s, bursts of 64"
            yield Row(name, (*options, "--shaper", shaper), checks, 500, 64)


def unstable() -> Iterator[Row]:
    cases = {
        "rate halved at times": ("--swing", "1.7s:0.5"),
        "rate doubled at times": ("--swing", "1.7s:2"),
        "stalls of 2.5 s": ("--stall", "9s:2.5s"),
        "stalls of 1 s": ("--stall", "4s:1s"),
        "packet ceiling (mpu 1500)": ("--mpu", "1500"),
    }
    for name, extra in cases.items():
        checks = (
            says("verdict", "fifo"),
            says("counted_in", "packets"),
            estimate_within("counting", 100, 2, 0.02),
        )
        options = ("--queue", "pfifo:100", "--rate", "7mbit", *extra)
        yield Row(f"pfifo:100, {name}", options, checks, 100, 2)


def other_kinds() -> Iterator[Row]:
    base = ("--rate", "7mbit")
    yield Row(
        "pfifo_head_drop:100",
        ("--queue", "pfifo_head_drop:100", *base),
        (says("verdict", "fifo"), says("drop_from", "head"), capacity_within(100, 2)),
        100,
        2,
    )
    yield Row(
        "htb leaf per port",
        ("--queue", "pfifo:100", *base, "--shaper", "htb", "--isolate"),
        (says("verdict", "isolated"),),
    )
    yield Row(
        "nftables rate limit",
        ("--queue", "pfifo:100", *base, "--policer", "nft"),
        (says("verdict", "policer"),),
    )
    yield Row("two-packet tbf", ("--queue", "pfifo:2", *base), (says("verdict", "policer"),), 2, 1)
    yield Row(
        "limit swings 100 / 40",
        ("--queue", "pfifo:100", *base, "--limit-swing", "0.8s:0.4"),
        (says("verdict", "not_flat", "undecided"),),
    )
    yield Row(
        "pfifo:100 IPv6",
        ("--queue", "pfifo:100", *base, "--ipv6"),
        (says("verdict", "fifo"), capacity_within(100, 1)),
        100,
        1,
    )
    yield Row(
        "pfifo:100 upwards",
        ("--queue", "pfifo:100", *base, "--direction", "up"),
        (says("verdict", "fifo"), capacity_within(100, 1)),
        100,
        1,
    )


GROUPS = (packet_queues, byte_queues, fast_and_bursty, unstable, other_kinds)


def run(row: Row) -> Outcome:
    """Carry one row out."""
    started = time.monotonic()
    command = [AIRQUEUE, "testbed", "measure", *row.options, "--quiet", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - started
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        return Outcome(row, None, elapsed, [(done.stderr or "no output").strip().splitlines()[-1]])
    misses = [miss for check in row.checks for miss in check(result)]
    return Outcome(row, result, elapsed, misses)


def line(outcome: Outcome) -> str:
    """One row of the table."""
    result = outcome.result
    if result is None:
        return f"{outcome.row.name:36} FAILED  {'; '.join(outcome.misses)}"
    capacity = "-" if result["capacity"] is None else f"{result['capacity']:.1f}"
    interval = "" if result["ci95"] is None else "[{:.1f}, {:.1f}]".format(*result["ci95"])
    estimates = " ".join(
        f"{name[:4]} {result['estimators'][name]['packets']:.1f}"
        for name in ("published", "corrected", "counting", "fill_drain")
        if result["estimators"].get(name)
    )
    mark = "WRONG" if outcome.wrong_but_confident else "miss" if outcome.misses else "ok"
    text = (
        f"{outcome.row.name:36} {mark:6}{result['verdict']:10} {result['counted_in']:10}"
        f"{capacity:>10} {interval:22} {estimates:52} {result['discarded_sessions']:3d} "
        f"{result['elapsed_s']:6.1f} s"
    )
    return text + "".join(f"\n{'':43}{miss}" for miss in outcome.misses)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", type=Path, help="write every result here")
    options = parser.parse_args()
    outcomes = []
    for row in (r for group in GROUPS for r in group() if options.only in r.name):
        outcome = run(row)
        outcomes.append(outcome)
        print(line(outcome), flush=True)
    if options.json:
        kept = [{"name": o.row.name, "misses": o.misses, "result": o.result} for o in outcomes]
        options.json.write_text(json.dumps(kept, indent=1))
    wrong = sum(o.wrong_but_confident for o in outcomes)
    missed = sum(bool(o.misses) for o in outcomes)
    fifos = [o for o in outcomes if o.row.unit and o.result]
    right = sum(o.result["counted_in"] == o.row.unit for o in fifos)
    print(f"\n{len(outcomes)} rows, {missed} miss their target, {wrong} wrong but confident;")
    print(f"packets or bytes right {right} of {len(fifos)} times")
    return 1 if missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
