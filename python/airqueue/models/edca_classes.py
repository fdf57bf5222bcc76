"""Classes of stations with EDCA parameters, and the successes that a model predicts.

Shared by the hold chain and the model of Battiti and Li. The last axis of every array is the class;
the axes before it are points of a sweep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airqueue.models.backoff import CW_MAX, CW_MIN, windows
from airqueue.models.catalogue import Kind, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, number, numbers
from airqueue.models.errors import ConvergenceError, ParameterError

RETRIES = 7
"""dot11ShortRetryLimit: retransmissions after which a packet is given up."""
MAX_AIFS_SLOTS = 1000.0
MAX_CW = 2.0**20 - 1.0
"""The standard's largest is 2^15 - 1."""
MAX_CLASSES = 64
MAX_STATIONS = 1e6


@dataclass(frozen=True, slots=True)
class Classes:
    """Checked parameters; all arrays have the same shape, the last axis is the class."""

    stations: FloatArray
    aifs_slots: FloatArray
    """D, slots above the smallest AIFS of the point."""
    w_min: FloatArray
    """Values of the smallest window, CWmin + 1."""
    w_max: FloatArray
    """Values of the largest window, CWmax + 1."""
    retries: int | None

    @property
    def flat(self) -> Classes:
        """Return the classes with two axes, point and class."""
        last = self.stations.shape[-1]
        return Classes(
            self.stations.reshape(-1, last),
            self.aifs_slots.reshape(-1, last),
            self.w_min.reshape(-1, last),
            self.w_max.reshape(-1, last),
            self.retries,
        )

    def __getitem__(self, points: int | NDArray[np.intp]) -> Classes:
        """Return some points, by an index along the first axis."""
        return Classes(
            self.stations[points],
            self.aifs_slots[points],
            self.w_min[points],
            self.w_max[points],
            self.retries,
        )


def classes(
    stations: Numbers,
    aifs_slots: Numbers,
    cw_min: Numbers,
    cw_max: Numbers,
    retries: int | None = RETRIES,
) -> Classes:
    """Check and broadcast the parameters of the classes.

    stations: of each class, at least 1, may be fractional. aifs_slots: whole slots; only differences
    matter, and the smallest becomes 0. cw_min, cw_max: the standard's CWmin and CWmax. retries: the
    number of retransmissions before a packet is given up, None for no limit.

    >>> classes([1, 1], [4, 10], 31, 1023).aifs_slots.tolist()
    [0.0, 6.0]
    """
    low, high = windows(
        numbers("cw_min", cw_min, at_least=0, at_most=MAX_CW),
        numbers("cw_max", cw_max, at_least=0, at_most=MAX_CW),
    )
    checked = broadcast(
        stations=numbers("stations", stations, at_least=1, at_most=MAX_STATIONS),
        aifs_slots=numbers(
            "aifs_slots", aifs_slots, at_least=0, at_most=MAX_AIFS_SLOTS, whole=True
        ),
        cw_min=low,
        cw_max=high,
    )
    n, aifs, low, high = (np.atleast_1d(array) for array in checked)
    if not 1 <= n.shape[-1] <= MAX_CLASSES:
        raise ParameterError(
            "stations", f"there are {n.shape[-1]} classes; give from 1 to {MAX_CLASSES}"
        )
    if retries is not None:
        retries = int(number("retries", retries, at_least=0, at_most=1e9, whole=True))
    first = aifs.min(axis=-1, keepdims=True)
    return Classes(n, aifs - first, low, high, retries)


@dataclass(frozen=True, slots=True)
class Shares:
    """Rates of success; the last axis is the class."""

    stations: FloatArray
    """Of each class, n_i."""
    station_success_per_slot: FloatArray
    """Probability that a slot holds a success of one station of the class."""

    @property
    def success_per_slot(self) -> FloatArray:
        """Probability that a slot holds a success of any station of the class."""
        return finished("success", self.stations * self.station_success_per_slot)

    @property
    def success_share(self) -> FloatArray:
        """Share of the class in all successes; raises ConvergenceError without any success."""
        each = self.success_per_slot
        total = np.sum(each, axis=-1, keepdims=True)
        if np.any(total == 0):
            raise ConvergenceError(
                "every attempt collides, so that there are no successes to share; use fewer stations "
                "or larger windows"
            )
        return finished("success share", each / total)

    def ratio(self, one: int, other: int) -> FloatArray:
        """Return the successes of a station of class ``one`` for each of one of class ``other``."""
        each = self.station_success_per_slot
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = each[..., one] / each[..., other]
        return finished("ratio", value)


RETRIES_PARAMETER = Parameter(
    "retries", "retransmissions before a packet is given up", RETRIES, Kind.WHOLE
)
CLASS_PARAMETERS = (
    Parameter("stations", "saturated stations of each class", (1.0, 1.0), Kind.NUMBERS),
    Parameter("aifs_slots", "D_i, AIFS in slots; differences matter", (0.0, 4.0), Kind.NUMBERS),
    Parameter("cw_min", "CWmin of each class, or of all", (CW_MIN,), Kind.NUMBERS),
    Parameter("cw_max", "CWmax of each class, or of all", (CW_MAX,), Kind.NUMBERS),
    RETRIES_PARAMETER,
)
"""Parameters of every model with any number of classes."""
