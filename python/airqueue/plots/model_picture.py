"""Draws a model over swept parameters: chooses the parameter of the axis and that of the lines.

Loads matplotlib, so import this module only for a picture.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from airqueue import text
from airqueue.models.arguments import ArgumentError, Request, Sweep, written
from airqueue.models.catalogue import Kind, Output
from airqueue.models.sweep import Row, is_number, unit
from airqueue.plots import sweep as plots
from airqueue.plots.parts import FORMATS
from airqueue.plots.sweep import MOST_LINES, MOST_PANELS, Axis, Line

_NUMERIC: Final = frozenset((Kind.NUMBER, Kind.WHOLE, Kind.RATE, Kind.DURATION, Kind.SIZE))


class ModelPlot:
    """A picture of a request's outputs, in the format of its file's suffix.

    Raises ArgumentError where a request cannot be drawn: before it is evaluated, not after.
    """

    def __init__(self, request: Request, outputs: Sequence[Output], path: str) -> None:
        self._request, self._outputs, self.path = request, outputs, path
        self._format = Path(path).suffix.removeprefix(".").lower()
        if self._format not in FORMATS:
            kinds = text.listed([kind.upper() for kind in FORMATS], "or")
            raise ArgumentError(f"a plot is {kinds}; call the file for example plot.svg")
        swept = [sweep.parameter.name for sweep in request.sweeps]
        if not swept:
            raise ArgumentError("a plot needs a swept parameter, as in n=1..50")
        if len(swept) > 2:
            raise ArgumentError(
                f"a plot shows one or two swept parameters and there are {text.listed(swept)}; "
                "fix all but two of them"
            )
        if len(outputs) > MOST_PANELS:
            raise ArgumentError(
                f"{len(outputs)} outputs are too many for a plot; choose up to {MOST_PANELS} of "
                "them, in the command by --outputs"
            )
        for sweep in _roles(request)[1:]:
            _check_lines(len(sweep.values), f"values of {sweep.parameter.name}")

    def undrawn(self, rows: Sequence[Row]) -> list[str]:
        """Return the names of outputs that the picture leaves out, since they have no number."""
        return [o.name for o in self._outputs if not any(_numbers(row[o.name]) for row in rows)]

    def draw(self, rows: Sequence[Row]) -> bytes:
        """Return the file; raises ArgumentError without a number, or if lists make many lines."""
        left_out = self.undrawn(rows)
        drawn = [output for output in self._outputs if output.name not in left_out]
        if not drawn:
            raise ArgumentError("there is no number to draw in these outputs")
        roles = _roles(self._request)
        return plots.draw(
            _axis(roles[0]),
            [_panel(o, _lines(self._request, o.name, rows)) for o in drawn],
            self._format,
            legend=roles[1].parameter.help if len(roles) > 1 else "",
            title=f"{self._request.model.name}: {self._request.model.summary}",
            description=self._request.given,
        )


def _roles(request: Request) -> tuple[Sweep, ...]:
    """Return the sweep of the axis and, if there are two, that of the lines.

    The first sweep is the axis, unless only the second has numbers.
    """
    sweeps = request.sweeps
    if len(sweeps) == 2 and _is_numeric(sweeps[1]) and not _is_numeric(sweeps[0]):
        return sweeps[1], sweeps[0]
    return sweeps


def _is_numeric(sweep: Sweep) -> bool:
    return sweep.parameter.kind in _NUMERIC and None not in sweep.values


def _order(sweep: Sweep) -> list[int]:
    """Return the places of the values along the axis: numbers ascend, words stay as given."""
    places = range(len(sweep.values))
    return sorted(places, key=lambda i: sweep.values[i]) if _is_numeric(sweep) else list(places)


def _axis(sweep: Sweep) -> Axis:
    parameter = sweep.parameter
    numeric = _is_numeric(sweep)
    values = [sweep.values[i] for i in _order(sweep)]
    return Axis(
        parameter.help,
        unit(parameter) if numeric else "",
        tuple(values if numeric else [written(parameter.kind, value) for value in values]),
        logarithmic=sweep.geometric,
    )


def _lines(request: Request, name: str, rows: Sequence[Row]) -> tuple[Line, ...]:
    """Return the lines of one output: for each value of the second sweep, each list element."""
    roles = _roles(request)
    places = itertools.product(*(range(len(sweep.values)) for sweep in request.sweeps))
    figures = {
        place if roles == request.sweeps else place[::-1]: _numbers(row[name])
        for place, row in zip(places, rows, strict=False)  # fewer rows after an interrupt
    }
    elements = max(len(numbers) for numbers in figures.values())
    others = range(len(roles[1].values)) if len(roles) > 1 else [None]
    _check_lines(len(others) * elements, f"lines of {name}")
    lines = []
    for other in others:
        for element in range(elements):
            keys = [(i,) if other is None else (i, other) for i in _order(roles[0])]
            cells = [figures.get(key, []) for key in keys]
            words = [] if other is None else [_value(roles[1], other)]
            words += [f"[{element + 1}]"] if elements > 1 else []
            values = tuple(cell[element] if element < len(cell) else None for cell in cells)
            lines.append(Line(" ".join(words), values))
    return tuple(lines)


def _check_lines(count: int, what: str) -> None:
    if count > MOST_LINES:
        raise ArgumentError(
            f"{count} {what} are too many to tell apart in a plot; take {MOST_LINES} at most"
        )


def _value(sweep: Sweep, place: int) -> str:
    return written(sweep.parameter.kind, sweep.values[place])


def _numbers(figure: Any) -> list[float | None]:
    """Return a figure as a list with None where it is no number; empty if none of it is."""
    numbers = [
        v if is_number(v) else None for v in (figure if isinstance(figure, list) else [figure])
    ]
    return numbers if any(number is not None for number in numbers) else []


def _panel(output: Output, lines: tuple[Line, ...]) -> plots.Panel:
    """Return the panel of an output, whose name ends with its unit if it has one."""
    title, known = text.words_and_unit(output.name)
    return plots.Panel(title, output.help, known, lines)
