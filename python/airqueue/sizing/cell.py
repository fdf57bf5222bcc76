"""What TCP gets from a cell whose rates of the physical layer are known.

Nothing is computed here that a model has: the cycle of one segment comes from `rate_mix`, that of an
aggregate from `single_station`, the shares of stations at different rates from `rate_mix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airqueue.models.airtime import mac_overhead_bytes
from airqueue.models.checks import numbers
from airqueue.models.errors import ParameterError
from airqueue.models.packets import PACKET_BYTES, TCP_IP_BYTES
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import Phy, dsss, ofdm
from airqueue.models.rate_mix import airtime_fair, packet_fair, tcp_cycle_s
from airqueue.models.single_station import single_station

ACK_EVERY = 2
"""Segments per TCP acknowledgement: RFC 5681, section 4.2 (delayed acknowledgements)."""
GUESSES = (
    ("b-short", dsss().rates_bps),
    ("g", ofdm().rates_bps),
)
"""Rates that only a layer without aggregation has, and the layer that is taken for them."""
AS_PRINTED = 0.002
"""Rates as people and drivers round them: 866 for 866.7 Mb/s."""
MAX_PACKET_BYTES = 2296
"""An MSDU has 2304 bytes at most (IEEE 802.11-2016, 9.2.3), eight of them LLC/SNAP."""
MAX_RATES = 2007
"""As many stations as an access point can have (association identifiers)."""


@dataclass(frozen=True, slots=True)
class Air:
    """What empties the queue of an access point that sends TCP downloads: computed or measured."""

    packet_bytes: float
    """IP packets of the downloads."""
    capacity_bps: float
    """C: IP packets of the downloads, all stations together, each as many packets as the others."""
    aggregated_packets: int
    """What must wait for the capacity to be reached: an aggregate for each station; 0 without."""
    mpdus: int
    """Packets in an aggregate, at the highest of several rates; 0 without aggregation."""

    @property
    def packet_s(self) -> float:
        """Mean time of one packet, with all that goes with it: the queue empties by one."""
        return 8.0 * self.packet_bytes / self.capacity_bps


@dataclass(frozen=True, slots=True)
class Cell(Air):
    """The air of an access point, from what its stations' radios do."""

    phy: Phy
    rates_bps: tuple[float, ...]
    """Of the physical layer, one for each station that downloads."""
    airtime_fair_bps: float
    """The capacity if stations got equal shares of the time instead."""
    cycles_s: tuple[float, ...]
    """Time of the medium for one packet of each station, with all that goes with the packet."""

    @property
    def goodput_bps(self) -> float:
        """Rate of the applications: without TCP and IP headers."""
        return self.capacity_bps * (1.0 - TCP_IP_BYTES / self.packet_bytes)


def guess_phy(rates_bps: Sequence[float]) -> str:
    """Return the name of the layer that has all these rates, b or g.

    Raises ParameterError for rates that only later standards have: width, streams and guard
    interval cannot be derived from a rate.

    >>> guess_phy([54e6]), guess_phy([11e6, 1e6])
    ('g', 'b-short')
    """
    for name, known in GUESSES:
        if all(rate in known for rate in rates_bps):
            return name
    if all(any(rate in known for _, known in GUESSES) for rate in rates_bps):
        return "g"
    raise ParameterError(
        "phy",
        "which physical layer has these rates is not clear; name it with --phy, as in n-40mhz-2ss, "
        "ac-80mhz-2ss-sgi or ax-80mhz-2ss",
    )


def cell(
    rates_bps: Sequence[float],
    phy: str | None = None,
    packet_bytes: float = PACKET_BYTES,
    *,
    aggregate: bool = True,
) -> Cell:
    """Return the cell: one station for each rate, all of them downloading by TCP.

    phy: a name that `airqueue.models.phy_names` knows; b or g by the rates if not given.
    packet_bytes: IP packets of the downloads; their acknowledgements have 40 bytes, one for every
    `ACK_EVERY`. aggregate: whether layers that can send aggregates do, as full ones.

    Valid where stations have nothing to send but acknowledgements, without errors and collisions: a
    real cell carries some per cent less. Raises ParameterError.

    >>> round(cell([54e6]).goodput_bps / 1e6, 1)
    24.2
    """
    if not 1 <= len(rates_bps) <= MAX_RATES:
        raise ParameterError(
            "rates_bps", f"{len(rates_bps)} stations; there must be 1 to {MAX_RATES}"
        )
    layer = layer_named(guess_phy(rates_bps) if phy is None else phy)
    size = float(
        numbers("packet_bytes", packet_bytes, above=TCP_IP_BYTES, at_most=MAX_PACKET_BYTES)
    )
    rates = [_exact(layer, rate) for rate in rates_bps]
    cycles_s, mpdus = (
        _cycles(layer, rates, size) if aggregate else _plain_cycles(layer, rates, size)
    )
    return Cell(
        phy=layer,
        rates_bps=tuple(rates),
        packet_bytes=size,
        capacity_bps=float(packet_fair(cycles_s, size).total_bps),
        airtime_fair_bps=float(airtime_fair(cycles_s, size).total_bps),
        cycles_s=tuple(float(each) for each in cycles_s),
        mpdus=max(mpdus),
        aggregated_packets=sum(mpdus),
    )


def _exact(layer: Phy, rate_bps: float) -> float:
    """Return the layer's rate that was meant, or the given rate, which the models refuse."""
    nearest = min(layer.rates_bps, key=lambda rate: abs(rate - rate_bps))
    return nearest if abs(nearest - rate_bps) <= AS_PRINTED * nearest else rate_bps


def lone_packet_s(air: Cell, packet_bytes: float) -> float:
    """Return the mean time of one packet of another size that no TCP acknowledges.

    Aggregates are full where the layer has them. Raises ParameterError.

    >>> round(lone_packet_s(cell([54e6]), 200) * 1e6, 1)
    201.5
    """
    lone = single_station(air.phy, packet_bytes, list(air.rates_bps))
    return float(np.mean(1.0 / np.atleast_1d(lone.packets_per_s)))


def _plain_cycles(
    layer: Phy, rates_bps: Sequence[float], size: float
) -> tuple[list[float], list[int]]:
    """Return the time of one packet at each rate, sent alone, and no aggregates."""
    cycles = tcp_cycle_s(
        layer,
        list(rates_bps),
        size - TCP_IP_BYTES,
        segments_per_ack=ACK_EVERY,
        overhead_bytes=mac_overhead_bytes(layer),
    )
    return np.atleast_1d(cycles).tolist(), [0]


def _cycles(layer: Phy, rates_bps: Sequence[float], size: float) -> tuple[list[float], list[int]]:
    """Return the time of one packet at each rate, and the packets of an aggregate at each."""
    if layer.max_mpdus == 1:
        return _plain_cycles(layer, rates_bps, size)
    data = single_station(layer, size, list(rates_bps))
    # 0 where a rate is so low that two packets would take too long: a frame by itself.
    mpdus = np.maximum(np.atleast_1d(data.mpdus), 1.0)
    # The acknowledgements of an aggregate come back as one.
    acks = single_station(layer, TCP_IP_BYTES, list(rates_bps), mpdus=np.ceil(mpdus / ACK_EVERY))
    cycles = (np.atleast_1d(data.cycle_s) + np.atleast_1d(acks.cycle_s)) / mpdus
    return cycles.tolist(), mpdus.astype(int).tolist()
