"""What one step shows of a queue: when packets of the flood came, left or were lost.

A step is a flood at one overload into an empty queue (`airqueue.measure.disciplines.steps`). All
times are the sender's, in seconds from the beginning of the flood, with the delay of the empty path
taken off: a packet comes to the queue when it is sent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from airqueue.measure.remembered import remembered
from airqueue.measure.session import Session
from airqueue.measure.verdicts import lost_inside
from airqueue.numeric import window_minimum

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FEWEST = 50
"""Fewer packets of a flood show nothing."""
WHOLE = 2.0
"""Packets by which counts at one instant may differ: the rounding at both of its ends."""
HIDDEN_PERCENTILE = 90
MOST_JITTER = 1.0
"""Packet times by which packets may arrive late before departures are taken from the steady rate."""
WINDOW = 33
"""Packets over which the rate is steady: some bursts."""
FULL_DROPS = 10
"""A queue that was full has refused at least this many packets."""
EVEN = 0.3
"""Part of the packets between two drops by which these vary, from the 10th to the 90th percentile:
in a full queue by rounding, in one that drops at random by more than all of them."""
ONE_LENGTH = 0.1
"""Greatest part of a length by which the lengths at all drops may differ."""
MOST_BY_AIR = 0.03
"""Greatest share of the packets that the air is taken to lose."""
FEW_SHORT = 3
"""Drops far below that length that are nobody's."""
FULL_SHARE = 0.9
"""Share of the packets that find a full queue that are lost, at least: the instants are estimates."""


@dataclass(frozen=True, eq=False)
class Step:
    """The flood of one step: arrays of equal length n, in the order of sending.

    ``came_s``: arrival at the queue. ``left_s``: departure from the queue; of a lost packet that of
    the packet before it, which is when a queue that drops at its head dropped the packet.
    ``lost``: whether the packet was lost.
    """

    came_s: Floats
    left_s: Floats
    lost: Bools
    blur_packets: float
    """Packets by which bursts, or jitter behind the queue, may hide the queue's length."""
    jitter_packets: float = 0.0
    """The same for the instants at which packets come: the empty path's jitter."""
    late_packets: float = 0.0
    """Packet times by which packets arrived later than at the steady rate."""
    rest_s: float = 0.0
    """How long no flood had come."""
    arrived_s: Floats = field(default_factory=lambda: np.zeros(0))
    """Arrivals of the packets that were not lost, the empty path's delay taken off."""

    @staticmethod
    @remembered
    def of(session: Session) -> Step | None:
        """Return the flood of a session; None if the path was never quiet or the flood was short."""
        run, due = session.run, session.arrival_if_empty_ns
        rows = np.flatnonzero(session.flood & run.sent)
        if due is None or run.end != "complete" or len(rows) < FEWEST:
            return None
        # Packets of a batch leave their host one after another, in the order of sending.
        sent = np.maximum.accumulate(session.left_ns[rows])
        got = run.received[rows]
        came = (sent - sent[0]) * 1e-9
        start, end = session.phases["quiet"]
        left = np.full(len(rows), np.nan)
        left[got] = came[got] + (run.received_ns[rows[got]] - due[rows[got]]) * 1e-9
        arrived = np.maximum.accumulate(left[got])
        seen = Step(came, filled(left), ~got, 0.0, rest_s=end - start, arrived_s=arrived)
        if seen.rate_pps <= 0:
            return seen
        quiet = session.quiet_delay
        jitter = seen.rate_pps * (quiet.jitter_s if quiet is not None else 0.0)
        seen = dataclasses.replace(seen, jitter_packets=jitter)
        steady = _steady(arrived, came[got], seen.packet_s)
        hidden = float(np.percentile(left[got] - steady, HIDDEN_PERCENTILE)) / seen.packet_s
        seen = dataclasses.replace(seen, late_packets=hidden)
        if hidden < MOST_JITTER:
            return seen
        left[got] = steady
        smoothed = dataclasses.replace(seen, left_s=filled(left), blur_packets=hidden)
        # Of jitter behind the queue, and service that varies, only the former hides lengths: then
        # the drops agree better on a length without it.
        return smoothed if smoothed._scatter < seen._scatter else seen

    def leaving(
        self, left_s: Floats, *, blur_packets: float, jitter_packets: float | None = None
    ) -> Step:
        """Return the step with these departures of the packets that were not lost.

        ``left_s``: in the order of sending; no packet leaves before it comes, or before another.
        """
        left = np.full(len(self.lost), np.nan)
        left[~self.lost] = np.maximum.accumulate(np.maximum(left_s, self.came_s[~self.lost]))
        jitter = self.jitter_packets if jitter_packets is None else jitter_packets
        return dataclasses.replace(
            self, left_s=filled(left), blur_packets=blur_packets, jitter_packets=jitter
        )

    @cached_property
    def rate_pps(self) -> float:
        """Packets/s that leave while others wait."""
        left = self.left_s[~self.lost]
        busy = np.flatnonzero(self.waiting[~self.lost] >= 2)
        if len(busy) < FEWEST // 2:
            return 0.0
        return float((busy[-1] - busy[0]) / max(1e-9, left[busy[-1]] - left[busy[0]]))

    @cached_property
    def packet_s(self) -> float:
        """Time in which one packet leaves."""
        return 1 / self.rate_pps if self.rate_pps > 0 else 0.0

    @cached_property
    def offered_pps(self) -> float:
        """Packets/s of the flood."""
        return (len(self.came_s) - 1) / float(self.came_s[-1] - self.came_s[0])

    @cached_property
    def overload(self) -> float:
        """Offered rate as a multiple of the path's."""
        return self.offered_pps / self.rate_pps if self.rate_pps > 0 else 0.0

    @cached_property
    def waiting(self) -> Floats:
        """Packets of the flood that each packet found waiting; lost packets are not counted."""
        return self.waiting_at(slice(None))

    def waiting_at(self, rows: Ints | slice) -> Floats:
        """Return what the packets at these places found waiting."""
        out = np.maximum.accumulate(self.left_s[~self.lost])
        before = np.concatenate(([0], np.cumsum(~self.lost)[:-1]))[rows]
        return np.asarray(
            before - np.searchsorted(out, self.came_s[rows], side="right"), dtype=np.float64
        )

    @cached_property
    def sojourn_s(self) -> Floats:
        """Time in the queue; of a lost packet what a packet in its place would have waited."""
        return np.maximum(0.0, self.left_s - self.came_s)

    @cached_property
    def drops(self) -> Ints:
        """Places of the lost packets."""
        return np.flatnonzero(self.lost)

    @property
    def _scatter(self) -> float:
        """Interquartile range of the lengths at the drops of the last half."""
        late = self.drops[self.drops >= len(self.lost) // 2]
        if not len(late):
            return 0.0
        low, high = np.percentile(self.waiting[late], [25, 75])
        return float(high - low)

    @cached_property
    def slack(self) -> float:
        """Packets by which counts of one length may differ."""
        return WHOLE + self.blur_packets + self.jitter_packets

    @property
    def blur_s(self) -> float:
        """Time by which bursts, or jitter behind the queue, may hide when packets left."""
        return self.blur_packets * self.packet_s

    @property
    def in_bursts(self) -> bool:
        """Whether packets leave in bursts, as from a radio that aggregates.

        In front of the radio a driver then holds packets for more frames, and their wait there looks
        like a wait in the queue: a target has an upper end only.
        """
        return self.late_packets > MOST_JITTER


def full_at(steps: Sequence[Step]) -> float | None:
    """Return the length at which the queue was full in any of the steps, in packets.

    There nearly all packets are lost that come while so many wait; or, where lengths are rounded, all
    drops are at this length but for those of the air, or the flood loses every so many packets. A
    queue that drops at random lets most packets pass, and the packets between two drops vary. None
    where the queue never was full.
    """
    most = max(float(step.waiting.max()) for step in steps)
    for step in steps:
        idle = _lost_in_short_queues(step)
        length = _full_in(step, idle)
        # No queue is longer than when it is full.
        if length is not None and length >= most - step.slack - lost_inside(length, idle):
            return length
    return None


def hard_limit(steps: Sequence[Step]) -> float | None:
    """Return the length at which two steps at least saw the queue full, in packets.

    A controller's queue may look full once, where it drops as much as comes too much; under another
    overload it then has another length.
    """
    full = full_at(steps)
    if full is None:
        return None
    seen = [_full_in(step, _lost_in_short_queues(step)) for step in steps]
    alike = sum(
        length is not None and abs(length - full) <= step.slack
        for length, step in zip(seen, steps, strict=True)
    )
    return full if alike > 1 else None


def _lost_in_short_queues(step: Step) -> float:
    """Share lost while less than half of the most packets waited, as far as the air may lose them."""
    short = step.waiting < step.waiting.max() / 2
    return min(MOST_BY_AIR, float(np.mean(step.lost[short]))) if np.any(short) else 0.0


def _full_in(step: Step, idle: float) -> float | None:
    rows, waiting = step.drops, step.waiting
    if len(rows) < FULL_DROPS:
        return None
    near_top = waiting[rows] >= waiting[rows].max() - step.slack
    length = float(np.median(waiting[rows[near_top]]))
    there = waiting >= length
    refused = np.count_nonzero(step.lost & there)
    if np.count_nonzero(near_top) < FULL_DROPS:
        return None
    if refused >= FULL_SHARE * np.count_nonzero(there) or _regular(rows, near_top):
        return length
    return _one_length(step, idle)


def _one_length(step: Step, idle: float) -> float | None:
    """Return the length, of many packets, at which all drops are but for what the air loses."""
    waiting = step.waiting
    length = float(np.median(waiting[step.drops]))
    slack = step.slack + lost_inside(length, idle)
    short = waiting < length - slack
    by_the_air = FEW_SHORT + 2 * idle * np.count_nonzero(short)
    if np.count_nonzero(step.lost & short) > by_the_air or slack > ONE_LENGTH * length:
        return None
    return length


def _regular(rows: Ints, chosen: Bools) -> bool:
    """Whether the chosen drops, where none of another kind is between, are evenly spaced."""
    gaps = np.diff(rows)[chosen[1:] & chosen[:-1]]
    if len(gaps) < FULL_DROPS:
        return False
    low, middle, high = np.percentile(gaps, [10, 50, 90])
    return bool(high - low <= max(1.0, EVEN * middle))


def _steady(left: Floats, came: Floats, packet_s: float) -> Floats:
    """Take departures from the steady rate at which packets leave, where they arrive in bursts.

    No packet arrives before it left: the earliest of some packets, by the steady rate, tell for all.
    """
    even = np.arange(len(left)) * packet_s
    early = window_minimum(left - even, WINDOW)
    return np.asarray(np.maximum.accumulate(np.maximum(came, np.minimum(left, even + early))))


def filled(left: Floats) -> Floats:
    """Give lost packets the departure of the packet before them."""
    known = np.where(np.isnan(left), -1, np.arange(len(left)))
    last = np.maximum.accumulate(known)
    return np.where(last >= 0, left[np.maximum(last, 0)], 0.0)
