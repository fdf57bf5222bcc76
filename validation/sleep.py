"""The engine's stations that sleep: against ns-3 3.48, with what was stated before its first run."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from peers.ours_sleep import run_ours
from peers.references_sleep import (
    AWAKE,
    AWAKE_TOLERANCE,
    DELIVERED,
    DELIVERED_TOLERANCE,
    FIGURES,
    POLLS,
    TABLE,
    TOLERANCE,
    UP_TOLERANCE,
    cells,
    key,
    points,
    quantities,
)
from peers.sleep import BEACON_S, DIRECTIONS, SleepCell, SleepResult
from validation.cells import beside
from validation.claim import Claim, Point

SEEDS = 20
ANSWER_S = 28e-6 + 43e-6 + 7.5 * 9e-6
"""What the answer to a PS-Poll takes with our access point, beyond ns-3's: an ACK at 24 Mb/s, AIFS
and the mean backoff of best effort in 802.11a. ns-3's sends the packet a SIFS behind the PS-Poll."""
ROUGH, FINE = 0.03, 0.02

_SETTINGS = (
    "`airqueue simulate`, behaviour `ns3`, stations of 802.11a that sleep and ask by PS-Polls, "
    "beside ns-3 ([settings](peers.md#validationreferences_sleepcsv))."
)
_EITHER_WAY = (
    "ns-3 answers a PS-Poll with the packet, a SIFS later; ours, as Linux's access point, with an "
    "ACK, and sends the packet in a channel access of its own. IEEE 802.11-2016, 11.2.3.1, lets an "
    "access point do either."
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A claim before it has points."""

    name: str
    title: str
    quantities: tuple[str, ...]
    tolerance: float
    statement: str
    less: Callable[[SleepCell, SleepResult], float] = lambda _cell, _result: 0.0
    """What is taken off our figure."""
    covers: Callable[[SleepCell], bool] = lambda _: True


def claims() -> list[Claim]:
    """Return the claims on sleep."""
    return [_claim(compared) for compared in _compared()]


def _compared() -> list[Compared]:
    def of(direction: str, tolerance: float) -> tuple[str, ...]:
        return tuple(f"{direction}: {name}" for name, (_, t) in FIGURES.items() if t == tolerance)

    everywhere = tuple(f"{direction}: {DELIVERED}" for direction in DIRECTIONS)
    buckets = "Ours are the middle of a bucket, within 1/64 of the value."
    return [
        Compared("down", "delay to sleepers", of("down", FINE), FINE, _EITHER_WAY),
        Compared("down-quantiles", "quantiles of it", of("down", ROUGH), ROUGH, buckets),
        Compared("group", "delay to all stations", of("group", FINE), FINE, ""),
        Compared("group-quantiles", "quantiles of that", of("group", ROUGH), ROUGH, buckets),
        Compared("up", "delay from sleepers", tuple(f"up: {f}" for f in FIGURES), UP_TOLERANCE, ""),
        Compared("delivered", "delivered share", everywhere, DELIVERED_TOLERANCE, ""),
        Compared("polls", "PS-Polls", (POLLS,), TOLERANCE, ""),
        Compared(
            "awake",
            "time awake",
            (AWAKE,),
            AWAKE_TOLERANCE,
            f"{_EITHER_WAY} Its sleepers are awake for longer: the range is where fewer than one "
            "wake-up in ten finds a packet.",
            covers=lambda cell: cell.down_pps * cell.listen_interval * BEACON_S < 0.1,
        ),
        Compared(
            "awake-at-once",
            "time awake, with answers at once",
            (AWAKE,),
            AWAKE_TOLERANCE,
            "The same, less an ACK, AIFS and the mean backoff for each PS-Poll, which is what our "
            "access point's answer takes beyond that of ns-3's in a cell without other traffic.",
            less=lambda cell, result: result.polls * ANSWER_S / (cell.seconds * cell.sleepers),
            covers=lambda cell: not cell.saturated,
        ),
    ]


@cache
def ours(cell: SleepCell) -> list[SleepResult]:
    """Return what our engine makes of a setting, seed by seed."""
    return run_ours(cell, SEEDS)


@cache
def _references() -> dict[tuple[tuple[str, ...], str], tuple[float, str]]:
    """By setting and quantity: value and standard error."""
    with TABLE.file.open(encoding="utf-8", newline="") as file:
        return {
            (tuple(row[c] for c in TABLE.scenario_columns), row["quantity"]): (
                float(row["value"]),
                row["standard_error"],
            )
            for row in csv.DictReader(file)
        }


def setting(cell: SleepCell) -> str:
    """Return the words that distinguish a setting from its neighbours."""
    words = [f"{cell.sleepers}", f"{cell.listen_interval}"]
    rates: Mapping[str, float] = {d: getattr(cell, f"{d}_pps") for d in DIRECTIONS}
    words += [f"{direction} {pps:g}/s" for direction, pps in rates.items() if pps]
    words += [f"DTIM {cell.dtim_period}"] * (cell.group_pps > 0)
    return ", ".join(words + ["beside a saturated station"] * (cell.saturated > 0))


def _claim(compared: Compared) -> Claim:
    found: list[Point] = []
    keys = {point.cell: key(point) for point in points()}
    for cell in cells():
        for quantity in quantities(cell):
            reference = _references().get((keys[cell], quantity.name))
            if quantity.name not in compared.quantities or reference is None:
                continue
            value, error = quantity.estimate(ours(cell))
            less = [compared.less(cell, result) for result in ours(cell)]
            figure = (value - sum(less) / len(less), error)
            words = setting(cell)
            if len(compared.quantities) > 1:
                words += f": {quantity.name.split(': ')[1]}"
            point = beside(words, len(found), figure, *reference)
            found.append(replace(point, inside=compared.covers(cell)))
    return Claim(
        name=f"engine-ns3-sleep-{compared.name}",
        title=f"Engine and ns-3, sleep: {compared.title}",
        statement=f"{_SETTINGS} {compared.statement}".rstrip(),
        quantity=", ".join(sorted({q.split(": ")[-1] for q in compared.quantities})),
        reference="ns-3.48",
        tolerance=compared.tolerance,
        axis="sleepers, listen interval, packets",
        points=found,
        figure=False,
    )
