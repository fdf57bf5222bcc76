"""The engine's flows over several hops: against ns-2."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import groupby

from airqueue.simulate import Scenario
from peers.mesh import Mesh, Meshed
from peers.ours_mesh import described, measured
from peers.references_mesh import (
    CALL_DELAY,
    GOODPUT,
    RANKED,
    RTT,
    SHARE,
    TABLE,
    MeshPoint,
)
from validation.cells import beside
from validation.claim import Claim, Point

_SEEDS = 5
_SECONDS = {"chain": 400.0, "parking-lot": 720.0, "cross": 400.0}

_PLACES = (
    "802.11b at 11 Mb/s, control frames at 1 Mb/s, 1460-byte segments; frames are decoded up to "
    "250 m and sensed up to 550 m, routes are given. "
)
_QUEUES = (
    "Limits of the queues in frames, along the route from the source, including the frame in the "
    "MAC. "
)
_CHAINS = (
    _PLACES
    + "One flow over chains of one to six hops of 200 m, and of 130 m or less, where all nodes "
    "sense each other. " + _QUEUES
)
_LOT = (
    _PLACES
    + "A parking lot: flows 1, 2 and 3 over six, five and four hops of 200 m to one gateway, "
    "with and without a call of 8 kb/s beside each. " + _QUEUES
)
_CROSS = (
    _PLACES
    + "A cross: four flows over five hops of 200 m to a gateway in the middle, with and without "
    "a call of 8 kb/s beside each. " + _QUEUES
)
_RTT = (
    "For each acknowledgement of new data the time since the newest acknowledged segment was sent, "
    "if all that it acknowledges was sent once; in ns-2 from the trace of its agents."
)


def claims() -> list[Claim]:
    """Return the claims."""
    rtt = "mean round-trip time, s"
    goodput = "goodput, b/s"
    delay = "mean delay, s"
    return [
        _claim(
            "chain",
            GOODPUT,
            "chains, goodput",
            _CHAINS
            + "ns-2 has a little less nearly everywhere, with 50 frames up to 1.6 %: when a "
            "station's backoff freezes for a frame of the station that sent the last "
            "acknowledgement, the elapsed time is a whole number of slots, and ns-2's division "
            "sometimes loses one slot, which the engine does not.",
            quantity=goodput,
            tolerance=0.03,
        ),
        _claim("chain", RTT, "chains, round-trip time", _CHAINS + _RTT, quantity=rtt),
        _claim(
            "chain",
            SHARE,
            "chains, where packets die",
            _CHAINS
            + "Share of each node, 0 the source, in the packets that queues drop and MACs give "
            "up, over four hops. With 50 frames one packet in 200 is lost, in bursts: these shares "
            "are known to no better than 5 points, or 20 where all sense each other.",
            quantity="share of all drops",
            absolute=0.05,
            hops=4,
        ),
        _claim("parking-lot", GOODPUT, "parking lot, each flow", _LOT, quantity=goodput),
        _claim(
            "parking-lot",
            RANKED,
            "parking lot, from below",
            _LOT
            + "A flow that is ahead stays ahead for a while: flows in the order of their goodput in "
            "each run, so that the distributions are compared.",
            quantity=goodput,
        ),
        _claim("parking-lot", RTT, "parking lot, round-trip time", _LOT + _RTT, quantity=rtt),
        _claim("parking-lot", CALL_DELAY, "parking lot, calls", _LOT, quantity=delay),
        _claim("cross", GOODPUT, "cross, each flow", _CROSS, quantity=goodput),
        _claim("cross", RTT, "cross, round-trip time", _CROSS + _RTT, quantity=rtt),
        _claim("cross", CALL_DELAY, "cross, calls", _CROSS, quantity=delay),
    ]


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[column] for column in TABLE.scenario_columns)


@cache
def _references() -> dict[tuple[str, ...], dict[str, Mapping[str, str]]]:
    """Rows by scenario and quantity."""
    with TABLE.file.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: {row["quantity"]: row for row in group} for key, group in groupby(rows, key=_key)}


@cache
def _simulated(of: Mesh) -> list[Meshed]:
    of = replace(of, seconds=_SECONDS[of.kind])
    results = Scenario(described(of)).simulate(seed=1, replications=_SEEDS)
    cost = {"simulator": "airqueue ns2", "cpu_s": 0.0, "simulated_s": of.warm_up_s + of.seconds}
    return [measured(of, run, cost) for run in results.runs.values()]


def setting(of: Mesh, number: int, word: str) -> str:
    """Return the words that distinguish a point from its neighbours."""
    words = [f"{of.hops} x {of.spacing_m:g} m, {of.queues}" if of.kind == "chain" else of.queues]
    return ", ".join(words + ["calls"] * of.calls + [f"{word} {number}"] * bool(word))


def _points(kind: str, name: str, hops: int | None) -> Iterator[Point]:
    """Return every setting of a kind in the references, short chains first."""
    word = {SHARE: "node", RANKED: "number"}.get(name, "flow" if kind != "chain" else "")
    chosen = [point for point in TABLE.points() if point.cell.kind == kind]
    for point in sorted(chosen, key=lambda point: (point.cell.hops, -point.cell.spacing_m)):
        if hops is None or point.cell.hops == hops:
            yield from _setting(point, name, word)


def _setting(point: MeshPoint, name: str, word: str) -> Iterator[Point]:
    """A point for each flow or node."""
    rows = _references().get(TABLE.key(point), {})
    numbers = (
        range(point.cell.hops + 1) if name == SHARE else range(1, len(point.cell.routes()) + 1)
    )
    for number in numbers:
        row = rows.get(name.format(number))
        if row is None:
            continue
        quantity = next(q for q in point.quantities if q.name == row["quantity"])
        ours = quantity.estimate(_simulated(point.cell))
        where = setting(point.cell, number, word)
        yield beside(where, math.nan, ours, float(row["value"]), row["standard_error"])


def _claim(
    kind: str,
    name: str,
    what: str,
    statement: str,
    *,
    quantity: str,
    tolerance: float = 0.1,
    absolute: float = 0.0,
    hops: int | None = None,
) -> Claim:
    points = [replace(point, x=float(x)) for x, point in enumerate(_points(kind, name, hops))]
    return Claim(
        name=f"engine-mesh-{what.replace(',', '').replace(' ', '-')}",
        title=f"Engine, behaviour ns2, {what}",
        statement=statement,
        quantity=quantity,
        reference="ns-2.35",
        tolerance=tolerance,
        axis="setting",
        points=points,
        absolute=absolute,
    )
