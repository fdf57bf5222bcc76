"""The counts that a page of a reproduction begins with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from airqueue_papers.verdict import (
    BY_CONSTRUCTION,
    COUNTED,
    NOT_DISCRIMINATING,
    UNCHALLENGED,
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
    """Claims that are testable here and whose answer is not an input of ours."""
    undecided: int
    not_discriminating: int
    unchallenged: int
    discriminating: int
    """Claims in the share: not reproduced, or reproduced only with their mechanism on."""
    reproduced: int
    """Of the discriminating ones, as the next two."""
    other_number: int
    not_reproduced: int
    values: int
    """Values about no mechanism, counted apart."""
    values_reproduced: int
    values_by_null: int
    """Values that the null prediction reproduces."""
    values_by_ours_alone: int
    numbers: int
    """Printed numbers with one of ours beside, whatever the verdict."""
    within: tuple[tuple[float, int], ...]
    """Distance from the print -> numbers within it."""
    circular: int
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
        testable=len(found) - circular - untestable,
        undecided=by_kind[Verdict.UNDECIDED.value],
        not_discriminating=by_kind[NOT_DISCRIMINATING],
        unchallenged=by_kind[UNCHALLENGED],
        discriminating=reproduced + other_number + not_reproduced,
        reproduced=reproduced,
        other_number=other_number,
        not_reproduced=not_reproduced,
        values=len(values),
        values_reproduced=len(right),
        values_by_null=sum(_by_null(each) for each in values),
        values_by_ours_alone=sum(not _by_null(each) for each in right),
        numbers=len(off),
        within=tuple((by, sum(each <= by for each in off)) for by in WITHIN),
        circular=circular,
        not_testable=untestable,
    )


def deviations(records: Iterable[Record]) -> list[float]:
    """Return how far our numbers are from the printed ones, relative to them, whatever the verdict.

    Of equalities whose answer is not an input of ours; a printed 0 has no relative distance.
    """
    return [
        abs(value.mean - number) / abs(number)
        for each in records
        if each.claim.sort != "statement" and each.claim.comparator == "="
        if each.counted_as != BY_CONSTRUCTION and each.ours
        for value, number in zip(each.ours, each.claim.numbers or [], strict=True)
        if number
    ]


def _by_null(record: Record) -> bool:
    return record.challenge is not None and record.challenge.verdict is Verdict.REPRODUCED
