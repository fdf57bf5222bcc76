"""MAC and PHY inputs of the HTTP paper's equations: T_TCP_data, T_TCP_ack, slots and windows.

From the paper's constants (`timing_from`), or for any physical layer with the durations of
`airqueue.models.airtime` (`timing_for`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypedDict, Unpack

import numpy as np

from airqueue.models.airtime import (
    Exchange,
    checked_rate,
    exchange,
    frame_s,
    mac_overhead_bytes,
    response_rate_bps,
    rts_s,
)
from airqueue.models.backoff import windows
from airqueue.models.catalogue import Kind, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.http_constants import CONSTANTS_11A, CONSTANTS_11B, HttpConstants
from airqueue.models.http_contention import ATTEMPTS
from airqueue.models.packets import TCP_IP_BYTES
from airqueue.models.phy_names import PHY_HELP
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import Phy

SEGMENT_BYTES: Final = 1000
"""Payload of a segment in the paper."""
ACCESSES: Final = ("rts-cts", "basic")


@dataclass(frozen=True, slots=True)
class HttpTiming:
    """Exchanges, slots and windows, from `timing_from` or `timing_for`; any may be an array.

    >>> timing = DOT11B
    >>> float((timing.data_exchange_s * 1e6).round(3)), float((timing.ack_exchange_s * 1e6).round(3))
    (1831.091, 1103.818)
    """

    data: Exchange
    """DIFS to MAC ACK for a whole segment, without backoff."""
    ack: Exchange
    """DIFS to MAC ACK for a TCP ACK, without backoff."""
    bare_exchange_s: Numbers
    """DIFS to MAC ACK for TCP and IP headers without a MAC header or RTS/CTS, as Eq. (13) has it."""
    collision_s: Numbers
    """DIFS, the longest frame that collides (RTS or, without RTS/CTS, data or TCP ACK), SIFS."""
    slot_s: Numbers
    """T_slot"""
    tcp_bits: Numbers
    """L_TCP, payload of a segment"""
    data_rate_bps: Numbers
    """R_data"""
    cw_min: Numbers
    """CWmin, the largest value of the first backoff"""
    cw_max: Numbers
    """CWmax, the largest value of any backoff"""
    attempts: int = ATTEMPTS
    """m, transmissions before a packet is dropped"""
    aggregates: bool = False
    """Whether stations of this layer normally send several packets per access (n, ac, ax)."""

    @property
    def ones(self) -> FloatArray:
        """Ones at the common shape of all fields, to check the shapes of other parameters."""
        values = [np.asarray(getattr(self, field.name)) for field in fields(self)[2:]]
        values += [self.data_exchange_s, self.ack_exchange_s]
        return np.ones(np.broadcast_shapes(*(np.shape(value) for value in values)))

    @property
    def data_exchange_s(self) -> FloatArray:
        """T_TCP_data: DIFS to MAC ACK for a whole segment, without backoff."""
        return self.data.total_s

    @property
    def ack_exchange_s(self) -> FloatArray:
        """T_TCP_ack: DIFS to MAC ACK for a TCP ACK, without backoff."""
        return self.ack.total_s

    @property
    def first_backoff_s(self) -> FloatArray:
        """The mean backoff of a first attempt, ``CWmin/2 T_slot``."""
        time: FloatArray = np.asarray(self.cw_min) / 2.0 * np.asarray(self.slot_s)
        return time

    @property
    def round_trip_s(self) -> FloatArray:
        """RTT of Eqs (14), (15): a segment and its ACK without contention."""
        time: FloatArray = self.data_exchange_s + self.ack_exchange_s + 2.0 * self.first_backoff_s
        return time

    @property
    def caution(self) -> str | None:
        """Caveat about the layer: that it would aggregate; None if it would not."""
        if not self.aggregates:
            return None
        return "one frame per access is modelled; with aggregation the real goodput is higher"


def timing_from(constants: HttpConstants) -> HttpTiming:
    """Return the exchanges of the paper: (DIFS, [RTS, CTS,] frame, ACK) with a SIFS between each.

    >>> timing = timing_from(HttpConstants(rts_bits=160))
    >>> float((timing.data_exchange_s * 1e6).round(3))
    1821.091
    """
    c = constants
    sifs, difs, control = np.asarray(c.sifs_s), np.asarray(c.difs_s), c.control_rate_bps
    rts, cts, mac_ack = (c.frame_s(bits, control) for bits in (c.rts_bits, c.cts_bits, c.ack_bits))
    protection = rts + sifs + cts + sifs if c.rts_cts else np.zeros(())
    headers = np.asarray(c.mac_bits) + np.asarray(c.ip_header_bits)
    ack_rate = c.data_rate_bps if c.tcp_ack_rate_bps is None else c.tcp_ack_rate_bps
    data_frame = c.frame_s(headers + np.asarray(c.tcp_bits), c.data_rate_bps)
    ack_frame = c.frame_s(headers, ack_rate)
    data, ack = (
        Exchange(
            *broadcast(
                difs_s=difs,
                backoff_s=np.zeros(()),
                protection_s=protection,
                frame_s=frame,
                response_s=sifs + mac_ack,
            )
        )
        for frame in (data_frame, ack_frame)
    )
    lost = rts if c.rts_cts else np.maximum(data_frame, ack_frame)
    return HttpTiming(
        data,
        ack,
        bare_exchange_s=difs + sifs + c.frame_s(c.ip_header_bits, c.data_rate_bps) + mac_ack,
        collision_s=difs + lost + sifs,
        slot_s=c.slot_s,
        tcp_bits=c.tcp_bits,
        data_rate_bps=c.data_rate_bps,
        cw_min=c.cw_min,
        cw_max=c.cw_max,
        attempts=c.attempts,
    )


def timing_for(
    phy: Phy,
    data_rate_bps: Numbers | None = None,
    control_rate_bps: Numbers | None = None,
    *,
    tcp_ack_rate_bps: Numbers | None = None,
    segment_bytes: Numbers = SEGMENT_BYTES,
    access: str = "rts-cts",
    cw_min: Numbers | None = None,
    cw_max: Numbers | None = None,
    attempts: int = ATTEMPTS,
) -> HttpTiming:
    """Return the exchanges of a physical layer, with frame durations by `airtime.frame_s`.

    data_rate_bps: the layer's highest if None. tcp_ack_rate_bps: of the frames that carry TCP ACKs;
    as the data if None. control_rate_bps: of RTS, CTS and ACK, by the rule of
    `airtime.control_rate_bps` for each of the two if None. segment_bytes: payload of a segment, to
    which come 40 bytes of TCP and IP and those of `airtime.mac_overhead_bytes`. access: "rts-cts" or
    "basic". cw_min, cw_max: the standard's CWmin and CWmax, the layer's if None. attempts: m.

    Valid for one frame per access: n and later aggregate in practice and carry more. Raises
    ParameterError, also for a rate that the layer does not have.

    >>> timing = timing_for(layer_named("g"), segment_bytes=1460, access="basic")
    >>> float((timing.data_exchange_s * 1e6).round(3)), float((timing.ack_exchange_s * 1e6).round(3))
    (326.0, 110.0)
    """
    protection = "rts" if choice("access", access, ACCESSES) == "rts-cts" else "none"
    headers = mac_overhead_bytes(phy) + TCP_IP_BYTES
    most = phy.max_psdu_bytes - headers
    highest = phy.rates_bps[-1]
    rate = checked_rate(phy, "data_rate_bps", _either(data_rate_bps, highest))
    ack_rate = checked_rate(phy, "tcp_ack_rate_bps", _either(tcp_ack_rate_bps, rate))
    segment = numbers("segment_bytes", segment_bytes, at_least=1, at_most=most)
    low = numbers("cw_min", _either(cw_min, phy.cw_min), above=2, at_most=1e9)
    high = numbers("cw_max", _either(cw_max, phy.cw_max), above=2, at_most=1e9)
    windows(low, high)
    broadcast(
        data_rate_bps=rate,
        tcp_ack_rate_bps=ack_rate,
        control_rate_bps=numbers("control_rate_bps", _either(control_rate_bps, highest)),
        segment_bytes=segment,
        cw_min=low,
        cw_max=high,
    )
    # R_control is used for RTS, CTS and ACK: RTS precedes every frame, not to protect from 802.11b.
    control = [
        response_rate_bps(phy, r, {"control_rate_bps": control_rate_bps}) for r in (rate, ack_rate)
    ]
    data = _exchange(phy, protection, headers + segment, rate, control[0])
    ack = _exchange(phy, protection, headers, ack_rate, control[1])
    lost = [data.frame_s, ack.frame_s]
    if protection == "rts":
        lost = [rts_s(phy, control_bps) for control_bps in control]
    return HttpTiming(
        data,
        ack,
        bare_exchange_s=phy.difs_s + frame_s(phy, TCP_IP_BYTES, rate) + data.response_s,
        collision_s=phy.difs_s + np.maximum(*lost) + phy.sifs_s,
        slot_s=phy.slot_s,
        tcp_bits=8.0 * segment,
        data_rate_bps=rate,
        cw_min=low,
        cw_max=high,
        attempts=int(number("attempts", attempts, at_least=1, whole=True)),
        aggregates=phy.max_mpdus > 1,
    )


def _exchange(
    phy: Phy, protection: str, mpdu_bytes: Numbers, rate_bps: Numbers, control_bps: Numbers
) -> Exchange:
    return exchange(
        phy,
        mpdu_bytes,
        rate_bps,
        control_rate_bps=control_bps,
        backoff_slots=0.0,
        protection=protection,
        protection_rate_bps=control_bps,
    )


def _either(given: Numbers | None, otherwise: Numbers) -> Numbers:
    return otherwise if given is None else given


DOT11B: Final = timing_from(CONSTANTS_11B)
"""802.11b as in Table 1."""

DOT11A: Final = timing_from(CONSTANTS_11A)
"""802.11a with the rates that the paper names."""

_PAPER: Final = {"802.11b": CONSTANTS_11B, "802.11a": CONSTANTS_11A}

TIMING_PARAMETERS: Final = (
    Parameter(
        "phy",
        f"{' or '.join(_PAPER)}, the paper's constants (Table 1); or as it is: {PHY_HELP}",
        "802.11b",
        Kind.TEXT,
    ),
    Parameter("data_rate_bps", "R_data; none: the paper's or the layer's highest", None, Kind.RATE),
    Parameter("tcp_ack_rate_bps", "rate of TCP ACKs; none: R_data", None, Kind.RATE),
    Parameter(
        "control_rate_bps",
        "R_control; none: the paper's or by the standard's rule",
        None,
        Kind.RATE,
    ),
    Parameter("segment_bytes", "payload of a TCP segment", SEGMENT_BYTES, Kind.SIZE),
    Parameter("cw_min", "CWmin, the largest value of the first backoff; none: the PHY's", None),
    Parameter("cw_max", "CWmax, the largest value of any backoff; none: the PHY's", None),
    Parameter("access", "what precedes each frame", "rts-cts", Kind.CHOICE, ACCESSES),
)
"""The parameters of every model that needs the timing; `timing_of` reads them."""

CAUTION: Final = Output("caution", "known errors and omissions of the result")
"""The output of every model on this timing: `HttpTiming.caution`, and the model's own."""

ONE_FRAME: Final = (
    "One frame per access: with aggregation (802.11n and later) the real goodput is higher."
)
"""Range of validity of every model on this timing."""


class TimingChanges(TypedDict, total=False):
    """The `TIMING_PARAMETERS` that change a value of the PHY; None means not given."""

    data_rate_bps: Numbers | None
    tcp_ack_rate_bps: Numbers | None
    control_rate_bps: Numbers | None
    cw_min: Numbers | None
    cw_max: Numbers | None


def timing_of(
    *,
    phy: str = "802.11b",
    segment_bytes: float = SEGMENT_BYTES,
    access: str = "rts-cts",
    **changes: Unpack[TimingChanges],
) -> HttpTiming:
    """Return the timing that `TIMING_PARAMETERS` describe; a change of None leaves the PHY's value.

    phy: "802.11b" or "802.11a" for the paper's constants, or a name of `airqueue.models.phy_names`.

    Raises ParameterError.

    >>> float(timing_of(phy="802.11a", cw_min=31).cw_min), float(timing_of(phy="g").slot_s)
    (31.0, 9e-06)
    """
    if phy not in _PAPER:
        return timing_for(_layer(phy), segment_bytes=segment_bytes, access=access, **changes)
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if "data_rate_bps" in given:
        # Otherwise the TCP ACKs would keep the rate that they took from the PHY's data.
        given.setdefault("tcp_ack_rate_bps", None)
    rts_cts = choice("access", access, ACCESSES) == "rts-cts"
    bits = 8.0 * number("segment_bytes", segment_bytes, at_least=1, at_most=1e9 / 8)
    return timing_from(replace(_PAPER[phy], tcp_bits=bits, rts_cts=rts_cts, **given))


def _layer(name: str) -> Phy:
    try:
        return layer_named(name)
    except ParameterError as error:
        if error.parameter != "phy":  # The value of an option, such as an unknown width.
            raise
        paper = " or ".join(_PAPER)
        raise ParameterError("phy", f"{error}; or {paper}, the paper's constants") from error
