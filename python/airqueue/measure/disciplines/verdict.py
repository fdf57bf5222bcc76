"""Which discipline a device has: how it shares the path, how it drops, and its usual name."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from airqueue import text
from airqueue.measure.disciplines import management, sharing
from airqueue.measure.disciplines.observed import Step
from airqueue.measure.disciplines.steps import STEP, TWO_FLOODS
from airqueue.measure.result import Discipline, Evidence, Management, Sharing, Verdict
from airqueue.measure.session import Session

_MANAGED_BY_FLOW: Final = (
    "managed_by_flow",
    "a queue for each flow, managed by none of CoDel, PIE and RED",
)
NAMES: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("one_queue", "tail_drop"): ("fifo", "one FIFO, which drops arrivals when it is full"),
    ("one_queue", "codel"): ("codel", "CoDel on one queue"),
    ("one_queue", "codel_or_cobalt"): ("codel", "CoDel on one queue"),
    ("one_queue", "cobalt"): ("cobalt", "CoDel on one queue, in CAKE's variant (COBALT)"),
    ("one_queue", "pie"): ("pie", "PIE on one queue"),
    ("one_queue", "red"): ("red", "RED on one queue"),
    ("one_queue", "unknown"): (
        "managed",
        "one queue that is managed, but by none of CoDel, PIE and RED",
    ),
    ("by_flow", "tail_drop"): ("fifo_by_flow", "a FIFO for each flow (SFQ, DRR, fq)"),
    ("by_flow", "codel"): ("fq_codel", "FQ-CoDel"),
    ("by_flow", "codel_or_cobalt"): ("fq_codel_or_cake", "FQ-CoDel or CAKE"),
    ("by_flow", "cobalt"): ("cake", "CAKE"),
    ("by_flow", "pie"): ("fq_pie", "FQ-PIE"),
    ("by_flow", "red"): _MANAGED_BY_FLOW,
    ("by_flow", "unknown"): _MANAGED_BY_FLOW,
    ("by_flow", "no_queue"): _MANAGED_BY_FLOW,
}
"""Key and words by sharing and management."""
NO_QUEUE: Final = (
    "policer",
    "a policer, or a queue of very few packets: what exceeds its rate is dropped, and hardly waits",
)
UNDECIDED: Final = "a discipline that the records do not tell"
SPARSE_FIRST: Final = ("sparse_first", "sparse flows pass the others, which share one queue")


def judge(
    sessions: Sequence[Session], *, found: Verdict, idle: tuple[int, int]
) -> Discipline | None:
    """Judge the steps and floods among the sessions; None if there are none.

    ``found``: what the sessions without steps say. ``idle``: packets lost and sent on the idle path.
    """
    if not any(s.run.meta.get("kind") in (STEP, TWO_FLOODS) for s in sessions):
        return None
    steps, floods = _observed(sessions)
    managed = management.judge(steps, idle)
    how, why = _sharing(floods, sparse_passes=found == "isolated")
    if managed.kind == "tail_drop" and how == "one_queue":
        # The sessions saw it act, the steps did not: some controllers need a longer queue, or longer.
        acted = found == "not_flat"
        if acted or sharing.drops_apart(floods[-1]):
            managed = dataclasses.replace(managed, kind="undecided")
    name, says = _name(how, managed.kind, found)
    return Discipline(
        name,
        says,
        how,
        managed.kind,
        managed.parameters,
        managed.hard_limit,
        (*why, *managed.evidence),
    )


def looks_like_fifo(sessions: Sequence[Session], idle: tuple[int, int]) -> bool:
    """Whether all that the steps and floods saw is one FIFO, without the tests that take long."""
    steps, floods = _observed(sessions)
    how, _ = _sharing(floods, sparse_passes=False)
    if how != "one_queue" or sharing.drops_apart(floods[-1]):
        return False
    return management.drops_at_tail(steps, idle)


def _observed(sessions: Sequence[Session]) -> tuple[list[Step], list[sharing.Floods]]:
    """Return what the steps and the floods among the sessions show."""
    steps = [Step.of(s) for s in sessions if s.run.meta.get("kind") == STEP]
    floods = [sharing.observe(s) for s in sessions if s.run.meta.get("kind") == TWO_FLOODS]
    return [s for s in steps if s is not None], [f for f in floods if f is not None]


def _name(how: Sharing, kind: Management, found: Verdict) -> tuple[str | None, str]:
    if how == "sparse_first":
        return SPARSE_FIRST
    if kind in ("no_queue", "undecided") and how != "by_flow" and found == "policer":
        return NO_QUEUE
    return NAMES.get((how, kind), (None, UNDECIDED))


def _sharing(
    floods: Sequence[sharing.Floods], *, sparse_passes: bool
) -> tuple[Sharing, tuple[Evidence, ...]]:
    if not floods:
        return "undecided", ()
    # Earlier floods did not fill the path.
    seen = floods[-1]
    how = sharing.judge(seen, sparse_passes=sparse_passes)
    larger, smaller = seen.larger, seen.smaller
    says = (
        f"Of two floods at once the larger waited {text.seconds(larger.wait_s)} and lost "
        f"{larger.loss:.0%}, the smaller waited {text.seconds(max(0.0, smaller.wait_s))} and lost "
        f"{smaller.loss:.0%}."
    )
    return how, (Evidence("two_floods_wait_ratio", says, seen.ratio),)
