"""The last part of a quick measurement: which discipline is this, and how are classes treated?

Runs of `airqueue.measure.disciplines.steps` for the first packet size, where the queue is not one
FIFO; what they say is judged by `airqueue.measure.disciplines.verdict`. Then in any case one run of
`airqueue.measure.disciplines.classes`, for `airqueue.measure.disciplines.treatment`: one of several
queues that classes select looks like a plain FIFO.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from airqueue.measure.disciplines import classes, management, sharing, steps
from airqueue.measure.disciplines.codel import CoDel
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Step, full_at
from airqueue.measure.evidence import lost_quietly
from airqueue.measure.plan import Plan
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session

MISLAID = 0.1
"""Overload beyond the one meant, as a share of the rate, that shows another rate."""
MORE = 1.2
"""Rate that is tried where the path carried all of a step, as a multiple of that."""
MOST_AGAIN = 3
"""Steps that are taken again by the rate that they showed."""
FLOODS_AGAIN = 2
"""Times that two floods at once are taken again while the path carries half of what is too much."""
FEW_DROPS = 12
"""A controller that has dropped fewer packets than this, and some, has hardly acted."""


def take_steps(runner: Runner, layout: steps.Layout) -> bool:
    """Carry out the steps and the two floods; whether there was time for all of them.

    Where others use the path too, what a train saw of its rate in a moment is no rate for seconds:
    a step that shows another one is taken again by what the step carried.
    """
    left = list(zip(steps.overloads(layout), steps.LENGTHS_S, strict=True))
    index = again = 0
    told = False
    while left:
        overload, length_s = left[0]
        floods_s = steps.two_floods_plan(layout)[0].end_s
        left_s = sum(steps.step_plan(layout, *step, 0)[0].end_s for step in left) + floods_s
        plan, meta = steps.step_plan(layout, overload, length_s, index)
        if not _run(runner, plan, meta, left_s):
            return False
        index += 1
        shown = _rate_shown_pps(runner.sessions(steps.STEP)[-1], overload)
        if not told and (law := last_law(runner.sessions(steps.STEP))) is not None:
            told = True
            if law.begin == "unrested":
                # At once: a larger overload may fill the queue, after which CAKE drops at random for
                # minutes.
                overload = law.step.offered_pps / layout.rate_pps
                _tell_by_rest(runner, layout, index, law, overload)
                index += 1
        if shown is None or again == MOST_AGAIN:
            left.pop(0)
        else:
            layout, again = replace(layout, rate_pps=min(shown, layout.ceiling_pps)), again + 1
    if not _take_two_floods(runner, layout):
        return False
    _take_last_step(runner, layout, index)
    return True


def _take_last_step(runner: Runner, layout: steps.Layout, index: int) -> None:
    """Take one more step, if that may tell what the others have not told."""
    if (found := any_law(runner.sessions(steps.STEP))) is not None:
        if found.begin == "unrested":
            # Under the largest overload packets stay late, and the law runs on from its first drop.
            _tell_by_rest(runner, layout, index, found, steps.overloads(layout)[-1])
    elif _more_would_tell(runner):
        by_flow = _queues_by_flow(runner)
        plan, meta = (steps.steep_plan if by_flow else steps.long_plan)(layout, index)
        _run(runner, plan, meta, plan.end_s)


def _take_two_floods(runner: Runner, layout: steps.Layout) -> bool:
    """Carry out two floods at once, again if they did not fill the path; whether there was time.

    Frames that are full carry more: beside others the path's rate grows with what is sent.
    """
    for index in range(1 + FLOODS_AGAIN):
        plan, meta = steps.two_floods_plan(layout, index)
        if not _run(runner, plan, meta, plan.end_s):
            return index > 0
        seen = runner.sessions(steps.TWO_FLOODS)[-1]
        offered, carried = seen.offered_pps("uneven"), seen.rate_pps("uneven")
        meant = sum(steps.of_two_floods(layout))
        if carried <= 0 or offered / carried >= 1 + (meant - 1) / 2:
            break
        layout = replace(layout, rate_pps=min(MORE * carried, layout.ceiling_pps))
    return True


def _more_would_tell(runner: Runner) -> bool:
    """Whether one more step may name what dropped packets in the steps, and was not named by them."""
    seen, full = _seen(runner.sessions(steps.STEP))
    if not _dropped(seen):
        return False
    if _hardly_acted(seen, full):
        return True
    idle = lost_quietly(runner.sessions("session"))
    return management.judge(seen, idle).kind in ("unknown", "undecided")


def _queues_by_flow(runner: Runner) -> bool:
    """Whether the two floods show a queue for each flow."""
    seen = sharing.observe(runner.sessions(steps.TWO_FLOODS)[-1])
    return seen is not None and sharing.judge(seen, sparse_passes=True) == "by_flow"


def fill_the_queue(runner: Runner, layout: steps.Layout) -> None:
    """Take a step that fills the queue, if no step of those before has lost a packet.

    Queues of 1000 packets for each flow are not filled by the other steps on a slow path. ``layout``:
    with the length of the queue that the sessions have found.
    """
    taken = runner.sessions(steps.STEP)
    seen, _ = _seen(taken)
    if not seen or _dropped(seen):
        return
    overload, length_s = steps.filling_step(layout)
    if length_s <= steps.LONGEST_S:
        plan, meta = steps.step_plan(layout, overload, length_s, len(taken))
        _run(runner, plan, meta, plan.end_s)


def _tell_by_rest(
    runner: Runner, layout: steps.Layout, index: int, found: CoDel, overload: float
) -> None:
    """Carry out a step that tells which CoDel this is, of which ``found`` knows the law alone.

    Behind a longer rest the first gaps tell.
    """
    drops = sum(len(taken.drops) for taken in runner.sessions(steps.STEP))
    rest = steps.rest_s(found.law.interval_s, drops)
    plan, meta = steps.step_plan(layout, overload, steps.LENGTHS_S[1], index, rest)
    _run(runner, plan, meta, plan.end_s)


def _rate_shown_pps(step: Session, overload: float) -> float | None:
    """Return the path's rate by a step of another overload than was meant, else None.

    Of a path that carried all of the step only a lower end of the rate is known: then it is more.
    """
    offered, rate = step.offered_pps("hold"), step.rate_pps("hold")
    if rate <= 0:
        return None
    if offered / rate > overload + MISLAID:
        return rate
    packets = float(np.count_nonzero(step.flood & step.run.sent))
    excess = packets * (1 - 1 / overload)
    waiting = step.waiting_after_flood
    if waiting is None:
        waiting = packets * (1 - rate / offered)
    return MORE * offered if waiting + len(step.drops) < excess / 2 else None


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


def last_law(taken: Sequence[Session]) -> CoDel | None:
    """Return CoDel's law if the last step in which a queue stood follows that law."""
    seen, full = _seen(taken)
    return management.fitted_codel(seen[-1:], full)


def any_law(taken: Sequence[Session]) -> CoDel | None:
    """Return CoDel's law if any of the steps, or all together, follow that law."""
    seen, full = _seen(taken)
    return management.fitted_codel(seen, full)


def _dropped(seen: Sequence[Step]) -> bool:
    """Whether a packet was lost in any of the steps."""
    return any(len(step.drops) for step in seen)


def _hardly_acted(seen: Sequence[Step], full: float | None) -> bool:
    """Whether a few packets were lost with room in the queue, in no step more than that."""
    early = [int((step.lost & with_room(step, full)).sum()) for step in seen]
    return 0 < max(early) < FEW_DROPS
