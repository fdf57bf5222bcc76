"""Judges a finding: pure functions of a claim and the finding for the claim."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from airqueue_papers.claim import SORTS, Claim
from airqueue_papers.finding import Finding, Value


class Verdict(StrEnum):
    """The four answers to a claim."""

    REPRODUCED = "reproduced"
    OTHER_NUMBER = "same conclusion, other number"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable here"


BY_CONSTRUCTION: Final = "by construction"


@dataclass(frozen=True, slots=True)
class Record:
    """A claim beside our answer, and the verdict."""

    claim: Claim
    verdict: Verdict
    reason: str
    ours: tuple[Value, ...] = ()
    ns2: float | None = None
    agrees_with_ns2: bool | None = None
    """Whether ours is within the claim's tolerance of ns-2's; None without a result of ns-2."""

    @property
    def counts(self) -> bool:
        """Whether the verdict counts: not if the answer was an input of ours."""
        return self.verdict is not Verdict.NOT_TESTABLE and not self.claim.by_construction

    @property
    def counted_as(self) -> str:
        """The verdict, or ``by construction`` if the answer was an input of ours."""
        given = self.claim.by_construction and self.verdict is not Verdict.NOT_TESTABLE
        return BY_CONSTRUCTION if given else self.verdict.value

    @property
    def met(self) -> bool:
        """Whether ours agrees with the print, or, where ns-2 misses the print, with ns-2."""
        return self.verdict is Verdict.REPRODUCED or bool(
            self.agrees_with_ns2 and not _agrees(self.claim, _same(self.claim, self.ns2))
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data: what ``airqueue reproduce --json`` prints of it."""
        claim = self.claim
        return {
            "id": claim.id,
            "item": claim.item,
            "place": claim.place,
            "quantity": claim.quantity,
            "conditions": claim.conditions,
            "sort": claim.sort,
            "printed": claim.printed,
            "comparator": claim.comparator,
            "ours": _plain([value.mean for value in self.ours]),
            "ci95": _plain(
                [None if value.low is None else [value.low, value.high] for value in self.ours]
            ),
            "unit": claim.unit,
            "tolerance": claim.tolerance if claim.sort != "statement" else None,
            "ns2": self.ns2,
            "agrees_with_ns2": self.agrees_with_ns2,
            "by_construction": claim.by_construction or None,
            "verdict": self.verdict.value,
            "reason": self.reason,
        }


_BOUNDS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def judge(claim: Claim, finding: Finding | None) -> Record:
    """Return the verdict on a claim.

    A number is reproduced if its mean is within the claim's tolerance of the printed number,
    regardless of the width of its interval. Raises ValueError for a finding that does not answer the
    claim, which is an error of ours, not of the paper.
    """
    if claim.not_testable:
        return Record(claim, Verdict.NOT_TESTABLE, claim.not_testable)
    if finding is None:
        raise ValueError(f"{claim.id}: nothing was found about it")
    if claim.sort == "statement":
        return _judge_statement(claim, finding)
    if not finding.ours:
        return Record(claim, Verdict.NOT_REPRODUCED, finding.reason, ns2=finding.ns2)
    _check_count(claim, finding.ours)
    near = None if finding.ns2 is None else _near_ns2(claim, finding.ours, finding.ns2)
    verdict = Verdict.NOT_REPRODUCED
    if _agrees(claim, finding.ours):
        verdict = Verdict.REPRODUCED
    elif finding.holds:
        verdict = Verdict.OTHER_NUMBER
    return Record(claim, verdict, finding.reason, finding.ours, finding.ns2, near)


def _judge_statement(claim: Claim, finding: Finding) -> Record:
    if finding.holds is None:
        raise ValueError(f"{claim.id}: a statement holds or it does not")
    verdict = Verdict.REPRODUCED if finding.holds else Verdict.NOT_REPRODUCED
    return Record(claim, verdict, finding.reason, finding.ours, finding.ns2)


def _check_count(claim: Claim, ours: Sequence[Value]) -> None:
    printed = claim.numbers or []
    possible = {1, 2} if claim.comparator == "range" else {len(printed)}
    if len(ours) not in possible:
        raise ValueError(f"{claim.id}: {len(ours)} values for {len(printed)} printed ones")


def _agrees(claim: Claim, ours: Sequence[Value]) -> bool:
    """Return whether values are within the tolerance of the printed ones."""
    printed = [float(each) for each in claim.numbers or []]
    margin = [claim.tolerance * abs(each) for each in printed]
    if claim.comparator == "range":
        if len(ours) == 2:
            return all(
                abs(value.mean - each) <= by
                for value, each, by in zip(ours, printed, margin, strict=True)
            )
        return printed[0] - margin[0] <= ours[0].mean <= printed[1] + margin[1]
    compared = zip(ours, printed, margin, strict=True)
    if claim.comparator in _BOUNDS:
        keeps = _BOUNDS[claim.comparator]
        return all(keeps(value.mean, each) for value, each, _ in compared)
    return all(abs(value.mean - each) <= by for value, each, by in compared)


def _same(claim: Claim, number: float | None) -> tuple[Value, ...]:
    """Return one number that represents all values of a claim."""
    count = 1 if claim.comparator == "range" else len(claim.numbers or [])
    return () if number is None else (Value(number),) * count


def _near_ns2(claim: Claim, ours: Sequence[Value], ns2: float) -> bool:
    return all(abs(value.mean - ns2) <= claim.tolerance * abs(ns2) for value in ours)


def _plain(values: list[Any]) -> Any:
    """Return one value as itself, none as None, several as a list."""
    return None if not values else values[0] if len(values) == 1 else values


def counts(records: Iterable[Record]) -> dict[str, int]:
    """Return the number of records by verdict; those by construction are counted separately."""
    found = Counter(each.counted_as for each in records)
    kinds = [*(verdict.value for verdict in Verdict), BY_CONSTRUCTION]
    return {kind: found[kind] for kind in kinds}


def shares(records: Iterable[Record]) -> dict[str, tuple[int, int]]:
    """Return, by sort, the number of claims met and the number that count.

    Met: within the tolerance of the print, or of ns-2 where ns-2 itself is outside the tolerance.
    """
    counted = [each for each in records if each.counts]
    found = {}
    for sort in SORTS:
        of_sort = [each for each in counted if each.claim.sort == sort]
        found[sort] = (sum(each.met for each in of_sort), len(of_sort))
    return found
