"""Gates: which sessions are accepted, and why the others are discarded.

A session that fails a gate is discarded and counted; its reason is shown. Instability of the rate is
no reason to discard a session (counting does not mind); it silences only the estimators that assume
a steady rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airqueue.measure.estimators import estimate
from airqueue.measure.evidence import SessionEvidence, lost_quietly, observe
from airqueue.measure.records import MISSING
from airqueue.measure.session import MIN_DROPS, OVERLOAD_LOSS, Session
from airqueue.stats import share_interval

SENDER_SHORTFALL = 0.9
"""Sending less than this share of the planned rate makes the sender the limit."""
OVERFLOW_SHARE = 0.001
"""Larger share of packets lost in the receiver's own socket buffer makes the receiver the limit."""
LOCAL_QUEUE_S = 0.005
"""Median time from the program to the device beyond which the sending host itself queues."""
LAST_PACKETS = 3
"""A run whose last packets are all missing ended while the device still held them."""
UNSTEADY_SHARE = 0.5
"""Throughput that varies by more within a session (paper, section IV-B) is not steady."""
LOUD = 2.0
"""Packet times by which the delay without load varies where others' packets wait in the path."""
STEADY_RATE_ONLY = ("published", "corrected")
"""Estimators that multiply a delay by one rate."""

SAYS = {
    "interrupted": "the run was cut short",
    "shared": "the server carried packets of other clients' measurements meanwhile",
    "stalled": "nothing arrived for too long while packets were due",
    "sender_limited": "the sending host could not keep the planned rate or queued by itself",
    "receiver_limited": "the receiving host's own socket buffer overflowed",
    "clock_step": "a clock was stepped between the quiet periods",
    "other_traffic": "other traffic waited in the path before or after the flood",
    "not_quiet": "the delay never settled while only baseline packets were sent",
    "not_saturated": "too few packets were refused to show a full queue",
}
"""One clause for every reason, to follow 'discarded because'."""


@dataclass
class Judged:
    """A session with its gate's decision; the heavy parts are computed once."""

    session: Session
    beside_others: bool = False
    """Whether a changed delay without load comes from other traffic, not from a clock: `judge`."""
    lost_without_load: float = 0.0
    """Share of packets that the path loses at least without load, as all sessions together say."""

    @cached_property
    def refused(self) -> str | None:
        """Reason of the first gate that failed, or None: the session counts."""
        for reason, failed in (
            ("stalled", self._stalled),
            ("interrupted", self._interrupted),
            ("shared", self._shared),
            ("sender_limited", self._sender_limited),
            ("receiver_limited", self._receiver_limited),
            ("clock_step", self._clock_step),
            ("other_traffic", self._quiet_changed),
            ("not_quiet", self._not_quiet),
            ("not_saturated", self._not_saturated),
        ):
            if failed():
                return reason
        return None

    @cached_property
    def seen(self) -> SessionEvidence:
        """What the session says about the kind of queue."""
        return observe(self.session)

    @cached_property
    def estimates(self) -> dict[str, float | None]:
        """Every estimator's packets; those that need a steady rate only where it was steady."""
        values = estimate(self.session)
        if not self.steady:
            values.update(dict.fromkeys(STEADY_RATE_ONLY))
        return values

    @property
    def counted(self) -> float:
        """Packets in the queue by counting; 0 where nothing was refused."""
        return self.estimates["counting"] or 0.0

    @cached_property
    def steady(self) -> bool:
        """Whether the hold phase saw one rate and a queue that was full from end to end.

        Throughput in tenths of the phase, by time of sending and by time of arrival, stays within
        `UNSTEADY_SHARE`; every fifth of it has refused packets if the flood's loss would put
        a handful there.
        """
        session, run = self.session, self.session.run
        hold = session.during("hold") & session.flood & run.sent
        arrived = hold & run.received
        if np.count_nonzero(arrived) < 20:
            return False
        for times in (run.scheduled_ns[arrived], run.received_ns[arrived]):
            counts, _ = np.histogram(times, bins=10)
            # Rounding in a bin of so few packets is not instability.
            if np.ptp(counts) > UNSTEADY_SHARE * float(counts.mean()) + 3:
                return False
        lost = run.scheduled_ns[hold & run.lost]
        if len(lost) < 5 * MIN_DROPS:
            return len(lost) >= MIN_DROPS
        span = (int(run.scheduled_ns[hold].min()), int(run.scheduled_ns[hold].max()))
        return bool(np.histogram(lost, bins=5, range=span)[0].min() > 0)

    def _stalled(self) -> bool:
        """Silence in the run, or at its end: what a device still held was then not lost."""
        run = self.session.run
        last = run.received[run.sent][-LAST_PACKETS:]
        return run.end == "sender_silent" or (run.end == "complete" and not np.any(last))

    def _interrupted(self) -> bool:
        return self.session.run.end != "complete"

    def _shared(self) -> bool:
        return self.session.run.host.shared

    def _sender_limited(self) -> bool:
        run, flood = self.session.run, self.session.flood
        planned = int(np.count_nonzero(flood))
        if planned == 0 or run.host.send_blocked > 0.005 * planned:
            return True
        hold = self.session.during("hold") & flood
        if np.count_nonzero(hold & run.sent) < SENDER_SHORTFALL * np.count_nonzero(hold):
            return True
        sent = run.sent_ns[hold & run.sent]
        due = run.scheduled_ns[hold & run.sent]
        if len(sent) > 1 and due[-1] > due[0]:
            slower = (sent[-1] - sent[0]) / (due[-1] - due[0])
            if slower > 1 / SENDER_SHORTFALL:
                return True
        return self.local_queueing_s > LOCAL_QUEUE_S

    @cached_property
    def local_queueing_s(self) -> float:
        """Median time from handing a flood packet to the kernel to its leaving, in seconds."""
        run = self.session.run
        stamped = self.session.flood & (run.kernel_tx_ns != MISSING) & run.sent
        if not np.any(stamped):
            return 0.0
        return float(np.median(run.kernel_tx_ns[stamped] - run.sent_ns[stamped])) * 1e-9

    def _receiver_limited(self) -> bool:
        arrived = int(np.count_nonzero(self.session.run.received))
        return self.session.run.host.receive_overflow > OVERFLOW_SHARE * max(arrived, 1)

    def _clock_step(self) -> bool:
        seen = self.session.run.host.clock_steps > 0
        return seen or (self._quiet_changed() and not self.beside_others)

    def _quiet_changed(self) -> bool:
        quiet = self.session.quiet_delay
        return quiet is not None and quiet.stepped_s != 0.0

    def _not_quiet(self) -> bool:
        return self.session.quiet_delay is None

    def _not_saturated(self) -> bool:
        """Few refused packets, or no phase that lost more than the air may have."""
        least = 1 - (1 - OVERLOAD_LOSS) * (1 - self.lost_without_load)
        if len(self.session.drops) < MIN_DROPS:
            return True
        drops = self.session.drops
        return not any(
            np.count_nonzero(self.session.during(phase)[drops]) >= MIN_DROPS
            and self.session.loss(phase) >= least
            for phase in ("fill", "hold", "press")
        )


def judge(sessions: Sequence[Session]) -> list[Judged]:
    """Judge the sessions of one measurement.

    A clock is stepped once in a while, on a quiet path as on any other; the transfer of a neighbour
    changes the delay of the path without load again and again, or makes the delay vary by packets.
    """
    quiet = [s.quiet_delay for s in sessions if s.run.host.clock_steps == 0]
    known = [q for q in quiet if q is not None]
    loud = bool(known) and float(np.median([q.jitter_s > LOUD * q.packet_s for q in known])) > 0.5
    others = loud or sum(q.stepped_s != 0.0 for q in known) >= 2
    least = share_interval(*lost_quietly(sessions)).low
    return [Judged(s, beside_others=others, lost_without_load=least) for s in sessions]
