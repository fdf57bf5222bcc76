"""The outputs of a model over a swept parameter: one panel for each output, as in a paper.

Drawn with matplotlib's objects alone, without pyplot: no display, no global state. The same data
give the same bytes with the same version of matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airqueue.plots.parts import DASHES, MARKERS, logarithmic, plain, saved
from airqueue.plots.parts import label as axis_label
from airqueue.plots.style import COLOURS, STYLE
from airqueue.text import scale

MOST_PANELS: Final = 12
MOST_LINES: Final = 12

_PANEL_INCHES = (3.4, 2.3)
_PANEL_CHARACTERS = (46, 32)
"""Characters of a label along the horizontal and the vertical side."""
_MARKED_UP_TO = 26
"""Points up to which each is marked, so that one sees what was computed and what is a line."""
_LEGEND_INCHES = 0.9


@dataclass(frozen=True, slots=True)
class Axis:
    """The swept parameter on the x axis; values are numbers, or words that stand side by side."""

    label: str
    unit: str
    values: tuple[float | str, ...]
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a panel; None where there is no answer."""

    label: str
    values: tuple[float | None, ...]
    intervals: tuple[Sequence[float] | None, ...] = ()
    """``(low, high)`` of each value, None where it has none; empty without any."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One output."""

    title: str
    label: str
    unit: str
    lines: tuple[Line, ...]


def draw(
    x: Axis,
    panels: Sequence[Panel],
    file_format: str,
    *,
    legend: str = "",
    title: str = "",
    description: str = "",
) -> bytes:
    """Return a picture of the panels as a file of one of `FORMATS`.

    ``legend`` says what the labels of the lines are values of. Title and description go into the
    file's metadata; the text around the picture has the caption.
    """
    with mpl.rc_context(STYLE):
        columns = min(len(panels), 3 if len(panels) > 4 else 2)
        rows = math.ceil(len(panels) / columns)
        beside = _LEGEND_INCHES if any(len(panel.lines) > 1 for panel in panels) else 0
        figure = Figure(
            figsize=(_PANEL_INCHES[0] * columns + beside, _PANEL_INCHES[1] * rows),
            layout="constrained",
        )
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, place + 1)
            _panel(axes, x, panel)
            # The lowest panel of a column has the label of the x axis.
            if place + columns >= len(panels):
                axes.set_xlabel(
                    axis_label(x.label, scale(x.unit, x.values)[1], _PANEL_CHARACTERS[0])
                )
        _legend(figure, panels, legend)
        return saved(figure, file_format, title, description)


def _panel(axes: Axes, x: Axis, panel: Panel) -> None:
    factor, unit = scale(panel.unit, [v for line in panel.lines for v in line.values])
    places = _places(x)
    marked = len(places) <= _MARKED_UP_TO
    for index, line in enumerate(panel.lines):
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(
            places,
            [math.nan if v is None else v / factor for v in line.values],
            color=colour,
            linestyle="none" if _are_words(x) else DASHES[index // len(COLOURS) % len(DASHES)],
            marker=MARKERS[index % len(MARKERS)] if marked else "none",
            label=plain(line.label, 18),
        )
        for place, bounds in zip(places, line.intervals, strict=False):
            if bounds is not None:
                axes.vlines(place, bounds[0] / factor, bounds[1] / factor, colour, linewidth=0.8)
    axes.set_title(plain(panel.title, _PANEL_CHARACTERS[0]), loc="left")
    axes.set_ylabel(axis_label(panel.label, unit, _PANEL_CHARACTERS[1]))
    axes.grid(axis="y", linewidth=0.4, color="0.88")
    axes.set_axisbelow(True)
    _from_zero(axes, [v for line in panel.lines for v in line.values if v is not None])
    _ticks(axes, x)


def _from_zero(axes: Axes, values: Sequence[float]) -> None:
    """Let the y axis start at zero unless that would flatten the lines."""
    if values and 0 <= min(values) < 0.5 * max(values):
        axes.set_ylim(bottom=0)


def _ticks(axes: Axes, x: Axis) -> None:
    places = _places(x)
    if _are_words(x):
        axes.set_xticks(places, [plain(str(word), 14) for word in x.values])
        axes.margins(x=0.15)
        return
    if x.logarithmic:
        axes.set_xscale("log")
        logarithmic(axes.xaxis, sorted(places))
    elif all(place == round(place) for place in places):
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    # All panels have one x axis, even a panel without values at an end.
    axes.update_datalim([(place, 0.0) for place in places], updatey=False)
    axes.autoscale_view()


def _places(x: Axis) -> list[float]:
    if _are_words(x):
        return [float(place) for place in range(len(x.values))]
    factor, _ = scale(x.unit, x.values)
    return [float(value) / factor for value in x.values]


def _are_words(x: Axis) -> bool:
    return any(isinstance(value, str) for value in x.values)


def _legend(figure: Figure, panels: Sequence[Panel], title: str) -> None:
    """Put one legend beside the panels, for the panel with the most lines."""
    panel, axes = max(zip(panels, figure.axes, strict=True), key=lambda pair: len(pair[0].lines))
    if len(panel.lines) > 1:
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", title=plain(title, 18) or None)
