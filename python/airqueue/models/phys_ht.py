"""Physical layers with aggregation: 802.11n (HT), 802.11ac (VHT) and 802.11ax (HE, single user).

A layer is built for one number of streams, one channel width and one guard interval, so a rate names
one mode. Sources: IEEE 802.11-2016, 19.4.3 (HT-mixed) and 21.4.3 (VHT); IEEE 802.11ax-2021, 27.4.3
(HE SU).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from airqueue.models.checks import choice, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.phys import OFDM, SIGNAL_EXTENSION_NS, Mode, Phy, erp, ofdm


@dataclass(frozen=True, slots=True)
class _Coding:
    """A modulation and coding scheme, without streams and width."""

    bits: int
    """Coded bits per subcarrier and stream."""
    code_rate: Fraction
    reference_mbps: int
    """Non-HT rate of the same modulation and coding, or of the nearest below."""


_CODINGS: Final = tuple(
    _Coding(bits, Fraction(up, down), mbps)
    for bits, up, down, mbps in (
        (1, 1, 2, 6),
        (2, 1, 2, 12),
        (2, 3, 4, 18),
        (4, 1, 2, 24),
        (4, 3, 4, 36),
        (6, 2, 3, 48),
        (6, 3, 4, 54),
        (6, 5, 6, 54),
        (8, 3, 4, 54),
        (8, 5, 6, 54),
        (10, 3, 4, 54),
        (10, 5, 6, 54),
    )
)
"""MCS 0 to 11; HT has the first 8, VHT the first 10."""

MAX_HE_BYTES: Final = 6_500_631
"""Largest PSDU of 802.11ax, and so of any layer here."""
_HT_CARRIERS: Final = {20: 52, 40: 108}
_VHT_CARRIERS: Final = {20: 52, 40: 108, 80: 234, 160: 468}
_HE_CARRIERS: Final = {20: 234, 40: 468, 80: 980, 160: 1960}
"""MHz -> data subcarriers."""
_LTFS: Final = (1, 2, 4, 4, 6, 6, 8, 8)
"""Long training fields for 1 to 8 streams."""

_VHT_LEFT_OUT: Final = frozenset({(80, 3, 6), (80, 7, 6), (80, 6, 9), (160, 3, 9)})
"""(MHz, streams, MCS) that 802.11ac has not, besides those for which no encoders are found."""


def ht(
    streams: int = 1, width_mhz: int = 20, guard_interval_s: float = 0.8e-6, band: str = "5"
) -> Phy:
    """Return 802.11n, HT-mixed format: 1 to 4 streams, 20 or 40 MHz, guard interval 0.8 or 0.4 µs.

    Aggregates: 64 MPDUs, 65 535 bytes.
    """
    count, carriers = _checked(streams, 4, width_mhz, _HT_CARRIERS)
    guard_ns = _guard("guard_interval_s", guard_interval_s, (800, 400))
    modes = []
    for coding in _CODINGS[:8]:
        bits = _data_bits(coding, carriers, count)
        encoders = 2 if bits > 300 * 4 else 1
        overhead_ns = 36_000 - 4_000 + 4_000 * _LTFS[count - 1]
        modes.append(
            _mode(
                coding,
                bits,
                overhead_ns=overhead_ns,
                symbol_ns=3_200 + guard_ns,
                extra_bits=16 + 6 * encoders,
            )
        )
    suffix = _suffix(width_mhz, count, guard_ns)
    return replace(_layer("n", suffix, band, modes), max_mpdus=64, max_psdu_bytes=65_535)


def vht(streams: int = 1, width_mhz: int = 80, guard_interval_s: float = 0.8e-6) -> Phy:
    """Return 802.11ac: 1 to 8 streams, 20 to 160 MHz, guard interval 0.8 or 0.4 µs, at 5 GHz.

    What the standard leaves out of a width and number of streams is left out here too (MCS 9 of one
    stream at 20 MHz, for example).
    Aggregates: 64 MPDUs, 1 048 575 bytes.
    """
    count, carriers = _checked(streams, 8, width_mhz, _VHT_CARRIERS)
    guard_ns = _guard("guard_interval_s", guard_interval_s, (800, 400))
    modes = []
    for mcs, coding in enumerate(_CODINGS[:10]):
        bits = _data_bits(coding, carriers, count)
        encoders = _vht_encoders(bits, coding.code_rate)
        if not encoders or (width_mhz, count, mcs) in _VHT_LEFT_OUT:
            continue
        overhead_ns = 36_000 + 4_000 * _LTFS[count - 1]
        modes.append(
            _mode(
                coding,
                bits,
                overhead_ns=overhead_ns,
                symbol_ns=3_200 + guard_ns,
                extra_bits=16 + 6 * encoders,
            )
        )
    suffix = _suffix(width_mhz, count, guard_ns)
    return replace(_layer("ac", suffix, "5", modes), max_mpdus=64, max_psdu_bytes=1_048_575)


def _vht_encoders(bits: Fraction, code_rate: Fraction) -> int:
    """Return N_ES, 0 if there is none.

    One for each 540 Mb/s (at 0.8 µs), or as many more as it takes to give each a whole number of
    punctured blocks per symbol (IEEE 802.11-2016, 21.5).
    """
    block = code_rate.denominator
    fewest = math.ceil(bits / 4 / 540)
    fitting = (n for n in range(fewest, 13) if bits / code_rate % (n * block) == 0)
    return next(fitting, 0)


def he(
    streams: int = 1,
    width_mhz: int = 20,
    guard_interval_s: float = 0.8e-6,
    band: str = "5",
    *,
    ltf_s: float | None = None,
    packet_extension_s: float = 0.0,
) -> Phy:
    """Return 802.11ax, single-user format: 1 to 8 streams, 20 to 160 MHz (to 40 at 2.4 GHz).

    guard_interval_s: 0.8, 1.6 or 3.2 µs. ltf_s: training symbol, 6.4 or 12.8 µs, which if not given
    is 12.8 µs with the longest guard interval only. packet_extension_s: 0 to 16 µs in steps of 4.
    The 6 tail bits of the convolutional code are counted; LDPC has none.
    Aggregates: 256 MPDUs, 6 500 631 bytes.
    """
    count, carriers = _checked(streams, 8, width_mhz, _HE_CARRIERS)
    if band == "2.4" and width_mhz > 40:
        raise ParameterError(
            "width_mhz", f"width_mhz is {width_mhz}; at 2.4 GHz it must be 20 or 40"
        )
    guard_ns = _guard("guard_interval_s", guard_interval_s, (800, 1_600, 3_200))
    extension_ns = _guard("packet_extension_s", packet_extension_s, tuple(range(0, 16_001, 4_000)))
    if ltf_s is None:
        ltf_s = 12.8e-6 if guard_ns == 3_200 else 6.4e-6
    ltf_ns = _guard("ltf_s", ltf_s, (6_400, 12_800))
    overhead_ns = 36_000 + _LTFS[count - 1] * (ltf_ns + guard_ns) + extension_ns
    modes = []
    for coding in _CODINGS:
        bits = _data_bits(coding, carriers, count)
        modes.append(
            _mode(
                coding,
                bits,
                overhead_ns=overhead_ns,
                symbol_ns=12_800 + guard_ns,
                extra_bits=22,
                grid_ns=1,
            )
        )
    suffix = _suffix(width_mhz, count, guard_ns)
    return replace(_layer("ax", suffix, band, modes), max_mpdus=256, max_psdu_bytes=MAX_HE_BYTES)


def _checked(streams: int, most: int, width_mhz: int, carriers: dict[int, int]) -> tuple[int, int]:
    count = int(numbers("streams", streams, at_least=1, at_most=most, whole=True))
    if width_mhz not in carriers:
        widths = ", ".join(map(str, carriers))
        raise ParameterError("width_mhz", f"width_mhz is {width_mhz!r}; it must be one of {widths}")
    return count, carriers[width_mhz]


def _guard(name: str, value_s: float, allowed_ns: tuple[int, ...]) -> int:
    nanoseconds = round(float(numbers(name, value_s, at_least=0, at_most=1)) * 1e9)
    if nanoseconds not in allowed_ns:
        choices = ", ".join(f"{allowed / 1e3:g}" for allowed in allowed_ns)
        raise ParameterError(
            name, f"{name} is {value_s * 1e6:g} µs; it must be one of {choices} µs"
        )
    return nanoseconds


def _data_bits(coding: _Coding, carriers: int, streams: int) -> Fraction:
    return carriers * coding.bits * streams * coding.code_rate


def _mode(
    coding: _Coding,
    bits: Fraction,
    *,
    overhead_ns: int,
    symbol_ns: int,
    extra_bits: int,
    grid_ns: int = 4_000,
) -> Mode:
    return Mode(
        rate_bps=float(bits / symbol_ns * 10**9),
        reference_rate_bps=coding.reference_mbps * 1e6,
        modulation_class=OFDM,
        overhead_ns=overhead_ns,
        extra_bits=extra_bits,
        bits_per_symbol=math.floor(bits),
        symbol_ns=symbol_ns,
        grid_ns=grid_ns,
    )


def _suffix(width_mhz: int, streams: int, guard_ns: int) -> str:
    guard = "" if guard_ns == 800 else f"-gi{guard_ns / 1e3:g}"
    return f"-{width_mhz}mhz-{streams}ss{guard}"


def _layer(standard: str, suffix: str, band: str, modes: list[Mode]) -> Phy:
    """Return the layer with the channel access and control frames of a (5 GHz) or g (2.4 GHz)."""
    if choice("band", band, ("2.4", "5")) == "5":
        return replace(ofdm(), name=f"{standard}{suffix}", modes=tuple(modes))
    extended = [replace(mode, overhead_ns=mode.overhead_ns + SIGNAL_EXTENSION_NS) for mode in modes]
    return replace(erp(), name=f"{standard}-2.4{suffix}", modes=tuple(extended))
