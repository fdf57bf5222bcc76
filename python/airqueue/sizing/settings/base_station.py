"""A base station whose buffer is divided among flows, as a scenario of `airqueue simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from airqueue.models.phys import Phy
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings import scenario
from airqueue.sizing.settings.scenario import AP

_NOTES: Final = (
    "The access point learns round trips and rates from what the receivers report, as in the paper. "
    'queue.discipline = "droptail" is one FIFO for all.',
)


@dataclass(frozen=True, slots=True)
class Download:
    """A flow to a station of its own."""

    rate_bps: float
    """Of the station's frames."""
    rtt_s: float
    """Without queues."""
    reports: bool
    """Whether the receiver takes part in RDQM."""


def settings(
    layer: Phy,
    packet_bytes: float,
    downloads: Sequence[Download],
    *,
    buffer_packets: int,
    discipline: str,
    times_s: tuple[float, float],
) -> Settings:
    """Return the scenario. discipline: rdqm, droptail, or mac80211 with its own limit.

    times_s: counted, and before that.
    """
    own_limit = discipline == "mac80211"
    lines = [
        *scenario.times(*times_s),
        *scenario.physical(layer, downloads[0].rate_bps),
        *("", "[tcp]", 'stack = "linux"'),
        *("", "[[stations]]", f'name = "{AP}"', f'queue.discipline = "{discipline}"'),
        *(() if own_limit else (f'queue.limit = "{buffer_packets} packets"',)),
    ]
    for number, download in enumerate(downloads, 1):
        name = scenario.rate_name(layer, download.rate_bps)
        lines += ["", "[[stations]]", f'name = "sta{number}"', f'rate = "{name}"']
        lines += scenario.server(f"server{number}", download.rtt_s)
        lines += scenario.tcp(flow_name(number), f"server{number}", f"sta{number}", packet_bytes)
        lines += ["rdqm = true"] if download.reports else []
    return Settings("scenario", scenario.PLACE, tuple(lines), _NOTES)


def flow_name(number: int) -> str:
    """Return what the scenario calls a flow, counted from 1."""
    return f"flow{number}"
