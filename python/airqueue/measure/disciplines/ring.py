"""A driver's ring between the queue and a radio that aggregates: when packets left the queue.

A driver holds packets for the next frames. When a frame has ended the next one is composed from the
ring, and as many packets leave the queue for the ring: a packet leaves the queue when the frame has
arrived that carries the packet so many places before it as the ring and the air hold. So the wait
in the queue is known, whoever else took the air meanwhile, once this number is known; what packets
wait in the ring is no part of what a controller sees.

The number is one for all steps: with it PIE's controller explains best how many packets were lost
when (`airqueue.measure.disciplines.pie.explains`). Whether PIE explains the losses better than all
else is a test of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from airqueue.measure.disciplines import pie
from airqueue.measure.disciplines.frames import LEAST_FRAME, Frames, packets_of_frames
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Step

MOST_FRAMES: Final = 10
"""Frames that a driver's ring and the air hold at most."""
PER_FRAME: Final = 2
"""Numbers of packets that are tried, for each frame of them."""


def taken_off(steps: Sequence[Step], full: float | None) -> tuple[list[Step], int] | None:
    """Return the steps with departures from the queue, and how many rings were tried.

    ``full``: a full queue's length, the ring included. None where packets do not come in frames.
    """
    frame = min(_frame(step) for step in steps)
    if frame < LEAST_FRAME:
        return None
    room = [with_room(step, full) for step in steps]
    tried = [round(k * frame / PER_FRAME) for k in range(MOST_FRAMES * PER_FRAME + 1)]
    every = [[through(step, held) for step in steps] for held in tried]
    explained = [
        sum(pie.explains(step, rows) for step, rows in zip(seen, room, strict=True))
        for seen in every
    ]
    return every[int(np.argmax(explained))], len(tried)


def _frame(step: Step) -> float:
    """Packets of a frame; median."""
    return float(np.median(packets_of_frames(step.arrived_s, step.packet_s)))


def through(step: Step, held: int) -> Step:
    """Return the step with departures from a queue before a ring and the air, which hold so many."""
    frames = Frames.any_of(step)
    ended = np.repeat(frames.arrived_s, frames.packets)
    room_at = np.concatenate((np.full(held, -np.inf), ended))[: len(ended)]
    return step.leaving(room_at, blur_packets=float(np.median(frames.packets)))
