"""Physical layers of 802.11 as a network uses them; here those without aggregation: b, a and g.

The standard's values are in the engine, whose `airqueue._native.Radio` has the rates, durations of
frames, rates of responses, and aggregates. A `Phy` is a radio with a name, whose channel access
timing and basic rates can be replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from airqueue._native import Ieee80211, Mode, Radio
from airqueue.models.checks import FloatArray, Numbers, choice, numbers
from airqueue.models.errors import ParameterError

DSSS: Final = "dsss"
"""Modulation class of 802.11b's rates; for responses all other classes count as OFDM."""
MAX_NON_HT_BYTES: Final = Ieee80211.MAX_NON_HT_PSDU_BYTES
"""Largest PSDU before HT: OFDM's LENGTH field has 12 bits (17.3.4.3)."""
MAX_WINDOW: Final = 1e9
"""Far above any window, and low enough for the engine's whole numbers."""
PREAMBLES: Final = ("long", "short")


@dataclass(frozen=True, slots=True)
class Phy:
    """A physical layer with its channel access timing; `dataclasses.replace` makes variants of it.

    Raises ParameterError for times or windows out of range and for basic rates that the layer does
    not have.
    """

    name: str
    slot_s: float
    sifs_s: float
    cw_min: float
    """CWmin, the largest value of the first backoff (31 for 802.11b)."""
    cw_max: float
    """CWmax, the largest value of any backoff."""
    basic_rates_bps: tuple[float, ...]
    """BSSBasicRateSet: rates of the responses."""
    radio: Radio
    """The engine's layer; it follows the fields above, to the nanosecond and the whole value."""

    def __post_init__(self) -> None:
        for name in ("slot_s", "sifs_s"):
            numbers(name, getattr(self, name), at_least=0, at_most=1)
        numbers("cw_min", self.cw_min, at_least=0)
        numbers("cw_max", self.cw_max, at_least=self.cw_min, at_most=MAX_WINDOW)
        available = [mode.rate_bps for mode in self.control_modes]
        if not self.basic_rates_bps or not set(self.basic_rates_bps) <= set(available):
            raise ParameterError(
                "basic_rates_bps",
                f"the basic rates of {self.name} are {rates_text(self.basic_rates_bps)}; they must "
                f"be one or more of {rates_text(available)}",
            )
        slot_ns, sifs_ns = round(self.slot_s * 1e9), round(self.sifs_s * 1e9)
        access = (slot_ns, sifs_ns, int(self.cw_min), int(self.cw_max))
        variant = self.radio.variant(access, list(self.basic_rates_bps))
        object.__setattr__(self, "radio", variant)

    @property
    def band(self) -> str:
        """Band in GHz: "2.4" or "5"."""
        return self.radio.band

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of data frames, by rising rate."""
        return self.radio.modes

    @property
    def control_modes(self) -> tuple[Mode, ...]:
        """Rates of control frames, which all stations must decode: not HT and later."""
        return self.radio.control_modes

    @property
    def max_mpdus(self) -> int:
        """MPDUs in an A-MPDU; 1 where there is no aggregation."""
        return self.radio.max_mpdus

    @property
    def max_mpdu_bytes(self) -> int:
        """Bytes of the largest MPDU, in an A-MPDU or alone, at the highest rate."""
        return self.radio.max_mpdu_bytes

    @property
    def max_psdu_bytes(self) -> int:
        """Bytes of the largest frame, or of the largest A-MPDU."""
        return self.radio.max_psdu_bytes

    @property
    def rates_bps(self) -> tuple[float, ...]:
        """Rates of data frames, rising."""
        return tuple(mode.rate_bps for mode in self.modes)

    @property
    def difs_s(self) -> float:
        """DIFS: SIFS and two slots."""
        return float(self.aifs_s(2))

    def aifs_s(self, aifsn: Numbers) -> FloatArray:
        """AIFS of an access category: SIFS and AIFSN slots."""
        slots = numbers("aifsn", aifsn, at_least=0, at_most=1e6)[()]
        aifs_s: FloatArray = self.sifs_s + slots * self.slot_s
        return aifs_s


def checked(phy: object, name: str = "phy") -> Phy:
    """Return a physical layer; ParameterError for anything else, such as its name.

    >>> checked("n")
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: phy is 'n'; it must be a physical layer, as \
airqueue.models.phy_names.phy returns for a name
    """
    if not isinstance(phy, Phy):
        raise ParameterError(
            name,
            f"{name} is {phy!r}; it must be a physical layer, as airqueue.models.phy_names.phy "
            "returns for a name",
        )
    return phy


def rates_text(rates_bps: list[float] | tuple[float, ...]) -> str:
    """Return rates for a message, in Mb/s with one decimal as in the standard."""
    return ", ".join(f"{math.floor(rate / 1e5 + 0.5) / 10:g}" for rate in rates_bps) + " Mb/s"


def phy_of(name: str, radio: Radio) -> Phy:
    """Return a layer with the standard's access timing and basic rates."""
    return Phy(
        name=name,
        slot_s=radio.slot_s,
        sifs_s=radio.sifs_s,
        cw_min=float(radio.cw_min),
        cw_max=float(radio.cw_max),
        basic_rates_bps=tuple(radio.basic_rates_bps),
        radio=radio,
    )


def dsss(preamble: str = "long") -> Phy:
    """Return 802.11b with "long" or "short" preambles; frames at 1 Mb/s always have the long one."""
    choice("preamble", preamble, PREAMBLES)
    return phy_of(f"b-{preamble}", Radio("802.11b", preamble=preamble))


def ofdm() -> Phy:
    """Return 802.11a."""
    return phy_of("a", Radio("802.11a"))


def erp(*, short_slot: bool = True, preamble: str = "short") -> Phy:
    """Return 802.11g; with 802.11b stations in the cell the slot must be the long one.

    The layer has the rates of 802.11b too, with the given preamble: protection frames use them.
    """
    choice("preamble", preamble, PREAMBLES)
    slot_name = "" if short_slot else "-long-slot"
    return phy_of(
        f"g{slot_name}{'-long-preamble' if preamble == 'long' else ''}",
        Radio("802.11g", preamble=preamble, short_slot=short_slot),
    )
