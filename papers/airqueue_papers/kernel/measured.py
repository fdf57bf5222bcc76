"""Results of a real kernel that the distribution has: ``measured.csv``.

The file has a row for each connection, each call and each estimate of a queue's capacity.

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
from airqueue_papers import emulation
from airqueue_papers.apq import host_ap
from airqueue_papers.item import Run

FILE: Final = "measured.csv"
KINDS: Final = (emulation.KIND, host_ap.KIND)
"""The kinds of work that need a kernel in user-mode Linux."""
_FIGURES: Final[Mapping[str, Mapping[str, type]]] = {
    "connections": {
        "goodput_bps": float,
        "rtt_mean_s": float,
        "mss_bytes": int,
        "segments": int,
        "retransmitted_segments": int,
    },
    "calls": {"r_factor": float, "mos": float, "mouth_to_ear_s": float, "late_ratio": float},
    "estimates": {"packets": float, "low": float, "high": float},
}
_NAMES: Final = {"connections": "connection", "calls": "call", "estimates": "estimate"}
"""Part of a result -> column of the name; a row has one of these."""
_RESULTS: Final = (("connections", "calls"), ("estimates",))
"""The parts that the results of each kind have."""
_COLUMNS: Final = (
    *("item", "run", "seed", "kernel", "key", *_NAMES.values()),
    *(column for columns in _FIGURES.values() for column in columns),
)
_KEY_DIGITS: Final = 16


def results(works: Iterable[Work]) -> dict[str, Any] | None:
    """Return the results of the exact runs among these by key, or None if one is not in the file."""
    wanted = [work for work in works if work.kind in KINDS]
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
        part = next(part for part, column in _NAMES.items() if row[column])
        parts = next(parts for parts in _RESULTS if part in parts)
        empty: dict[str, Any] = {"kernel": row["kernel"], **{each: {} for each in parts}}
        result = found.setdefault(row["key"], empty)
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
            for work in run.works():
                if work.kind in KINDS:
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
        for of, figures in result.get(part, {}).items():
            kept = {each: figures[each] for each in _FIGURES[part]}
            yield {**of_run, column: of, **kept}
