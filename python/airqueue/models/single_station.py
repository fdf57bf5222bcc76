"""UDP throughput of one saturated station: no collisions, one exchange after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Unpack

import numpy as np

from airqueue.models.airtime import (
    EXCHANGE_PARAMETERS,
    FCS_BYTES,
    MAX_FRAME_BYTES,
    QOS_HEADER_BYTES,
    RATE_PARAMETER,
    ExchangeOptions,
    exchange_s,
    mac_overhead_bytes,
)
from airqueue.models.ampdu import aggregate_exchange, largest_aggregate
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers
from airqueue.models.edca_defaults import BEST_EFFORT_AIFSN
from airqueue.models.errors import ParameterError
from airqueue.models.packets import PACKET_BYTES
from airqueue.models.phy_names import PHY_HELP
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import Phy, checked

_LONGEST_AMSDU_BYTES: Final = 7935
"""Of HT (IEEE 802.11-2016, Table 9-19)."""


@dataclass(frozen=True, slots=True)
class SingleStation:
    """One saturated station; each field has the parameters' shape."""

    throughput_bps: FloatArray
    """Throughput in bits of IP packets."""
    packets_per_s: FloatArray
    mpdus: FloatArray
    """Packets in an aggregate; 0 without aggregation."""
    cycle_s: FloatArray
    """Time from one transmission to the next."""


def single_station(
    phy: Phy,
    packet_bytes: Numbers = PACKET_BYTES,
    rate_bps: Numbers | None = None,
    *,
    mpdus: Numbers | None = None,
    overhead_bytes: Numbers | None = None,
    **options: Unpack[ExchangeOptions],
) -> SingleStation:
    """Return ``X = 8 k L / (IFS + backoff + T_frame + SIFS + T_ack)``, k packets at a time.

    packet_bytes: L, IP packet. rate_bps: the layer's highest if not given. mpdus: k, an aggregate
    with block ack (1 is one too); 0 for frames with ACKs; if not given the largest aggregate, or 0
    for layers without. overhead_bytes: of MAC, LLC and FCS; 36, with aggregation 38 if not given.
    options: `airqueue.models.airtime.ExchangeOptions`; if not given, AIFSN is 3 (best effort) for
    layers with aggregation, and 2 (DIFS) for others.

    Valid for a station that always has a packet, without errors or other stations on the medium.
    Raises ParameterError, also for packets that the layer's frames cannot carry.

    >>> float((single_station(layer_named("b-short")).throughput_bps / 1e6).round(2))
    6.91
    """
    checked(phy)
    extra = mac_overhead_bytes(phy) if overhead_bytes is None else overhead_bytes
    rate, packet, added = broadcast(
        rate_bps=numbers("rate_bps", phy.rates_bps[-1] if rate_bps is None else rate_bps, above=0),
        packet_bytes=numbers("packet_bytes", packet_bytes, above=0, at_most=MAX_FRAME_BYTES),
        overhead_bytes=numbers("overhead_bytes", extra, at_least=0, at_most=MAX_FRAME_BYTES),
    )
    if phy.max_mpdus > 1 and options.get("aifsn") is None:
        options["aifsn"] = BEST_EFFORT_AIFSN
    _assert_fits(phy, packet, added, mpdus)
    mpdu, count = broadcast(
        packet_bytes=packet + added, mpdus=_mpdus(phy, packet + added, rate, mpdus)
    )
    cycle_s = exchange_s(phy, mpdu, rate, **options)
    if np.any(count > 0):
        # Without aggregation any size that fits will do: the result is not used.
        sizes, counts = np.where(count > 0, mpdu, 1.0), np.maximum(count, 1.0)
        aggregated = aggregate_exchange(phy, sizes, rate, counts, **options)
        cycle_s = np.where(count > 0, aggregated.total_s, cycle_s)
    packet, count, cycle_s = broadcast(packet_bytes=packet, mpdus=count, cycle_s=cycle_s)
    packets_per_s = np.maximum(count, 1.0) / cycle_s
    return SingleStation(
        finished("throughput", 8.0 * packet * packets_per_s),
        finished("packets", packets_per_s),
        finished("mpdus", count),
        finished("cycle", cycle_s),
    )


def _assert_fits(phy: Phy, packet: FloatArray, added: FloatArray, given: Numbers | None) -> None:
    """Raise ParameterError for packets that no frame of the layer carries, or no aggregate.

    Alone, an MPDU of HT may be as long as an A-MSDU of 7935 bytes makes it; later layers have one
    limit for both.
    """
    alone = float(phy.max_mpdu_bytes)
    if phy.max_mpdus > 1:
        alone = max(alone, _LONGEST_AMSDU_BYTES + QOS_HEADER_BYTES + FCS_BYTES)
    aggregated = numbers("mpdus", 0.0 if given is None else given) > 0
    most = np.where(aggregated, float(phy.max_mpdu_bytes), alone)
    packet, added, most = broadcast(packet_bytes=packet, overhead_bytes=added, mpdus=most)
    wrong = packet + added > most
    if wrong.any():
        size, more, limit = (float(each[wrong].flat[0]) for each in (packet, added, most))
        raise ParameterError(
            "packet_bytes",
            f"packet_bytes is {size:g}, which makes a frame of {size + more:g} bytes; in {phy.name} "
            f"it may have {limit:g}: use smaller packets",
        )


def _mpdus(phy: Phy, mpdu: FloatArray, rate: FloatArray, given: Numbers | None) -> FloatArray:
    if given is not None:
        count = numbers("mpdus", given, at_least=0, whole=True)
        if phy.max_mpdus == 1 and np.any(count > 0):
            raise ParameterError(
                "mpdus", f"{phy.name} has no aggregation; mpdus must be 0 or not be given"
            )
        return count
    if phy.max_mpdus == 1:
        return np.zeros(())
    # What is too long for an aggregate goes alone.
    return np.where(mpdu <= phy.max_mpdu_bytes, largest_aggregate(phy, mpdu, rate), 0.0)


def _evaluate(
    *,
    phy: str,
    packet_bytes: float,
    rate_bps: float | None,
    mpdus: float | None,
    overhead_bytes: float | None,
    **options: Unpack[ExchangeOptions],
) -> dict[str, float]:
    layer = layer_named(phy)
    station = single_station(
        layer, packet_bytes, rate_bps, mpdus=mpdus, overhead_bytes=overhead_bytes, **options
    )
    rate = layer.rates_bps[-1] if rate_bps is None else rate_bps
    return {
        "data_rate_bps": rate,
        "throughput_bps": float(station.throughput_bps),
        "packets_per_s": float(station.packets_per_s),
        "aggregate_mpdus": float(station.mpdus),
        "cycle_s": float(station.cycle_s),
        "efficiency": float(station.throughput_bps) / rate,
    }


MODEL = Model(
    name="single-station",
    summary="UDP throughput of one saturated station, with or without A-MPDU aggregation.",
    parameters=(
        Parameter("phy", PHY_HELP, "b-long", Kind.TEXT),
        Parameter("packet_bytes", "L: IP packet", PACKET_BYTES, Kind.SIZE),
        RATE_PARAMETER,
        Parameter("mpdus", "packets in an aggregate, 0: no aggregation; most if not given", None),
        Parameter(
            "overhead_bytes",
            "MAC header, LLC, FCS; 36, for n to ax 38 if not given",
            None,
            Kind.SIZE,
        ),
        *(
            replace(option, help="slots after SIFS; 2 (DIFS), for n to ax 3 if not given")
            if option.name == "aifsn"
            else option
            for option in EXCHANGE_PARAMETERS
        ),
    ),
    outputs=(
        Output("data_rate_bps", "rate of the frames"),
        Output("throughput_bps", "X: of IP packets"),
        Output("packets_per_s", "IP packets"),
        Output("aggregate_mpdus", "k: packets in an aggregate, 0 without aggregation"),
        Output("cycle_s", "from one transmission to the next"),
        Output("efficiency", "throughput_bps / data_rate_bps"),
    ),
    evaluate=_evaluate,
    example="phy=n packet_bytes=100B..1500B:100B",
    valid=(
        "One station that always has a packet, no errors, no other station on the medium: the most "
        "that a cell can carry, apart from the gain of several stations whose backoffs overlap. "
        "Packets above the 2304 bytes of an MSDU are computed if the layer has such frames: MPDUs of "
        "an aggregate have at most 4095 bytes in n, 11,454 from ac on."
    ),
)
