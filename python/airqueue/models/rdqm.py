"""RDQM: the base station's buffer divided among TCP flows by the needs of their paths and rates.

D. Kliazovich, P. H. Gomes, F. Granelli, N. L. S. da Fonseca, *Queue Management Mechanism for 802.11
Base Stations* (Algorithms 2 and 3). Receivers report RTT and rate in their link-layer ACKs; a flow's
share of the buffer is proportional to their product. Flows that report nothing share equally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Unpack

import numpy as np
from numpy.typing import NDArray

from airqueue.models.airtime import ExchangeOptions
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import (
    FloatArray,
    Numbers,
    broadcast,
    called,
    choice,
    finished,
    number,
    numbers,
)
from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.rate_mix import (
    CYCLE_PARAMETERS,
    RateMix,
    airtime_fair,
    packet_fair,
    tcp_cycle_s,
)

WEIGHTS: Final = ("rtt*rate", "rtt")
ADMISSIONS: Final = (">", ">=")


@dataclass(frozen=True, slots=True)
class Partition:
    """A divided buffer; the last axis of ``limits_frames`` runs over flows."""

    limits_frames: FloatArray
    """Limit of each flow, a real number; see `admitted_frames`."""
    rdqm_frames: FloatArray
    """Q N_R/N: the part of the RDQM flows, before any floor."""
    legacy_frames: FloatArray
    """Q N_L/N: the part of the other flows."""
    total_frames: FloatArray
    """Sum of the limits: Q, or more if the floor raised any."""


def partition(
    buffer_frames: Numbers,
    rtt_s: Numbers,
    rate_bps: Numbers = 1.0,
    reports: Numbers = 1,
    *,
    weight: str = "rtt*rate",
    floor_frames: float = 0.0,
) -> Partition:
    """Divide a buffer of Q frames among N flows, N_R of which report.

    ::

        RDQM flow i:  limit = Q N_R/N · w_i / Σ_RDQM w_j        w = rtt · rate, the flow's BDP
        other flow:   limit = Q/N

    so the parts are as N_R : N_L and the limits sum to Q. buffer_frames: Q. rtt_s, rate_bps: of each
    flow on the last axis, axes in front for a sweep; ignored where a flow does not report. reports: 1
    for an RDQM flow, 0 for others (also for new flows, which have not reported yet). Q broadcasts
    against the axes in front.

    weight: "rtt*rate" as in the paper; "rtt" as in the same authors' scheme of GLOBECOM 2009, which
    ignores rates (at equal rates it equals the paper's; known from its abstract only).
    floor_frames: lower bound of a limit; 1 keeps flows from being locked out when admission is ">=".
    Other flows' limits stay, so the sum then exceeds Q by the frames added, at most N · floor_frames,
    and the test for a full buffer drops the excess.

    Valid for the settled state, when all reports are in. Raises ParameterError.

    >>> partition(60, 0.15, [11e6, 5.5e6, 1e6]).limits_frames.round(1).tolist()
    [37.7, 18.9, 3.4]
    """
    choice("weight", weight, WEIGHTS)
    floor = number("floor_frames", floor_frames, at_least=0, at_most=1e9)
    rtt, rate, flag = broadcast(
        rtt_s=np.atleast_1d(numbers("rtt_s", rtt_s, at_least=0, at_most=1e9)),
        rate_bps=numbers("rate_bps", rate_bps, at_least=0, at_most=1e15),
        reports=numbers("reports", reports, at_least=0, at_most=1, whole=True),
    )
    if not rtt.shape[-1]:
        raise ParameterError("rtt_s", "there is no flow; give the round-trip time of at least one")
    is_rdqm = flag == 1
    share = _rdqm_share(rtt, rate if weight == "rtt*rate" else np.ones_like(rate), is_rdqm)
    flows = rtt.shape[-1]
    buffer, reporting = broadcast(
        buffer_frames=numbers("buffer_frames", buffer_frames, at_least=0, at_most=1e12),
        rtt_s=np.count_nonzero(is_rdqm, axis=-1).astype(np.float64),
    )
    rdqm = buffer * reporting / flows
    equal = (buffer / flows)[..., np.newaxis]
    limits = np.maximum(np.where(is_rdqm, rdqm[..., np.newaxis] * share, equal), floor)
    return Partition(
        finished("limit", limits),
        finished("RDQM part", rdqm),
        finished("legacy part", buffer * (flows - reporting) / flows),
        finished("total", limits.sum(axis=-1)),
    )


def _rdqm_share(rtt: FloatArray, rate: FloatArray, is_rdqm: NDArray[np.bool_]) -> FloatArray:
    """Return w_i / Σ w_j among the flows that report, 0 for the others."""
    for name, array in (("rtt_s", rtt), ("rate_bps", rate)):
        # The product of two such factors is neither 0 nor infinite.
        numbers(name, np.where(is_rdqm, array, 1.0), at_least=1e-9)
    product = np.where(is_rdqm, rtt * rate, 0.0)
    total = product.sum(axis=-1, keepdims=True)
    share: FloatArray = product / np.where(total > 0, total, 1.0)
    return share


def admitted_frames(limit_frames: Numbers, admission: str = ">") -> FloatArray:
    """Return the number of frames of a flow that a real limit admits to the queue.

    admission: ">" drops a frame that finds more than ``limit`` frames of its flow, as printed, and so
    admits ``⌊limit⌋ + 1``; ">=" drops one that finds ``limit`` or more and admits ``⌈limit⌉``. The
    first frame of a new flow is not tested by either, and a full buffer drops with both.

    >>> admitted_frames([2.5, 3]).tolist(), admitted_frames([2.5, 3], ">=").tolist()
    ([3.0, 4.0], [3.0, 3.0])
    """
    limit = numbers("limit_frames", limit_frames, at_least=0, at_most=1e15)
    if choice("admission", admission, ADMISSIONS) == ">":
        return finished("frames", np.floor(limit) + 1.0)
    return finished("frames", np.ceil(limit))


def predicted_throughput(
    cycle_s: Numbers,
    segment_bytes: Numbers,
    limits_frames: Numbers,
    rtt_s: Numbers,
    *,
    queueing_s: Numbers = 0.0,
) -> RateMix:
    """Return the flows' throughput if the limits cap their windows: packet rates ∝ ``limit/RTT``.

    Packets per second are proportional to ``limit_i / (rtt_i + queueing)`` and take all of the
    medium's time: ``Σ x_i T_i / L = 1``. cycle_s: T_i, `airqueue.models.rate_mix.tcp_cycle_s`.
    segment_bytes: L/8. limits_frames, rtt_s: of each flow on the last axis. queueing_s: delay in the
    base station, common to all, 0 if negligible against the RTT.

    An idealisation: with the paper's limits and without queueing, throughput is proportional to rate.
    Overheads per frame and queueing move it towards `airqueue.models.rate_mix.airtime_fair`; the
    paper's Fig. 3b lies between the two. With limits proportional to RTT alone all flows get
    equal throughput. Valid while every flow is limited by its share, and while the buffer keeps the
    medium busy: only the limits' ratios count. Raises ParameterError.
    """
    limit, rtt, queueing = broadcast(
        limits_frames=numbers("limits_frames", limits_frames, at_least=0, at_most=1e12),
        rtt_s=numbers("rtt_s", rtt_s, at_least=1e-9, at_most=1e9),
        queueing_s=numbers("queueing_s", queueing_s, at_least=0, at_most=1e9),
    )
    per_s = np.atleast_1d(limit / (rtt + queueing))
    if not per_s.size or not np.all(np.max(per_s, axis=-1) > 0):
        raise ParameterError("limits_frames", "no flow has a limit above 0; at least one must have")
    return packet_fair(cycle_s, segment_bytes, 1, per_s / np.max(per_s, axis=-1, keepdims=True))


_KEYS: Final = {
    "rate_bps": "rates_bps",
    "cycle_s": "rates_bps",
    "rtt_s": "rtts_s",
    "limits_frames": "buffer_frames",
}
"""The command's parameters, by those of the functions above."""


def _evaluate(
    *,
    rates_bps: Sequence[float],
    rtts_s: Sequence[float],
    buffer_frames: float,
    reports: Sequence[float],
    weight: str,
    floor_frames: float,
    admission: str,
    queueing_s: float,
    phy: str,
    segment_bytes: float,
    segments_per_ack: float,
    overhead_bytes: float | None,
    **options: Unpack[ExchangeOptions],
) -> dict[str, float | list[float]]:
    with called(_KEYS):
        parts = partition(
            buffer_frames, rtts_s, rates_bps, reports, weight=weight, floor_frames=floor_frames
        )
        cycle_s = tcp_cycle_s(
            layer_named(phy),
            rates_bps,
            segment_bytes,
            segments_per_ack=segments_per_ack,
            overhead_bytes=overhead_bytes,
            **options,
        )
        flows = np.ones(parts.limits_frames.shape)
        throughputs = {
            "capped": predicted_throughput(
                cycle_s, segment_bytes, parts.limits_frames, rtts_s, queueing_s=queueing_s
            ),
            "airtime_fair": airtime_fair(cycle_s, segment_bytes, flows),
            "drop_tail": packet_fair(cycle_s, segment_bytes, flows),
        }
    return _buffers(parts, admission) | _throughputs(throughputs)


def _buffers(parts: Partition, admission: str) -> dict[str, float | list[float]]:
    """Return the outputs in frames."""
    return {
        "limits_frames": parts.limits_frames.tolist(),
        "admitted_frames": admitted_frames(parts.limits_frames, admission).tolist(),
        "total_frames": float(parts.total_frames),
        "rdqm_frames": float(parts.rdqm_frames),
        "legacy_frames": float(parts.legacy_frames),
    }


def _throughputs(mixes: Mapping[str, RateMix]) -> dict[str, float | list[float]]:
    """Return the throughputs of each flow and of all flows."""
    each: dict[str, float | list[float]] = {
        f"{name}_bps": mix.throughput_bps.tolist() for name, mix in mixes.items()
    }
    return each | {f"{name}_total_bps": float(mix.total_bps) for name, mix in mixes.items()}


MODEL = Model(
    name="rdqm",
    summary="Buffer limits of flows by RTT and rate, and the resulting throughput (RDQM).",
    parameters=(
        Parameter("rates_bps", "data rate of each flow's station", kind=Kind.RATES),
        Parameter("rtts_s", "round-trip time of each flow", (0.15,), Kind.DURATIONS),
        Parameter("buffer_frames", "Q: buffer of the base station", 100, Kind.NUMBER),
        Parameter("reports", "1 for RDQM flows, 0 for others", (1.0,), Kind.NUMBERS),
        Parameter(
            "weight", "weight of a share; rtt: GLOBECOM 2009", "rtt*rate", Kind.CHOICE, WEIGHTS
        ),
        Parameter("floor_frames", "least limit; above 0 the sum may exceed Q", 0),
        Parameter("admission", "drop a frame if count > or >= limit", ">", Kind.CHOICE, ADMISSIONS),
        Parameter("queueing_s", "delay in the base station, of all flows", 0, Kind.DURATION),
        *CYCLE_PARAMETERS,
    ),
    outputs=(
        Output("limits_frames", "limit of each flow"),
        Output("admitted_frames", "frames of a flow that its limit admits to the queue"),
        Output("total_frames", "sum of the limits: Q, or more with a floor"),
        Output("rdqm_frames", "Q N_R/N: part of the flows that report"),
        Output("legacy_frames", "Q N_L/N: part of the others"),
        Output("capped_bps", "throughput of each flow, if limits cap windows"),
        Output("capped_total_bps", "throughput of all flows, if limits cap windows"),
        Output("airtime_fair_bps", "throughput of each flow, with equal shares of the time"),
        Output("airtime_fair_total_bps", "throughput of all flows, with equal shares of the time"),
        Output("drop_tail_bps", "throughput of each flow, with equal packet rates"),
        Output("drop_tail_total_bps", "throughput of all flows, with equal packet rates"),
    ),
    evaluate=_evaluate,
    example="rates_bps=11mbit,11mbit,11mbit,5.5mbit,5.5mbit,1mbit rtts_s=150ms",
    valid=(
        "The settled state, all reports in, every flow with data to send and one flow to a station. "
        "The throughput is an idealisation: expect between capped_bps and airtime_fair_bps, with a "
        "buffer large enough to keep the medium busy (buffer_frames does not enter), and frames "
        "without aggregation."
    ),
)
