"""The table of estimates, as the screen and the report both show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from airqueue import text
from airqueue.measure.document import Document, EstimateOfSize, Estimator
from airqueue.measure.words import ESTIMATOR_NAMES

Unit = Literal["packets", "bytes"]
Table = tuple[list[str], list[list[str]]]
"""Head and rows of text."""


def unit_of(result: Document) -> Unit:
    """Return the unit in which the packet sizes should agree: bytes for a byte queue."""
    return "bytes" if result["counted_in"] == "bytes" else "packets"


def sizes_of(result: Document) -> list[int]:
    """Return the packet sizes that estimates exist for, largest first."""
    estimators = result["estimators"]
    present = [e for name in ESTIMATOR_NAMES if (e := estimators[name]) is not None]
    return sorted({int(size) for e in present for size in e["by_size"]}, reverse=True)


def of_size(estimator: Estimator | None, size: int) -> EstimateOfSize | None:
    """Return an estimator's entry for a packet size, if there is one."""
    return None if estimator is None else estimator["by_size"].get(str(size))


def bounds(estimate: EstimateOfSize, unit: Unit) -> tuple[float, float] | None:
    """Return the interval of one packet size in a unit; bytes are packets times one frame size."""
    ci95 = estimate["ci95_packets"]
    amount = estimate[unit]
    if ci95 is None or not estimate["packets"] or amount is None:
        return None
    scale = amount / estimate["packets"]
    return ci95[0] * scale, ci95[1] * scale


def estimates(result: Document) -> Table:
    """Return one row per estimator and, from the test bed, the truth; no rows without estimates.

    A column per packet size, and one for both together where the unit is known.
    """
    unit, sizes = unit_of(result), sizes_of(result)
    together = result["counted_in"] != "undecided" and len(sizes) > 1
    head = [f"{unit}, ± 95 %", *(f"sent {size} B" for size in sizes)]
    head += ["together"] if together else []
    rows = []
    for key, name in ESTIMATOR_NAMES.items():
        estimator = result["estimators"][key]
        if estimator is None:
            continue
        row = [name]
        for size in sizes:
            entry = of_size(estimator, size)
            row.append("–" if entry is None else _cell(entry[unit], bounds(entry, unit), unit))
        if together:
            both = estimator["ci95_bytes" if unit == "bytes" else "ci95_packets"]
            row.append(_cell(estimator[unit], both, unit))
        rows.append(row)
    truth = result.get("truth")
    if rows and truth and truth["counted_in"] == unit and truth["capacity"] is not None:
        rows.append(["truth", *[text.number(truth["capacity"], unit)] * (len(head) - 1)])
    return head, rows


def _cell(value: float | None, interval: Sequence[float] | None, unit: Unit) -> str:
    if value is None:
        return "–"
    if interval is None:
        return text.number(value, unit)
    half = (interval[1] - interval[0]) / 2
    return f"{text.number(value, unit)} ± {text.number(half, unit)}"
