"""A diagnosis as a data file of flent (https://flent.org), which draws and compares such files.

flent finds its plots by the name of a test, and the series of a plot by their names. Its test
``rtt_fair_var_mixed`` has a ping to each of its hosts, and a download and an upload with those that
`data_directions` names: our legs are these hosts.
"""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airqueue.diagnose.legs import INTERVAL_S
from airqueue.diagnose.records import Direction, Floats, Leg, Load, Records
from airqueue.diagnose.result import created_at

SUFFIX: Final = ".flent.gz"
"""By which flent knows its files."""
FORMAT_VERSION: Final = 4
TEST: Final = "rtt_fair_var_mixed"
_TIME: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
_PINGS: Final = {"icmp": "ICMP", "hop": "ICMP", "tcp": "TCP", "udp": "UDP", "server": "UDP"}
_NEITHER: Final = "-"
"""In the list of directions, of a host without loads; flent looks for the letters d and u."""
_NOTE: Final = (
    "Diagnosis of airqueue: the hosts are legs of one path. Rates are those of IP packets."
)

Series = list[float | None]
Steps = npt.NDArray[np.int64]


def document(records: Records, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the file; ``about`` has ``airqueue``, ``created`` and ``target``.

    Values of a series are those of the probes themselves, each at the step in which it was sent;
    ``raw_values`` have the exact times.
    """
    legs = _legs(records)
    length_s = _length_s(records)
    places = [_places(leg) for leg in legs]
    steps = 1 + max((int(each.max()) for each in places), default=0)
    # The records end when the document is made.
    zero = created_at(about["created"]) - datetime.timedelta(seconds=length_s)
    results: dict[str, Series] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    meta: dict[str, dict[str, Any]] = {}
    for leg, at in zip(legs, places, strict=True):
        name = f"Ping (ms) {_PINGS[leg.method]} {leg.name}"
        results[name] = _at_steps(leg, at, steps)
        raw[name] = _raw(leg, zero.timestamp())
        meta[name] = {"UNITS": "ms", "RUNNER": "airqueue", "HOST": leg.host, "METHOD": leg.method}
    for load in _loads(records, legs):
        name = f"TCP {'download' if load.direction == 'down' else 'upload'} BE {load.site}"
        # Both directions at once come after each alone, in the same series.
        results[name] = _with_rates(results.get(name, [None] * steps), load)
        raw[name] = _raw_rates(results[name], zero.timestamp())
        meta[name] = {"UNITS": "Mbits/s", "RUNNER": "airqueue", "LOAD": load.kind}
    return {
        "version": FORMAT_VERSION,
        "x_values": [round(k * INTERVAL_S, 9) for k in range(steps)],
        "results": results,
        "raw_values": raw,
        "metadata": _metadata(records, about, legs, zero, length_s) | {"SERIES_META": meta},
    }


def content(records: Records, about: Mapping[str, Any], file_name: str) -> bytes:
    """Return the bytes of the file; ``file_name`` is by what flent names it."""
    made = document(records, about)
    made["metadata"]["DATA_FILENAME"] = file_name
    # Without the time of packing: equal records give equal files.
    return gzip.compress(json.dumps(made, sort_keys=True).encode(), mtime=0)


def _metadata(
    records: Records,
    about: Mapping[str, Any],
    legs: Sequence[Leg],
    zero: datetime.datetime,
    length_s: float,
) -> dict[str, Any]:
    parameters = {
        "ping_labels": ",".join(_PINGS[leg.method] for leg in legs),
        "data_directions": ",".join(_directions(records, leg) for leg in legs),
    }
    return {
        "NAME": TEST,
        "TITLE": str(about["target"]),
        "NOTE": _NOTE,
        "TIME": zero.strftime(_TIME),
        "T0": zero.strftime(_TIME),
        "LENGTH": round(length_s),
        "TOTAL_LENGTH": length_s,
        "STEP_SIZE": INTERVAL_S,
        # Plots name it; a diagnosis does not know how others call the machine that made it.
        "LOCAL_HOST": "this machine",
        "HOST": str(about["target"]),
        "HOSTS": [leg.name for leg in legs],
        "TEST_PARAMETERS": parameters,
        "FLENT_VERSION": f"airqueue-{about['airqueue']}",
    }


def _legs(records: Records) -> list[Leg]:
    """Return the legs that answered; one that never did has nothing to draw."""
    return [leg for leg in records.legs if leg.answered]


def _loads(records: Records, legs: Sequence[Leg]) -> list[Load]:
    """Return the loads whose rate is known, to the ends of legs that flent knows."""
    names = {leg.name for leg in legs}
    loads = (*records.loads, *records.together)
    return [load for load in loads if load.carried_bps is not None and load.site in names]


def _directions(records: Records, leg: Leg) -> str:
    letters: dict[Direction, str] = {"down": "d", "up": "u"}
    found = {letters[load.direction] for load in _loads(records, [leg])}
    return "".join(sorted(found)) or _NEITHER


def _length_s(records: Records) -> float:
    """Return the time of the last probe."""
    return max((float(leg.sent_s.max()) for leg in records.legs if len(leg.sent_s)), default=0.0)


def _places(leg: Leg) -> Steps:
    """Return the step of each probe: those of a leg are a step apart, but for the host's lateness."""
    first = int(leg.sent_s[0] / INTERVAL_S)
    found: Steps = first + np.rint((leg.sent_s - leg.sent_s[0]) / INTERVAL_S).astype(np.int64)
    return found


def _at_steps(leg: Leg, places: Steps, steps: int) -> Series:
    """Return the milliseconds of a leg by step."""
    values: Series = [None] * steps
    for place, trip_ms in zip(places, _milliseconds(leg), strict=True):
        if not np.isnan(trip_ms):
            values[place] = float(trip_ms)
    return values


def _raw(leg: Leg, zero: float) -> list[dict[str, float]]:
    """Return the answered probes with the seconds of their sending since 1970."""
    return [
        {"t": zero + float(sent_s), "val": float(trip_ms), "seq": number}
        for number, (sent_s, trip_ms) in enumerate(
            zip(leg.sent_s, _milliseconds(leg), strict=True), 1
        )
        if not np.isnan(trip_ms)
    ]


def _milliseconds(leg: Leg) -> Floats:
    # To the nanosecond, as the records are.
    return np.round(1e3 * leg.round_trip_s, 6)


def _with_rates(values: Series, load: Load) -> Series:
    """Return the series with the rates of a load, in Mb/s, in the steps of the load."""
    assert load.carried_bps is not None
    values = [*values]
    for began_s, ended_s, bps in load.rates or ((load.began_s, load.ended_s, load.carried_bps),):
        first, end = (int(np.ceil(at / INTERVAL_S - 1e-9)) for at in (began_s, ended_s))
        for place in range(first, min(end, len(values))):
            values[place] = bps / 1e6
    return values


def _raw_rates(values: Series, zero: float) -> list[dict[str, float]]:
    return [
        {"t": zero + place * INTERVAL_S, "val": value}
        for place, value in enumerate(values)
        if value is not None
    ]
