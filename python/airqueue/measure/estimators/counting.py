"""Counting the packets that wait when one is refused."""

from __future__ import annotations

import numpy as np

from airqueue.measure.session import Session


def counting(session: Session) -> float | None:
    """Estimate the capacity as the median of `Session.waiting_at_drop`, in packets.

    Needs no throughput, so it survives rate changes and stalls; the median ignores packets that the
    air lost while the queue had room. Drops of all phases count: a queue that admits more or fewer
    under another overload is not a drop-tail queue, which `airqueue.measure.verdicts` looks at.
    Where the device sends bursts, half of the burst in flight is taken off (see
    `Session.burst_in_flight`). None without drops.
    """
    waiting = session.waiting_at_drop
    known = waiting[~np.isnan(waiting)]
    if not len(known):
        return None
    return max(0.0, float(np.median(known)) - session.burst_in_flight / 2)
