"""Names of physical layers for the models' ``phy`` parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from airqueue.models.errors import ParameterError
from airqueue.models.phys import Phy, dsss, erp, ofdm
from airqueue.models.phys_ht import BANDS, later

_LATER: Final = {standard.removeprefix("802.11"): standard for standard in BANDS}
"""First part of the names of layers with aggregation -> standard."""
_NAME = re.compile(rf"({'|'.join(sorted(_LATER, reverse=True))}|[abg])((?:-[a-z0-9.]+)*)")
_OPTION = re.compile(
    r"-(?:(?P<long_slot>long-slot)|(?P<preamble>long|short)(?:-preamble)?|(?P<band>2\.4|5)"
    r"|(?P<width>\d+)mhz|(?P<streams>\d)ss|(?P<guard>sgi|gi\d(?:\.\d)?))(?=-|$)"
)
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "a": frozenset(),
    "b": frozenset({"preamble"}),
    "g": frozenset({"preamble", "long_slot"}),
    **{
        begin: frozenset({"width", "streams", "guard"})
        | (frozenset({"band", "long_slot"}) if "2.4" in BANDS[standard] else frozenset())
        for begin, standard in _LATER.items()
    },
}
PHY_HELP: Final = (
    f"{', '.join(['b-long, b-short, g, g-long-slot, a', *_LATER][:-1])} or {[*_LATER][-1]}; "
    "with options as in n-2.4-40mhz-2ss-sgi, ax-80mhz-2ss-gi1.6, g-long-slot-long-preamble "
    "(airqueue simulate's g and 2.4 GHz have long preambles)"
)


def phy(name: str) -> Phy:
    """Return the physical layer of a name: a standard and its options, joined by hyphens.

    ``b-long``, ``b-short`` (preamble); ``g`` (short slots, and short preambles at 802.11b's rates,
    where `airqueue simulate` has long ones unless told otherwise), options
    ``long-slot``, ``long-preamble``; ``a``; ``n``, ``ac``, ``ax`` and later, options ``2.4`` (GHz; 5
    without), ``40mhz`` (without: 80 from ac on at 5 GHz, else 20), ``2ss`` (spatial streams; 1
    without), ``sgi`` (0.4 µs) or ``gi0.8`` (guard interval in µs; 0.8 without); at 2.4 GHz also
    ``long-slot``.

    Raises ParameterError for anything else.

    >>> phy("ac-80mhz-2ss-sgi").rates_bps[-1]
    866666666.6666666
    >>> phy("d")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: phy is 'd'; it must be b-long, b-short, g, g-long-slot, ...
    """
    standard, options = parts_of(name)
    return replace(_built(standard, options), name=name)


def parts_of(name: str) -> tuple[str, dict[str, str]]:
    """Return the standard and the options of a layer's name.

    The options by their kind: long_slot, preamble, band, width, streams, guard (in µs). Raises
    ParameterError for a name that `phy` does not know, values of options apart.

    >>> parts_of("n-2.4-40mhz-2ss-sgi")
    ('n', {'band': '2.4', 'width': '40', 'streams': '2', 'guard': '0.4'})
    """
    found = _NAME.fullmatch(str(name))
    if found is None:
        raise ParameterError("phy", f"phy is {name!r}; it must be {PHY_HELP}")
    standard, text = found.groups()
    options: dict[str, str] = {}
    while text:
        option = _OPTION.match(text)
        key = str(option.lastgroup) if option else ""
        if option is None or key not in _OPTIONS[standard] or key in options:
            known = ", ".join(sorted(_OPTIONS[standard])).replace("_", " ") or "none"
            raise ParameterError(
                "phy",
                f"phy is {name!r}, in which {text[1:]!r} is no option of 802.11{standard} "
                f"(it has: {known}); it must be {PHY_HELP}",
            )
        options[key] = option[key].replace("sgi", "gi0.4").removeprefix("gi")
        text = text[option.end() :]
    return standard, options


def _built(standard: str, options: Mapping[str, str]) -> Phy:
    preamble = options.get("preamble")
    if standard == "b":
        return dsss(preamble or "long")
    if standard == "g":
        return erp(short_slot="long_slot" not in options, preamble=preamble or "short")
    if standard == "a":
        return ofdm()
    streams = int(options.get("streams", 1))
    band = options.get("band", "5")
    width_mhz = int(options["width"]) if "width" in options else None
    guard_s = float(options.get("guard", "0.8")) * 1e-6
    built = later(_LATER[standard], streams, width_mhz, guard_s, band)
    if "long_slot" not in options:
        return built
    if band == "5":
        raise ParameterError("phy", "long slots exist at 2.4 GHz only; add the option 2.4")
    return replace(built, slot_s=erp(short_slot=False).slot_s)


PHYS: Final[Mapping[str, Phy]] = {
    name: phy(name)
    for name in (
        *("b-long", "b-short", "g", "g-long-slot", "a"),
        *(
            begin if band == "5" else f"{begin}-{band}"
            for begin, standard in _LATER.items()
            for band in BANDS[standard]
        ),
    )
}
"""The usual physical layers by name; `phy` builds all others."""
