"""Whether flows share one queue, have one each, or only sparse flows pass the others.

Test: of two floods at once, one sends more than an equal share of the path and one less. In one queue
both wait and lose alike. Where each flow has a queue the smaller one waits less and loses nothing.
Two floods alike then show whether the path is shared equally.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.result import Sharing
from airqueue.measure.session import Session

APART: Final = 0.5
"""Greatest ratio of the smaller flood's wait to the larger one's where they wait apart."""
TOGETHER: Final = 0.8
"""Least ratio where they wait in one queue."""
WAITING: Final = 5.0
"""Packet times that the larger flood must have waited: else its losses are compared."""
LOSING: Final = 0.05


@dataclass(frozen=True, slots=True)
class Floods:
    """The two floods, larger first: median wait in seconds, share lost; and the share of the path
    that the second of two equal floods got."""

    wait_s: tuple[float, float]
    lost: tuple[float, float]
    losses: tuple[int, int]
    """The same as numbers of packets."""
    equal_share: float | None
    packet_s: float


def observe(session: Session) -> Floods | None:
    """Return what two floods at once show; None if the path was never quiet or the run was cut."""
    run, due = session.run, session.arrival_if_empty_ns
    if due is None or run.end != "complete":
        return None
    waits, shares, losses = [], [], []
    start, end = session.phases["uneven"]
    # The second half: the queues have filled.
    late = session.during("uneven") & (run.scheduled_ns >= round((start + end) / 2 * 1e9))
    for larger in (True, False):
        of = late & run.sent & ((run.flow == FLOOD_FLOW) == larger)
        got = of & run.received
        if not np.any(got):
            return None
        waits.append(float(np.median(run.received_ns[got] - due[got])) * 1e-9)
        losses.append(int(np.count_nonzero(of) - np.count_nonzero(got)))
        shares.append(losses[-1] / np.count_nonzero(of))
    even = session.during("even") & run.received
    second = np.count_nonzero(even & (run.flow != FLOOD_FLOW))
    total = np.count_nonzero(even)
    rate = session.rate_pps("uneven")
    return Floods(
        (waits[0], waits[1]),
        (shares[0], shares[1]),
        (losses[0], losses[1]),
        second / total if total else None,
        1 / rate if rate > 0 else 0.0,
    )


def judge(floods: Floods, *, sparse_passes: bool) -> Sharing:
    """Return how flows share. ``sparse_passes``: a sparse flow passed the flood in the sessions."""
    larger, smaller = floods.wait_s
    if larger >= WAITING * floods.packet_s:
        ratio = max(0.0, smaller) / larger
        error = 0.0
    elif floods.lost[0] >= LOSING:
        ratio = floods.lost[1] / floods.lost[0]
        error = 2 * ratio * float(np.sqrt(sum(1 / max(1, n) for n in floods.losses)))
    else:
        return "undecided"
    if ratio <= APART:
        return "by_flow"
    if ratio + error >= TOGETHER:
        return "sparse_first" if sparse_passes else "one_queue"
    return "undecided"
