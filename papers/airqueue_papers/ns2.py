"""Results of ns-2 (2.35), for papers whose numbers come from ns-2 or can be compared with ns-2.

``ns2_tcp.csv`` and ``ns2_mesh.csv`` hold rows of the references that validate the
engine: 802.11b with the long preamble, one cell, and several hops. ``peers/`` of the
repository has the scripts that made them.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources


@cache
def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of ``ns2_NAME.csv``."""
    text = resources.files("airqueue_papers").joinpath(f"ns2_{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def value(quantity: str, **conditions: object) -> float | None:
    """Return a reference for TCP in a cell, in b/s, s or frames, or None if there is none.

    ``quantity`` and ``conditions`` are columns: ``value("aggregate throughput", window=1, ...)``.
    """
    wanted = {"quantity": quantity, **{key: str(each) for key, each in conditions.items()}}
    for row in rows("tcp"):
        if all(row[key] == each for key, each in wanted.items()):
            return float(row["value"])
    return None


def downloads_bps(connections: int, window: int, ack_every: int) -> float | None:
    """Return the total throughput of unlimited downloads from an access point with lossless queues.

    Segments of 1000 bytes, RTS and CTS, control frames at 2 Mb/s, acknowledgements at least every
    40 ms: the cell of the HTTP paper.
    """
    flows = "down:ap:11" if connections == 1 else f"{connections}*down:ap:11"
    return value(
        "aggregate throughput",
        kind="persistent",
        flows=flows,
        window=window,
        ack_every=ack_every,
    )


def session_s(users: int, law: str, window: int) -> float | None:
    """Return the mean time of a file of the mean size, 30 000 bytes, with pauses of 10 s between."""
    return value(
        "mean session delay, at the mean size of files",
        kind="sessions",
        stations=users,
        law=law,
        window=window,
    )
