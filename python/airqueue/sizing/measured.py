"""What `airqueue measure` found at an access point, as far as its queue's size depends on it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airqueue.models.buffer_rules import tooth_and_bound
from airqueue.models.errors import ParameterError
from airqueue.models.packets import TCP_IP_BYTES
from airqueue.sizing.ap import MUCH, ApQueue, queue_for
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.cell import ACK_EVERY, Air
from airqueue.sizing.settings import linux

RTT_S: Final = 0.100
"""If none is given: what CoDel's interval assumes of paths through the Internet (RFC 8289, 4.2)."""
CLOSE: Final = 0.10
"""A full queue that exceeds the delay target by no more than this share is left as it is."""
SAME_RATE: Final = 0.90
"""A measured rate of at least this share of the line's is the line's: framing takes some per cent."""

LONGEST_ACK: Final = 0.5
"""Time of an acknowledgement on the air, of that of a full packet, where only one size was measured.

At 54 Mb/s without A-MPDUs an exchange with 40 bytes takes 0.45 of one with 1500; at the slower rates
of 802.11b, a and g, and in A-MPDUs, less.
"""

_DIRECTION: Final = "down"
USABLE: Final = ("fifo", "isolated", "not_flat", "policer")
_BLUR: Final = 0.5
"""Packets of the resolution that are not half a burst (docs/method.md)."""


@dataclass(frozen=True, slots=True)
class MeasuredAir(Air):
    """The access point as it was measured: rate, kind of queue, what waits in it."""

    verdict: str
    """One of `USABLE`."""
    held_packets: float | None
    """What the full FIFO holds, in packets of this size, all stages of the device together."""
    held_bytes: float | None
    """The limit, with link-layer headers, where the device counts bytes."""
    delay_full_s: float | None
    """Of the flood, above the quiet path."""
    sparse_p50_s: float | None
    """Delay of a sparse flow beside the flood, above the quiet path: median."""
    sparse_p95_s: float | None
    times_s: Mapping[int, float]
    """Time that the full queue needs for a packet, by IP packet size."""
    bucket_bytes: float | None = None
    """What a shaper or a policer lets pass at once after a rest, at least; as Ethernet frames."""
    carried_bps: float | None = None
    """What transfers over TCP got of the air, where a diagnosis has measured this."""

    @property
    def tcp_bps(self) -> float:
        """What the air carries of TCP: less than of a flood, which nobody acknowledges."""
        return self.carried_bps or self.capacity_bps * tcp_share(self.times_s)

    def time_s(self, size_bytes: float) -> float | None:
        """Return the time of a packet of another size, on a line through the measured times.

        None if fewer than two sizes were measured, or if the line says a time of zero or less.
        """
        return _time_s(self.times_s, size_bytes)


def _time_s(times_s: Mapping[int, float], size_bytes: float) -> float | None:
    if len(times_s) < 2:
        return None
    small, large = min(times_s), max(times_s)
    per_byte = (times_s[large] - times_s[small]) / (large - small)
    found = times_s[small] + per_byte * (size_bytes - small)
    return found if found > 0 else None


def tcp_share(times_s: Mapping[int, float]) -> float:
    """Return what TCP gets of the rate of a flood through the air, where both send full packets.

    For every `ACK_EVERY` packets an acknowledgement takes the air, too. times_s: of a packet, by its
    size; with one size alone the acknowledgement counts as `LONGEST_ACK`.

    >>> tcp_share({1500: 400e-6})
    0.8
    >>> round(tcp_share({1500: 400e-6, 40: 100e-6}), 3)
    0.889
    """
    packet_s = times_s[max(times_s)]
    ack_s = _time_s(times_s, TCP_IP_BYTES) or LONGEST_ACK * packet_s
    return packet_s / (packet_s + min(ack_s, packet_s) / ACK_EVERY)


def says_what_to_set(result: Mapping[str, Any]) -> bool:
    """Return whether `measured_air` can read the result of a measurement."""
    known = result["verdict"] in USABLE and any(result["rate_pps"].values())
    return bool(known and result["direction"] == _DIRECTION)


def measured_air(result: Mapping[str, Any]) -> MeasuredAir:
    """Read what sizing needs from a result of `airqueue measure` that its schema accepts.

    Raises ParameterError if the measurement does not say what the queue is, or is of another queue.
    """
    verdict = result["verdict"]
    if result["direction"] != _DIRECTION:
        raise ParameterError(
            "FILE",
            "this is a measurement of the way up, whose queue is not the access point's; measure "
            "with --direction down",
        )
    times = {int(size): 1 / pps for size, pps in result["rate_pps"].items() if pps}
    if verdict not in USABLE or not times:
        says = next((e["says"] for e in result["evidence"]), "no session was usable.")
        raise ParameterError(
            "FILE",
            f"the measurement ended with the verdict {verdict}, and does not say what to set: "
            f"{says} Measure again, or give the radio's --rate",
        )
    size = max(times)
    held_packets, held_bytes = _held(result, size, 1 / times[size])
    sparse = [_median(result, f"sparse_loaded_{of}_s", size) for of in ("p50", "p95")]
    burst = _burst(result)
    return MeasuredAir(
        packet_bytes=float(size),
        capacity_bps=8 * size / times[size],
        aggregated_packets=burst,
        mpdus=burst,
        verdict=verdict,
        held_packets=held_packets,
        held_bytes=held_bytes,
        delay_full_s=result["delay_full_s"],
        sparse_p50_s=sparse[0],
        sparse_p95_s=sparse[1],
        bucket_bytes=(result.get("token_bucket") or {}).get("bytes"),
        times_s=times,
    )


def _held(
    result: Mapping[str, Any], size_bytes: int, rate_pps: float
) -> tuple[float | None, float | None]:
    """Return what one FIFO holds, in packets of this size, and in bytes if the device counts them."""
    if result["verdict"] != "fifo":
        return None, None
    capacity = result["capacity"]
    if capacity is None:
        waited_s = result["delay_full_s"]
        return (None if waited_s is None else waited_s * rate_pps), None
    if result["capacity_unit"] == "bytes":
        return capacity / (size_bytes + linux.ETHERNET_BYTES), capacity
    return capacity, None


def _median(result: Mapping[str, Any], name: str, size_bytes: int) -> float | None:
    """Return the median of a column over the sessions with packets of one size, if any has it."""
    rows = [
        row for row in result["sessions"] if row["accepted"] and row["size_bytes"] == size_bytes
    ]
    known = [value for value in (row.get(name) for row in rows) if value is not None]
    return statistics.median(known) if known else None


def _burst(result: Mapping[str, Any]) -> int:
    """Return how many packets left the FIFO at a time; 0 if one by one, or if that is not known."""
    resolution = result["resolution"]
    burst = 0 if resolution is None else math.ceil(2 * (resolution["packets"] - _BLUR))
    return burst if burst > 1 else 0


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """What to do about a measured queue: leave it, limit it, queue by flow, or shape the line."""

    do: str
    """leave, limit, flow-queueing or shape."""
    sized: ApQueue[MeasuredAir]
    utilisation_now: float | None
    """Least use of the air with the FIFO as it is; None for other queues."""
    shaped_bps: float | None = None
    """Rate of the line or the policer, where the answer is a shaper."""

    @property
    def air(self) -> MeasuredAir:
        """The access point as it was measured."""
        return self.sized.air


def measured_plan(air: MeasuredAir, asked: Asked) -> MeasuredPlan:
    """Return the one recommendation for a measured queue. Raises ParameterError.

    A line that is not faster than what was measured is the bottleneck, and a policer is one: both
    want a shaper before them. Queues of each flow's own are left as they are, others if a sparse flow
    waits for no longer than the target. One FIFO is left if its full delay meets the target and a
    longer queue would use the air hardly better; otherwise `airqueue.sizing.ap` says what to set.
    Unless the user knows of a faster line, tokens that a rest saves are those of the line's shaper,
    since no radio saves any: what is to be set is then a shaper before that one.
    """
    sized = queue_for(
        air, asked.rtt_s, asked.flows, delay_target_s=asked.delay_target_s, control=asked.control
    )
    if asked.line_bps is not None and air.capacity_bps >= SAME_RATE * asked.line_bps:
        return MeasuredPlan("shape", sized, None, asked.line_bps)
    if air.verdict == "policer":
        return MeasuredPlan("shape", sized, None, air.capacity_bps)
    plan = _for_queue(sized, asked)
    if plan.do != "leave" and air.bucket_bytes is not None and asked.line_bps is None:
        return MeasuredPlan("shape", sized, None, air.capacity_bps)
    return plan


def _for_queue(sized: ApQueue[MeasuredAir], asked: Asked) -> MeasuredPlan:
    """Return what to do about the queue if it is the access point's. Raises ParameterError."""
    air = sized.air
    if air.verdict == "isolated":
        return MeasuredPlan("leave", sized, None)
    longest_s = asked.delay_target_s * (1 + CLOSE)
    if air.verdict == "not_flat":
        felt_s = air.sparse_p95_s if air.sparse_p95_s is not None else air.delay_full_s
        short = felt_s is not None and felt_s <= longest_s
        return MeasuredPlan("leave" if short else "flow-queueing", sized, None)
    if air.held_packets is None:
        raise ParameterError(
            "FILE",
            "the measurement has neither a capacity nor the delay of the full queue; measure again, "
            "without interrupting",
        )
    buffer = air.held_packets * air.packet_bytes
    _, now = tooth_and_bound(buffer, air.capacity_bps, asked.rtt_s, asked.flows, sized.control)
    if air.held_packets * air.packet_s <= longest_s and (
        sized.utilisation_at_least - float(now) <= MUCH
    ):
        return MeasuredPlan("leave", sized, float(now))
    return MeasuredPlan("flow-queueing" if sized.torn else "limit", sized, float(now))
