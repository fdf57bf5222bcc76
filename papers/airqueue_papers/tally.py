"""The counts that a page of a reproduction begins with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from airqueue import text
from airqueue_papers.verdict import (
    BY_CONSTRUCTION,
    COUNTED,
    NOT_DISCRIMINATING,
    UNCHALLENGED,
    UNREAD,
    VALUE,
    Record,
    Verdict,
    counts,
)

WITHIN: Final = (0.05, 0.1, 0.15, 0.25)
"""Distances from the print, as a share of it, for which the share of numbers is told."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many claims there are of each kind, and how far numbers are from the print."""

    testable: int
    """Claims that are testable here, read, and whose answer is not an input of ours."""
    undecided: int
    undecided_by_print: int
    """Of these, claims of which the print's own error is wider than the tolerance."""
    not_discriminating: int
    unchallenged: int
    discriminating: int
    """Claims in the share: not reproduced, or reproduced only with their mechanism on."""
    reproduced: int
    """Of the discriminating ones, as the next two."""
    other_number: int
    not_reproduced: int
    conclusion_stands: int
    """Of the discriminating ones, those of which the mechanism changes only the number."""
    values: int
    """Values about no mechanism, counted apart."""
    values_reproduced: int
    values_by_null: int
    """Values that the null prediction reproduces."""
    values_by_ours_alone: int
    values_nearer: int
    """Values of which ours is nearer to the print than the null prediction is."""
    values_compared: int
    """Values that are numbers, which can be nearer."""
    numbers: int
    """Printed numbers with one of ours beside, whatever the verdict."""
    within: tuple[tuple[float, int], ...]
    """Distance from the print -> numbers within it."""
    circular: int
    unread: int
    not_testable: int

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"within": {f"{by:g}": number for by, number in self.within}}


def tally(records: Iterable[Record]) -> Tally:
    """Return the counts of records."""
    found = list(records)
    by_kind = counts(found)
    reproduced, other_number, not_reproduced = (by_kind[each.value] for each in COUNTED)
    values = [each for each in found if each.counted_as == VALUE]
    right = [each for each in values if each.verdict is Verdict.REPRODUCED]
    off = deviations(found)
    circular, untestable = by_kind[BY_CONSTRUCTION], by_kind[Verdict.NOT_TESTABLE.value]
    return Tally(
        testable=len(found) - circular - by_kind[UNREAD] - untestable,
        undecided=by_kind[Verdict.UNDECIDED.value],
        undecided_by_print=sum(_vague(each) for each in found),
        not_discriminating=by_kind[NOT_DISCRIMINATING],
        unchallenged=by_kind[UNCHALLENGED],
        discriminating=reproduced + other_number + not_reproduced,
        reproduced=reproduced,
        other_number=other_number,
        not_reproduced=not_reproduced,
        conclusion_stands=sum(_keeps_conclusion(each) for each in found),
        values=len(values),
        values_reproduced=len(right),
        values_by_null=sum(_by_null(each) for each in values),
        values_by_ours_alone=sum(not _by_null(each) for each in right),
        values_nearer=sum(_nearer(each) for each in values),
        values_compared=sum(each.claim.sort != "statement" for each in values),
        numbers=len(off),
        within=tuple((by, sum(each <= by for each in off)) for by in WITHIN),
        circular=circular,
        unread=by_kind[UNREAD],
        not_testable=untestable,
    )


def deviations(records: Iterable[Record]) -> list[float]:
    """Return how far our numbers are from the printed ones, relative to them, whatever the verdict.

    Of equalities that were read and whose answer is not an input of ours; a printed 0 has no relative
    distance.
    """
    return [
        abs(value.mean - number) / abs(number)
        for each in records
        if each.claim.sort != "statement" and each.claim.comparator == "="
        if each.counted_as not in (BY_CONSTRUCTION, UNREAD) and each.ours
        for value, number in zip(each.ours, each.claim.numbers or [], strict=True)
        if number
    ]


def _vague(record: Record) -> bool:
    """Return whether a claim cannot be judged, and the print's own error suffices for that."""
    margins = record.claim.margins
    undecided = record.counted_as == Verdict.UNDECIDED.value
    return undecided and bool(margins) and record.claim.print_error > min(margins)


def _keeps_conclusion(record: Record) -> bool:
    return (
        record.counts
        and record.verdict is Verdict.REPRODUCED
        and record.challenge is not None
        and record.challenge.verdict is Verdict.OTHER_NUMBER
    )


def _nearer(record: Record) -> bool:
    """Return whether all our numbers together are nearer to the print than the null prediction's."""
    printed, null = record.claim.numbers, record.challenge.ours if record.challenge else ()
    if not printed or not null or not record.ours:
        return False
    ours = [value.mean for value in record.ours]
    away = [sum(abs(a - b) for a, b in zip(each, printed, strict=True)) for each in (ours, null)]
    return away[0] < away[1]


def _by_null(record: Record) -> bool:
    return record.challenge is not None and record.challenge.verdict is Verdict.REPRODUCED


def sentences(of: Tally) -> list[str]:
    """Return the counts in the words with which a page begins."""
    counted = [
        f"{of.reproduced} reproduced{_share(of.reproduced, of.discriminating)}",
        f"{of.other_number} with the same conclusion and another number",
        f"{of.not_reproduced} not reproduced",
    ]
    apart = {
        "values about no mechanism": of.values,
        "verdicts that stand with the mechanism off": of.not_discriminating,
        "mechanism not switched off yet": of.unchallenged,
        "cannot be judged": of.undecided,
    }
    said = [
        f"{of.discriminating} of {text.plural(of.testable, 'claim')} count, because their verdict "
        f"depends on what they are about: {text.listed(counted)}."
    ]
    if of.conclusion_stands:
        said[0] += (
            f" Of the reproduced ones {of.conclusion_stands} keep their conclusion with the "
            "mechanism off, and lose the number only."
        )
    listed = "; ".join(f"{words}: {number}" for words, number in apart.items() if number)
    if listed:
        said.append(
            f"Apart from these, in no share: {listed}"
            + f" ({of.undecided_by_print} by the print's own error)" * bool(of.undecided_by_print)
            + "."
        )
    if of.values:
        said.append(
            f"Of the values about no mechanism ours reproduce {of.values_reproduced}, a constant or "
            f"the best simpler model {of.values_by_null}, ours alone {of.values_by_ours_alone}; ours "
            f"are the nearer to the print for {of.values_nearer} of {of.values_compared}."
        )
    if of.numbers:
        steps = [
            f"{text.percent(number / of.numbers)} within {100 * by:.0f} %"
            for by, number in of.within
        ]
        said.append(
            f"Without any tolerance, of {text.plural(of.numbers, 'printed number')} ours are: "
            f"{', '.join(steps)}."
        )
    if of.circular or of.not_testable or of.unread:
        said.append(
            f"In none of these numbers: {text.plural(of.circular, 'claim')} by construction, whose "
            f"answer was an input of ours; {of.not_testable} that cannot be tested here"
            + f"; {of.unread} whose print could not be read" * bool(of.unread)
            + "."
        )
    return said


def _share(part: int, of: int) -> str:
    return f" ({text.percent(part / of)})" if of else ""
