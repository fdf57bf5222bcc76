"""Unprinted settings that were tried: each for all numbers of an item, with a count of its own.

The verdicts of an item are those of the settings in its scenarios, which explain all its numbers or
miss some. No number takes its verdict from a setting of its own. ``tried.csv`` has the counts of a
campaign, which the page about the reproduction shows.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from airqueue import text
from airqueue_papers.claim import Claim
from airqueue_papers.item import Item, Outcomes
from airqueue_papers.verdict import Record, Verdict, judge

FILE: Final = "tried.csv"
AS_JUDGED: Final = "as judged"
COUNTED: Final = (
    Verdict.REPRODUCED,
    Verdict.OTHER_NUMBER,
    Verdict.NOT_REPRODUCED,
    Verdict.UNDECIDED,
)
"""Verdicts of a number, in the order of the columns."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One setting for all numbers of an item, and how many it explains."""

    item: str
    """As on the command line: ``mesh.table3``."""
    setting: str
    """`AS_JUDGED`, or the setting in a clause."""
    counts: tuple[int, ...]
    """Numbers by verdict, in the order of `COUNTED`."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        verdicts = {v.value: n for v, n in zip(COUNTED, self.counts, strict=True)}
        return {"item": self.item, "setting": self.setting, "verdicts": verdicts}


def tried(
    name: str, item: Item, claims: Iterable[Claim], outcomes: Outcomes, records: Iterable[Record]
) -> list[Tried]:
    """Return the counts of an item's settings, those as judged first; nothing without settings.

    ``name``: of the item on the command line; ``records``: those of the settings as judged.
    """
    if not item.settings:
        return []
    numbers = {each.id: each for each in claims if _is_number(each)}
    own = [each for each in records if each.claim.id in numbers]
    found = [Tried(name, AS_JUDGED, _counts(own))]
    for setting in item.settings:
        # A setting names the runs of both budgets.
        exchanged = {run: outcomes[by] for run, by in setting.runs.items() if run in outcomes}
        changed = {**outcomes, **exchanged}
        judged = [
            judge(numbers[each.claim], each)
            for each in item.compare(changed)
            if each.claim in numbers
        ]
        found.append(Tried(name, setting.words, _counts(judged)))
    return found


def _is_number(claim: Claim) -> bool:
    """Return whether a claim is a number that a run can explain or miss."""
    apart = claim.not_testable or claim.by_construction or claim.unread
    return claim.sort != "statement" and not apart


def _counts(records: Iterable[Record]) -> tuple[int, ...]:
    seen = Counter(each.verdict for each in records)
    return tuple(seen[verdict] for verdict in COUNTED)


def sentence(of: Sequence[Tried]) -> str:
    """Return whether one of an item's settings explains all its numbers."""
    usual, *others = of
    number = sum(usual.counts)
    best = max(others, key=lambda each: each.counts[0])
    verb = "is" if usual.counts[0] == 1 else "are"
    said = f"Of {text.plural(number, 'number')} {usual.counts[0]} {verb} reproduced as judged"
    if best.counts[0] <= usual.counts[0]:
        return f"{said}, and no more with any other setting for all of them."
    return f"{said}, and {best.counts[0]} {best.setting}."


def read(content: str) -> list[Tried]:
    """Return the rows in the text of a file."""
    return [
        Tried(row["item"], row["setting"], tuple(int(row[each.value]) for each in COUNTED))
        for row in csv.DictReader(content.splitlines())
    ]


def written(rows: Iterable[Tried]) -> str:
    """Return the text of a file."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(("item", "setting", *(each.value for each in COUNTED)))
    for row in rows:
        writer.writerow((row.item, row.setting, *row.counts))
    return content.getvalue()


def kept() -> str:
    """Return the text of the distribution's file."""
    return resources.files("airqueue_papers").joinpath(FILE).read_text("utf-8")
