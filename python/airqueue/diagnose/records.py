"""What a diagnosis rests on: round trips on each leg, and when the path was loaded.

Every finding of `airqueue diagnose` is a pure function of these records, which its JSON contains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Direction = Literal["down", "up"]
LoadKind = Literal["tcp", "flood", "web"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("down", "up")

GATEWAY: Final = "gateway"
"""Leg to the first router: behind it the radio network ends."""
SERVER: Final = "server"
"""Leg to the server beyond the provider's line, or wherever HOST is."""
WIRE: Final = "wire"
"""Leg to a server on the access point's own wire."""
NANOSECONDS: Final = 9
"""Decimals of times in JSON."""
STRETCH_S: Final = 0.1
"""Of which the rate of a load is recorded."""
Stretch = tuple[float, float, float]
"""Begin and end in seconds, bits of IP packets per second."""


def seconds(ns: npt.NDArray[np.int64]) -> Floats:
    """Return times in seconds, rounded as JSON has them: the findings do not change on the way."""
    return np.round(ns * 1e-9, NANOSECONDS)


def stretches(at_s: Floats, bits: Floats) -> tuple[Stretch, ...]:
    """Return the rates between the times ``at_s``, shape (n + 1,), in which ``bits`` arrived, (n,).

    Times that are less than half of `STRETCH_S` apart are taken together.
    """
    found = []
    began, held = float(at_s[0]), 0.0
    for end, more in zip(at_s[1:].tolist(), bits.tolist(), strict=True):
        held += more
        if end - began >= STRETCH_S / 2:
            found.append((round(began, 6), round(end, 6), round(held / (end - began), 1)))
            began, held = end, 0.0
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Leg:
    """Round trips to one place. Arrays of equal length, seconds since the diagnosis began.

    ``round_trip_s`` is NaN where no answer came. ``failed``: why nothing could be sent.
    """

    name: str
    host: str
    method: str
    sent_s: Floats
    round_trip_s: Floats
    answered_by: str | None = None
    failed: str | None = None

    @property
    def answered(self) -> int:
        """Number of answered probes."""
        return int(np.count_nonzero(~np.isnan(self.round_trip_s)))

    def between(self, began_s: float, ended_s: float) -> Leg:
        """Return the probes that were sent in [began, ended)."""
        chosen = (self.sent_s >= began_s) & (self.sent_s < ended_s)
        return Leg(
            self.name,
            self.host,
            self.method,
            self.sent_s[chosen],
            self.round_trip_s[chosen],
            self.answered_by,
            self.failed,
        )


@dataclass(frozen=True, slots=True)
class OneWay:
    """Sparse packets in the direction of a load, before it and under it. Arrays of equal length.

    ``sent_s``: seconds since the diagnosis began. ``delay_s``: above the shortest of these delays,
    since the clocks of the two ends differ; NaN where a packet was lost. ``opened_s``: when the
    load began.
    """

    opened_s: float
    sent_s: Floats
    delay_s: Floats


@dataclass(frozen=True, slots=True)
class Load:
    """One load, and the time in which the queue that it fills had filled.

    ``site``: leg to whose end the load went. ``carried_bps``: IP bits per second that arrived; of TCP
    what its data take in full packets.
    ``rates``: the same over time, fill included: stretches of `STRETCH_S` or a little more, each with
    its begin, end and rate; empty if not recorded.
    ``flood_rise_s``: delay of the flood's own packets above the empty path, if it was a flood.
    ``idle``: the load could not fill any queue, and why.
    ``one_way``: packets of another flow in the direction of the load, if it was of TCP.
    """

    site: str
    direction: Direction
    kind: LoadKind
    began_s: float
    ended_s: float
    carried_bps: float | None = None
    flood_rise_s: float | None = None
    idle: str | None = None
    rates: tuple[Stretch, ...] = ()
    one_way: OneWay | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """All legs, all loads, and the times without load."""

    legs: tuple[Leg, ...]
    loads: tuple[Load, ...]
    quiet: tuple[tuple[float, float], ...]
    together: tuple[Load, ...] = ()
    """Loads that ran two at a time, one in each direction: pairs with one begin and one end."""

    def leg(self, name: str) -> Leg | None:
        """Return the leg if it was probed and anything answered."""
        found = next((leg for leg in self.legs if leg.name == name), None)
        return found if found is not None and found.answered else None


def to_json(records: Records) -> dict[str, Any]:
    """Return plain JSON values; a round trip without an answer is null."""
    return {
        "legs": [
            {
                "name": leg.name,
                "host": leg.host,
                "method": leg.method,
                "answered_by": leg.answered_by,
                "failed": leg.failed,
                "sent_s": np.round(leg.sent_s, NANOSECONDS).tolist(),
                "round_trip_s": _gaps(leg.round_trip_s),
            }
            for leg in records.legs
        ],
        "loads": [_load_to_json(load) for load in records.loads],
        "together": [_load_to_json(load) for load in records.together],
        "quiet": [list(each) for each in records.quiet],
    }


def _load_to_json(load: Load) -> dict[str, Any]:
    found = {name: getattr(load, name) for name in Load.__dataclass_fields__}
    way = load.one_way
    return found | {
        "rates": [list(each) for each in load.rates],
        "one_way": None
        if way is None
        else {
            "opened_s": way.opened_s,
            "sent_s": way.sent_s.tolist(),
            "delay_s": _gaps(way.delay_s),
        },
    }


def _gaps(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), NANOSECONDS) for value in values]


def from_json(document: Mapping[str, Any]) -> Records:
    """Return the records of a document that the schema accepts."""
    legs = [
        Leg(
            leg["name"],
            leg["host"],
            leg["method"],
            np.array(leg["sent_s"], dtype=float),
            _with_gaps(leg["round_trip_s"]),
            leg["answered_by"],
            leg["failed"],
        )
        for leg in document["legs"]
    ]
    loads, together = (
        tuple(_load_from_json(load) for load in document.get(name, ()))
        for name in ("loads", "together")
    )
    quiet = [(float(began), float(ended)) for began, ended in document["quiet"]]
    return Records(tuple(legs), loads, tuple(quiet), together)


def _load_from_json(load: Mapping[str, Any]) -> Load:
    rates = tuple((begin, end, bps) for begin, end, bps in load["rates"])
    way = load.get("one_way")
    one_way = way and OneWay(
        way["opened_s"], np.array(way["sent_s"], dtype=float), _with_gaps(way["delay_s"])
    )
    return Load(**{**load, "rates": rates, "one_way": one_way})


def _with_gaps(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=float)
