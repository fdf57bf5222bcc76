"""An access point with long downloads, as a scenario of `airqueue simulate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from airqueue.models.phys import Phy
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings import scenario
from airqueue.sizing.settings.scenario import AP

DOWNLOAD: Final = "download"
PING: Final = "ping"
"""The flow of sparse requests beside the downloads, whose round trips show how long packets wait."""
_CONGESTION: Final = {"reno": "newreno", "cubic": "cubic", "reno-friendly": "cubic"}
"""What a scenario calls `airqueue.models.sawtooth.CONTROLS`."""
_NOTES: Final = (
    "Both ends of each download are TCP like Linux's. The pings go from the access point to its "
    "slowest station, behind the downloads. Of downloads that do not divide evenly the faster "
    "stations have one more.",
)


@dataclass(frozen=True, slots=True)
class Downloads:
    """Who downloads through an access point."""

    layer: Phy
    rates_bps: tuple[float, ...]
    """Of the physical layer, one for each station, the fastest first."""
    packet_bytes: float
    flows: int
    """Spread evenly over the stations."""
    rtt_s: float
    """Without queues."""
    control: str
    """As in `airqueue.models.sawtooth`."""


def in_packets(limit: int) -> tuple[str, ...]:
    """Return the lines of a FIFO."""
    return (f'queue.limit = "{limit} packets"',)


def flow_queueing() -> tuple[str, ...]:
    """Return the lines of mac80211's queues: FQ-CoDel, and equal shares of the time."""
    return ('queue.discipline = "mac80211"',)


def names(network: Downloads) -> tuple[tuple[str, ...], ...]:
    """Return the names of each station's downloads, as results have them."""
    return tuple(
        (name,) if flows == 1 else tuple(f"{name}{number + 1}" for number in range(flows))
        for _, _, name, flows in _stations(network)
    )


def _stations(network: Downloads) -> Iterator[tuple[str, str, str, int]]:
    """Yield what a station is called, its servers and its downloads, and how many it has."""
    stations = len(network.rates_bps)
    for place in range(stations):
        flows = len(range(place, network.flows, stations))
        if stations == 1:
            yield "sta", "server", DOWNLOAD, flows
        else:
            station = f"sta{place + 1}"
            yield station, f"{station}-server", f"{station}-{DOWNLOAD}", flows


def settings(
    network: Downloads, queue: Sequence[str], duration_s: float, warm_up_s: float
) -> Settings:
    """Return the scenario, whose access point has a queue of these lines."""
    lines = [
        *scenario.times(duration_s, warm_up_s),
        *scenario.physical(network.layer, network.rates_bps[0]),
        *("", "[tcp]", 'stack = "linux"', f'congestion = "{_CONGESTION[network.control]}"'),
        *("", "[[stations]]", f'name = "{AP}"', *queue),
    ]
    stations = list(_stations(network))
    for (station, server, download, flows), rate_bps in zip(
        stations, network.rates_bps, strict=True
    ):
        name = scenario.rate_name(network.layer, rate_bps)
        lines += ["", "[[stations]]", f'name = "{station}"', f'rate = "{name}"']
        lines += scenario.server(server, network.rtt_s, flows)
        lines += scenario.tcp(download, server, station, network.packet_bytes)
    lines += ["", "[[flows]]", f'name = "{PING}"', f'from = "{AP}"', f'to = "{stations[-1][0]}"']
    lines += ['source = "ping"', 'ping.interval = "100 ms"', 'ping.distribution = "exponential"']
    return Settings("scenario", scenario.PLACE, tuple(lines), _NOTES)
