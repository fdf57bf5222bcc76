"""Eq. (1) with its known biases removed."""

from __future__ import annotations

import numpy as np

from airqueue.measure.session import Session


def corrected(session: Session) -> float | None:
    """Estimate the waiting packets by Little's law over all packets of the hold phase.

    Four differences from `published`: All packets count, not only the flood's: the baseline
    occupies slots too. Means replace medians: Little's law holds for means, also when the rate
    varied. The quiet delay is interpolated in time between its two sides, so a drifting clock
    cancels. And the phase between arrivals and departures is accounted for: an admitted packet takes
    a slot that has been free for half a gap between arrivals on average, so its delay is short of
    the full queue's by T / (2 offered) packets (0.4 at an overload of 1.3). None where undefined.
    """
    run = session.run
    due = session.arrival_if_empty_ns
    full = session.during("hold") & run.received & run.sent
    if due is None or not np.any(full):
        return None
    waited_s = float(np.mean(run.received_ns[full] - due[full])) * 1e-9
    rate_pps, offered_pps = session.rate_pps("hold"), session.offered_pps("hold")
    if rate_pps <= 0 or offered_pps <= 0:
        return None
    return waited_s * rate_pps + min(1.0, rate_pps / offered_pps) / 2
