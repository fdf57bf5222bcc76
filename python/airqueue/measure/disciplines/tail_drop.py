"""A queue that drops an arrival when it is full, and else none.

Test: the queue was full, and what was lost while there was room is no more than the idle path
loses, and no more than is lost of packets that find a short queue (Fisher's exact test, one-sided).
Where the idle path lost nothing, losses in long queues alone are the queue's, however few: slow
controllers begin so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from airqueue import stats
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Bools, Step

FEWEST_WAITING: Final = 3.0
"""A queue that refuses packets behind fewer than this is not full: something drops before it."""
SHORT: Final = 0.25
"""Part of a full queue's length below which a controller has no reason to drop."""
CHANCE: Final = 0.001
"""Significance level: less likely losses with room are the queue's."""


def early(steps: Sequence[Step], full: float | None) -> tuple[int, int]:
    """Return how many packets were lost with room in the queue, and how many found room."""
    return _lost(steps, [with_room(step, full) for step in steps])


def fits(steps: Sequence[Step], full: float | None, idle: tuple[int, int]) -> bool:
    """Return whether the queue dropped nothing while it had room.

    ``idle``: packets lost and sent on the idle path.
    """
    if full is None or full < FEWEST_WAITING:
        return False
    room = [with_room(step, full) for step in steps]
    lost, found_room = _lost(steps, room)
    if lost and not idle[0] and not _anywhere(steps, full):
        return False
    # A path loses packets whatever waits: those that found a short queue tell as the idle path does.
    short = [step.waiting < SHORT * full for step in steps]
    of_short, in_short = _lost(steps, [few & r for few, r in zip(short, room, strict=True)])
    behind_many = (lost - of_short, found_room - in_short)
    by_path = (idle[0] + of_short, idle[1] + in_short)
    chances = (
        stats.fisher_exact((lost, found_room), idle),
        stats.fisher_exact(behind_many, by_path),
    )
    return min(chances) > CHANCE


def _lost(steps: Sequence[Step], which: Sequence[Bools]) -> tuple[int, int]:
    """Return how many packets of these were lost, and how many they are."""
    lost = sum(int(np.count_nonzero(s.lost & of)) for s, of in zip(steps, which, strict=True))
    return lost, sum(int(np.count_nonzero(of)) for of in which)


def _anywhere(steps: Sequence[Step], full: float) -> bool:
    """Whether packets were lost with room in short queues too, as a path loses them."""
    return any(np.any(step.lost & (step.waiting < full / 2 - step.slack)) for step in steps)
