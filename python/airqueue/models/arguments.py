"""A model's arguments as text: ``n=1..50 rate=54mbit``, values by kind, and ranges to sweep."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, TypeAlias

from airqueue.models.catalogue import Kind, Model, Parameter, near
from airqueue.models.errors import ModelError
from airqueue.units import UnitError, parse_duration, parse_rate, parse_size

MAX_POINTS: Final = 100_000
"""Points of a sweep, all its ranges multiplied."""

_LARGEST_WHOLE = 2**53
"""Beyond it, float64 no longer tells neighbouring whole numbers apart."""

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?\s*", re.IGNORECASE)
_LONGEST_NUMBER = 60

_ABSENT = "none"
"""Text for a parameter that is not given, where that is its default: ``retries=none,4,7``."""


class ArgumentError(ModelError):
    """An argument that cannot be read, as opposed to a value that a model cannot answer."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values that one parameter goes through."""

    parameter: Parameter
    values: tuple[Any, ...]
    geometric: bool = False
    """Whether each value is the one before times a factor, so that a logarithmic axis suits."""


@dataclass(frozen=True, slots=True)
class Request:
    """What of a model is to be evaluated."""

    model: Model
    fixed: Mapping[str, Any]
    """The parameters that stay as they are, defaults included."""
    sweeps: tuple[Sweep, ...]
    """The others, in the order in which they were given; the last varies fastest."""

    @property
    def points(self) -> int:
        """How many evaluations it takes."""
        return math.prod(len(sweep.values) for sweep in self.sweeps)

    @property
    def given(self) -> str:
        """The fixed parameters as they could be typed."""
        return " ".join(
            f"{p.name}={written(p.kind, self.fixed[p.name])}"
            for p in self.model.parameters
            if p.name in self.fixed
        )


def read(model: Model, arguments: Sequence[str]) -> Request:
    """Return what ``key=value`` arguments ask of a model.

    A value is read by the kind of its parameter: numbers (bit/s, seconds, bytes) or quantities with
    a unit (``54mbit``, ``100ms``, ``64KiB``). Several make a sweep: ``n=1,2,5``, ``n=1..50`` (step
    1), ``rate=1mbit..54mbit:1mbit`` (step given), ``w=2..1024*2`` (each twice the one before),
    either way round. A list is comma-separated, its alternatives by ``/``:
    ``rates=54mbit,1mbit/54mbit``.

    Raises ArgumentError.

    >>> from airqueue.models.catalogue import find
    >>> request = read(find("tay-chua"), ["n=10..50:20", "cw_min=16..64*2"])
    >>> [sweep.values for sweep in request.sweeps], request.points
    ([(10.0, 30.0, 50.0), (16.0, 32.0, 64.0)], 9)
    """
    texts = _by_key(model, arguments)
    missing = [p.name for p in model.parameters if p.required and p.name not in texts]
    if missing:
        raise ArgumentError(
            f"{model.name} needs {' and '.join(f'{name}=...' for name in missing)}, "
            f"as in {model.example!r}"
        )
    fixed, sweeps = {}, []
    parameters = {parameter.name: parameter for parameter in model.parameters}
    for name, text in texts.items():
        swept = _swept(parameters[name], text)
        if isinstance(swept, Sweep):
            sweeps.append(swept)
        else:
            fixed[name] = swept[0]
    request = Request(
        model,
        {
            p.name: fixed.get(p.name, p.default)
            for p in model.parameters
            if p.name in fixed or p.name not in texts
        },
        tuple(sweeps),
    )
    if request.points > MAX_POINTS:
        raise ArgumentError(
            f"that is {request.points:,} points and the limit is {MAX_POINTS:,}; "
            "take larger steps or sweep fewer parameters"
        )
    return request


def written(kind: Kind, value: Any) -> str:
    """Return a value as it could be typed; a list's elements are separated by commas.

    >>> written(Kind.RATE, 5.5e6), written(Kind.DURATION, 0.02), written(Kind.NUMBERS, [1.0, 2.5])
    ('5.5mbit', '20ms', '1,2.5')
    """
    if value is None:
        return _ABSENT
    if kind in _ELEMENTS:
        return ",".join(written(_ELEMENTS[kind], element) for element in value)
    if kind is Kind.DURATION or (kind is Kind.RATE and value == math.floor(value)):
        return _with_unit(float(value), _UNITS[kind])
    if isinstance(value, int | float):
        return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(value)
    return str(value)


def _with_unit(value: float, units: Sequence[tuple[str, Decimal]]) -> str:
    exact = Decimal(repr(value))
    for unit, size in units:
        count = exact / size
        if 1 <= count < 1000 and len(count.normalize().as_tuple().digits) <= 6:
            return f"{count.normalize():f}{unit}"
    return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(value)


def _by_key(model: Model, arguments: Sequence[str]) -> dict[str, str]:
    """Return the text of each key, in the order given."""
    names = [parameter.name for parameter in model.parameters]
    texts: dict[str, str] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals:
            raise ArgumentError(
                f"{argument[:40]!r} is not key=value; write for example {names[0]}=..."
            )
        if key not in names:
            raise ArgumentError(
                f"{model.name} has no parameter {key[:40]!r}; "
                f"{near(key[:40], names)}it has {', '.join(names)}"
            )
        if key in texts:
            raise ArgumentError(f"{key} is given twice; several values go as {key}=A,B")
        texts[key] = text
    return texts


def _swept(parameter: Parameter, text: str) -> Sweep | tuple[Any]:
    """Return the values of a parameter; a tuple of one where the text says just one."""
    try:
        if not text.strip():
            raise ArgumentError("there is no value")
        if parameter.kind is Kind.TEXT:
            return (None if _is_absent(parameter, text) else text,)
        if parameter.kind in _ELEMENTS:
            return _alternatives(parameter, text)
        return _items(parameter, text)
    except (ArgumentError, UnitError) as error:
        raise ArgumentError(f"{parameter.name}={_shortened(text)}: {error}") from error


def _alternatives(parameter: Parameter, text: str) -> Sweep | tuple[Any]:
    # A rate may end in "/s".
    parts = re.split(r"/(?!s(?:[,/\s]|$))", text)
    kind = _ELEMENTS[parameter.kind]
    lists = tuple(
        None
        if _is_absent(parameter, part)
        else tuple(_READERS[kind](element) for element in part.split(","))
        for part in parts
    )
    return Sweep(parameter, lists) if len(lists) > 1 else (lists[0],)


def _items(parameter: Parameter, text: str) -> Sweep | tuple[Any]:
    items = text.split(",")
    values: list[Any] = []
    for item in items:
        if _is_absent(parameter, item):
            values.append(None)
        elif parameter.kind is Kind.CHOICE:
            values.append(_choice(parameter, item))
        elif ".." in item:
            values += _range(parameter.kind, item)
        else:
            values.append(_READERS[parameter.kind](item))
        if len(values) > MAX_POINTS:
            raise ArgumentError(f"more than {MAX_POINTS:,} values")
    if len(items) == 1 and ".." not in text:
        return (values[0],)
    return Sweep(parameter, tuple(values), geometric=all(_RATIO.search(item) for item in items))


_RATIO = re.compile(r"\.\..*\*")


def _is_absent(parameter: Parameter, text: str) -> bool:
    return parameter.default is None and text == _ABSENT


def _choice(parameter: Parameter, text: str) -> str:
    if text not in parameter.choices:
        raise ArgumentError(
            f"{text[:40]!r} is none of the choices; {near(text[:40], parameter.choices)}"
            f"they are {', '.join(parameter.choices)}"
        )
    return text


def _range(kind: Kind, text: str) -> list[Any]:
    """Return the values of ``first..last``, ``first..last:step`` or ``first..last*factor``."""
    first_text, _, rest = text.partition("..")
    last_text, *tail = re.split("([:*])", rest, maxsplit=1)
    separator, by = tail or ("", "")
    first, last = _READERS[kind](first_text), _READERS[kind](last_text)
    if separator == "*":
        values = _geometric(float(first), float(last), _number(by))
    elif separator == ":":
        values = _arithmetic(first, last, _READERS[kind](by))
    elif kind in (Kind.NUMBER, Kind.WHOLE, Kind.SIZE):
        values = _arithmetic(first, last, 1)
    else:
        raise ArgumentError("this range needs a step, as in FIRST..LAST:STEP")
    if kind in (Kind.WHOLE, Kind.SIZE):
        return [_whole(value) for value in values]
    return values


def _arithmetic(first: float, last: float, step: float) -> list[float]:
    """Return first, first + step, ... up to and including last where it is one of them.

    Exactly, in the decimals that were typed: ten steps of 0.1 from 0 end at 1.
    """
    start, end, stride = (Fraction(repr(value)) for value in (first, last, step))
    if stride == 0:
        raise ArgumentError("the step is zero")
    if stride < 0 and end > start:
        raise ArgumentError("the step goes down and the range up; leave out the minus sign")
    stride = abs(stride) if end >= start else -abs(stride)
    count = (end - start) // stride + 1
    _check(count)
    return [float(start + k * stride) for k in range(count)]


def _geometric(first: float, last: float, factor: float) -> list[float]:
    """Return first, first · factor, ... up to and including last, or down from first."""
    if first <= 0 or last <= 0:
        raise ArgumentError("a range by a factor starts and ends above zero")
    if factor <= 0 or factor == 1:
        raise ArgumentError("the factor must be above zero and not 1")
    if factor < 1 and last > first:
        raise ArgumentError("the factor goes down and the range up; use one above 1")
    factors = abs(math.log(last) - math.log(first)) / abs(math.log(factor))
    _check(factors + 1)
    with localcontext(prec=50):  # exact for every factor that is not minute
        start, ratio = Decimal(repr(first)), Decimal(repr(factor))
        if last < first and factor > 1:
            ratio = 1 / ratio
        values = [float(start * ratio**k) for k in range(int(factors + 1e-6) + 1)]
    if math.isclose(values[-1], last, rel_tol=1e-9):
        values[-1] = last
    return values


def _check(count: float) -> None:
    if count > MAX_POINTS:
        shown = f"{int(count):,}" if count < 1e15 else "far too many"
        raise ArgumentError(f"{shown} values; the limit is {MAX_POINTS:,}, take larger steps")


def _number(text: str) -> float:
    if len(text) > _LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        raise ArgumentError(f"{text[:40]!r} is not a number; write for example 10, 2.5 or 1e-3")
    value = float(text)
    if math.isinf(value):
        raise ArgumentError(f"{text!r} is too large")
    return value


def _whole(text: str | float) -> int:
    value = _number(text) if isinstance(text, str) else text
    if value != math.floor(value):
        raise ArgumentError(f"{value:g} is not a whole number")
    if abs(value) > _LARGEST_WHOLE:
        raise ArgumentError(f"{value:g} is too large")
    return int(value)


def _or_number(parse: Callable[[str], float]) -> Callable[[str], float]:
    """Return a reader of quantities that takes any number for one in the base unit."""

    def read_quantity(text: str) -> float:
        return _number(text) if _NUMBER.fullmatch(text) else float(parse(text))

    return read_quantity


def _size(text: str) -> int:
    return _whole(text) if _NUMBER.fullmatch(text) else _whole(parse_size(text))


Reader: TypeAlias = Callable[[str], Any]

_READERS: Final[Mapping[Kind, Reader]] = {
    Kind.NUMBER: _number,
    Kind.WHOLE: _whole,
    Kind.RATE: _or_number(parse_rate),
    Kind.DURATION: _or_number(parse_duration),
    Kind.SIZE: _size,
}

_ELEMENTS: Final[Mapping[Kind, Kind]] = {
    Kind.NUMBERS: Kind.NUMBER,
    Kind.RATES: Kind.RATE,
    Kind.DURATIONS: Kind.DURATION,
}
"""Kind of a list -> kind of its elements."""

_UNITS: Final[Mapping[Kind, Sequence[tuple[str, Decimal]]]] = {
    Kind.RATE: (
        ("gbit", Decimal(10**9)),
        ("mbit", Decimal(10**6)),
        ("kbit", Decimal(10**3)),
    ),
    Kind.DURATION: (("s", Decimal(1)), ("ms", Decimal("1e-3")), ("us", Decimal("1e-6"))),
}


def _shortened(text: str) -> str:
    shown = repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:56]}..."
