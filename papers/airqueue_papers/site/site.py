"""The files of the site; pages are written last, after the files that they link to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airqueue import text
from airqueue.files import write_atomically
from airqueue.runs import Store
from airqueue.runs.backend import Backend
from airqueue_papers.document import to_text
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.site import figures
from airqueue_papers.site.index import index_page
from airqueue_papers.site.paper import page_of, paper_page
from airqueue_papers.site.runs import scenario_files


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of the results."""

    budget: Budget
    version: str
    date: str
    """Date and time of the reproduction, as text."""
    machine: str
    """Operating system and processor, also of measurements in real time."""
    revision: str | None = None
    """Commit of the source, if known."""
    took_s: float | None = None
    command: str = ""
    """Command that repeats the reproduction; by default ``airqueue reproduce`` of the shown items."""

    def facts(self) -> Mapping[str, str]:
        """Return the facts shown to a reader."""
        facts = {
            "date": self.date,
            "budget": self.budget.value,
            "airqueue": self.version,
            "revision": self.revision or "",
            "machine": self.machine,
            "time it took": "" if self.took_s is None else text.seconds(self.took_s),
        }
        return {name: value for name, value in facts.items() if value}


def write_site(
    out: str | os.PathLike[str],
    reproduced: Sequence[Reproduced],
    origin: Origin,
    store: Store | None = None,
    backend: Backend | None = None,
) -> Path:
    """Write the site into a directory, made if need be, and return its first page.

    ``backend`` draws the figures that ``store`` does not have; without a backend they are drawn in
    this process, one after the other.

    Each file is replaced as a whole, so that a killed process leaves every page either old or new.
    Other files in the directory stay. Raises OSError naming the file.
    """
    directory = Path(out)
    for path, content in site_files(reproduced, origin, store, backend):
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    return directory / "index.html"


def site_files(
    reproduced: Sequence[Reproduced],
    origin: Origin,
    store: Store | None = None,
    backend: Backend | None = None,
) -> Iterator[tuple[str, str | bytes]]:
    """Yield path and content of each file: linked files, then the pages, then the first page."""
    by_paper: dict[str, list[Reproduced]] = {}
    for each in reproduced:
        by_paper.setdefault(each.chosen.paper, []).append(each)
        for file in scenario_files(each):
            yield file.path, file.content
    yield "claims.json", to_text(reproduced, origin.budget)
    drawn = figures.draw(reproduced, store, backend)
    for pictures in drawn.values():
        for picture in pictures:
            yield from picture.files.items()
    for paper, items in by_paper.items():
        yield page_of(paper), paper_page(paper, items, drawn, list(by_paper), origin.budget)
    yield (
        "index.html",
        index_page(by_paper, origin.facts(), origin.command or _command(origin, reproduced)),
    )


def _command(origin: Origin, reproduced: Sequence[Reproduced]) -> str:
    names = " ".join(dict.fromkeys(each.chosen.paper for each in reproduced))
    return f"airqueue reproduce {names} --budget {origin.budget.value} --out report"
