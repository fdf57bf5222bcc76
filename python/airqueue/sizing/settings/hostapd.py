"""``hostapd.conf``: EDCA of the access point itself, and of the stations, which its beacon announces.

``wmm_ac_*`` goes into the beacon's WMM element and rules the stations; ``tx_queue_data*`` rules the
access point's own queues. The former counts windows as exponents and the TXOP in 32 µs, the latter
windows as 2^k - 1 and the TXOP in ms with one decimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from airqueue.sizing import plans
from airqueue.sizing.advice import Settings
from airqueue.sizing.edca_values import EdcaValues, burst_tenths


class Category(Enum):
    """Access categories by the name that hostapd has for them."""

    VOICE = "vo"
    VIDEO = "vi"
    BEST_EFFORT = "be"
    BACKGROUND = "bk"

    @property
    def in_plans(self) -> str:
        """The name in plans."""
        return self.name.lower()


TX_QUEUE: Final = {
    Category.VOICE: 0,
    Category.VIDEO: 1,
    Category.BEST_EFFORT: 2,
    Category.BACKGROUND: 3,
}
"""The n of ``tx_queue_data<n>``."""

NOTES: Final = (
    "wmm_ac_* reaches stations that support WMM (802.11n and later must); an older one stays at "
    "DCF, which is AIFSN 2, and so ahead of best effort here.",
    "Firmware of some adapters keeps EDCA values of its own or takes the TXOP for a hint: read back "
    "what the beacon says (iw dev wlan0 scan dump, on a station) and measure the shares.",
)
"""What hardware may do with these lines."""


def station_lines(category: Category, values: EdcaValues) -> tuple[str, ...]:
    """Return the lines that the beacon makes of one category for the stations."""
    name = f"wmm_ac_{category.value}"
    return (
        f"{name}_aifs={values.aifsn}",
        f"{name}_cwmin={values.ecw_min}",
        f"{name}_cwmax={values.ecw_max}",
        f"{name}_txop_limit={values.txop_units}",
        f"{name}_acm=0",
    )


def ap_lines(category: Category, values: EdcaValues, txop_s: float = 0.0) -> tuple[str, ...]:
    """Return the lines for the access point's own queue of one category.

    txop_s: the TXOP as it was before it was rounded to 32 µs, since hostapd rounds differently.
    """
    name = f"tx_queue_data{TX_QUEUE[category]}"
    return (
        f"{name}_aifs={values.aifsn}",
        f"{name}_cwmin={values.cw_min}",
        f"{name}_cwmax={values.cw_max}",
        f"{name}_burst={burst(txop_s)}",
    )


def burst(txop_s: float) -> str:
    """Return a TXOP as hostapd takes it: ms with one decimal, 0 for one frame.

    >>> burst(7.572e-3), burst(0)
    ('7.6', '0')
    """
    tenths = burst_tenths(txop_s)
    return f"{tenths // 10}.{tenths % 10}" if tenths else "0"


def lines(
    stations: Mapping[Category, EdcaValues],
    access_point: Mapping[Category, tuple[EdcaValues, float]],
) -> tuple[str, ...]:
    """Return all lines: ``wmm_enabled``, what the beacon says, the access point's queues."""
    beacon = [line for item in stations.items() for line in station_lines(*item)]
    own = [
        line
        for category, (values, txop_s) in access_point.items()
        for line in ap_lines(category, values, txop_s)
    ]
    return (
        "wmm_enabled=1",
        "# What the beacon announces to the stations: windows as exponents, TXOP in 32 µs",
        *beacon,
        "# The access point's own queues: windows as 2^k - 1, TXOP in ms",
        *own,
    )


def settings(
    stations: Mapping[Category, EdcaValues],
    access_point: Mapping[Category, tuple[EdcaValues, float]],
    device: str,
) -> Settings:
    """Return the part of ``hostapd.conf`` to replace or add; ``device`` of the access point."""
    return Settings(
        target="hostapd",
        place="access point: hostapd.conf, then restart hostapd",
        lines=lines(stations, access_point),
        notes=NOTES,
        sets=(
            *(plans.edca(device, item.in_plans, values) for item, values in stations.items()),
            *(
                plans.edca(device, item.in_plans, values, own=True)
                for item, (values, _) in access_point.items()
            ),
        ),
    )
