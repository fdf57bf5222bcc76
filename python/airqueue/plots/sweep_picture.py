"""Draws a sweep: chooses the parameter of the axis and that of the lines. Loads matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from airqueue import text
from airqueue.plots import sweep as plots
from airqueue.plots.simulation_picture import file_format
from airqueue.plots.sweep import MOST_LINES, MOST_PANELS, Axis, Line
from airqueue.sweep import Sweep, SweepError, SweepResults
from airqueue.sweep.figures import Pattern
from airqueue.sweep.points import Dimension
from airqueue.sweep.tables import column
from airqueue.sweep.values import Listed

_MOST_DIMENSIONS: Final = 2


class SweepPlot:
    """A picture of figures over one or two dimensions, in the format of its file's suffix.

    Raises SweepError, or ScenarioError for the suffix, before any simulation.
    """

    def __init__(self, sweep: Sweep, patterns: Sequence[Pattern], path: str) -> None:
        self.path = path
        self._format = file_format(path, "plot")
        self._patterns = patterns
        # A parameter with one value is a setting.
        moving = [each for each in _strided(sweep.dimensions) if len(each[0].values) > 1]
        if sweep.spec.samples is not None or not 1 <= len(moving) <= _MOST_DIMENSIONS:
            raise SweepError(
                "a plot shows one or two parameters that go through lists or ranges, or zips of "
                "them; draw others from the tables"
            )
        if not 1 <= len(patterns) <= MOST_PANELS:
            raise SweepError(
                f"a plot shows 1 to {MOST_PANELS} figures and here are {len(patterns)}; choose "
                "among them, in the command by --show"
            )
        if len(moving) > 1 and _is_numeric(moving[1][0]) and not _is_numeric(moving[0][0]):
            moving.reverse()
        (self._axis, self._stride), *lines = moving
        self._lines: Dimension | None = lines[0][0] if lines else None
        self._line_stride = lines[0][1] if lines else 0
        if self._lines is not None and len(self._lines.values) > MOST_LINES:
            raise SweepError(
                f"{len(self._lines.values)} values of {self._lines.paths[0]} are too many "
                f"lines to tell apart in a plot; take {MOST_LINES} at most"
            )
        self._logarithmic = {
            each.path: each.logarithmic
            for each in sweep.spec.parameters
            if isinstance(each, Listed)
        }

    def draw(self, name: str, results: SweepResults) -> bytes:
        """Return the file."""
        return plots.draw(
            self._x(),
            [self._panel(pattern, results) for pattern in self._patterns],
            self._format,
            legend="" if self._lines is None else self._lines.paths[0],
            title=f"airqueue sweep {name}",
            description=f"{text.plural(results.replications, 'run')}, seed {results.spec.seed}",
        )

    def _x(self) -> Axis:
        path = self._axis.paths[0]
        head, cells = _column(self._axis)
        if not _is_numeric(self._axis):
            return Axis(path, "", tuple(map(str, cells)))
        unit = text.words_and_unit(head)[1] if head != path else ""
        values = tuple(cells[step] for step in _order(self._axis))
        return Axis(path, unit, values, self._logarithmic[path])

    def _panel(self, pattern: Pattern, results: SweepResults) -> plots.Panel:
        summaries = results.over(pattern)
        labels = [""] if self._lines is None else [str(step[0]) for step in self._lines.values]
        lines = []
        for place, label in enumerate(labels):
            numbers = (
                step * self._stride + place * self._line_stride for step in _order(self._axis)
            )
            found = [summaries[number] for number in numbers]
            means = tuple(each["mean"] for each in found)
            lines.append(Line(label, means, tuple(each["ci95"] for each in found)))
        words, unit = text.words_and_unit(pattern.figure)
        return plots.Panel(f"{pattern.of_what}: {words}", words, unit, tuple(lines))


def _strided(dimensions: Sequence[Dimension]) -> Iterator[tuple[Dimension, int]]:
    """Yield each dimension and the number of points between two of its steps."""
    for place, each in enumerate(dimensions):
        yield each, math.prod(len(later.values) for later in dimensions[place + 1 :])


def _column(dimension: Dimension) -> tuple[str, list[Any]]:
    return column(dimension.paths[0], [step[0] for step in dimension.values])


def _is_numeric(dimension: Dimension) -> bool:
    _, cells = _column(dimension)
    return not any(isinstance(cell, str | bool) for cell in cells)


def _order(axis: Dimension) -> list[int]:
    """Return the steps along the axis: numbers ascend, words stay as given."""
    _, cells = _column(axis)
    steps = range(len(cells))
    return sorted(steps, key=lambda step: cells[step]) if _is_numeric(axis) else list(steps)
