"""Airtime of 802.11 frames and of the exchange that carries one packet.

A packet costs ``IFS + backoff + [protection] + T_frame + SIFS + T_ack``. The engine gives
durations, frame sizes and response rates (`airqueue.models.phys`; `airqueue.models.phy_names.phy`
finds a layer by name). The response is a control frame at the highest basic rate that does not
exceed the data rate (IEEE 802.11-2016, 10.7.6.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from airqueue._native import Ieee80211, Mode, block_ack_bytes
from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import PHY_HELP
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import DSSS, MAX_NON_HT_BYTES, Phy, checked, rates_text
from airqueue.models.phys_ht import MAX_PSDU_BYTES

HEADER_BYTES: Final = Ieee80211.HEADER_BYTES
"""MAC header of a data frame with three addresses."""
QOS_HEADER_BYTES: Final = Ieee80211.QOS_HEADER_BYTES
FOUR_ADDRESS_QOS_HEADER_BYTES: Final = Ieee80211.FOUR_ADDRESS_QOS_HEADER_BYTES
"""Between access points or mesh nodes; a mesh control field adds 6 bytes, or 12 or 18."""
FCS_BYTES: Final = Ieee80211.FCS_BYTES
LLC_SNAP_BYTES: Final = Ieee80211.LLC_SNAP_BYTES
NS2_OVERHEAD_BYTES: Final = Ieee80211.NS2_OVERHEAD_BYTES
"""Overhead that ns-2 adds to an IP packet: four addresses and the FCS, no LLC/SNAP."""
RTS_BYTES: Final = Ieee80211.RTS_BYTES
CTS_BYTES: Final = Ieee80211.CTS_BYTES
ACK_BYTES: Final = Ieee80211.ACK_BYTES
MAX_FRAME_BYTES: Final = MAX_PSDU_BYTES
"""The largest frame of any layer."""

MAX_PPDU_S: Final = Ieee80211.MAX_PPDU_S
"""aPPDUMaxTime of HT (mixed format), VHT and HE."""
MAX_DURATION_S: Final = Ieee80211.MAX_DURATION_S
"""Largest value of the Duration field (9.2.4.2)."""


def frame_s(phy: Phy, mpdu_bytes: Numbers, rate_bps: Numbers) -> FloatArray:
    """Return the duration of a data frame: preamble, headers, symbols, signal extension.

    mpdu_bytes: MPDU with MAC header and FCS, or an aggregate. rate_bps: a rate of the layer, exact
    or rounded to 0.1 Mb/s as in the standard. Both broadcast.

    Raises ParameterError for a rate that the layer does not have (the message lists its rates), and
    for more bytes than a frame of the layer may have.

    >>> float(frame_s(layer_named("b-long"), 1536, 11e6))
    0.00131
    >>> (frame_s(layer_named("a"), [14, 1536], [24e6, 54e6]) * 1e6).round(3).tolist()
    [28.0, 248.0]
    """
    size = numbers("mpdu_bytes", mpdu_bytes, above=0, at_most=checked(phy).max_psdu_bytes)
    index, size = mode_places(phy.modes, phy.name, size, "rate_bps", rate_bps)
    return finished("duration", phy.radio.frame_s(index, size))


def control_frame_s(phy: Phy, frame_bytes: Numbers, control_rate_bps: Numbers) -> FloatArray:
    """Return the duration of a control frame; for HT and later, as 802.11a or g sends the frame."""
    size = numbers("frame_bytes", frame_bytes, above=0, at_most=MAX_NON_HT_BYTES)
    index, size = mode_places(
        phy.control_modes, phy.name, size, "control_rate_bps", control_rate_bps
    )
    return finished("duration", phy.radio.frame_s(index, size, control=True))


def checked_rate(phy: Phy, name: str, rate_bps: Numbers) -> FloatArray:
    """Return the data rates of a parameter; ParameterError for a rate that the layer does not have.

    >>> checked_rate(layer_named("a"), "data_rate_bps", 7e6)
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: data_rate_bps is 7 Mb/s, which a has not; it must be one \
of 6, 9, 12, 18, 24, 36, 48, 54 Mb/s
    """
    rate = numbers(name, rate_bps, above=0)
    _mode_index(phy.modes, phy.name, name, rate)
    return rate


def mode_places(
    modes: tuple[Mode, ...], layer: str, size: FloatArray, rate_name: str, rate_bps: Numbers
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the modes of rates, as indices into the table, and the sizes, broadcast to one shape.

    Raises ParameterError for a rate that the layer does not have and for shapes that do not fit.
    """
    rate = numbers(rate_name, rate_bps, above=0)
    index = _mode_index(modes, layer, rate_name, rate)
    size, _ = broadcast(mpdu_bytes=size, **{rate_name: rate})
    return np.broadcast_to(index, size.shape), size


def _mode_index(
    modes: tuple[Mode, ...], layer: str, name: str, rate_bps: FloatArray
) -> NDArray[np.int64]:
    exact = np.array([mode.rate_bps for mode in modes])
    given = rate_bps[..., np.newaxis]
    printed = np.floor(exact / 1e5 + 0.5) * 1e5
    match = np.isclose(given, exact, rtol=1e-9) | np.isclose(given, printed, rtol=1e-9)
    found = match.any(axis=-1)
    if not found.all():
        wrong = float(rate_bps[~found].flat[0])
        raise ParameterError(
            name,
            f"{name} is {wrong / 1e6:g} Mb/s, which {layer} has not; it must be one of "
            f"{rates_text(exact.tolist())}",
        )
    index: NDArray[np.int64] = np.argmax(match, axis=-1).astype(np.int64)
    return index


def control_rate_bps(phy: Phy, rate_bps: Numbers) -> FloatArray:
    """Return the rate of the response to a data frame, and of an RTS in front of it.

    The rate is the highest basic rate of the data rate's class, DSSS or OFDM, that does not exceed
    the data rate (for HT and later: the non-HT rate of the same modulation and coding). If no basic
    rate qualifies, the highest mandatory rate (1, 2, 5.5, 11; 6, 12, 24 Mb/s) that does is used.

    >>> control_rate_bps(layer_named("a"), [9e6, 54e6]).tolist()
    [6000000.0, 24000000.0]
    """
    index = _mode_index(phy.modes, phy.name, "rate_bps", numbers("rate_bps", rate_bps, above=0))
    return finished("control rate", np.array(phy.radio.response_rates_bps)[index])


def ack_s(phy: Phy, control_rate_bps: Numbers) -> FloatArray:
    """Return the duration of an ACK at a control rate.

    >>> float(ack_s(layer_named("b-short"), 2e6))
    0.000152
    """
    return control_frame_s(phy, ACK_BYTES, control_rate_bps)


def block_ack_s(phy: Phy, control_rate_bps: Numbers, mpdus: Numbers = 1) -> FloatArray:
    """Return the duration of a compressed block ack, with the larger bitmap above 64 MPDUs."""
    count = numbers("mpdus", mpdus, at_least=1)
    return control_frame_s(phy, block_ack_bytes(count), control_rate_bps)


def rts_s(phy: Phy, control_rate_bps: Numbers) -> FloatArray:
    """Return the duration of an RTS at a control rate."""
    return control_frame_s(phy, RTS_BYTES, control_rate_bps)


def cts_s(phy: Phy, control_rate_bps: Numbers) -> FloatArray:
    """Return the duration of a CTS (response or CTS-to-self) at a control rate."""
    return control_frame_s(phy, CTS_BYTES, control_rate_bps)


def eifs_s(phy: Phy) -> float:
    """Return EIFS, the wait after a frame that was not decoded: SIFS + ACK + DIFS.

    The ACK is at the lowest basic rate.

    >>> eifs_s(layer_named("b-long"))
    0.000364
    """
    return phy.radio.eifs_s


def ack_timeout_s(phy: Phy) -> float:
    """Return the response timeout after a frame at the highest rate."""
    return phy.radio.response_timeout_s


def mean_backoff_s(phy: Phy) -> float:
    """Return the mean backoff at the first attempt: CWmin/2 slots."""
    return phy.cw_min / 2.0 * phy.slot_s


PROTECTIONS: Final = ("none", "rts", "cts-to-self")


@dataclass(frozen=True, slots=True)
class Exchange:
    """Parts of the time for one packet; each field has the parameters' shape."""

    ifs_s: FloatArray
    """DIFS, or AIFS."""
    backoff_s: FloatArray
    protection_s: FloatArray
    """RTS, SIFS, CTS, SIFS; or CTS-to-self, SIFS; or 0."""
    frame_s: FloatArray
    response_s: FloatArray
    """SIFS and the acknowledgement."""

    @property
    def total_s(self) -> FloatArray:
        """Sum of the parts."""
        parts = (self.ifs_s, self.backoff_s, self.protection_s, self.frame_s, self.response_s)
        return finished("exchange", np.sum(parts, axis=0))


class ExchangeOptions(TypedDict, total=False):
    """Keyword arguments of `exchange` and of functions built on `exchange`; None means not given."""

    control_rate_bps: Numbers | None
    """Rate of the acknowledgement; by the rule of `control_rate_bps` if not given."""
    backoff_slots: Numbers | None
    """Mean backoff; (CW_min - 1)/2 if not given."""
    aifsn: Numbers | None
    """Slots after SIFS; 2, which makes DIFS, if not given."""
    protection: str
    """Frames in front: "none", "rts" (RTS and CTS) or "cts-to-self"."""
    protection_rate_bps: Numbers | None
    """Rate of RTS and CTS; by the rule of `protection_rate_bps` if not given."""


def exchange(
    phy: Phy, mpdu_bytes: Numbers, rate_bps: Numbers, **options: Unpack[ExchangeOptions]
) -> Exchange:
    """Return the parts of ``IFS + backoff + [protection] + T_frame + SIFS + T_ack``.

    mpdu_bytes: with MAC header and FCS. options: `ExchangeOptions`. All numbers broadcast.

    Valid for a packet that arrives at the first attempt. Raises ParameterError, with aggregation also
    for a frame that takes longer than `MAX_PPDU_S`.
    """
    frame = frame_s(phy, mpdu_bytes, rate_bps)
    # Half a nanosecond of tolerance: rounding must not reject a duration equal to the limit.
    if phy.max_mpdus > 1 and np.any(frame > MAX_PPDU_S + 5e-10):
        raise ParameterError(
            "mpdu_bytes",
            f"a frame of this size takes {float(np.max(frame)) * 1e3:.3f} ms at this rate; in "
            f"{phy.name} it may take {MAX_PPDU_S * 1e3:g} ms: use a smaller frame or a higher rate",
        )
    response_bps = response_rate_bps(phy, rate_bps, options)
    aifsn = options.get("aifsn")
    parts = broadcast(
        aifsn=phy.aifs_s(2 if aifsn is None else aifsn),
        backoff_slots=_backoff_s(phy, options.get("backoff_slots")),
        protection_rate_bps=_protection_s(phy, rate_bps, options),
        mpdu_bytes=frame,
        control_rate_bps=phy.sifs_s + ack_s(phy, response_bps),
    )
    return Exchange(*(part[()] for part in parts))


def exchange_s(
    phy: Phy, mpdu_bytes: Numbers, rate_bps: Numbers, **options: Unpack[ExchangeOptions]
) -> FloatArray:
    """Return the whole time for one packet, the sum of the parts that `exchange` returns.

    >>> float(exchange_s(layer_named("b-long"), 1536, 11e6, control_rate_bps=1e6).round(9))
    0.001984
    """
    return exchange(phy, mpdu_bytes, rate_bps, **options).total_s


def response_rate_bps(phy: Phy, rate_bps: Numbers, options: ExchangeOptions) -> FloatArray:
    """Return the rate of the acknowledgement, from the options or from `control_rate_bps`."""
    given_bps = options.get("control_rate_bps")
    if given_bps is None:
        return control_rate_bps(phy, rate_bps)
    return numbers("control_rate_bps", given_bps, above=0)[()]


def protection_rate_bps(phy: Phy, rate_bps: Numbers, options: ExchangeOptions) -> FloatArray:
    """Return the rate of RTS and CTS: the one in the options, or one that all stations decode.

    RTS and CTS protect an OFDM frame from 802.11b stations, which decode DSSS only (IEEE 802.11-2016,
    10.7.6): the rate is the highest basic DSSS rate, or without a basic one the layer's highest DSSS
    rate. A DSSS frame, or a layer without DSSS, uses the rate of the acknowledgement. In a cell
    without 802.11b stations, where RTS protects from hidden stations only, give that rate.

    >>> protection_rate_bps(layer_named("g"), [2e6, 54e6], {}).tolist()
    [2000000.0, 11000000.0]
    """
    given_bps = options.get("protection_rate_bps")
    if given_bps is not None:
        return numbers("protection_rate_bps", given_bps, above=0)[()]
    response_bps = response_rate_bps(phy, rate_bps, options)
    dsss = [mode.rate_bps for mode in phy.control_modes if mode.modulation_class == DSSS]
    if not dsss:
        return response_bps
    understood_bps = max([rate for rate in dsss if rate in phy.basic_rates_bps] or dsss)
    index = _mode_index(phy.modes, phy.name, "rate_bps", numbers("rate_bps", rate_bps, above=0))
    is_dsss = np.array([mode.modulation_class == DSSS for mode in phy.modes])[index]
    is_dsss, response_bps = broadcast(rate_bps=is_dsss, control_rate_bps=response_bps)
    return finished("protection rate", np.where(is_dsss, response_bps, understood_bps))


def mac_overhead_bytes(phy: Phy) -> int:
    """Return the overhead per IP packet: header (with QoS control for HT and later), LLC, FCS.

    >>> mac_overhead_bytes(layer_named("a")), mac_overhead_bytes(layer_named("n"))
    (36, 38)
    """
    header_bytes = QOS_HEADER_BYTES if checked(phy).max_mpdus > 1 else HEADER_BYTES
    return header_bytes + LLC_SNAP_BYTES + FCS_BYTES


def _backoff_s(phy: Phy, slots: Numbers | None) -> FloatArray:
    if slots is None:
        return numbers("backoff", mean_backoff_s(phy))[()]
    return numbers("backoff_slots", slots, at_least=0, at_most=1e9)[()] * phy.slot_s


def _protection_s(phy: Phy, data_rate_bps: Numbers, options: ExchangeOptions) -> FloatArray:
    protection = choice("protection", options.get("protection", "none"), PROTECTIONS)
    if protection == "none":
        return np.zeros(())[()]
    rate = protection_rate_bps(phy, data_rate_bps, options)
    cts = cts_s(phy, rate) + phy.sifs_s
    return cts if protection == "cts-to-self" else cts + rts_s(phy, rate) + phy.sifs_s


def _evaluate(
    *, phy: str, mpdu_bytes: float, rate_bps: float | None, **options: Unpack[ExchangeOptions]
) -> dict[str, float]:
    layer = layer_named(phy)
    rate = layer.rates_bps[-1] if rate_bps is None else rate_bps
    parts = exchange(layer, mpdu_bytes, rate, **options)
    total_s = float(parts.total_s)
    return {
        "data_rate_bps": rate,
        "response_rate_bps": float(response_rate_bps(layer, rate, options)),
        "frame_s": float(parts.frame_s),
        "ifs_s": float(parts.ifs_s),
        "backoff_s": float(parts.backoff_s),
        "protection_s": float(parts.protection_s),
        "response_s": float(parts.response_s),
        "exchange_s": total_s,
        "exchanges_per_s": 1.0 / total_s,
        "airtime_share_of_bits": 8.0 * mpdu_bytes / rate / total_s,
    }


RATE_PARAMETER: Final = Parameter(
    "rate_bps", "data rate; the layer's highest if not given", None, Kind.RATE
)
CONTROL_RATE_PARAMETER: Final = Parameter(
    "control_rate_bps", "rate of the ACK; by the standard's rule if not given", None, Kind.RATE
)
EXCHANGE_PARAMETERS: Final = (
    CONTROL_RATE_PARAMETER,
    Parameter("protection", "frames in front", "none", Kind.CHOICE, PROTECTIONS),
    Parameter(
        "protection_rate_bps",
        "rate of RTS and CTS; if not given, the highest that 802.11b stations decode where the "
        "layer has such rates (g: 11 Mb/s), else the ACK's",
        None,
        Kind.RATE,
    ),
    Parameter("aifsn", "slots after SIFS; 2, which is DIFS, if not given", None),
    Parameter("backoff_slots", "mean backoff; (CW_min - 1)/2 if not given", None),
)
"""Parameters of every model with exchanges: the options of `exchange_s`."""

MODEL = Model(
    name="airtime",
    summary="Airtime of one frame and of its exchange, any physical layer (IEEE 802.11-2016).",
    parameters=(
        Parameter("phy", PHY_HELP, "b-long", Kind.TEXT),
        Parameter("mpdu_bytes", "L: frame with MAC header and FCS", 1536, Kind.SIZE),
        RATE_PARAMETER,
        *EXCHANGE_PARAMETERS,
    ),
    outputs=(
        Output("data_rate_bps", "rate of the frame"),
        Output("response_rate_bps", "rate of its acknowledgement"),
        Output("frame_s", "T_frame: preamble, headers, frame"),
        Output("ifs_s", "DIFS or AIFS"),
        Output("backoff_s", "mean backoff"),
        Output("protection_s", "RTS and CTS, or CTS-to-self, with their SIFS"),
        Output("response_s", "SIFS and ACK"),
        Output("exchange_s", "the sum: one packet's share of the medium's time"),
        Output("exchanges_per_s", "1/exchange_s"),
        Output(
            "airtime_share_of_bits", "time of the frame's bits at the data rate over exchange_s"
        ),
    ),
    evaluate=_evaluate,
    example="phy=a rate_bps=54mbit mpdu_bytes=128B..1536B:128B",
    valid=(
        "One frame that arrives at the first attempt and is acknowledged, on an otherwise idle "
        "medium; for collisions and errors see the contention models, for aggregates "
        "single-station. 802.11ac and ax put a delimiter of 4 bytes before even a single MPDU: add "
        "them. An MSDU has at most 2304 bytes, even where frames may be larger."
    ),
)
