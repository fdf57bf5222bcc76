"""Eq. (1) of the APQ paper, as published."""

from __future__ import annotations

import numpy as np

from airqueue.measure.clock import settled_rows
from airqueue.measure.session import Session


def published(session: Session, pooled: bool = False) -> float | None:
    """Estimate q_p = (D_h - D_l) T / s, in packets (APQ paper, Eq. (1) and Algorithm 2).

    D_h: median delay of the saturation flow in t2; T: its packets received of those sent in t2, per
    second of t2; D_l: the mean of the baseline's medians in t1 and t3, or with ``pooled`` the median
    of both together as Algorithm 2 prints it, which a drifting clock biases. Low by about half a
    packet even in an ideal queue: see `corrected`. The quiet periods count from where the queue has
    drained, which takes no part of the paper's own windows. None without delays on one side.
    """
    run = session.run
    delay = run.delay_s
    full = session.during("hold") & session.flood & run.received & run.sent
    sides = [delay[settled_rows(session, phase)] for phase in ("quiet", "after")]
    sides = [side for side in sides if len(side)]
    if not sides or not np.any(full):
        return None
    if pooled:
        low = float(np.median(np.concatenate(sides)))
    else:
        low = float(np.mean([np.median(side) for side in sides]))
    start, end = session.phases["hold"]
    rate_pps = float(np.count_nonzero(full)) / (end - start)
    return (float(np.median(delay[full])) - low) * rate_pps
