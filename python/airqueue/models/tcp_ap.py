"""TCP with adaptive pacing (TCP-AP): interval between packets of a source on a wireless chain.

S. M. ElRakabawy, A. Klemm, C. Lindemann, *TCP with Adaptive Pacing for Multihop Wireless Networks*,
MobiHoc 2005. Per acknowledgement, with h hops, s_d and s_a the sizes on air of a data packet and of
an acknowledgement and b the bandwidth of the links:

    t_q = (rtt/h - (s_d + s_a)/b)/2            queueing and contention per hop
    D   = k (t_q + s_d/b)                      until the packet is out of interference: k = 4 hops
    I   = (1 + 2 cov) D_avg                    pacing interval; the rate is 1/I

k is 4 from 4 hops on and 1 below, as in the authors' implementation. D_avg is an exponential average
(α), cov the coefficient of variation of the last N values of D.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.packets import SEGMENT_BYTES, SEGMENT_PARAMETER

OVERHEAD_BYTES: Final = 112
"""TCP, IP, MAC and PHY headers of a packet; the entire size of an acknowledgement."""
BANDWIDTH_BPS: Final = 11e6
SPATIAL_HOPS: Final = 4
"""Hops after which a packet no longer disturbs the next: ranges of 250 m and 550 m."""
ALPHA: Final = 0.7
"""Weight of the past in the average of D."""
GAMMA: Final = 0.5
"""Weight of the past in the average of t_q."""
SAMPLES: Final = 50
"""N, number of values of D in cov."""
LONGEST_S: Final = 0.5
"""Values of t_q above this limit, and of D from this limit on, count as errors."""
INITIAL_INTERVAL_S: Final = 0.05
DEVIATIONS: Final = ("standard", "absolute")


@dataclass(frozen=True, slots=True)
class TcpAp:
    """Pacing at a given RTT; each field has the parameters' shape."""

    queueing_delay_s: FloatArray
    """t_q, per hop."""
    four_hop_delay_s: FloatArray
    """D; over one hop for routes of less than four."""
    interval_s: FloatArray
    """I, between two packets."""
    packet_rate: FloatArray
    """R = 1/I, packets per second."""


def tcp_ap(
    rtt_s: Numbers,
    hops: Numbers,
    *,
    bandwidth_bps: Numbers = BANDWIDTH_BPS,
    segment_bytes: Numbers = SEGMENT_BYTES,
    overhead_bytes: Numbers = OVERHEAD_BYTES,
    variation: Numbers = 0.0,
) -> TcpAp:
    """Return t_q, D, I and R for a steady RTT and coefficient of variation (``variation``).

    Raises ParameterError, also for an RTT shorter than the packets' time on the route without any
    queue, t_q < 0, and for an RTT so long that D is 0.5 s or more: the source takes such a D for an
    error and keeps its pace, as `paced` does.

    >>> float(tcp_ap(30e-3, 4).packet_rate.round(1))
    58.4
    >>> float(tcp_ap(30e-3, 4, variation=0.2).packet_rate.round(1))
    41.7
    """
    rtt, h, bandwidth, segment, overhead, cov = broadcast(
        rtt_s=numbers("rtt_s", rtt_s, above=0, at_most=1e3),
        hops=numbers("hops", hops, at_least=1, at_most=1e4, whole=True),
        bandwidth_bps=numbers("bandwidth_bps", bandwidth_bps, at_least=1, at_most=1e15),
        segment_bytes=numbers("segment_bytes", segment_bytes, at_least=1, at_most=1e6),
        overhead_bytes=numbers("overhead_bytes", overhead_bytes, at_least=0, at_most=1e6),
        variation=numbers("variation", variation, at_least=0, at_most=1e6),
    )
    data_s = 8.0 * (segment + overhead) / bandwidth
    queueing = _queueing_delay_s(rtt, h, data_s, 8.0 * overhead / bandwidth)
    if np.any(queueing < -1e-9 * rtt):
        raise ParameterError(
            "rtt_s",
            "rtt_s is shorter than a packet and its acknowledgement take over these hops; give a "
            "longer RTT, fewer hops or a higher bandwidth_bps",
        )
    delay = _interference_delay_s(queueing, h, data_s)
    if np.any(delay >= LONGEST_S):
        raise ParameterError(
            "rtt_s",
            f"rtt_s is so long that D is {LONGEST_S:g} s or more, which the source takes for an "
            "error and does not follow; give a shorter RTT, more hops or a higher bandwidth_bps",
        )
    interval = _interval_s(delay, cov)
    return TcpAp(
        queueing_delay_s=finished("t_q", queueing),
        four_hop_delay_s=finished("D", delay),
        interval_s=finished("I", interval),
        packet_rate=finished("R", 1.0 / interval),
    )


def _queueing_delay_s(
    rtt_s: FloatArray, hops: FloatArray, data_s: FloatArray, ack_s: FloatArray
) -> FloatArray:
    return (rtt_s / hops - (data_s + ack_s)) / 2.0


def _interference_delay_s(
    queueing_s: FloatArray, hops: FloatArray, data_s: FloatArray
) -> FloatArray:
    factor = np.where(hops >= SPATIAL_HOPS, float(SPATIAL_HOPS), 1.0)
    delay: FloatArray = factor * (queueing_s + data_s)
    return delay


def _interval_s(delay_s: FloatArray, variation: FloatArray) -> FloatArray:
    return (1.0 + 2.0 * variation) * delay_s


def coefficient_of_variation(
    samples: Sequence[float] | FloatArray, deviation: str = "standard"
) -> float:
    """Return the samples' deviation over their mean: population "standard" deviation, as published,
    or mean "absolute" deviation, which the authors' implementation uses to save a square root.

    >>> coefficient_of_variation([1.0, 3.0])
    0.5
    """
    values = numbers("samples", samples, at_least=1e-100, at_most=1e100)
    choice("deviation", deviation, DEVIATIONS)
    if values.ndim != 1 or len(values) == 0:
        raise ParameterError("samples", "samples must be a list of at least one value")
    mean = values.mean()
    apart = values - mean
    size = np.sqrt(np.mean(apart**2)) if deviation == "standard" else np.abs(apart).mean()
    return float(size / mean)


@dataclass(frozen=True, slots=True)
class PacedAck:
    """State of the source after one acknowledgement."""

    queueing_delay_s: float
    """t_q, replaced by its average where it is longer than 0.5 s."""
    four_hop_delay_s: float
    """D of this acknowledgement; not used unless it is from 0 to 0.5 s."""
    average_delay_s: float | None
    """D_avg; None before the first usable D."""
    variation: float
    """cov, coefficient of variation of D."""
    interval_s: float
    """I; the initial interval before the first usable D."""


def paced(
    rtts_s: Sequence[float] | FloatArray,
    hops: int,
    *,
    bandwidth_bps: float = BANDWIDTH_BPS,
    segment_bytes: float = SEGMENT_BYTES,
    overhead_bytes: float = OVERHEAD_BYTES,
    deviation: str = "standard",
) -> list[PacedAck]:
    """Return the states of the source for a series of RTTs, one per acknowledgement.

    >>> [round(1 / ack.interval_s, 1) for ack in paced([30e-3, 30e-3, 34e-3], 4)]
    [58.4, 58.4, 51.0]
    """
    rtts = numbers("rtts_s", rtts_s, above=0, at_most=1e3)
    if rtts.ndim != 1:
        raise ParameterError("rtts_s", "rtts_s must be a list of RTTs")
    count = numbers("hops", hops, at_least=1, at_most=1e4, whole=True)
    bandwidth = numbers("bandwidth_bps", bandwidth_bps, at_least=1, at_most=1e15)
    overhead = numbers("overhead_bytes", overhead_bytes, at_least=0, at_most=1e6)
    size = numbers("segment_bytes", segment_bytes, at_least=1, at_most=1e6) + overhead
    choice("deviation", deviation, DEVIATIONS)
    data_s, ack_s = 8.0 * size / bandwidth, 8.0 * overhead / bandwidth
    average: float | None = None
    smoothed = variation = 0.0
    interval = INITIAL_INTERVAL_S
    recent: deque[float] = deque(maxlen=SAMPLES)
    found = []
    for rtt in rtts:
        queueing = float(_queueing_delay_s(rtt, count, data_s, ack_s))
        queueing = smoothed if queueing > LONGEST_S else queueing
        smoothed = GAMMA * smoothed + (1.0 - GAMMA) * queueing
        delay = float(_interference_delay_s(np.asarray(queueing), count, data_s))
        if 0.0 < delay < LONGEST_S:
            average = delay if average is None else ALPHA * average + (1.0 - ALPHA) * delay
            recent.append(delay)
            variation = coefficient_of_variation(list(recent), deviation)
            interval = float(_interval_s(np.asarray(average), np.asarray(variation)))
        found.append(PacedAck(queueing, delay, average, variation, interval))
    return found


def _evaluate(
    *,
    rtt_s: float,
    hops: float,
    bandwidth_bps: float,
    segment_bytes: float,
    overhead_bytes: float,
    variation: float,
) -> dict[str, float]:
    solved = tcp_ap(
        rtt_s,
        hops,
        bandwidth_bps=bandwidth_bps,
        segment_bytes=segment_bytes,
        overhead_bytes=overhead_bytes,
        variation=variation,
    )
    return {
        "packets_per_s": float(solved.packet_rate),
        "goodput_bps": float(solved.packet_rate * 8.0 * segment_bytes),
        "interval_s": float(solved.interval_s),
        "four_hop_delay_s": float(solved.four_hop_delay_s),
        "queueing_delay_s": float(solved.queueing_delay_s),
    }


MODEL = Model(
    name="tcp-ap",
    summary="Rate at which TCP with adaptive pacing sends (ElRakabawy, Klemm, Lindemann 2005).",
    parameters=(
        Parameter("rtt_s", "round-trip time", kind=Kind.DURATION),
        Parameter("hops", "h: hops of the route", 4, Kind.WHOLE),
        Parameter("bandwidth_bps", "b: rate of the links", BANDWIDTH_BPS, Kind.RATE),
        SEGMENT_PARAMETER,
        Parameter(
            "overhead_bytes", "headers, all of an acknowledgement", OVERHEAD_BYTES, Kind.SIZE
        ),
        Parameter("variation", "cov: coefficient of variation of the four-hop delay", 0.0),
    ),
    outputs=(
        Output("packets_per_s", "R: 1/I"),
        Output("goodput_bps", "R times the segment"),
        Output("interval_s", "I: interval between two packets"),
        Output("four_hop_delay_s", "D: time until a packet is out of interference range"),
        Output("queueing_delay_s", "t_q: queueing and contention per hop"),
    ),
    evaluate=_evaluate,
    example="rtt_s=20ms..60ms:10ms hops=4",
    valid=(
        "The pace that the sender chooses, which the network may not carry. Equal links, and an "
        "interference range of four hops from four hops on; below four hops D covers one hop only, "
        "although all hops interfere. Up to D = 0.5 s."
    ),
)
