"""Results of the kernel's TCP that the distribution has: ``measured.csv``.

The file has a row for each connection and each call.

`python -m validation.exact` of the repository makes the file. A result is found by the key of its
run, which is made from all inputs: for another scenario, duration or seed there is none.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from airqueue.runs import Work
from airqueue_papers.emulation import KIND, Emulation
from airqueue_papers.item import Run

FILE: Final = "measured.csv"
_FIGURES: Final[Mapping[str, Mapping[str, type]]] = {
    "connections": {
        "goodput_bps": float,
        "rtt_mean_s": float,
        "mss_bytes": int,
        "segments": int,
        "retransmitted_segments": int,
    },
    "calls": {"r_factor": float, "mos": float, "mouth_to_ear_s": float, "late_ratio": float},
}
_NAMES: Final = {"connections": "connection", "calls": "call"}
"""Part of a result -> column of the name; a row has one of the two."""
_COLUMNS: Final = (
    *("item", "run", "seed", "kernel", "key", *_NAMES.values()),
    *(column for columns in _FIGURES.values() for column in columns),
)
_KEY_DIGITS: Final = 16


def results(works: Iterable[Work]) -> dict[str, Any] | None:
    """Return the results of the exact runs among these by key, or None if one is not in the file."""
    wanted = [work for work in works if work.kind == KIND]
    found = {work.key: _all().get(work.key[:_KEY_DIGITS]) for work in wanted}
    return None if None in found.values() else found


@cache
def _all() -> Mapping[str, Any]:
    file = resources.files("airqueue_papers").joinpath("kernel", FILE)
    return read(file.read_text("utf-8")) if file.is_file() else {}


def read(text: str) -> dict[str, Any]:
    """Return the results in the text of a file, by the first digits of their keys."""
    found: dict[str, Any] = {}
    for row in csv.DictReader(text.splitlines()):
        empty: dict[str, Any] = {"kernel": row["kernel"], **{part: {} for part in _FIGURES}}
        result = found.setdefault(row["key"], empty)
        part = next(part for part, column in _NAMES.items() if row[column])
        result[part][row[_NAMES[part]]] = {
            name: kind(row[name]) if row[name] else None for name, kind in _FIGURES[part].items()
        }
    return found


def replaced(before: str, items: Mapping[str, Mapping[str, Run]], done: Mapping[str, Any]) -> str:
    """Return the text of a file in which the rows of these items are new.

    ``before``: the text so far, or none; ``done``: results by keys of work.
    """
    rows = [row for row in csv.DictReader(before.splitlines()) if row["item"] not in items]
    for item, runs in items.items():
        for name, run in runs.items():
            if isinstance(run, Emulation):
                for work in run.works():
                    rows.extend(_rows(item, name, work, done[work.key]))
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    # In one order, whichever items were measured last; Python's sort keeps that within an item.
    writer.writerows(sorted(rows, key=lambda row: str(row["item"])))
    return text.getvalue()


def _rows(item: str, name: str, work: Work, result: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    of_run = {
        "item": item,
        "run": name,
        "seed": work.inputs["seed"],
        "kernel": result["kernel"],
        "key": work.key[:_KEY_DIGITS],
    }
    for part, column in _NAMES.items():
        for of, figures in result[part].items():
            kept = {each: figures[each] for each in _FIGURES[part]}
            yield {**of_run, column: of, **kept}
