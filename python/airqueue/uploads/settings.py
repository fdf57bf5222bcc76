"""The channel access that a user has set, and the ratio of accesses that follows from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypedDict

import numpy as np

from airqueue.models.edca_classes import classes
from airqueue.models.edca_defaults import edca_defaults
from airqueue.models.edca_hold import bianchi_attempts
from airqueue.models.edca_slots import slots
from airqueue.models.errors import ModelError
from airqueue.models.phy_names import phy

Category = Literal["bk", "be", "vi", "vo"]

CATEGORIES: Final[tuple[Category, ...]] = ("bk", "be", "vi", "vo")
NAMES: Final[Mapping[Category, str]] = {
    "bk": "background",
    "be": "best effort",
    "vi": "video",
    "vo": "voice",
}
DSCPS: Final[Mapping[Category, int]] = {"bk": 8, "be": 0, "vi": 34, "vo": 46}
"""CS1, default, AF41, EF: the categories that RFC 8325 gives them, and Linux since 2024 (6.8)."""
TOLERANCE: Final = 0.15
"""Of a logarithm: what moves ratios besides contention."""
COLLIDING: Final = 0.5
"""Of the tolerance for each collision an attempt."""
LOSSES: Final = (0.05, 0.1, 0.2)
"""Of frames in the air, as rate controls leave them."""
BURST: Final = 10
"""Packets of a TXOP, at most; one at least."""
TRANSMISSIONS: Final = 200_000
"""Of the model: its own interval is then about one percent."""


@dataclass(frozen=True, slots=True)
class Access:
    """EDCA parameters of one category; windows are the standard's CWmin and CWmax."""

    aifsn: int
    cw_min: int
    cw_max: int
    txop_s: float
    """0: one frame exchange."""


class AccessDict(TypedDict):
    """The same in results."""

    aifsn: int
    cw_min: int
    cw_max: int
    txop_s: float


Settings = Mapping[Category, Access]


def defaults() -> dict[Category, Access]:
    """Return the standard's defaults for stations with OFDM, which hostapd announces too."""
    table = edca_defaults(phy("g"))
    return {
        category: Access(found.aifsn, round(found.cw_min), round(found.cw_max), float(found.txop_s))
        for category in CATEGORIES
        for found in [table[category.upper()]]
    }


def to_dict(settings: Settings) -> dict[Category, AccessDict]:
    """Return settings as results and captures have them."""
    return {
        category: {
            "aifsn": each.aifsn,
            "cw_min": each.cw_min,
            "cw_max": each.cw_max,
            "txop_s": each.txop_s,
        }
        for category, each in settings.items()
    }


def from_dict(value: object) -> dict[Category, Access]:
    """Return settings of a capture; raise ValueError if there are none."""
    if not isinstance(value, dict) or set(value) != set(CATEGORIES):
        raise ValueError("no settings of the four access categories")
    found: dict[Category, Access] = {}
    for category in CATEGORIES:
        each = value[category]
        if not isinstance(each, dict) or not {"aifsn", "cw_min", "cw_max", "txop_s"} <= set(each):
            raise ValueError(f"no settings of {NAMES[category]}")
        whole = [each[name] for name in ("aifsn", "cw_min", "cw_max")]
        txop = each["txop_s"]
        if not all(type(v) is int for v in whole) or type(txop) not in (int, float):
            raise ValueError(f"settings of {NAMES[category]} that are no numbers")
        found[category] = checked(Access(whole[0], whole[1], whole[2], float(txop)))
    return found


def checked(access: Access) -> Access:
    """Return the access; raise ValueError with what is wrong.

    Ranges are those of the EDCA Parameter Set element (IEEE 802.11-2016, 9.4.2.29).
    """
    if not 1 <= access.aifsn <= 15:
        raise ValueError(f"AIFSN is {access.aifsn}; give 1 to 15")
    for name, value in (("CWmin", access.cw_min), ("CWmax", access.cw_max)):
        if not 0 <= value <= 32767 or (value + 1) & value:
            raise ValueError(
                f"{name} is {value}; give one less than a power of two, as 15 (not the exponent 4)"
            )
    if access.cw_max < access.cw_min:
        raise ValueError(f"CWmax {access.cw_max} is less than CWmin {access.cw_min}")
    if not 0 <= access.txop_s <= 65535 * 32e-6:
        raise ValueError(f"the TXOP limit is {access.txop_s:g} s; give 0 to 2.097 s")
    return access


@dataclass(frozen=True, slots=True)
class Prediction:
    """ln of the accesses of a station in one category over those of one in another.

    ``low`` and ``high``: the same if frames are also lost in the air, at up to the highest of
    `LOSSES`. ``tolerance``: what the model may be wrong by.
    """

    log: float
    low: float
    high: float
    tolerance: float

    def distance(self, value: float) -> float:
        """Return how far a value is from what is predicted."""
        return max(self.low - value, value - self.high, 0.0)


def predicted(one: Access, other: Access, of_one: int, of_other: int) -> Prediction | None:
    """Return what ``of_one`` saturated stations with ``one`` get beside ``of_other`` with ``other``.

    All hear each other; the exact contention of `airqueue.models.edca_slots`. A loss of q changes the
    attempts of a station as a collision probability of 1 - (1 - p) (1 - q) in place of p does, by
    Bianchi's formula; of k packets in a TXOP (1 - q)^k takes the place of 1 - q, since any failure
    doubles the window. After a collision, stations that took part and those that heard it wait for
    unlike times (EIFS), which the model leaves out: the tolerance grows with the probability of
    collisions. None where one of the two gets next to nothing.
    """
    first = min(one.aifsn, other.aifsn)
    given = classes(
        [of_one, of_other],
        [one.aifsn - first, other.aifsn - first],
        [one.cw_min, other.cw_min],
        [one.cw_max, other.cw_max],
    )
    try:
        counted = slots(
            given.stations,
            given.aifs_slots,
            given.w_min - 1,
            given.w_max - 1,
            transmissions=TRANSMISSIONS,
        )
        ratio = counted.ratio(0, 1).mean
        p = np.array([counted.collision_probability(index).mean for index in (0, 1)])
    except ModelError:
        return None
    if ratio <= 0:
        return None
    log = math.log(ratio)
    before = bianchi_attempts(p, given)
    longest = np.array([BURST if each.txop_s > 0 else 1 for each in (one, other)])
    shifts = []
    for loss, packets in itertools.product(LOSSES, (np.ones(2), longest)):
        failing = 1 - (1 - p) * (1 - loss) ** packets
        fewer = np.log(bianchi_attempts(failing, given) / before)
        shifts.append(float(fewer[0] - fewer[1]))
    tolerance = TOLERANCE + COLLIDING * float(p.max())
    return Prediction(log, log + min(0.0, *shifts), log + max(0.0, *shifts), tolerance)


def expected(settings: Settings, category: Category, stations: int) -> Prediction | None:
    """Return what is predicted of a station in a category beside one in best effort.

    The mean of two cases: one of the stations is in the category, or all but one are. None where one
    of the two gets next to nothing.
    """
    one, other = settings[category], settings["be"]
    first = predicted(one, other, 1, stations - 1)
    second = predicted(one, other, stations - 1, 1)
    if first is None or second is None:
        return None
    return Prediction(
        (first.log + second.log) / 2,
        (first.low + second.low) / 2,
        (first.high + second.high) / 2,
        max(first.tolerance, second.tolerance),
    )
