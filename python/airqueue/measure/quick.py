"""APQ made quick: packet trains and a geometric ramp, then sessions only as long as they must be.

1. *Ramp*: trains at 4, 16, 64, ... Mb/s until the path lets out less than goes in: its rate T.
2. *Exploration*: a flood at 3 T, four times as long each time, until packets are refused: a first
   count of the queue, which sets the length of the sessions.
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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from airqueue.measure import capacity
from airqueue.measure.analysis import load_point
from airqueue.measure.disciplines import verdict
from airqueue.measure.disciplines.steps import STEP, TWO_FLOODS, Layout
from airqueue.measure.evidence import lost_quietly, observe
from airqueue.measure.gates import SENDER_SHORTFALL, Judged, judge
from airqueue.measure.naming import fill_the_queue, take_classes, take_steps
from airqueue.measure.plan import FLOOD_FLOW, RATE_WINDOW_S, Plan, Segment, cbr
from airqueue.measure.quiet import PROBE_FLOWS, baseline, farewell, quiet_length_s
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.session import SEVERAL, Session, rate_of
from airqueue.measure.standing import KIND as STANDING
from airqueue.measure.standing import Layout as StandingLayout
from airqueue.measure.standing import chance, standing_plan
from airqueue.measure.verdicts import EARLY_CHANCE, Finding, find, standing_total
from airqueue.stats import t_interval

RAMP_START_BPS = 4e6
RAMP_FACTOR = 4.0
TRAIN_S = 0.15
TRAIN_PACKETS = (48, 20_000)
SATURATED_SHARE = 0.85
"""A train whose second half arrives at less than this share of its rate found the bottleneck."""

FILL, HOLD, PRESS = 3.0, 1.3, 2.0
"""Offered rate in the phases of a session, as multiples of the path's rate."""
LEAST_OVERLOAD = 1.1
"""A sender that cannot offer this multiple of the path's rate does not fill its queue for sure."""
WITHIN_LIMITS = 0.97
"""Share of what the endpoints agree to that is used: rates of whole packets round up."""
LATE_TRAINS = 3
"""Trains with which the sender may fall behind before that is its limit: it may have been busy."""
SUBSTITUTES = 2
"""Sizes tried in the place of one that cannot be sent fast enough."""
WARM = 0.8
"""Rate before the flood, as a share of the path's: the hosts are awake, and nothing waits."""
WARM_PACKETS = 24
"""At least so many packets then."""
PROBE_SHARE = 0.008
"""Probes during hold, as a share of the path's rate: few enough to leave Eq. (1) alone."""
HOLD_DROPS = 60
PRESS_PACKETS = 40
PRESS_PROBES = 8
"""Probes on each flow under the strongest overload, enough for some to survive in one FIFO."""
LEAST_HOLD_S, LEAST_PRESS_S = 0.4, 0.15
MIN_SESSIONS, MAX_SESSIONS = 3, 12
NO_FIFO = ("isolated", "not_flat", "policer")
"""Verdicts that more sessions do not refine: steps do."""
SHORT_INTERVAL = (0.5, 0.0025)
"""Stop when half an interval is at most this many packets or this share, whichever is larger."""
LONGEST_FLOOD_S = 60.0
SEARCHES = 4
"""Searches for the rate of the path before nothing is said to saturate it."""
CARRIED_SHARE = 0.955
"""A flood that arrives at more than this share of its rate fills nothing: between all of it and what
is left of the least overload."""
PASSED = 10.0
"""Packets of the flood, at least, that sparse packets pass where flows have queues of their own."""
GIVE_UP_AFTER = 4
"""Sessions discarded in a row before a size is given up."""
MIN_REFUSED = 10
"""An exploring flood has filled the queue when this many of its packets were refused."""
MIN_HELD = 8.0
"""Sessions are laid out for at least this many packets in the queue."""
MOST_STANDING = 3
"""Runs with a standing queue while the losses in it leave a doubt."""
UNSURE_CHANCE = 0.2
"""Less likely losses in a standing queue are worth another run."""


@dataclass(frozen=True, slots=True)
class Found:
    """Result of the search for one size, in packets/s.

    ``ceiling_pps`` is what the sender can really send: its agreed limit, or nine tenths of what it
    managed when it fell behind.
    """

    rate_pps: float
    ceiling_pps: float


@dataclass
class SizeState:
    """Knowledge so far about one packet size."""

    size_bytes: int
    rate_pps: float
    ceiling_pps: float
    held: float
    counts: list[float] = field(default_factory=list)
    drained: list[float] = field(default_factory=list)
    tried: int = 0
    refused_in_a_row: int = 0

    @property
    def done(self) -> bool:
        """Whether its interval is short enough, or trying on is pointless."""
        if self.refused_in_a_row >= GIVE_UP_AFTER or self.tried >= MAX_SESSIONS:
            return True
        # In a queue that drops at its head only the drained packets are constant: give counting a
        # lead.
        late = len(self.counts) >= MIN_SESSIONS + 2
        return _short(self.counts) or (late and _short(self.drained))


def _short(values: Sequence[float]) -> bool:
    """Whether enough sessions make the interval of their mean short enough to stop."""
    interval = t_interval(values)
    if interval is None or interval.n < MIN_SESSIONS:
        return False
    packets, share = SHORT_INTERVAL
    return interval.half_width <= max(packets, share * interval.mean)


def measure_quick(runner: Runner, sizes: Sequence[int]) -> dict[str, Any]:
    """Run the quick profile; returns header values for `analyze` (``warnings``)."""
    warnings: list[str] = []
    states: list[SizeState] = []
    for size in sizes:
        state = prepare(runner, size, states, warnings)
        if state is not None:
            states.append(state)
        elif not states:
            return {"warnings": warnings}
    if not name_or_count(runner, states):
        return {"warnings": [*warnings, "The time limit ended the measurement."]}
    if states[0].counts:
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
    told = keep_standing(runner, states) and not others_hide_capacity(runner)
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
    if steps_taken(runner) or not take_steps(runner, layout_of(states[0])):
        return True
    taken = runner.sessions(STEP, TWO_FLOODS)
    return not verdict.looks_like_fifo(taken, lost_quietly(runner.sessions("session")))


def others_hide_capacity(runner: Runner) -> bool:
    """Whether a FIFO's count is no capacity, since packets of others may be in the queue.

    Flows that share the queue by rules of their own look like this, too: steps tell.
    """
    finding = found_so_far(runner)
    accepted = [j for j in judge(runner.sessions("session")) if j.refused is None]
    return finding.verdict == "fifo" and capacity.of_others(accepted, finding) is not None


def layout_of(state: SizeState) -> Layout:
    """Return what steps are laid out for."""
    quiet_s = quiet_length_s(state.rate_pps, 1)
    sparse = baseline(0.0, quiet_s, state.rate_pps, (state.size_bytes,))
    return Layout(state.size_bytes, state.rate_pps, state.ceiling_pps, state.held, sparse, quiet_s)


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
        state.size_bytes, state.rate_pps, state.ceiling_pps, state.held, finding.allowed
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


def prepare(
    runner: Runner, size: int, states: Sequence[SizeState], warnings: list[str]
) -> SizeState | None:
    """Find rate and first count for a size; None if nothing saturates the path.

    Small packets need more of them per second than a sender may manage: then a size nearer to the
    first one takes their place.
    """
    if not states:
        return search(runner, size)
    first, wanted = states[0], size
    for _ in range(SUBSTITUTES + 1):
        found = find_rate(runner, size, first.rate_pps * first.size_bytes)
        if found is not None:
            if size != wanted:
                warnings.append(
                    f"{wanted}-byte packets could not be sent fast enough to fill the queue; "
                    f"{size}-byte packets took their place."
                )
            held = first.held * max(1.0, first.size_bytes / size)
            return SizeState(size, found.rate_pps, found.ceiling_pps, held)
        size = (size + first.size_bytes) // 2
    warnings.append(f"{wanted}-byte packets could not be sent fast enough to fill the queue.")
    return None


def search(runner: Runner, size: int) -> SizeState | None:
    """Find rate and first count for the first size; None if nothing saturates the path.

    A stall in a train makes the path look slow. The flood that then fills nothing tells: the search
    goes on from what that flood offered.
    """
    hint: float | None = None
    for _ in range(SEARCHES):
        found = find_rate(runner, size, hint)
        if found is None:
            return None
        held = explore(runner, size, found)
        if held is not None:
            return SizeState(size, found.rate_pps, found.ceiling_pps, held)
        hint = found.rate_pps * size
    return None


def find_rate(runner: Runner, size: int, hint_byte_rate: float | None) -> Found | None:
    """Find the path's rate for packets of one size; None if nothing saturates it."""
    agreed = WITHIN_LIMITS * runner.prober.max_rate_pps(size)
    rate = RAMP_START_BPS / (8 * size) if hint_byte_rate is None else FILL * hint_byte_rate / size
    index = late = 0
    while True:
        rate = min(rate, agreed)
        runner.say("search", f"looking for the rate of the path, {size}-byte packets")
        point = load_point(runner.run(*train_plan(size, rate, index, agreed)))
        offered, received = point["offered_pps"] or 0.0, point["received_pps"] or 0.0
        short = offered < SENDER_SHORTFALL * rate
        ceiling = (SENDER_SHORTFALL * offered if short else agreed) - most_probes_pps(received)
        if 0 < received < SATURATED_SHARE * offered and ceiling >= LEAST_OVERLOAD * received:
            return Found(received, ceiling)
        late += short
        if (rate >= agreed and not short) or late >= LATE_TRAINS:
            return None
        if not short:
            rate *= RAMP_FACTOR
        index += 1


def most_probes_pps(rate_pps: float) -> float:
    """Highest rate of the probes beside the flood: both together must keep the server's limits."""
    return len(PROBE_FLOWS) * PRESS_PROBES / press_length_s(rate_pps)


def press_length_s(rate_pps: float) -> float:
    """Length of the press phase on a path of this rate."""
    return max(LEAST_PRESS_S, PRESS_PACKETS / rate_pps) if rate_pps > 0 else LEAST_PRESS_S


def train_plan(
    size: int, rate_pps: float, index: int, agreed_pps: float
) -> tuple[Plan, dict[str, Any]]:
    """A train long enough to outlast the tokens that a shaper has saved."""
    count = int(np.clip(TRAIN_S * rate_pps, *TRAIN_PACKETS))
    end = 0.05 + count / rate_pps
    plan = Plan((cbr(FLOOD_FLOW, 0.05, end, rate_pps, size), *farewell(end + 0.02, size)))
    meta = {"kind": "search", "profile": "quick", "size_bytes": size, "index": index}
    says = f"train at {rate_pps * size * 8e-6:.0f} Mb/s"
    return plan, {**meta, "flood_s": [0.05, end], "agreed_pps": agreed_pps, "says": says}


def explore(runner: Runner, size: int, found: Found) -> float | None:
    """Repeat longer floods until packets are dropped; returns a first count of the queue."""
    flood_s, index = 0.3, 0
    while flood_s <= LONGEST_FLOOD_S:
        runner.say("search", f"filling the queue for {flood_s:.1f} s")
        offered = min(FILL * found.rate_pps, found.ceiling_pps)
        plan, meta = flood_plan(size, found.rate_pps, offered, flood_s, index)
        session = Session(runner.run(plan, meta))
        if _sparse_pass(session):
            _name_now(runner, size, found, session)
        if _refuses(session):
            return max(MIN_HELD, first_count(session))
        if session.rate_pps("hold") > CARRIED_SHARE * session.offered_pps("hold"):
            return None
        flood_s, index = 4 * flood_s, index + 1
    return None


def _sparse_pass(session: Session) -> bool:
    """Whether sparse packets passed many of the flood's that waited."""
    overtaken, held = observe(session).overtaken, session.waiting_after_flood
    return overtaken is not None and overtaken > max(PASSED, 0.25 * (held or 0.0))


def _name_now(runner: Runner, size: int, found: Found, session: Session) -> None:
    """Take the steps before longer floods: those overflow the memory of a discipline with queues for
    each flow, and some (CAKE) then drop for minutes before packets wait."""
    if steps_taken(runner):
        return
    held = max(MIN_HELD, session.waiting_after_flood or 0.0)
    state = SizeState(size, carried_pps(session) or found.rate_pps, found.ceiling_pps, held)
    take_steps(runner, layout_of(state))


def carried_pps(session: Session) -> float:
    """Return packets/s of an exploring flood's arrivals without the first ones, 0 if there are few.

    A flood lasts longer than a train and fills the frames that others' transmissions delay. The first
    packets may pass a shaper with the tokens that were saved.
    """
    arrived = np.sort(session.run.received_ns[session.flood & session.run.received])
    return rate_of(arrived[len(arrived) // 4 :]) if len(arrived) >= TRAIN_PACKETS[0] else 0.0


def steps_taken(runner: Runner) -> bool:
    """Whether there are steps among the runs."""
    return bool(runner.sessions(STEP))


def _refuses(session: Session) -> bool:
    """Whether the end of an exploring flood met a full queue, and not only losses in the air.

    A full queue refuses what the path does not carry; a quarter of that is more than the air loses.
    """
    offered, carried = session.offered_pps("hold"), session.rate_pps("hold")
    excess = 1 - carried / offered if offered > 0 else 0.0
    return len(session.drops) >= MIN_REFUSED and session.loss("hold") > max(0.02, excess / 4)


def first_count(session: Session) -> float:
    """First count of the queue; where the path was never quiet, rate times the growth of delay."""
    waiting = session.waiting_at_drop
    known = waiting[~np.isnan(waiting)]
    if len(known):
        return float(np.median(known[-50:]))
    delay = session.run.delay_s[session.flood & session.run.received]
    return float(np.ptp(delay)) * session.rate_pps("hold") if len(delay) else 0.0


def flood_plan(
    size: int, rate_pps: float, offered_pps: float, flood_s: float, index: int
) -> tuple[Plan, dict[str, Any]]:
    """A flood between two quiet moments."""
    start = quiet_length_s(rate_pps, 1)
    end = start + flood_s
    middle = start + flood_s / 2
    phases = {
        "quiet": [0.0, start],
        "fill": [start, middle],
        "hold": [middle, end],
        "after": [end, end],
    }
    segments = (
        *baseline(0.0, start, rate_pps, (size,)),
        cbr(FLOOD_FLOW, start, end, offered_pps, size),
        *(Segment(flow, middle, end - middle, PRESS_PROBES, size) for flow in PROBE_FLOWS),
        *farewell(end + 0.05, size),
    )
    meta = {"kind": "exploration", "profile": "quick", "size_bytes": size, "index": index}
    return Plan(segments), {**meta, "phases": phases, "says": f"filling for {flood_s:.1f} s"}


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
    fill = warm + max(RATE_WINDOW_S, 1.2 * state.held / (filling - rate) + 0.03)
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
