"""`python -m validation.joint_fit`: the search, its file, and the lines of docs/reproduction.md."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from airqueue.files import write_atomically
from airqueue.runs import Cluster, Local, Store
from validation.joint_fit import page, search
from validation.joint_fit.parameters import read


def main() -> None:
    """Read the arguments, carry out the missing runs, and replace file and lines."""
    parser = argparse.ArgumentParser(prog="python -m validation.joint_fit", description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("target/joint-fit"), help="of kept runs")
    parser.add_argument("--page", type=Path, default=Path("docs/reproduction.md"))
    parser.add_argument("--workers", type=int, help="by default as many as there are cores")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="a Dask scheduler")
    parser.add_argument("--page-only", action="store_true", help="of the file; no runs")
    arguments = parser.parse_args()
    backend = Cluster(arguments.cluster) if arguments.cluster else Local(arguments.workers)
    began, plan = time.monotonic(), read()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {words}", flush=True)

    if not arguments.page_only:
        found = search.Search(plan, Store(arguments.runs), backend, say).run()
        write_atomically(search.FILE, search.written(plan, found))
    # Of the file, whose numbers are rounded: the page can be made again from the file alone.
    found = search.read(plan, search.FILE.read_text("utf-8"))
    changed = page.replaced(arguments.page.read_text("utf-8"), plan, found)
    write_atomically(arguments.page, changed)


if __name__ == "__main__":
    main()
