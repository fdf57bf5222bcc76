"""Scenarios of `airqueue simulate`: settings to be tried before they are set anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue.models.phy_names import parts_of
from airqueue.models.phys import Phy
from airqueue.sizing.edca_values import TXOP_UNIT_S, EdcaValues, burst_s, burst_tenths
from airqueue.sizing.settings.hostapd import Category

AP: Final = "ap"
"""What the access point is called, as in `airqueue.simulate.cell`."""
PLACE: Final = "FILE of airqueue simulate"

_OPTIONS: Final[Mapping[str, str]] = {
    "band": 'band = "{} GHz"',
    "long_slot": 'slot = "long"',
    "preamble": 'preamble = "{}"',
    "width": 'width = "{} MHz"',
    "streams": "streams = {}",
    "guard": 'guard_interval = "{} us"',
}
"""Lines of a layer's options, by `airqueue.models.phy_names.parts_of`."""
_SCHEMES: Final[Mapping[str, str]] = {"n": "HT", "ac": "VHT", "ax": "HE"}
"""How names of modulation and coding schemes begin, by the first part of a layer's name."""
_HT_SCHEMES: Final = 8
"""802.11n counts its schemes on from one number of streams to the next."""
_BITS: Final = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0, 10.0, 12.0, 40 / 3, 15.0, 50 / 3)
"""Bits of a symbol with MCS 0, 1, ..., as multiples of those with MCS 0 (IEEE 802.11ax, 27.5)."""


def physical(layer: Phy, rate_bps: float) -> tuple[str, ...]:
    """Return the table of the physical layer, and the rate of all stations that have none.

    >>> from airqueue.models.phy_names import phy
    >>> for line in physical(phy("ac-40mhz-2ss-sgi"), 400e6):
    ...     print(line)
    [phy]
    standard = "802.11ac"
    rate = "VHT-MCS9"
    width = "40 MHz"
    streams = 2
    guard_interval = "0.4 us"
    """
    standard, options = parts_of(layer.name)
    return (
        "[phy]",
        f'standard = "802.11{standard}"',
        f'rate = "{rate_name(layer, rate_bps)}"',
        *(line.format(options[name]) for name, line in _OPTIONS.items() if name in options),
    )


def rate_name(layer: Phy, rate_bps: float) -> str:
    """Return what a scenario calls one of a layer's rates.

    >>> from airqueue.models.phy_names import phy
    >>> rate_name(phy("g"), 5.5e6), rate_name(phy("n-2ss"), 104e6)
    ('5.5 Mb/s', 'HT-MCS13')
    """
    standard, options = parts_of(layer.name)
    if standard not in _SCHEMES:
        return f"{rate_bps / 1e6:g} Mb/s"
    least = layer.modes[0].bits_per_symbol
    bits = next(mode.bits_per_symbol for mode in layer.modes if mode.rate_bps == rate_bps)
    scheme = min(range(len(_BITS)), key=lambda each: abs(_BITS[each] - bits / least))
    if standard == "n":
        scheme += _HT_SCHEMES * (int(options.get("streams", 1)) - 1)
    return f"{_SCHEMES[standard]}-MCS{scheme}"


def times(duration_s: float, warm_up_s: float) -> tuple[str, ...]:
    """Return how long is simulated: counted, and before that."""
    return (f'duration = "{duration_s:g} s"', f'warm_up = "{warm_up_s:g} s"', "")


def server(name: str, rtt_s: float, count: int = 1) -> tuple[str, ...]:
    """Return servers behind the access point, over a line that is no bottleneck."""
    return (
        *("", "[[hosts]]", f'name = "{name}"'),
        *((f"count = {count}",) if count > 1 else ()),
        *(f'link = "{AP}"', 'rate = "10000 Mb/s"', f'delay = "{rtt_s * 0.5e6:g} us"'),
    )


def tcp(name: str, sender: str, receiver: str, packet_bytes: float) -> tuple[str, ...]:
    """Return a long transfer, or as many as there are senders or receivers."""
    return (
        *("", "[[flows]]", f'name = "{name}"', f'from = "{sender}"', f'to = "{receiver}"'),
        *('source = "tcp"', f'size = "{packet_bytes:.0f} B"'),
    )


def channel_access(
    stations: Mapping[Category, EdcaValues],
    access_point: Mapping[Category, tuple[EdcaValues, float]],
) -> tuple[str, ...]:
    """Return the channel access of all stations, and the access point with its own.

    The TXOP is the one that hostapd makes of the time.
    """
    return (
        "[mac]",
        'access = "edca"',
        *(
            _line("edca", category, values, values.txop_units * TXOP_UNIT_S)
            for category, values in stations.items()
        ),
        "",
        "[[stations]]",
        f'name = "{AP}"',
        *(
            _line("mac.edca", category, values, burst_s(burst_tenths(txop_s)))
            for category, (values, txop_s) in access_point.items()
        ),
    )


def _line(table: str, category: Category, values: EdcaValues, txop_s: float) -> str:
    return (
        f"{table}.{category.value} = {{ aifsn = {values.aifsn}, cw_min = {values.cw_min}, "
        f'cw_max = {values.cw_max}, txop = "{round(txop_s * 1e6)} us" }}'
    )
