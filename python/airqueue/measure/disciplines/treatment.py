"""How a device treats traffic classes: marks, DSCPs, and fields that the path changes."""

from __future__ import annotations

from collections.abc import Sequence

from airqueue import text
from airqueue.measure.class_words import ECN_FIELDS
from airqueue.measure.disciplines import changed, dscp, ecn
from airqueue.measure.disciplines.by_class import ByClass
from airqueue.measure.disciplines.classes import KIND, PROBED
from airqueue.measure.result import Changed, Classes, Evidence, Waits
from airqueue.measure.session import Session


def judge(sessions: Sequence[Session], *, idle: tuple[int, int]) -> Classes | None:
    """Judge the last run of traffic classes among the sessions; None if there is none to judge.

    ``idle``: packets lost and sent on the idle path.
    """
    runs = [s for s in sessions if s.run.meta.get("kind") == KIND]
    seen = [of for s in runs if (of := ByClass.of(s)) is not None]
    if not seen:
        return None
    last = seen[-1]
    rewritten = changed.judge(last)
    if not last.overloaded:
        says = (
            "The flood of all classes met no queue and lost nothing: how a queue treats them is "
            "unknown."
        )
        why_not = Evidence("classes", says)
        unknown: dict[str, Waits] = dict.fromkeys(PROBED, "undecided")
        of_changes = _of_changes(rewritten)
        return Classes(
            "undecided", None, {}, "undecided", unknown, rewritten, (why_not, *of_changes)
        )
    marking = ecn.judge(last, rewritten, idle)
    waits, why = dscp.judge(last, rewritten)
    return Classes(
        marking.ecn,
        marking.marked_share,
        marking.lost_share,
        marking.l4s,
        waits,
        rewritten,
        (*marking.evidence, *why, *_of_changes(rewritten)),
    )


def _of_changes(changes: Sequence[Changed]) -> list[Evidence]:
    """One sentence for all values of a field that arrive as the same one."""
    found = []
    for field, arrived in sorted({(of.field, of.arrived) for of in changes}):
        values = [of.sent for of in changes if (of.field, of.arrived) == (field, arrived)]
        if field == "ecn":
            sent, after = text.listed([ECN_FIELDS[v] for v in values]), ECN_FIELDS[arrived]
            says = (
                f"Packets sent with the ECN field {sent} arrived with {after} from an empty path."
            )
        else:
            sent = text.listed([str(v) for v in values])
            says = f"Packets sent with DSCP {sent} arrived with {arrived} from an empty path."
        found.append(Evidence(f"{field}_arrives_as", says, float(arrived)))
    return found
