"""A-MPDU aggregation of 802.11n and later: size of an aggregate, its limits and its exchange.

Each MPDU is preceded by a delimiter of 4 bytes, and all but the last are padded to a multiple of 4
(IEEE 802.11-2016, 9.7.1). The aggregate is answered by one block ack.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import numpy as np

from airqueue._native import ampdu_bytes
from airqueue.models.airtime import (
    MAX_FRAME_BYTES,
    MAX_PPDU_S,
    Exchange,
    ExchangeOptions,
    block_ack_s,
    exchange,
    mode_places,
    response_rate_bps,
)
from airqueue.models.checks import FloatArray, Numbers, broadcast, finished, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.phys import Phy


def aggregate_bytes(mpdu_bytes: Numbers, mpdus: Numbers) -> FloatArray:
    """Return the bytes of an A-MPDU of equal MPDUs: ``(k-1)·4⌈(L+4)/4⌉ + L + 4``.

    >>> float(aggregate_bytes(1538, 28))
    43230.0
    """
    size, count = broadcast(
        mpdu_bytes=numbers("mpdu_bytes", mpdu_bytes, above=0, at_most=MAX_FRAME_BYTES),
        mpdus=numbers("mpdus", mpdus, at_least=1, at_most=MAX_FRAME_BYTES, whole=True),
    )
    return finished("aggregate", ampdu_bytes(size, count))


def largest_aggregate(
    phy: Phy,
    mpdu_bytes: Numbers,
    rate_bps: Numbers,
    *,
    max_mpdus: int | None = None,
    max_bytes: float | None = None,
    max_ppdu_s: float = MAX_PPDU_S,
) -> FloatArray:
    """Return the most MPDUs of one size that an aggregate holds under its three limits.

    max_mpdus, max_bytes: those of the layer if not given (64 and 65 535 for HT, 64 and 1 048 575 for
    VHT, 256 and 6 500 631 for HE, or 524 287 at 2.4 GHz); a receiver or a driver may allow fewer.
    max_ppdu_s: duration on the air. A byte that is begun counts. 0 if not even one MPDU fits.

    >>> from airqueue.models.phy_names import phy
    >>> float(largest_aggregate(phy("n"), 1538, 65e6))
    28.0
    """
    most = _limit("max_mpdus", max_mpdus, phy.max_mpdus, phy)
    most_bytes = _limit("max_bytes", max_bytes, phy.max_psdu_bytes, phy)
    most_s = number("max_ppdu_s", max_ppdu_s, above=0, at_most=1)
    size, rate = broadcast(
        mpdu_bytes=numbers("mpdu_bytes", mpdu_bytes, above=0, at_most=MAX_FRAME_BYTES),
        rate_bps=numbers("rate_bps", rate_bps, above=0),
    )
    index, size = mode_places(phy.modes, phy.name, size, "rate_bps", rate)
    # Half a nanosecond of tolerance: rounding must not reject a duration equal to the limit.
    most_ns = math.floor(most_s * 1e9 + 0.5)
    fits = phy.radio.most_mpdus(index, size, int(most), math.floor(most_bytes), most_ns)
    return finished("aggregate", fits)


def _limit(name: str, given: float | None, layer: float, phy: Phy) -> float:
    if phy.max_mpdus == 1:
        raise ParameterError("phy", f"{phy.name} has no aggregation; use n or a later one")
    return layer if given is None else number(name, given, at_least=1, at_most=layer)


def aggregate_exchange(
    phy: Phy,
    mpdu_bytes: Numbers,
    rate_bps: Numbers,
    mpdus: Numbers,
    **options: Unpack[ExchangeOptions],
) -> Exchange:
    """Return the parts of ``IFS + backoff + [protection] + T_aggregate + SIFS + T_block_ack``.

    mpdus: number in the aggregate, from 1. options: as for `airqueue.models.airtime.exchange`. Valid
    if every MPDU arrives. Raises ParameterError, also for more MPDUs than the limits allow.

    >>> from airqueue.models.phy_names import phy
    >>> float(aggregate_exchange(phy("n"), 1538, 65e6, 28, aifsn=3).total_s.round(7))
    0.0055185
    """
    count = numbers("mpdus", mpdus, at_least=1, whole=True)
    most = largest_aggregate(phy, mpdu_bytes, rate_bps)
    excess = np.atleast_1d(most - count)
    if np.any(excess < 0):
        fit = int(np.min(np.broadcast_to(most, excess.shape)[excess < 0]))
        raise ParameterError(
            "mpdus",
            f"mpdus is more than the {fit} that fit an aggregate of {phy.name} at this size and "
            "rate; use fewer or smaller ones, or a higher rate",
        )
    parts = exchange(phy, aggregate_bytes(mpdu_bytes, count), rate_bps, **options)
    response_s = block_ack_s(phy, response_rate_bps(phy, rate_bps, options), count)
    return replace(parts, response_s=np.broadcast_to(phy.sifs_s + response_s, parts.frame_s.shape))
