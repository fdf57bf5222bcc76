"""The values that a parameter goes through: a list of them, points of a range, or drawn from one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.plain import plain
from airqueue.sweep.errors import SweepError
from airqueue.toml_text import found

MOST_VALUES: Final = 10_000
RANGE_KEYS: Final = frozenset(("from", "to", "points", "scale"))
_SCALES: Final = ("linear", "log")
_QUANTITY: Final = re.compile(
    r"\s*([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?)\s*([^\s\d].*?)\s*"
)
_LONGEST: Final = 60
_WHOLE: Final = frozenset(("B", "packet", "packets"))
"""Units of which there are whole numbers only."""
_DIGITS: Final = 6
"""Significant digits of what a range computes, unless it is a whole number."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A parameter that goes through values one by one."""

    path: str
    values: tuple[Any, ...]
    logarithmic: bool = False
    """Whether each is the one before times a factor, so that a logarithmic axis suits."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range from which a parameter's values are computed or drawn."""

    path: str
    first: float
    last: float
    unit: str
    """As it is written behind a number; "" without one."""
    whole: bool
    logarithmic: bool

    def at(self, share: Fraction) -> Any:
        """Return the value so far along the range, 0 to 1, as a scenario has it."""
        if share in (0, 1):
            return self._written(self.last if share else self.first)
        if self.logarithmic:
            value = self.first * (self.last / self.first) ** float(share)
        else:
            first, last = Fraction(self.first), Fraction(self.last)
            value = float(first + (last - first) * share)
        if self.whole:
            return self._written(round(value))
        # Rounding does not lead out of the range.
        low, high = sorted((self.first, self.last))
        return self._written(min(max(float(f"{value:.{_DIGITS}g}"), low), high))

    def drawn(self, share: Fraction) -> Any:
        """Return the value at a share that was drawn; whole numbers are equally likely."""
        if not self.whole or self.logarithmic:
            return self.at(share)
        low, high = min(self.first, self.last), max(self.first, self.last)
        return self._written(low + math.floor(share * int(high - low + 1)))

    def _written(self, value: float) -> Any:
        if not self.unit:
            return int(value) if self.whole else float(value)
        number = Decimal(repr(value)).normalize()
        return f"{number:f} {self.unit}"


def read(path: str, given: Any) -> Listed | Span:
    """Return what the value of a parameter in a sweep file says; a Span is to be drawn from.

    Raises SweepError that names the parameter.
    """
    if isinstance(given, list | tuple):
        return Listed(path, _list(path, list(given)))
    if not isinstance(given, Mapping):
        raise SweepError(
            f"parameters.{path}: {found(given)}; expected a list of values, as in [1, 2, 5], or a "
            'range, as in {from = "1 Mb/s", to = "10 Mb/s", points = 4}'
        )
    unknown = sorted(given.keys() - RANGE_KEYS)
    if unknown:
        raise SweepError(f"parameters.{path}.{unknown[0]}: a range has no such key; {_EXPECTED}")
    span = _span(path, given)
    if "points" not in given:
        return span
    points = given["points"]
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= MOST_VALUES:
        raise SweepError(
            f"parameters.{path}.points: {found(points)}; expected a whole number from 2 to "
            f"{MOST_VALUES:,}"
        )
    values = [span.at(Fraction(i, points - 1)) for i in range(points)]
    # Several points of a range of whole numbers may be one.
    return Listed(path, tuple(dict.fromkeys(values)), span.logarithmic)


_EXPECTED: Final = "expected from, to, and points or scale"


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
        # 1 and true are equal in Python alone.
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
    first, first_unit = _number(f"{where}.from", given["from"])
    last, last_unit = _number(f"{where}.to", given["to"])
    if first_unit != last_unit:
        raise SweepError(
            f"{where}: from {found(given['from'])} to {found(given['to'])}; write both in one unit"
        )
    if first == last:
        raise SweepError(f"{where}: from and to are the same; expected a range")
    if scale == "log" and not (first > 0 and last > 0):
        raise SweepError(f"{where}: a logarithmic range has no zero; expected from and to above it")
    whole = isinstance(first, int) and isinstance(last, int) and _is_whole(first_unit)
    return Span(path, first, last, first_unit, whole, scale == "log")


def _is_whole(unit: str) -> bool:
    return not unit or unit in _WHOLE


def _number(where: str, given: Any) -> tuple[float, str]:
    """Return a number, whole if it is written so, and the unit behind it."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        if not math.isfinite(given) or abs(given) > 1e15:
            raise SweepError(f"{where}: {found(given)}; expected a number up to 1e15")
        return given, ""
    match = (
        _QUANTITY.fullmatch(given) if isinstance(given, str) and len(given) <= _LONGEST else None
    )
    if match is None:
        raise SweepError(
            f"{where}: {found(given)}; expected a number, or one with a unit in quotes"
        )
    value = float(match[1])
    return int(value) if value.is_integer() and abs(value) < 1e15 else value, match[2]


# Units of scenario files -> last part of a column's name, and how many of it the unit is.
_UNITS: Final[Mapping[str, tuple[str, Decimal]]] = {
    **{unit: ("s", Decimal(size)) for unit, size in (
        ("ns", "1e-9"), ("us", "1e-6"), ("µs", "1e-6"), ("ms", "1e-3"), ("s", "1"), ("min", "60"),
        ("h", "3600"),
    )},
    **{f"{prefix}{unit}": ("bps", Decimal(size)) for unit in ("b/s", "bit/s") for prefix, size in (
        ("", "1"), ("k", "1e3"), ("M", "1e6"), ("G", "1e9"),
    )},
    **{f"{prefix}B": ("bytes", Decimal(size)) for prefix, size in (
        ("", "1"), ("k", "1e3"), ("M", "1e6"), ("G", "1e9"),
    )},
    **{f"{prefix}Hz": ("hz", Decimal(size)) for prefix, size in (
        ("", "1"), ("k", "1e3"), ("M", "1e6"), ("G", "1e9"),
    )},
    "packet": ("packets", Decimal(1)),
    "packets": ("packets", Decimal(1)),
    "packets/s": ("pps", Decimal(1)),
    "m": ("m", Decimal(1)),
    "dB": ("db", Decimal(1)),
    "dBm": ("dbm", Decimal(1)),
}  # fmt: skip


def quantity(value: Any) -> tuple[float, str] | None:
    """Return a number in its base unit and that unit's name in figures; None if it is none.

    >>> quantity("5.5 Mb/s"), quantity("20 packets"), quantity(3), quantity("red")
    ((5500000, 'bps'), (20, 'packets'), (3, ''), None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None or len(value) > _LONGEST or match[2] not in _UNITS:
        return None
    name, size = _UNITS[match[2]]
    base = Decimal(match[1]) * size
    return int(base) if base == base.to_integral_value() else float(base), name
