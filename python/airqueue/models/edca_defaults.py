"""Default parameters of the four access categories (IEEE 802.11-2016, table 9-137)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airqueue.models.checks import choice
from airqueue.models.phys import DSSS, Phy

ACCESS_CATEGORIES: Final = ("BK", "BE", "VI", "VO")
"""By rising priority: background, best effort, video, voice."""


@dataclass(frozen=True, slots=True)
class AccessCategory:
    """Channel access of one category."""

    name: str
    aifsn: int
    """Slots after SIFS."""
    cw_min: float
    """Values of the smallest contention window."""
    cw_max: float
    txop_s: float
    """Longest transmission opportunity; 0: one frame exchange."""


_AIFSN: Final = {"BK": 7, "BE": 3, "VI": 2, "VO": 2}
_AP_AIFSN: Final = {"BK": 7, "BE": 3, "VI": 1, "VO": 1}
_TXOP_S: Final = {
    "2005": {
        "dsss": {"BK": 0.0, "BE": 0.0, "VI": 6.016e-3, "VO": 3.264e-3},
        "ofdm": {"BK": 0.0, "BE": 0.0, "VI": 3.008e-3, "VO": 1.504e-3},
    },
    "2016": {
        "dsss": {"BK": 3.264e-3, "BE": 3.264e-3, "VI": 6.016e-3, "VO": 3.264e-3},
        "ofdm": {"BK": 2.528e-3, "BE": 2.528e-3, "VI": 4.096e-3, "VO": 2.080e-3},
    },
}
EDITIONS: Final = tuple(_TXOP_S)


def edca_defaults(
    phy: Phy, *, access_point: bool = False, edition: str = "2005"
) -> dict[str, AccessCategory]:
    """Return the default parameters of BK, BE, VI, VO for stations of a physical layer.

    The windows follow the layer's: VI draws from half as many values as BE at first, VO from a
    quarter; VI's largest window is BE's smallest, VO's half of that. Layers with DSSS alone have
    their own TXOP limits.

    access_point: what many access points use themselves, AIFSN 1 for VI and VO. edition: "2005" (as
    802.11e), or "2016", whose TXOP limits for OFDM are longer, and given for BK and BE too; these are
    not checked against the standard's text.

    >>> from airqueue.models.phy_names import phy
    >>> edca_defaults(phy("b-long"))["VI"]
    AccessCategory(name='VI', aifsn=2, cw_min=16.0, cw_max=32.0, txop_s=0.006016)
    """
    only_dsss = all(mode.modulation_class == DSSS for mode in phy.modes)
    txop_s = _TXOP_S[choice("edition", edition, EDITIONS)]["dsss" if only_dsss else "ofdm"]
    aifsn = _AP_AIFSN if access_point else _AIFSN
    low, high = phy.cw_min, phy.cw_max
    windows = {
        "BK": (low, high),
        "BE": (low, high),
        "VI": (low / 2, low),
        "VO": (low / 4, low / 2),
    }
    return {
        name: AccessCategory(name, aifsn[name], *windows[name], txop_s[name])
        for name in ACCESS_CATEGORIES
    }
