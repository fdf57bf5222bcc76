"""How often stations win the medium, compared: ratios of accesses, Jain's index, and tests of both.

*Equal categories.* L is the logarithm of the ratio of accesses of two stations, its standard error
that of a ratio over `BLOCKS` blocks of time, its 99 % interval from Student's t. Stations win equally
often if for all pairs ``|L| <= TOLERANCE + interval``, unequally if for one pair
``|L| > 2 TOLERANCE + interval``. Jain's index is ``(Σ x)² / (n Σ x²)``, x the packets of a station;
its interval is the jackknife's over the blocks.

*Two categories.* Of the runs in which the first station has the category, and the second station has
it, ``D = (L_first - L_second) / 2``: what one station has of its place or radio cancels out. The
settings predict P, and for losses in the air of up to a fifth a range, with a tolerance T that grows
with collisions (`settings.Prediction`). With the distance d of D from the range

- ``obeyed`` if ``|D - P| <= TOLERANCE + interval``, and ``|D| > TOLERANCE + interval``: no difference
  between the categories would not look so;
- ``not_obeyed`` if ``d > 2 T + interval``;
- ``undecided`` otherwise; ``obeyed`` is not said if half of the interval is wider than `WIDEST` and
  than a tenth of P.

A device that obeys is then called disobedient with a probability of at most 0.5 % and the chance
that its ratio is off by more than twice the tolerance for other reasons: frames that are lost,
stations that do not hear each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from airqueue.stats import t_quantile
from airqueue.uploads.accesses import Accesses, Floats
from airqueue.uploads.settings import TOLERANCE, Prediction

Obedience = Literal["obeyed", "not_obeyed", "undecided"]
Fairness = Literal["equal", "unequal", "undecided"]

ALIKE: Final = Prediction(0.0, 0.0, 0.0, TOLERANCE)
"""What stations get whose access is alike."""
WIDEST: Final = 0.25
BLOCKS: Final = 12
LEAST_ACCESSES: Final = 60
"""Of either station, or the ratio is not known."""
QUANTILE: Final = t_quantile(BLOCKS - 1, 0.995)


@dataclass(frozen=True, slots=True)
class Log:
    """A logarithm of a ratio, and half of its 99 % interval."""

    value: float
    half: float

    def is_near(self, expected: Prediction) -> bool:
        """Whether the ratio may be what is expected."""
        return abs(self.value - expected.log) <= TOLERANCE + self.half

    def is_far(self, expected: Prediction) -> bool:
        """Whether the ratio is not what is expected."""
        return expected.distance(self.value) > 2 * expected.tolerance + self.half


def in_blocks(found: Accesses, station: int, *, packets: bool = False) -> Floats:
    """Return the accesses of a station, or its packets, in each block of time."""
    rows = found.station == station
    weights = found.packets[rows] if packets else None
    counted = np.histogram(found.at_s[rows], BLOCKS, (found.start_s, found.end_s), weights=weights)[
        0
    ]
    return counted.astype(np.float64)


def ratio(found: Accesses, first: int, second: int) -> Log | None:
    """Return the ratio of the accesses of two stations; None if it is not known."""
    one, other = (in_blocks(found, station) for station in (first, second))
    sums = float(one.sum()), float(other.sum())
    if min(sums) < LEAST_ACCESSES:
        return None
    spread = one / sums[0] - other / sums[1]
    error = math.sqrt(BLOCKS / (BLOCKS - 1) * float(np.sum(spread**2)))
    return Log(math.log(sums[0] / sums[1]), QUANTILE * error)


def difference(first_has: Log, second_has: Log) -> Log:
    """Return D of the two runs in which either station has the category; logs of first to second."""
    half = math.hypot(first_has.half, second_has.half) / 2
    return Log((first_has.value - second_has.value) / 2, half)


def obedience(seen: Log | None, predicted: Prediction | None) -> Obedience:
    """Judge a ratio beside what the settings predict."""
    if seen is None or predicted is None:
        return "undecided"
    if seen.is_far(predicted):
        return "not_obeyed"
    narrow = seen.half <= max(WIDEST, abs(predicted.log) / 10)
    return (
        "obeyed" if narrow and seen.is_near(predicted) and not seen.is_near(ALIKE) else "undecided"
    )


def fairness(logs: list[Log | None]) -> Fairness:
    """Judge the ratios of all pairs of stations in one category."""
    known = [log for log in logs if log is not None]
    if any(log.is_far(ALIKE) for log in known):
        return "unequal"
    whole = bool(logs) and len(known) == len(logs)
    narrow = all(log.half <= WIDEST for log in known)
    return "equal" if whole and narrow and all(log.is_near(ALIKE) for log in known) else "undecided"


@dataclass(frozen=True, slots=True)
class Jain:
    """Jain's index of the packets of all stations, and its 99 % interval."""

    index: float
    low: float
    high: float


def jain(found: Accesses) -> Jain | None:
    """Return Jain's index; None if nothing has arrived."""
    counts = np.array([in_blocks(found, s, packets=True) for s in range(found.stations)])
    total = counts.sum(axis=1)
    if not total.any():
        return None
    whole = _index(total)
    without = [_index(total - counts[:, block]) for block in range(BLOCKS)]
    error = math.sqrt((BLOCKS - 1) / BLOCKS * float(np.sum((np.array(without) - whole) ** 2)))
    half = QUANTILE * error
    return Jain(whole, max(1 / found.stations, whole - half), min(1.0, whole + half))


def _index(shares: Floats) -> float:
    squares = float(np.sum(shares**2))
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else 1.0
