"""Throughput of n saturated stations from their attempt probability: three kinds of slot.

Between two decisions of the stations the medium is idle for one slot, carries one frame, or carries a
collision. Each kind has its length, and a renewal argument gives the shares of time. G. Bianchi,
*Performance analysis of the IEEE 802.11 distributed coordination function*, IEEE JSAC 18 (2000),
Eqs. (10)-(17).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from airqueue.models.checks import (
    FloatArray,
    Numbers,
    broadcast,
    choice,
    finished,
    numbers,
)
from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.fixed_point import spared
from airqueue.models.logarithms import xlog1py

ACCESS: Final = ("basic", "rts-cts")


@dataclass(frozen=True, slots=True)
class SlotTimes:
    """Duration of each kind of slot, including the interframe space at its end."""

    idle_s: Numbers
    """σ, a backoff slot without any transmission."""
    success_s: Numbers
    """T_s, an exchange with its acknowledgement."""
    collision_s: Numbers
    """T_c, a collision as seen by the stations outside the collision."""


@dataclass(frozen=True, slots=True)
class AccessTimings:
    """The frames and gaps of one exchange; the defaults are those of Bianchi's Table II (FHSS).

    Lengths are without the PHY's preamble and header, whose duration ``phy_header_s`` precedes every
    frame. Control frames (RTS, CTS, ACK) go at ``control_rate_bps``.
    """

    payload_bits: Numbers = 8184.0
    """E[P], mean payload, counted as throughput."""
    mac_header_bits: Numbers = 272.0
    phy_header_s: Numbers = 128e-6
    rts_bits: Numbers = 160.0
    cts_bits: Numbers = 112.0
    ack_bits: Numbers = 112.0
    data_rate_bps: Numbers = 1e6
    control_rate_bps: Numbers = 1e6
    slot_s: Numbers = 50e-6
    sifs_s: Numbers = 28e-6
    difs_s: Numbers = 128e-6
    propagation_s: Numbers = 1e-6
    """δ, after each frame."""
    collision_payload_bits: Numbers | None = None
    """E[P*], mean payload of the longest frame in a collision; None: all frames are equal."""

    def slot_times(self, access: str = "basic") -> SlotTimes:
        """Return the lengths of the slots with basic or RTS/CTS access, Bianchi's Eqs. (14), (17).

            basic:    T_s = H + E[P] + SIFS + δ + ACK + DIFS + δ      T_c = H + E[P*] + DIFS + δ
            rts-cts:  T_s = RTS + SIFS + δ + CTS + SIFS + δ + (T_s of basic)
                      T_c = RTS + DIFS + δ

        Meanwhile the colliding stations wait for their timeout, which is not longer than the wait of
        the others. Raises ParameterError for a negative length, a rate that is not positive, or
        E[P*] below E[P].

        >>> times = AccessTimings().slot_times("rts-cts")
        >>> round(times.success_s * 1e6), round(times.collision_s * 1e6)
        (9568, 417)
        """
        choice("access", access, ACCESS)
        x = self._checked()
        with np.errstate(over="ignore"):
            header_s = x["phy_header_s"] + x["mac_header_bits"] / x["data_rate_bps"]
            rts_s, cts_s, ack_s = (
                x["phy_header_s"] + x[frame] / x["control_rate_bps"]
                for frame in ("rts_bits", "cts_bits", "ack_bits")
            )
            sifs_s = x["sifs_s"] + x["propagation_s"]
            difs_s = x["difs_s"] + x["propagation_s"]
            success_s = header_s + x["payload_bits"] / x["data_rate_bps"] + sifs_s + ack_s + difs_s
            collision_s = header_s + x["collision_payload_bits"] / x["data_rate_bps"] + difs_s
            if access == "rts-cts":
                success_s = rts_s + sifs_s + cts_s + sifs_s + success_s
                collision_s = rts_s + difs_s
        return SlotTimes(
            finished("slot_s", x["slot_s"]),
            finished("success_s", success_s),
            finished("collision_s", collision_s),
        )

    def _checked(self) -> dict[str, FloatArray]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if values["collision_payload_bits"] is None:
            values["collision_payload_bits"] = values["payload_bits"]
        positive = ("payload_bits", "data_rate_bps", "control_rate_bps", "slot_s")
        checked = {
            name: numbers(name, value, above=0)
            if name in positive
            else numbers(name, value, at_least=0)
            for name, value in values.items()
        }
        checked = dict(zip(checked, broadcast(**checked), strict=True))
        if np.any(checked["collision_payload_bits"] < checked["payload_bits"]):
            raise ParameterError(
                "collision_payload_bits",
                "collision_payload_bits is less than payload_bits; the longest frame of a collision "
                "cannot be shorter on average than one frame",
            )
        return checked


@dataclass(frozen=True, slots=True)
class Saturation:
    """Shares of slots and of time, and throughput; each field has the parameters' shape."""

    transmission_probability: FloatArray
    """P_tr, the probability that at least one station transmits in a slot."""
    success_probability: FloatArray
    """P_s, the probability that a transmission (of one or more stations) succeeds."""
    mean_slot_s: FloatArray
    """Mean length of a slot over the three kinds."""
    idle_share: FloatArray
    """Share of the time in idle slots."""
    success_share: FloatArray
    """Share of the time in successful exchanges, headers and gaps included."""
    collision_share: FloatArray
    """Share of the time in collisions."""
    packets_per_s: FloatArray
    """Packets delivered per second, all stations together."""
    throughput_bps: FloatArray
    """Payload delivered, all stations together."""
    stations: FloatArray
    """n, number of stations."""

    def mean_access_delay_s(self) -> FloatArray:
        """Return n L/S, the mean time between two deliveries of one station.

        Little's law for the packets at the heads of the n queues: without retry limit the result is
        the mean time from reaching the head to the acknowledgement. With a retry limit the result
        includes the time of packets given up before; times ``1 - drop probability`` it is the mean
        time that a packet, delivered or not, spends at the head.

        Raises ConvergenceError where nothing gets through.
        """
        if np.any(self.packets_per_s == 0):
            raise ConvergenceError(
                "no packet gets through, so there is no mean access delay; use fewer stations or "
                "larger contention windows"
            )
        with np.errstate(over="ignore"):
            return finished("mean access delay", self.stations / self.packets_per_s)


def saturation(
    n: Numbers, attempt_probability: Numbers, times: SlotTimes, payload_bits: Numbers
) -> Saturation:
    """Return the throughput of n stations that each attempt with probability τ in a slot.

        P_tr = 1 - (1-τ)^n          P_s = n τ (1-τ)^(n-1) / P_tr
        S = P_s P_tr E[P] / [ (1-P_tr) σ + P_tr P_s T_s + P_tr (1-P_s) T_c ]

    n: saturated stations, at least 1, may be fractional. attempt_probability: τ, above 0. times: σ,
    T_s, T_c, all above 0. payload_bits: E[P]. Valid where all stations hear each other and only
    collisions lose frames. S here is in bit/s; over the data rate it is Bianchi's share of time.

    Raises ParameterError.

    >>> one = saturation(1, 2 / 33, SlotTimes(50e-6, 8982e-6, 8713e-6), 8184)
    >>> float(one.throughput_bps.round()), float(one.collision_share)
    (838782.0, 0.0)
    """
    stations, tau, idle_s, success_s, collision_s, payload = broadcast(
        n=numbers("n", n, at_least=1),
        attempt_probability=numbers("attempt_probability", attempt_probability, above=0, at_most=1),
        idle_s=numbers("idle_s", times.idle_s, above=0),
        success_s=numbers("success_s", times.success_s, above=0),
        collision_s=numbers("collision_s", times.collision_s, above=0),
        payload_bits=numbers("payload_bits", payload_bits, above=0),
    )
    with np.errstate(all="ignore"):
        busy = -np.expm1(xlog1py(stations, -tau))
        # With many stations P_tr tends to 1; rounding must not make it less than P_s.
        success = np.minimum(stations * tau * spared(tau, stations), busy)
        idle_time = spared(tau, stations + 1.0) * idle_s
        success_time = success * success_s
        collision_time = (busy - success) * collision_s
        mean_slot_s = idle_time + success_time + collision_time
        packets_per_s = success / mean_slot_s
        return Saturation(
            transmission_probability=finished("P_tr", busy),
            success_probability=finished("P_s", success / busy),
            mean_slot_s=finished("mean slot", mean_slot_s),
            idle_share=finished("idle share", idle_time / mean_slot_s),
            success_share=finished("success share", success_time / mean_slot_s),
            collision_share=finished("collision share", collision_time / mean_slot_s),
            packets_per_s=finished("packets per second", packets_per_s),
            throughput_bps=finished("throughput", packets_per_s * payload),
            stations=finished("n", stations),
        )
