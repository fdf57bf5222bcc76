"""EDCA parameters as the standard and as drivers count them, and what cannot be expressed.

The models count AIFS in slots above DIFS, windows in values, a TXOP in frames. Management frames
carry AIFSN, the exponents ECWmin and ECWmax (CW = 2^ECW - 1), and the TXOP limit in units of 32 µs
(IEEE 802.11-2016, 9.4.2.29); hostapd takes the access point's own TXOP in tenths of a millisecond.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from airqueue.models.airtime import MAX_DURATION_S
from airqueue.models.checks import number, numbers
from airqueue.models.errors import ParameterError

Role = Literal["access point", "station"]

DIFS_AIFSN: Final = 2
"""DIFS is SIFS and two slots."""
AIFSN_MAX: Final = 15
AIFSN_MIN: Final[dict[Role, int]] = {"access point": 1, "station": 2}
ECW_MAX: Final = 15
TXOP_UNIT_S: Final = 32e-6
TXOP_UNITS_MAX: Final = 0xFFFF
TXOP_LIMIT_S: Final = round(TXOP_UNITS_MAX * TXOP_UNIT_S, 6)
BURST_UNIT_S: Final = 100e-6
ETSI_TXOP_S: Final = 6e-3
ETSI_AP_VIDEO_CW_MIN: Final = 7
"""EN 301 893 (5 GHz), by which cfg80211's regulatory rules bound what hostapd sets (wireless-regdb,
``wmmrule ETSI``): longest occupancy of best effort, least CWmin of an access point's video."""
DURATION_LIMIT_S: Final = MAX_DURATION_S
"""What the Duration field can announce (9.2.4.2): a longer TXOP goes on unprotected."""


@dataclass(frozen=True, slots=True)
class EdcaValues:
    """One access category as management frames carry it."""

    aifsn: int
    ecw_min: int
    ecw_max: int
    txop_units: int = 0
    """TXOP limit in 32 µs; 0: one frame."""

    @property
    def cw_min(self) -> int:
        """CWmin as the standard counts it: the largest backoff, 2^ECWmin - 1."""
        return (1 << self.ecw_min) - 1

    @property
    def cw_max(self) -> int:
        """CWmax likewise."""
        return (1 << self.ecw_max) - 1


def encode(
    aifs_slots: float, cw_min: float, cw_max: float, txop_s: float = 0.0, *, role: Role
) -> EdcaValues:
    """Return a class of the models in the standard's terms.

    aifs_slots: above DIFS, so that AIFSN = 2 + aifs_slots; -1 is the least at an access point, 0 at
    a station, 13 the most. cw_min, cw_max: the standard's, one less than a power of two, 0 to
    32767.
    txop_s: rounded up to a multiple of 32 µs; 0 for one frame, 2.09712 s at most.

    Raises ParameterError for what the standard has no number for.

    >>> encode(4, 31, 1023, 7.572e-3, role="access point")
    EdcaValues(aifsn=6, ecw_min=5, ecw_max=10, txop_units=237)
    >>> encode(-1, 3, 7, role="station")
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: aifs_slots is -1; it must be a whole number from 0 to 13
    """
    slots = numbers(
        "aifs_slots",
        aifs_slots,
        at_least=AIFSN_MIN[role] - DIFS_AIFSN,
        at_most=AIFSN_MAX - DIFS_AIFSN,
        whole=True,
    )
    low, high = exponent("cw_min", cw_min), exponent("cw_max", cw_max)
    if high < low:
        raise ParameterError("cw_max", f"cw_max is {cw_max:g}; it must be at least cw_min")
    return EdcaValues(DIFS_AIFSN + int(slots), low, high, txop_units(txop_s))


def exponent(name: str, largest: float) -> int:
    """Return ECW of a window by its largest value: 5 for 31, 2^5 - 1.

    Raises ParameterError unless the largest value is one less than a power of two, 0 to 32767.
    """
    values = int(number(name, largest, at_least=0, at_most=(1 << ECW_MAX) - 1, whole=True)) + 1
    if values & (values - 1):
        raise ParameterError(
            name, f"{name} is {values - 1}; it must be one less than a power of two, as 31 is"
        )
    return values.bit_length() - 1


def txop_units(txop_s: float) -> int:
    """Return a TXOP limit in units of 32 µs, rounded up.

    Raises ParameterError for a negative time or more than the field holds, 2.09712 s.
    """
    checked_s = number("txop_s", txop_s, at_least=0, at_most=TXOP_LIMIT_S)
    # A multiple that floating point put a little above itself stays one.
    return math.ceil(checked_s / TXOP_UNIT_S - 1e-6)


def burst_tenths(txop_s: float) -> int:
    """Return hostapd's ``burst`` in tenths of a millisecond, the least that is long enough.

    hostapd passes ``(100 tenths + 16) / 32``, rounded down, to the driver as the limit in 32 µs.
    """
    wanted = txop_units(txop_s)
    tenths = math.floor(wanted * TXOP_UNIT_S / BURST_UNIT_S) - 1
    return next(t for t in range(max(tenths, 0), tenths + 4) if _passed_units(t) >= wanted)


def burst_s(tenths: int) -> float:
    """Return the TXOP that a driver gets from hostapd for a ``burst``.

    >>> burst_s(76)
    0.007616
    """
    return round(_passed_units(tenths) * TXOP_UNIT_S, 9)


def _passed_units(tenths: int) -> int:
    return (100 * tenths + 16) // 32
