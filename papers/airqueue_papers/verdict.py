"""Judges a finding: pure functions of a claim and the finding for the claim."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from airqueue_papers import miss
from airqueue_papers.claim import SORTS, Claim
from airqueue_papers.finding import Finding, Value


class Verdict(StrEnum):
    """The answers to a claim."""

    REPRODUCED = "reproduced"
    OTHER_NUMBER = "same conclusion, other number"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "cannot be judged"
    NOT_TESTABLE = "not testable here"


COUNTED: Final = (Verdict.REPRODUCED, Verdict.OTHER_NUMBER, Verdict.NOT_REPRODUCED)
"""Verdicts that can be in a share, the best first."""
NOT_DISCRIMINATING: Final = "not discriminating"
VALUE: Final = "value without a mechanism"
UNCHALLENGED: Final = "not challenged yet"
BY_CONSTRUCTION: Final = "by construction"
UNREAD: Final = "print not read"
KINDS: Final = (
    *(each.value for each in COUNTED),
    NOT_DISCRIMINATING,
    VALUE,
    UNCHALLENGED,
    Verdict.UNDECIDED.value,
    BY_CONSTRUCTION,
    UNREAD,
    Verdict.NOT_TESTABLE.value,
)
"""What a claim can be counted as, in the order of every list; the first three are in shares."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What became of a claim when its mechanism was switched off, or of a null prediction."""

    verdict: Verdict
    """The verdict on that run, or on that prediction."""
    null: bool = False
    """Whether the claim is about a value and no mechanism, so that a null prediction was judged."""
    ours: tuple[float, ...] = ()
    """The numbers of that run, or of that prediction."""


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
    challenge: Challenge | None = None
    """None if there is none: then the claim counts only if it is not reproduced anyway."""

    @property
    def missed(self) -> bool:
        """Whether the printed number or statement is missed, so that a sentence tells why.

        No sentence explains the distance from a number that nobody has read.
        """
        missed = (Verdict.OTHER_NUMBER, Verdict.NOT_REPRODUCED)
        return self.verdict in missed and not self.claim.unread

    @property
    def why(self) -> str:
        """Why the claim is missed, `miss.UNEXPLAINED` if nobody knows; empty if it is not."""
        return miss.why(self.claim.id) if self.missed else ""

    @property
    def counts(self) -> bool:
        """Whether the verdict is in shares: that of a claim that its sabotage would have changed."""
        return self.counted_as in {each.value for each in COUNTED}

    @property
    def stands(self) -> bool:
        """Whether the verdict is no worse with the mechanism off: then the claim shows nothing."""
        if self.challenge is None or self.verdict is Verdict.NOT_REPRODUCED:
            return False
        off = self.challenge.verdict
        return off in COUNTED and COUNTED.index(off) <= COUNTED.index(self.verdict)

    @property
    def counted_as(self) -> str:
        """One of `KINDS`."""
        if self.verdict is Verdict.NOT_TESTABLE:
            return self.verdict.value
        if self.claim.by_construction:
            return BY_CONSTRUCTION
        if self.claim.unread:
            return UNREAD
        if self.verdict is Verdict.UNDECIDED:
            return self.verdict.value
        if self.challenge is not None and self.challenge.null:
            return VALUE
        if self.challenge is None and self.verdict is not Verdict.NOT_REPRODUCED:
            return UNCHALLENGED
        return NOT_DISCRIMINATING if self.stands else self.verdict.value

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
            "margin": _plain(claim.margins) if claim.sort != "statement" else None,
            "ns2": self.ns2,
            "agrees_with_ns2": self.agrees_with_ns2,
            "by_construction": claim.by_construction or None,
            "unread": claim.unread or None,
            "verdict": self.verdict.value,
            "without_mechanism": None if self.challenge is None else self.challenge.verdict.value,
            "counted_as": self.counted_as,
            "reason": self.reason,
            "why_missed": self.why or None,
        }


_BOUNDS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def judge(claim: Claim, finding: Finding | None) -> Record:
    """Return the verdict on a claim.

    A number is reproduced if its mean is within the claim's tolerance of the printed number and the
    order that the paper concludes from it holds. It cannot be judged if our interval or the print's
    own error is wider than the tolerance, unless both together do not bridge the distance. Raises
    ValueError for a finding that does not answer the claim, which is an error of ours, not of the
    paper.
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
    if _open(claim, finding.ours):
        verdict = Verdict.UNDECIDED
    elif _agrees(claim, finding.ours) and finding.holds is not False:
        verdict = Verdict.REPRODUCED
    elif finding.holds:
        verdict = Verdict.OTHER_NUMBER
    return Record(claim, verdict, finding.reason, finding.ours, finding.ns2, near)


def _open(claim: Claim, ours: Sequence[Value]) -> bool:
    """Return whether intervals leave open which side of the tolerance the numbers are on."""
    numbers = [float(each) for each in claim.numbers or []]
    if claim.comparator in _BOUNDS:
        return any(
            value.low is not None and value.high is not None and value.low < bound < value.high
            for value, bound in zip(ours, numbers, strict=True)
        )
    expected = list(zip(numbers, claim.margins, strict=True))
    if claim.comparator == "range" and len(ours) == 1:
        low, high = numbers[0] - claim.margins[0], numbers[1] + claim.margins[1]
        expected = [((low + high) / 2, (high - low) / 2)]
    states = [
        _side(value, number, margin, claim.print_error)
        for value, (number, margin) in zip(ours, expected, strict=True)
    ]
    return None in states and False not in states


def _side(value: Value, number: float, margin: float, print_error: float) -> bool | None:
    """Return whether means can be compared; False if a value is far in any case, None if neither."""
    own = 0.0 if value.low is None or value.high is None else (value.high - value.low) / 2
    if max(own, print_error) <= margin * (1 + 1e-9):  # printed decimals are no binary fractions
        return True
    return False if abs(value.mean - number) > margin + own + print_error else None


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
    margin = claim.margins
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
    return all(abs(value.mean - ns2) <= max(claim.margins) for value in ours)


def _plain(values: list[Any]) -> Any:
    """Return one value as itself, none as None, several as a list."""
    return None if not values else values[0] if len(values) == 1 else values


def counts(records: Iterable[Record]) -> dict[str, int]:
    """Return the number of records by what they are counted as."""
    found = Counter(each.counted_as for each in records)
    return {kind: found[kind] for kind in KINDS}


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
