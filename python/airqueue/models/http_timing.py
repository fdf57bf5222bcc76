"""The constants and frame exchanges of the HTTP paper: Table 1, T_TCP_data and T_TCP_ack.

Any physical layer whose frames cost "preamble and header, then bits over a rate" fits; OFDM's whole
symbols are an option.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from airqueue.models.backoff import CW_MAX, CW_MIN, windows
from airqueue.models.catalogue import Kind, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, number, numbers
from airqueue.models.http_contention import ATTEMPTS

_NOISE_DIGITS = 9
"""Decimals of a number of symbols that count: what lies beyond is rounding, not another symbol."""


def _bounds_of(name: str) -> dict[str, Any]:
    """Return the range of a field, wide but such that no result can overflow."""
    if name.endswith("_bps"):
        return {"at_least": 1.0, "at_most": 1e15}
    if name.startswith("cw_"):
        return {"above": 3.0, "at_most": 1e9}
    if name == "slot_s":
        return {"at_least": 1e-9, "at_most": 10.0}
    if name.endswith("_s"):
        return {"at_least": 0.0, "at_most": 10.0}
    return {"at_least": 1.0 if name == "tcp_bits" else 0.0, "at_most": 1e9}


@dataclass(frozen=True, slots=True)
class HttpTiming:
    """One set of MAC and PHY constants (any field but the last two may be an array); 802.11b.

    ``rts_bits`` is 180 in the paper and 160 in IEEE 802.11; the paper's figures (0.1095 s) need 180.
    ``mac_bits`` is 34 bytes: the four-address header with FCS that ns-2 gives every frame.

    Raises ParameterError.

    >>> timing = HttpTiming()
    >>> float((timing.data_exchange_s * 1e6).round(3)), float((timing.ack_exchange_s * 1e6).round(3))
    (1831.091, 1103.818)
    """

    slot_s: Numbers = 20e-6
    """T_slot"""
    sifs_s: Numbers = 10e-6
    """T_SIFS"""
    difs_s: Numbers = 50e-6
    """T_DIFS"""
    preamble_s: Numbers = 144e-6
    """T_P, the PLCP preamble of every frame"""
    phy_header_s: Numbers = 48e-6
    """T_PHY, the PLCP header of every frame"""
    data_rate_bps: Numbers = 11e6
    """R_data"""
    tcp_ack_rate_bps: Numbers | None = None
    """Rate of the frames that carry TCP ACKs; None: as the data"""
    control_rate_bps: Numbers = 2e6
    """R_control, of RTS, CTS and ACK"""
    tcp_bits: Numbers = 8000.0
    """L_TCP, payload of a segment"""
    ip_header_bits: Numbers = 320.0
    """L_IPH, the headers of TCP and IP, all that a TCP ACK has"""
    mac_bits: Numbers = 272.0
    """L_MAC, MAC header and FCS"""
    rts_bits: Numbers = 180.0
    """L_RTS"""
    cts_bits: Numbers = 112.0
    """L_CTS"""
    ack_bits: Numbers = 112.0
    """L_ACK, the MAC's"""
    cw_min: Numbers = CW_MIN
    """CW_min, number of values"""
    cw_max: Numbers = CW_MAX
    """CW_max, number of values"""
    symbol_s: Numbers = 0.0
    """Length of an OFDM symbol to which frames are rounded up; 0: no rounding"""
    symbol_bits: Numbers = 22.0
    """Bits that OFDM adds to a frame (16 of SERVICE, 6 of tail); used with symbols only"""
    attempts: int = ATTEMPTS
    """m, transmissions before a packet is dropped"""
    rts_cts: bool = True
    """Whether RTS and CTS precede every frame, as in the paper"""

    def __post_init__(self) -> None:
        if self.tcp_ack_rate_bps is None:
            object.__setattr__(self, "tcp_ack_rate_bps", self.data_rate_bps)
        for name in _ARRAYS:
            bounds = _bounds_of(name)
            object.__setattr__(self, name, numbers(name, getattr(self, name), **bounds)[()])
        broadcast(**{name: np.asarray(getattr(self, name)) for name in _ARRAYS})
        windows(self.cw_min, self.cw_max)
        symbols = np.asarray(self.symbol_s)
        numbers("symbol_s", symbols[symbols > 0], at_least=1e-9)
        number("attempts", self.attempts, at_least=1, whole=True)

    def frame_s(self, bits: Numbers, rate_bps: Numbers) -> FloatArray:
        """Return the time on air of a frame of so many bits, preamble and header included."""
        size, rate, symbol = np.asarray(bits), np.asarray(rate_bps), np.asarray(self.symbol_s)
        per_symbol = rate * np.where(symbol > 0, symbol, 1.0)
        count = np.ceil(np.round((size + self.symbol_bits) / per_symbol, _NOISE_DIGITS))
        body = np.where(symbol > 0, count * symbol, size / rate)
        time: FloatArray = np.asarray(self.preamble_s) + np.asarray(self.phy_header_s) + body
        return time

    @property
    def ones(self) -> FloatArray:
        """Ones at the shape that all fields share, to check other parameters' shapes against."""
        values = (np.asarray(getattr(self, name)) for name in _ARRAYS)
        return np.ones(np.broadcast_shapes(*(value.shape for value in values)))

    @property
    def data_exchange_s(self) -> FloatArray:
        """T_TCP_data: DIFS to MAC ACK for a whole segment, without backoff."""
        return self._exchange_s(self.tcp_bits, self.data_rate_bps)

    @property
    def ack_exchange_s(self) -> FloatArray:
        """T_TCP_ack: DIFS to MAC ACK for a TCP ACK, without backoff."""
        rate = self.data_rate_bps if self.tcp_ack_rate_bps is None else self.tcp_ack_rate_bps
        return self._exchange_s(0.0, rate)

    @property
    def colliding_frame_s(self) -> FloatArray:
        """Time on air that a collision wastes: an RTS or, without RTS/CTS, the longer data frame."""
        if self.rts_cts:
            return self.frame_s(self.rts_bits, self.control_rate_bps)
        return self._packet_s(self.tcp_bits, self.data_rate_bps)

    @property
    def first_backoff_s(self) -> FloatArray:
        """The mean backoff of a first attempt, ``(CW_min - 1)/2 T_slot``."""
        time: FloatArray = (np.asarray(self.cw_min) - 1.0) / 2.0 * np.asarray(self.slot_s)
        return time

    @property
    def round_trip_s(self) -> FloatArray:
        """RTT of Eqs (14), (15): a segment and its ACK without contention."""
        time: FloatArray = self.data_exchange_s + self.ack_exchange_s + 2.0 * self.first_backoff_s
        return time

    def _exchange_s(self, payload_bits: Numbers, rate_bps: Numbers) -> FloatArray:
        """Return DIFS, RTS and CTS (where used), the frame and its MAC ACK, a SIFS between each."""
        control, sifs = self.control_rate_bps, np.asarray(self.sifs_s)
        time: FloatArray = np.asarray(self.difs_s) + self._packet_s(payload_bits, rate_bps)
        time = time + sifs + self.frame_s(self.ack_bits, control)
        if self.rts_cts:
            time = time + self.frame_s(self.rts_bits, control) + sifs
            time = time + self.frame_s(self.cts_bits, control) + sifs
        return time

    def _packet_s(self, payload_bits: Numbers, rate_bps: Numbers) -> FloatArray:
        headers = np.asarray(self.mac_bits) + np.asarray(self.ip_header_bits)
        return self.frame_s(headers + np.asarray(payload_bits), rate_bps)


_ARRAYS: Final = tuple(field.name for field in fields(HttpTiming)[:-2])

DOT11B: Final = HttpTiming()
"""802.11b as in Table 1."""

DOT11A: Final = HttpTiming(
    slot_s=9e-6,
    sifs_s=16e-6,
    difs_s=34e-6,
    preamble_s=16e-6,
    phy_header_s=4e-6,
    data_rate_bps=54e6,
    control_rate_bps=6e6,
    cw_min=16,
    symbol_s=4e-6,
)
"""802.11a: 54 Mb/s for both directions of TCP, control frames at 6 Mb/s, whole symbols. The paper
names these two rates and no other parameter; the rest is IEEE 802.11's."""

_PHYS: Final = {"802.11b": DOT11B, "802.11a": DOT11A}

TIMING_PARAMETERS: Final = (
    Parameter("phy", "constants: 802.11b is Table 1", "802.11b", Kind.CHOICE, tuple(_PHYS)),
    Parameter("data_rate_bps", "R_data; none: the PHY's", None, Kind.RATE),
    Parameter("tcp_ack_rate_bps", "rate of TCP ACKs; none: R_data", None, Kind.RATE),
    Parameter("control_rate_bps", "R_control; none: the PHY's", None, Kind.RATE),
    Parameter("segment_bytes", "payload of a TCP segment", 1000, Kind.SIZE),
    Parameter("cw_min", "values of the smallest window; none: the PHY's", None),
    Parameter("cw_max", "values of the largest window; none: the PHY's", None),
    Parameter("access", "what precedes each frame", "rts-cts", Kind.CHOICE, ("rts-cts", "basic")),
)
"""The parameters of every model that needs the timing; `timing_of` reads them."""


def timing_of(
    *,
    phy: str = "802.11b",
    segment_bytes: float = 1000,
    access: str = "rts-cts",
    **changes: float | None,
) -> HttpTiming:
    """Return the timing that `TIMING_PARAMETERS` describe; a change of None leaves the PHY's value.

    Raises ParameterError.

    >>> float(timing_of(phy="802.11a", cw_min=32).cw_min)
    32.0
    """
    base = _PHYS[choice("phy", phy, tuple(_PHYS))]
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if "data_rate_bps" in given:
        # Otherwise the TCP ACKs would keep the rate that they took from the PHY's data.
        given.setdefault("tcp_ack_rate_bps", None)
    rts_cts = choice("access", access, ("rts-cts", "basic")) == "rts-cts"
    return replace(base, tcp_bits=8.0 * segment_bytes, rts_cts=rts_cts, **given)
