"""Measure a real kernel in the papers' networks anew: `python -m validation.exact`.

The claims' mechanisms are switched off there, too. Keeps the results as ``measured.csv`` of the
papers' distribution, which shows them where nobody has run `airqueue reproduce --exact`. Runs that
are in the store are not repeated. Of items that are not named the file keeps the rows that it has.
"""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path

from airqueue.files import write_atomically
from airqueue.runs import Local, Store
from airqueue_papers.command_progress import shown
from airqueue_papers.item import Budget
from airqueue_papers.kernel import measured
from airqueue_papers.reproduction import choose, reproduce
from airqueue_papers.sabotage import without


def main() -> None:
    """Read the arguments, carry out the missing runs, and replace the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=Path("target/gallery"), help="of the report")
    parser.add_argument("items", nargs="*", help="items to measure; by default all")
    arguments = parser.parse_args()
    store = Store(arguments.site / "runs")
    chosen = [each for each in choose(arguments.items) if each.item.exact]
    cases = without(chosen)
    every = [*chosen, *(each for _, each in cases)]
    with shown() as show:
        reproduced = reproduce(every, Budget.QUICK, store, Local(), show)
    items = {each.chosen.name: dict(each.runs) for each in reproduced[: len(chosen)]}
    for (of, each), done in zip(cases, reproduced[len(chosen) :], strict=True):
        off = {f"{name}, {of.name} off": run for name, run in done.runs.items()}
        items[each.name] |= off
    works = [work for runs in items.values() for run in runs.values() for work in run.works()]
    results = {work.key: store.read(work) for work in works}
    with resources.as_file(resources.files("airqueue_papers").joinpath("kernel")) as folder:
        file = folder / measured.FILE
        write_atomically(file, measured.replaced(file.read_text("utf-8"), items, results))


if __name__ == "__main__":
    main()
