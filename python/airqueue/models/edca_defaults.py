"""Default parameters of the four access categories (IEEE 802.11-2016, table 9-137)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airqueue.models.checks import choice, numbers
from airqueue.models.phys import Phy, dsss

ACCESS_CATEGORIES: Final = ("BK", "BE", "VI", "VO")
"""By rising priority: background, best effort, video, voice."""
EDITIONS: Final = ("2005", "2016")


@dataclass(frozen=True, slots=True)
class AccessCategory:
    """Channel access of one category."""

    name: str
    aifsn: int
    """Slots after SIFS."""
    cw_min: float
    """CWmin, the largest value of the first backoff."""
    cw_max: float
    """CWmax, the largest value of any backoff."""
    txop_s: float
    """Longest transmission opportunity; 0: one frame exchange."""


def edca_defaults(
    phy: Phy, *, access_point: bool = False, edition: str = "2005"
) -> dict[str, AccessCategory]:
    """Return the default parameters of BK, BE, VI, VO for stations of a physical layer.

    The windows follow the layer's: VI draws from half as many values as BE at first, VO from a
    quarter; VI's largest window is BE's smallest, VO's half of that. Layers with DSSS alone have
    their own TXOP limits. The table is the engine's.

    access_point: the values that many access points use for themselves, AIFSN 1 for VI and VO.
    edition: "2005" (as 802.11e), or "2016", whose TXOP limits for OFDM are longer, and given for BK
    and BE too; these limits are not checked against the standard's text.

    Raises ParameterError, also for a layer whose smallest window has no quarter.

    >>> from airqueue.models.phy_names import phy
    >>> edca_defaults(phy("b-long"))["VI"]
    AccessCategory(name='VI', aifsn=2, cw_min=15.0, cw_max=31.0, txop_s=0.006016)
    """
    choice("edition", edition, EDITIONS)
    numbers("cw_min", phy.cw_min, at_least=3, whole=True)
    return {
        found.name: AccessCategory(
            found.name, found.aifsn, float(found.cw_min), float(found.cw_max), found.txop_s
        )
        for found in phy.radio.edca_defaults(edition, access_point)
    }


BEST_EFFORT_AIFSN: Final = edca_defaults(dsss())["BE"].aifsn
"""Default parameters of every layer."""
BACKGROUND_AIFSN: Final = edca_defaults(dsss())["BK"].aifsn
