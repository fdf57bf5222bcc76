"""Expectations of a simulation's figures, as exit codes that a build can act upon."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from airqueue import text, units
from airqueue.cli.errors import UNDECIDED, UNMET
from airqueue.simulate import Scenario
from airqueue.sweep import figures
from airqueue.sweep.errors import SweepError

_WRITTEN: Final = re.compile(r"([^<>=\s]+)\s*(<=|>=|<|>)\s*(.+)")
_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of figures: ``flows.call.delay_p95_s < 50 ms``."""

    written: str
    figures: figures.Pattern
    relation: str
    value: float

    def of_interval(self, low: float, high: float) -> bool | None:
        """Return whether the bound holds for an interval; None: for a part of the interval."""
        ends = {_HOLDS[self.relation](end, self.value) for end in (low, high)}
        return ends.pop() if len(ends) == 1 else None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a simulation's figures."""

    all: tuple[Bound, ...]

    @classmethod
    def read(cls, written: Sequence[str]) -> Bounds:
        """Return bounds as users write them; raises UsageError where a text is none."""
        return cls(tuple(_bound(each.strip()) for each in written))

    def check(self, scenario: Scenario) -> None:
        """Raise UsageError, before a long simulation, where there is no figure of a bound."""
        try:
            figures.check([bound.figures for bound in self.all], [scenario.figures()], "--expect ")
        except SweepError as error:
            raise click.UsageError(f"{error}.") from error

    def enforce(self, summary: Mapping[str, Any]) -> None:
        """End the command with `UNMET` or `UNDECIDED`, and a sentence, where a bound does not hold.

        A bound holds, or does not, where the whole 95 % confidence interval of the mean says so. With
        one replication there is no interval, and the value decides.
        """
        missed, unknown = [], []
        for bound in self.all:
            for name, figure in _matched(bound, summary):
                holds, said = _judged(bound, figure)
                if holds is None:
                    unknown.append(f"{name} is {said}, which leaves {bound.written!r} open")
                elif not holds:
                    missed.append(f"{name} is {said}, not {bound.relation} {_shown(bound)}")
        for found, word, code in (
            (missed, "Not as expected", UNMET),
            (unknown, "Not decided", UNDECIDED),
        ):
            if found:
                click.echo(f"{word}: {'; '.join(found)}.", err=True)
                raise click.exceptions.Exit(code)


def _bound(written: str) -> Bound:
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise click.UsageError(
            f"--expect {written!r}; expected as in 'flows.call.delay_p95_s < 50 ms'."
        )
    name, relation, limit = found.groups()
    try:
        pattern = figures.Pattern.read(name)
    except SweepError as error:
        raise click.UsageError(f"--expect {error}.") from error
    try:
        number = units.of_figure(pattern.figure, limit)
    except units.UnitError as error:
        raise click.UsageError(f"--expect {name}: {error}.") from error
    return Bound(written, pattern, relation, number)


def _matched(bound: Bound, summary: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the summaries of the figures of a bound, with their names."""
    pattern = bound.figures
    of_kind = summary[pattern.kind]
    if pattern.kind == "medium":
        yield pattern.text, of_kind[pattern.figure]
        return
    for name, of in of_kind.items():
        if pattern.matches(name):
            yield f"{pattern.kind}.{name}.{pattern.figure}", of[pattern.figure]


def _judged(bound: Bound, figure: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether a bound holds for a figure, and the figure in words."""
    mean, ci95 = figure["mean"], figure["ci95"]
    if mean is None:
        return None, "missing"
    shown = _quantity(bound.figures.figure, mean)
    if ci95 is None:
        return bound.of_interval(mean, mean), shown
    low, high = ci95
    return bound.of_interval(low, high), f"{shown} ± {_quantity(bound.figures.figure, mean - low)}"


def _shown(bound: Bound) -> str:
    return bound.written.partition(bound.relation)[2].strip()


def _quantity(figure: str, value: float) -> str:
    """Return a value with a unit that suits it."""
    factor, unit = text.scale(text.words_and_unit(figure)[1], [value])
    return f"{value / factor:.4g} {unit}".rstrip()
