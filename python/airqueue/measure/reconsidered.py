"""The verdict of the sessions, reconsidered by what other runs and the path without load say."""

from __future__ import annotations

from typing import Final

from airqueue.measure.disciplines import shared
from airqueue.measure.result import Discipline, Evidence, Verdict
from airqueue.measure.verdicts import Finding

MOST_LOSSY: Final = 0.18
"""Where a larger share is lost without load, only a FIFO can be told."""


def unless_lossy(finding: Finding, idle: tuple[int, int]) -> Finding:
    """Return the finding, or none where the path without load loses packets as a full queue does.

    ``idle``: packets lost and sent on the idle path. Behind such losses a FIFO seems to refuse
    packets at any length, and the losses of the air look like those of a policer.
    """
    lost, sent = idle
    if finding.verdict not in ("not_flat", "policer") or lost <= MOST_LOSSY * sent:
        return finding
    says = (
        f"{lost / sent:.0%} of the packets were lost without load: which of them a full queue "
        "refused, or a controller dropped, cannot be told."
    )
    return _other(finding, "undecided", Evidence("lost_without_load", says, lost / sent))


def unless_managed(finding: Finding, discipline: Discipline | None) -> Finding:
    """Return the finding, or another one where steps and floods tell a FIFO from what it is.

    Sessions of one overload do not see what a controller does under another one, nor what flows of
    equal rates share. A queue that follows no known law may be a FIFO that the records hide, and of
    one in which packets of others wait the counts are ours alone.
    """
    if finding.verdict != "fifo" or discipline is None:
        return finding
    for each in discipline.evidence:
        if each.name == shared.NAME and each.value:
            return _other(finding, "undecided", each)
    if discipline.name in (None, "fifo"):
        return finding
    verdict: Verdict = "isolated"
    if discipline.sharing == "one_queue":
        verdict = "undecided" if discipline.management == "unknown" else "not_flat"
    says = f"Floods at other overloads tell {discipline.says}: these counts are no capacity."
    return _other(finding, verdict, Evidence("steps", says))


def _other(finding: Finding, verdict: Verdict, because: Evidence) -> Finding:
    """Return a finding without a capacity in the place of another one."""
    evidence = [*finding.evidence, because]
    return Finding(verdict, evidence, None, finding.burst, finding.allowed)
