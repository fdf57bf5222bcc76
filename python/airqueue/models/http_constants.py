"""The constants of the HTTP paper, Table 1, and its statements on 802.11a.

Frames cost "preamble and header, then bits over a rate"; OFDM's whole symbols are an option. The
details of real layers (whole microseconds, signal extensions, HT and later) are in
`airqueue.models.airtime`; `airqueue.models.http_timing` makes the models' exchanges of either.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from airqueue.models.backoff import CW_MAX, CW_MIN, windows
from airqueue.models.checks import FloatArray, Numbers, broadcast, number, numbers
from airqueue.models.http_contention import ATTEMPTS
from airqueue.models.phys import ofdm

_NOISE_DIGITS = 9
"""Decimals of a number of symbols that count: smaller differences are rounding, not a symbol."""
_OFDM: Final = ofdm()
_OFDM_MODE: Final = _OFDM.modes[-1]


def _bounds_of(name: str) -> dict[str, Any]:
    """Return the range of a field, wide, but without overflow of any result."""
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
class HttpConstants:
    """One set of MAC and PHY constants (any field but the last two may be an array); 802.11b.

    ``rts_bits`` is 180 in the paper and 160 in IEEE 802.11; the paper's figures (0.1095 s) need 180.
    ``mac_bits`` is 34 bytes: the four-address header with FCS that ns-2 gives every frame.

    Raises ParameterError.

    >>> constants = HttpConstants()
    >>> float(constants.frame_s(constants.rts_bits, constants.control_rate_bps))
    0.000282
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
    """CWmin, the largest value of the first backoff"""
    cw_max: Numbers = CW_MAX
    """CW_max, number of values"""
    symbol_s: Numbers = 0.0
    """Length of an OFDM symbol to which frames are rounded up; 0: no rounding"""
    symbol_bits: Numbers = _OFDM_MODE.extra_bits
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
        """Return the time on air of a frame of this length, with preamble and header."""
        size, rate, symbol = np.asarray(bits), np.asarray(rate_bps), np.asarray(self.symbol_s)
        per_symbol = rate * np.where(symbol > 0, symbol, 1.0)
        count = np.ceil(np.round((size + self.symbol_bits) / per_symbol, _NOISE_DIGITS))
        body = np.where(symbol > 0, count * symbol, size / rate)
        time: FloatArray = np.asarray(self.preamble_s) + np.asarray(self.phy_header_s) + body
        return time


_ARRAYS: Final = tuple(field.name for field in fields(HttpConstants)[:-2])

CONSTANTS_11B: Final = HttpConstants()
"""802.11b as in Table 1."""

CONSTANTS_11A: Final = HttpConstants(
    slot_s=_OFDM.slot_s,
    sifs_s=_OFDM.sifs_s,
    difs_s=_OFDM.difs_s,
    preamble_s=(_OFDM_MODE.preamble_ns - _OFDM_MODE.symbol_ns) / 1e9,
    phy_header_s=_OFDM_MODE.symbol_ns / 1e9,
    data_rate_bps=54e6,
    control_rate_bps=6e6,
    cw_min=_OFDM.cw_min,
    symbol_s=_OFDM_MODE.symbol_ns / 1e9,
)
"""802.11a: 54 Mb/s for both directions of TCP, control frames at 6 Mb/s, whole symbols. The paper
names these two rates and no other parameter; the rest is IEEE 802.11's. OFDM's header, the SIGNAL
field, is one symbol (17.3.4)."""
