"""Observations of one session about the kind of queue, besides the queue's size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.session import Session

MIN_FOR_SPREAD = 5
"""Fewer drops than this in a phase give no spread."""


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """Observations, in packets unless the name says otherwise; None where the records do not tell.

    ``spread``: from the 10th to the 90th percentile of the counts at refused packets under steady
    overload. ``press_ratio``: count under the stronger overload over that under the weaker one (1
    in a drop-tail queue). ``overtaken``: flood packets that a probe sent behind them passed, median
    over probes (0 in one FIFO). ``burst``: packets that arrive together. ``delay_rise``: delay
    gained in the flood, in packet times. ``noise``: jitter of the quiet path in packet times.
    ``pacing``: from the 10th to the 90th percentile of the times in which flood packets left the
    sending host, in packet times.
    ``early``, ``idle`` and ``quiet``: packets lost and sent of the flood until the queue was half
    full, of the baseline before and after it, and before it alone: what is refused while the queue
    still drains is no loss of the path.
    """

    spread: float | None
    press_ratio: float | None
    overtaken: float | None
    burst: float
    delay_rise: float | None
    noise: float
    pacing: float
    early: tuple[int, int]
    idle: tuple[int, int]
    quiet: tuple[int, int]


def observe(session: Session) -> SessionEvidence:
    """Collect the evidence of one session."""
    hold, press = (_waiting_during(session, phase) for phase in ("hold", "press"))
    steady = np.concatenate((hold, press))
    spread = press_ratio = None
    if len(steady) >= MIN_FOR_SPREAD:
        low, high = np.percentile(steady, [10, 90])
        spread = float(high - low)
    if len(hold) >= MIN_FOR_SPREAD and len(press) >= MIN_FOR_SPREAD and np.median(hold) > 0:
        press_ratio = float(np.median(press) / np.median(hold))
    rate = session.rate_pps("hold")
    jitter_s = session.quiet_delay.jitter_s if session.quiet_delay else 0.0
    return SessionEvidence(
        spread=spread,
        press_ratio=press_ratio,
        overtaken=_overtaken(session),
        burst=session.burst,
        delay_rise=None if session.delay_full_s is None else session.delay_full_s * rate,
        noise=jitter_s * rate,
        pacing=session.pacing_s * rate,
        early=_lost_before_half_full(session),
        idle=lost_in(session, "quiet", "after"),
        quiet=lost_in(session, "quiet"),
    )


def _waiting_during(session: Session, phase: str) -> np.ndarray:
    waiting = session.waiting_at_drop[session.during(phase)[session.drops]]
    return np.asarray(waiting[~np.isnan(waiting)])


def _lost_before_half_full(session: Session) -> tuple[int, int]:
    """Flood packets lost and sent until a packet is lost at half of the median filling or more."""
    waiting, drops = session.waiting_at_drop, session.drops
    known = waiting[~np.isnan(waiting)]
    sent = np.flatnonzero(session.flood & session.run.sent)
    if not len(known):
        return 0, 0
    # A burst in service blurs the queue length; losses that it may explain are not called early.
    half = (float(np.median(known)) - session.burst_in_flight) / 2
    late = np.flatnonzero(waiting >= half)
    before = int(late[0]) if len(late) else len(drops)
    end = drops[before] if before < len(drops) else len(session.run)
    return before, int(np.searchsorted(sent, end))


def lost_quietly(sessions: Iterable[Session]) -> tuple[int, int]:
    """Packets lost and sent on the path before the floods, all sessions together."""
    return added([lost_in(session, "quiet") for session in sessions])


def added(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Packets lost and sent, all counts together."""
    return sum(lost for lost, _ in counts), sum(sent for _, sent in counts)


def lost_in(session: Session, *phases: str) -> tuple[int, int]:
    """Packets lost and sent in the phases."""
    mask = np.logical_or.reduce([session.during(phase) for phase in phases]) & session.run.sent
    return int(np.count_nonzero(mask & session.run.lost)), int(np.count_nonzero(mask))


def _overtaken(session: Session) -> float | None:
    run = session.run
    probes = np.flatnonzero(session.loaded & (run.flow != FLOOD_FLOW) & run.received)
    flood = np.flatnonzero(session.flood & run.received)
    if not len(probes) or not len(flood):
        return None
    counts = [
        np.count_nonzero(
            run.received_ns[flood[: np.searchsorted(flood, row)]] > run.received_ns[row]
        )
        for row in probes
    ]
    return float(np.median(counts))
