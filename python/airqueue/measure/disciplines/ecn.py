"""Whether a device marks packets in place of dropping them (RFC 3168), and ECT(1) apart (RFC 9331).

Tests, of a flood whose blocks are ECT(0), ECT(1) and Not-ECT in a drawn order:

- *marks*: packets sent ECT(0) arrive with CE, which none does by chance (`changed`); three at least.
- *drops*: of ECT packets so many more are lost than on the empty path that chance gives it once in a
  thousand times (Fisher's exact test, one-sided), twenty at least, and none is marked: if one of
  three signals were a mark, twenty losses without one had a chance of 0.0003. A queue must have
  stood: without one nothing is marked, by whatever discipline.
- Whether ECT(0) is lost less than Not-ECT: a permutation of the blocks (`permuted`), at 0.001.
- *ECT(1) apart*: the share of it that is marked, or its wait, differs from ECT(0)'s in the same
  overload. A permutation of the blocks for each, at 0.0005, and the difference exceeds what counts
  as alike. *Alike*: the 99 % intervals of both differences lie within that. Both are taken beyond
  the mean of the packets around, since the queue grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue import stats, text
from airqueue.measure.disciplines.by_class import ECN_NAMES, ByClass
from airqueue.measure.disciplines.observed import Bools, Floats
from airqueue.measure.disciplines.permuted import Difference, compare
from airqueue.measure.plan import CE, ECT_0, ECT_1, NOT_ECT
from airqueue.measure.result import Changed, Ecn, Evidence, L4s

CHANCE: Final = 0.001
"""Significance level, shared by the two tests of ECT(1)."""
MARKS: Final = 3
LOSSES: Final = 20
ALIKE_SHARE: Final = 0.1
"""Shares marked that differ by less are alike."""


@dataclass(frozen=True, slots=True)
class Marking:
    """How a device treats the ECN field."""

    ecn: Ecn
    marked_share: float | None
    lost_share: dict[str, float]
    l4s: L4s
    evidence: tuple[Evidence, ...]


def judge(seen: ByClass, changed: tuple[Changed, ...], idle: tuple[int, int]) -> Marking:
    """Judge the run. ``changed``: fields that the path rewrites, which hides marks.

    ``idle``: packets lost and sent on the idle path in other runs.
    """
    fields = {field: seen.flood & (seen.ecn == field) for field in (NOT_ECT, ECT_0, ECT_1)}
    lost = {ECN_NAMES[f]: _share(~seen.got, rows) for f, rows in fields.items() if np.any(rows)}
    hidden = {c.sent for c in changed if c.field == "ecn"}
    if hidden & {NOT_ECT, ECT_0, CE}:
        says = "The path rewrites the ECN field, so that marks of a queue cannot be told."
        return Marking("undecided", None, lost, "undecided", (Evidence("ecn", says),))
    marked = seen.got & (seen.ecn_after == CE)
    share = _share(marked, fields[ECT_0] & seen.got)
    l4s: L4s = "undecided"
    why: tuple[Evidence, ...] = ()
    if ECT_1 not in hidden:
        l4s, why = _l4s(seen, marked.astype(float), fields[ECT_1], fields[ECT_0])
    return Marking(
        _ecn(seen, marked, fields, idle), share, lost, l4s, (_says(seen, share, lost, fields), *why)
    )


def _ecn(seen: ByClass, marked: Bools, fields: dict[int, Bools], idle: tuple[int, int]) -> Ecn:
    if np.count_nonzero(marked & fields[ECT_0]) >= MARKS:
        return "marks"
    capable = fields[ECT_0] | fields[ECT_1]
    lost = int(np.count_nonzero(capable & ~seen.got))
    if not seen.stands or lost < LOSSES or np.any(marked & capable):
        return "undecided"
    quiet = seen.each
    idle = idle[0] + int(np.count_nonzero(quiet & ~seen.got)), idle[1] + int(np.sum(quiet))
    unlike = stats.fisher_exact((lost, int(np.sum(capable))), idle)
    return "drops" if unlike <= CHANCE else "undecided"


def _l4s(
    seen: ByClass, marked: Floats, ect_1: Bools, ect_0: Bools
) -> tuple[L4s, tuple[Evidence, ...]]:
    rows = (ect_1 | ect_0) & seen.got
    by_marks, by_waits = (
        compare(seen.beyond_trend(values, rows), seen.block, ect_1, ect_0)
        for values in (marked, seen.wait_s)
    )
    if by_marks is None or by_waits is None:
        return "undecided", ()
    shares = [_share(marked > 0, of & seen.got) for of in (ect_1, ect_0)]
    says = (
        f"{shares[0]:.1%} of the ECT(1) packets and {shares[1]:.1%} of the ECT(0) packets in the "
        f"same overload arrived marked; ECT(1) waited {_longer(by_waits.of)}."
    )
    evidence = (Evidence("ect_1_marked_more", says, by_marks.of, _ends(by_marks)),)
    tolerances = ALIKE_SHARE, seen.tolerance_s
    pairs = list(zip((by_marks, by_waits), tolerances, strict=True))
    if any(d.chance <= CHANCE / 2 and abs(d.of) > least for d, least in pairs):
        return "apart", evidence
    alike = seen.stands and all(d.within(least) for d, least in pairs)
    return ("alike" if alike else "undecided"), evidence


def _longer(difference_s: float) -> str:
    return f"{text.seconds(abs(difference_s))} {'longer' if difference_s > 0 else 'less'}"


def _ends(of: Difference) -> tuple[float, float]:
    # The interval of the difference is of 99 %: 1.96 / 2.58 of it is of 95 %.
    half = of.half * 1.96 / 2.58
    return of.of - half, of.of + half


def _says(
    seen: ByClass, share: float, lost: dict[str, float], fields: dict[int, Bools]
) -> Evidence:
    """Say what became of ECT(0) and of Not-ECT packets in the same overload."""
    fewer = compare((~seen.got).astype(float), seen.block, fields[ECT_0], fields[NOT_ECT])
    says = (
        f"Of the ECT(0) packets that arrived in an overload {share:.1%} were marked; "
        f"{lost.get('ect_0', 0.0):.1%} of them and {lost.get('not_ect', 0.0):.1%} of the packets "
        "without ECN were lost"
    )
    if fewer is not None and fewer.chance <= CHANCE:
        return Evidence("ect_0_marked", f"{says}, which the ECN field decides.", share)
    return Evidence("ect_0_marked", f"{says}, a difference that chance may explain.", share)


def _share(what: Bools, of: Bools) -> float:
    return float(np.mean(what[of])) if np.any(of) else 0.0
