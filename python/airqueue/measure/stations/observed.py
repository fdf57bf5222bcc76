"""What the records of a run say of its flows: when packets left the access point, how long they
waited.

The quiet delay of each flow is fitted to its own packets, as in `clock`: with it every arrival
becomes an instant of the sender's clock, at which the packet would have had to be sent to arrive
then without a queue. That instant is the packet's *departure* from the queue, and its difference to
the time of sending the wait. Two stations are compared by these alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airqueue.measure.records import Run
from airqueue.measure.session import Session

Floats = npt.NDArray[np.float64]

FILLING: Final = 0.4
"""Share of the load in which the queues fill: what leaves in this time is not counted."""
SATURATED: Final = 0.8
"""A path that carries less of what is offered is saturated."""
LEAST_WAITING: Final = 3.0
"""Packet times that the flood must wait where waits are compared."""
LEAST_SPARSE: Final = 5
"""Fewer sparse packets beside a flood that waits do not tell."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The packets of one flow that arrived, in the order of sending; seconds of the sender's
    clock."""

    sent_s: Floats
    departed_s: Floats

    @property
    def waited_s(self) -> Floats:
        """How long each waited."""
        return self.departed_s - self.sent_s


def of_flow(run: Run, flow: int) -> Session:
    """Return a run as if it had had this flow alone."""
    rows = run.flow == flow
    size = int(run.size_bytes[rows][0]) if np.any(rows) else 0
    part = dataclasses.replace(
        run,
        scheduled_ns=run.scheduled_ns[rows],
        sent_ns=run.sent_ns[rows],
        kernel_tx_ns=run.kernel_tx_ns[rows],
        received_ns=run.received_ns[rows],
        flow=np.zeros(np.count_nonzero(rows), dtype=np.uint8),
        size_bytes=run.size_bytes[rows],
        sent_class=None,
        received_class=None,
        meta={**run.meta, "size_bytes": size},
    )
    return Session(part)


def seen(run: Run, flow: int) -> Seen | None:
    """Return what a flow shows; None where its path was never quiet, or its clock was stepped."""
    session = of_flow(run, flow)
    quiet = session.quiet_delay
    if quiet is None or quiet.stepped_s:
        return None
    left = session.left_ns
    got = session.run.received & session.run.sent
    departed = session.run.received_ns[got] - quiet.at_ns(left[got])
    return Seen(left[got] * 1e-9, np.asarray(departed * 1e-9))


def loaded(run: Run) -> tuple[float, float]:
    """Return when the load began and ended, in seconds of the sender's clock."""
    start, end = run.meta["phases"]["load"]
    return float(start), float(end)


def settled(run: Run) -> tuple[float, float]:
    """Return the part of the load in which the queues have filled."""
    start, end = loaded(run)
    return start + FILLING * (end - start), end


def departures(flow: Seen, start_s: float, end_s: float) -> Floats:
    """Return when packets of a flow left in a part of the run."""
    at = np.sort(flow.departed_s)
    return np.asarray(at[(at >= start_s) & (at < end_s)])


def rate_pps(run: Run, flow: int) -> float | None:
    """Return the packets per second of a flood that left while it had filled the queue."""
    found = seen(run, flow)
    if found is None:
        return None
    start, end = settled(run)
    return len(departures(found, start, end)) / (end - start)


def is_saturated(run: Run, flow: int, carried_pps: float) -> bool:
    """Whether a flood was more than the path carried."""
    offered_pps = float(dict(run.meta["floods"])[flow])
    return carried_pps < SATURATED * offered_pps


def wait_ratio(run: Run, flood: int, sparse: int, packet_s: float) -> tuple[float, float] | None:
    """Return what sparse packets wait over what the flood's do then, and the latter; medians.

    None where the flood hardly waits, too few sparse packets arrived, or the path was never quiet.
    """
    large, small = seen(run, flood), seen(run, sparse)
    if large is None or small is None or len(large.sent_s) < 2:
        return None
    start, end = loaded(run)
    during = (small.sent_s >= start) & (small.sent_s < end)
    beside = np.interp(small.sent_s, large.sent_s, large.waited_s)
    during &= beside >= LEAST_WAITING * packet_s
    if np.count_nonzero(during) < LEAST_SPARSE:
        return None
    ratios = small.waited_s[during] / beside[during]
    return float(np.median(ratios)), float(np.median(beside[during]))
