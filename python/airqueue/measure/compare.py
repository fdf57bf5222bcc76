"""Before and after: whether two measurements really differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from airqueue import stats, text
from airqueue.measure.document import Document, Session
from airqueue.measure.session import LINK_OVERHEAD_BYTES
from airqueue.measure.words import ESTIMATOR_NAMES, EstimatorName, parameters_of

Pair = tuple[float, float]


_Column = Literal[
    "delay_full_s",
    "throughput_bps",
    "sparse_idle_p50_s",
    "sparse_idle_p95_s",
    "sparse_loaded_p50_s",
    "sparse_loaded_p95_s",
]


@dataclass(frozen=True, slots=True)
class Side:
    """A quantity of one measurement; ``sessions`` is the number of values behind the interval."""

    value: float | None
    ci95: Pair | None = None
    sessions: int = 0


Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity in both measurements. ``real``: None where the data cannot tell.

    ``difference`` is after minus before, ``ci95_difference`` its 95 % confidence interval
    (Welch's), ``p`` the two-sided probability of such a difference from chance alone.
    """

    name: str
    unit: str
    before: Side
    after: Side
    difference: float | None
    ci95_difference: Pair | None
    p: float | None
    real: bool | None
    because: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements side by side."""

    verdicts: tuple[str, str]
    disciplines: tuple[str | None, str | None]
    """Names, with parameters where known; None where none is known."""
    counted_in: tuple[str, str]
    changes: tuple[Change, ...]
    cautions: tuple[str, ...]
    """Differences between the two measurements besides the device."""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values (docs/output.md)."""
        return {"format": "airqueue-comparison", "version": 1, **asdict(self)}


def compare(before: Document, after: Document) -> Comparison:
    """Compare two results (`schema.json`).

    Counts are compared only where both measurements found one FIFO: elsewhere they are no capacities.
    """
    changes = [_capacity(before, after), *_token_bucket(before, after)]
    if before["verdict"] == after["verdict"] == "fifo":
        changes += [
            _estimate(before, after, name, size)
            for size in _common_sizes(before, after)
            for name in ESTIMATOR_NAMES
            if _values(before, name, size) or _values(after, name, size)
        ]
    compared: tuple[tuple[str, str, _Column], ...] = (
        ("sparse flow under load, median", "s", "sparse_loaded_p50_s"),
        ("sparse flow under load, p95", "s", "sparse_loaded_p95_s"),
        ("sparse flow idle, median", "s", "sparse_idle_p50_s"),
        ("sparse flow idle, p95", "s", "sparse_idle_p95_s"),
        ("delay when full", "s", "delay_full_s"),
        ("rate", "b/s", "throughput_bps"),
    )
    for what, unit, key in compared:
        changes += [
            _welch(
                f"{what}, {size} B",
                unit,
                _column(before, key, size),
                _column(after, key, size),
                0.0,
            )
            for size in _common_sizes(before, after)
            if _column(before, key, size) or _column(after, key, size)
        ]
    return Comparison(
        (before["verdict"], after["verdict"]),
        (_discipline(before), _discipline(after)),
        (before["counted_in"], after["counted_in"]),
        tuple(changes),
        tuple(_cautions(before, after)),
    )


def _discipline(result: Document) -> str | None:
    """Return the discipline in words, with the parameters that are known to both ends."""
    found = result.get("discipline")
    if found is None or found["name"] is None:
        return None
    known = [
        f"{name} {text.seconds(parameter['value'])}"
        for name, parameter in parameters_of(found)
        if parameter["ci95"][0] > 0
    ]
    return f"{found['says']} ({', '.join(known)})" if known else found["says"]


def _capacity(before: Document, after: Document) -> Change:
    """Compare the headline capacities by their intervals, widened by the resolutions.

    The headline joins packet sizes, so there are no samples for Welch's test. The standard error
    of each side is taken from its interval with the normal quantile, which is a little too wide
    for few sessions: it errs towards "no change".
    """
    unit = before["capacity_unit"] or after["capacity_unit"] or "packets"
    sides = [
        Side(r["capacity"], _pair(r["ci95"]), sum(1 for s in r["sessions"] if s["accepted"]))
        for r in (before, after)
    ]
    one, two = sides
    if None not in (one.value, two.value) and before["capacity_unit"] != after["capacity_unit"]:
        because = " and ".join(_own_unit(r) for r in (before, after))
        return Change("capacity", "", one, two, None, None, None, None, because)
    if one.value is None or two.value is None:
        which = "neither has" if one.value is two.value else "only one has"
        return Change(
            "capacity", unit, one, two, None, None, None, None, f"{which} a capacity to compare"
        )
    return _of_intervals("capacity", unit, (one, two), _resolution(before, after, unit))


def _token_bucket(before: Document, after: Document) -> list[Change]:
    """Compare the depths of token buckets, where either measurement shows one."""
    found = [result.get("token_bucket") for result in (before, after)]
    if not any(found):
        return []
    one, two = (
        Side(None) if bucket is None else Side(bucket["bytes"], _pair(bucket["ci95_bytes"]))
        for bucket in found
    )
    if None in (one.value, two.value):
        because = f"only the {'second' if one.value is None else 'first'} shows a token bucket"
        return [Change("token bucket", "bytes", one, two, None, None, None, None, because)]
    return [_of_intervals("token bucket", "bytes", (one, two), _resolution(before, after, "bytes"))]


def _of_intervals(name: str, unit: str, sides: Sides, resolution: float) -> Change:
    """Compare values by their intervals; see `_capacity`."""
    one, two = sides
    assert one.value is not None
    assert two.value is not None
    difference = two.value - one.value
    if one.ci95 is None or two.ci95 is None:
        because = "a measurement without a confidence interval cannot tell"
        return Change(name, unit, one, two, difference, None, None, None, because)
    half = math.hypot(*((side.ci95[1] - side.ci95[0]) / 2 for side in sides if side.ci95))
    bounds = (difference - half, difference + half)
    # The error of a wholly certain pair (half = 0) is below the resolution, never exactly zero.
    p = 2 * NormalDist().cdf(-abs(difference) / (half / 1.96)) if half > 0 else None
    return _judged(name, unit, sides, bounds=bounds, p=p, resolution=resolution)


def _own_unit(result: Document) -> str:
    """Return a capacity in its own unit, and what it is in the other for the largest packets."""
    capacity, unit = result["capacity"], result["capacity_unit"]
    size = max(_sizes(result), default=1500)
    frame = size + LINK_OVERHEAD_BYTES
    assert capacity is not None
    if unit == "bytes":
        same = text.quantity(capacity // frame, "packets")
    else:
        same = text.quantity(capacity * frame, "bytes")
    return f"{text.quantity(capacity, unit or 'packets')} ({same} with packets of {size} B)"


def _estimate(before: Document, after: Document, name: EstimatorName, size: int) -> Change:
    return _welch(
        f"{ESTIMATOR_NAMES[name]}, {size} B",
        "packets",
        _values(before, name, size),
        _values(after, name, size),
        _resolution(before, after, "packets"),
    )


def _welch(
    name: str, unit: str, before: Sequence[float], after: Sequence[float], resolution: float
) -> Change:
    """Welch's t-test on the accepted sessions of both measurements."""
    one, two = _side(before), _side(after)
    if one.value is None or two.value is None:
        because = "not measured on both sides"
        return Change(name, unit, one, two, None, None, None, None, because)
    difference = two.value - one.value
    if len(before) < 2 or len(after) < 2:
        because = "a single session on one side cannot tell"
        return Change(name, unit, one, two, difference, None, None, None, because)
    squares = [float(np.var(values, ddof=1)) / len(values) for values in (before, after)]
    if sum(squares) == 0:
        return _judged(
            name, unit, (one, two), bounds=(difference, difference), p=None, resolution=resolution
        )
    freedom = sum(squares) ** 2 / sum(
        square**2 / (len(values) - 1)
        for square, values in zip(squares, (before, after), strict=True)
    )
    error = math.sqrt(sum(squares))
    half = stats.t_quantile(freedom) * error
    p = 2 * stats.t_above(abs(difference) / error, freedom)
    return _judged(
        name,
        unit,
        (one, two),
        bounds=(difference - half, difference + half),
        p=p,
        resolution=resolution,
    )


def _judged(
    name: str, unit: str, sides: Sides, *, bounds: Pair, p: float | None, resolution: float
) -> Change:
    """A change is real when its whole interval lies beyond what the method can resolve."""
    real = bounds[0] > resolution or bounds[1] < -resolution
    if real:
        because = "the 95 % interval of the difference does not contain zero"
    elif bounds[0] > 0 or bounds[1] < 0:
        because = f"within the resolution of {text.quantity(resolution, unit)}"
    else:
        because = "the 95 % interval of the difference contains zero"
    difference = (bounds[0] + bounds[1]) / 2
    return Change(name, unit, *sides, difference, bounds, p, real, because)


def _side(values: Sequence[float]) -> Side:
    if not values:
        return Side(None)
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return Side(mean, None, n)
    half = stats.t_quantile(n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Side(mean, (mean - half, mean + half), n)


def _resolution(before: Document, after: Document, unit: str) -> float:
    """Return the coarser resolution of the measurements, in ``unit``; at least APQ's one packet."""
    packets = max([1.0, *(r["resolution"]["packets"] for r in (before, after) if r["resolution"])])
    if unit == "packets":
        return float(packets)
    return float(packets * max([*_sizes(before), *_sizes(after)], default=1500))


def _cautions(before: Document, after: Document) -> list[str]:
    said = [
        f"The {what} differs: {then} before, {now} after."
        for what, then, now in (
            ("direction", before["direction"], after["direction"]),
            ("profile", before["profile"], after["profile"]),
            ("target", before["target"], after["target"]),
        )
        if then != now
    ]
    if not _common_sizes(before, after):
        said.append(
            f"The packet sizes have nothing in common ({_size_list(before)} before, "
            f"{_size_list(after)} after)."
        )
    for which, result in (("first", before), ("second", after)):
        if result["interrupted"]:
            said.append(f"The {which} measurement was interrupted.")
    return said


def _values(result: Document, name: EstimatorName, size: int) -> list[float]:
    found = [session["estimates"].get(name) for session in _accepted(result, size)]
    return [value for value in found if value is not None]


def _column(result: Document, key: _Column, size: int) -> list[float]:
    return [value for s in _accepted(result, size) if (value := s.get(key)) is not None]


def _accepted(result: Document, size: int) -> list[Session]:
    return [s for s in result["sessions"] if s["accepted"] and s["size_bytes"] == size]


def _sizes(result: Document) -> set[int]:
    return {s["size_bytes"] for s in result["sessions"]}


def _common_sizes(before: Document, after: Document) -> list[int]:
    return sorted(_sizes(before) & _sizes(after), reverse=True)


def _size_list(result: Document) -> str:
    return text.listed([f"{size} B" for size in sorted(_sizes(result))]) or "none"


def _pair(bounds: Sequence[float] | None) -> Pair | None:
    return None if bounds is None else (float(bounds[0]), float(bounds[1]))
