"""`airqueue size edca`: the EDCA paper's settings for fair TCP, as numbers that hardware takes.

Acknowledgements get an access category of their own, and the access point sends one packet for each
download when it wins. The settings are those of `airqueue.models.edca_fairness` (the paper's Table
2), which also predicts the shares. Here they get the encodings of the standard and of hostapd, and
the prediction is made for what is left of them after rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from airqueue.models import edca_fairness
from airqueue.models.airtime import FCS_BYTES, LLC_SNAP_BYTES, QOS_HEADER_BYTES, exchange
from airqueue.models.checks import number
from airqueue.models.edca_defaults import BACKGROUND_AIFSN, BEST_EFFORT_AIFSN
from airqueue.models.edca_fairness import AccessClass, Fairness, tcp_fairness
from airqueue.models.edca_txop import packets_per_txop, step_s, txop_for_packets_s
from airqueue.models.errors import ParameterError
from airqueue.models.packets import PACKET_BYTES
from airqueue.models.phy_names import phy as layer_named
from airqueue.models.phys import Phy
from airqueue.sizing.cell import ACK_EVERY, Cell, cell
from airqueue.sizing.edca_values import (
    AIFSN_MAX,
    TXOP_LIMIT_S,
    EdcaValues,
    Role,
    burst_s,
    burst_tenths,
    encode,
)
from airqueue.sizing.settings.hostapd import Category

ACK_CATEGORY: Final = Category.VIDEO
"""Of acknowledgements: voice stays above them, all other traffic is below."""
BACKGROUND_SLOTS: Final = BACKGROUND_AIFSN - BEST_EFFORT_AIFSN
"""AIFS of background above that of best effort, as in the standard's defaults."""
MAX_FLOWS: Final = 2007
"""An access point has no more stations (association identifiers)."""


@dataclass(frozen=True, slots=True)
class Txop:
    """The access point's transmission opportunity for download data."""

    packets: int
    """Wanted: one for each download."""
    step_s: float
    """What one more packet takes."""
    need_s: float
    """Least that admits the packets; 0 for one."""
    burst_tenths: int
    """As hostapd takes it, 0.1 ms; 0 for one packet."""
    set_s: float
    """What hostapd then passes to the driver: a multiple of 32 µs."""
    admitted: int
    """Packets that fit into that."""


@dataclass(frozen=True, slots=True)
class EdcaSizing:
    """Settings and predictions."""

    uploads: int
    downloads: int
    cell: Cell
    txop: Txop
    stations: Mapping[Category, EdcaValues]
    """The parameters that the beacon announces to stations."""
    access_point: Mapping[Category, tuple[EdcaValues, float]]
    """The access point's own queues, with the TXOP that is needed."""
    default: Fairness
    """Shares with plain 802.11."""
    scheme: Fairness
    """Shares with the settings, for the packets that the TXOP really admits."""


def size_edca(
    uploads: int,
    downloads: int,
    *,
    phy: str = "b-short",
    rate_bps: float | None = None,
    packet_bytes: float = PACKET_BYTES,
) -> EdcaSizing:
    """Return the settings for n_u uploads and n_d downloads, one station each.

    phy, rate_bps: physical layer, and its data rate, the highest if not given; a TXOP holds packets
    of this rate and size, each with its own acknowledgement. packet_bytes: IP packets.

    Valid where all stations use this rate, have no aggregation, and follow the beacon. Raises
    ParameterError, also where no TXOP is long enough.

    >>> sized = size_edca(6, 6)
    >>> sized.txop.admitted, float(sized.scheme.download_share.round(4))
    (6, 0.0833)
    """
    n_u = int(number("uploads", uploads, at_least=0, at_most=MAX_FLOWS, whole=True))
    n_d = int(number("downloads", downloads, at_least=0, at_most=MAX_FLOWS, whole=True))
    if n_u + n_d == 0:
        raise ParameterError("uploads", "there is no flow; give at least one upload or download")
    air = cell([_rate(phy, rate_bps)], phy, packet_bytes, aggregate=False)
    txop = _txop(air, max(n_d, 1))
    return EdcaSizing(
        uploads=n_u,
        downloads=n_d,
        cell=air,
        txop=txop,
        stations=_stations(air.phy),
        access_point=_access_point(air.phy, txop),
        default=tcp_fairness(n_u, n_d, ack_every=ACK_EVERY),
        scheme=tcp_fairness(n_u, n_d, scheme="edca", ap_packets=txop.admitted, ack_every=ACK_EVERY),
    )


def _rate(phy: str, rate_bps: float | None) -> float:
    return layer_named(phy).rates_bps[-1] if rate_bps is None else rate_bps


def _txop(air: Cell, packets: int) -> Txop:
    """Return the opportunity for so many packets, each sent and acknowledged on its own."""
    # EDCA is for QoS data frames, whatever the physical layer.
    size = air.packet_bytes + QOS_HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES
    parts = exchange(air.phy, size, air.rates_bps[0])
    timing = (parts.frame_s, parts.response_s - air.phy.sifs_s, air.phy.sifs_s)
    # A limit of 0 means one packet, however long.
    need_s = float(txop_for_packets_s(packets, *timing)) if packets > 1 else 0.0
    if need_s > TXOP_LIMIT_S:
        raise ParameterError(
            "downloads",
            f"one packet for each of {packets} downloads takes {need_s:.2f} s, and a TXOP ends at "
            f"{TXOP_LIMIT_S:.2f} s; use a higher rate or count fewer downloads",
        )
    tenths = burst_tenths(need_s)
    return Txop(
        packets=packets,
        step_s=float(step_s(*timing)),
        need_s=need_s,
        burst_tenths=tenths,
        set_s=burst_s(tenths),
        admitted=int(packets_per_txop(burst_s(tenths), *timing)),
    )


def _encoded(phy: Phy, given: AccessClass, role: Role, txop_s: float = 0.0) -> EdcaValues:
    return encode(given.aifs_slots, given.cw_min, phy.cw_max, txop_s, role=role)


def _stations(phy: Phy) -> dict[Category, EdcaValues]:
    data = _encoded(phy, edca_fairness.STATION_DATA, "station")
    return {
        ACK_CATEGORY: _encoded(phy, edca_fairness.STATION_ACKS, "station"),
        Category.BEST_EFFORT: data,
        Category.BACKGROUND: _background(data),
    }


def _access_point(phy: Phy, txop: Txop) -> dict[Category, tuple[EdcaValues, float]]:
    role: Role = "access point"
    data = _encoded(phy, edca_fairness.AP_DATA, role, txop.need_s)
    return {
        ACK_CATEGORY: (_encoded(phy, edca_fairness.AP_ACKS, role), 0.0),
        Category.BEST_EFFORT: (data, txop.need_s),
        Category.BACKGROUND: (_background(data), 0.0),
    }


def _background(data: EdcaValues) -> EdcaValues:
    """Return values that keep background below best effort, whose defaults would now be above it."""
    aifsn = min(data.aifsn + BACKGROUND_SLOTS, AIFSN_MAX)
    return EdcaValues(aifsn, data.ecw_min, data.ecw_max)
