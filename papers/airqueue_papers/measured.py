"""Text and series for our numbers, shared by several papers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from airqueue_papers.finding import Value
from airqueue_papers.picture import Series


def series(label: str, values: Mapping[Any, Value] | Mapping[Any, float], **options: Any) -> Series:
    """Return a series over a mapping from x to values, with intervals if all have one."""
    found = [each if isinstance(each, Value) else Value(each) for each in values.values()]
    bounded = bool(found) and all(each.low is not None for each in found)
    return Series(
        label,
        tuple(values),
        tuple(each.mean for each in found),
        tuple(each.low for each in found) if bounded else None,
        tuple(each.high for each in found) if bounded else None,
        **options,
    )


def percent(share: float, digits: int = 1) -> str:
    """Return ``3.2 %`` for 0.032."""
    return f"{100 * share:.{digits}f} %"


def apart(one: float, other: float) -> float:
    """Return the distance of a number from another, as a share of the other."""
    return abs(one - other) / abs(other)


def furthest(pairs: Mapping[Any, tuple[float, float]]) -> tuple[Any, float]:
    """Return the key of the pair with the largest relative distance, and this distance."""
    key = max(pairs, key=lambda each: apart(*pairs[each]))
    return key, apart(*pairs[key])


def grows(values: Iterable[float]) -> bool:
    """Return whether each value is larger than the one before."""
    return all(one < other for one, other in itertools.pairwise(values))


def above(value: Value, bound: float = 0.0) -> bool:
    """Return whether a value is above a bound with its whole 95 % interval, if there is one."""
    return (value.mean if value.low is None else value.low) > bound


def apart_above(one: Value, other: Value) -> bool:
    """Return whether one value is above another, and their 95 % intervals lie apart."""
    return above(one, other.mean if other.high is None else other.high)


def scaled(value: Value, by: float) -> Value:
    """Return a value in another unit."""
    low, high = (None if each is None else each * by for each in (value.low, value.high))
    return Value(value.mean * by, low, high)


def interval(value: Value, scale: float = 1.0, digits: int = 3) -> str:
    """Return ``1.234 (1.2 to 1.3)``, the mean and its 95 % interval if there is one."""
    text = f"{scale * value.mean:.{digits}f}"
    if value.low is None or value.high is None:
        return text
    return f"{text} ({scale * value.low:.{digits}f} to {scale * value.high:.{digits}f})"
