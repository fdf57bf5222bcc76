"""Time that a mesh link takes for a TCP segment and for its acknowledgement (MESH section 4.1).

    T_d-DATA = T_BO + DIFS + T_DATA + SIFS + T_ACK
    T_d-ACK  = T_BO + DIFS + T_TCP-ACK + SIFS + T_ACK

with the mean backoff ``T_BO`` of the smallest window, and RTS, SIFS, CTS, SIFS in front if they are
used. The paper's numbers come from several kinds of radio; each preset names its own.
All durations come from `airqueue.models.airtime`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from airqueue.models.airtime import (
    FCS_BYTES,
    FOUR_ADDRESS_QOS_HEADER_BYTES,
    LLC_SNAP_BYTES,
    NS2_OVERHEAD_BYTES,
    control_rate_bps,
    exchange_s,
)
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, finished, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.packets import SEGMENT_BYTES, SEGMENT_PARAMETER, TCP_IP_BYTES
from airqueue.models.phy_names import phy
from airqueue.models.phys import Phy

MESH_CONTROL_BYTES: Final = 6
MESH_OVERHEAD_BYTES: Final = (
    FOUR_ADDRESS_QOS_HEADER_BYTES + MESH_CONTROL_BYTES + LLC_SNAP_BYTES + FCS_BYTES
)
"""Overhead that an 802.11s station adds to an IP packet."""
MAX_SEGMENT_BYTES: Final = 9000


@dataclass(frozen=True, slots=True)
class Preset:
    """Radios of a mesh: physical layer, rate and overhead of an IP packet."""

    phy: Phy
    overhead_bytes: int
    """MAC header, FCS, LLC/SNAP."""
    summary: str

    @property
    def rate_bps(self) -> float:
        """Default data rate: the highest."""
        return self.phy.rates_bps[-1]


@dataclass(frozen=True, slots=True)
class MeshExchange:
    """Times on one hop; each field has the shape of the parameters."""

    data_s: FloatArray
    """T_d-DATA: backoff, segment, MAC acknowledgement."""
    ack_s: FloatArray
    """T_d-ACK: backoff, TCP acknowledgement, MAC acknowledgement."""

    @property
    def round_trip_s(self) -> FloatArray:
        """T_d-DATA + T_d-ACK: time that the hop adds to the RTT."""
        return self.data_s + self.ack_s


def unrounded(layer: Phy) -> Phy:
    """Return 802.11b without the rounding of durations up to 1 µs, as ns-2 computes them."""
    return replace(layer, radio=layer.radio.unrounded())


def _of_paper(layer: Phy, basic_mbps: tuple[float, ...], summary: str) -> Preset:
    basic = tuple(mbps * 1e6 for mbps in basic_mbps)
    return Preset(replace(layer, basic_rates_bps=basic), NS2_OVERHEAD_BYTES, summary)


def _of_mesh(layer: str, summary: str) -> Preset:
    return Preset(phy(layer), MESH_OVERHEAD_BYTES, summary)


_B_LONG: Final = unrounded(phy("b-long"))
_B_SHORT: Final = unrounded(phy("b-short"))
_G_LONG_SLOT: Final = phy("g-long-slot")
_N_65: Final = phy("n")

PRESETS: Final[Mapping[str, Preset]] = {
    "b-ack-11": _of_paper(
        _B_LONG, (1, 2, 5.5, 11), "802.11b as in ns-2, ACK at the data rate: 15 ms, 2.7 ms, B = 10"
    ),
    "b-ack-2": _of_paper(_B_LONG, (1, 2), "802.11b, ACK at 2 Mb/s or less"),
    "b-ack-1": _of_paper(_B_LONG, (1,), "802.11b, ACK at 1 Mb/s"),
    "b-short-ack-11": _of_paper(
        _B_SHORT, (1, 2, 5.5, 11), "802.11b, short preamble, ACK at the data rate"
    ),
    "b-short-ack-2": _of_paper(_B_SHORT, (1, 2), "802.11b, short preamble, ACK at 2 Mb/s or less"),
    "g-long-slot-ack-6": _of_paper(
        _G_LONG_SLOT, (6,), "802.11g beside 802.11b, slot 20 µs, ACK at 6 Mb/s: B = 15"
    ),
    "g-long-slot-ack-24": _of_paper(
        _G_LONG_SLOT, (6, 12, 24), "802.11g beside 802.11b, slot 20 µs, ACK up to 24 Mb/s"
    ),
    "a-ack-6": _of_paper(phy("a"), (6,), "802.11a, ACK at 6 Mb/s"),
    "a-ack-24": _of_paper(phy("a"), (6, 12, 24), "802.11a, ACK up to 24 Mb/s"),
    "n-65-ack-6": _of_paper(_N_65, (6,), "802.11n, 65 Mb/s, ACK at 6 Mb/s: the testbed's B = 14"),
    "n-65-ack-24": _of_paper(_N_65, (6, 12, 24), "802.11n, 65 Mb/s, ACK up to 24 Mb/s"),
    "n-600": _of_paper(
        phy("n-40mhz-4ss-sgi"), (6, 12, 24), "802.11n, 4 streams, 600 Mb/s, ACK at 24 Mb/s: B = 85"
    ),
    "mesh-n": _of_mesh("n-40mhz-2ss-sgi", "802.11s on 802.11n, 2 streams, 40 MHz, 300 Mb/s"),
    "mesh-ac": _of_mesh("ac-80mhz-2ss-sgi", "802.11s on 802.11ac, 2 streams, 80 MHz, 867 Mb/s"),
    "mesh-ax": _of_mesh("ax-80mhz-2ss", "802.11s on 802.11ax, 2 streams, 80 MHz, 1201 Mb/s"),
}
"""Presets by name. Those named after an ACK rate have 34 bytes of MAC header and FCS, as ns-2."""

DEFAULT_PRESET: Final = "b-ack-11"


def preset(name: str) -> Preset:
    """Return a preset, or with 802.11s frames any layer that `airqueue.models.phy_names.phy` knows.

    Raises ParameterError for other names.

    >>> preset("n-600").rate_bps
    600000000.0
    >>> preset("ax-160mhz-4ss").overhead_bytes
    50
    """
    if name in PRESETS:
        return PRESETS[name]
    try:
        return _of_mesh(name, f"802.11s on {name}")
    except ParameterError as error:
        raise ParameterError(
            "radio",
            f"radio is {name!r}; it must be one of {', '.join(PRESETS)}, or a physical layer: "
            f"{error}",
        ) from error


def mesh_exchange(
    radio: Preset | str = DEFAULT_PRESET,
    rate_bps: Numbers | None = None,
    segment_bytes: Numbers = SEGMENT_BYTES,
    *,
    rts: bool = False,
) -> MeshExchange:
    """Return T_d-DATA and T_d-ACK on one hop at a data rate (the preset's highest if None).

    radio: a preset or its name; for other timing, ``dataclasses.replace`` the preset's ``phy`` (slot,
    SIFS, window, basic rates). segment_bytes: TCP payload of a packet. rts: RTS and CTS before both
    frames. Valid for packets that arrive at the first attempt, sent one at a time: no aggregation.

    Raises ParameterError, also for a rate that the layer does not have.

    >>> float(mesh_exchange("b-ack-11").round_trip_s.round(6))
    0.002698
    """
    chosen = preset(radio) if isinstance(radio, str) else radio
    size = numbers("segment_bytes", segment_bytes, at_least=1, at_most=MAX_SEGMENT_BYTES)
    extra = TCP_IP_BYTES + chosen.overhead_bytes
    rate = chosen.rate_bps if rate_bps is None else rate_bps
    data, ack = (
        exchange_s(
            chosen.phy,
            mpdu_bytes,
            rate,
            protection="rts" if rts else "none",
            # RTS is for hidden nodes of the same mesh, which decode the rate of the ACK.
            protection_rate_bps=control_rate_bps(chosen.phy, rate),
        )
        for mpdu_bytes in (size + extra, extra)
    )
    return MeshExchange(finished("T_d-DATA", data), finished("T_d-ACK", ack))


def _evaluate(
    radio: str, rate_bps: float | None, segment_bytes: float, rts: str
) -> dict[str, float]:
    chosen = preset(radio)
    rate = chosen.rate_bps if rate_bps is None else rate_bps
    found = mesh_exchange(chosen, rate, segment_bytes, rts=rts == "yes")
    return {
        "data_s": float(found.data_s),
        "ack_s": float(found.ack_s),
        "exchange_s": float(found.round_trip_s),
        "ack_rate_bps": float(control_rate_bps(chosen.phy, rate)),
    }


MODEL = Model(
    name="mesh-exchange",
    summary="Time of a TCP segment and its acknowledgement on one hop of a mesh (MESH 4.1).",
    parameters=(
        Parameter(
            "radio", f"preset or physical layer: {', '.join(PRESETS)}", DEFAULT_PRESET, Kind.TEXT
        ),
        Parameter("rate_bps", "data rate; the preset's highest if not given", None, Kind.RATE),
        SEGMENT_PARAMETER,
        Parameter("rts", "RTS and CTS before each frame", "no", Kind.CHOICE, ("no", "yes")),
    ),
    outputs=(
        Output("data_s", "T_d-DATA: the segment with backoff and MAC acknowledgement"),
        Output("ack_s", "T_d-ACK: the TCP acknowledgement with backoff and MAC acknowledgement"),
        Output("exchange_s", "their sum: time that the hop adds to the RTT"),
        Output("ack_rate_bps", "rate of the MAC acknowledgement"),
    ),
    evaluate=_evaluate,
    example="radio=b-ack-11 rate_bps=1mbit",
    valid=(
        "For packets that arrive at the first attempt and are sent one at a time; aggregation makes "
        "an 802.11n or later exchange shorter per packet."
    ),
)
