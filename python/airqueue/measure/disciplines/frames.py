"""A full queue in front of a radio that aggregates: when packets left the queue.

The packets of an A-MPDU leave the queue together, when their frame is composed, and arrive together
when the frame has ended. Between the two the queue has room again, which arrivals hide: of a queue
that drops when it is full some packets seem to be lost at the limit, and others a frame above it.

Test: one time from composing to arriving is searched with which nearly all drops of all steps are at
one length, and nearly all packets are lost that find this length. A queue that drops by another law
has drops at many lengths, whatever this time is.

Where others use the air too, this time varies from frame to frame, and only counts tell. A full
queue takes in as many packets as the next frame carries away, and then is full again: whenever
frames leave, the packets taken in before a drop are those of whole frames and those of a full queue.
Test: one number of packets that a full queue holds is searched, with which nearly all drops come at
such counts. Of drops that have nothing to do with frames, three counts of those of a frame agree by
chance, with a miscount by one packet: the chance that so many agree is bounded by Chernoff's
inequality, which holds for counts of different chances, too (Hoeffding, 1956), times the numbers
searched. Frames of few packets tell less with each count. After the last retry the air loses a frame,
or what is left of one: packets in a row, at other counts, which no queue has dropped.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.measure.disciplines.observed import (
    FULL_DROPS,
    FULL_SHARE,
    Bools,
    Floats,
    Ints,
    Step,
)

WITHIN_FRAME: Final = 0.2
"""Packet times within which packets of one frame arrive one after another."""
LEAST_FRAME: Final = 3
"""Packets of a frame that carries several; median."""
FEWEST_FRAMES: Final = 20
"""Fewer frames show nothing."""
MOST_AHEAD: Final = 3.0
"""Frames of which a driver composes the last while the first is on the air."""
PER_FRAME: Final = 64
"""Times that are tried, for the time of each frame."""
IN_FLIGHT: Final = 3
"""Frames at most that have been composed and have not arrived."""
MISCOUNTED: Final = 1
"""Packets by which counts may differ: for those that the air loses."""
CHANCE: Final = 1e-6
"""Chance that drops which have nothing to do with frames come at such counts, at most."""
ALONE: Final = 1e-2
"""The same in one step, of a length that is known: two steps at least must agree."""


def packets_of_frames(arrived_s: Floats, packet_s: float) -> Ints:
    """Return how many packets arrived together, frame by frame, of arrivals in order."""
    last = np.append(np.diff(arrived_s) > WITHIN_FRAME * packet_s, True)
    return np.asarray(np.diff(np.flatnonzero(last), prepend=-1))


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of a step: arrays of equal length, in the order of arriving.

    ``arrived_s``: when all packets of the frame had arrived. ``packets``: how many they are.
    """

    arrived_s: Floats
    packets: Ints

    @classmethod
    def of(cls, step: Step) -> Frames | None:
        """Return the frames of a step; None if packets arrive by themselves."""
        packets = packets_of_frames(step.arrived_s, step.packet_s)
        if len(packets) < FEWEST_FRAMES or np.median(packets) < LEAST_FRAME:
            return None
        return cls._with(step, packets)

    @classmethod
    def any_of(cls, step: Step) -> Frames:
        """Return the frames of a step with arrivals; a packet by itself is a frame of one."""
        return cls._with(step, packets_of_frames(step.arrived_s, step.packet_s))

    @classmethod
    def _with(cls, step: Step, packets: Ints) -> Frames:
        return cls(step.arrived_s[np.cumsum(packets) - 1], packets)

    @property
    def carried(self) -> Ints:
        """Packets of all frames before each, and of all frames; one more than frames."""
        return np.concatenate(([0], np.cumsum(self.packets)))

    @property
    def time_s(self) -> float:
        """From one frame to the next, of as many packets as most have; median."""
        most = self.packets[1:] >= np.median(self.packets)
        return float(np.median(np.diff(self.arrived_s)[most]))

    def composed_s(self, ahead: float) -> Floats:
        """Return when each packet left the queue: ``ahead`` times a frame's time before arriving."""
        share = self.packets / np.median(self.packets)
        composed = np.maximum.accumulate(self.arrived_s - ahead * self.time_s * share)
        return np.asarray(np.repeat(composed, self.packets))


@dataclass(frozen=True, slots=True)
class Full:
    """A queue that was full at ``length`` packets, with the frame on the air or without.

    ``alike``: share of the drops that were at this length. ``refused``: share that was lost of the
    packets that found this length, or more. ``steps``: with departures when frames were composed.
    """

    length: float
    alike: float
    refused: float
    steps: tuple[Step, ...]


def full(steps: Sequence[Step]) -> Full | None:
    """Return at which length a queue that sends frames was full; None if no queue was."""
    frames = [(step, of) for step in steps if (of := Frames.of(step)) is not None]
    if sum(len(step.drops) for step, _ in frames) < FULL_DROPS:
        return None
    tried = np.linspace(0, MOST_AHEAD, round(MOST_AHEAD * PER_FRAME) + 1)
    every = (_full([_composed(*each, float(ahead)) for each in frames]) for ahead in tried)
    found = [seen for seen in every if seen is not None]
    return max(found, key=lambda seen: min(seen.alike, seen.refused), default=None)


def _full(steps: Sequence[Step]) -> Full | None:
    """Return the length at which nearly all drops were, if nearly all packets there were lost."""
    # Packets of one instant may seem to leave before one of them comes.
    at_drops = np.maximum(0, np.concatenate([step.waiting_at(step.drops) for step in steps]))
    lengths = at_drops.astype(np.int64)
    length = int(np.argmax(np.bincount(lengths)))
    alike = float(np.mean(np.abs(lengths - length) <= 1))
    # A queue that is empty when frames leave is that of no time from composing to arriving.
    if alike < FULL_SHARE or length < np.median([step.blur_packets for step in steps]):
        return None
    there = np.concatenate([step.lost[step.waiting >= length] for step in steps])
    refused = float(np.mean(there))
    return Full(length, alike, refused, tuple(steps)) if refused >= FULL_SHARE else None


@dataclass(frozen=True, slots=True)
class Refilled:
    """A full queue that took in what frames carried away.

    ``alike``: share of the ``counts`` of packets taken in, one for each time when the queue dropped
    some, that were those of whole frames and a full queue of ``length``, with or without frames on
    their way. ``steps``: with departures that make the most of these counts.
    """

    length: int
    alike: float
    counts: int
    steps: tuple[Step, ...]


def refilled(steps: Sequence[Step]) -> Refilled | None:
    """Return how a queue was refilled after frames had left; None if none seems to have been full."""
    of_frames = [(step, of) for step in steps if (of := Frames.of(step)) is not None]
    if not any(len(step.drops) for step, _ in of_frames):
        return None
    by_step = [_full_with(*each) for each in of_frames]
    full_with = np.concatenate(by_step, axis=1)
    counts = full_with.shape[1]
    agreeing = _agreeing(full_with)
    # A frame less in the queue is a frame more on its way: the longest queue has as few as can be.
    length = len(agreeing) - 1 - int(np.argmax(agreeing[::-1]))
    alike = float(agreeing[length] / counts)
    if length < 1 or alike < FULL_SHARE:
        return None
    # A controller may drop a packet of each frame under one overload, and not under others.
    alone = sum(_chance_at(length, of_step) <= math.log(ALONE) for of_step in by_step)
    if alone < 2 or _chance_at(length, full_with) + math.log(len(agreeing)) > math.log(CHANCE):
        return None
    # The largest of the counts taken for one: no frame is taken to have left for a miscount.
    most = length + MISCOUNTED
    as_counted = (
        _as_counted(*each, most, _agree(of_step, length))
        for each, of_step in zip(of_frames, by_step, strict=True)
    )
    return Refilled(most, alike, counts, tuple(as_counted))


def _chance_at(length: int, full_with: Ints) -> float:
    """Return the logarithm of the chance that so many counts agree with a length, or more."""
    counts = full_with.shape[1]
    if not counts:
        return 0.0
    share = float(np.mean(_agree(full_with, length)))
    return float(counts * _exponent(share, _by_chance(full_with)))


def _agree(full_with: Ints, length: int) -> Bools:
    """Return of each drop whether it agrees with a length of the full queue; shape (D,)."""
    return np.asarray(np.any(np.abs(full_with - length) <= MISCOUNTED, axis=0))


def _by_chance(full_with: Ints) -> float:
    """Return the mean chance that a count is one of whole frames, or nearly: of `_full_with`."""
    packets = (full_with[0] - full_with[-1]) / (len(full_with) - 1)
    return float(np.mean(np.minimum(1.0, (1 + 2 * MISCOUNTED) / np.maximum(packets, 1.0))))


def _exponent(share: float, mean: float) -> float:
    """Return the logarithm of Chernoff's bound for each count: ``share`` of them, or more, agree."""
    if share <= mean:
        return 0.0
    others = (1 - share) * math.log((1 - mean) / (1 - share)) if share < 1 else 0.0
    return share * math.log(mean / share) + others


def _agreeing(full_with: Ints) -> Ints:
    """Return of each length of a full queue, from 0 on, with how many of the drops it agrees."""
    near = full_with + np.arange(-MISCOUNTED, MISCOUNTED + 1)[:, np.newaxis, np.newaxis]
    lengths = near.reshape(-1, full_with.shape[1])
    drops = np.broadcast_to(np.arange(full_with.shape[1]), lengths.shape)
    known = lengths >= 0
    pairs = np.unique(np.stack((lengths[known], drops[known])), axis=1)
    return np.bincount(pairs[0], minlength=1)


def _full_with(step: Step, frames: Frames) -> Ints:
    """Return what a full queue holds if it was full at the drops: an array of shape (F, D).

    F: numbers of frames on their way. D: drops, once where the queue took nothing in between them.
    """
    taken_in, drops = np.unique(np.cumsum(~step.lost)[step.drops], return_counts=True)
    # The last of them: until then no frame made room.
    last_s = step.came_s[step.drops[np.cumsum(drops) - 1]]
    arrived = np.searchsorted(frames.arrived_s, last_s, side="right")
    on_way = np.arange(IN_FLIGHT + 1)[:, np.newaxis]
    return np.asarray(taken_in - frames.carried[np.minimum(arrived + on_way, len(frames.packets))])


def _as_counted(step: Step, frames: Frames, length: int, agree: Bools) -> Step:
    """Return the step with departures as late as a full queue of this length allows.

    ``agree``: of each of the counts of `_full_with`, whether the queue was full.

    A frame leaves when it arrives, or when a packet comes in that would find the queue full. Without
    the packets of frames that the air lost.
    """
    came_s = np.append(step.came_s[~step.lost], np.inf)
    needed_s = came_s[np.minimum(frames.carried[:-1] + length, len(came_s) - 1)]
    left_s = np.repeat(np.minimum(frames.arrived_s, needed_s), frames.packets)
    # Counts depend neither on bursts nor on instants.
    counted = step.leaving(left_s, blur_packets=0.0, jitter_packets=0.0)
    kept = ~_of_lost_frames(step, agree)
    return dataclasses.replace(
        counted, came_s=counted.came_s[kept], left_s=counted.left_s[kept], lost=counted.lost[kept]
    )


def _of_lost_frames(step: Step, agree: Bools) -> Bools:
    """Mark packets lost in a row with room, as many as a frame has at least; shape (n,)."""
    _, event, drops = np.unique(
        np.cumsum(~step.lost)[step.drops], return_inverse=True, return_counts=True
    )
    lost_frame = ~agree & (drops >= LEAST_FRAME)
    marked = np.zeros(len(step.lost), dtype=bool)
    marked[step.drops] = lost_frame[event]
    return marked


def _composed(step: Step, frames: Frames, ahead: float) -> Step:
    """Return the step with departures when frames were composed.

    A frame that is repeated was composed earlier: lengths may seem to be shorter by a frame.
    """
    return step.leaving(frames.composed_s(ahead), blur_packets=float(np.median(frames.packets)))
