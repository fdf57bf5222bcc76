"""A saturated cell with its waits, event by event in whole nanoseconds: the engine's reference.

The reference has a shared medium, without stations, frames in flight or queues: between two busy
periods only the earliest of the stations' transmission times matters. Unlike in a kernel of slots,
stations resume their countdown at different times after a collision: bystanders wait EIFS, and the
colliding stations wait for the time-out of the missing response and then DIFS (IEEE 802.11-2016,
10.3.2.3.7 and 10.3.2.9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CW_MIN, _CW_MAX, _ATTEMPTS = 32, 1024, 7


@dataclass(frozen=True, slots=True)
class Waits:
    """Lengths of time in nanoseconds."""

    slot: int
    difs: int
    eifs: int
    success: int
    """Time from the beginning of an exchange to the end of its ACK."""
    collision: int
    """Busy time of a collision: a data frame, or an RTS if used."""
    timeout: int
    """Time from the end of a frame to the end of the wait for its response."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Results of each run."""

    packets_per_s: NDArray[np.float64]
    collided: NDArray[np.float64]
    """Share of the transmissions that collided."""


def cell(
    stations: int,
    waits: Waits,
    *,
    runs: int,
    transmissions: int,
    seed: int,
) -> Rates:
    """Simulate saturated 802.11b stations, ``transmissions`` busy periods in each of ``runs`` runs.

    The first fifth is not counted: all begin with the smallest window.
    Windows have 32 to 1024 values. A packet is given up after 7 transmissions, and the window is
    then the smallest again.
    """
    chance = np.random.default_rng(seed)
    shape = (runs, stations)
    window = np.full(shape, _CW_MIN)
    failures = np.zeros(shape, dtype=int)
    counter = chance.integers(0, window)
    # When each station's slots begin, if nobody transmits before.
    begin = np.full(shape, waits.difs)
    successes, collided, sent, start = (np.zeros(runs) for _ in range(4))
    for period in range(transmissions):
        due = begin + counter * waits.slot
        now = due.min(axis=1, keepdims=True)
        senders = due == now
        counter -= np.clip((now - begin) // waits.slot, 0, counter)
        count = senders.sum(axis=1)
        alone = count == 1
        if period == transmissions // 5:
            start = now[:, 0]
            successes, collided, sent = (np.zeros(runs) for _ in range(3))
        sent += count
        successes += alone
        collided += np.where(alone, 0, count)
        wait = np.where(senders, waits.timeout + waits.difs, waits.eifs)
        again = np.where(alone[:, None], waits.success + waits.difs, waits.collision + wait)
        begin = now + again
        failures = np.where(senders, np.where(alone[:, None], 0, failures + 1), failures)
        failures[failures >= _ATTEMPTS] = 0
        window = np.minimum(_CW_MIN << failures, _CW_MAX)
        counter = np.where(senders, chance.integers(0, window), counter)
    return Rates(successes / ((now[:, 0] - start) * 1e-9), collided / sent)
