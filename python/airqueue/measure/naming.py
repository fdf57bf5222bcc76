"""The last part of a quick measurement: which discipline is this, and how are classes treated?

Runs of `airqueue.measure.disciplines.steps` for the first packet size, where the queue is not one
FIFO; what they say is judged by `airqueue.measure.disciplines.verdict`. Then in any case one run of
`airqueue.measure.disciplines.classes`, for `airqueue.measure.disciplines.treatment`: one of several
queues that classes select looks like a plain FIFO.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airqueue.measure.disciplines import classes, management, steps
from airqueue.measure.disciplines.codel import CoDel
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Step, full_at
from airqueue.measure.plan import Plan
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session

FEW_DROPS = 12
"""A controller that has dropped fewer packets than this, and some, has hardly acted."""


def take_steps(runner: Runner, layout: steps.Layout) -> bool:
    """Carry out the steps and the two floods; whether there was time for all of them."""
    plans = [
        steps.step_plan(layout, overload, length_s, index)
        for index, (overload, length_s) in enumerate(
            zip(steps.overloads(layout), steps.LENGTHS_S, strict=True)
        )
    ]
    plans.append(steps.two_floods_plan(layout))
    left_s = sum(plan.end_s for plan, _ in plans)
    told = False
    for plan, meta in plans:
        if not _run(runner, plan, meta, left_s):
            return False
        left_s -= plan.end_s
        # At once: a larger overload may fill the queue, after which CAKE drops at random for minutes.
        told = told or _told_by_rest(runner, layout, len(plans))
    if hardly_acted(runner.sessions(steps.STEP)):
        middle = steps.overloads(layout)[1]
        plan, meta = steps.step_plan(layout, middle, steps.LONG_S, len(plans) + told)
        _run(runner, plan, meta, plan.end_s)
    return True


def _told_by_rest(runner: Runner, layout: steps.Layout, index: int) -> bool:
    """Carry out a step that tells which CoDel this is, where the steps taken tell that this is one.

    Behind a longer rest the first gaps tell, at an overload that has shown the law already. Returns
    whether the step was carried out.
    """
    found = untold(runner.sessions(steps.STEP))
    if found is None:
        return False
    rest, overload = steps.rest_s(found.law.interval_s), found.step.offered_pps / layout.rate_pps
    plan, meta = steps.step_plan(layout, overload, steps.LENGTHS_S[1], index, rest)
    _run(runner, plan, meta, plan.end_s)
    return True


def take_classes(runner: Runner, layout: steps.Layout) -> None:
    """Carry out the run of traffic classes, if there is time and the sender is fast enough."""
    laid_out = classes.classes_plan(layout)
    if laid_out is not None:
        plan, meta = laid_out
        _run(runner, plan, meta, plan.end_s)


def _run(runner: Runner, plan: Plan, meta: Mapping[str, Any], left_s: float) -> bool:
    """Carry out a run if there is time for it; whether there was."""
    if runner.out_of_time(plan.end_s):
        return False
    runner.say("session", str(meta["says"]), None, left_s)
    runner.run(plan, meta, None, left_s)
    return True


def _seen(taken: Sequence[Session]) -> tuple[list[Step], float | None]:
    """Return the steps in which a queue stood, and the length at which the queue was full."""
    found = [Step.of(session) for session in taken]
    seen = [step for step in found if step is not None and step.rate_pps > 0]
    return seen, full_at(seen) if seen else None


def untold(taken: Sequence[Session]) -> CoDel | None:
    """Return CoDel's law if the steps follow that law, and do not tell which CoDel this is."""
    found = management.fitted_codel(*_seen(taken))
    return found if found is not None and found.begin == "unrested" else None


def hardly_acted(taken: Sequence[Session]) -> bool:
    """Whether a few packets were lost with room in the queue, in no step more than that."""
    seen, full = _seen(taken)
    early = [int((step.lost & with_room(step, full)).sum()) for step in seen]
    return bool(early) and 0 < max(early) < FEW_DROPS
