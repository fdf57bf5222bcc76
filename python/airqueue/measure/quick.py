"""APQ made quick: packet trains and a geometric ramp, then sessions only as long as they must be.

1. *Ramp*: trains at 4, 16, 64, ... Mb/s until the path lets out less than goes in: its rate T.
2. *Exploration*: a flood at 3 T, four times as long each time, until packets are refused: a first
   count of the queue, which sets the length of the sessions (both: `airqueue.measure.search`). Where
   packets pass at once beyond T, floods after a rest tell how deep the token bucket is
   (`airqueue.measure.bucket`).
3. *Sessions* for every packet size in turn: quiet, 0.8 T for a moment, fill at 3 T, hold at 1.3 T,
   press at 2 T, quiet.
   They stop when the confidence interval of every size is short enough.
4. If they saw one FIFO, its queue *stands* for seconds (`airqueue.measure.standing`): again while the
   losses do not decide whether it manages itself.
5. If they saw something else, or do not decide, *steps* of overload tell which discipline this is
   (`airqueue.measure.naming`).
6. At the end one run tells how the device treats *traffic classes*
   (`airqueue.measure.disciplines.classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from airqueue.measure import capacity
from airqueue.measure.disciplines import verdict
from airqueue.measure.disciplines.steps import STEP, TWO_FLOODS
from airqueue.measure.evidence import lost_quietly
from airqueue.measure.gates import Judged, judge
from airqueue.measure.known import MIN_SESSIONS, SizeState, find_bucket, layout_of, tokens
from airqueue.measure.naming import fill_the_queue, take_classes, take_steps
from airqueue.measure.plan import FLOOD_FLOW, RATE_WINDOW_S, Plan, Segment, cbr
from airqueue.measure.quiet import PROBE_FLOWS, baseline, farewell, quiet_length_s
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.search import (
    FILL,
    LEAST_OVERLOAD,
    MIN_HELD,
    PRESS_PROBES,
    prepare,
    press_length_s,
    steps_taken,
)
from airqueue.measure.session import SEVERAL, Session
from airqueue.measure.standing import KIND as STANDING
from airqueue.measure.standing import Layout as StandingLayout
from airqueue.measure.standing import chance, standing_plan
from airqueue.measure.verdicts import EARLY_CHANCE, Finding, find, standing_total

HOLD, PRESS = 1.3, 2.0
"""Offered rate in these phases of a session, as multiples of the path's rate."""
WARM = 0.8
"""Rate before the flood, as a share of the path's: the hosts are awake, and nothing waits."""
WARM_PACKETS = 24
"""At least so many packets then."""
PROBE_SHARE = 0.008
"""Probes during hold, as a share of the path's rate: few enough to leave Eq. (1) alone."""
HOLD_DROPS = 60
LEAST_HOLD_S = 0.4
NO_FIFO = ("isolated", "not_flat", "policer")
"""Verdicts that more sessions do not refine: steps do."""
HIDING = 0.25
"""Share of the queue by which lengths at refused packets may differ where bursts explain that."""
MOST_STANDING = 3
"""Runs with a standing queue while the losses in it leave a doubt."""
UNSURE_CHANCE = 0.2
"""Less likely losses in a standing queue are worth another run."""


def measure_quick(runner: Runner, sizes: Sequence[int]) -> dict[str, Any]:
    """Run the quick profile; returns header values for `analyze` (``warnings``)."""
    warnings: list[str] = []
    states: list[SizeState] = []
    for size in sizes:
        state = prepare(runner, size, states, warnings)
        if state is not None:
            find_bucket(runner, state)
            states.append(state)
        elif not states:
            return {"warnings": warnings}
    if not name_or_count(runner, states):
        return {"warnings": [*warnings, "The time limit ended the measurement."]}
    if states[0].counts and states[0].saved is not None:
        layout = layout_of(states[0])
        fill_the_queue(runner, layout)
        take_classes(runner, layout)
    return {"warnings": warnings}


def name_or_count(runner: Runner, states: Sequence[SizeState]) -> bool:
    """Count the queue's packets, or find which discipline it has; False if the time was over."""
    ended = sessions(runner, states, until=lambda: clearly_no_fifo(runner, states))
    if not ended and name(runner, states):
        return True
    # Nothing else was found: uneven service makes a FIFO look like more for some sessions.
    if sessions(runner, states):
        return False
    told = keep_standing(runner, states) and not count_in_doubt(runner)
    if not steps_taken(runner):
        name(runner, states, in_doubt=not told)
    return True


def sessions(
    runner: Runner, states: Sequence[SizeState], until: Callable[[], bool] = lambda: False
) -> bool:
    """Run sessions of every size in turn until all are done; whether the time limit ended them."""
    while any(not s.done for s in states) and not until():
        for state in states:
            if state.done:
                continue
            if runner.out_of_time(session_plan(state, states)[0].end_s) and all(
                len(s.counts) >= 2 for s in states
            ):
                return True
            one_session(runner, state, states)
    return False


def clearly_no_fifo(runner: Runner, states: Sequence[SizeState]) -> bool:
    """Whether the sessions so far saw something else than a FIFO: more of them add nothing."""
    if any(len(s.counts) < MIN_SESSIONS for s in states):
        return False
    return found_so_far(runner).verdict in NO_FIFO


def found_so_far(runner: Runner) -> Finding:
    """Judge the runs so far as `analyze` will."""
    return find(
        judge(runner.sessions("session")),
        standing=runner.sessions(STANDING),
        explored=runner.sessions("exploration"),
    )


def name(runner: Runner, states: Sequence[SizeState], *, in_doubt: bool = False) -> bool:
    """Take steps where the sessions saw no FIFO, or ``in_doubt``.

    Returns whether the steps tell of another queue.
    """
    if not in_doubt and found_so_far(runner).verdict not in (*NO_FIFO, "undecided"):
        return False
    if states[0].saved is None:
        return True
    if steps_taken(runner) or not take_steps(runner, layout_of(states[0])):
        return True
    taken = runner.sessions(STEP, TWO_FLOODS)
    return not verdict.looks_like_fifo(taken, lost_quietly(runner.sessions("session")))


def count_in_doubt(runner: Runner) -> bool:
    """Whether a FIFO's count may be no capacity: steps then tell.

    Packets of others may be in the queue; flows that share the queue by rules of their own look like
    this, too. Or frames explain that packets were refused at many lengths: behind frames nearly as
    long as RED's queue RED's sessions look like those of a FIFO.
    """
    finding = found_so_far(runner)
    if finding.verdict != "fifo":
        return False
    accepted = [j for j in judge(runner.sessions("session")) if j.refused is None]
    if capacity.of_others(accepted, finding) is not None:
        return True
    beyond = [j.seen.spread - HIDING * j.counted for j in accepted if j.seen.spread is not None]
    return finding.burst > SEVERAL and bool(beyond) and float(np.median(beyond)) > 0.0


def keep_standing(runner: Runner, states: Sequence[SizeState]) -> bool:
    """Let the queue of what looks like one FIFO stand, until its losses decide the kind.

    Returns False if no run tells: where the path is never quiet before a run, and where packets were
    lost with room behind frames of several. Frames empty a queue unevenly, so that a controller rests
    and may drop as little as the air loses.
    """
    judged = judge(runner.sessions("session"))
    finding = find(judged)
    if finding.verdict != "fifo" or finding.drop_from == "head":
        return True
    state, sizes = states[0], [s.size_bytes for s in states]
    quiet_s = quiet_length_s(state.rate_pps, len(sizes))
    sparse = baseline(0.0, quiet_s, state.rate_pps, sizes)
    layout = StandingLayout(
        state.size_bytes,
        state.rate_pps,
        state.ceiling_pps,
        state.held,
        finding.allowed,
        tokens(state),
    )
    stood: list[Session] = []
    seen = None
    for index in range(MOST_STANDING):
        plan, meta = standing_plan(layout, sparse, quiet_s, index)
        if runner.out_of_time(plan.end_s):
            break
        runner.say("session", "letting the queue stand", None, plan.end_s)
        stood.append(Session(runner.run(plan, meta, None, plan.end_s)))
        seen = standing_total(judged, stood)
        if seen is not None and not EARLY_CHANCE < chance(seen) <= UNSURE_CHANCE:
            break
    return seen is not None and (seen.early[0] == 0 or finding.burst <= SEVERAL)


def session_plan(state: SizeState, states: Sequence[SizeState]) -> tuple[Plan, dict[str, Any]]:
    """Lay out one session from what is known of rate and queue."""
    size, rate = state.size_bytes, state.rate_pps
    sizes = [s.size_bytes for s in states]
    filling, holding, pressing = (
        max(LEAST_OVERLOAD * rate, min(factor * rate, state.ceiling_pps))
        for factor in (FILL, HOLD, PRESS)
    )
    quiet = quiet_length_s(rate, len(sizes))
    warm = quiet + max(RATE_WINDOW_S, WARM_PACKETS / (WARM * rate))
    missing = 1.2 * state.held + tokens(state)
    fill = warm + max(RATE_WINDOW_S, missing / (filling - rate) + 0.03)
    hold = fill + max(LEAST_HOLD_S, HOLD_DROPS / (holding - rate))
    press = hold + press_length_s(rate)
    drained = press + 1.15 * state.held / rate + 0.03
    end = drained + quiet
    probe_pps = min(10.0, PROBE_SHARE * rate)
    segments = [
        *baseline(0.0, quiet, rate, sizes),
        cbr(FLOOD_FLOW, quiet, warm, WARM * rate, size),
        cbr(FLOOD_FLOW, warm, fill, filling, size),
        cbr(FLOOD_FLOW, fill, hold, holding, size),
        cbr(FLOOD_FLOW, hold, press, pressing, size),
        cbr(PROBE_FLOWS[0], fill, hold, probe_pps, size),
        *(Segment(flow, hold, press - hold, PRESS_PROBES, size) for flow in PROBE_FLOWS),
        *baseline(drained, end, rate, sizes),
        *farewell(end + 0.01, size),
    ]
    phases = {
        "quiet": [0.0, quiet],
        "warm": [quiet, warm],
        "fill": [warm, fill],
        "hold": [fill, hold],
        "press": [hold, press],
        "drain": [press, drained],
        "after": [drained, end],
    }
    meta = {"kind": "session", "profile": "quick", "size_bytes": size, "index": state.tried}
    return Plan(tuple(segments)), {**meta, "phases": phases, "says": f"{size}-byte session"}


def one_session(runner: Runner, state: SizeState, states: Sequence[SizeState]) -> Run:
    """Run a session and learn from it."""
    plan, meta = session_plan(state, states)
    done, left_s = _outlook(states, plan.end_s + 0.3)
    says = f"session {state.tried + 1} with {state.size_bytes}-byte packets"
    runner.say("session", says, done, left_s)
    run = runner.run(plan, meta, done, left_s)
    judged = Judged(Session(run))
    state.tried += 1
    if judged.refused is None:
        state.refused_in_a_row = 0
        held = judged.counted
        state.counts.append(held)
        drained = judged.estimates["fill_drain"]
        if drained is not None:
            state.drained.append(drained)
        state.held = max(MIN_HELD, held, drained or 0.0)
        if judged.session.rate_pps("hold") > 0:
            state.rate_pps = judged.session.rate_pps("hold")
    else:
        state.refused_in_a_row += 1
        if judged.refused == "not_saturated":
            # A rate that was found too low, in a stall, shows in what the strongest phase carried.
            carried = [judged.session.rate_pps(p) for p in ("fill", "hold", "press")]
            state.rate_pps = max(state.rate_pps, *carried)
            state.held *= 1.5
    return run


def _outlook(states: Sequence[SizeState], session_s: float) -> tuple[float, float]:
    """Share of the sessions that is done, and the time that the least number still needs."""
    missing = [max(0, MIN_SESSIONS - len(s.counts)) or int(not s.done) for s in states]
    done = sum(len(s.counts) for s in states)
    return done / max(1, done + sum(missing)), sum(missing) * session_s
