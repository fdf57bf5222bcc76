"""Physical layers of 802.11 as tables of modes; here the layers without aggregation: b, a and g.

Every mode of every layer keeps the medium busy for

    T = overhead + ceil( ceil((extra_bits + 8 L) / bits_per_symbol) · symbol / grid ) · grid

with L the bytes of the PSDU (the MPDU with its FCS). For 802.11b a "symbol" is 1 µs, since TXTIME is
rounded up to whole microseconds (IEEE 802.11-2016, 16.3.4); for OFDM it is a symbol, with 16 service
and 6 tail bits in front and behind (17.4.3). Times are held in whole nanoseconds, so that rounding up
is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from airqueue.models.backoff import CW_MAX, CW_MIN
from airqueue.models.checks import FloatArray, Numbers, choice, numbers
from airqueue.models.errors import ParameterError

DSSS: Final = "dsss"
OFDM: Final = "ofdm"
MAX_NON_HT_BYTES: Final = 4_095
"""Largest PSDU before HT: OFDM's LENGTH field has 12 bits (17.3.4.3)."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One rate of a physical layer: what a frame at this rate costs, in the equation above."""

    rate_bps: float
    reference_rate_bps: float
    """The rate that the response's rate may not exceed: for HT and later, the non-HT rate of the
    same modulation and coding (IEEE 802.11-2016, table 10-8)."""
    modulation_class: str
    """DSSS or OFDM: that of the response."""
    overhead_ns: int
    """Preamble, PHY header, signal extension, packet extension."""
    extra_bits: int
    bits_per_symbol: float
    symbol_ns: int
    grid_ns: int = 1
    """HT and VHT with short guard intervals end on a boundary of 4 µs; 1 for the others."""


@dataclass(frozen=True, slots=True)
class Phy:
    """A physical layer with its channel access timing; `dataclasses.replace` makes variants of it.

    Raises ParameterError for times or windows out of range and for basic rates that it has not.
    """

    name: str
    band: str
    """In GHz: "2.4" or "5"."""
    slot_s: float
    sifs_s: float
    cw_min: float
    """Values of the smallest contention window (32 for 802.11b)."""
    cw_max: float
    modes: tuple[Mode, ...]
    """Of data frames, by rising rate."""
    control_modes: tuple[Mode, ...]
    """Of control frames, which all stations must understand: not HT and later."""
    basic_rates_bps: tuple[float, ...]
    """BSSBasicRateSet: rates of the responses."""
    rx_start_delay_s: float
    """From the start of a frame to its indication to the MAC: preamble and PHY header."""
    max_mpdus: int = 1
    """MPDUs in an A-MPDU; 1 where there is no aggregation."""
    max_psdu_bytes: int = MAX_NON_HT_BYTES

    def __post_init__(self) -> None:
        for name in ("slot_s", "sifs_s", "rx_start_delay_s"):
            numbers(name, getattr(self, name), at_least=0, at_most=1)
        numbers("cw_min", self.cw_min, at_least=1)
        numbers("cw_max", self.cw_max, at_least=self.cw_min)
        available = [mode.rate_bps for mode in self.control_modes]
        if not self.basic_rates_bps or not set(self.basic_rates_bps) <= set(available):
            raise ParameterError(
                "basic_rates_bps",
                f"the basic rates of {self.name} are {rates_text(self.basic_rates_bps)}; they must "
                f"be one or more of {rates_text(available)}",
            )

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


def rates_text(rates_bps: list[float] | tuple[float, ...]) -> str:
    """Return rates for a message, as the standard prints them: in Mb/s with one digit."""
    return ", ".join(f"{math.floor(rate / 1e5 + 0.5) / 10:g}" for rate in rates_bps) + " Mb/s"


_PREAMBLES_NS: Final = {"long": 192_000, "short": 96_000}
_OFDM_BITS: Final = {6: 24, 9: 36, 12: 48, 18: 72, 24: 96, 36: 144, 48: 192, 54: 216}
"""Mb/s -> data bits per symbol (IEEE 802.11-2016, table 17-4)."""
SIGNAL_EXTENSION_NS: Final = 6_000
"""Silence behind OFDM at 2.4 GHz, which makes up for the shorter SIFS (18.3.2.4)."""
OFDM_BASIC_BPS: Final = (6e6, 12e6, 24e6)


def dsss_modes(preamble: str) -> tuple[Mode, ...]:
    """Return 1, 2, 5.5, 11 Mb/s with a "long" or "short" preamble; 1 Mb/s always has the long one."""
    choice("preamble", preamble, tuple(_PREAMBLES_NS))
    return tuple(
        Mode(
            rate_bps=mbps * 1e6,
            reference_rate_bps=mbps * 1e6,
            modulation_class=DSSS,
            overhead_ns=_PREAMBLES_NS["long" if mbps == 1 else preamble],
            extra_bits=0,
            bits_per_symbol=mbps,
            symbol_ns=1_000,
        )
        for mbps in (1, 2, 5.5, 11)
    )


def ofdm_modes(extension_ns: int = 0) -> tuple[Mode, ...]:
    """Return the eight rates of OFDM at 20 MHz, with a signal extension (at 2.4 GHz) or without."""
    return tuple(
        Mode(
            rate_bps=mbps * 1e6,
            reference_rate_bps=mbps * 1e6,
            modulation_class=OFDM,
            overhead_ns=20_000 + extension_ns,
            extra_bits=22,
            bits_per_symbol=bits,
            symbol_ns=4_000,
        )
        for mbps, bits in _OFDM_BITS.items()
    )


def dsss(preamble: str = "long") -> Phy:
    """Return 802.11b: slot 20, SIFS 10 µs, window 32; basic rates 1 and 2 Mb/s."""
    modes = dsss_modes(preamble)
    return Phy(
        name=f"b-{preamble}",
        band="2.4",
        slot_s=20e-6,
        sifs_s=10e-6,
        cw_min=CW_MIN,
        cw_max=CW_MAX,
        modes=modes,
        control_modes=modes,
        basic_rates_bps=(1e6, 2e6),
        rx_start_delay_s=_PREAMBLES_NS[preamble] / 1e9,
    )


def ofdm() -> Phy:
    """Return 802.11a: slot 9, SIFS 16 µs, window 16; basic rates 6, 12 and 24 Mb/s."""
    modes = ofdm_modes()
    return Phy(
        name="a",
        band="5",
        slot_s=9e-6,
        sifs_s=16e-6,
        cw_min=CW_MIN / 2,
        cw_max=CW_MAX,
        modes=modes,
        control_modes=modes,
        basic_rates_bps=OFDM_BASIC_BPS,
        rx_start_delay_s=20e-6,
    )


def erp(*, short_slot: bool = True, preamble: str = "short") -> Phy:
    """Return 802.11g: SIFS 10 µs, window 16, slot 9 µs, or 20 where an 802.11b station is present.

    It has the rates of 802.11b too, with the given preamble: protection frames use them.
    """
    modes = sorted(
        (*dsss_modes(preamble), *ofdm_modes(SIGNAL_EXTENSION_NS)), key=lambda mode: mode.rate_bps
    )
    slot_name = "" if short_slot else "-long-slot"
    return Phy(
        name=f"g{slot_name}{'-long-preamble' if preamble == 'long' else ''}",
        band="2.4",
        slot_s=9e-6 if short_slot else 20e-6,
        sifs_s=10e-6,
        cw_min=CW_MIN / 2,
        cw_max=CW_MAX,
        modes=tuple(modes),
        control_modes=tuple(modes),
        basic_rates_bps=OFDM_BASIC_BPS,
        rx_start_delay_s=20e-6,
    )
