"""Physical layers with aggregation: 802.11n (HT), 802.11ac (VHT) and 802.11ax (HE, single user).

A layer is built for one number of streams, one channel width and one guard interval, so a rate names
one mode. Which of these there are, and what follows from them, the engine says: see
`airqueue.models.phys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from airqueue._native import Radio, RadioChoices, radio_choices
from airqueue.models.checks import choice, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.phys import Phy, phy_of

MAX_HE_BYTES: Final = Radio("802.11ax").max_psdu_bytes
"""Largest PSDU of 802.11ax, and so of any layer here."""
_BANDS: Final = ("2.4", "5")


def ht(
    streams: int = 1, width_mhz: int = 20, guard_interval_s: float = 0.8e-6, band: str = "5"
) -> Phy:
    """Return 802.11n, HT-mixed format: 1 to 4 streams, 20 or 40 MHz, guard interval 0.8 or 0.4 µs."""
    standard = "802.11n"
    choices = radio_choices(standard, choice("band", band, _BANDS))
    count, guard_ns = _checked(choices, streams, width_mhz, guard_interval_s, band)
    radio = Radio(
        standard,
        preamble="short",
        band=band,
        streams=count,
        width_mhz=width_mhz,
        guard_interval_ns=guard_ns,
    )
    return phy_of(_name("n", width_mhz, count, guard_ns, band), radio)


def vht(streams: int = 1, width_mhz: int = 80, guard_interval_s: float = 0.8e-6) -> Phy:
    """Return 802.11ac: 1 to 8 streams, 20 to 160 MHz, guard interval 0.8 or 0.4 µs, at 5 GHz.

    What the standard leaves out of a width and number of streams is left out here too (MCS 9 of one
    stream at 20 MHz, for example).
    """
    standard = "802.11ac"
    count, guard_ns = _checked(radio_choices(standard), streams, width_mhz, guard_interval_s)
    radio = Radio(standard, streams=count, width_mhz=width_mhz, guard_interval_ns=guard_ns)
    return phy_of(_name("ac", width_mhz, count, guard_ns), radio)


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
    standard = "802.11ax"
    choices = radio_choices(standard, choice("band", band, _BANDS))
    count, guard_ns = _checked(choices, streams, width_mhz, guard_interval_s, band)
    radio = Radio(
        standard,
        preamble="short",
        band=band,
        streams=count,
        width_mhz=width_mhz,
        guard_interval_ns=guard_ns,
        ltf_ns=None if ltf_s is None else _one_of("ltf_s", ltf_s, choices.ltfs_ns),
        packet_extension_ns=_one_of(
            "packet_extension_s", packet_extension_s, choices.packet_extensions_ns
        ),
    )
    return phy_of(_name("ax", width_mhz, count, guard_ns, band), radio)


def _checked(
    choices: RadioChoices, streams: int, width_mhz: int, guard_interval_s: float, band: str = "5"
) -> tuple[int, int]:
    """Return the checked number of streams and the guard interval in nanoseconds."""
    count = numbers("streams", streams, at_least=1, at_most=choices.most_streams, whole=True)
    if width_mhz not in choices.widths_mhz:
        where = "at 2.4 GHz " if band == "2.4" else ""
        widths = ", ".join(map(str, choices.widths_mhz))
        raise ParameterError(
            "width_mhz", f"width_mhz is {width_mhz!r}; {where}it must be one of {widths}"
        )
    return int(count), _one_of("guard_interval_s", guard_interval_s, choices.guard_intervals_ns)


def _one_of(name: str, value_s: float, allowed_ns: Sequence[int]) -> int:
    nanoseconds = round(float(numbers(name, value_s, at_least=0, at_most=1)) * 1e9)
    if nanoseconds not in allowed_ns:
        choices = ", ".join(f"{allowed / 1e3:g}" for allowed in allowed_ns)
        raise ParameterError(
            name, f"{name} is {value_s * 1e6:g} µs; it must be one of {choices} µs"
        )
    return nanoseconds


def _name(standard: str, width_mhz: int, streams: int, guard_ns: int, band: str = "5") -> str:
    where = "" if band == "5" else f"-{band}"
    guard = "" if guard_ns == 800 else f"-gi{guard_ns / 1e3:g}"
    return f"{standard}{where}-{width_mhz}mhz-{streams}ss{guard}"
