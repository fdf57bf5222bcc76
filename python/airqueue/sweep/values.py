"""The values of a parameter: a list, points of a range, or values drawn from a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from airqueue import _native
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.plain import plain
from airqueue.sweep.errors import SweepError
from airqueue.toml_text import found

MOST_VALUES: Final = 10_000
RANGE_KEYS: Final = frozenset(("from", "to", "points", "scale"))
_SCALES: Final = ("linear", "log")


@dataclass(frozen=True, slots=True)
class Listed:
    """A parameter with a list of values."""

    path: str
    values: tuple[Any, ...]
    logarithmic: bool = False
    """Whether values grow by a constant factor, so that a logarithmic axis fits."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range from which a parameter's values are drawn."""

    path: str
    range: _native.Range

    def drawn(self, share: Fraction) -> Any:
        """Return the value at a share of the range, 0 to 1; whole numbers are equally likely."""
        return self.range.drawn(float(share))


def read(path: str, given: Any) -> Listed | Span:
    """Read the value of a parameter in a sweep file; values are drawn from a Span.

    Raises SweepError that names the parameter.
    """
    if isinstance(given, list | tuple):
        return Listed(path, _list(path, list(given)))
    if isinstance(given, str):
        return _text(path, given)
    if not isinstance(given, Mapping):
        raise SweepError(
            f"parameters.{path}: {found(given)}; expected a list of values, as in [1, 2, 5], or a "
            'range, as in "1..10" or {from = "1 Mb/s", to = "10 Mb/s", points = 4}'
        )
    unknown = sorted(given.keys() - RANGE_KEYS)
    if unknown:
        raise SweepError(f"parameters.{path}.{unknown[0]}: unknown key of a range; {_EXPECTED}")
    span = _span(path, given)
    if "points" not in given:
        return span
    points = given["points"]
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= MOST_VALUES:
        raise SweepError(
            f"parameters.{path}.points: {found(points)}; expected a whole number from 2 to "
            f"{MOST_VALUES:,}"
        )
    # Several points of a range of whole numbers may be one.
    return Listed(path, tuple(span.range.points(points)), given.get("scale") == "log")


_EXPECTED: Final = "expected from, to, and points or scale"


def _text(path: str, given: str) -> Listed:
    """Read a list or a range in the grammar of `airqueue_core::ranges`."""
    try:
        values, swept, geometric = _native.parse_values(given, "any", most=MOST_VALUES)
    except ValueError as error:
        raise SweepError(f"parameters.{path}: {error}") from error
    if not swept:
        raise SweepError(
            f"parameters.{path}: {found(given)} is one value; expected several, as in [1, 2, 5] or "
            '"1..10"'
        )
    return Listed(path, _list(path, values), geometric)


def _list(path: str, given: list[Any]) -> tuple[Any, ...]:
    try:
        values = plain(given, f"parameters.{path}")
    except ScenarioError as error:
        raise SweepError(str(error)) from error
    if not 1 <= len(values) <= MOST_VALUES:
        raise SweepError(
            f"parameters.{path}: a list of {len(values):,}; expected 1 to {MOST_VALUES:,} values"
        )
    for index, value in enumerate(values):
        # Python alone treats 1 and true as equal.
        if any(value == each and type(value) is type(each) for each in values[:index]):
            raise SweepError(f"parameters.{path}: {found(value)} is in the list twice")
    return tuple(values)


def _span(path: str, given: Mapping[str, Any]) -> Span:
    where = f"parameters.{path}"
    for key in ("from", "to"):
        if key not in given:
            raise SweepError(f"{where}: a range without {key}; {_EXPECTED}")
    scale = given.get("scale", "linear")
    if scale not in _SCALES:
        raise SweepError(f"{where}.scale: {found(scale)}; expected 'linear' or 'log'")
    for key in ("from", "to"):
        _check_number(f"{where}.{key}", given[key])
    try:
        return Span(path, _native.Range(given["from"], given["to"], scale == "log"))
    except ValueError as error:
        raise SweepError(f"{where}: {error}") from error


def _check_number(where: str, given: Any) -> None:
    """Refuse values that are neither numbers nor quantities."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        if not math.isfinite(given) or abs(given) > 1e15:
            raise SweepError(f"{where}: {found(given)}; expected a number up to 1e15")
    elif not isinstance(given, str) or _native.measure(given) is None:
        raise SweepError(
            f'{where}: {found(given)}; expected a number, or one with a unit, as in "5.5 Mb/s"'
        )


def quantity(value: Any) -> tuple[float, str] | None:
    """Return a number in its base unit and the unit's suffix in figures; None for other values.

    >>> quantity("5.5 Mb/s"), quantity("20 packets"), quantity(3), quantity("red")
    ((5500000, 'bps'), (20, 'packets'), (3, ''), None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    return _native.measure(value) if isinstance(value, str) else None
