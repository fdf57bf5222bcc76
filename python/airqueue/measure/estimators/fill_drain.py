"""Counts the packets that arrive after the end of the flood."""

from __future__ import annotations

from airqueue.measure.session import Session


def fill_drain(session: Session) -> float | None:
    """Estimate the capacity as the packets that drain after the flood's last one reached the queue.

    One number per session, whichever packets were dropped before: it holds for drops at the head,
    and random loss touches it only by its share. The queue must be full when the flood ends, which
    the overload before sees to: None if more packets came through without a loss at the end than
    drained afterwards (the rate had risen and nothing was refused any more), or if the path was
    never quiet. Half of a burst in flight is taken off, as in `counting`.
    """
    drained = session.waiting_after_flood
    if drained is None or session.clean_tail > 1.5 * drained + 10:
        return None
    return max(0.0, drained - session.burst_in_flight / 2)
