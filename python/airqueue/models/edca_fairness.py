"""Fairness among TCP uploads and downloads: plain 802.11 against the EDCA paper's settings.

The medium is shared between nodes, not flows. An access point that carries all downloads and the
acknowledgements of all uploads wins no more often than any of its clients (EDCA paper, Sec. 5.1). The
paper's settings (Table 2) let acknowledgements pass first and the access point send one packet of
each download whenever it wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, Numbers, broadcast, choice, finished, numbers
from airqueue.models.edca_classes import MAX_CW, classes
from airqueue.models.edca_validity import strict_priority
from airqueue.models.errors import ParameterError


@dataclass(frozen=True, slots=True)
class AccessClass:
    """EDCA parameters of a queue, those of the EDCA paper's Table 2."""

    aifs_slots: int
    """AIFS above DIFS."""
    cw_min: int
    """CWmin, the largest value of the first backoff; the paper counts values, one more."""
    packets: int | None = 1
    """Packets of one opportunity; None: one for each download."""


AP_ACKS: Final = AccessClass(0, 3)
"""Table 2: acknowledgements of uploads, at the access point."""
AP_DATA: Final = AccessClass(4, 31, None)
"""Table 2: data of downloads."""
STATION_ACKS: Final = AccessClass(0, 31)
"""Table 2: acknowledgements of downloads, at the stations."""
STATION_DATA: Final = AccessClass(4, 31)
"""Table 2: data of uploads."""

SCHEMES: Final = ("default", "edca")


@dataclass(frozen=True, slots=True)
class Fairness:
    """Shares of the data packets that TCP flows get; each field has the parameters' shape."""

    upload_share: FloatArray
    """Share of one upload; 0 if there is none."""
    download_share: FloatArray
    """Share of one download; 0 if there is none."""
    downloads_share: FloatArray
    """Share of all downloads together."""
    acks_per_packet: FloatArray
    """Most transmissions of acknowledgements that the medium allows for each data packet of an
    upload, at most as many as TCP sends. Fewer mean lost acknowledgements, timeouts and, from three
    uploads on, flows that starve."""
    jain_index: FloatArray
    """(Σx)²/(n Σx²) of the shares of all flows: 1 for equal ones."""
    min_max_ratio: FloatArray
    """Smallest share of a flow over the largest."""


def tcp_fairness(
    uploads: Numbers,
    downloads: Numbers,
    *,
    scheme: str = "default",
    ap_packets: Numbers | None = None,
    ack_every: Numbers = 1,
) -> Fairness:
    """Predict how long-lived TCP flows, one to a station, share a cell.

    All of n_u uploading stations and the access point are backlogged with data and win equally often:
    1/(n_u + 1) of the opportunities each. With N packets of the access point in each of its own,

        upload_share    = 1/(n_u + N)              with downloads, else 1/n_u
        downloads_share = N/(n_u + N),    N = 1 ("default") or n_d ("edca")

    so that under "edca" every flow gets 1/(n_u + n_d). Under "default" the acknowledgements of
    uploads share the access point's opportunities: 1/n_u transmissions for each upload packet, where
    TCP sends one for every ``ack_every`` packets. Under "edca" they pass freely (`acks_pass_freely`).

    uploads, downloads: n_u, n_d, whole numbers, together at least 1. ap_packets: N, if not that of
    the scheme. ack_every: 2 with delayed acknowledgements.

    Valid where the wireless hop is every flow's bottleneck and packets are of one size and rate.
    With uploads and downloads under "default", the access point's opportunities carry both data and
    acknowledgements; downloads_share and acks_per_packet each count all of them, so that both are
    upper bounds. The shares are means; under "default" individual uploads differ widely once
    acknowledgements get lost, which acks_per_packet indicates and the shares do not show.

    Raises ParameterError.

    >>> float(tcp_fairness(6, 6).downloads_share.round(4))
    0.1429
    >>> float(tcp_fairness(6, 6, scheme="edca").jain_index)
    1.0
    """
    choice("scheme", scheme, SCHEMES)
    n_u, n_d, every, burst = broadcast(
        uploads=numbers("uploads", uploads, at_least=0, at_most=1e6, whole=True),
        downloads=numbers("downloads", downloads, at_least=0, at_most=1e6, whole=True),
        ack_every=numbers("ack_every", ack_every, at_least=1, at_most=1e6),
        ap_packets=numbers("ap_packets", 0 if ap_packets is None else ap_packets, at_least=0),
    )
    if np.any(n_u + n_d == 0):
        raise ParameterError("uploads", "there is no flow; give at least one upload or download")
    if ap_packets is None:
        burst = n_d if scheme == "edca" else np.ones_like(n_d)
    else:
        numbers("ap_packets", ap_packets, at_least=1, at_most=1e6, whole=True)
    burst = np.where(n_d > 0, burst, 0.0)
    total = n_u + burst
    up = np.where(n_u > 0, 1.0 / total, 0.0)
    together = burst / total
    down = together / np.maximum(n_d, 1.0)
    square = n_u * up**2 + n_d * down**2
    smallest = np.where(n_d == 0, up, np.where(n_u == 0, down, np.minimum(up, down)))
    asked = 1.0 / every
    left = np.minimum(asked, 1.0 / np.maximum(n_u, 1.0)) if scheme == "default" else asked
    return Fairness(
        upload_share=finished("upload share", up),
        download_share=finished("download share", down),
        downloads_share=finished("downloads' share", together),
        acks_per_packet=finished("acks per packet", np.where(n_u > 0, left, 0.0)),
        jain_index=finished("Jain's index", 1.0 / ((n_u + n_d) * square)),
        min_max_ratio=finished("min/max", smallest / np.maximum(up, down)),
    )


def acks_pass_freely(acks: AccessClass = AP_ACKS, data: AccessClass = STATION_DATA) -> bool:
    """Return whether acknowledgements at the access point always go before data: strict priority.

    Their backoff ends at ``AIFS + CWmin`` slots at the latest, which must be before the data's AIFS
    is over. A single queue cannot collide within its class, so its window stays at CWmin. The access
    point's data queue then never meets its acknowledgements in an internal
    collision either. The stations' acknowledgements of downloads (AIFS 0) can collide with them.

    >>> acks_pass_freely(), acks_pass_freely(AccessClass(0, 7))
    (True, False)
    """
    pair = classes(1, [acks.aifs_slots, data.aifs_slots], [acks.cw_min, data.cw_min], MAX_CW)
    return bool(strict_priority(pair)[1][1])


def _evaluate(
    *, uploads: float, downloads: float, scheme: str, ap_packets: float | None, ack_every: float
) -> Mapping[str, Figure]:
    fair = tcp_fairness(
        uploads, downloads, scheme=scheme, ap_packets=ap_packets, ack_every=ack_every
    )
    return {
        "upload_share": float(fair.upload_share),
        "download_share": float(fair.download_share),
        "downloads_share": float(fair.downloads_share),
        "acks_per_packet": float(fair.acks_per_packet),
        "jain_index": float(fair.jain_index),
        "min_max_ratio": float(fair.min_max_ratio),
    }


MODEL = Model(
    name="edca-fairness",
    summary="Shares of TCP uploads and downloads in one cell, with plain 802.11 or with prioritised "
    "acknowledgements and bursts (EDCA paper, Sec. 5).",
    parameters=(
        Parameter("uploads", "n_u: TCP uploads, one station each", 6, Kind.WHOLE),
        Parameter("downloads", "n_d: TCP downloads, one station each", 6, Kind.WHOLE),
        Parameter(
            "scheme", "plain 802.11, or the paper's Table 2", "default", Kind.CHOICE, SCHEMES
        ),
        Parameter(
            "ap_packets", "packets that the AP sends when it wins; by the scheme", None, Kind.WHOLE
        ),
        Parameter("ack_every", "data packets for each acknowledgement", 1.0),
    ),
    outputs=(
        Output("upload_share", "data packets of one upload among all"),
        Output("download_share", "data packets of one download among all"),
        Output("downloads_share", "data packets of all downloads together"),
        Output("acks_per_packet", "acknowledgements that can get through per upload packet"),
        Output("jain_index", "of the shares of all flows; 1 if equal"),
        Output("min_max_ratio", "smallest share over largest"),
    ),
    evaluate=_evaluate,
    example="uploads=1..12 downloads=6",
    valid="Mean shares of long-lived flows whose bottleneck is the wireless hop, at equal rates. "
    "Where acks_per_packet is below 1/ack_every, single uploads differ far more than the means say. "
    "With scheme=default and both kinds of flows, downloads_share and acks_per_packet are upper "
    "bounds: they share the access point's opportunities.",
)
