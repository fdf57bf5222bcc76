"""Write docs/gallery.md, the papers rebuilt: `python -m validation.gallery --out docs`."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import airqueue
from airqueue import provenance, text
from airqueue.runs import Local, Store
from airqueue_papers import document
from airqueue_papers.claim import SORTS, load
from airqueue_papers.command_progress import shown
from airqueue_papers.drawing import draw
from airqueue_papers.item import Budget
from airqueue_papers.picture import PaperFigure
from airqueue_papers.reproduction import (
    Reproduced,
    choose,
    exact_before,
    reproduce,
)
from airqueue_papers.site import Origin, write_site
from airqueue_papers.site.verdicts import LOOKS
from airqueue_papers.tally import sentences, tally
from airqueue_papers.verdict import Record, counts, shares

SHOWN: Final = (
    "apq-fig4", "apq-capacities", "rdqm-fig2", "rdqm-fig3", "mesh-fig8", "mesh-table8",
    "edca-fig3", "edca-sec5", "http-fig1", "http-fig4", "http-roundrobin", "anomaly-udp",
    "anomaly-commit", "anomaly-latency", "beyond-queue",
    "beyond-kernel-delays", "beyond-kernel-rates", "beyond-kernel-fairness", "beyond-kernel-chains",
)  # fmt: skip
"""Names of the pictures, a few of each paper."""
CLAIMS: Final = "claims.json"
"""Every claim, as `airqueue reproduce --json` writes them; the page has the numbers of this file."""
SCREENS: Final = {"report-desk": (1280, 1240), "report-phone": (390, 844)}
"""Name of a picture of the report -> width and height of the browser's window."""

_HEAD: Final = """# The papers rebuilt

`make gallery` computes this page: the counts of all papers with the budget `{budget}`, and some of
the figures. Our results are in colour with 95 % confidence intervals, the printed numbers hollow and
grey. `airqueue reproduce --out report` writes all figures, with every claim, its verdict and the
reason, scenario files and commands. [Six papers, rebuilt](reproduction.md) explains the verdicts.
The numbers of this page are those of [every claim as data](gallery/claims.json).
Runs of the kernel's TCP are those that `make gallery-exact` has kept.

"""


def write(
    folder: Path, reproduced: Sequence[Reproduced], budget: Budget, only: Collection[str] = ()
) -> None:
    """Write ``gallery.md`` into the folder, its figures and every claim beside it in ``gallery/``.

    With ``only`` some papers, all else stays as the folder has it. Raises ValueError for a picture of
    `SHOWN` that no item draws, or another budget than that of what stays.
    """
    figures, page = folder / "gallery", folder / "gallery.md"
    figures.mkdir(parents=True, exist_ok=True)
    whole, sections = document.document(reproduced, budget), {}
    if only:
        whole = document.merged(whole, json.loads((figures / CLAIMS).read_text("utf-8")), only)
        sections = dict(_sections(page.read_text("utf-8")))
    found = {picture.name: (each, picture) for each in reproduced for picture in each.pictures}
    for name in found.keys() & {*SHOWN}:
        each, picture = found[name]
        (figures / f"{name}.svg").write_bytes(draw(picture, "svg")[0])
        sections[name] = _section(each, picture, budget)
    absent = [name for name in SHOWN if name not in sections]
    if absent:
        drawn = ", ".join(sorted({*found, *sections}))
        raise ValueError(f"no item draws {absent[0]}; there are {drawn}")
    for old in figures.glob("*.svg"):
        if old.stem not in SHOWN:
            old.unlink()
    (figures / CLAIMS).write_text(document.written(whole), encoding="utf-8")
    found_of_all = document.records(whole) if only else (r for o in reproduced for r in o.records)
    by_paper: dict[str, list[Record]] = {}
    for record in found_of_all:
        by_paper.setdefault(record.claim.id.partition(".")[0], []).append(record)
    parts = [_HEAD.format(budget=budget.value), summary(by_paper)]
    parts += [sections[name] for name in SHOWN]
    page.write_text("".join(parts).rstrip() + "\n", encoding="utf-8")


def _sections(page: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each picture's section of a page."""
    for section in page.split("\n## ")[1:]:
        name = section.partition("](gallery/")[2].partition(".svg)")[0]
        yield name, f"## {section.rstrip()}\n\n"


def summary(of_papers: Mapping[str, Sequence[Record]]) -> str:
    """Return the counts of all records, by the names of their papers."""
    by_paper = {load(paper).title: [*records] for paper, records in of_papers.items() if records}
    by_paper["**all**"] = [record for records in by_paper.values() for record in records]
    heads = [*LOOKS, *(f"{name}s met" for name in SORTS.values())]
    lines = [f"| paper | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for title, records in by_paper.items():
        met = [f"{met} of {of}" if of else "" for met, of in shares(records).values()]
        cells = [*(str(number or "") for number in counts(records).values()), *met]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    screens = " ".join(f"![The report](gallery/{name}.png)" for name in SCREENS)
    said = "\n\n".join(sentences(tally(by_paper["**all**"])))
    return f"{said}\n\n" + "\n".join(lines) + f"\n\n{screens}\n\n"


def _section(each: Reproduced, picture: PaperFigure, budget: Budget) -> str:
    option = "--exact" if each.chosen.item.exact else f"--budget {budget.value}"
    return (
        f"## {picture.title}\n\n![{picture.title}](gallery/{picture.name}.svg)\n\n"
        f"{counted(each.records)}`airqueue reproduce {each.chosen.name} {option}`\n\n"
    )


def counted(records: Iterable[Record]) -> str:
    """Return the counts of an item's records in a sentence, or nothing without records."""
    found = [f"{n} {kind}" for kind, n in counts(records).items() if n]
    return f"{text.listed(found)}. " if found else ""


def photograph(site: Path, folder: Path) -> None:
    """Take pictures of the report's first page in a real browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - for developers only

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (width, height) in SCREENS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto((site / "index.html").resolve().as_uri())
            page.screenshot(path=folder / "gallery" / f"{name}.png")
        browser.close()


def main() -> None:
    """Read the arguments, carry out the missing runs, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the page")
    parser.add_argument("--site", type=Path, default=Path("target/gallery"), help="of the report")
    parser.add_argument("--budget", type=Budget, choices=list(Budget), default=Budget.FULL)
    parser.add_argument(
        "--only", action="append", default=[], help="a paper; all else stays, the screens too"
    )
    arguments = parser.parse_args()
    budget, site = arguments.budget, arguments.site
    store = Store(site / "runs")
    chosen, known = exact_before(choose(arguments.only), budget, store)
    with shown() as show:
        reproduced = reproduce(chosen, budget, store, Local(), show, known=known)
    here = provenance.session()
    origin = Origin(budget, airqueue.__version__, here["date"], here["platform"])
    write_site(site, reproduced, origin, store, Local())
    write(arguments.out, reproduced, budget, arguments.only)
    if not arguments.only:
        photograph(site, arguments.out)


if __name__ == "__main__":
    main()
