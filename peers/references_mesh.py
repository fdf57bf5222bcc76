"""Reference values of flows over several hops from ns-2: validation/references_mesh.csv.

Their set-up: mesh.py. In the file a node is meant by its place on a way, 0 the source; of a cross
each place but the last has four nodes, which are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .install import ROOT
from .mesh import CLOSE_M, Mesh, Meshed, run_mesh
from .references import Point, Quantity, Table

COLUMNS = (
    *("simulator", "kind", "hops", "spacing_m", "queues", "calls", "agents", "window"),
    *("segment_bytes", "control_mbps", "rts", "warm_up_s"),
)
GOODPUT = "goodput of flow {}"
RANKED = "goodput of the flow that is number {} from below"
RTT = "mean round-trip time of flow {}"
SMOOTHED = "mean smoothed round-trip time of flow {}"
DROPS = "drops a second"
SHARE = "share of drops at node {}"
GIVEN_UP = "share of drops, given up at node {}"
CALL_DELAY = "mean delay of call {}"
CALL_LOSS = "lost fraction of call {}"

MeshPoint = Point[Mesh, Meshed]

CHAIN = Mesh(kind="chain", hops=4, frames=(50,) * 5, warm_up_s=20.0, seconds=180.0)
LOT = replace(CHAIN, kind="parking-lot", hops=6, frames=(50,) * 7)
CROSS = replace(CHAIN, kind="cross", hops=5, frames=(50,) * 6)
# Neighbourhoods of 2.54 packets a hop, spread in proportion to the root of the place; ns-2 needs a
# limit of 2 or more. With the last node's.
SMALL = {
    1: (3, 3),
    2: (2, 3, 3),
    3: (2, 3, 3, 3),
    4: (2, 2, 3, 3, 3),
    5: (2, 2, 3, 3, 3, 3),
    6: (2, 2, 2, 3, 3, 3, 3),
}
# Three frames for each flow that passes.
SMALL_LOT = (3, 6, 9, 9, 9, 9, 9)
# The two hops around the gateway share a medium and a neighbourhood of 18 packets.
SMALL_CROSS = (50, 50, 50, 2, 3, 50)


def per_run(
    name: str, unit: str, value: Callable[[Meshed], float], tolerance: float
) -> Quantity[Meshed]:
    """A mean over runs."""
    return Quantity(name, unit, value, lambda _: 1.0, tolerance)


def places(scenario: Mesh, counts: Sequence[int]) -> list[int]:
    """What nodes counted, by place on a way."""
    if scenario.kind != "cross":
        return list(counts)
    hops = scenario.hops
    return [sum(counts[place:-1:hops]) for place in range(hops)] + [counts[-1]]


def drops(scenario: Mesh) -> Iterator[Quantity[Meshed]]:
    """How many packets died, and where."""

    def all_of(result: Meshed) -> int:
        return sum(result.overflows) + sum(result.given_up)

    yield per_run(DROPS, "1/s", lambda r: all_of(r) / scenario.seconds, math.inf)
    for place in range(scenario.hops + 1):

        def given_up(result: Meshed, place: int = place) -> int:
            return places(scenario, result.given_up)[place]

        def here(result: Meshed, place: int = place) -> int:
            return places(scenario, result.overflows)[place] + given_up(result, place)

        yield Quantity(SHARE.format(place), "1", here, all_of, math.inf)
        yield Quantity(GIVEN_UP.format(place), "1", given_up, all_of, math.inf)


def flow(number: int, tolerance: float) -> Iterator[Quantity[Meshed]]:
    at = number - 1
    yield per_run(GOODPUT.format(number), "b/s", lambda r: r.flow_bps[at], tolerance)
    yield per_run(RTT.format(number), "s", lambda r: r.rtt_s[at], 0.1)
    yield per_run(SMOOTHED.format(number), "s", lambda r: r.smoothed_rtt_s[at], math.inf)


def call(number: int) -> Iterator[Quantity[Meshed]]:
    at = number - 1
    yield per_run(CALL_DELAY.format(number), "s", lambda r: r.call_delay_s[at], 0.1)
    yield Quantity(
        CALL_LOSS.format(number),
        "1",
        lambda r: r.calls_sent[at] - r.calls_arrived[at],
        lambda r: r.calls_sent[at],
        math.inf,
    )


def point(scenario: Mesh, tolerance: float, cpu_limit_s: float) -> MeshPoint:
    numbers = range(1, len(scenario.routes()) + 1)
    quantities = [q for number in numbers for q in flow(number, tolerance)]
    if scenario.calls:
        quantities += [q for number in numbers for q in call(number)]
    if len(numbers) > 1:
        quantities += [ranked(number) for number in numbers]
    return Point("ns2", scenario, (*quantities, *drops(scenario)), tolerance, cpu_limit_s)


def ranked(number: int) -> Quantity[Meshed]:
    def value(result: Meshed) -> float:
        return sorted(result.flow_bps)[number - 1]

    return per_run(RANKED.format(number), "b/s", value, math.inf)


def conventions(hops: int) -> Iterator[tuple[int, ...]]:
    """Fifty frames everywhere; the source's queue the first of the small ones; the source's apart."""
    yield (50,) * (hops + 1)
    yield SMALL[hops]
    yield (50, *SMALL[hops][:-1])


def chain(hops: int, spacing_m: float) -> Iterator[MeshPoint]:
    for frames in conventions(hops):
        scenario = replace(CHAIN, hops=hops, spacing_m=spacing_m, frames=frames)
        yield point(scenario, 0.03, 25.0)


def several(scenario: Mesh, small: tuple[int, ...]) -> Iterator[MeshPoint]:
    for frames in (scenario.frames, small):
        for calls in (False, True):
            yield point(replace(scenario, frames=frames, calls=calls), 0.1, 90.0)


def key(point: MeshPoint) -> tuple[str, ...]:
    """What stands in `COLUMNS`."""
    c = point.cell
    return (
        *("ns-2.35", c.kind, str(c.hops), f"{c.spacing_m:g}", c.queues, "yes" if c.calls else "no"),
        *(c.agents, str(c.window), str(c.segment_bytes), f"{c.control_mbps:g}"),
        *("on" if c.rts else "off", f"{c.warm_up_s:g}"),
    )


def points() -> Iterator[MeshPoint]:
    """The more important first."""
    yield from chain(4, CLOSE_M[4])
    yield from chain(4, 200.0)
    yield from several(LOT, SMALL_LOT)
    yield from several(CROSS, SMALL_CROSS)
    for hops in (1, 3, 6, 2, 5):
        yield from chain(hops, 200.0)
    for hops in (3, 6, 2, 5):
        yield from chain(hops, CLOSE_M[hops])


def run_seed(point: MeshPoint, seed: int) -> Meshed:
    return run_mesh(replace(point.cell, seed=seed))


TABLE = Table(ROOT / "validation" / "references_mesh.csv", COLUMNS, key, points, run_seed)
