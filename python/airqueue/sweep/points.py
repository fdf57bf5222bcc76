"""The points of a sweep: every combination of values; zipped values together, others drawn."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from airqueue import toml_text
from airqueue.sweep.errors import SweepError
from airqueue.sweep.values import Listed, Span

MOST_POINTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of values."""

    number: int
    """From 0, in the order of the sweep."""
    values: Mapping[str, Any]
    """By parameter, in the form of a scenario's values."""

    def __str__(self) -> str:
        given = ", ".join(f"{path}={_shown(value)}" for path, value in self.values.items())
        return f"point {self.number} ({given})" if given else "the one point"


@dataclass(frozen=True, slots=True)
class Dimension:
    """Parameters that change together: a single one, those of a zip, or all drawn ones."""

    paths: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """For each step the parameters' values."""


def dimensions(
    parameters: Sequence[Listed | Span],
    zipped: Sequence[Sequence[str]],
    samples: int | None,
    seed: int,
) -> tuple[Dimension, ...]:
    """Return the dimensions in the order of their first parameters; each takes all its steps.

    ``samples``: how many points are drawn of the spans, by Latin hypercube with ``seed``. Raises
    SweepError.
    """
    listed = {each.path: each for each in parameters if isinstance(each, Listed)}
    groups = {path: tuple(group) for group in zipped for path in group}
    drawn = [each for each in parameters if isinstance(each, Span)]
    found: dict[tuple[str, ...], Dimension] = {}
    for each in parameters:
        if isinstance(each, Span):
            if samples is None:
                raise SweepError(
                    f"parameters.{each.path}: a range without points; give points, or sample = 50 "
                    "at the top to draw so many points"
                )
            paths = tuple(span.path for span in drawn)
            if paths not in found:
                found[paths] = Dimension(paths, _latin(drawn, samples, seed))
        else:
            paths = groups.get(each.path, (each.path,))
            steps = zip(*(listed[path].values for path in paths), strict=True)
            found.setdefault(paths, Dimension(paths, tuple(steps)))
    if samples is not None and not drawn:
        raise SweepError("sample: nothing to draw from; expected a range without points")
    _check_number([len(each.values) for each in found.values()])
    return tuple(found.values())


def points(order: Sequence[Dimension], paths: Sequence[str]) -> Iterator[Point]:
    """Yield all combinations, the last dimension varying fastest; values in the order of paths."""
    for number, steps in enumerate(itertools.product(*(each.values for each in order))):
        values = {
            path: value
            for each, step in zip(order, steps, strict=True)
            for path, value in zip(each.paths, step, strict=True)
        }
        yield Point(number, {path: values[path] for path in paths})


def _check_number(steps: Sequence[int]) -> None:
    number = math.prod(steps)
    if number > MOST_POINTS:
        product = " × ".join(map(str, steps))
        raise SweepError(
            f"parameters: {product} is {number:,} points and the limit is {MOST_POINTS:,}; take "
            "fewer values, or sample"
        )


def _latin(spans: Sequence[Span], samples: int, seed: int) -> tuple[tuple[Any, ...], ...]:
    """Draw by Latin hypercube (McKay, Beckman and Conover, 1979): each parameter's range is divided
    into equal parts, one for each sample; a value is drawn from each part, in random order.

    Each parameter has a random stream of its own, which does not depend on other parameters.
    """
    columns = []
    for span in spans:
        stream = random.Random(f"{seed} {span.path}")
        places = list(range(samples))
        stream.shuffle(places)
        shares = [(place + Fraction(stream.random())) / samples for place in places]
        columns.append([span.drawn(share) for share in shares])
    return tuple(zip(*columns, strict=True))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and len(value) < 40 else toml_text.found(value)
