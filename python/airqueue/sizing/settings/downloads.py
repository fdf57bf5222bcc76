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
_NEAR: Final = "10000 Mb/s"
"""Rate of the line behind the access point: no bottleneck."""
_NOTES: Final = (
    "Both ends of each download are TCP like Linux's. The pings go from the access point to its "
    "first station, behind the downloads.",
)


@dataclass(frozen=True, slots=True)
class Downloads:
    """Who downloads through an access point."""

    layer: Phy
    rates_bps: tuple[float, ...]
    """Of the physical layer, one for each station."""
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
        (DOWNLOAD + end,) if flows == 1 else tuple(f"{DOWNLOAD}{end}{n + 1}" for n in range(flows))
        for end, _, flows in _stations(network)
    )


def _stations(network: Downloads) -> Iterator[tuple[str, str, int]]:
    """Yield how names end, of a station's downloads and its own, and how many downloads it has."""
    stations = len(network.rates_bps)
    for place in range(stations):
        number = "" if stations == 1 else f"{place + 1}"
        flows = len(range(place, network.flows, stations))
        yield (f"{number}-" if number and flows > 1 else number), number, flows


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
    for (end, number, flows), rate_bps in zip(stations, network.rates_bps, strict=True):
        name = scenario.rate_name(network.layer, rate_bps)
        lines += ["", "[[stations]]", f'name = "sta{number}"', f'rate = "{name}"']
        lines += _downloads(network, end, number, flows)
    first = f"sta{stations[0][1]}"
    lines += ["", "[[flows]]", f'name = "{PING}"', f'from = "{AP}"', f'to = "{first}"']
    lines += ['source = "ping"', 'ping.interval = "100 ms"', 'ping.distribution = "exponential"']
    return Settings("scenario", scenario.PLACE, tuple(lines), _NOTES)


def _downloads(network: Downloads, end: str, number: str, flows: int) -> tuple[str, ...]:
    """Return the servers of a station, and the flows from them."""
    return (
        *("", "[[hosts]]", f'name = "server{end}"'),
        *((f"count = {flows}",) if flows > 1 else ()),
        *(f'link = "{AP}"', f'rate = "{_NEAR}"', f'delay = "{network.rtt_s * 0.5e6:.0f} us"'),
        *("", "[[flows]]", f'name = "{DOWNLOAD}{end}"', f'from = "server{end}"'),
        *(f'to = "sta{number}"', 'source = "tcp"', f'size = "{network.packet_bytes:.0f} B"'),
    )
