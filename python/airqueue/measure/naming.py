"""The last part of a quick measurement: which discipline is this, and how are classes treated?

Runs of `airqueue.measure.disciplines.steps` for the first packet size, where the queue is not one
FIFO; what they say is judged by `airqueue.measure.disciplines.verdict`. Then in any case one run of
`airqueue.measure.disciplines.classes`, for `airqueue.measure.disciplines.treatment`: one of several
queues that classes select looks like a plain FIFO.
"""

from __future__ import annotations

from collections.abc import Sequence

from airqueue.measure.disciplines import classes, steps, verdict
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Step, full_at
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session

FEW_DROPS = 12
"""A controller that has dropped fewer packets than this, and some, has hardly acted."""


def take_steps(runner: Runner, layout: steps.Layout, idle: tuple[int, int]) -> bool:
    """Carry out the steps and the two floods, as long as time is left.

    ``idle``: packets lost and sent on the idle path. Returns whether they tell of another queue than
    a FIFO that drops at its tail.
    """
    plans = [
        steps.step_plan(layout, overload, length_s, index)
        for index, (overload, length_s) in enumerate(
            zip(steps.overloads(layout), steps.LENGTHS_S, strict=True)
        )
    ]
    plans.append(steps.two_floods_plan(layout))
    left_s = sum(plan.end_s for plan, _ in plans)
    taken: list[Run] = []
    for plan, meta in plans:
        if runner.out_of_time(plan.end_s):
            return True
        runner.say("session", str(meta["says"]), None, left_s)
        taken.append(runner.run(plan, meta, None, left_s))
        left_s -= plan.end_s
    longer = steps.step_plan(layout, steps.overloads(layout)[1], steps.LONG_S, len(plans))
    if hardly_acted(taken) and not runner.out_of_time(longer[0].end_s):
        runner.say("session", str(longer[1]["says"]), None, longer[0].end_s)
        taken.append(runner.run(*longer, None, longer[0].end_s))
    found = verdict.judge([Session(run) for run in taken], found="undecided", idle=idle)
    return found is None or found.name != "fifo"


def take_classes(runner: Runner, layout: steps.Layout) -> None:
    """Carry out the run of traffic classes, if there is time and the sender is fast enough."""
    laid_out = classes.classes_plan(layout)
    if laid_out is None:
        return
    plan, meta = laid_out
    if runner.out_of_time(plan.end_s):
        return
    runner.say("session", str(meta["says"]), None, plan.end_s)
    runner.run(plan, meta, None, plan.end_s)


def hardly_acted(taken: Sequence[Run]) -> bool:
    """Whether a few packets were lost with room in the queue, in no step more than that."""
    found = [Step.of(Session(run)) for run in taken if run.meta["kind"] == steps.STEP]
    seen = [step for step in found if step is not None and step.rate_pps > 0]
    full = full_at(seen) if seen else None
    early = [int((step.lost & with_room(step, full)).sum()) for step in seen]
    return bool(early) and 0 < max(early) < FEW_DROPS
