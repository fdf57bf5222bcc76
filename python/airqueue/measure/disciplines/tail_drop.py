"""A queue that drops an arrival when it is full, and else none.

Test: the queue was full, and what was lost while there was room is no more than the idle path loses
(Fisher's exact test, one-sided). Where the idle path lost nothing, losses in long queues alone are
the queue's, however few: slow controllers begin so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from airqueue import stats
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Step

FEWEST_WAITING: Final = 3.0
"""A queue that refuses packets behind fewer than this is not full: something drops before it."""
CHANCE: Final = 0.001
"""Significance level: less likely losses with room are the queue's."""


def early(steps: Sequence[Step], full: float | None) -> tuple[int, int]:
    """Return how many packets were lost with room in the queue, and how many found room."""
    room = [with_room(step, full) for step in steps]
    lost = sum(int(np.count_nonzero(s.lost & r)) for s, r in zip(steps, room, strict=True))
    return lost, sum(int(np.count_nonzero(r)) for r in room)


def fits(steps: Sequence[Step], full: float | None, idle: tuple[int, int]) -> bool:
    """Return whether the queue dropped nothing while it had room.

    ``idle``: packets lost and sent on the idle path.
    """
    if full is None or full < FEWEST_WAITING:
        return False
    lost, found_room = early(steps, full)
    if lost and not idle[0] and not _anywhere(steps, full):
        return False
    return stats.fisher_exact((lost, found_room), idle) > CHANCE


def _anywhere(steps: Sequence[Step], full: float) -> bool:
    """Whether packets were lost with room in short queues too, as a path loses them."""
    return any(np.any(step.lost & (step.waiting < full / 2 - step.slack)) for step in steps)
