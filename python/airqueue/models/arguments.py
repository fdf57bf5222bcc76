"""A model's arguments as text: ``n=1..50 rate=54mbit``, values by kind, and ranges to sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airqueue import _native
from airqueue.models.catalogue import Kind, Model, Parameter, near
from airqueue.models.errors import ModelError

MAX_POINTS: Final = 100_000
"""Points of a sweep, all its ranges multiplied."""

_ABSENT = "none"
"""Text for a parameter that is not given, where that is its default: ``retries=none,4,7``."""


class ArgumentError(ModelError):
    """An argument that cannot be parsed, as opposed to a value outside the model's range."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of one swept parameter."""

    parameter: Parameter
    values: tuple[Any, ...]
    geometric: bool = False
    """Whether each value is the one before times a factor, so that a logarithmic axis suits."""


@dataclass(frozen=True, slots=True)
class Request:
    """The model and the parameter values to evaluate."""

    model: Model
    fixed: Mapping[str, Any]
    """Parameters with one value, defaults included."""
    sweeps: tuple[Sweep, ...]
    """Swept parameters, in the order given; the last varies fastest."""

    @property
    def points(self) -> int:
        """Number of evaluations."""
        return math.prod(len(sweep.values) for sweep in self.sweeps)

    @property
    def given(self) -> str:
        """The fixed parameters as a user would type them."""
        return " ".join(
            f"{p.name}={written(p.kind, self.fixed[p.name])}"
            for p in self.model.parameters
            if p.name in self.fixed
        )


def read(model: Model, arguments: Sequence[str]) -> Request:
    """Return the request that ``key=value`` arguments make of a model.

    A value is read by the kind of its parameter: a number, or a quantity with its unit (``54mbit``,
    ``100ms``, ``64KiB``). Several make a sweep, in the grammar of `airqueue_core::ranges`:
    ``n=1,2,5``, ``n=1..50`` (step 1), ``rate=1mbit..54mbit:1mbit`` (or ``step 1mbit``),
    ``w=2..1024*2`` (or ``factor 2``: each twice the one before), ``x=0..1 points 5``, rising or
    falling. A list is comma-separated, its alternatives by ``/``: ``rates=54mbit,1mbit/54mbit``.

    Raises ArgumentError.

    >>> from airqueue.models.catalogue import find
    >>> request = read(find("tay-chua"), ["n=10..50:20", "cw_min=15,31"])
    >>> [sweep.values for sweep in request.sweeps], request.points
    ([(10.0, 30.0, 50.0), (15.0, 31.0)], 6)
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
    """Return a value as a user would type it; a list's elements are separated by commas.

    >>> written(Kind.RATE, 5.5e6), written(Kind.DURATION, 0.02), written(Kind.NUMBERS, [1.0, 2.5])
    ('5.5mbit', '20ms', '1,2.5')
    """
    if value is None:
        return _ABSENT
    if kind in _LISTS:
        return ",".join(written(element_of(kind), element) for element in value)
    if kind in _QUANTITIES:
        return _native.write_quantity(value, _ELEMENTS[kind])
    if isinstance(value, int | float):
        return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(value)
    return str(value)


def element_of(kind: Kind) -> Kind:
    """Return the kind of a list's elements; any other kind is returned unchanged."""
    return _LISTS.get(kind, kind)


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
    """Return the values of a parameter; a tuple of one if the text has a single value."""
    try:
        if not text.strip():
            raise ArgumentError("there is no value")
        if parameter.kind is Kind.TEXT:
            return (None if _is_absent(parameter, text) else text,)
        if parameter.kind is Kind.CHOICE:
            return _choices(parameter, text)
        return _values(parameter, text)
    except ValueError as error:
        raise ArgumentError(f"{parameter.name}={_shortened(text)}: {error}") from error


def _values(parameter: Parameter, text: str) -> Sweep | tuple[Any]:
    element = _ELEMENTS[element_of(parameter.kind)]
    absent = _ABSENT if parameter.default is None else None
    if parameter.kind in _LISTS:
        lists = tuple(
            None if each is None else tuple(each)
            for each in _native.parse_lists(text, element, absent=absent)
        )
        return Sweep(parameter, lists) if len(lists) > 1 else (lists[0],)
    values, swept, geometric = _native.parse_values(text, element, absent=absent, most=MAX_POINTS)
    return Sweep(parameter, tuple(values), geometric) if swept else (values[0],)


def _choices(parameter: Parameter, text: str) -> Sweep | tuple[Any]:
    words = text.split(",")
    chosen = tuple(
        None if _is_absent(parameter, word) else _choice(parameter, word) for word in words
    )
    return Sweep(parameter, chosen) if len(chosen) > 1 else (chosen[0],)


def _is_absent(parameter: Parameter, text: str) -> bool:
    return parameter.default is None and text == _ABSENT


def _choice(parameter: Parameter, text: str) -> str:
    if text not in parameter.choices:
        raise ArgumentError(
            f"{text[:40]!r} is none of the choices; {near(text[:40], parameter.choices)}"
            f"they are {', '.join(parameter.choices)}"
        )
    return text


_ELEMENTS: Final[Mapping[Kind, str]] = {
    Kind.NUMBER: "number",
    Kind.WHOLE: "whole",
    Kind.RATE: "rate",
    Kind.DURATION: "duration",
    Kind.SIZE: "size",
}
"""Kind of a parameter -> kind of its values in the grammar."""

_QUANTITIES: Final = (Kind.RATE, Kind.DURATION, Kind.SIZE)

_LISTS: Final[Mapping[Kind, Kind]] = {
    Kind.NUMBERS: Kind.NUMBER,
    Kind.RATES: Kind.RATE,
    Kind.DURATIONS: Kind.DURATION,
}
"""Kind of a list -> kind of its elements."""


def _shortened(text: str) -> str:
    shown = repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:56]}..."
