"""Uploads and downloads through an access point, as a scenario of `airqueue simulate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airqueue.models.phys import Phy
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings import scenario
from airqueue.sizing.settings.hostapd import Category
from airqueue.sizing.settings.scenario import AP

UPLOAD: Final = "upload"
DOWNLOAD: Final = "download"
DURATION_S: Final = 60.0
WARM_UP_S: Final = 10.0
RTT_S: Final = 0.002
"""To the server, without queues."""
_NOTES: Final = (
    "Flows of TCP put their acknowledgements into the category that is first; their data stay best "
    "effort.",
    'txop = "flows" for the access point follows the number of downloads; a time does not.',
)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Stations that each upload, or each download, through an access point."""

    layer: Phy
    rate_bps: float
    packet_bytes: float
    uploads: int
    downloads: int


def settings(
    cell: TwoWay, access: tuple[str, ...] | None = None, acks: Category | None = None
) -> Settings:
    """Return the scenario, with the channel access of `scenario.channel_access`.

    access: not given: plain 802.11, one queue for all. acks: the category of acknowledgements.
    """
    own = ("[[stations]]", f'name = "{AP}"')
    alone = cell.layer.max_mpdus > 1
    lines = [
        *scenario.times(DURATION_S, WARM_UP_S),
        *scenario.physical(cell.layer, cell.rate_bps),
        # The settings are for frames sent one at a time.
        *(("", "[mac.aggregation]", "enabled = false") if alone else ()),
        *("", "[tcp]", 'stack = "linux"', ""),
        *(own if access is None else access),
    ]
    marked = () if acks is None else (f'ack_category = "{acks.value}"',)
    lines += scenario.server("server", RTT_S)
    for name, count, ends in (
        (UPLOAD, cell.uploads, ("uploads", "server")),
        (DOWNLOAD, cell.downloads, ("server", "downloads")),
    ):
        if count:
            lines += ["", "[[stations]]", f'name = "{name}s"', f"count = {count}"]
            lines += [*scenario.tcp(name, *ends, cell.packet_bytes), *marked]
    return Settings("scenario", scenario.PLACE, tuple(lines), _NOTES)


def names(kind: str, count: int) -> tuple[str, ...]:
    """Return the names of the uploads or downloads, as results have them."""
    if count == 1:
        return (kind,)
    return tuple(f"{kind}{number + 1}" for number in range(count))
