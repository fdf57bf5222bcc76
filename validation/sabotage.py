"""Switch the papers' mechanisms off and judge their claims anew: `python -m validation.sabotage`.

Keeps the outcome as ``sabotaged.csv`` of the papers' distribution, by which `airqueue reproduce`
tells which claims count, and writes it into docs/reproduction.md. Finished runs are kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from airqueue.files import write_atomically
from airqueue.runs import Local, Store, WorkProgress
from airqueue_papers import challenge, mechanism
from airqueue_papers.challenge import Row
from airqueue_papers.claim import PAPERS
from airqueue_papers.item import Budget
from airqueue_papers.sabotage import campaign, chosen_for
from airqueue_papers.tally import sentences, tally
from airqueue_papers.verdict import NOT_DISCRIMINATING, Record

BEGIN: Final = "<!-- The next lines are written by `make sabotage`. -->\n"
END: Final = "<!-- End of what `make sabotage` writes. -->\n"
_HEADS: Final = (
    *("paper", "testable", "cannot be judged", "values, no mechanism", "not discriminating"),
    *("**count**", "reproduced", "same conclusion", "not reproduced"),
)


def page(rows: Sequence[Row]) -> str:
    """Return the lines of the page: the counts, by paper and by mechanism."""
    records = challenge.records(rows)
    counts = "\n\n".join(sentences(tally(records)))
    return f"{BEGIN}\n{counts}\n\n{_papers(records)}\n\n{_mechanisms(records)}\n\n{END}"


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


def replaced(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the page with its lines written anew. Raises ValueError without a place."""
    before, found, rest = text.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not found or not ends:
        raise ValueError("docs/reproduction.md has no place for the counts: two comments mark it")
    return before + page(rows) + after


def main() -> None:
    """Read the arguments, carry out the missing runs, and replace file and lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=Path("target/gallery"), help="of the runs")
    parser.add_argument("--page", type=Path, default=Path("docs/reproduction.md"))
    parser.add_argument("--budget", type=Budget, choices=list(Budget), default=Budget.QUICK)
    parser.add_argument("--workers", type=int, help="by default as many as there are cores")
    arguments = parser.parse_args()
    store = Store(arguments.site / "runs")
    done = campaign(chosen_for(), arguments.budget, store, Local(arguments.workers), _show)
    text = challenge.written(done.rows)
    with resources.as_file(resources.files("airqueue_papers")) as folder:
        write_atomically(folder / challenge.FILE, text)
    # Of the file, whose numbers are rounded: the page can be made again from the file alone.
    changed = replaced(arguments.page.read_text("utf-8"), challenge.read(text))
    write_atomically(arguments.page, changed)


def _show(progress: WorkProgress) -> None:
    print(f"{progress.finished} of {progress.pieces} runs", end="\r", flush=True)


if __name__ == "__main__":
    main()
