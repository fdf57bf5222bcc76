"""Performance anomaly: a slow host slows down all others, since all hosts get equally many turns.

M. Heusse, F. Rousseau, G. Berger-Sabbatel, A. Duda, *Performance anomaly of 802.11b*, INFOCOM 2003.
`airqueue.models.rate_mix` has the same effect for any mix of rates, without collisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Unpack

import numpy as np

from airqueue.models.airtime import MAX_FRAME_BYTES, ExchangeOptions, exchange_s
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import (
    FloatArray,
    Numbers,
    broadcast,
    called,
    finished,
    number,
    numbers,
)
from airqueue.models.packets import SEGMENT_BYTES, TCP_IP_BYTES
from airqueue.models.phy_names import PHY_HELP
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import Phy, checked, dsss

_B_SHORT: Final = dsss("short")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """N saturated hosts, one of them slow; each field has the parameters' shape."""

    throughput_bps: FloatArray
    """X_f = X_s: throughput of each host, in bits of frames."""
    fast_utilisation: FloatArray
    """U_f: share of the time that one fast host uses."""
    slow_utilisation: FloatArray
    """U_s: share of the time that the slow host uses."""
    collision_utilisation: FloatArray
    """Share of the time lost to collisions."""
    fast_efficiency: FloatArray
    """p_f: part of U_f in which the frame's bits are sent."""
    slow_efficiency: FloatArray
    """p_s: part of U_s in which the frame's bits are sent."""
    collision_probability: FloatArray
    """P_c: probability of a collision."""
    contention_s: FloatArray
    """t_cont: contention time of a frame."""


def anomaly(
    n: Numbers,
    slow_rate_bps: Numbers,
    fast_rate_bps: Numbers = 11e6,
    frame_bytes: Numbers = 1500,
    *,
    phy: Phy = _B_SHORT,
    slow_phy: Phy | None = None,
    control_rate_bps: Numbers | None = None,
    slow_control_rate_bps: Numbers | None = None,
) -> Anomaly:
    """Return throughput and utilisation of n hosts, n-1 of them at rate R and one at r.

    ::

        P_c    = 1 - (1 - 1/CW)^(n-1)               CW = CWmin, 31 for 802.11b
        t_cont = slot · (1 + P_c)/(2n) · CW/2
        T_f    = t_ov(R) + s_d/R + t_cont,          T_s = t_ov(r) + s_d/r + t_cont
        t_jam  = (2/n) max(T_s, T_f) + (1 - 2/n) T_f
        U_f    = T_f / [ (n-1) T_f + T_s + P_c t_jam n ],   p_f = s_d/(R T_f)
        X      = U_f p_f R = s_d / [ ... ],                 the same for all hosts

    with ``t_ov`` DIFS, preambles, SIFS and ACK. The paper has T_s for the larger of the two: a "slow"
    host may be the faster one here, and a collision lasts as long as its longer frame.

    n: 2 or more, may be fractional. slow_rate_bps, fast_rate_bps: r, R. frame_bytes: s_d/8. phy: of
    all hosts, 802.11b with short preambles if not given; slow_phy: preamble and rates of the slow
    host where they differ. Control rates: of the ACKs to fast and slow hosts, by the rule of
    `airqueue.models.airtime.control_rate_bps` if not given.

    Valid for saturated hosts that hear each other and frames without errors. Windows do not grow in
    this model, so that it has too many collisions with many hosts. Against the exact process X is
    high by up to 6 % with two hosts; with ten it is low by 2 to 6 % for a CWmin of 31 (802.11b), and
    for one of 15 by 9 % where all send at 54 Mb/s, by 14 % with one at 6 Mb/s; with twenty by 9 to
    12 % and 16 to 20 %. The equation of the utilisation was restored from memory of the paper. Raises
    ParameterError.

    >>> (anomaly([2, 10], 1e6).throughput_bps / 1e6).round(3).tolist()
    [0.804, 0.346]
    """
    slow_layer = checked(slow_phy or checked(phy), "slow_phy")
    n, slow, fast, size = broadcast(
        n=numbers("n", n, at_least=2, at_most=1e9),
        slow_rate_bps=numbers("slow_rate_bps", slow_rate_bps, above=0),
        fast_rate_bps=numbers("fast_rate_bps", fast_rate_bps, above=0),
        frame_bytes=numbers("frame_bytes", frame_bytes, above=0, at_most=MAX_FRAME_BYTES),
    )
    p, contention_s = _contention(n, phy)
    with called({"rate_bps": "fast_rate_bps"}):
        fast_s = contention_s + _transmission_s(phy, size, fast, control_rate_bps)
    with called({"rate_bps": "slow_rate_bps", "control_rate_bps": "slow_control_rate_bps"}):
        slow_s = contention_s + _transmission_s(slow_layer, size, slow, slow_control_rate_bps)
    jam_s = 2.0 / n * np.maximum(slow_s, fast_s) + (1.0 - 2.0 / n) * fast_s
    period_s = (n - 1.0) * fast_s + slow_s + p * jam_s * n
    bits = 8.0 * size
    return Anomaly(
        finished("throughput", bits / period_s),
        finished("U_f", fast_s / period_s),
        finished("U_s", slow_s / period_s),
        finished("collisions", p * jam_s * n / period_s),
        finished("p_f", bits / fast / fast_s),
        finished("p_s", bits / slow / slow_s),
        finished("P_c", p),
        finished("t_cont", contention_s),
    )


def _contention(hosts: FloatArray, phy: Phy) -> tuple[FloatArray, FloatArray]:
    """Return P_c and t_cont for this number of contenders."""
    window = number("cw_min", phy.cw_min, at_least=1)
    p = 1.0 - (1.0 - 1.0 / window) ** (hosts - 1.0)
    return p, phy.slot_s * (1.0 + p) / (2.0 * hosts) * window / 2.0


def _transmission_s(
    phy: Phy, frame_bytes: FloatArray, rate_bps: FloatArray, control_bps: Numbers | None
) -> FloatArray:
    return exchange_s(phy, frame_bytes, rate_bps, control_rate_bps=control_bps, backoff_slots=0)


def anomaly_tcp_bps(
    n: Numbers,
    slow_rate_bps: Numbers,
    fast_rate_bps: Numbers = 11e6,
    segment_bytes: Numbers = SEGMENT_BYTES,
    *,
    segments_per_ack: Numbers = 1,
    overhead_bytes: Numbers = 36,
    phy: Phy = _B_SHORT,
    slow_phy: Phy | None = None,
    **options: Unpack[ExchangeOptions],
) -> FloatArray:
    """Return the throughput of each of n hosts with a TCP download, n-1 at rate R and one at r.

    ``X = s_d / Σ_j [T_data,j + T_ack,j/d]``, where each T holds t_cont of n + 1 contenders, the
    access point being one more; ``s_d / (n [T_data + T_ack/d])`` where all rates are equal.
    segment_bytes: s_d/8, without headers. segments_per_ack: d. overhead_bytes: of MAC, LLC and
    FCS; TCP and IP add 40. options: `airqueue.models.airtime.ExchangeOptions` without backoff_slots.

    **Low confidence.** The HTTP paper's Fig. 4 shows Heusse's model changed from d = 2 to d = 1 and
    does not say how. This is a reconstruction: a third curve beside the paper's two, not a reference
    value. Raises ParameterError.

    >>> float((anomaly_tcp_bps(5, 11e6) * 5 / 1e6).round(2))
    6.32
    """
    n, slow, fast, segment, per_ack, overhead = broadcast(
        n=numbers("n", n, at_least=1, at_most=1e9),
        slow_rate_bps=numbers("slow_rate_bps", slow_rate_bps, above=0),
        fast_rate_bps=numbers("fast_rate_bps", fast_rate_bps, above=0),
        segment_bytes=numbers("segment_bytes", segment_bytes, above=0, at_most=MAX_FRAME_BYTES),
        segments_per_ack=numbers("segments_per_ack", segments_per_ack, at_least=1),
        overhead_bytes=numbers("overhead_bytes", overhead_bytes, at_least=0, at_most=1e6),
    )
    slow_layer = checked(slow_phy or checked(phy), "slow_phy")
    _, contention_s = _contention(n + 1.0, phy)
    options["backoff_slots"] = 0

    def cycle_s(layer: Phy, rate: FloatArray) -> FloatArray:
        headers = overhead + TCP_IP_BYTES
        data_s = exchange_s(layer, headers + segment, rate, **options)
        ack_s = exchange_s(layer, headers, rate, **options)
        return data_s + contention_s + (ack_s + contention_s) / per_ack

    total_s = (n - 1.0) * cycle_s(phy, fast) + cycle_s(slow_layer, slow)
    return finished("throughput", 8.0 * segment / total_s)


def _evaluate(
    *,
    n: float,
    slow_rate_bps: float | None,
    fast_rate_bps: float | None,
    frame_bytes: float,
    phy: str,
    slow_phy: str | None,
    control_rate_bps: float | None,
    slow_control_rate_bps: float | None,
) -> dict[str, float]:
    layer = layer_named(phy)
    slow_layer = layer if slow_phy is None else layer_named(slow_phy)
    result = anomaly(
        n,
        slow_layer.rates_bps[0] if slow_rate_bps is None else slow_rate_bps,
        layer.rates_bps[-1] if fast_rate_bps is None else fast_rate_bps,
        frame_bytes,
        phy=layer,
        slow_phy=slow_layer,
        control_rate_bps=control_rate_bps,
        slow_control_rate_bps=slow_control_rate_bps,
    )
    return {
        "throughput_bps": float(result.throughput_bps),
        "total_bps": n * float(result.throughput_bps),
        "fast_utilisation": float(result.fast_utilisation),
        "slow_utilisation": float(result.slow_utilisation),
        "collision_utilisation": float(result.collision_utilisation),
        "fast_efficiency": float(result.fast_efficiency),
        "slow_efficiency": float(result.slow_efficiency),
        "collision_probability": float(result.collision_probability),
        "contention_s": float(result.contention_s),
    }


MODEL = Model(
    name="anomaly",
    summary="Throughput of n saturated hosts of which one is slow (Heusse et al. 2003).",
    parameters=(
        Parameter("n", "N: hosts, the slow one included"),
        Parameter("slow_rate_bps", "r: of the slow host; its lowest if not given", None, Kind.RATE),
        Parameter("fast_rate_bps", "R: of the others; their highest if not given", None, Kind.RATE),
        Parameter("frame_bytes", "s_d: frame, as it is sent", 1500, Kind.SIZE),
        Parameter("phy", PHY_HELP, "b-short", Kind.TEXT),
        Parameter("slow_phy", "PHY of the slow host, if different", None, Kind.TEXT),
        Parameter("control_rate_bps", "rate of the ACK to a fast host", None, Kind.RATE),
        Parameter("slow_control_rate_bps", "rate of the ACK to the slow host", None, Kind.RATE),
    ),
    outputs=(
        Output("throughput_bps", "X: throughput of each host, fast or slow"),
        Output("total_bps", "throughput of all hosts together"),
        Output("fast_utilisation", "U_f: part of the time that one fast host has"),
        Output("slow_utilisation", "U_s: part of the time that the slow host has"),
        Output("collision_utilisation", "part of the time that goes to collisions"),
        Output("fast_efficiency", "p_f: part of U_f in which bits are sent"),
        Output("slow_efficiency", "p_s: part of U_s in which bits are sent"),
        Output("collision_probability", "P_c"),
        Output("contention_s", "t_cont: contention time of a frame"),
    ),
    evaluate=_evaluate,
    example="n=2..10 slow_rate_bps=1mbit",
    valid=(
        "Saturated hosts that hear each other, no errors, frames without aggregation. Windows do not "
        "grow: the throughput is high by up to 6 % with two hosts, with ten low by 2 to 6 % for a "
        "CWmin of 31 (b), by 9 to 14 % for 15 (a, g and later), with more hosts by more. For several "
        "slow hosts see rate-mix."
    ),
)
