"""Size of the buffer that the nodes of a mesh's bottleneck hold together (MESH Eq. (3)).

    RTT = Σ over the M hops in the bottleneck of (T_d-DATA + T_d-ACK) + other delay
    λ   = w_min / (8 · bytes per packet)            packets/s, w_min the lowest rate of these hops
    B  >= RTT · λ                                   packets

A TCP source that halves its window must send again before the buffer is empty. λ is an upper bound
(no frame overhead, no competing flow), so B is an upper bound too and favours use of the air.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_exchange import DEFAULT_PRESET, mesh_exchange, preset
from airqueue.models.packets import SEGMENT_BYTES, SEGMENT_PARAMETER
from airqueue.text import plural, seconds
from airqueue.text import rate as rate_text


@dataclass(frozen=True, slots=True)
class NeighbourhoodBuffer:
    """B and the terms of its equation; each field has the shape of the parameters."""

    packets: FloatArray
    """B, for all nodes of the bottleneck together; not rounded."""
    rtt_s: FloatArray
    """RTT through the bottleneck without queueing."""
    packet_rate: FloatArray
    """λ, packets per second."""
    hops: FloatArray
    """M, hops in the bottleneck."""

    def reason(self) -> str:
        """Return the equation with its numbers, of a single buffer.

        >>> neighbourhood_buffer(4, 2.698e-3, 11e6).reason()
        'RTT without queues over 4 hops is 11 ms; at most 942 packets/s pass; B = RTT · λ = 10.2'
        """
        return (
            f"RTT without queues over {plural(int(self.hops), 'hop')} is "
            f"{seconds(float(self.rtt_s))}; at most {float(self.packet_rate):.0f} packets/s pass; "
            f"B = RTT · λ = {float(self.packets):.1f}"
        )


def neighbourhood_buffer(
    hops: Numbers,
    exchange_s: Numbers,
    rate_bps: Numbers,
    packet_bytes: Numbers = SEGMENT_BYTES,
    delay_s: Numbers = 0.0,
) -> NeighbourhoodBuffer:
    """Return B for M equal hops: ``(M · exchange + other delay) · rate / (8 · packet_bytes)``.

    hops: M, transmitting nodes of the flow in its bottleneck domain. exchange_s: T_d-DATA + T_d-ACK
    (`airqueue.models.mesh_exchange`). rate_bps: of the links. packet_bytes: bytes per packet in λ;
    the paper's numbers come from the TCP payload, 1500 would count the IP packet. delay_s:
    round trip outside the mesh.

    Raises ParameterError.

    >>> float(neighbourhood_buffer(4, 2.698e-3, 11e6).packets.round(2))
    10.16
    """
    count, exchange, rate, size, other = broadcast(
        hops=numbers("hops", hops, at_least=1, at_most=1e6, whole=True),
        exchange_s=numbers("exchange_s", exchange_s, above=0, at_most=1e3),
        rate_bps=_checked_rate(rate_bps),
        packet_bytes=numbers("packet_bytes", packet_bytes, at_least=1, at_most=1e6),
        delay_s=numbers("delay_s", delay_s, at_least=0, at_most=1e3),
    )
    return _buffer(count, count * exchange + other, rate, size)


def path_buffer(
    exchanges_s: Sequence[float] | FloatArray,
    rates_bps: Sequence[float] | FloatArray,
    packet_bytes: float = SEGMENT_BYTES,
    delay_s: float = 0.0,
) -> NeighbourhoodBuffer:
    """Return B for hops that differ: the exchanges add up, the lowest rate sets λ.

    exchanges_s, rates_bps: one per hop in the bottleneck (last axis).

    >>> slow = path_buffer([2.698e-3, 14.60e-3], [11e6, 1e6])
    >>> float(slow.packets.round(2))
    1.48
    """
    exchanges, rates = broadcast(
        exchanges_s=numbers("exchanges_s", exchanges_s, above=0, at_most=1e3),
        rates_bps=_checked_rate(rates_bps, "rates_bps"),
    )
    if exchanges.ndim == 0 or exchanges.shape[-1] == 0:
        raise ParameterError("exchanges_s", "exchanges_s is no list; it must be one time per hop")
    size = numbers("packet_bytes", packet_bytes, at_least=1, at_most=1e6)
    other = numbers("delay_s", delay_s, at_least=0, at_most=1e3)
    hops = np.full(exchanges.shape[:-1], float(exchanges.shape[-1]))
    return _buffer(hops, exchanges.sum(axis=-1) + other, rates.min(axis=-1), size)


def _checked_rate(rate_bps: Numbers, name: str = "rate_bps") -> FloatArray:
    return numbers(name, rate_bps, at_least=1, at_most=1e15)


def _buffer(
    hops: FloatArray, rtt_s: FloatArray, rate_bps: FloatArray, packet_bytes: FloatArray
) -> NeighbourhoodBuffer:
    packet_rate = rate_bps / (8.0 * packet_bytes)
    return NeighbourhoodBuffer(
        packets=finished("B", rtt_s * packet_rate),
        rtt_s=finished("RTT", rtt_s),
        packet_rate=finished("λ", packet_rate),
        hops=finished("M", hops),
    )


def _evaluate(
    *,
    radio: str,
    hops: float,
    rates_bps: Sequence[float] | None,
    segment_bytes: float,
    packet_bytes: float | None,
    delay_s: float,
    rts: str,
) -> dict[str, float | str]:
    """Evaluate for equal hops, or for one rate per hop, in which case ``hops`` does not matter."""
    chosen = preset(radio)
    if rates_bps is None:
        count = int(number("hops", hops, at_least=1, at_most=1000, whole=True))
        rates_bps = [chosen.rate_bps] * count
    if not rates_bps:
        raise ParameterError("rates_bps", "rates_bps is empty; give one rate per hop, or hops")
    with called({"rate_bps": "rates_bps"}):
        exchanges = mesh_exchange(chosen, rates_bps, segment_bytes, rts=rts == "yes").round_trip_s
        counted_bytes = segment_bytes if packet_bytes is None else packet_bytes
        found = path_buffer(np.atleast_1d(exchanges), rates_bps, counted_bytes, delay_s)
    return {
        "buffer_packets": float(found.packets),
        "rtt_s": float(found.rtt_s),
        "packets_per_s": float(found.packet_rate),
        "reason": f"{found.reason()} (slowest link {rate_text(min(rates_bps))})",
    }


MODEL = Model(
    name="mesh-buffer",
    summary="Buffer that the nodes of a mesh's bottleneck need together, B = RTT · λ (MESH Eq. (3)).",
    parameters=(
        Parameter(
            "radio", "preset or physical layer, as in mesh-exchange", DEFAULT_PRESET, Kind.TEXT
        ),
        Parameter("hops", "M: hops in the bottleneck, all at the preset's rate", 4, Kind.WHOLE),
        Parameter("rates_bps", "instead of hops: the rate of each hop", None, Kind.RATES),
        SEGMENT_PARAMETER,
        Parameter(
            "packet_bytes", "bytes per packet in λ; the segment if not given", None, Kind.SIZE
        ),
        Parameter("delay_s", "round trip outside the mesh", 0.0, Kind.DURATION),
        Parameter("rts", "RTS and CTS before each frame", "no", Kind.CHOICE, ("no", "yes")),
    ),
    outputs=(
        Output("buffer_packets", "B: packets, for all nodes of the bottleneck together"),
        Output("rtt_s", "RTT through the bottleneck without queues"),
        Output("packets_per_s", "λ: upper bound of the flow's rate"),
        Output("reason", "the equation with its numbers"),
    ),
    evaluate=_evaluate,
    example="hops=1..5",
    valid=(
        "An upper bound, for one TCP flow in congestion avoidance: λ counts neither frame overhead "
        "nor competing flows. With aggregation the exchanges are shorter than assumed."
    ),
)
