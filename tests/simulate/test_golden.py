"""Scenario, seed and version fix every result: those of ``tests/golden/wlan.csv`` do not move.

The table guards against change, by another machine, another compiler or an edit that was to change
nothing. It says nothing of whether the figures are right: that is what ``docs/validation.md`` and
the engine's other tests are for. ``python tests/simulate/test_golden.py`` writes it anew; it is then
committed alone, with the reason (CONTRIBUTING.md).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airqueue.simulate import Scenario, cell

TABLE = Path(__file__).parents[1] / "golden" / "wlan.csv"
SEED = 1
TIMES = {"duration": "1 s", "warm_up": "100 ms"}
RTS = {"mac.rts_threshold": "0 B"}
EVERY = ("standard", "ns3", "ns2")
AP: dict[str, Any] = {"name": "ap"}
Named = tuple[str, Callable[[], Scenario]]
"""A name, and what makes the scenario when it is asked for."""


def saturated() -> Iterator[Named]:
    """Cells of one to twenty stations that always have something to send."""
    counts = {"802.11b": (1, 5, 20), "802.11a": (1, 10), "802.11g": (2, 20)}
    for standard, numbers in counts.items():
        # ns-2's behaviour is that of DSSS alone.
        for behaviour in EVERY if standard == "802.11b" else EVERY[:2]:
            for n in numbers:
                name = f"{standard} {behaviour} n={n}"
                yield name, partial(cell, standard, n, behaviour=behaviour, overrides=TIMES)
    for behaviour in EVERY:
        changes = TIMES | RTS
        yield (
            f"rts {behaviour}",
            partial(cell, "802.11b", 10, behaviour=behaviour, overrides=changes),
        )
    mixed = {"phy.slot": "long", "mac.protection": "cts_to_self", "mac.protection_rate": "11 Mb/s"}
    yield (
        "protected, both ways",
        partial(cell, "802.11g", 4, direction="both", overrides=TIMES | mixed),
    )
    faulty = {"medium.errors": {"frame": 0.1}, "phy.preamble": "short", "phy.rate": "5.5 Mb/s"}
    yield "frame errors", partial(cell, "802.11b", 3, overrides=TIMES | faulty)


def edca() -> Iterator[Named]:
    """Two access categories of seven stations; one station with all four."""
    classes = {
        **TIMES,
        "phy": {"standard": "802.11a"},
        "mac": {"access": "edca", "edca": {"vi": {"txop": "3.008 ms"}}},
        "stations": [AP, {"name": "data", "count": 5}, {"name": "video", "count": 2}],
        "flows": [
            {"from": "data", "to": "ap", "category": "be"},
            {"from": "video", "to": "ap", "category": "vi"},
        ],
    }
    for behaviour in EVERY[:2]:
        yield f"edca {behaviour}", partial(Scenario, {**classes, "behaviour": behaviour})
    four = [
        {"name": name, "from": "sta", "to": "ap", "category": name}
        for name in ("bk", "be", "vi", "vo")
    ]
    stations = [AP, {"name": "sta", "count": 2}]
    inside = {**classes, "mac": {"access": "edca"}, "stations": stations, "flows": four}
    yield "edca, internal collisions", partial(Scenario, inside)
    burst = {"mac.access": "edca", "mac.edca.be.txop": "4 packets"}
    yield "edca, bursts of four", partial(cell, "802.11b", 5, overrides=TIMES | burst)


def aggregated() -> Iterator[Named]:
    """A-MPDUs, some of whose packets are lost; an old station among new ones."""
    faulty = TIMES | {"medium.errors": {"frame": 0.1}}
    for standard in ("802.11n", "802.11ax"):
        for behaviour in EVERY[:2]:
            name = f"a-mpdu {standard} {behaviour}"
            yield name, partial(cell, standard, 5, behaviour=behaviour, overrides=faulty)
    old = {"name": "old", "rate": "54 Mb/s", "mac": {"access": "dcf"}}
    mixed = {
        **TIMES,
        "phy": {"standard": "802.11ac"},
        "stations": [AP, {"name": "new", "count": 3}, old],
        "flows": [{"from": "new", "to": "ap"}, {"from": "old", "to": "ap"}],
    }
    yield "a-mpdu, an old station", partial(Scenario, mixed)


def unsaturated() -> Iterator[Named]:
    """Queues that are empty at times, and one that is always full."""
    for behaviour in EVERY:
        poisson = TIMES | {"flows.up.packet_rate": "40 packets/s"}
        yield (
            f"poisson {behaviour}",
            partial(cell, "802.11b", 10, source="poisson", behaviour=behaviour, overrides=poisson),
        )
    full = {
        "flows.down.rate": "4 Mb/s",
        "stations.ap.queue": {"limit": "30 kB", "ring": "4 packets"},
    }
    yield (
        "full queue",
        partial(cell, "802.11b", 2, direction="down", source="cbr", overrides=TIMES | full),
    )


def apart() -> Iterator[Named]:
    """Stations that do not all hear each other."""
    west = {"name": "west", "position": ["-200 m", "0 m"]}
    east = {"name": "east", "position": ["200 m", "0 m"]}
    hidden = {
        **TIMES,
        "phy": {"standard": "802.11b"},
        "medium": {"ranges": {"decode": "250 m", "sense": "250 m"}},
        "stations": [{**AP, "position": ["0 m", "0 m"]}, west, east],
        "flows": [{"from": "west", "to": "ap"}, {"from": "east", "to": "ap"}],
    }
    for behaviour in EVERY:
        yield f"hidden {behaviour}", partial(Scenario, {**hidden, "behaviour": behaviour})
    yield "hidden, rts", partial(Scenario, {**hidden, "mac": {"rts_threshold": "0 B"}})
    yield (
        "grid, ranges",
        partial(grid, {"ranges": {"decode": "60 m", "sense": "110 m"}}, "standard"),
    )
    for behaviour in EVERY:
        yield f"grid, powers {behaviour}", partial(grid, {"path_loss": {"two_ray": {}}}, behaviour)


def grid(medium: Mapping[str, Any], behaviour: str) -> Scenario:
    """Sixteen stations at the crossings of a grid, each row's first sends to its second, ..."""
    near = 50 if "ranges" in medium else 200
    pairs = [(row * 4 + left + 1, row * 4 + left + 2) for row in range(4) for left in (0, 2)]
    return Scenario(
        {
            **TIMES,
            "behaviour": behaviour,
            "phy": {"standard": "802.11b"},
            "medium": medium,
            "stations": [
                {"name": "n", "count": 16, "grid": {"columns": 4, "spacing": f"{near} m"}}
            ],
            "flows": [{"from": f"n{sender}", "to": f"n{to}"} for sender, to in pairs],
        }
    )


GROUPS = (saturated, edca, aggregated, unsaturated, apart)
SCENARIOS = dict(pair for group in GROUPS for pair in group())


def figures(scenario: Scenario) -> dict[str, str]:
    """Return whole numbers: packets, nanoseconds, and collided attempts."""
    (run,) = scenario.simulate(SEED, replications=1).runs.values()
    flows, stations = run["flows"].values(), run["stations"].values()
    delivered = sum(flow["delivered_packets"] for flow in flows)
    waited = math.fsum((flow["delay_mean_s"] or 0) * flow["delivered_packets"] for flow in flows)
    counted = {
        "delivered_packets": delivered,
        "lost_packets": sum(f["queue_dropped_packets"] + f["given_up_packets"] for f in flows),
        "delay_mean_ns": round(waited / delivered * 1e9),
        "attempts": sum(station["attempts"] for station in stations),
        "collisions": round(
            sum((station["collided_ratio"] or 0) * station["attempts"] for station in stations)
        ),
    }
    return {name: str(value) for name, value in counted.items()}


def table() -> dict[str, dict[str, str]]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {row.pop("scenario"): row for row in csv.DictReader(file)}


def test_the_table_has_every_scenario():
    assert list(table()) == list(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_results_do_not_move(name):
    assert figures(SCENARIOS[name]()) == table()[name]


if __name__ == "__main__":
    rows = [{"scenario": name, **figures(make())} for name, make in SCENARIOS.items()]
    with TABLE.open("w", newline="", encoding="utf-8") as written:
        writer = csv.DictWriter(written, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
