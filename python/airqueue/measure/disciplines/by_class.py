"""What the run of traffic classes shows: the flood in blocks, and how classes arrived."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airqueue.measure.disciplines.classes import KIND
from airqueue.measure.disciplines.observed import Bools, Floats, Ints
from airqueue.measure.plan import CE, ECT_0, ECT_1, FLOOD_FLOW, NOT_ECT
from airqueue.measure.session import Session
from airqueue.numeric import window_mean

ECN_NAMES = {NOT_ECT: "not_ect", ECT_1: "ect_1", ECT_0: "ect_0", CE: "ce"}
"""Values of the ECN field, as results call them."""

WAITING = 3.0
"""Least wait of the flood where a queue stands, as a multiple of `ByClass.blur_s`."""
AROUND = 6
"""Blocks over which the flood's waits and marks have a trend."""


@dataclass(frozen=True)
class ByClass:
    """A run of kind ``classes``: arrays of equal length n, in the order of sending.

    ``dscp``, ``ecn``: as sent; ``dscp_after``, ``ecn_after``: as received, 0 for lost packets.
    ``wait_s``: delay above the empty path's, NaN for lost packets. ``block``: of the flood, -1
    beside it.
    """

    came_s: Floats
    wait_s: Floats
    dscp: Ints
    ecn: Ints
    dscp_after: Ints
    ecn_after: Ints
    block: Ints
    probe: Bools
    """Packets of other DSCPs on the flood's five-tuple."""
    each: Bools
    """Packets of the phase on the empty path."""
    packet_s: float
    jitter_s: float
    """Of the empty path, and a burst in which packets arrive."""

    @classmethod
    def of(cls, session: Session) -> ByClass | None:
        """Return what a run shows; None without classes or a quiet path, or if it was disturbed."""
        run, due = session.run, session.arrival_if_empty_ns
        sent, after = run.sent_class, run.received_class
        if run.meta.get("kind") != KIND or run.end != "complete" or run.host.shared:
            return None
        if sent is None or after is None or due is None or session.quiet_delay is None:
            return None
        got = run.received & run.sent
        wait = np.full(len(run), np.nan)
        wait[got] = (run.received_ns[got] - due[got]) * 1e-9
        flood = session.during("hold") & run.sent & (run.flow == FLOOD_FLOW)
        start = session.phases["hold"][0]
        rate = session.rate_pps("hold")
        packet = 1 / rate if rate > 0 else 0.0
        # A packet that is planned for the end of a block is in the next one: half a nanosecond more.
        since = run.scheduled_ns * 1e-9 - start + 0.5e-9
        block = np.floor(since / float(run.meta["block_s"])).astype(np.int64)
        of_flood = flood & (sent >> 2 == 0)
        rows = run.sent
        return cls(
            np.asarray(run.scheduled_ns[rows] * 1e-9, dtype=np.float64),
            wait[rows],
            (sent >> 2).astype(np.int64)[rows],
            (sent & CE).astype(np.int64)[rows],
            (after >> 2).astype(np.int64)[rows],
            (after & CE).astype(np.int64)[rows],
            np.where(of_flood, block, -1)[rows],
            (flood & ~of_flood)[rows],
            session.during("each")[rows],
            packet,
            session.quiet_delay.jitter_s + session.burst_in_flight * packet,
        )

    @cached_property
    def flood(self) -> Bools:
        """The flood's packets, of best effort."""
        return self.block >= 0

    @cached_property
    def got(self) -> Bools:
        """Packets that arrived."""
        return ~np.isnan(self.wait_s)

    def beyond_trend(self, values: Floats, rows: Bools) -> Floats:
        """Return values of the flood's packets less the mean of those around, whatever their class.

        The queue grows and shrinks, which says nothing of classes. NaN for all packets but ``rows``.
        """
        beyond = np.full(len(values), np.nan)
        if np.any(rows):
            around = 1 + AROUND * int(np.count_nonzero(rows)) // (1 + int(self.block.max()))
            beyond[rows] = values[rows] - window_mean(values[rows], around)
        return beyond

    @property
    def wait_of_flood_s(self) -> float:
        """What the flood waits, the median while a queue stands; 0 where nothing arrives."""
        waits = self.wait_s[self.flood & self.got]
        return float(np.median(waits[len(waits) // 4 :])) if len(waits) else 0.0

    @property
    def blur_s(self) -> float:
        """By what the waits of packets that are treated alike may differ."""
        return 2 * self.packet_s + self.jitter_s

    @property
    def stands(self) -> bool:
        """Whether the flood waits: in a queue only something marks, or lets others pass."""
        return self.packet_s > 0 and self.wait_of_flood_s >= WAITING * self.blur_s

    @property
    def overloaded(self) -> bool:
        """Whether the flood met a queue: it waited, or lost packets, or some of them were marked."""
        marked = self.got & (self.ecn != CE) & (self.ecn_after == CE)
        return self.stands or bool(np.any(self.flood & (marked | ~self.got)))

    @property
    def tolerance_s(self) -> float:
        """Waits that differ by less are alike."""
        return max(self.blur_s, 0.25 * self.wait_of_flood_s)
