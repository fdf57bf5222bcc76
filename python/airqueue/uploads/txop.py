"""Bursts of packets in one access, and what the TXOP limit that was set allows.

Within a burst packets follow each other after a step of frame, SIFS, response and SIFS
(`accesses`), so that k packets keep the medium for ``k step - SIFS``. A limit admits
``N = max(1, floor((limit + SIFS) / step))`` packets (`airqueue.models.edca_txop`). Of a station that
always has packets waiting nearly all bursts have N packets; only losses and the end of the queue make
them shorter. With b the 90th percentile of packets in an access of the station in the category

- ``obeyed`` if b = N > 1: the limit is used and kept;
- ``within`` if b < N: the limit is kept, and the station uses less;
- ``exceeded`` if b > N;
- ``undecided`` where accesses hold aggregates, whose duration arrivals do not show, where steps are
  so short that a line of 100 Mb/s may have torn aggregates apart, where accesses are not told apart,
  and where no bursts are seen: coarse times hide them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from airqueue.uploads.accesses import Accesses

Limit = Literal["obeyed", "within", "exceeded", "undecided"]

SIFS_S: Final = 10e-6
"""Of 2.4 GHz; 16 us elsewhere."""
SLACK_S: Final = 8e-6
"""Of the two: N is a range where a limit lies between."""
LEAST_STEP_S: Final = 250e-6
"""1500 bytes and a response take 300 us at 54 Mb/s, and 123 us on a line of 100 Mb/s."""
LEAST: Final = 40
"""Accesses, or bursts are not judged."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """Packets in an access of one station: the median and the 90th percentile, and the step."""

    median: float
    high: int
    step_s: float | None


def bursts(found: Accesses, station: int) -> Bursts | None:
    """Return what a station sent in an access; None if that is not known."""
    packets = found.packets[found.station == station]
    if len(packets) < LEAST or found.aggregates[station] or not found.told_apart:
        return None
    high = int(np.quantile(packets, 0.9, method="inverted_cdf"))
    return Bursts(float(np.median(packets)), high, found.steps_s[station])


def allowed(limit_s: float, step_s: float) -> tuple[int, int]:
    """Return how many packets a limit admits, at least and at most, for what is not known of SIFS."""
    if limit_s <= 0:
        return 1, 1
    fewest = int((limit_s + SIFS_S - SLACK_S) / step_s)
    most = int((limit_s + SIFS_S + 2 * SLACK_S) / step_s)
    return max(1, fewest), max(1, most)


def judge(seen: Bursts | None, limit_s: float) -> Limit:
    """Judge the bursts of a station beside the limit of its category."""
    if seen is None or seen.step_s is None or seen.step_s < LEAST_STEP_S:
        return "undecided"
    fewest, most = allowed(limit_s, seen.step_s)
    if seen.high > most:
        return "exceeded"
    if seen.high < fewest:
        return "within"
    return "obeyed" if seen.high > 1 else "undecided"
