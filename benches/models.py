"""How many points per second each vectorised model solves on one core, as a table.

Each row gives a model random parameters, made beforehand, and counts CPU seconds of this process on
one core. Where there is a peer (what one would write without this package: a loop over
`scipy.optimize.brentq`), it solves the first points of the same row in the same run; the table
shows how many times fewer points per second it solves, and that both agree.

    .venv/bin/python benches/models.py                   # everything; exit code 1 if a row misses
    .venv/bin/python benches/models.py --only kumar      # rows whose name contains a word
    .venv/bin/python benches/models.py --json out.json

To add a row, write a function that returns a `Bench` and append it to `BENCHES`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.models.airtime import exchange_s
from airqueue.models.ampdu import largest_aggregate
from airqueue.models.bianchi import bianchi
from airqueue.models.http_contention import contention
from airqueue.models.kumar import kumar, kumar_backoffs
from airqueue.models.phy_names import phy
from airqueue.models.phys import Phy
from airqueue.models.tay_chua import tay_chua
from airqueue.models.web_session import session_delay

MILLION = 1_000_000
FIXED_POINT_TARGET_S = 10.0
SESSION_TARGET_S = 10.0
PEER_POINTS = 2_000


@dataclass(frozen=True)
class Bench:
    """One row: what is solved, how often, in how much time, and by whom else."""

    name: str
    what: str
    """Parameters, in a few words."""
    count: int
    """Points, transmissions or whatever ``run`` works through once."""
    run: Callable[[], NDArray[np.float64] | None]
    """Returns the figures to compare with the peer's, if there is one."""
    target_s: float | None = None
    peer: Callable[[int], float] | None = None
    """Index of a point -> the same figure, one point at a time."""
    tolerance: float = 1e-9
    peer_points: int = PEER_POINTS


@dataclass(frozen=True)
class Outcome:
    """What a row gave."""

    name: str
    what: str
    count: int
    cpu_s: float
    per_s: float
    target_s: float | None
    reached: bool
    peer_ratio: float | None
    """Points per second of this package over those of the peer."""
    peer_difference: float | None


@dataclass(frozen=True)
class Cells:
    """Random cells: n in 1..50, CWmin and CWmax of 802.11b, 802.11a/g, Bianchi and EDCA."""

    n: NDArray[np.float64]
    cw_min: NDArray[np.float64]
    cw_max: NDArray[np.float64]
    retries: NDArray[np.float64]


def random_cells(count: int = MILLION) -> Cells:
    generator = np.random.default_rng(20_000)
    cw = np.array([(31, 1023), (15, 1023), (31, 255), (15, 31), (7, 15), (63, 63)], dtype=float)
    cw_min, cw_max = cw[generator.integers(len(cw), size=count)].T
    return Cells(
        n=generator.integers(1, 51, count).astype(float),
        cw_min=cw_min,
        cw_max=cw_max,
        retries=generator.choice([3.0, 6.0, 10.0], count),
    )


def plain_loop(cells: Cells, extra_slots: float, *, finite: bool) -> Callable[[int], float]:
    """Return what one would write for one cell: the sums in Python, solved by Brent's method."""

    def solve(index: int) -> float:
        n, cw_min, cw_max, retries = (
            float(array[index]) for array in (cells.n, cells.cw_min, cells.cw_max, cells.retries)
        )
        window = cw_min + 1.0
        doublings = round(math.log2((cw_max + 1.0) / window))
        last = int(retries) if finite else doublings

        def surplus(p: float) -> float:
            attempts = slots = 0.0
            for k in range(last):
                attempts += p**k
                slots += p**k * (2.0 ** min(k, doublings) * window + extra_slots) / 2.0
            tail = p**last * (1.0 if finite else 1.0 / (1.0 - p))
            attempts += tail
            slots += tail * (2.0 ** min(last, doublings) * window + extra_slots) / 2.0
            return p - 1.0 + (1.0 - attempts / slots) ** (n - 1.0)

        return float(brentq(surplus, 0.0, 1.0 - 1e-12, xtol=1e-13))

    return solve


def fixed_points(
    name: str,
    what: str,
    cells: Cells,
    solve: Callable[[], NDArray[np.float64]],
    extra_slots: float,
    *,
    finite: bool,
) -> Bench:
    """A million collision probabilities, against the plain loop with the same convention."""
    return Bench(
        name=name,
        what=f"n 1..50, {what}",
        count=MILLION,
        run=solve,
        target_s=FIXED_POINT_TARGET_S,
        peer=plain_loop(cells, extra_slots, finite=finite),
    )


def bianchi_endless() -> Bench:
    cells = random_cells()

    def solve() -> NDArray[np.float64]:
        return bianchi(cells.n, cells.cw_min, cells.cw_max).collision_probability

    return fixed_points("bianchi", "6 windows, never given up", cells, solve, 1.0, finite=False)


def bianchi_retries() -> Bench:
    cells = random_cells()

    def solve() -> NDArray[np.float64]:
        return bianchi(cells.n, cells.cw_min, cells.cw_max, cells.retries).collision_probability

    what = "6 windows, 3, 6 or 10 retries"
    return fixed_points("bianchi, retries", what, cells, solve, 1.0, finite=True)


def tay_chua_endless() -> Bench:
    cells = random_cells()

    def solve() -> NDArray[np.float64]:
        return tay_chua(cells.n, cells.cw_min, cells.cw_max).collision_probability

    return fixed_points("tay-chua", "6 windows, never given up", cells, solve, 0.0, finite=False)


def kumar_windows() -> Bench:
    cells = random_cells()

    def solve() -> NDArray[np.float64]:
        windows = (cells.n, cells.cw_min, cells.cw_max, cells.retries)
        return kumar(*windows, convention="http").collision_probability

    what = "6 windows, 3, 6 or 10 retries, http"
    return fixed_points("kumar", what, cells, solve, -1.0, finite=True)


def kumar_list() -> Bench:
    cells = replace(random_cells(), retries=np.full(MILLION, 6.0))
    windows = np.minimum(
        2.0 ** np.arange(7.0) * (cells.cw_min[:, None] + 1.0), cells.cw_max[:, None] + 1.0
    )

    def solve() -> NDArray[np.float64]:
        return kumar_backoffs(cells.n, (windows + 1.0) / 2.0).collision_probability

    return fixed_points("kumar, backoffs", "7 mean backoffs given", cells, solve, 1.0, finite=True)


DOT11B_DATA_S, DOT11B_ACK_S = (
    (50 + 3 * 10 + 4 * 192 + 180 / 2 + 2 * 112 / 2 + bits / 11) * 1e-6 for bits in (8592, 592)
)


def plain_backoff(p: float) -> float:
    return sum(p**k * (1 - p) * (min(2**k * 32, 1024) - 1) / 2 for k in range(7))


def plain_probability(n_b: float) -> float:
    return float(
        brentq(lambda p: p - 1 + (1 - 1 / plain_backoff(p)) ** (n_b - 1), 0.0, 0.89, xtol=1e-15)
    )


def plain_capacity(k: int, d: float) -> float:
    """C_k of the HTTP paper, Eq. (12), for one k and d."""
    n_b = 1 + k / (2 * d)
    p = plain_probability(n_b)
    backoff = plain_backoff(p) * 20e-6
    cost = backoff / (n_b * (1 - p)) + (342e-6 + backoff) * p / (1 - p)
    return 8000 / (DOT11B_DATA_S + DOT11B_ACK_S / d + (d + 1) / d * cost)


def random_sessions(*, whole: bool) -> Bench:
    """Sessions of Eq. (17): n - 1 capacities each, shared where users have the same delayed ACK."""
    count = 100_000
    generator = np.random.default_rng(2005)
    n = generator.integers(2, 52, count)
    think_s, bits = generator.uniform(1, 30, count), generator.uniform(5e4, 5e5, count)
    d = generator.integers(1, 6, count) if whole else generator.uniform(1, 5, count)

    def birth_and_death(index: int) -> float:
        weights = [1.0]
        for k in range(1, int(n[index])):
            served_per_s = plain_capacity(k, float(d[index])) / bits[index]
            weights.append(weights[-1] * (n[index] - k) / think_s[index] / served_per_s)
        active = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
        setup = 2 * (DOT11B_ACK_S + 310e-6)
        return float(setup + active / ((n[index] - 1 - active) / think_s[index]))

    return Bench(
        name="web-session" if whole else "web-session, real d",
        what=f"n 2..51, think time, size, {'d 1..5' if whole else 'as many d as points'}",
        count=count,
        run=lambda: session_delay(n, think_s, bits, d).mean_s,
        target_s=SESSION_TARGET_S if whole else None,
        peer=birth_and_death,
        peer_points=50,
    )


def web_session() -> Bench:
    return random_sessions(whole=True)


def web_session_real_d() -> Bench:
    return random_sessions(whole=False)


def http_contention() -> Bench:
    n_b = np.random.default_rng(2005).uniform(1, 51, MILLION)
    return Bench(
        name="http-contention",
        what="n_b 1..51, all different, 7 attempts",
        count=MILLION,
        run=lambda: contention(n_b).collision_probability,
        target_s=FIXED_POINT_TARGET_S,
        peer=lambda index: plain_probability(float(n_b[index])),
    )


def frames(name: str, count: int) -> tuple[Phy, NDArray[np.float64], NDArray[np.float64]]:
    """A layer, and sizes of frames with rates."""
    generator = np.random.default_rng(802_11)
    layer = phy(name)
    return (
        layer,
        generator.integers(100, 1536, count) * 1.0,
        generator.choice(layer.rates_bps, count),
    )


def airtime() -> Bench:
    layer, size, rate_bps = frames("a", MILLION)

    def plain(index: int) -> float:
        symbols = math.ceil((22 + 8 * size[index]) / (4e-6 * rate_bps[index]))
        ack = {6: 44, 9: 44, 12: 32, 18: 32}.get(round(rate_bps[index] / 1e6), 28)
        return float(34 + 67.5 + 20 + 4 * symbols + 16 + ack) * 1e-6

    return Bench(
        name="airtime",
        what="exchanges of 802.11a, 8 rates, all sizes",
        count=MILLION,
        run=lambda: exchange_s(layer, size, rate_bps),
        target_s=FIXED_POINT_TARGET_S,
        peer=plain,
    )


def aggregates() -> Bench:
    count = 100_000
    layer, size, rate_bps = frames("ac-80mhz-2ss", count)
    bits = {mode.rate_bps: mode.bits_per_symbol for mode in layer.modes}

    def plain(index: int) -> float:
        mpdus, total = 0, 0
        while mpdus < 64:
            total += -total % 4 + 4 + int(size[index])
            symbols = math.ceil(
                (22 + 6 * (rate_bps[index] > 540e6) + 8 * total) / bits[rate_bps[index]]
            )
            if total > 1_048_575 or 44 + 4 * symbols > 5_484:
                break
            mpdus += 1
        return float(mpdus)

    return Bench(
        name="aggregates",
        what="the largest of 802.11ac, 2 streams, 80 MHz",
        count=count,
        run=lambda: largest_aggregate(layer, size, rate_bps),
        target_s=FIXED_POINT_TARGET_S,
        peer=plain,
    )


BENCHES: list[Callable[[], Bench]] = [
    airtime,
    aggregates,
    bianchi_endless,
    bianchi_retries,
    tay_chua_endless,
    kumar_windows,
    kumar_list,
    http_contention,
    web_session,
    web_session_real_d,
]


def measure(bench: Bench) -> Outcome:
    started = time.process_time()
    figures = bench.run()
    cpu_s = time.process_time() - started
    ratio = difference = None
    if bench.peer is not None and figures is not None:
        points = min(bench.peer_points, bench.count)
        started = time.process_time()
        peer = [bench.peer(index) for index in range(points)]
        peer_s = time.process_time() - started
        ratio = (bench.count / cpu_s) / (points / peer_s)
        difference = float(np.max(np.abs(figures[:points] - peer)))
    reached = (bench.target_s is None or cpu_s < bench.target_s) and (
        difference is None or difference <= bench.tolerance
    )
    return Outcome(
        bench.name,
        bench.what,
        bench.count,
        cpu_s,
        bench.count / cpu_s,
        bench.target_s,
        reached,
        ratio,
        difference,
    )


def table(outcomes: list[Outcome]) -> Table:
    shown = Table(title="models on one core")
    for heading in ("model", "points"):
        shown.add_column(heading)
    for heading in ("how many", "CPU s", "target s", "per s", "× peer", "differ by", "reached"):
        shown.add_column(heading, justify="right")
    for row in outcomes:
        shown.add_row(
            row.name,
            row.what,
            f"{row.count:,}",
            f"{row.cpu_s:.2f}",
            "-" if row.target_s is None else f"{row.target_s:g}",
            f"{row.per_s:,.0f}",
            "-" if row.peer_ratio is None else f"{row.peer_ratio:.1f}",
            "-" if row.peer_difference is None else f"{row.peer_difference:.0e}",
            "yes" if row.reached else "NO",
        )
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", type=Path, help="write the outcomes to a file as well")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    benches = [bench for make in BENCHES if arguments.only in (bench := make()).name]
    outcomes = [measure(bench) for bench in benches]
    Console(width=140).print(table(outcomes))
    if arguments.json is not None:
        rows = [asdict(outcome) for outcome in outcomes]
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(outcome.reached for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
