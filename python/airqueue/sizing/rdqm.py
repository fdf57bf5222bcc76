"""`airqueue size rdqm`: a base station's buffer divided by the delays and rates of its flows.

The shares are those of `airqueue.models.rdqm` (Algorithms 2 and 3), in whole packets; what they do
to throughput is between two of its predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.models.checks import FloatArray, number
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_allocation import largest_remainder
from airqueue.models.packets import PACKET_BYTES
from airqueue.models.rate_mix import airtime_fair, packet_fair
from airqueue.models.rdqm import partition, predicted_throughput
from airqueue.sizing.cell import Cell, cell

MAX_FLOWS: Final = 200
"""More classes than anybody would set by hand."""
MAX_BUFFER: Final = 100_000


@dataclass(frozen=True, slots=True)
class Receiver:
    """A flow to a station. ``rtt_s``: without queues; None for a flow whose delay is not known."""

    rate_bps: float
    rtt_s: float | None
    address: str | None = None
    """Of the station, by which packets are put into the flow's class."""


@dataclass(frozen=True, slots=True)
class RdqmSizing:
    """The divided buffer; all tuples in the order of ``flows``."""

    flows: tuple[Receiver, ...]
    buffer_packets: int
    air: Cell
    limits: tuple[int, ...]
    shares: tuple[float, ...]
    """The limits before rounding."""
    together_bps: tuple[float, ...]
    """IP rate of each flow from one FIFO: all flows get equally many packets."""
    capped_bps: tuple[float, ...]
    """With the limits, if they cap the windows and no packet waits."""
    airtime_fair_bps: tuple[float, ...]
    """With equal shares of the time, towards which waiting moves the former."""


def size_rdqm(
    flows: Sequence[Receiver],
    buffer_packets: int,
    phy: str | None = None,
    packet_bytes: float = PACKET_BYTES,
) -> RdqmSizing:
    """Divide a buffer among flows. Raises ParameterError.

    A flow without a round-trip time gets an equal share, as one whose receiver reports nothing. Every
    flow gets a packet at least.

    >>> flows = [Receiver(11e6, 0.15), Receiver(5.5e6, 0.15), Receiver(1e6, 0.15)]
    >>> size_rdqm(flows, 60, "b-long").limits
    (38, 19, 3)
    """
    if not 1 <= len(flows) <= MAX_FLOWS:
        raise ParameterError("flows", f"{len(flows)} flows; there must be 1 to {MAX_FLOWS}")
    if not len(flows) <= buffer_packets <= MAX_BUFFER:
        raise ParameterError(
            "buffer_packets",
            f"a buffer of {buffer_packets} packets; it must have one for each of {len(flows)} flows, "
            f"and {MAX_BUFFER} at most",
        )
    for flow in flows:
        if flow.rtt_s is not None:
            number("rtt_s", flow.rtt_s, above=0, at_most=60)
    _check_addresses([flow.address for flow in flows if flow.address is not None])
    air = cell([flow.rate_bps for flow in flows], phy, packet_bytes)
    known = [flow.rtt_s is not None for flow in flows]
    # The delay of a flow that reports nothing does not enter its share.
    rtts = [flow.rtt_s or 1.0 for flow in flows]
    shares = partition(buffer_packets, rtts, air.rates_bps, [int(each) for each in known])
    limits = shares.limits_frames
    cycles = np.array(air.cycles_s)
    mean_rtt = float(np.mean([flow.rtt_s for flow in flows if flow.rtt_s])) if any(known) else 1.0
    delays = [flow.rtt_s or mean_rtt for flow in flows]
    capped = predicted_throughput(cycles, packet_bytes, limits, delays)
    return RdqmSizing(
        flows=tuple(flows),
        buffer_packets=buffer_packets,
        air=air,
        limits=_whole(limits),
        shares=tuple(limits.tolist()),
        together_bps=_each(packet_fair(cycles, packet_bytes).throughput_bps),
        capped_bps=_each(capped.throughput_bps),
        airtime_fair_bps=_each(airtime_fair(cycles, packet_bytes).throughput_bps),
    )


def _check_addresses(addresses: Sequence[str]) -> None:
    """Refuse addresses by which rules would not put each flow's packets into its class."""
    for address in addresses:
        if "%" in address:
            raise ParameterError(
                "flows",
                f"{address} has a scope, which rules of nftables do not take; give an address of the "
                "station without one",
            )
        if addresses.count(address) > 1:
            raise ParameterError(
                "flows",
                f"{address} is the address of several flows, and its rule is for one class; give it "
                "to one flow, and add rules by port for the others",
            )


def _whole(shares: FloatArray) -> tuple[int, ...]:
    """Return the shares in whole packets, one at least, with their sum."""
    packets = largest_remainder(shares).astype(int)
    for flow in np.flatnonzero(packets == 0):
        packets[np.argmax(packets)] -= 1
        packets[flow] = 1
    return tuple(packets.tolist())


def _each(rates: FloatArray) -> tuple[float, ...]:
    return tuple(float(rate) for rate in rates)
