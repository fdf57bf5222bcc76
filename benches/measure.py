"""Accuracy and duration of `airqueue measure`, as a table: on real kernel queues, and over simulated
access points.

Every row of the former is one `airqueue testbed measure` as a user would type it, every row of the
latter the same method on the virtual clock, against a target stated before the run. Rows run one
after the other; a whole table takes about half an hour, the simulated part of it less than a minute.

    .venv/bin/python benches/measure.py                 # everything
    .venv/bin/python benches/measure.py --only pfifo    # rows whose name contains a word
    .venv/bin/python benches/measure.py --only 802.11   # simulated access points
    .venv/bin/python benches/measure.py --json out.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from airqueue.measure.api import measure
from airqueue.measure.prober import Direction, ProbeError
from airqueue.measure.simulated import SimulatedProber

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
    counted_in: str = "packets"
    slack: float = 0.0
    simulated: Mapping[str, Any] | None = None
    """Configuration of a simulated path in the place of the test bed."""
    direction: Direction = "down"

    @property
    def unit(self) -> str | None:
        """What the device counts in; None where it holds too little to tell."""
        if self.truth is None or self.truth <= 2:
            return None
        return self.counted_in


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


def says(key: str, *allowed: str | int) -> Check:
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
            yield Row(f"pfifo:{n} {shaper} 7 Mb/s", options, checks, n, slack=allowed)


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
            name = f"bfifo:{limit} {shaper} 7 Mb/s"
            yield Row(name, options, checks, limit, "bytes", allowed)


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
            yield Row(name, (*options, "--shaper", shaper), checks, 500, slack=64)


def unstable() -> Iterator[Row]:
    cases = {
        "rate halved at times": ("--swing", "1.7s:0.5"),
        "rate doubled at times": ("--swing", "1.7s:2"),
        "stalls of 2.5 s": ("--stall", "9s:2.5s"),
        "stalls of 1 s": ("--stall", "4s:1s"),
        "packet ceiling (mpu 1500)": ("--mpu", "1500B"),
    }
    for name, extra in cases.items():
        checks = (
            says("verdict", "fifo"),
            says("counted_in", "packets"),
            estimate_within("counting", 100, 2, 0.02),
        )
        options = ("--queue", "pfifo:100", "--rate", "7mbit", *extra)
        yield Row(f"pfifo:100, {name}", options, checks, 100, slack=2)


def other_kinds() -> Iterator[Row]:
    base = ("--rate", "7mbit")
    yield Row(
        "pfifo_head_drop:100",
        ("--queue", "pfifo_head_drop:100", *base),
        (says("verdict", "fifo"), says("drop_from", "head"), capacity_within(100, 2)),
        100,
        slack=2,
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
    yield Row(
        "two-packet tbf", ("--queue", "pfifo:2", *base), (says("verdict", "policer"),), 2, slack=1
    )
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
        slack=1,
    )
    yield Row(
        "pfifo:100 upwards",
        ("--queue", "pfifo:100", *base, "--direction", "up"),
        (says("verdict", "fifo"), capacity_within(100, 1)),
        100,
        slack=1,
    )


def access_point(standard: str, limit: str, ring: int = 0, uploaders: int = 0) -> dict[str, Any]:
    """A cell: the access point, the laptop that is measured from, and others that always send."""
    others = [{"name": "other", "count": uploaders}] if uploaders else []
    uploads = [{"from": "other", "to": "ap"}] if uploaders else []
    scenario = {
        "phy": {"standard": standard},
        "queue": {"limit": limit, "ring": f"{ring} packets", "link_layer": "14 B"},
        "stations": [{"name": "ap"}, {"name": "laptop"}, *others],
        "flows": [
            {"from": "ap", "to": "laptop", "source": "external"},
            {"from": "laptop", "to": "ap", "source": "external"},
            *uploads,
        ],
    }
    return {"cell": {"scenario": scenario, "down": "ap->laptop", "up": "laptop->ap"}}


def counts_within(packets: float, truth: Mapping[int, int]) -> Check:
    """Packets that wait in a full queue by the packets' size, counted, and as the simulator saw."""

    def check(result: Result) -> list[str]:
        rows = result["estimators"]["counting"]["by_size"]
        got = {size: rows[str(size)]["packets"] for size in truth}
        most = result["most_waiting_packets"]
        misses = [f"{most} waited, not {max(truth.values())}"] * (most != max(truth.values()))
        return misses + [
            f"counting {got[size]:.2f} at {size} B, allowed {n} ±{packets:g}"
            for size, n in truth.items()
            if abs(got[size] - n) > packets
        ]

    return check


def access_points() -> Iterator[Row]:
    """Discipline and ring; the frame that the MAC is busy with is in service."""
    for standard in ("802.11b", "802.11g"):
        for n in (30, 100, 337, 1000, 2000):
            for ring in (0, 10):
                holds = n + ring
                checks: tuple[Check, ...] = (
                    says("verdict", "fifo"),
                    says("counted_in", "packets"),
                    says("in_service_packets", 1),
                    counts_within(1, {1500: holds, 750: holds}),
                    estimate_within("published", holds, 1.5, 0.03),
                    capacity_within(holds, 1),
                )
                config = access_point(standard, f"{n} packets", ring)
                name = f"{standard} {n} packets, ring {ring}"
                yield Row(name, (), checks, holds, slack=1, simulated=config)
        config = access_point(standard, "337 packets")
        checks = (says("verdict", "fifo"), says("counted_in", "packets"), capacity_within(337, 1))
        upwards = Row(f"{standard} 337 packets, upwards", (), checks, 337, slack=1)
        yield replace(upwards, simulated=config, direction="up")


def access_points_of_bytes() -> Iterator[Row]:
    for standard in ("802.11b", "802.11g"):
        for limit in (75_700, 151_400, 510_218):
            holds = {size: limit // (size + 14) for size in (1500, 750)}
            checks = (
                says("verdict", "fifo"),
                says("counted_in", "bytes"),
                counts_within(1, holds),
                capacity_within(limit, 1514),
            )
            config = access_point(standard, f"{limit} B")
            name = f"{standard} {limit} B"
            yield Row(name, (), checks, limit, "bytes", slack=1514, simulated=config)
        # 50 and 99 frames and a ring of packets behind them: one number counts neither.
        config = access_point(standard, "75700 B", ring=10)
        checks = (says("counted_in", "undecided"), counts_within(1, {1500: 60, 750: 109}))
        yield Row(f"{standard} 75700 B, ring 10", (), checks, simulated=config)


def access_points_among_others() -> Iterator[Row]:
    """Others that always send: the air is theirs too, the queue is not."""
    for standard in ("802.11b", "802.11g"):
        for n in (100, 1000):
            for uploaders in (1, 5):
                allowed = 1 if uploaders == 1 else max(2, 0.005 * n)
                checks = (says("verdict", "fifo"), capacity_within(n, allowed))
                config = access_point(standard, f"{n} packets", uploaders=uploaders)
                name = f"{standard} {n} packets, {uploaders} uploading"
                yield Row(name, (), checks, n, slack=allowed, simulated=config)


GROUPS = (
    packet_queues,
    byte_queues,
    fast_and_bursty,
    unstable,
    other_kinds,
    access_points,
    access_points_of_bytes,
    access_points_among_others,
)


def measured(row: Row) -> Result | str:
    """The result, or in a sentence why there is none."""
    if row.simulated is not None:
        try:
            prober = SimulatedProber(row.simulated, seed=1, direction=row.direction)
            waited: list[int] = []
            result = measure(
                prober, on_run=lambda run: waited.append(prober.truth()["max_waiting_packets"])
            )
            return {**result.to_json(), "most_waiting_packets": max(waited)}
        except ProbeError as error:
            return str(error)
    command = [AIRQUEUE, "testbed", "measure", *row.options, "--quiet", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        result: Result = json.loads(done.stdout)
    except json.JSONDecodeError:
        return (done.stderr or "no output").strip().splitlines()[-1]
    return result


def run(row: Row) -> Outcome:
    """Carry one row out."""
    started = time.monotonic()
    result = measured(row)
    elapsed = time.monotonic() - started
    if isinstance(result, str):
        return Outcome(row, None, elapsed, [result])
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
