"""Packets of one transmission opportunity, and their effect on throughput.

A station that wins the medium may send packets, SIFS apart, up to the TXOP limit, so that no other
station counts down. Throughput therefore rises in steps of one packet (EDCA paper,
Fig. 3).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from airqueue.models.airtime import (
    CONTROL_RATE_PARAMETER,
    RATE_PARAMETER,
    ExchangeOptions,
    exchange,
    mac_overhead_bytes,
)
from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, numbers
from airqueue.models.phy_names import PHY_HELP
from airqueue.models.phy_names import phy as layer_named

_ROUNDING = 1e-9
"""Share of a step: a limit of a whole number of steps admits that number despite rounding."""


def packets_per_txop(
    txop_s: Numbers, frame_s: Numbers, ack_s: Numbers, sifs_s: Numbers
) -> FloatArray:
    """Return ``N = max(1, floor((TXOP + SIFS) / T_step))``, see `step_s`.

    txop_s: TXOP limit, 0 for one packet however long. frame_s, ack_s: of a data frame and of its
    acknowledgement. The last packet needs no SIFS behind it. Valid for packets of one size that are
    all queued when the opportunity begins, which ends when the queue is empty.

    >>> float(packets_per_txop(0.0051, 0.001150, 0.000107, 10e-6))
    4.0
    """
    txop, step, sifs = broadcast(
        txop_s=numbers("txop_s", txop_s, at_least=0, at_most=1e3),
        frame_s=np.asarray(step_s(frame_s, ack_s, sifs_s)),
        sifs_s=numbers("sifs_s", sifs_s, at_least=0),
    )
    return finished("packets", np.maximum(np.floor((txop + sifs) / step + _ROUNDING), 1.0))


def step_s(frame_s: Numbers, ack_s: Numbers, sifs_s: Numbers) -> FloatArray:
    """Return ``T_step = T_frame + SIFS + T_ACK + SIFS``, the time of one more packet in a TXOP."""
    frame, ack, sifs = broadcast(
        frame_s=numbers("frame_s", frame_s, at_least=1e-9, at_most=1.0),
        ack_s=numbers("ack_s", ack_s, at_least=0, at_most=1.0),
        sifs_s=numbers("sifs_s", sifs_s, at_least=0, at_most=1.0),
    )
    return finished("step", frame + ack + 2.0 * sifs)


def txop_for_packets_s(
    packets: Numbers, frame_s: Numbers, ack_s: Numbers, sifs_s: Numbers
) -> FloatArray:
    """Return the least TXOP limit that admits a number of packets, ``N T_step - SIFS``.

    Drivers take it in units of 32 µs (IEEE 802.11-2016, 9.4.2.29): round up.

    >>> float(txop_for_packets_s(4, 0.001150, 0.000107, 10e-6).round(6))
    0.005098
    """
    count, step, sifs = broadcast(
        packets=numbers("packets", packets, at_least=1, at_most=1e6, whole=True),
        frame_s=np.asarray(step_s(frame_s, ack_s, sifs_s)),
        sifs_s=numbers("sifs_s", sifs_s, at_least=0),
    )
    return finished("TXOP", count * step - sifs)


def _evaluate(
    *,
    txop_s: float,
    other_txop_s: float,
    ip_bytes: float,
    phy: str,
    rate_bps: float | None,
    control_rate_bps: float | None,
) -> Mapping[str, Figure]:
    layer = layer_named(phy)
    rate = layer.rates_bps[-1] if rate_bps is None else rate_bps
    options = ExchangeOptions(control_rate_bps=control_rate_bps)
    added = mac_overhead_bytes(layer)
    most = layer.max_psdu_bytes - added
    size = numbers("ip_bytes", ip_bytes, above=0, at_most=most) + added
    timing = exchange(layer, size, rate, **options)
    packet = (timing.frame_s, timing.response_s - layer.sifs_s, layer.sifs_s)
    count = float(packets_per_txop(txop_s, *packet))
    other = float(packets_per_txop(other_txop_s, *packet))
    return {
        "packets": int(count),
        "step_s": float(step_s(*packet)),
        "throughput_ratio": count / other,
        "least_txop_s": float(txop_for_packets_s(count, *packet)) if count > 1 else 0.0,
        "next_txop_s": float(txop_for_packets_s(count + 1.0, *packet)),
    }


MODEL = Model(
    name="edca-txop",
    summary="Packets that a TXOP limit admits, and the throughput ratio of two stations that differ "
    "in it (EDCA paper, Fig. 3).",
    parameters=(
        Parameter("txop_s", "TXOP limit; 0 for one packet", 0.0, Kind.DURATION),
        Parameter("other_txop_s", "TXOP limit of the station to compare with", 0.0, Kind.DURATION),
        Parameter("ip_bytes", "IP packet with its headers", 1428, Kind.SIZE),
        Parameter("phy", PHY_HELP, "b-short", Kind.TEXT),
        RATE_PARAMETER,
        CONTROL_RATE_PARAMETER,
    ),
    outputs=(
        Output("packets", "N: packets of one opportunity"),
        Output("step_s", "T_step: time of one more packet"),
        Output("throughput_ratio", "N over that of the other station, both saturated"),
        Output("least_txop_s", "least limit that admits as many packets; 0 for one packet"),
        Output("next_txop_s", "least limit that admits one more"),
    ),
    evaluate=_evaluate,
    example="txop_s=0ms..10ms:0.5ms",
    valid="Packets of one size, one acknowledgement each, enough of them queued. The ratio is exact "
    "for two saturated stations that are equal otherwise; a collision costs one packet, not a TXOP.",
)
