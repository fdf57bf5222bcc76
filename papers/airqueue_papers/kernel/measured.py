"""Results of the kernel's TCP that the distribution has: ``measured.csv``, a row for each connection.

`python -m validation.exact` of the repository makes the file. A result is found by the key of its
run, which is made from all inputs: for another scenario, duration or seed there is none.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from airqueue.runs import Work
from airqueue_papers.emulation import KIND, Emulation
from airqueue_papers.item import Run

FILE: Final = "measured.csv"
_FIGURES: Final = {
    "goodput_bps": float,
    "rtt_mean_s": float,
    "mss_bytes": int,
    "segments": int,
    "retransmitted_segments": int,
}
_COLUMNS: Final = ("item", "run", "seed", "kernel", "key", "connection", *_FIGURES)
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
        result = found.setdefault(row["key"], {"kernel": row["kernel"], "connections": {}})
        result["connections"][row["connection"]] = {
            name: kind(row[name]) if row[name] else None for name, kind in _FIGURES.items()
        }
    return found


def write(items: Mapping[str, Mapping[str, Run]], done: Mapping[str, Any]) -> str:
    """Return the text of a file with the exact runs of items; ``done``: results by keys of work."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for item, runs in items.items():
        for name, run in runs.items():
            if isinstance(run, Emulation):
                for work in run.works():
                    writer.writerows(_rows(item, name, work, done[work.key]))
    return text.getvalue()


def _rows(item: str, name: str, work: Work, result: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    of_run = (item, name, work.inputs["seed"], result["kernel"], work.key[:_KEY_DIGITS])
    for connection, figures in result["connections"].items():
        yield (*of_run, connection, *(figures[name] for name in _FIGURES))
