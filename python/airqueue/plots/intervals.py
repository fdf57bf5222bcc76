"""Figures by name with their intervals: a point for each name, a panel for each figure.

Drawn like `airqueue.plots.sweep`: without pyplot, the same bytes for the same data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airqueue.plots.parts import label as axis_label
from airqueue.plots.parts import plain, saved
from airqueue.plots.style import COLOURS, STYLE
from airqueue.text import scale

_WIDTH_INCHES = 3.6
_PLAIN_INCHES = 0.75
"""Height of a panel without any row: title and axis."""
_ROW_INCHES = 0.16
_MOST_NAMED: Final = 40
"""Rows up to which each has its name beside it; more have numbers."""
_NAME_CHARACTERS = 22


@dataclass(frozen=True, slots=True)
class Point:
    """A mean and its interval; None where there is none."""

    name: str
    mean: float | None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure, by name."""

    title: str
    label: str
    unit: str
    points: tuple[Point, ...]
    what: str
    """Kind of the rows, if there are too many for names: ``flow``."""


def draw(
    panels: Sequence[Panel], file_format: str, *, title: str = "", description: str = ""
) -> bytes:
    """Return a picture of the panels as a file of one of `airqueue.plots.parts.FORMATS`.

    Two panels stand side by side. Title and description go into the file's metadata.
    """
    with mpl.rc_context(STYLE):
        lines = [panels[first : first + 2] for first in range(0, len(panels), 2)]
        heights = [
            _PLAIN_INCHES + _ROW_INCHES * max(min(len(p.points), _MOST_NAMED) for p in line)
            for line in lines
        ]
        columns = max(len(line) for line in lines)
        figure = Figure(figsize=(_WIDTH_INCHES * columns, sum(heights)), layout="constrained")
        grid = figure.add_gridspec(len(lines), columns, height_ratios=heights)
        for row, line in enumerate(lines):
            for column, panel in enumerate(line):
                _panel(figure.add_subplot(grid[row, column]), panel)
        return saved(figure, file_format, title, description)


def _panel(axes: Axes, panel: Panel) -> None:
    values = [v for p in panel.points for v in (p.mean, *(p.ci95 or ())) if v is not None]
    factor, unit = scale(panel.unit, values)
    drawn = [(row, p.mean, p.ci95) for row, p in enumerate(panel.points) if p.mean is not None]
    bounds = [ci95 or (mean, mean) for _, mean, ci95 in drawn]
    axes.errorbar(
        [mean / factor for _, mean, _ in drawn],
        [row for row, _, _ in drawn],
        xerr=[
            [(mean - low) / factor for (_, mean, _), (low, _) in zip(drawn, bounds, strict=True)],
            [(high - mean) / factor for (_, mean, _), (_, high) in zip(drawn, bounds, strict=True)],
        ],
        color=COLOURS[0],
        fmt="o",
        elinewidth=0.9,
        capsize=1.8,
        clip_on=False,
    )
    axes.set_title(plain(panel.title, 46), loc="left")
    axes.set_xlabel(axis_label(panel.label, unit, 46))
    axes.grid(axis="x", linewidth=0.4, color="0.88")
    axes.set_axisbelow(True)
    _names(axes, panel)
    if min(values, default=0) >= 0:
        axes.set_xlim(0, 1.05 * max(values, default=0) / factor or 1)


def _names(axes: Axes, panel: Panel) -> None:
    """Label the rows, the first one on top."""
    count = len(panel.points)
    axes.set_ylim(count - 0.4, -0.6)
    if count <= _MOST_NAMED:
        names = [plain(point.name, _NAME_CHARACTERS) for point in panel.points]
        axes.set_yticks(range(count), names)
        axes.tick_params(axis="y", length=0)
    else:
        axes.set_ylabel(f"{panel.what}, by its place in the scenario")
        axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
