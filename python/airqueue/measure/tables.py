"""The table of estimates, as the screen and the report both show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airqueue import text
from airqueue.measure.words import ESTIMATOR_NAMES

Table = tuple[list[str], list[list[str]]]
"""Head and rows of text."""


def unit_of(result: Mapping[str, Any]) -> str:
    """Return the unit in which the packet sizes should agree: bytes for a byte queue."""
    return "bytes" if result["counted_in"] == "bytes" else "packets"


def sizes_of(result: Mapping[str, Any]) -> list[int]:
    """Return the packet sizes that estimates exist for, largest first."""
    present = [e for e in result["estimators"].values() if e is not None]
    return sorted({int(size) for e in present for size in e["by_size"]}, reverse=True)


def of_size(estimator: Mapping[str, Any] | None, size: int) -> Mapping[str, Any] | None:
    """Return an estimator's entry for a packet size, if there is one."""
    if estimator is None:
        return None
    estimate: Mapping[str, Any] | None = estimator["by_size"].get(str(size))
    return estimate


def bounds(estimate: Mapping[str, Any], unit: str) -> tuple[float, float] | None:
    """Return the interval of one packet size in a unit; bytes are packets times one frame size."""
    ci95 = estimate["ci95_packets"]
    if ci95 is None or not estimate["packets"] or estimate[unit] is None:
        return None
    scale = estimate[unit] / estimate["packets"]
    return ci95[0] * scale, ci95[1] * scale


def estimates(result: Mapping[str, Any]) -> Table:
    """Return one row per estimator and, from the test bed, the truth; no rows without estimates.

    A column per packet size, and one for both together where the unit is known.
    """
    unit, sizes = unit_of(result), sizes_of(result)
    together = result["counted_in"] != "undecided" and len(sizes) > 1
    head = [f"{unit}, ± 95 %", *(f"sent {size} B" for size in sizes)]
    head += ["together"] if together else []
    rows = []
    for key, name in ESTIMATOR_NAMES.items():
        estimator = result["estimators"].get(key)
        if estimator is None:
            continue
        row = [name]
        for size in sizes:
            entry = of_size(estimator, size)
            row.append("–" if entry is None else _cell(entry[unit], bounds(entry, unit), unit))
        if together:
            row.append(_cell(estimator[unit], estimator[f"ci95_{unit}"], unit))
        rows.append(row)
    truth = result.get("truth")
    if rows and truth and truth["counted_in"] == unit:
        rows.append(["truth", *[text.number(truth["capacity"], unit)] * (len(head) - 1)])
    return head, rows


def _cell(value: float | None, interval: tuple[float, float] | None, unit: str) -> str:
    if value is None:
        return "–"
    if interval is None:
        return text.number(value, unit)
    half = (interval[1] - interval[0]) / 2
    return f"{text.number(value, unit)} ± {text.number(half, unit)}"
