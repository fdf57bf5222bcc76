"""Verdicts on claims with their mechanism off: those of a campaign, which the distribution has.

``sabotaged.csv`` has a row for each claim that rests on something: our verdict and numbers, and
those of the run with the mechanism off or of the null prediction. `airqueue reproduce --sabotage`
carries the runs out, `python -m validation.sabotage` makes the file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from airqueue_papers import claim as claims
from airqueue_papers import mechanism
from airqueue_papers.claim import Claim
from airqueue_papers.finding import Finding, Value
from airqueue_papers.mechanism import Null
from airqueue_papers.verdict import Challenge, Record, Verdict, judge

FILE: Final = "sabotaged.csv"
_COLUMNS: Final = ("claim", "rests_on", "verdict", "ours", "without", "ours_without")
NULL: Final = "null prediction"


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with its mechanism on, and without it."""

    claim: str
    rests_on: str
    """The mechanism's full name; `NULL`; empty for a claim that rests on nothing."""
    verdict: Verdict
    ours: tuple[float, ...]
    without: Verdict | None
    """None if nothing was judged: the claim rests on nothing."""
    ours_without: tuple[float, ...]

    @property
    def challenge(self) -> Challenge | None:
        """What became of the claim without what it rests on."""
        if self.without is None:
            return None
        return Challenge(self.without, self.rests_on == NULL, self.ours_without)


def challenge_of(claim: Claim) -> Challenge | None:
    """Return what became of a claim without its mechanism, or None if nothing is known."""
    ground = mechanism.load(_paper(claim.id)).by_claim.get(claim.id)
    if ground is None:
        return None
    if isinstance(ground, Null):
        judged = by_null(claim, ground)
        return Challenge(judged.verdict, null=True, ours=tuple(map(float, ground.prediction)))
    row = _rows().get(claim.id)
    # A row of another mechanism is of before the table was changed.
    if row is None or row.without is None or row.rests_on != ground.full_name:
        return None
    return row.challenge


def by_null(claim: Claim, null: Null) -> Record:
    """Return the verdict on a null prediction."""
    values = tuple(Value(float(each)) for each in null.prediction)
    return judge(claim, Finding(claim.id, f"{null.because}.", values, null.holds))


def records(rows: Iterable[Row] | None = None) -> list[Record]:
    """Return the records of a campaign, without intervals and reasons; by default of the file."""
    found = []
    for row in _rows().values() if rows is None else rows:
        claim = claims.load(_paper(row.claim)).claims[row.claim]
        ours = tuple(map(Value, row.ours))
        found.append(Record(claim, row.verdict, "", ours, challenge=row.challenge))
    return found


@cache
def _rows() -> Mapping[str, Row]:
    file = resources.files("airqueue_papers").joinpath(FILE)
    return {row.claim: row for row in read(file.read_text("utf-8"))} if file.is_file() else {}


def read(text: str) -> list[Row]:
    """Return the rows in the text of a file."""
    return [
        Row(
            row["claim"],
            row["rests_on"],
            Verdict(row["verdict"]),
            _numbers(row["ours"]),
            Verdict(row["without"]) if row["without"] else None,
            _numbers(row["ours_without"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]


def written(rows: Iterable[Row]) -> str:
    """Return the text of a file, with six digits of each number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        without = "" if row.without is None else row.without.value
        numbers = (" ".join(f"{each:.6g}" for each in of) for of in (row.ours, row.ours_without))
        ours, ours_without = numbers
        verdict = row.verdict.value
        writer.writerow((row.claim, row.rests_on, verdict, ours, without, ours_without))
    return text.getvalue()


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


def _paper(claim: str) -> str:
    return claim.partition(".")[0]
