"""Physical layers with aggregation: 802.11n (HT), 802.11ac (VHT), 802.11ax (HE) and later.

A layer is built for one number of streams, one channel width and one guard interval, so a rate names
one mode. The engine has the standards, their options and the resulting durations: see
`airqueue.models.phys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from airqueue._native import Radio, RadioChoices, radio_choices, radio_standards
from airqueue.models.checks import choice, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.phys import Phy, phy_of

BANDS: Final = {name: tuple(bands) for name, bands, has_choices in radio_standards() if has_choices}
"""Standards with aggregation, oldest first -> their bands in GHz, the usual band first."""
MAX_PSDU_BYTES: Final = max(Radio(standard).max_psdu_bytes for standard in BANDS)
"""Bytes of the largest PSDU of any layer."""


def ht(
    streams: int = 1, width_mhz: int = 20, guard_interval_s: float = 0.8e-6, band: str = "5"
) -> Phy:
    """Return 802.11n, HT-mixed format: 1 to 4 streams, 20 or 40 MHz, guard interval 0.8 or 0.4 µs."""
    return later("802.11n", streams, width_mhz, guard_interval_s, band)


def vht(streams: int = 1, width_mhz: int = 80, guard_interval_s: float = 0.8e-6) -> Phy:
    """Return 802.11ac: 1 to 8 streams, 20 to 160 MHz, guard interval 0.8 or 0.4 µs, at 5 GHz.

    Combinations that the standard excludes are left out (MCS 9 of one stream at 20 MHz, for example).
    """
    return later("802.11ac", streams, width_mhz, guard_interval_s)


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
    """
    return later(
        "802.11ax",
        streams,
        width_mhz,
        guard_interval_s,
        band,
        ltf_s=ltf_s,
        packet_extension_s=packet_extension_s,
    )


def later(
    standard: str,
    streams: int = 1,
    width_mhz: int | None = None,
    guard_interval_s: float = 0.8e-6,
    band: str = "5",
    *,
    ltf_s: float | None = None,
    packet_extension_s: float = 0.0,
) -> Phy:
    """Return the layer of a standard with aggregation.

    standard: one of `BANDS`. streams: spatial streams. width_mhz: of the channel; if not given, the
    standard's usual one. guard_interval_s: in seconds. band: "2.4" or "5" GHz. ltf_s: training symbol
    without guard interval, packet_extension_s: packet extension, from 802.11ax on; if not given, the
    mandatory values.

    Raises ParameterError, which names the parameter and the values of the standard.

    >>> later("802.11ac", 2, 80, 0.4e-6).rates_bps[-1]
    866666666.6666666
    """
    choice("standard", standard, tuple(BANDS))
    choices = radio_choices(standard, choice("band", band, tuple(sorted(BANDS[standard]))))
    count = numbers("streams", streams, at_least=1, at_most=choices.most_streams, whole=True)
    width = choices.usual_width_mhz if width_mhz is None else _width(choices, width_mhz, band)
    guard_ns = _one_of("guard_interval_s", guard_interval_s, choices.guard_intervals_ns)
    radio = Radio(
        standard,
        preamble="short",
        band=band,
        streams=int(count),
        width_mhz=width,
        guard_interval_ns=guard_ns,
        ltf_ns=None if ltf_s is None else _one_of("ltf_s", ltf_s, choices.ltfs_ns),
        packet_extension_ns=_one_of(
            "packet_extension_s", packet_extension_s, choices.packet_extensions_ns or [0]
        ),
    )
    return phy_of(_name(standard, width, int(count), guard_ns, band), radio)


def _width(choices: RadioChoices, width_mhz: int, band: str) -> int:
    if width_mhz not in choices.widths_mhz:
        where = "at 2.4 GHz " if band == "2.4" else ""
        widths = ", ".join(map(str, choices.widths_mhz))
        raise ParameterError(
            "width_mhz", f"width_mhz is {width_mhz!r}; {where}it must be one of {widths}"
        )
    return width_mhz


def _one_of(name: str, value_s: float, allowed_ns: Sequence[int]) -> int:
    nanoseconds = round(number(name, value_s, at_least=0, at_most=1) * 1e9)
    if not allowed_ns:
        raise ParameterError(name, f"{name} is of later standards; leave it out")
    if nanoseconds not in allowed_ns:
        choices = ", ".join(f"{allowed / 1e3:g}" for allowed in allowed_ns)
        raise ParameterError(
            name, f"{name} is {value_s * 1e6:g} µs; it must be one of {choices} µs"
        )
    return nanoseconds


def _name(standard: str, width_mhz: int, streams: int, guard_ns: int, band: str) -> str:
    where = "" if band == "5" else f"-{band}"
    guard = "" if guard_ns == 800 else f"-gi{guard_ns / 1e3:g}"
    return f"{standard.removeprefix('802.11')}{where}-{width_mhz}mhz-{streams}ss{guard}"
