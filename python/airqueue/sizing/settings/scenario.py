"""A scenario of `airqueue simulate`: settings to be tried before they are set anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue.sizing.advice import Settings
from airqueue.sizing.edca_values import TXOP_UNIT_S, EdcaValues, burst_s, burst_tenths
from airqueue.sizing.settings.hostapd import Category

AP: Final = "ap"
"""What the access point is called, as in `airqueue.simulate.cell`."""


def edca(
    acks: Category,
    stations: Mapping[Category, EdcaValues],
    access_point: Mapping[Category, tuple[EdcaValues, float]],
) -> Settings:
    """Return the channel access of all stations, and where the access point's differs.

    acks: the category of acknowledgements. The TXOP is the one that hostapd makes of the time.
    """
    return Settings(
        target="scenario",
        place="FILE of airqueue simulate, to which physical layer, other stations and flows come",
        lines=(
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
        ),
        notes=(
            f'Flows of TCP have ack_category = "{acks.value}"; their data stay best effort.',
            'txop = "flows" for the access point follows the number of downloads; a time does not.',
        ),
    )


def _line(table: str, category: Category, values: EdcaValues, txop_s: float) -> str:
    return (
        f"{table}.{category.value} = {{ aifsn = {values.aifsn}, cw_min = {values.cw_min}, "
        f'cw_max = {values.cw_max}, txop = "{round(txop_s * 1e6)} us" }}'
    )
