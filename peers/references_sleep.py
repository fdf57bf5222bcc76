"""Reference values of stations that sleep from ns-3 3.48: references_sleep.csv.

Tolerances were stated before the first run. A quantile of ours is the middle of a bucket, within 1/64
of the value: this is half of the 3 % that medians and 95th percentiles have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .install import ROOT
from .references import Point, Quantity, Table
from .sleep import DIRECTIONS, Received, SleepCell, SleepResult, run_sleep

SIMULATOR = "ns-3.48"
SEEDS = 10
"""The fewest."""
CPU_LIMIT_S = 30.0
TOLERANCE = 0.02
COLUMNS = (
    *("simulator", "sleepers", "saturated", "down_pps", "up_pps", "group_pps"),
    *("listen_interval", "dtim_period", "ip_bytes"),
)
AWAKE = "share of time awake"
POLLS = "PS-Polls"
DELIVERED = "delivered share"
LONGEST = "longest delay of a run"
FIGURES: dict[str, tuple[str, float]] = {
    "mean delay": ("mean_s", 0.02),
    "standard deviation of the delay": ("sd_s", 0.02),
    "median delay": ("median_s", 0.03),
    "95th percentile of the delay": ("p95_s", 0.03),
    LONGEST: ("longest_s", 0.02),
}
"""Of a direction's delays: the field of `Received`, and the tolerance."""
UP_TOLERANCE = 0.05
"""Of packets that go at once: their delay is a few slots and a frame."""
AWAKE_TOLERANCE = 0.05
DELIVERED_TOLERANCE = 0.001

SleepPoint = Point[SleepCell, SleepResult]


def received(direction: str, result: SleepResult) -> Received:
    """The packets of a direction, which the point has."""
    found: Received | None = getattr(result, direction)
    if found is None:
        raise ValueError(f"no packet of the direction {direction!r} was delivered: {result}")
    return found


def field_of(direction: str, field: str) -> Callable[[SleepResult], float]:
    return lambda result: float(getattr(received(direction, result), field))


def quantities(cell: SleepCell) -> Iterator[Quantity[SleepResult]]:
    """Of each direction that has packets, and of sleep."""
    for direction in DIRECTIONS:
        if not getattr(cell, f"{direction}_pps"):
            continue
        for name, (field, tolerance) in FIGURES.items():
            allowed = UP_TOLERANCE if direction == "up" else tolerance
            above = field_of(direction, field)
            yield Quantity(f"{direction}: {name}", "s", above, lambda _: 1.0, allowed)
        delivered, sent = (field_of(direction, field) for field in ("delivered", "sent"))
        yield Quantity(f"{direction}: {DELIVERED}", "1", delivered, sent, DELIVERED_TOLERANCE)
    yield Quantity(AWAKE, "1", lambda r: r.awake_ratio, lambda _: 1.0, AWAKE_TOLERANCE)
    # ns-3 counts those that were sent, ours those that arrived: the same where none collide.
    if cell.down_pps and cell.sleepers + cell.saturated == 1:
        per_second = cell.seconds
        yield Quantity(POLLS, "1/s", lambda r: r.polls / per_second, lambda _: 1.0, TOLERANCE)


def cells() -> Iterator[SleepCell]:
    """The more important first; some 2000 packets in each run."""
    plain = SleepCell(down_pps=5.0)
    yield plain
    yield replace(plain, listen_interval=3)
    yield replace(plain, down_pps=0.5, seconds=4000.0)
    yield replace(plain, down_pps=20.0, seconds=100.0)
    yield replace(plain, down_pps=1.0, listen_interval=3, seconds=2000.0)
    yield replace(plain, down_pps=20.0, listen_interval=3, seconds=100.0)
    yield replace(plain, listen_interval=10)
    yield replace(plain, up_pps=5.0)
    yield SleepCell(group_pps=5.0)
    yield SleepCell(group_pps=2.0, seconds=1000.0)
    several = replace(plain, sleepers=5, seconds=100.0)
    yield several
    yield replace(several, listen_interval=3)
    contended = replace(plain, sleepers=2, saturated=1, down_pps=20.0, seconds=30.0)
    yield contended
    yield replace(contended, listen_interval=3)


def points() -> Iterator[SleepPoint]:
    for cell in cells():
        yield Point(SIMULATOR, cell, tuple(quantities(cell)), TOLERANCE, CPU_LIMIT_S, SEEDS)


def key(point: SleepPoint) -> tuple[str, ...]:
    """What stands in `COLUMNS`."""
    cell = point.cell
    rates = (f"{rate:g}" for rate in (cell.down_pps, cell.up_pps, cell.group_pps))
    whole = (cell.listen_interval, cell.dtim_period, cell.ip_bytes)
    return (point.peer, str(cell.sleepers), str(cell.saturated), *rates, *map(str, whole))


def run_point(point: SleepPoint, seed: int) -> SleepResult:
    return run_sleep(replace(point.cell, seed=seed))


TABLE = Table(ROOT / "validation" / "references_sleep.csv", COLUMNS, key, points, run_point)
