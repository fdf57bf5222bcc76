"""Throughput of stations of different rates that share the medium by packets or by airtime.

DCF gives all stations equally many packets, so the slow ones set the rate of all (the performance
anomaly). Shared by time instead, each station gets its throughput with 1/N of the medium.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Unpack

import numpy as np

from airqueue.models.airtime import (
    EXCHANGE_PARAMETERS,
    ExchangeOptions,
    exchange_s,
    mac_overhead_bytes,
)
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, called, finished, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.packets import SEGMENT_BYTES, TCP_IP_BYTES
from airqueue.models.phy_names import PHY_HELP
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import Phy

LARGEST: Final = 1e12
"""Bound of cycle times, sizes, weights and numbers of stations that keeps sums finite."""


@dataclass(frozen=True, slots=True)
class RateMix:
    """Throughput and airtime of each class of stations; the last axis runs over the classes."""

    throughput_bps: FloatArray
    """x_i: throughput of one station of the class."""
    airtime_share: FloatArray
    """Part of the time that one station of the class has."""
    total_bps: FloatArray
    """Throughput of all stations; without the last axis."""


def packet_fair(
    cycle_s: Numbers, packet_bytes: Numbers, stations: Numbers = 1, weights: Numbers = 1
) -> RateMix:
    """Return throughput and airtime at equal packet rates: ``x_i = w_i L_i / Σ_j n_j w_j T_j``.

    cycle_s: T_i, the medium's time for one packet with its overhead, such as its TCP ACK
    (`tcp_cycle_s`). packet_bytes: L_i/8. stations: n_i, in each class. weights: w_i, packets per
    round, 1 for DCF. All broadcast; the last axis runs over classes, axes in front over a sweep. A
    class without stations gets nothing.

    Valid where every station always has a packet and collisions are rare. Raises ParameterError.

    >>> (packet_fair([0.0028, 0.0146], 1460).throughput_bps / 1e3).round().tolist()
    [671.0, 671.0]
    """
    cycle, packet, count, weight = _classes(cycle_s, packet_bytes, stations, weights)
    round_s = np.sum(count * weight * cycle, axis=-1, keepdims=True)
    return _mix(weight * cycle / round_s, cycle, packet, count)


def airtime_fair(
    cycle_s: Numbers, packet_bytes: Numbers, stations: Numbers = 1, weights: Numbers = 1
) -> RateMix:
    """Return throughput at equal shares of the time: ``x_i = w_i/(Σ_j n_j w_j) · L_i / T_i``.

    Parameters as for `packet_fair`; the weights are shares of the time here.

    >>> (airtime_fair([0.0028, 0.0146], 1460).throughput_bps / 1e3).round().tolist()
    [2086.0, 400.0]
    """
    cycle, packet, count, weight = _classes(cycle_s, packet_bytes, stations, weights)
    return _mix(weight / np.sum(count * weight, axis=-1, keepdims=True), cycle, packet, count)


def _classes(
    cycle_s: Numbers, packet_bytes: Numbers, stations: Numbers, weights: Numbers
) -> tuple[FloatArray, ...]:
    cycle, packet, count, weight = broadcast(
        cycle_s=np.atleast_1d(numbers("cycle_s", cycle_s, at_least=1e-9, at_most=LARGEST)),
        packet_bytes=numbers("packet_bytes", packet_bytes, above=0, at_most=LARGEST),
        stations=numbers("stations", stations, at_least=0, at_most=LARGEST, whole=True),
        weights=numbers("weights", weights, at_least=0, at_most=LARGEST),
    )
    weight = np.where(count > 0, weight, 0.0)
    largest = np.max(weight, axis=-1, keepdims=True, initial=0.0)
    if not np.all(largest > 0):
        raise ParameterError(
            "stations", "no class has both stations and a weight; at least one must have"
        )
    # Only ratios of weights matter; with the largest at 1 no sum of them vanishes or overflows.
    return cycle, packet, count, weight / largest


def _mix(share: FloatArray, cycle: FloatArray, packet: FloatArray, count: FloatArray) -> RateMix:
    throughput = 8.0 * packet * share / cycle
    return RateMix(
        finished("throughput", throughput),
        finished("airtime share", share),
        finished("total", np.sum(count * throughput, axis=-1)),
    )


def tcp_cycle_s(
    phy: Phy,
    rate_bps: Numbers,
    segment_bytes: Numbers = SEGMENT_BYTES,
    *,
    segments_per_ack: Numbers = 1,
    overhead_bytes: Numbers | None = None,
    **options: Unpack[ExchangeOptions],
) -> FloatArray:
    """Return the medium's time for one TCP segment and its acknowledgement: ``T_data + T_ack/d``.

    segment_bytes: without headers; TCP and IP add 40. segments_per_ack: d. overhead_bytes: of MAC,
    LLC and FCS, 36, for n to ax 38 if not given (34 in ns-2). options:
    `airqueue.models.airtime.ExchangeOptions`, of both exchanges. Every frame is sent alone: for
    aggregates divide the cycles of `airqueue.models.single_station` by their packets instead.

    >>> cycle_s = tcp_cycle_s(layer_named("b-long"), 11e6, overhead_bytes=34, control_rate_bps=2e6)
    >>> float((cycle_s * 1e3).round(2))
    2.79
    """
    added = mac_overhead_bytes(phy) if overhead_bytes is None else overhead_bytes
    rate, segment, overhead, per_ack = broadcast(
        rate_bps=numbers("rate_bps", rate_bps, above=0),
        segment_bytes=numbers("segment_bytes", segment_bytes, above=0, at_most=1e6),
        overhead_bytes=numbers("overhead_bytes", added, at_least=0, at_most=1e6),
        segments_per_ack=numbers("segments_per_ack", segments_per_ack, at_least=1),
    )
    headers = overhead + TCP_IP_BYTES
    data_s = exchange_s(phy, headers + segment, rate, **options)
    ack_s = exchange_s(phy, headers, rate, **options)
    return finished("cycle", data_s + ack_s / per_ack)


def _evaluate(
    *,
    rates_bps: Sequence[float],
    stations: Sequence[float],
    weights: Sequence[float],
    phy: str,
    segment_bytes: float,
    segments_per_ack: float,
    overhead_bytes: float | None,
    **options: Unpack[ExchangeOptions],
) -> dict[str, float | list[float]]:
    with called({"rate_bps": "rates_bps", "cycle_s": "rates_bps"}):
        cycle_s = tcp_cycle_s(
            layer_named(phy),
            rates_bps,
            segment_bytes,
            segments_per_ack=segments_per_ack,
            overhead_bytes=overhead_bytes,
            **options,
        )
        packets = packet_fair(cycle_s, segment_bytes, stations, weights)
        airtime = airtime_fair(cycle_s, segment_bytes, stations, weights)
    return {
        "cycle_s": np.atleast_1d(cycle_s).tolist(),
        "packet_fair_bps": packets.throughput_bps.tolist(),
        "packet_fair_airtime": packets.airtime_share.tolist(),
        "packet_fair_total_bps": float(packets.total_bps),
        "airtime_fair_bps": airtime.throughput_bps.tolist(),
        "airtime_fair_airtime": airtime.airtime_share.tolist(),
        "airtime_fair_total_bps": float(airtime.total_bps),
    }


CYCLE_PARAMETERS: Final = (
    Parameter("phy", PHY_HELP, "b-long", Kind.TEXT),
    Parameter("segment_bytes", "TCP segment without headers", SEGMENT_BYTES, Kind.SIZE),
    Parameter("segments_per_ack", "d: 2 with delayed acknowledgements", 1),
    Parameter(
        "overhead_bytes",
        "MAC header, LLC, FCS; 36, for n to ax 38 if not given; 34 in ns-2",
        None,
        Kind.SIZE,
    ),
    *EXCHANGE_PARAMETERS,
)
"""Parameters of every model of TCP segments with their acknowledgements: see `tcp_cycle_s`."""

MODEL = Model(
    name="rate-mix",
    summary="TCP throughput of stations at different rates, sharing packets or sharing airtime.",
    parameters=(
        Parameter("rates_bps", "data rates of the classes of stations", kind=Kind.RATES),
        Parameter("stations", "n_i: stations in each class", (1.0,), Kind.NUMBERS),
        Parameter("weights", "w_i: packets per round, or shares of time", (1.0,), Kind.NUMBERS),
        *CYCLE_PARAMETERS,
    ),
    outputs=(
        Output("cycle_s", "T_i: the medium's time for a segment and its acknowledgement"),
        Output("packet_fair_bps", "x_i: throughput of a station, with equal packet rates (DCF)"),
        Output("packet_fair_airtime", "share of the time of one station"),
        Output("packet_fair_total_bps", "throughput of all stations"),
        Output("airtime_fair_bps", "x_i: throughput of a station, with equal shares of the time"),
        Output("airtime_fair_airtime", "share of the time of one station"),
        Output("airtime_fair_total_bps", "throughput of all stations"),
    ),
    evaluate=_evaluate,
    example="rates_bps=11mbit,5.5mbit,1mbit stations=3,2,1",
    valid=(
        "Every station always has a packet and collisions are rare, as if most packets come from "
        "the access point. Every frame is sent alone: for 802.11n and later with aggregation the "
        "rates are far too low and the differences too small."
    ),
)
