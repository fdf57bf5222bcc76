"""Channel access that follows flows: the rows of `airqueued`'s loop where the TXOP is bounded.

By the EDCA paper's Table 2 the access point sends one packet for each download when it wins, with
the AIFS and CWmin of the stations' data. A TXOP may be bounded: by European rules at 5 GHz, or for
the sake of others who wait for its end. Beyond that the access point has to win more often than a
station, by an AIFS and a CWmin below theirs; how often, the hold chain says
(`airqueue.models.edca_hold`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from airqueue.models.checks import FloatArray, Numbers
from airqueue.models.edca_fairness import STATION_DATA
from airqueue.models.edca_hold import hold_chain
from airqueue.sizing.edca import EdcaSizing
from airqueue.sizing.edca_values import DIFS_AIFSN, ETSI_TXOP_S

MOST_PACKETS: Final = 30
"""Of a TXOP, if nothing else bounds it: the default of `airqueued`."""
AIFS_SLOTS: Final = tuple(range(STATION_DATA.aifs_slots + 1))
"""From that of the paper's acknowledgements to that of the stations' data."""
CW_MINS: Final = (7, 15, STATION_DATA.cw_min)
"""Above the window of the acknowledgements at the access point, 3, so that these stay ahead."""
PAIRS: Final = tuple(product(AIFS_SLOTS[::-1], CW_MINS[::-1]))
"""AIFS and CWmin; what is nearest to Table 2 comes first, and so wins among equals."""
MOST_FLOWS: Final = 60
"""Uploads, and downloads, of a table."""


@dataclass(frozen=True, slots=True)
class AccessRow:
    """The access point's channel access for data, for so many flows."""

    uploads: int
    downloads: int
    aifsn: int
    cw_min: int
    packets: int
    download_over_upload: float
    """Predicted: packets of a download for each packet of an upload."""


def most_packets(sized: EdcaSizing) -> int:
    """Return how many packets a TXOP may have: of best effort at 5 GHz, 6 ms in Europe."""
    if sized.cell.phy.band != "5":
        return MOST_PACKETS
    fit = int((ETSI_TXOP_S + sized.cell.phy.sifs_s) / sized.txop.step_s)
    return max(1, min(fit, MOST_PACKETS))


def access_rows(uploads: int, downloads: int, packets: int, cw_max: int) -> tuple[AccessRow, ...]:
    """Return rows for up to so many uploads and downloads with TXOPs of at most so many packets.

    A row holds from its number of uploads up to the next row's, and rows begin where the TXOP is too
    short: below, Table 2 holds. Of all AIFS and CWmin between those of acknowledgements and those of
    the stations the row has the pair with which the model comes nearest to equal flows. There are no
    rows for more than `MOST_FLOWS`: the last ones hold for these.

    Valid for saturated stations of one rate, as the model is, which knows no acknowledgements.

    >>> [(row.uploads, row.aifsn, row.cw_min) for row in access_rows(3, 3, 2, 1023)]
    [(1, 3, 31), (2, 4, 31)]
    """
    n_u, most = min(uploads, MOST_FLOWS), min(downloads, MOST_FLOWS)
    if n_u == 0 or most <= packets:
        return ()
    wins = _wins(n_u, cw_max)
    return tuple(
        row
        for n_d in range(packets + 1, most + 1)
        for row in _changes(wins * packets / n_d, n_d, packets)
    )


def _wins(uploads: int, cw_max: int) -> FloatArray:
    """Return how often the access point wins for each time that one of 1, 2, ... uploads does.

    The last axis is that of `PAIRS`.
    """
    shape = (uploads, len(PAIRS))
    slots, windows = np.array(PAIRS, dtype=float).T

    def classes(own: Numbers, others: Numbers) -> FloatArray:
        each = np.broadcast_to(own, shape), np.broadcast_to(others, shape)
        return np.stack(each, axis=-1)

    stations = classes(1, np.arange(1.0, uploads + 1.0)[:, np.newaxis])
    aifs = classes(slots, STATION_DATA.aifs_slots)
    return hold_chain(stations, aifs, classes(windows, STATION_DATA.cw_min), cw_max).ratio(0, 1)


def _changes(shares: FloatArray, n_d: int, packets: int) -> Iterator[AccessRow]:
    """Yield the rows of a number of downloads that differ from the row before.

    shares: packets of a download for one of an upload, by uploads and pairs.
    """
    before = -1
    for n_u, row in enumerate(shares, start=1):
        best = int(np.argmin(np.abs(np.log(row))))
        if best != before:
            slots, cw_min = PAIRS[best]
            yield AccessRow(n_u, n_d, DIFS_AIFSN + slots, cw_min, packets, float(row[best]))
        before = best
