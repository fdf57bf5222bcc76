"""The engine's networks with TCP: against ns-2."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from airqueue.simulate import Results, Scenario
from peers.ours_tcp import described, mean_median_s
from peers.references_tcp import DELAY_AT_MEAN, MEDIAN, P95, QUEUE, SUM, TABLE
from peers.tcp import Sessions, Transfers, parse_flows
from validation.cells import beside, mean_and_error
from validation.claim import Claim, Point

_SEEDS = 5
_SECONDS = {"persistent": 80.0, "delays": 2280.0, "rates": 2280.0}
_SESSIONS = 4_000
"""Approximate number of sessions of each cell in each replication; of heavy tails five times."""
_HEAVY = "pareto"

_HTTP = (
    "Files on the access point, 1000-byte segments, RTS and CTS, 802.11b with control frames at "
    "2 Mb/s, lossless queues: the cell of the HTTP paper. "
)
_AP = (
    "Servers behind wired links of 5, 30, 50, 80, 100 and 120 ms send to six stations through the "
    "drop-tail queue of an access point, 1460-byte segments, 802.11b with control frames at 1 Mb/s: "
    "the cell of the RDQM paper. Limits of the queue in frames, including the frame in the MAC. "
)

_RATES = _AP + "Three of the stations have 11, two 5.5 and one 1 Mb/s."


def claims() -> list[Claim]:
    """Return the claims."""
    per_flow = [f"throughput of flow {number}" for number in range(1, 7)]
    return [
        _claim(
            "persistent",
            [SUM],
            "one connection and many",
            _HTTP + "The sum of n_c unlimited connections, d segments per acknowledgement and a "
            "window of W*; acknowledgements wait for a clock that ticks every 40 ms, as in "
            "`FullTcp`.",
            0.02,
        ),
        _claim(
            "sessions",
            [DELAY_AT_MEAN],
            "sessions",
            _HTTP
            + "Users that think for 10 s and fetch files of 30 000 bytes on average: mean time "
            "from SYN to the last acknowledgement, corrected on both sides to files' mean size. With "
            "Pareto's files (shape 1.5) and large windows sessions wait for whole files of others. "
            "Such waits have no variance, and their mean no standard error: the next two claims are "
            "about medians and percentiles instead.",
            0.03,
        ),
        *(
            _claim(
                "sessions",
                [name],
                f"sessions, {words}",
                _HTTP
                + "Users that think for 10 s and fetch files of 30 000 bytes on average, Pareto with "
                "shape 1.5. " + how + " Ours are of a histogram whose steps are 1/64.",
                0.03,
            )
            for name, words, how in (
                (MEDIAN, "median", "The mean over users of the median of each one's sessions."),
                (P95, "95th percentile", "Of the sessions of all users."),
            )
        ),
        _claim("delays", per_flow, "six distances, each flow", _AP, 0.1),
        _claim("delays", [SUM], "six distances, all flows", _AP, 0.01),
        _claim("delays", [QUEUE], "six distances, the queue", _AP, 0.1),
        _claim("rates", per_flow, "three rates, each flow", _RATES, 0.1),
        _claim("rates", [SUM], "three rates, all flows", _RATES, 0.01),
    ]


@cache
def _rows() -> list[dict[str, str]]:
    """Acknowledgements of FullTcp where both kinds of agents were run: the papers' runs had it."""
    with TABLE.file.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row["kind"] != "persistent" or row["agents"] == "full"]


def scenario(row: Mapping[str, str]) -> Transfers | Sessions:
    """Return the scenario of a row of the references; the duration is our own."""
    common: dict[str, Any] = {
        "kind": row["kind"],
        "agents": row["agents"],
        "window": int(row["window"]),
        "ack_every": int(row["ack_every"]),
        "segment_bytes": int(row["segment_bytes"]),
        "control_mbps": float(row["control_mbps"]),
        "rts": row["rts"] == "on",
        "queue_frames": int(row["queue_frames"]),
        "warm_up_s": float(row["warm_up_s"]),
    }
    if row["kind"] != "sessions":
        flows = parse_flows(row["flows"])
        return Transfers(flows=flows, seconds=_SECONDS[row["kind"]], **common)
    stations = int(row["stations"])
    of = Sessions(stations=stations, law=row["law"], **common)
    sessions = _SESSIONS * (5 if of.law == _HEAVY else 1)
    return replace(of, seconds=sessions * of.think_s / stations)


@cache
def _simulated(of: Transfers | Sessions) -> Results:
    return Scenario(described(of)).simulate(seed=1, replications=_SEEDS)


def figure(of: Transfers | Sessions, quantity: str) -> tuple[float, float]:
    """Mean of a quantity and its standard error."""

    def value(run: Mapping[str, Any]) -> float:
        if quantity == SUM:
            return float(run["medium"]["goodput_bps"])
        if quantity == QUEUE:
            return float(run["queues"]["ap"]["length_mean_packets"])
        if quantity == MEDIAN:
            return mean_median_s(run)
        if quantity == P95:
            return float(run["medium"]["session_p95_s"])
        if isinstance(of, Sessions):
            # The time is nearly proportional to the size.
            segments = run["medium"]["goodput_bps"] * of.seconds / 8 / of.segment_bytes
            mean = segments / run["medium"]["sessions"]
            return float(run["medium"]["session_mean_s"] * of.mean_segments / mean)
        return float(run["connections"][quantity.rpartition(" ")[2]]["goodput_bps"])

    return mean_and_error([value(run) for run in _simulated(of).runs.values()])


def setting(row: Mapping[str, str]) -> str:
    """Return the words that distinguish a row from its neighbours."""
    if row["kind"] == "persistent":
        count = len(parse_flows(row["flows"]))
        return f"n_c = {count}, d = {row['ack_every']}, W* = {row['window']}"
    if row["kind"] == "sessions":
        return f"{int(row['stations']) + 1} nodes, {row['law']}, W* = {row['window']}"
    words = row["quantity"].rpartition(" ")[2] if "flow" in row["quantity"] else ""
    return f"{row['queue_frames']} frames" + (f", flow {words}" if words else "")


def _order(row: Mapping[str, str]) -> tuple[Any, ...]:
    """Small cells and queues first."""
    connections = len(parse_flows(row["flows"]))
    return (
        *(connections, int(row["stations"] or 0), row["law"], int(row["queue_frames"])),
        *(int(row["ack_every"]), int(row["window"]), row["quantity"]),
    )


def _has_error(row: Mapping[str, str]) -> bool:
    """Return whether the mean of a row has a variance, or the row is no mean."""
    heavy = row["law"] == _HEAVY and int(row["window"]) > 1 and int(row["stations"]) > 1
    return not (heavy and row["quantity"] == DELAY_AT_MEAN)


def _claim(
    kind: str, quantities: Sequence[str], what: str, statement: str, tolerance: float
) -> Claim:
    points: list[Point] = []
    for row in sorted(_rows(), key=_order):
        if row["kind"] == kind and row["quantity"] in quantities:
            ours = figure(scenario(row), row["quantity"])
            reference = float(row["value"])
            point = beside(setting(row), len(points), ours, reference, row["standard_error"])
            points.append(replace(point, inside=_has_error(row)))
    unit = {DELAY_AT_MEAN: "s", MEDIAN: "s", P95: "s", QUEUE: "frames"}.get(quantities[0], "b/s")
    return Claim(
        name=f"engine-tcp-{what.replace(',', '').replace(' ', '-')}",
        title=f"Engine, behaviour ns2, TCP: {what}",
        statement=statement,
        quantity=f"{quantities[0] if len(quantities) == 1 else 'throughput'}, {unit}",
        reference="ns-2.35",
        tolerance=tolerance,
        axis="setting",
        points=points,
    )
