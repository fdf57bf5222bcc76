"""A figure as data, which the report and matplotlib files draw in the style of the printed figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Series:
    """One line, set of points, or set of bars."""

    label: str
    """Label in the legend; a series without label is not in the legend."""
    x: tuple[float, ...] | tuple[str, ...]
    """Positions; words are categories, at the same places for all series of a panel."""
    y: tuple[float | None, ...]
    """Values; None leaves a gap."""
    low: tuple[float | None, ...] | None = None
    """Lower ends of 95 % confidence intervals; requires ``high``."""
    high: tuple[float | None, ...] | None = None
    style: Literal["line", "points", "bars", "steps", "band"] = "line"
    """``band``: the area between ``low`` and ``high``, around the line ``y``."""
    printed: bool = False
    """Whether these are the paper's numbers: drawn hollow and grey."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    """Label of the axis, with the unit."""
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    zero: bool = True
    """Whether the vertical axis begins at 0."""


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure of one or more panels beside each other."""

    name: str
    """Also the file name: lower case words joined by hyphens."""
    title: str
    """Subject, and the corresponding figure of the paper."""
    panels: tuple[Panel, ...]
