"""An access point's queue as a scenario: who downloads, and how long is worth simulating."""

from __future__ import annotations

import math
from typing import Final

from airqueue.models.errors import ParameterError
from airqueue.models.sawtooth import period_s
from airqueue.sizing.advice import Settings
from airqueue.sizing.ap import ApQueue
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.cell import Cell
from airqueue.sizing.settings import downloads
from airqueue.sizing.settings.downloads import Downloads

LOSSES: Final = 6.0
"""Of all downloads together, in the counted time, and `LEAST_TEETH` of each."""
LEAST_TEETH: Final = 1.5
LEAST_S: Final = 5.0
LEAST_PACKETS: Final = 20_000.0
LEAST_TRIPS: Final = 200.0
"""Round trips through the full queue."""
FIRST_TRIPS: Final = 50.0
"""Round trips until slow start is over and its losses are mended."""
TIMEOUT_S: Final = 1.0
"""RFC 6298, section 2: of a download whose window is too small for a saw tooth."""


def network(sized: ApQueue[Cell], asked: Asked) -> Downloads:
    """Return who downloads."""
    air = sized.air
    return Downloads(
        layer=air.phy,
        rates_bps=tuple(sorted(air.rates_bps, reverse=True)),
        packet_bytes=air.packet_bytes,
        flows=int(asked.flows),
        rtt_s=asked.rtt_s,
        control=asked.control,
    )


def scenario(sized: ApQueue[Cell], asked: Asked) -> Settings:
    """Return the cell with the recommended queue."""
    queue = downloads.in_packets(sized.packets)
    return downloads.settings(network(sized, asked), queue, *times_s(sized, asked))


def loss_period_s(sized: ApQueue[Cell], asked: Asked) -> float:
    """Return the time from one loss of a download to the next."""
    air = sized.air
    try:
        period = period_s(
            sized.packets * air.packet_bytes / asked.flows,
            air.capacity_bps / asked.flows,
            asked.rtt_s,
            air.packet_bytes,
            sized.control,
        )
    except ParameterError:
        # A window of less than two packets has no saw tooth.
        return TIMEOUT_S + asked.rtt_s + sized.packets * air.packet_s
    return float(period)


def times_s(sized: ApQueue[Cell], asked: Asked) -> tuple[float, float]:
    """Return how long is counted, and how long is simulated before that."""
    period, packet_s = loss_period_s(sized, asked), sized.air.packet_s
    full_s = asked.rtt_s + sized.packets * packet_s
    counted_s = max(
        LEAST_S,
        max(LEAST_TEETH, LOSSES / asked.flows) * period,
        LEAST_TRIPS * full_s,
        LEAST_PACKETS * packet_s,
    )
    return math.ceil(counted_s), math.ceil(max(0.5 * LEAST_S, period, FIRST_TRIPS * full_s))
