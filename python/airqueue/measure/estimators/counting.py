"""Counting the packets that wait when one is refused."""

from __future__ import annotations

import numpy as np

from airqueue.measure.session import MIN_DROPS, Session


def counting(session: Session) -> float | None:
    """Estimate the capacity as the median of `Session.waiting_at_drop`, in packets.

    Needs no throughput, so it survives rate changes and stalls; the median ignores packets that the
    air lost while the queue had room. Where such losses are many they outnumber the drops of a short
    overload, so the drops while the queue is kept full count, under both overloads; those of the
    whole session only where these are too few. A queue that admits more or fewer under another
    overload is not a drop-tail queue, which `airqueue.measure.verdicts` looks at.
    Where the device sends bursts, half of the burst in flight is taken off (see
    `Session.burst_in_flight`). None without drops.
    """
    waiting = session.waiting_at_drop
    known = ~np.isnan(waiting)
    full = known & session.loaded[session.drops]
    if np.count_nonzero(full) >= MIN_DROPS:
        known = full
    if not known.any():
        return None
    return max(0.0, float(np.median(waiting[known])) - session.burst_in_flight / 2)
