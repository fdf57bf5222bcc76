"""Switch the papers' mechanisms off and judge their claims anew: `python -m validation.sabotage`.

Keeps the outcome as ``sabotaged.csv`` of the papers' distribution, by which `airqueue reproduce`
tells which claims count, and the counts of settings tried for whole tables as ``tried.csv``; writes
both into docs/reproduction.md, with the reason of each miss. Finished runs are kept. With ``--only``
the other papers' rows stay as they are: enough for a paper that is new.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Final, TypeVar

from airqueue.files import write_atomically
from airqueue.runs import Local, Store
from airqueue_papers import challenge, mechanism, tried
from airqueue_papers.challenge import Row
from airqueue_papers.claim import PAPERS
from airqueue_papers.command_progress import shown
from airqueue_papers.item import Budget
from airqueue_papers.miss import UNEXPLAINED
from airqueue_papers.sabotage import campaign, chosen_for
from airqueue_papers.tally import sentences, tally
from airqueue_papers.tried import Tried
from airqueue_papers.verdict import BY_CONSTRUCTION, NOT_DISCRIMINATING, Record
from validation import marked

BEGIN: Final = "<!-- The next lines are written by `make sabotage`. -->\n"
END: Final = "<!-- End of what `make sabotage` writes. -->\n"
MISSES_BEGIN: Final = "<!-- The next lines, too, are written by `make sabotage`. -->\n"
MISSES_END: Final = "<!-- End of these lines. -->\n"
_Kept = TypeVar("_Kept")
_HEADS: Final = (
    *("paper", "testable", "cannot be judged", "values, no mechanism", "not discriminating"),
    *("**count**", "reproduced", "same conclusion", "not reproduced"),
)


def page(rows: Sequence[Row]) -> str:
    """Return the first lines of the page: the counts, by paper and by mechanism."""
    records = challenge.records(rows)
    counts = "\n\n".join(sentences(tally(records)))
    return f"{BEGIN}\n{counts}\n\n{_papers(records)}\n\n{_mechanisms(records)}\n\n{END}"


def misses(rows: Sequence[Row], settings: Sequence[Tried]) -> str:
    """Return the lines about what is missed and why, and about settings tried for whole items."""
    missed = [each for each in challenge.records(rows) if each.missed and _is_told(each)]
    unknown = sum(each.why.startswith(UNEXPLAINED) for each in missed)
    lines = [
        f"Without those by construction and those not read, {len(missed)} claims are missed; "
        f"{unknown} of these misses are {UNEXPLAINED}.",
        "",
        "| why | missed claims: printed / ours |",
        "|---|---|",
    ]
    by_reason: dict[str, list[Record]] = {}
    for each in missed:
        by_reason.setdefault(each.why, []).append(each)
    for why, records in sorted(by_reason.items(), key=lambda pair: pair[0].startswith(UNEXPLAINED)):
        lines.append(f"| {why} | {'; '.join(map(_miss, records))} |")
    counts = [
        "| item | one setting for all its numbers | reproduced | same conclusion | not reproduced "
        "| cannot be judged |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in settings:
        cells = " | ".join(str(each or "") for each in row.counts)
        counts.append(f"| `{row.item}` | {row.setting} | {cells} |")
    return "\n".join([MISSES_BEGIN, *lines, "", *counts, "", MISSES_END])


def _is_told(record: Record) -> bool:
    return record.counted_as != BY_CONSTRUCTION


def _miss(record: Record) -> str:
    """Return a missed claim with the printed number and ours."""
    printed, ours = record.claim.numbers, [value.mean for value in record.ours]
    if not printed or not ours:
        return f"`{record.claim.id}`"
    numbers = (", ".join(f"{each:.4g}" for each in of) for of in (printed, ours))
    return f"`{record.claim.id}` {' / '.join(numbers)}"


def _papers(records: Iterable[Record]) -> str:
    lines = [f"| {' | '.join(_HEADS)} |", "|---" + "|---:" * (len(_HEADS) - 1) + "|"]
    found = list(records)
    of_paper = {
        f"`{name}`": [r for r in found if r.claim.id.startswith(f"{name}.")] for name in PAPERS
    }
    for name, own in {**of_paper, "**all**": found}.items():
        of = tally(own)
        if own:
            cells = (
                *(of.testable, of.undecided, of.values, of.not_discriminating),
                *(of.discriminating, of.reproduced, of.other_number, of.not_reproduced),
            )
            lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _mechanisms(records: Iterable[Record]) -> str:
    by_claim = {each.claim.id: each for each in records}
    lines = [
        "| mechanism | what is switched off | claims | stand all the same |",
        "|---|---|---:|---|",
    ]
    for name in PAPERS:
        for of in mechanism.load(name).mechanisms:
            own = [by_claim[each] for each in of.claims if each in by_claim]
            stand = [r.claim.id for r in own if r.counted_as == NOT_DISCRIMINATING]
            shown = ", ".join(f"`{each}`" for each in stand)
            lines.append(f"| `{of.full_name}` | {of.off} | {len(own)} | {shown} |")
    return "\n".join(lines)


def replaced(text: str, rows: Sequence[Row], settings: Sequence[Tried]) -> str:
    """Return the text of the page with its lines written anew. Raises ValueError without a place."""
    text = marked.replaced(text, BEGIN, END, page(rows), "the counts")
    lines = misses(rows, settings)
    return marked.replaced(text, MISSES_BEGIN, MISSES_END, lines, "the misses")


def with_others(
    new: Iterable[_Kept],
    old: Iterable[_Kept],
    paper_of: Callable[[_Kept], str],
    papers: Collection[str],
) -> list[_Kept]:
    """Return new rows of these papers and the old ones of all others, in the papers' order."""
    rows = [*(row for row in old if paper_of(row) not in papers), *new]
    return sorted(rows, key=lambda row: PAPERS.index(paper_of(row)))


def main() -> None:
    """Read the arguments, carry out the missing runs, and replace file and lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=Path("target/gallery"), help="of the runs")
    parser.add_argument("--page", type=Path, default=Path("docs/reproduction.md"))
    parser.add_argument("--budget", type=Budget, choices=list(Budget), default=Budget.QUICK)
    parser.add_argument("--only", action="append", help="a paper; all others keep their rows")
    parser.add_argument("--workers", type=int, help="by default as many as there are cores")
    arguments = parser.parse_args()
    store = Store(arguments.site / "runs")
    only = arguments.only or PAPERS
    with shown() as show:
        done = campaign(chosen_for(only), arguments.budget, store, Local(arguments.workers), show)
    kept = resources.files("airqueue_papers").joinpath(challenge.FILE).read_text("utf-8")
    rows = with_others(
        done.rows, challenge.read(kept), lambda row: row.claim.partition(".")[0], only
    )
    new = [row for each in done.reproduced for row in each.tried]
    settings = tried.written(
        with_others(new, tried.read(tried.kept()), lambda row: row.item.partition(".")[0], only)
    )
    text = challenge.written(rows)
    with resources.as_file(resources.files("airqueue_papers")) as folder:
        write_atomically(folder / challenge.FILE, text)
        write_atomically(folder / tried.FILE, settings)
    # Of the files, whose numbers are rounded: the page can be made again from the files alone.
    page_text = arguments.page.read_text("utf-8")
    changed = replaced(page_text, challenge.read(text), tried.read(settings))
    write_atomically(arguments.page, changed)


if __name__ == "__main__":
    main()
