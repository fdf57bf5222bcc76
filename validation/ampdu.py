"""The engine's cells of 802.11n, ac and ax, with A-MPDUs: against ns-3."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from airqueue.simulate import Results
from peers.references import FAILED, THROUGHPUT
from peers.references_ampdu import OLD_SHARE, TABLE
from peers.scenario import RESPONSE_MBPS, Cell, Radio
from validation.cells import beside, longer, mean_and_error, simulated_cell
from validation.claim import Claim, Point

_WHAT = {THROUGHPUT.name: "throughput", FAILED.name: "collisions", OLD_SHARE: "old stations"}


def claims(seconds: float, standards: Sequence[str] = ("n", "ac", "ax")) -> list[Claim]:
    """Return the claims; ``seconds`` of simulated time for each of five seeds."""
    found = [
        _claim(standard, quantity, seconds)
        for standard in standards
        for quantity in (THROUGHPUT.name, FAILED.name)
    ]
    if "n" in standards:
        found.append(_claim("n", OLD_SHARE, seconds))
    return found


@cache
def _rows() -> list[dict[str, str]]:
    """Small cells before large ones. Behaviour ns3 always requests a missing block ack."""
    with TABLE.file.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["stations"]))
    return [row for row in rows if row["explicit_bar"] == "on"]


def cell(row: Mapping[str, str], seconds: float) -> Cell:
    """The cell of a row of the references."""
    stations = int(row["stations"])
    whole = ("mcs", "width_mhz", "streams", "ampdu_bytes", "window")
    return Cell(
        standard=row["standard"],
        stations=stations,
        old_stations=int(row["old_stations"]),
        ip_bytes=int(row["ip_bytes"]),
        data_mbps=float(row["old_mbps"] or 0),
        control_mbps=RESPONSE_MBPS,
        rts=row["rts"] == "on",
        layout=row["layout"],
        radio=Radio(
            **{name: int(row[name]) for name in whole},
            guard_us=float(row["guard_us"]),
            explicit_bar=row["explicit_bar"] == "on",
        ),
        mpdu_loss=float(row["mpdu_loss"]),
        seconds=min(10, longer(stations)) * seconds,
        warm_up_s=1.0,
    )


def setting(row: Mapping[str, str]) -> str:
    """Return the words that distinguish a row from its neighbours."""
    words = [row["stations"], f"{row['ip_bytes']} B", f"MCS {row['mcs']}"]
    words += [f"{row['width_mhz']} MHz", f"{row['streams']} SS", f"{row['guard_us']} us"]
    words += [f"{row['ampdu_bytes']} B"] * (row["ampdu_bytes"] != "65535")
    words += [f"{row['old_stations']} of 802.11a"] * (row["old_stations"] != "0")
    words += ["RTS"] * (row["rts"] == "on") + ["at one point"] * (row["layout"] == "point")
    return ", ".join(words + [f"{row['mpdu_loss']} lost"] * (row["mpdu_loss"] != "0"))


def figure(results: Results, quantity: str) -> tuple[float, float]:
    """Mean of a quantity and its standard error."""

    def of(run: Mapping[str, Any]) -> float:
        each = {name: flow["throughput_bps"] for name, flow in run["flows"].items()}
        if quantity == THROUGHPUT.name:
            return float(sum(each.values()))
        if quantity == FAILED.name:
            senders = [s for s in run["stations"].values() if s["attempts"]]
            failed = sum(s["attempts"] * s["failed_ratio"] for s in senders)
            return float(failed / sum(s["attempts"] for s in senders))
        old = sum(bps for name, bps in each.items() if name.startswith("old"))
        return float(old / sum(each.values()))

    return mean_and_error([of(run) for run in results.runs.values()])


def _claim(standard: str, quantity: str, seconds: float) -> Claim:
    points: list[Point] = []
    for row in _rows():
        if (row["standard"], row["quantity"]) != (standard, quantity):
            continue
        if quantity == FAILED.name and row["stations"] == "1":
            continue
        ours = figure(simulated_cell("ns3", cell(row, seconds)), quantity)
        reference = float(row["value"])
        points.append(beside(setting(row), len(points), ours, reference, row["standard_error"]))
    what = _WHAT[quantity]
    return Claim(
        name=f"engine-ns3-{standard}-{what.replace(' ', '-')}",
        title=f"Engine, behaviour ns3, 802.11{standard}: {what}",
        statement="`airqueue simulate`, behaviour `ns3`, saturated stations that send A-MPDUs to one "
        "receiver under block ack, beside ns-3: IP throughput in b/s, the share of exchanges that "
        "nothing answers, or the share of the throughput that old stations have among newer ones.",
        quantity=quantity,
        reference="ns-3.44",
        tolerance=0.02,
        axis="stations, IP packet and scheme",
        points=points,
    )
