"""The tables of worked numbers that the models are held to: CSV files in data/."""

import csv
from pathlib import Path


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of data/NAME.csv, each as column -> text."""
    with (Path(__file__).parent / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def half_unit(printed: str) -> float:
    """Return half a unit of a printed number's last digit: how far off a right value may be."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])
