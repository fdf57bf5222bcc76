"""One session (Algorithm 2 of the APQ paper), the input of estimators.

A session is a run with named phases, by the sender's clock and in seconds from the start of the run:

``quiet``   baseline packets only: the delay of the empty path (t1 in the paper);
``spend``   what the tokens of a shaper let pass at once, if there is one: absent in the paper;
``warm``    packets of the flood's flow below the path's rate, absent in the paper: busy, and empty;
``fill``    the flood begins, faster than the path drains;
``hold``    the flood goes on at a steady overload: the full queue is measured here (t2);
``press``   a stronger overload, absent in the paper: a drop-tail queue holds no more for it;
``after``   the flood is over, the queue drains, baseline packets see the empty path again (t3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from airqueue.measure import instants
from airqueue.measure.clock import QuietDelay, fit_quiet_delay
from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.records import MISSING, Run

LINK_OVERHEAD_BYTES = 14
"""Ethernet header: Linux counts it in a byte queue's backlog, the IP size does not contain it."""

CLUSTER_GAP = 0.25
"""Packets closer than this share of the mean gap came in one burst."""
SEVERAL = 2.0
"""Packets of the median burst beyond which packets arrive in bursts, as those of a frame do."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def rate_of(times_ns: Ints) -> float:
    """Events per second from the first to the last of them, in any order; 0 if that has no length."""
    length_ns = int(np.ptp(times_ns)) if len(times_ns) else 0
    return (len(times_ns) - 1) / (length_ns * 1e-9) if length_ns else 0.0


def burst_of(times_ns: Ints) -> float:
    """Packets of the burst in which the median packet arrives; the instants ascend."""
    if len(times_ns) < 10 or times_ns[-1] == times_ns[0]:
        return 1.0
    gaps = np.diff(times_ns)
    threshold = CLUSTER_GAP * (times_ns[-1] - times_ns[0]) / len(gaps)
    label = np.concatenate(([0], np.cumsum(gaps > threshold)))
    sizes = np.bincount(label)
    return float(np.median(sizes[label]))


def in_flight(burst: float) -> float:
    """Packets of a burst that may be in service or still waiting: see `Session.burst_in_flight`."""
    return burst if burst > SEVERAL else 0.0


OVERLOAD_LOSS = 0.045
"""Half the loss of the weakest overload that a profile plans (1.1): less may be loss in the air."""
MIN_DROPS = 10
"""Fewer refused packets than this do not show a full queue."""


@dataclass(eq=False)
class Session:
    """A run of kind ``session``; quantities that several estimators use are computed once, on demand.

    ``link_overhead_bytes`` is added to every IP packet where bytes are counted.
    """

    run: Run
    link_overhead_bytes: int = LINK_OVERHEAD_BYTES

    @property
    def size_bytes(self) -> int:
        """IP size of the flood's packets."""
        return int(self.run.meta["size_bytes"])

    @property
    def frame_bytes(self) -> int:
        """Size of the flood's packets as a byte queue counts them."""
        return self.size_bytes + self.link_overhead_bytes

    @property
    def phases(self) -> Mapping[str, tuple[float, float]]:
        """Phase name -> (start, end) in seconds by scheduled send time."""
        return {name: (float(p[0]), float(p[1])) for name, p in self.run.meta["phases"].items()}

    def during(self, phase: str) -> Bools:
        """Mark the packets whose scheduled send time lies in the phase; shape (n,)."""
        at = self.run.scheduled_ns
        if phase not in self.phases:
            return np.zeros(len(at), dtype=bool)
        start, end = self.phases[phase]
        return (at >= round(start * 1e9)) & (at < round(end * 1e9))

    @cached_property
    def loaded(self) -> Bools:
        """Packets of the phases in which the queue is kept full, under both overloads; shape (n,)."""
        return self.during("hold") | self.during("press")

    @cached_property
    def flood(self) -> Bools:
        """Packets of the saturating flow that are to fill the queue; shape (n,)."""
        return self.busy & ~self.during("warm") & ~self.during("spend")

    @cached_property
    def busy(self) -> Bools:
        """Packets of the saturating flow, those that only keep the path busy included; shape (n,)."""
        return np.asarray(self.run.flow == FLOOD_FLOW) & self.busy_time

    @cached_property
    def busy_time(self) -> Bools:
        """Packets sent between the quiet periods; shape (n,)."""
        quiet_end = self.phases["quiet"][1]
        after_start = self.phases["after"][0]
        at = self.run.scheduled_ns
        return (at >= round(quiet_end * 1e9)) & (at < round(after_start * 1e9))

    @cached_property
    def quiet_delay(self) -> QuietDelay | None:
        """Delay of the empty path for packets of the flood's size; None if it never was quiet."""
        return fit_quiet_delay(self)

    @cached_property
    def left_ns(self) -> Floats:
        """When each packet left its host, NaN if it never did: `instants.left_ns`; shape (n,)."""
        return instants.left_ns(self)

    @cached_property
    def late_ns(self) -> float:
        """By how much `arrival_if_empty_ns` may be too late under load: `instants.late_ns`."""
        return instants.late_ns(self)

    @cached_property
    def pacing_s(self) -> float:
        """How unevenly long the flood's packets take to leave their host: `instants.pacing_s`."""
        return instants.pacing_s(self)

    @cached_property
    def arrival_if_empty_ns(self) -> Floats | None:
        """Arrival time of each packet without any queue, receiver's clock; (n,)."""
        if self.quiet_delay is None:
            return None
        return np.asarray(self.left_ns + self.quiet_delay.at_ns(self.left_ns))

    @cached_property
    def arrivals_ns(self) -> Ints:
        """Receive times in ascending order; shape (received,)."""
        return np.sort(self.run.received_ns[self.run.received])

    @cached_property
    def arrival_rank(self) -> Ints:
        """Place of each packet among the arrivals, 0 first, -1 if lost; shape (n,).

        Packets of one burst arrive at one instant: then the order of sending decides.
        """
        rows = np.flatnonzero(self.run.received)
        order = rows[np.argsort(self.run.received_ns[rows], kind="stable")]
        rank = np.full(len(self.run), -1)
        rank[order] = np.arange(len(order))
        return rank

    @cached_property
    def burst(self) -> float:
        """Size of the burst in which the median packet of the hold phase arrives, in packets."""
        mask = self.during("hold") & self.run.received
        return burst_of(np.sort(self.run.received_ns[mask]))

    @property
    def burst_in_flight(self) -> float:
        """Packets of a burst that, at any instant, may be in service or still waiting.

        A device that sends aggregates has taken them out of its queue; one that is woken late
        releases what was waiting. From outside they look the same: the counts cannot tell which, so
        estimators take the middle and the resolution says so. Zero for packets sent one by one.
        """
        return in_flight(self.burst)

    @cached_property
    def last_delivered_before(self) -> Ints:
        """Row of the last delivered packet sent before each row, -1 if none; shape (n,)."""
        rows = np.where(self.run.received, np.arange(len(self.run)), -1)
        last = np.maximum.accumulate(rows)
        return np.concatenate(([-1], last[:-1]))

    @cached_property
    def drops(self) -> Ints:
        """Rows of the flood's lost packets, in the order of sending."""
        return np.flatnonzero(self.run.lost & self.flood)

    @cached_property
    def waiting_at_drop(self) -> Floats:
        """Packets waiting when each of ``drops`` reached the queue; NaN where unknown.

        A packet that was refused found the queue full. The last packet admitted before it is then
        the tail: what the receiver gets from the moment at which the refused packet would have come
        through an empty path until the tail comes *is* the content of the queue, whatever the rate
        was meanwhile. A packet under transmission at that moment arrives before it and is left out.

        That moment is the last one at which so many waited: a packet may have left the queue right
        after it, and steady floods meet the full queue just then. But none left it since the tail
        came, or the refused packet would have found its place. So the content is counted earlier, by
        as much as the instants may be late, and at most half of the time since the tail.
        """
        if self.arrival_if_empty_ns is None:
            return np.full(len(self.drops), np.nan)
        return self._waiting(self.drops, self._counted_at_ns(self.drops))

    def _counted_at_ns(self, rows: Ints) -> Floats:
        """Instants at which to count for refused packets, see `waiting_at_drop`; shape of rows."""
        due = self.arrival_if_empty_ns
        assert due is not None
        tails = self.last_delivered_before[rows]
        since = np.where(tails < 0, 0.0, due[rows] - due[tails])
        return np.asarray(due[rows] - np.minimum(self.late_ns, since / 2))

    @property
    def doubt(self) -> float:
        """Packets by which counts may be too low, because the instants may be too late.

        Up to half a packet's time does no harm: the counts are taken earlier, see `waiting_at_drop`,
        and that far from the next packet's leaving. Bursts have a resolution of their own.
        """
        quiet = self.quiet_delay
        if quiet is None or quiet.packet_s <= 0 or self.burst > SEVERAL:
            return 0.0
        return max(0.0, self.late_ns * 1e-9 / quiet.packet_s - 0.5)

    @cached_property
    def waiting_at_each(self) -> Floats | None:
        """Packets waiting when each packet reached the queue, as `waiting_at_drop`; shape (n,).

        NaN before the first delivered packet and for packets that never left; None without a quiet
        delay.
        """
        due = self.arrival_if_empty_ns
        return None if due is None else self._waiting(np.arange(len(self.run)), due)

    def _waiting(self, rows: Ints, at_ns: Floats) -> Floats:
        """Packets up to the tail before each of the rows that arrived after an instant of its own."""
        tails = self.last_delivered_before[rows]
        gone_before = np.searchsorted(self.arrivals_ns, at_ns, side="right")
        waiting = (self.arrival_rank[tails] + 1 - gone_before).astype(float)
        waiting[(tails < 0) | ~self.run.sent[rows]] = np.nan
        return np.asarray(np.maximum(waiting, 0.0))

    @cached_property
    def waiting_after_flood(self) -> float | None:
        """Packets waiting when the flood's last packet had reached the queue: what then drained."""
        due = self.arrival_if_empty_ns
        rows = np.flatnonzero(self.flood & self.run.sent)
        if due is None or not len(rows):
            return None
        last = rows[-1]
        at = self._counted_at_ns(rows[-1:])[0] if self.run.lost[last] else due[last]
        arrived = self.run.received_ns[: last + 1]
        return float(np.count_nonzero((arrived != MISSING) & (arrived > at)))

    @cached_property
    def clean_tail(self) -> int:
        """Flood packets delivered without a loss at the end of the flood.

        A few where the tail is refused; the whole queue where the head is pushed out, for nothing
        comes after the last packets that could push them.
        """
        rows = np.flatnonzero(self.flood & self.run.sent)
        lost = np.flatnonzero(self.run.lost[rows])
        return len(rows) - 1 - int(lost[-1]) if len(lost) else len(rows)

    @property
    def _while_full(self) -> Bools:
        """Packets that were sent while the queue was full, as far as losses tell."""
        if self.loss("hold") >= OVERLOAD_LOSS:
            return self.during("hold")
        full = np.zeros(len(self.run.sent), dtype=bool)
        for phase in ("fill", "press"):
            drops = self.drops[self.during(phase)[self.drops]]
            if self.loss(phase) >= OVERLOAD_LOSS and len(drops):
                full[drops[0] : drops[-1]] = True
        return full

    @cached_property
    def delay_full_s(self) -> float | None:
        """Median delay of the flood in the full queue above the empty path's, in seconds.

        In the hold phase; where the queue was not full then, as on a path that became faster, between
        the first and the last packet that was refused before or after.
        """
        due = self.arrival_if_empty_ns
        full = self._while_full & self.flood & self.run.received & self.run.sent
        if due is None or not np.any(full):
            return None
        return float(np.median(self.run.received_ns[full] - due[full])) * 1e-9

    def rate_pps(self, phase: str = "hold") -> float:
        """Delivered packets per second, all flows, while the phase's flood arrives.

        Where flows have queues of their own, sparse packets of the phase arrive before its flood:
        the time between the two is not one of the phase's deliveries. Without a flood, over all
        packets sent in the phase.
        """
        sent = self.during(phase) & self.run.received
        flood = self.run.received_ns[sent & self.flood]
        if not len(flood):
            return rate_of(self.run.received_ns[sent])
        arrivals = self.arrivals_ns
        first, last = np.searchsorted(arrivals, [flood.min(), flood.max() + 1])
        return rate_of(arrivals[first:last])

    def offered_pps(self, phase: str = "hold") -> float:
        """Packets per second that left the sender in the phase, all flows."""
        return rate_of(self.run.sent_ns[self.during(phase) & self.run.sent])

    def loss(self, phase: str = "hold") -> float:
        """Lost fraction of the flood's packets sent in the phase (0 if none was sent)."""
        mask = self.during(phase) & self.flood & self.run.sent
        total = int(np.count_nonzero(mask))
        return float(np.count_nonzero(mask & self.run.lost) / total) if total else 0.0
