"""Range checks of parameters and of results, shared by all models."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from airqueue.models.errors import ConvergenceError, ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
"""Arrays of models and their results; for scalar parameters a 0-d array or ``np.float64``."""

Numbers: TypeAlias = float | Sequence[float] | FloatArray
"""Values accepted for a numeric parameter."""

FORMS = ("corrected", "printed")
"""Choices of ``form`` and the like, where a paper's print has an error: the first is the default."""


def numbers(
    name: str,
    value: Numbers,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    whole: bool = False,
) -> FloatArray:
    """Return a parameter as an array of float64, every element finite and within its bounds.

    Raises ParameterError that names the parameter, the first value that is out of range (and its
    place, in an array) and the range.

    >>> numbers("n", [1, 2.5], at_least=1)
    array([1. , 2.5])
    >>> numbers("p", 1.5, at_least=0, at_most=1)
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: p is 1.5; it must be from 0 to 1
    """
    array = _as_floats(name, value)
    good = np.isfinite(array)
    if above is not None:
        good &= array > above
    if at_least is not None:
        good &= array >= at_least
    if below is not None:
        good &= array < below
    if at_most is not None:
        good &= array <= at_most
    if whole:
        good &= array == np.floor(array)
    if not good.all():
        bounds = _bounds(above, at_least, below, at_most)
        kind = "a whole number" if whole else "a finite number"
        right = f"{kind} {bounds}".strip() if whole or not bounds else bounds
        raise ParameterError(name, f"{name}{_first(array, good)}; it must be {right}")
    return array


def _as_floats(name: str, value: Numbers) -> FloatArray:
    """Return numbers as float64. NumPy would make numbers of texts, truth values and dates, too."""
    try:
        array = np.asarray(value)
        if not _are_numbers(value, array):
            raise TypeError(name)
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, f"{name} is {value!r}, which is not a number") from error
    except OverflowError as error:
        raise ParameterError(name, f"{name} is too large for a number") from error


def _are_numbers(value: Numbers, array: NDArray[Any]) -> bool:
    # A masked array has loaded its module, which takes a tenth of the time of numpy itself.
    masked_arrays = sys.modules.get("numpy.ma")
    if masked_arrays is not None and masked_arrays.is_masked(value):
        return False
    if array.dtype.kind == "O":
        return all(is_number(each) for each in array.flat)
    return array.dtype.kind in "iuf"


def is_number(value: object) -> bool:
    """Return whether a value is a real number, as truth values are not.

    >>> is_number(2), is_number(True), is_number("2")
    (True, False, False)
    """
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def number(name: str, value: float, **bounds: Any) -> float:
    """Return a parameter that must be one number; ``bounds`` as in `numbers`.

    >>> number("n", [1, 2])
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: n is a list of numbers; it must be one number
    """
    array = numbers(name, value, **bounds)
    if array.ndim:
        raise ParameterError(name, f"{name} is a list of numbers; it must be one number")
    return float(array)


def probability(name: str, value: Numbers) -> FloatArray:
    """Return a parameter that is a probability, 0 and 1 included."""
    return numbers(name, value, at_least=0, at_most=1)


def broadcast(**parameters: FloatArray) -> tuple[FloatArray, ...]:
    """Return checked parameters broadcast to one shape; ParameterError if the shapes do not fit."""
    try:
        return tuple(np.broadcast_arrays(*parameters.values()))
    except ValueError as error:
        flat = all(array.ndim <= 1 for array in parameters.values())
        sizes = ", ".join(
            f"{name} {array.size if flat else array.shape}"
            for name, array in parameters.items()
            if array.size != 1
        )
        raise ParameterError(
            next(iter(parameters)),
            f"the {'numbers of values' if flat else 'shapes'} of the parameters do not fit: {sizes}; "
            "give each a single value or as many as the others have",
        ) from error


def finished(name: str, value: FloatArray) -> FloatArray:
    """Return a result, as a scalar if 0-d; raises ConvergenceError unless every element is finite.

    With checked parameters a result is not finite only outside the range of floating point: an error
    is better than a NaN.
    """
    array = np.asarray(value, dtype=np.float64)
    good = np.isfinite(array)
    if not good.all():
        raise ConvergenceError(
            f"{name}{_first(array, good)} for these parameters: they are beyond what floating "
            "point can evaluate; use less extreme ones"
        )
    scalar_or_array: FloatArray = array[()] + 0.0  # + 0.0 turns -0 into 0
    return scalar_or_array


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return a parameter that must be one of ``choices``."""
    if value not in choices:
        raise ParameterError(name, f"{name} is {value!r}; it must be one of {', '.join(choices)}")
    return value


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Give parameters in errors the names that users know: another function's are the keys of names.

    A key may have a place: ``stations[1]``.

    >>> with called({"rate_bps": "rates_bps"}):
    ...     numbers("rate_bps", [1e6, 0], above=0)
    Traceback (most recent call last):
    airqueue.models.errors.ParameterError: rates_bps[1] is 0; it must be above 0
    """
    try:
        yield
    except ParameterError as error:
        message, parameter = str(error), names.get(error.parameter, error.parameter)
        for inner, name in names.items():
            # A name without an underscore may be a word of the sentence, but for the first.
            start = r"\b" if "_" in inner else r"\A"
            message, replaced = re.subn(rf"{start}{re.escape(inner)}(?!\w)", name, message)
            if replaced and inner.partition("[")[0] == error.parameter:
                parameter = name
        raise ParameterError(parameter, message) from error


def _first(array: FloatArray, good: NDArray[np.bool_]) -> str:
    index = np.unravel_index(int(np.argmin(good)), array.shape)
    place = f"[{', '.join(str(int(i)) for i in index)}]" if array.ndim else ""
    return f"{place} is {float(array[index]):g}"


def _bounds(
    above: float | None, at_least: float | None, below: float | None, at_most: float | None
) -> str:
    if at_least is not None and at_most is not None:
        return f"from {at_least:g} to {at_most:g}"
    words = (
        (above, "above"),
        (at_least, "at least"),
        (below, "below"),
        (at_most, "at most"),
    )
    return " and ".join(f"{word} {bound:g}" for bound, word in words if bound is not None)
