"""The engine's saturated cells: against ns-2, ns-3 and the event-wise reference."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airqueue.figures import MediumFigure
from airqueue.models.edca_slots import slots
from airqueue.simulate import Results, Scenario
from peers.ours import description
from peers.scenario import Cell, Edca
from validation.claim import Claim, Point
from validation.slots_with_eifs import Waits
from validation.slots_with_eifs import cell as exact_cell

REFERENCES = Path(__file__).parent / "references_mac.csv"
"""File of the references, made by peers/references.py."""

_THROUGHPUT = "aggregate IP throughput"
_COLLIDED = "collided fraction of attempts"
_RATIO = "throughput ratio of the second station to the first"
_SEEDS = 5


def longer(stations: int) -> int:
    """How many times longer a cell is simulated: few stations collide rarely, and at little cost.

    With p collisions for each of n transmissions two standard errors of p are some 3 sqrt(p/n): what
    is needed for 1 to 2 % of p falls as p grows, nearly as the number of stations.
    """
    return max(2, 60 // stations) if stations > 1 else 1


def claims(seconds: float) -> list[Claim]:
    """Return the claims; ``seconds`` of simulated time for each of five seeds, and `longer`."""
    cells = [("ns2", "b"), ("ns3", "b"), ("ns3", "a"), ("ns3", "g")]
    found = [
        _simulator(behaviour, standard, quantity, seconds)
        for behaviour, standard in cells
        for quantity in (_THROUGHPUT, _COLLIDED)
    ]
    found += [_standard(quantity, seconds) for quantity in (_THROUGHPUT, _COLLIDED)]
    found += [_kernel_aifs(seconds), _kernel_windows(seconds), _ns3_edca(seconds)]
    return found


@cache
def _rows() -> list[dict[str, str]]:
    """Sort rows from the order of their runs: small cells before large ones."""
    with REFERENCES.open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: int(row["stations"]))


def _cell(row: Mapping[str, str], seconds: float) -> Cell:
    """The cell of a row of the references."""
    stations = int(row["stations"])
    edca = [
        Edca(*(int(row[f"{key}_{station}"]) for key in ("aifsn", "cw_min", "cw_max", "txop_us")))
        for station in (1, 2)
        if row["aifsn_1"]
    ]
    return Cell(
        standard=row["standard"],
        stations=stations,
        ip_bytes=int(row["ip_bytes"]),
        data_mbps=float(row["data_mbps"]),
        control_mbps=float(row["control_mbps"]),
        preamble=row["preamble"] or "long",
        rts=row["rts"] == "on",
        edca=tuple(edca),
        layout=row["layout"],
        seconds=longer(stations) * seconds,
        warm_up_s=1.0,
    )


def mean_and_error(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and standard error over the replications."""
    array = np.asarray(values)
    return float(array.mean()), float(array.std(ddof=1)) / math.sqrt(len(array))


def _medium(results: Results, quantity: str) -> tuple[float, float]:
    figure: MediumFigure = "throughput_bps" if quantity == _THROUGHPUT else "collided_ratio"
    return mean_and_error([run["medium"][figure] or 0.0 for run in results.runs.values()])


@cache
def simulated_cell(behaviour: str, cell: Cell) -> Results:
    """Five replications of a cell."""
    # Throughput and collisions of a cell are two rows, and one simulation.
    return Scenario(description(cell, behaviour)).simulate(seed=1, replications=_SEEDS)


def _setting(row: Mapping[str, str]) -> str:
    rts = ", RTS" if row["rts"] == "on" else ""
    rates = f"{row['data_mbps']}/{row['control_mbps']} Mb/s"
    return f"{row['stations']}, {row['ip_bytes']} B, {rates}{rts}"


_SIMULATORS = {"ns2": "ns-2.35", "ns3": "ns-3.44"}


def _simulator(behaviour: str, standard: str, quantity: str, seconds: float) -> Claim:
    simulator = _SIMULATORS[behaviour]
    points: list[Point] = []
    for row in _rows():
        wanted = (simulator, standard, quantity)
        if (row["simulator"], row["standard"], row["quantity"]) != wanted or row["aifsn_1"]:
            continue
        if quantity == _COLLIDED and row["stations"] == "1":
            continue
        ours = _medium(simulated_cell(behaviour, _cell(row, seconds)), quantity)
        points.append(
            beside(_setting(row), len(points), ours, float(row["value"]), row["standard_error"])
        )
    what = "throughput" if quantity == _THROUGHPUT else "collisions"
    return Claim(
        name=f"engine-{behaviour}-{standard}-{what}",
        title=f"Engine, behaviour {behaviour}, 802.11{standard}: {what}",
        statement=f"`airqueue simulate`, behaviour `{behaviour}`, saturated stations on a circle "
        f"around their receiver, beside {simulator}: IP throughput in b/s, or the share of "
        "transmissions that meet another.",
        quantity=quantity,
        reference=simulator,
        tolerance=0.015 if standard == "b" else 0.02,
        axis="stations, IP packet, data and control rate",
        points=points,
    )


def beside(
    setting: str, x: float, ours: tuple[float, float], reference: float, error: str | float
) -> Point:
    """Our figure with its standard error beside that of a reference."""
    return Point(setting, x, ours[0], reference, math.hypot(ours[1], float(error or 0.0)))


_STANDARD_CELLS = [
    (n, ip_bytes, control, rts)
    for rts in (False, True)
    for ip_bytes in (1000, 1500)
    for control in (1, 2)
    for n in (1, 2, 5, 10, 20, 50)
]


def _waits(ip_bytes: int, control_mbps: int, *, rts: bool) -> Waits:
    """802.11b with long preambles at 11 Mb/s, from IEEE 802.11-2016, 16.3.4 and 10.3.2."""
    data = 192 + math.ceil((ip_bytes + 36) * 8 / 11)
    ack = 192 + 14 * 8 // control_mbps
    frame = 192 + 20 * 8 // control_mbps if rts else data
    success = (frame + 10 + ack + 10 if rts else 0) + data + 10 + ack
    # The ACK in EIFS has the lowest basic rate, here the only control rate.
    times = (20, 50, 10 + ack + 50, success, frame, 10 + 20 + 192)
    return Waits(*(1000 * time for time in times))


@cache
def _exact(at: int, transmissions: int) -> tuple[tuple[float, float], tuple[float, float]]:
    n, ip_bytes, control, rts = _STANDARD_CELLS[at]
    waits = _waits(ip_bytes, control, rts=rts)
    # All runs are one array: many runs of few stations cost as much as few runs of many.
    runs = 20 * max(1, 100 // n)
    rates = exact_cell(n, waits, runs=runs, transmissions=transmissions, seed=at)
    return mean_and_error(rates.packets_per_s * 8 * ip_bytes), mean_and_error(rates.collided)


@cache
def _standard_cell(at: int, seconds: float) -> Results:
    n, ip_bytes, control, rts = _STANDARD_CELLS[at]
    description = {
        "duration": f"{longer(n) * seconds} s",
        "phy": {"standard": "802.11b", "control_rate": f"{control} Mb/s"},
        "mac": {"rts_threshold": "0 B"} if rts else {},
        "stations": [{"name": "ap"}, {"name": "sta", "count": n}],
        "flows": [{"from": "sta", "to": "ap", "size": f"{ip_bytes} B"}],
    }
    return Scenario(description).simulate(seed=2, replications=_SEEDS)


def _standard(quantity: str, seconds: float) -> Claim:
    points: list[Point] = []
    for at, (n, ip_bytes, control, rts) in enumerate(_STANDARD_CELLS):
        if quantity == _COLLIDED and n == 1:
            continue
        exact = _exact(at, int(150 * seconds))[0 if quantity == _THROUGHPUT else 1]
        ours = _medium(_standard_cell(at, seconds), quantity)
        setting = f"{n}, {ip_bytes} B, {control} Mb/s{', RTS' if rts else ''}"
        points.append(beside(setting, at, ours, *exact))
    what = "throughput" if quantity == _THROUGHPUT else "collisions"
    return Claim(
        name=f"engine-standard-{what}",
        title=f"Engine, behaviour standard: {what}",
        statement="`airqueue simulate`, behaviour `standard`, saturated stations of 802.11b at 11 "
        "Mb/s with long preambles, beside an event-wise simulation of the same process without "
        "frames or stations (`validation/slots_with_eifs.py`).",
        quantity=quantity,
        reference="event-wise simulation with EIFS and time-outs",
        tolerance=0.01,
        axis="stations, IP packet, control rate",
        points=points,
    )


def _pair(countdown: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Mapping[str, Any]:
    """Two saturated stations with these parameters of their only category in use."""

    def station(name: str, category: Mapping[str, Any]) -> Mapping[str, Any]:
        queue = {"aifsn": 2, "cw_min": 31, "cw_max": 1023, "txop": "0 us", "countdown": countdown}
        return {"name": name, "mac": {"edca": {"be": {**queue, **category}}}}

    return {
        "phy": {"standard": "802.11b"},
        "mac": {"access": "edca", "experimental": True, "short_retry_limit": 8},
        "stations": [{"name": "ap"}, station("one", first), station("two", second)],
        "flows": [{"from": name, "to": "ap", "size": "1400 B"} for name in ("one", "two")],
    }


def _ratio(results: Results) -> tuple[float, float]:
    """Second station's throughput over the first's."""

    def ratio(run: Mapping[str, Any]) -> float:
        first, second = (flow["throughput_bps"] for flow in run["flows"].values())
        return float(second / first)

    return mean_and_error([ratio(run) for run in results.runs.values()])


def _against_kernel(
    settings: Iterator[tuple[str, float, int, int, str]], seconds: float, transmissions: int
) -> list[Point]:
    """Points of the ratio of two stations; the second has an AIFS offset and a window of its own."""
    points: list[Point] = []
    for setting, x, offset, cw, rule in settings:
        pair = _pair(rule, {}, {"aifsn": 2 + offset, "cw_min": cw})
        ours = Scenario({**pair, "duration": f"{seconds} s"}).simulate(seed=3, replications=_SEEDS)
        exact = slots([1, 1], [0, offset], [31, cw], 1023, rule=rule, transmissions=transmissions)
        real = exact.ratio(1, 0)
        points.append(beside(setting, x, _ratio(ours), real.mean, real.half_width / 2.0))
    return points


def _kernel_claim(name: str, title: str, axis: str, points: list[Point]) -> Claim:
    return Claim(
        name=name,
        title=title,
        statement="`airqueue simulate`, two saturated stations of 802.11b, the first with AIFSN 2 "
        "and CWmin 31, under both countdown rules, beside the slot-wise Monte Carlo.",
        quantity="successes, second station to the first",
        reference="Monte Carlo, slot by slot",
        tolerance=0.02,
        axis=axis,
        logarithmic=name.endswith("windows"),
        points=points,
    )


def _kernel_aifs(seconds: float) -> Claim:
    settings = (
        (f"{offset}, {rule}", offset, offset, 31, rule)
        for rule in ("edca", "freeze")
        for offset in range(0, 21, 2)
    )
    points = _against_kernel(settings, 10 * seconds, 20_000_000)
    title = "Engine, two stations: AIFS"
    return _kernel_claim("engine-edca-aifs", title, "AIFS difference in slots, rule", points)


def _kernel_windows(seconds: float) -> Claim:
    settings = (
        (f"{cw}, {rule}", cw + 1, 0, cw, rule)
        for rule in ("edca", "freeze")
        for cw in (1, 3, 7, 15, 63, 255, 1023)
        if (cw, rule) != (1, "freeze")
    )
    # With the smallest windows one of the two succeeds once in 200 times.
    points = _against_kernel(settings, 100 * seconds, 100_000_000)
    title = "Engine, two stations: windows"
    return _kernel_claim("engine-edca-windows", title, "CWmin of the second, rule", points)


def _ns3_edca(seconds: float) -> Claim:
    points: list[Point] = []
    for row in _rows():
        if row["quantity"] == _RATIO:
            setting = f"{row['aifsn_2']}, {row['cw_min_2']}, {row['txop_us_2']}"
            ours = _ratio(simulated_cell("ns3", _cell(row, seconds)))
            points.append(
                beside(setting, len(points), ours, float(row["value"]), row["standard_error"])
            )
    return Claim(
        name="engine-ns3-edca",
        title="Engine, behaviour ns3: two EDCA stations",
        statement="`airqueue simulate`, behaviour `ns3`, the first station with AIFSN 2, CWmin 31 "
        "and no TXOP, beside ns-3.",
        quantity=_RATIO,
        reference="ns-3.44",
        tolerance=0.02,
        axis="AIFSN, CWmin and TXOP limit in us of the second",
        points=points,
    )
