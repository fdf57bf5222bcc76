"""The runs that tell how stations win the medium.

``rate``  a short upload of one station, faster from run to run, until the path carries less;
``equal``  uploads of all stations in best effort;
``category``  one station in another category and the others in best effort, and the reverse.

In the last two every station is offered more than it may get. Arrivals at the server are compared by
the server's clock alone: no two clocks need agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airqueue.measure.plan import Plan, Segment, cbr, traffic_class
from airqueue.measure.stations.plans import MOST, OWN_FLOWS, SIZE_BYTES, Planned, flow_of
from airqueue.uploads.settings import CATEGORIES, DSCPS, Category

PROFILE: Final = "uploads"
RATE: Final = "rate"
EQUAL: Final = "equal"
CATEGORY: Final = "category"
"""Kinds of these runs in their meta data."""
RATE_S: Final = 0.4
OVERLOAD: Final = 1.6
"""What a station is offered over what its path carries alone in best effort: with a TXOP it may get
more than that, even beside others."""
PACKETS: Final = 10_000
"""Of all stations together, in a run."""
FEWEST: Final = 1500
"""Of the station that is predicted to get the fewest."""
LEAST_S: Final = 4.0
LONGEST_S: Final = 20.0
MOST_PACKETS: Final = 300_000
"""Of a run; faster paths have shorter ones."""
SHORTEST_S: Final = 1.0
LAST_S: Final = 0.2
"""After the upload a last packet of each flow, which ends the run if it arrives."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What a station sends: packets per second in a category."""

    station: int
    rate_pps: float
    category: Category = "be"


def rate_plan(station: int, rate_pps: float, index: int) -> Planned:
    """Lay out a short upload of one station."""
    meta = {"kind": RATE, "index": index, "says": "upload of one station"}
    return _laid_out([Upload(station, rate_pps)], RATE_S, meta)


def equal_plan(rates_pps: Sequence[float], most_pps: float) -> Planned | None:
    """Lay out uploads of all stations in best effort; None if that much cannot be sent.

    ``rates_pps``: what the path of each station carries alone.
    """
    meta = {"kind": EQUAL, "index": 0, "says": "uploads in best effort"}
    return _together(rates_pps, ["be"] * len(rates_pps), most_pps, PACKETS, meta)


def category_plan(
    rates_pps: Sequence[float],
    category: Category,
    *,
    first: bool,
    most_pps: float,
    contrast: float = 1.0,
) -> Planned | None:
    """Lay out uploads in two categories; None if that much cannot be sent.

    ``first``: this machine is in the category and the others are in best effort, else the reverse.
    ``contrast``: predicted accesses of a station that has more over those of one that has fewer.
    """
    others: Category = "be" if first else category
    own: Category = category if first else "be"
    meta = {
        "kind": CATEGORY,
        "index": 2 * CATEGORIES.index(category) + int(first),
        "category": category,
        "first": first,
        "says": "uploads in two categories",
    }
    categories = [own, *[others] * (len(rates_pps) - 1)]
    packets = max(PACKETS, FEWEST * len(rates_pps) * contrast)
    return _together(rates_pps, categories, most_pps, packets, meta)


def _together(
    rates_pps: Sequence[float],
    categories: Sequence[Category],
    most_pps: float,
    packets: float,
    meta: dict[str, Any],
) -> Planned | None:
    uploads = [
        Upload(station, OVERLOAD * rate, category)
        for station, (rate, category) in enumerate(zip(rates_pps, categories, strict=True))
    ]
    offered = sum(each.rate_pps for each in uploads)
    if offered > most_pps:
        return None
    # All stations together carry about the harmonic mean of what each does alone.
    carried = len(rates_pps) / sum(1 / rate for rate in rates_pps)
    wanted = min(max(LEAST_S, packets / carried), LONGEST_S)
    return _laid_out(uploads, max(SHORTEST_S, min(wanted, MOST_PACKETS / offered)), meta)


def _laid_out(uploads: Sequence[Upload], length_s: float, meta: dict[str, Any]) -> Planned:
    """Put a last packet of each flow behind the uploads; this machine has the very last."""
    segments = [
        cbr(flow_of(u.station), 0.0, length_s, u.rate_pps, SIZE_BYTES, traffic_class=_class(u))
        for u in uploads
    ]
    last = length_s + LAST_S
    segments += [
        Segment(flow_of(u.station), last, 0.0, 1, SIZE_BYTES, _class(u))
        for u in sorted(uploads, key=lambda u: u.station == 0)
    ]
    about = {
        "profile": PROFILE,
        "size_bytes": SIZE_BYTES,
        **meta,
        "uploads": [[u.station, u.rate_pps, u.category] for u in uploads],
        "length_s": length_s,
    }
    return Plan(tuple(segments)), about


def _class(upload: Upload) -> int:
    return traffic_class(DSCPS[upload.category])


def uploads_of(meta: Mapping[str, Any]) -> list[Upload]:
    """Return what was sent in a run."""
    return [Upload(int(s), float(pps), category) for s, pps, category in meta["uploads"]]


def fits(meta: Mapping[str, Any]) -> bool:
    """Whether a description of a stored run is one that `verdict` can rely on."""
    kind, uploads, length = meta.get("kind"), meta.get("uploads"), meta.get("length_s")
    if kind not in (RATE, EQUAL, CATEGORY) or not isinstance(uploads, list) or not uploads:
        return False
    if not isinstance(length, int | float) or not 0 < length < 86_400:
        return False
    if not all(map(_upload, uploads)) or len({u[0] for u in uploads}) != len(uploads):
        return False
    if kind == RATE:
        return len(uploads) == 1
    whole = [u[0] for u in uploads] == list(range(len(uploads))) and len(uploads) > 1
    return whole and (
        kind == EQUAL
        or (meta.get("category") in CATEGORIES and isinstance(meta.get("first"), bool))
    )


def _upload(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    station, pps, category = value
    return (
        type(station) is int
        and 0 <= station < MOST
        and isinstance(pps, int | float)
        and 0 < pps < 1e12
        and category in CATEGORIES
    )


__all__ = [
    "CATEGORY",
    "EQUAL",
    "OWN_FLOWS",
    "PROFILE",
    "RATE",
    "SIZE_BYTES",
    "Upload",
    "category_plan",
    "equal_plan",
    "fits",
    "flow_of",
    "rate_plan",
    "uploads_of",
]
