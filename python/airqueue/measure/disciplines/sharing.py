"""Whether flows share one queue, have one each, or only sparse flows pass the others.

Test: of two floods at once, one sends more than an equal share of the path and one less. In one queue
both wait alike. Where each flow has a queue the smaller one waits less and loses nothing.

Behind the queues a driver's FIFO makes both floods wait, and the air may lose packets of both. Then
both tests together tell: in one queue, whatever drops there, both floods lose equal shares; and where
flows are told apart for drops alone, as in CHOKe, both wait alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.disciplines.frames import LEAST_FRAME, packets_of_frames
from airqueue.measure.disciplines.observed import Floats
from airqueue.measure.disciplines.ring import MOST_FRAMES
from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.result import Sharing
from airqueue.measure.session import Session

APART: Final = 0.5
"""Greatest ratio of the smaller flood's wait to the larger one's where they wait apart."""
TOGETHER: Final = 0.8
"""Least ratio where they wait in one queue."""
NEAR: Final = 2.0
"""Times of a packet, or of a frame of several, by which waits in one queue differ at most."""
WAITING: Final = 5.0
"""Times of a packet, or of a frame of several, that the larger flood must have waited where the
smaller one waits less: a packet that leaves waits too. Else their losses are compared."""
LEAST_WAITING: Final = 2.0
"""The same times that the larger flood must have waited while waits are compared."""
LOSING: Final = 0.05
"""Share that the larger flood must have lost where losses are compared."""
SPARED: Final = 0.02
"""Greatest ratio of the losses of a flood that has a queue of its own with room."""
PASSED: Final = 1.0
"""Frames by which the smaller flood must pass the larger one where losses tell, too: median waits in
one queue, at the same times, differ by a part of a frame."""


@dataclass(frozen=True, slots=True)
class Flood:
    """One of two floods, in the second half of their time: the queues have filled.

    ``sent_s``, ``waited_s``: of the packets that arrived, in the order of sending. ``lost`` of
    ``packets`` did not.
    """

    sent_s: Floats
    waited_s: Floats
    lost: int
    packets: int

    @property
    def wait_s(self) -> float:
        """Median wait."""
        return float(np.median(self.waited_s))

    @property
    def loss(self) -> float:
        """Share lost."""
        return self.lost / self.packets


@dataclass(frozen=True, slots=True)
class Floods:
    """Two floods at once, and what a packet of the path takes, in seconds.

    ``frame_packets``: how many arrive together. Where packets leave in frames of many, each waits
    for a frame and more, however short the queue is.
    """

    larger: Flood
    smaller: Flood
    packet_s: float
    frame_packets: float = 1.0

    @property
    def frame_s(self) -> float:
        """Time that a frame takes."""
        return self.packet_s * self.frame_packets

    @property
    def waited(self) -> float:
        """Frames that the larger flood waited; median."""
        return self.larger.wait_s / self.frame_s if self.packet_s > 0 else 0.0

    @property
    def ratio(self) -> float | None:
        """What a packet of the smaller one waits over what the larger one waits then; median.

        Then: in a queue that swings the medians of all waits may differ. None where nothing waited.
        """
        beside = np.interp(self.smaller.sent_s, self.larger.sent_s, self.larger.waited_s)
        waiting = beside >= LEAST_WAITING * self.frame_s
        if self.packet_s <= 0 or not np.any(waiting):
            return None
        return float(np.median(self.smaller.waited_s[waiting] / beside[waiting]))


def observe(session: Session) -> Floods | None:
    """Return what two floods at once show; None if the path was never quiet or the run was cut."""
    run, due = session.run, session.arrival_if_empty_ns
    if due is None or run.end != "complete":
        return None
    start, end = session.phases["uneven"]
    late = session.during("uneven") & (run.scheduled_ns >= round((start + end) / 2 * 1e9))
    found = []
    for larger in (True, False):
        of = late & run.sent & ((run.flow == FLOOD_FLOW) == larger)
        got = of & run.received
        if not np.any(got):
            return None
        lost = int(np.count_nonzero(of) - np.count_nonzero(got))
        waited = (run.received_ns[got] - due[got]) * 1e-9
        found.append(Flood(run.sent_ns[got] * 1e-9, waited, lost, int(np.count_nonzero(of))))
    rate = session.rate_pps("uneven")
    packet_s = 1 / rate if rate > 0 else 0.0
    arrived = np.asarray(np.sort(run.received_ns[late & run.received]) * 1e-9, dtype=np.float64)
    frames = packets_of_frames(arrived, packet_s).astype(np.float64)
    return Floods(found[0], found[1], packet_s, float(np.median(frames)))


def judge(floods: Floods, *, sparse_passes: bool) -> Sharing:
    """Return how flows share. ``sparse_passes``: a sparse flow passed the flood in the sessions."""
    larger, ratio = floods.larger, floods.ratio
    one: Sharing = "sparse_first" if sparse_passes else "one_queue"
    waited = floods.waited
    # Floods that hardly waited have not filled the path: its rate was larger than it had been.
    if waited < WAITING and larger.loss < LOSING:
        return "undecided"
    if ratio is not None and waited >= LEAST_WAITING:
        if _passes_and_keeps(floods, ratio):
            return "by_flow"
        if _alike(ratio, max(TOGETHER, 1 - NEAR / waited)):
            # In a driver's FIFO behind queues of their own they wait alike too.
            in_ring = floods.frame_packets >= LEAST_FRAME and waited <= MOST_FRAMES
            return "undecided" if sparse_passes and in_ring else one
        if waited >= WAITING:
            # A driver's FIFO behind the queues makes both wait; in one queue both would lose.
            spared = (
                ratio < 1 and floods.smaller.loss <= SPARED * larger.loss and larger.loss >= LOSING
            )
            return "by_flow" if ratio <= APART or spared else "undecided"
    lost, error = _lost_ratio(floods)
    if lost <= APART:
        # Of few packets in one queue the smaller flood's may be spared by chance.
        return "by_flow" if lost + error <= APART else "undecided"
    near = ratio is None or abs(1 - ratio) * waited <= NEAR
    return one if near and _alike(lost, TOGETHER, error) else "undecided"


def drops_apart(floods: Floods) -> bool:
    """Whether the smaller flood loses less, by more than chance.

    A queue that drops what comes while it is full loses equal shares of both.
    """
    if floods.larger.loss < LOSING:
        return False
    lost, error = _lost_ratio(floods)
    return lost + error <= APART


def _passes_and_keeps(floods: Floods, ratio: float) -> bool:
    """Whether the smaller flood waits less, by a frame, and loses less, by more than chance."""
    passed = (1 - ratio) * floods.waited
    return floods.frame_packets >= LEAST_FRAME and passed >= PASSED and drops_apart(floods)


def _alike(ratio: float, least: float, error: float = 0.0) -> bool:
    """Whether a ratio is nearly 1: from ``least`` to its inverse."""
    return least <= ratio + error and ratio - error <= 1 / least


def _lost_ratio(floods: Floods) -> tuple[float, float]:
    """Return the smaller flood's share of losses over the larger one's, and twice its error."""
    larger, smaller = floods.larger, floods.smaller
    ratio = smaller.loss / larger.loss
    return ratio, 2 * ratio * float(np.sqrt(1 / max(1, larger.lost) + 1 / max(1, smaller.lost)))
