"""How deep the token bucket of a shaper, or of a policer, is.

Such a device saves tokens while less is sent than its rate, up to the bucket's depth, and lets as
many bytes pass at once, however fast they come. After a rest in which the bucket fills, b packets
pass beyond the rate r: from the flood's first arrival on packet n arrives at t = (n - b) / r, once
the tokens are spent. So b is where the line through the late arrivals meets the flood's beginning. A
link that transmits at r has b = 1, the packet in service.

A run is a rest (``quiet``), a flood (``hold``) and a quiet end. If less passes than a rest saves, the
bucket was full. Such runs, three if there is time, must agree: where the rate falls for another
reason, as beside traffic of others, the number changes from run to run. And no packet waits while
there are tokens: that tells a bucket from a queue in front of a link whose rate falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airqueue.measure.disciplines.steps import MOST_PACKETS, SPENDING, Layout, framed
from airqueue.measure.plan import FLOOD_FLOW, Plan, cbr
from airqueue.measure.remembered import remembered
from airqueue.measure.result import TokenBucket
from airqueue.measure.session import Session, burst_of, in_flight
from airqueue.stats import t_interval

if TYPE_CHECKING:
    from airqueue.measure.runner import Runner

KIND: Final = "bucket"
"""Of the runs' meta data."""
LEAST_PACKETS: Final = 12.0
"""Shallower buckets are not told from uneven service; two bursts, and jitter, come on top."""
FEWEST: Final = 60
"""Arrivals under overload that tell a rate, at least."""
LATEST: Final = 0.875
"""Share of the flood's time after which the tokens should be spent."""
AFTER: Final = 0.25
"""Share of the time since the knee that is left out of the line."""
STEADY: Final = 0.03
"""Share by which the rates of both halves of these arrivals may differ."""
OVERLOADED: Final = 1.05
"""Offered rate, as a multiple of the carried one, that is an overload."""
WAITS: Final = 4.0
"""Packet times that packets may wait while there are tokens, besides a burst and jitter."""
JITTERS: Final = 3.0
"""Interquartile ranges of the empty path's delay that are jitter."""
PASSED: Final = 0.9
"""Share of the packets that do not wait while there are tokens, at least."""
GROWS: Final = 0.25
"""Share of that time that the later half of these packets waits, at most: a queue grows."""
FULL: Final = 0.8
"""A full bucket has at most this share of what a rest saves: it was full before the rest's end."""
LATE_S, LATE_PACKETS = 0.5, 200
"""Length of the flood after the tokens."""
LEAST_REST_S, LONGEST_REST_S = 1.0, 20.0
ALIKE: Final = (3.0, 0.05)
"""Packets, and share, by which the bucket may differ from run to run."""
LONGER: Final = 4.0
"""Factor by which a rest, or a flood, grows that was too short."""
SPARE_S: Final = 1.0
"""Time in which both ends agree to the next run, at most."""
RUNS, MOST_RUNS = 3, 7
"""With a full bucket, and with all shorter rests before."""
RESOLUTION: Final = 1.0
"""Packets: shapers differ in whether the last packet needs all of its tokens, or some."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Saved:
    """What a flood carried beyond the rate with which it ended."""

    packets: float
    rate_pps: float
    """Packets/s when the tokens were spent, all flows."""
    rest_s: float
    """How long no flood had come."""
    least: float
    """Packets from which on this is a bucket."""

    @property
    def full(self) -> bool:
        """Whether the bucket was full: a longer rest would not have saved more."""
        return self.packets <= FULL * self.rate_pps * self.rest_s


@remembered
def saved(session: Session) -> Saved | None:
    """Return what tokens let pass in a flood after a rest.

    None where there is no quiet delay, where the tokens were not spent, and where something else than
    tokens let the packets pass.
    """
    run, due = session.run, session.arrival_if_empty_ns
    rows = np.flatnonzero(session.flood & run.sent)
    got = rows[run.received[rows]]
    if due is None or run.end != "complete" or len(got) < FEWEST:
        return None
    begin = due[rows[0]]
    came_s = (due[rows] - begin) * 1e-9
    first = np.searchsorted(session.arrivals_ns, begin)
    last = np.searchsorted(session.arrivals_ns, run.received_ns[got].max(), side="right")
    arrived = session.arrivals_ns[first:last]
    knee = _knee((arrived - begin) * 1e-9, came_s)
    if knee is None:
        return None
    rate_pps, packets, at = knee
    burst = in_flight(burst_of(arrived[at:]))
    before = got[due[got] < arrived[at]]
    waits_s = (run.received_ns[before] - due[before]) * 1e-9
    if not _pass(waits_s, _room_s(session, rate_pps, burst)):
        return None
    start, end = session.phases["quiet"]
    return Saved(packets, rate_pps, end - start, _least(session, rate_pps, burst))


def _room_s(session: Session, rate_pps: float, burst: float) -> float:
    """Return what a packet may wait that finds tokens."""
    return WAITS / rate_pps + _uneven_s(session, rate_pps, burst)


def _pass(waits_s: Floats, room_s: float) -> bool:
    """Whether packets find tokens: hardly any waits, and the later ones no longer than the first."""
    if not len(waits_s) or np.mean(waits_s <= room_s) < PASSED:
        return False
    return bool(np.median(waits_s[len(waits_s) // 2 :]) <= GROWS * room_s)


def _least(session: Session, rate_pps: float, burst: float) -> float:
    """Return how many packets beyond the rate are a bucket.

    In front of a steady link as many pass in the time that packets may wait as the link then carries.
    """
    return LEAST_PACKETS + 2 * rate_pps * _uneven_s(session, rate_pps, burst)


def _uneven_s(session: Session, rate_pps: float, burst: float) -> float:
    """Return by how much uneven service delays packets: one burst, and the empty path's jitter."""
    quiet = session.quiet_delay
    jitter_s = quiet.jitter_s if quiet is not None else 0.0
    return burst / rate_pps + JITTERS * jitter_s


def _knee(arrived_s: Floats, came_s: Floats) -> tuple[float, float, int] | None:
    """Return the late rate, the packets beyond that rate, and the arrival by which these had passed.

    ``arrived_s``: of all packets; ``came_s``: of the flood's, the instants at which they came. None
    where the end of the flood was no overload, or its rate not steady.
    """
    count = np.arange(1, len(arrived_s) + 1, dtype=np.float64)
    latest = int(np.searchsorted(arrived_s, LATEST * arrived_s[-1]))
    late = slice(max(0, min(latest, len(count) - FEWEST // 2)), None)
    rate_pps = packets = 0.0
    knee = 0
    for _ in range(2):
        if len(count[late]) < FEWEST // 2 or np.ptp(arrived_s[late]) <= 0:
            return None
        rate_pps, packets = _line(count[late], arrived_s[late])
        beyond = count - rate_pps * arrived_s
        reached = np.flatnonzero(beyond >= packets - max(2.0, STEADY * packets))
        if not len(reached):
            return None
        knee = int(reached[0])
        # The knee is known to a few packets.
        after_s = arrived_s[knee] + AFTER * (arrived_s[-1] - arrived_s[knee])
        late = slice(int(np.searchsorted(arrived_s, after_s)), None)
    half = (late.start + len(count)) // 2
    ended_s = float(came_s[-1])
    if len(count) - half < FEWEST // 2 or ended_s <= arrived_s[knee]:
        return None
    parts = slice(late.start, half), slice(half, None)
    early_pps, late_pps = (_line(count[part], arrived_s[part])[0] for part in parts)
    offered_pps = np.count_nonzero(came_s > arrived_s[knee]) / (ended_s - arrived_s[knee])
    if abs(late_pps - early_pps) > STEADY * rate_pps or offered_pps < OVERLOADED * rate_pps:
        return None
    return rate_pps, packets, knee


def _line(count: Floats, at_s: Floats) -> tuple[float, float]:
    """Return the slope of counts over instants, and the count at zero; instants have the errors."""
    slope_s, at_none_s = np.polyfit(count, at_s, 1)
    rate_pps = 1 / max(float(slope_s), 1e-12)
    return rate_pps, -float(at_none_s) * rate_pps


def judge(sessions: Sequence[Session]) -> TokenBucket | None:
    """Judge the runs of kind ``bucket`` among the sessions; None if they show none."""
    runs = [s for s in sessions if s.run.meta.get("kind") == KIND]
    seen = [of for s in runs if (of := saved(s)) is not None and of.packets >= of.least]
    if not seen:
        return None
    frame = runs[-1].frame_bytes
    full = [of.packets for of in seen if of.full]
    if len(full) < 2:
        if seen[-1].full or seen[-1].rest_s < LONGEST_REST_S:
            return None
        return TokenBucket(seen[-1].packets * frame, None, at_least=True)
    packets, share = ALIKE
    interval = t_interval(full)
    if interval is None or np.ptp(full) > max(packets, share * interval.mean):
        return None
    half = RESOLUTION + interval.half_width
    ends = max(0.0, interval.mean - half) * frame, (interval.mean + half) * frame
    return TokenBucket(interval.mean * frame, ends, at_least=False)


def find(runner: Runner, at: Layout) -> None:
    """Carry out runs that tell the bucket, if the last exploring flood shows one."""
    explored = runner.sessions("exploration")
    if not explored or explored[-1].size_bytes != at.size_bytes or runner.sessions(KIND):
        return
    seen = saved(explored[-1])
    at = at if seen is None else replace(at, rate_pps=seen.rate_pps)
    packets = _passed(explored[-1], at.rate_pps)
    if packets is None:
        return
    rest_s, full = _fills_s(at, packets), 0
    for index in range(MOST_RUNS):
        plan, meta = bucket_plan(at, rest_s, packets, index)
        if runner.out_of_time(plan.end_s):
            return
        runner.say("session", str(meta["says"]), None, plan.end_s)
        runner.run(plan, meta, None, plan.end_s)
        run = runner.sessions(KIND)[-1]
        seen = saved(run)
        if seen is None:
            if _spent(run, at.rate_pps):
                return
            # The flood did not spend the tokens.
            packets *= LONGER
            continue
        at = replace(at, rate_pps=seen.rate_pps)
        full += seen.full
        if (
            seen.packets < seen.least
            or full == RUNS
            or (rest_s >= LONGEST_REST_S and not seen.full)
        ):
            return
        if seen.full:
            packets, rest_s = seen.packets, _fills_s(at, seen.packets)
        else:
            # What may be saved from this flood's end to the next one's begin.
            rest_s = min(LONGER * rest_s, LONGEST_REST_S)
            packets = at.rate_pps * (rest_s + plan.end_s - meta["phases"]["hold"][1] + SPARE_S)


def _fills_s(at: Layout, packets: float) -> float:
    """Return a rest that fills a bucket of so many packets."""
    return float(np.clip(1.25 * packets / (FULL * at.rate_pps), LEAST_REST_S, LONGEST_REST_S))


def _passed(session: Session, rate_pps: float) -> float | None:
    """Return how many packets beyond a rate passed before one waited or was lost; None if few did."""
    due, waits_s = session.arrival_if_empty_ns, _waits_s(session)
    if due is None or waits_s is None or len(waits_s) < FEWEST:
        return None
    rows = np.flatnonzero(session.flood & session.run.sent)
    burst = _late_burst(session)
    room_s = _room_s(session, rate_pps, burst)
    stopped = np.flatnonzero(waits_s > room_s)
    first = int(stopped[0]) if len(stopped) else len(rows) - 1
    if not _pass(waits_s[:first], room_s):
        return None
    beyond = first - rate_pps * float(due[rows[first]] - due[rows[0]]) * 1e-9
    return beyond if beyond >= _least(session, rate_pps, burst) else None


def _spent(session: Session, rate_pps: float) -> bool:
    """Whether a packet waited or was lost at the flood's end, or no quiet delay tells."""
    waits_s = _waits_s(session)
    room_s = _room_s(session, rate_pps, _late_burst(session))
    return waits_s is None or bool(np.any(waits_s[-FEWEST:] > room_s))


def _waits_s(session: Session) -> Floats | None:
    """Return the waits of the flood's packets, in the order of sending; infinite for lost ones.

    None where there is no quiet delay.
    """
    run, due = session.run, session.arrival_if_empty_ns
    if due is None:
        return None
    rows = np.flatnonzero(session.flood & run.sent)
    return np.where(run.received[rows], (run.received_ns[rows] - due[rows]) * 1e-9, np.inf)


def _late_burst(session: Session) -> float:
    """Return the packets of a burst at the end, when no token is left."""
    return in_flight(burst_of(session.arrivals_ns[3 * len(session.arrivals_ns) // 4 :]))


def bucket_plan(
    at: Layout, rest_s: float, packets: float, index: int
) -> tuple[Plan, dict[str, Any]]:
    """Lay out a rest, and a flood that spends tokens for so many packets."""
    start = max(at.quiet_s, rest_s)
    rate = max(OVERLOADED * at.rate_pps, min(SPENDING * at.rate_pps, at.ceiling_pps))
    beyond = rate - at.rate_pps
    length = 1.25 * packets / beyond + max(LATE_S, LATE_PACKETS / at.rate_pps)
    end = start + min(length, MOST_PACKETS / rate)
    waiting = min(beyond * (end - start), 2 * at.held + LATE_PACKETS)
    drained = end + 1.2 * waiting / at.rate_pps + at.drains_s
    phases = {"quiet": [0.0, start], "hold": [start, end], "drain": [end, drained]}
    flood = [cbr(FLOOD_FLOW, start, end, rate, at.size_bytes)]
    meta = {"kind": KIND, "index": index, "says": "a flood of what a rest has saved"}
    return framed(at, flood, phases, meta)


def saved_packets(sessions: Sequence[Session], size_bytes: int) -> float | None:
    """Return the packets of a size that a full bucket lets pass, None if that is not known."""
    of = [s for s in sessions if s.run.meta.get("kind") == KIND]
    found = judge(of)
    if found is None:
        return 0.0
    return None if found.at_least else found.bytes / (size_bytes + of[-1].link_overhead_bytes)
