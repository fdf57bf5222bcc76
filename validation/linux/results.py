"""kernel.csv: the kernel's results, a row for each window of each run."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from validation.linux.figures import Window
from validation.linux.scenarios import SCENARIOS, Scenario

RESULTS = Path(__file__).parent / "kernel.csv"

Row = Mapping[str, object]


def read() -> list[dict[str, str]]:
    """Return the rows, none if there is no file."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def store(name: str, new: Sequence[Row]) -> None:
    """Replace the rows of a scenario."""
    order = [scenario.name for scenario in SCENARIOS]
    rows: list[Row] = [
        row for row in read() if row["scenario"] != name and row["scenario"] in order
    ]
    rows.extend(new)
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(new[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: order.index(str(row["scenario"]))))


@cache
def runs(scenario: Scenario) -> Sequence[Sequence[Window]]:
    """Return the runs of a scenario, each with its windows in their order."""
    by_run: dict[str, list[Window]] = {}
    for row in read():
        if row["scenario"] == scenario.name:
            by_run.setdefault(row["run"], []).append(_window(row))
    return list(by_run.values())


def release(scenario: Scenario) -> str:
    """Return the version of the kernel that ran the scenario."""
    return next(row["kernel"] for row in read() if row["scenario"] == scenario.name)


def _window(row: Mapping[str, str]) -> Window:
    return Window(
        from_s=float(row["from_s"]),
        to_s=float(row["to_s"]),
        offered=int(row["offered"]),
        dropped=int(row["dropped"]),
        marked=int(row["marked"]),
        median_sojourn_s=float(row["median_sojourn_s"]),
        p95_sojourn_s=float(row["p95_sojourn_s"]),
    )
