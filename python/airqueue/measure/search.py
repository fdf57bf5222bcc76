"""The search of a quick measurement: the rate of the path, then a first count of the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airqueue.measure import bucket
from airqueue.measure.analysis import load_point
from airqueue.measure.disciplines.steps import STEP
from airqueue.measure.evidence import observe
from airqueue.measure.gates import SENDER_SHORTFALL
from airqueue.measure.known import SizeState, find_bucket, layout_of
from airqueue.measure.naming import take_steps
from airqueue.measure.plan import FLOOD_FLOW, Plan, Segment, cbr
from airqueue.measure.quiet import PROBE_FLOWS, baseline, farewell, quiet_length_s
from airqueue.measure.records import Run
from airqueue.measure.runner import Runner
from airqueue.measure.session import Session, rate_of

RAMP_START_BPS = 4e6
RAMP_FACTOR = 4.0
TRAIN_S = 0.15
TRAIN_PACKETS = (48, 20_000)
SATURATED_SHARE = 0.85
"""A train whose second half arrives at less than this share of its rate found the bottleneck."""

WAITS = 5.0
"""Packet times by which a queue delays a train at least; a policer, and loss in the air, do not."""
SLOW = 0.5
"""Rate, as a share of what arrived of a train, at which another train fills no queue."""

FILL = 3.0
"""Offered rate of floods that fill the queue, as a multiple of the path's rate."""
LEAST_OVERLOAD = 1.1
"""A sender that cannot offer this multiple of the path's rate does not fill its queue for sure."""
WITHIN_LIMITS = 0.97
"""Share of what the endpoints agree to that is used: rates of whole packets round up."""
LATE_TRAINS = 3
"""Trains with which the sender may fall behind before that is its limit: it may have been busy."""
SUBSTITUTES = 2
"""Sizes tried in the place of one that cannot be sent fast enough."""
PRESS_PACKETS = 40
PRESS_PROBES = 8
"""Probes on each flow under the strongest overload, enough for some to survive in one FIFO."""
LEAST_PRESS_S = 0.15
LONGEST_FLOOD_S = 60.0
SEARCHES = 4
"""Searches for the rate of the path before nothing is said to saturate it."""
CARRIED_SHARE = 0.955
"""A flood that arrives at more than this share of its rate fills nothing: between all of it and what
is left of the least overload."""
CARRIED_S = 4.0
"""A flood of this length that fills nothing shows a faster path; the tokens that a shaper has saved
may let a shorter one pass."""
PASSED = 10.0
"""Packets of the flood, at least, that sparse packets pass where flows have queues of their own."""
MIN_REFUSED = 10
"""An exploring flood has filled the queue when this many of its packets were refused."""
MIN_HELD = 8.0
"""Sessions are laid out for at least this many packets in the queue."""


@dataclass(frozen=True, slots=True)
class Found:
    """Result of the search for one size, in packets/s.

    ``ceiling_pps`` is what the sender can really send: its agreed limit, or nine tenths of what it
    managed when it fell behind.
    """

    rate_pps: float
    ceiling_pps: float


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
    """Find the path's rate for packets of one size; None if nothing saturates it.

    Where packets are lost at half the rate at which they arrived, too, the air loses them, and not a
    full queue: the path is faster, and only packets that wait show its rate.
    """
    lossy = False
    agreed = WITHIN_LIMITS * runner.prober.max_rate_pps(size)
    rate = RAMP_START_BPS / (8 * size) if hint_byte_rate is None else FILL * hint_byte_rate / size
    index = late = 0

    def send(rate_pps: float) -> Run:
        return runner.run(*train_plan(size, rate_pps, index, agreed))

    while True:
        rate = min(rate, agreed)
        runner.say("search", f"looking for the rate of the path, {size}-byte packets")
        train = send(rate)
        point = load_point(train)
        offered, received = point["offered_pps"] or 0.0, point["received_pps"] or 0.0
        short = offered < SENDER_SHORTFALL * rate
        ceiling = (SENDER_SHORTFALL * offered if short else agreed) - most_probes_pps(received)
        if 0 < received < SATURATED_SHARE * offered and ceiling >= LEAST_OVERLOAD * received:
            waits = (point["delay_s"] or 0.0) * received > WAITS
            lossy = lossy or not (waits or _overflows(train, received, send))
            if waits or not lossy:
                return Found(received, ceiling)
        late += short
        if (rate >= agreed and not short) or late >= LATE_TRAINS:
            return None
        if not short:
            rate *= RAMP_FACTOR
        index += 1


def _overflows(train: Run, received_pps: float, send: Callable[[float], Run]) -> bool:
    """Whether a train lost what was too much, and not what the air loses at any rate.

    Then the first packets of the train pass, with the tokens of a shaper or a policer; or a slow
    train loses hardly anything. ``send`` sends a train at a rate.
    """
    lost = train.lost[(train.flow == FLOOD_FLOW) & train.sent]
    share = float(np.mean(lost))
    if float(np.mean(lost[: max(1, len(lost) // 4)])) < share / 2:
        return True
    return (load_point(send(SLOW * received_pps))["loss"] or 0.0) < share / 2


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
        carried = session.rate_pps("hold") > CARRIED_SHARE * session.offered_pps("hold")
        if carried and flood_s >= CARRIED_S:
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
    find_bucket(runner, state)
    if state.saved is not None:
        take_steps(runner, layout_of(state))


def carried_pps(session: Session) -> float:
    """Return packets/s of an exploring flood's arrivals without the first ones, 0 if there are few.

    A flood lasts longer than a train and fills the frames that others' transmissions delay. The first
    packets may pass a shaper with the tokens that were saved: where these tell, the rate after them.
    """
    seen = bucket.saved(session)
    if seen is not None and seen.packets >= seen.least:
        return seen.rate_pps
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
