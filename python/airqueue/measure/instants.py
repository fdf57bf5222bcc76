"""When packets left their host, and how well the instants are known at which they reach the queue.

The delay of the empty path is measured with single packets, that of the full one holds for a flood.
A host that was idle wakes up first: it takes tens of microseconds longer to hand a single packet to
its device, an idle receiver takes longer to stamp its arrival. Where a packet takes as little time
through the bottleneck, that is a packet of the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from airqueue.measure.clock import settled_rows
from airqueue.measure.records import MISSING

if TYPE_CHECKING:
    from airqueue.measure.session import Session

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MIN_STAMPS = 3
"""Fewer transmit stamps than this in a phase do not tell how long its packets took."""
TOGETHER_NS = 2_000
"""A program that finds several packets due hands them to the kernel at once, and notes for each of
them when it was written: a fraction of this after the one before."""
FASTEST = 10
"""Percentile of the times that stamped packets took: that of one packet, without a wake-up."""
LEAST = 3
"""So many packets of the flood must have been as fast, before the path is said to be."""


def left_ns(session: Session) -> Floats:
    """Return when each packet left its host for the network, NaN if it never did; shape (n,).

    The kernel stamps few of the flood's packets as they leave, and nearly all sparse ones. The
    others take what the stamped ones of their phase took in the middle. Packets that were handed over
    together leave one after another. Without stamps in the flood and without load the program's own
    times are all there is.
    """
    run = session.run
    left = run.sent_ns.astype(float)
    left[~run.sent] = np.nan
    stamped = run.sent & (run.kernel_tx_ns != MISSING)
    took = (run.kernel_tx_ns - run.sent_ns).astype(float)
    usual = np.zeros(len(run))
    for rows in (session.busy_time, ~session.busy_time):
        if np.count_nonzero(rows & stamped) < MIN_STAMPS:
            return left
        usual[rows] = np.median(took[rows & stamped])
    for phase in session.phases:
        rows = session.during(phase)
        if np.count_nonzero(rows & stamped) >= MIN_STAMPS:
            usual[rows] = np.median(took[rows & stamped])
    usual += _place(session) * _one_ns(session, took[stamped & session.busy_time])
    return np.asarray(left + np.where(stamped, took, usual))


def _place(session: Session) -> Ints:
    """How many packets were handed over before each one, together with it; shape (n,)."""
    run = session.run
    rows = np.arange(len(run))
    at = np.where(run.sent, run.sent_ns, run.scheduled_ns)
    first = np.diff(at, prepend=at[:1]) > TOGETHER_NS
    first[:1] = True
    return np.asarray(rows - np.maximum.accumulate(np.where(first, rows, 0)))


def _one_ns(session: Session, took: Floats) -> float:
    """Time that the sending host needs for one more packet: it keeps up with the flood."""
    sent = session.run.sent_ns[session.busy & session.run.sent]
    if len(sent) < 2:
        return 0.0
    mean_gap_ns = float(np.ptp(sent)) / (len(sent) - 1)
    return min(float(np.percentile(took, FASTEST)), mean_gap_ns)


def late_ns(session: Session) -> float:
    """By how much the instants at which packets reach the queue may be estimated too late.

    The quiet delay varies, by its interquartile range, and it may be that of hosts and devices that
    were asleep: by so much the fastest packets of the flood, where some met no queue, were faster
    than all single ones.
    """
    due, quiet = session.arrival_if_empty_ns, session.quiet_delay
    if due is None or quiet is None:
        return 0.0
    excess = session.run.received_ns - due
    alone = np.concatenate([settled_rows(session, phase) for phase in ("quiet", "after")])
    flood = excess[session.busy & session.run.received]
    if len(flood) < LEAST:
        return quiet.jitter_s * 1e9
    woken = float(np.min(excess[alone]) - np.partition(flood, LEAST - 1)[LEAST - 1])
    return quiet.jitter_s * 1e9 + max(0.0, woken)


def pacing_s(session: Session) -> float:
    """From the 10th to the 90th percentile of the times that packets of the full flood took to leave.

    0 without stamps. A program that falls behind hands over several packets at once, which leave one
    after another, at instants that are known to about this.
    """
    run = session.run
    stamped = session.loaded & session.flood & run.sent & (run.kernel_tx_ns != MISSING)
    if np.count_nonzero(stamped) < MIN_STAMPS:
        return 0.0
    low, high = np.percentile(run.kernel_tx_ns[stamped] - run.sent_ns[stamped], [10, 90])
    return float(high - low) * 1e-9
