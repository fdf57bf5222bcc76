"""Reference values of saturated cells from ns-2 and ns-3: validation/references_mac.csv.

How they are made is here for the other tables too, whose points are in references_ampdu.py,
references_tcp.py, references_mesh.py and references_sleep.py.

Each point is run with seeds 1, 2, ... until the standard error of each of its quantities is a third
of the tolerance with which models and engine are compared with it, or the point has had its share of
CPU time; the file says which error was reached. At least `FEWEST_RUNS` seeds are run, however small
the error. A fraction or ratio is that of the sums over all runs, and its error that of a ratio
estimator (Cochran, Sampling Techniques, 2.11), so that short runs bring no bias.

Points that the file has already are not run again: to make it anew, delete it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from .install import ROOT
from .run import run
from .scenario import Cell, Edca, Result

BUDGET_S = 3600.0
FEWEST_RUNS = 6
EDCA_STATIONS = 2
EDCA_COLUMNS = ("aifsn", "cw_min", "cw_max", "txop_us")
SCENARIO_COLUMNS = (
    *("simulator", "standard", "stations", "ip_bytes", "data_mbps", "control_mbps", "preamble"),
    *("rts", "layout"),
    *(f"{name}_{i}" for i in range(1, EDCA_STATIONS + 1) for name in EDCA_COLUMNS),
)
VALUE_COLUMNS = ("quantity", "value", "standard_error", "unit", "runs", "seconds_each")
SIMULATORS = {"ns2": "ns-2.35", "ns3-wheel": "ns-3.44"}


class Timed(Protocol):
    """A scenario, or what is common to all."""

    @property
    def seconds(self) -> float: ...


class Costed(Protocol):
    """A result, or what is common to all."""

    @property
    def cpu_s(self) -> float: ...


S = TypeVar("S", bound=Timed)
R = TypeVar("R", bound=Costed)


@dataclass(frozen=True)
class Quantity(Generic[R]):
    """A ratio of two sums over runs."""

    name: str
    unit: str
    above: Callable[[R], float]
    below: Callable[[R], float]
    tolerance: float | None = None
    """Its error is to be at most a third of this times its value; ``None``: of its point's."""

    def estimate(self, results: Sequence[R]) -> tuple[float, float]:
        """Value and standard error."""
        above = [self.above(r) for r in results]
        below = [self.below(r) for r in results]
        return ratio(above, below)


def ratio(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """Of two sums over runs, with its standard error."""
    total = sum(below)
    value = sum(above) / total if total else math.nan
    squares = sum((a - value * b) ** 2 for a, b in zip(above, below, strict=True))
    runs = len(above)
    return value, math.sqrt(squares * runs / (runs - 1)) / total if total else math.nan


THROUGHPUT = Quantity[Result](
    "aggregate IP throughput", "b/s", lambda r: r.ip_throughput_bps, lambda r: 1.0
)
FAILED = Quantity[Result](
    "collided fraction of attempts",
    "1",
    lambda r: float(r.failed_attempts or 0),
    lambda r: float(r.attempts or 0),
)
SHARE = Quantity[Result](
    "throughput ratio of the second station to the first",
    "1",
    lambda r: r.station_ip_bps[1],
    lambda r: r.station_ip_bps[0],
)


@dataclass(frozen=True)
class Point(Generic[S, R]):
    """One scenario in one simulator; ``cell.seconds`` is the length of each run."""

    peer: str
    cell: S
    quantities: tuple[Quantity[R], ...]
    tolerance: float
    cpu_limit_s: float
    fewest_runs: int = FEWEST_RUNS

    def settled(self, results: Sequence[R]) -> bool:
        if len(results) < self.fewest_runs:
            return False
        for quantity in self.quantities:
            tolerance = self.tolerance if quantity.tolerance is None else quantity.tolerance
            if math.isinf(tolerance):
                continue
            value, error = quantity.estimate(results)
            if not error <= value * tolerance / 3:
                return False
        return True


MacPoint = Point[Cell, Result]


@dataclass(frozen=True)
class Table(Generic[S, R]):
    """A file of references: the scenario's columns, then `VALUE_COLUMNS`."""

    file: Path
    scenario_columns: tuple[str, ...]
    key: Callable[[Point[S, R]], tuple[str, ...]]
    """What stands in ``scenario_columns``."""
    points: Callable[[], Iterable[Point[S, R]]]
    """The more important first."""
    run: Callable[[Point[S, R], int], R]
    """A point with a seed."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.scenario_columns, *VALUE_COLUMNS)


def key(point: MacPoint) -> tuple[str, ...]:
    """What stands in `SCENARIO_COLUMNS`."""
    c = point.cell
    stations: list[str] = []
    for i in range(EDCA_STATIONS):
        values = [str(getattr(c.edca[i], name)) for name in EDCA_COLUMNS] if c.edca else [""] * 4
        stations += values
    return (
        *(SIMULATORS[point.peer], c.standard, str(c.stations), str(c.ip_bytes)),
        *(f"{c.data_mbps:g}", f"{c.control_mbps:g}", c.preamble, "on" if c.rts else "off"),
        *(c.layout, *stations),
    )


def saturated_b(
    stations: Iterable[int], simulators: Iterable[str] = SIMULATORS
) -> Iterator[MacPoint]:
    for n in stations:
        # Collisions of many stations are frequent, so that little time settles them.
        seconds = {"ns2": 60.0, "ns3-wheel": 20.0} if n < 20 else {"ns2": 20.0, "ns3-wheel": 6.0}
        for rts in (False, True):
            for size in (1500, 1000):
                for control in (1.0, 2.0):
                    for peer in simulators:
                        cell = Cell("b", n, size, 11.0, control, rts=rts, seconds=seconds[peer])
                        yield dcf_point(peer, cell, 0.015, 50.0)


def saturated_ofdm() -> Iterator[MacPoint]:
    for n in (1, 10, 2, 5, 20):
        for standard, rates in (("a", (54.0, 24.0, 6.0)), ("g", (54.0, 24.0))):
            for rate in rates:
                control = min(rate, 24.0)
                seconds = (5.0 if n < 10 else 3.0) * (1 if rate > 6 else 4)
                cell = Cell(standard, n, 1500, rate, control, seconds=seconds)
                yield dcf_point("ns3-wheel", cell, 0.02, 40.0)


def saturated_at_one_point() -> Iterator[MacPoint]:
    """Where no bystander detects the preamble of a collision."""
    for n in (10, 50, 20, 5):
        cell = Cell(stations=n, layout="point", seconds=20.0 if n < 20 else 6.0)
        yield dcf_point("ns3-wheel", cell, 0.015, 50.0)
    for n in (10, 5, 20):
        cell = Cell("g", n, 1500, 54.0, 24.0, layout="point", seconds=3.0)
        yield dcf_point("ns3-wheel", cell, 0.02, 40.0)


def dcf_point(peer: str, cell: Cell, tolerance: float, cpu_limit_s: float) -> MacPoint:
    return Point(peer, cell, (THROUGHPUT, FAILED), tolerance, cpu_limit_s)


def two_stations() -> Iterator[MacPoint]:
    """1400 bytes of UDP payload in 802.11b; the first station has AIFSN 2, CW 31..1023, no TXOP."""
    seconds = [Edca(aifsn=2 + offset) for offset in range(0, 21, 2)]
    seconds += [Edca(cw_min=cw) for cw in (3, 7, 15, 63, 127, 255, 511, 1023)]
    seconds += [Edca(txop_us=txop_us(packets)) for packets in range(1, 11)]
    for second in seconds:
        cell = Cell("b", 2, 1428, 11.0, 1.0, edca=(Edca(), second), seconds=20.0)
        # Where one of the two succeeds seldom, its count takes long to settle.
        cpu_limit_s = 300.0 if second.cw_min in (3, 1023) else 60.0
        yield Point("ns3-wheel", cell, (SHARE,), 0.02, cpu_limit_s)


def txop_us(packets: int) -> int:
    """Enough for so many of these packets, in the TXOP limit's unit of 32 us, and not for one more.

    Long preambles: 1466 bytes with the QoS header, FCS and LLC, SIFS, ACK at 1 Mb/s, SIFS.
    """
    sifs, preamble = 10, 192
    step = preamble + math.ceil(8 * 1466 / 11) + sifs + preamble + 8 * 14 + sifs
    return math.ceil((packets * step - sifs) / 32) * 32


def points() -> Iterator[MacPoint]:
    """The more important first."""
    yield from saturated_b((1, 10))
    yield from saturated_b((50,), ["ns2"])
    yield from saturated_ofdm()
    yield from two_stations()
    yield from saturated_b((5, 20, 2), ["ns2"])
    yield from saturated_b((50,), ["ns3-wheel"])
    yield from saturated_at_one_point()
    yield from saturated_b((5, 20, 2), ["ns3-wheel"])


def run_counting(point: MacPoint, seed: int) -> Result:
    """With ns-2's attempts."""
    return run(point.peer, replace(point.cell, seed=seed), attempts=True)


TABLE = Table(
    ROOT / "validation" / "references_mac.csv", SCENARIO_COLUMNS, key, points, run_counting
)


def make_references(budget_s: float, table: Table[S, R]) -> None:
    """Appends what the table does not have yet, point by point, while CPU time lasts."""
    have: set[tuple[str, ...]] = set()
    if table.file.exists():
        with table.file.open(encoding="utf-8", newline="") as stream:
            have = {tuple(r[c] for c in table.scenario_columns) for r in csv.DictReader(stream)}
    else:
        table.file.write_text(",".join(table.columns) + "\n", encoding="utf-8")
    spent = 0.0
    for point in table.points():
        if table.key(point) in have:
            continue
        if spent >= budget_s:
            print(f"{budget_s:g} CPU seconds are used up; call again to go on")
            return
        results = run_point(point, table.run)
        spent += sum(r.cpu_s for r in results)
        with table.file.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows((*table.key(point), *row) for row in rows(point, results))
        print(f"{spent:7.0f} s  {point.peer} {point.cell}", flush=True)


def run_point(point: Point[S, R], run_seed: Callable[[Point[S, R], int], R]) -> list[R]:
    results: list[R] = []
    spent = 0.0
    while not point.settled(results):
        if len(results) >= point.fewest_runs and spent >= point.cpu_limit_s:
            break
        results.append(run_seed(point, len(results) + 1))
        spent += results[-1].cpu_s
    return results


def rows(point: Point[S, R], results: Sequence[R]) -> Iterator[tuple[str, ...]]:
    for quantity in point.quantities:
        value, error = quantity.estimate(results)
        counts = (str(len(results)), f"{point.cell.seconds:g}")
        yield (quantity.name, f"{value:.6g}", f"{error:.2g}", quantity.unit, *counts)
