"""Figures of a reproduction in the style of the printed ones: ours in colour with intervals, the
paper's numbers hollow and grey.

Drawn like `airqueue.plots.sweep`: without pyplot, the same bytes for the same data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from airqueue.plots.parts import DASHES, MARKERS, logarithmic, plain, saved
from airqueue.plots.style import COLOURS, STYLE
from airqueue_papers.picture import Panel, PaperFigure, Series

_INCHES: Final = {1: (4.4, 2.9), 2: (3.5, 2.7), 3: (2.75, 2.4)}
"""Width and height of a panel, by the number of panels side by side."""
_STACKED_INCHES: Final = (3.5, 2.5)
_CHARACTERS_AN_INCH: Final = 13.5
"""Approximate width of 8-point text."""
_MARKED_UP_TO: Final = 26
"""Most points that have marks and error bars; longer series are a line in a band."""
_LEGEND_COLUMNS: Final = 6
_BARS: Final = 0.8
"""Share of the width of a category that its bars fill."""
_APART: Final = 0.12
"""Distance between points of one category, so that error bars do not overlap."""
_LINES_APART: Final = 0.008
"""Distance between lines with error bars, as a share of the axis, for the same reason."""
_ASLANT: Final = 35
"""Angle of slanted labels in degrees."""
_ASLANT_CHARACTERS: Final = 18
_UPRIGHT_CHARACTERS: Final = 26
"""Characters in a line of a long category, of which two lines are side by side."""
_PRINTED: Final = "0.42"
_ERROR_BARS: Final[dict[str, Any]] = {
    "fmt": "none",
    "elinewidth": 0.9,
    "capsize": 1.8,
    "capthick": 0.9,
}


_PLAIN_NUMBERS: Final[dict[Any, Any]] = {"axes.formatter.use_mathtext": False}
"""No formulas as tick labels: they take most of the drawing time of dozens of figures."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Look of the series of one name in all panels."""

    index: int

    @property
    def colour(self) -> str:
        return COLOURS[self.index % len(COLOURS)]

    @property
    def again(self) -> bool:
        """Whether another name has the colour too: bars are then hatched."""
        return self.index // len(COLOURS) % 2 == 1

    @property
    def dashes(self) -> Any:
        return DASHES[self.index // len(COLOURS) % len(DASHES)]

    @property
    def marker(self) -> str:
        return MARKERS[self.index % len(MARKERS)]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A series at its places along the axis."""

    series: Series
    look: _Look
    x: Sequence[float]
    width: float
    """Width of a bar."""

    @property
    def colour(self) -> str:
        return _PRINTED if self.series.printed else self.look.colour

    @property
    def y(self) -> list[float]:
        return _numbers(self.series.y)

    @property
    def intervals(self) -> tuple[list[float], list[float]] | None:
        """Lower and upper ends."""
        series = self.series
        if series.low is None or series.high is None:
            return None
        return _numbers(series.low), _numbers(series.high)


def draw(picture: PaperFigure, *formats: str, stacked: bool = False) -> list[bytes]:
    """Return a picture as a file of each given format of `airqueue.plots.parts.FORMATS`.

    At most three panels are side by side; ``stacked`` puts one below the other, for narrow screens. A
    series of the paper has the marker of our series of equal name.
    """
    looks = _looks(picture)
    count = len(picture.panels)
    columns = 1 if stacked else count if count <= 3 else 2 if count == 4 else 3
    rows = math.ceil(count / columns)
    inches = _STACKED_INCHES if stacked else _INCHES[columns]
    with mpl.rc_context({**STYLE, **_PLAIN_NUMBERS}):
        width = inches[0] * columns
        entries = _legend_entries(picture, looks)
        legend_columns, legend_inches = _legend_room(list(entries), width)
        characters = round(inches[0] * _CHARACTERS_AN_INCH)
        higher = max(_word_inches(panel, characters) for panel in picture.panels)
        height = (inches[1] + higher) * rows + legend_inches
        figure = Figure(figsize=(width, height), layout="constrained")
        for place, panel in enumerate(picture.panels):
            axes = figure.add_subplot(rows, columns, place + 1)
            _panel(axes, panel, looks, characters)
        if legend_columns:
            figure.legend(
                list(entries.values()),
                [label.replace("$", r"\$") for label in entries],
                loc="outside lower center",
                ncols=legend_columns,
                columnspacing=1.4,
                handlelength=1.8,
            )
        files = []
        for file_format in formats:
            files.append(saved(figure, file_format, picture.title, ""))
            # All files use the layout of the first, since the layout takes longest.
            figure.set_layout_engine("none")
        return files


def _looks(picture: PaperFigure) -> Mapping[str, _Look]:
    """Return the look of every name: ours first, so that our series have the first colours."""
    every = [series for panel in picture.panels for series in panel.series]
    names = [s.label for s in every if not s.printed] + [s.label for s in every if s.printed]
    return {name: _Look(index) for index, name in enumerate(dict.fromkeys(names))}


def _panel(axes: Axes, panel: Panel, looks: Mapping[str, _Look], characters: int) -> None:
    words = _words(panel)
    if panel.log_y:
        bars = any(series.style == "bars" for series in panel.series)
        axes.set_yscale("log", nonpositive="clip" if bars else "mask")
    for drawn in _drawn(panel, words, looks):
        _DRAWERS[drawn.series.style](axes, drawn)
    if panel.log_y:
        logarithmic(axes.yaxis)
    axes.set_title(plain(panel.title, characters), loc="left")
    axes.set_xlabel(plain(panel.x_label, characters))
    axes.set_ylabel(plain(panel.y_label, 32))
    axes.grid(axis="y", linewidth=0.4, color="0.88")
    axes.set_axisbelow(True)
    if words:
        _categories(axes, words, characters)
    elif panel.log_x:
        axes.set_xscale("log")
        logarithmic(axes.xaxis, sorted({float(x) for s in panel.series for x in s.x}))
    if panel.zero and not panel.log_y and _least(panel) >= 0.0:
        axes.set_ylim(bottom=0.0)


def _words(panel: Panel) -> list[str]:
    """Return the categories of a panel; none where its axis has numbers."""
    every = [x for series in panel.series for x in series.x]
    return list(dict.fromkeys(map(str, every))) if any(isinstance(x, str) for x in every) else []


def _least(panel: Panel) -> float:
    """Return the least value; an interval that reaches below 0 does not move the axis."""
    values = [y for series in panel.series for y in _numbers(series.y)]
    return min((y for y in values if not math.isnan(y)), default=0.0)


def _drawn(panel: Panel, words: Sequence[str], looks: Mapping[str, _Look]) -> Iterator[_Drawn]:
    """Yield the series at their places; those that share a category stand beside each other."""
    unit = 1.0 if words else _closest([s for s in panel.series if s.style == "bars"])
    width = _BARS * unit / max(sum(s.style == "bars" for s in panel.series), 1)
    asides = _asides(panel, words, width)
    for series, aside in zip(panel.series, asides, strict=True):
        places = [float(words.index(str(x))) if words else float(x) for x in series.x]
        if aside and not words and series.style == "line":
            places = _moved(places, aside, logarithmic=panel.log_x)
        else:
            places = [place + aside for place in places]
        yield _Drawn(series, looks[series.label], places, width)


def _asides(panel: Panel, words: Sequence[str], width: float) -> list[float]:
    """Return the shift of each series: bars by their width, series with error bars by a little.

    For lines along numbers the shift is a share of the axis.
    """
    kinds = [_kind_aside(series, words) for series in panel.series]
    apart = {"bars": width, "points": min(_APART, _BARS / max(kinds.count("points"), 1))}
    apart["line"] = _APART / 2 if words else _LINES_APART
    asides = []
    for index, kind in enumerate(kinds):
        place = kinds[:index].count(kind) - (kinds.count(kind) - 1) / 2
        asides.append(place * apart.get(kind, 0.0))
    return asides


def _kind_aside(series: Series, words: Sequence[str]) -> str:
    """Return the style by which a series is shifted; empty for a series without shift."""
    if series.style == "line":
        return "line" if series.low is not None and len(series.x) <= _MARKED_UP_TO else ""
    return series.style if series.style == "bars" or (words and series.style == "points") else ""


def _moved(places: list[float], share: float, *, logarithmic: bool) -> list[float]:
    """Return places along numbers, shifted by a share of their span."""
    if logarithmic:
        positive = [place for place in places if place > 0]
        factor = (max(positive) / min(positive)) ** share if positive else 1.0
        return [place * factor for place in places]
    return [place + share * (max(places) - min(places)) for place in places]


def _closest(bars: Sequence[Series]) -> float:
    """Return the least distance between bars' places, which are numbers."""
    places = sorted({float(x) for series in bars for x in series.x})
    return min((b - a for a, b in pairwise(places)), default=1.0)


def _line(axes: Axes, drawn: _Drawn) -> None:
    few = len(drawn.x) <= _MARKED_UP_TO
    steps = drawn.series.style == "steps"
    style = _line_style(drawn, marked=few and not steps)
    axes.plot(drawn.x, drawn.y, **style, zorder=3)
    _spread(axes, drawn, as_band=not few or steps)


def _points(axes: Axes, drawn: _Drawn) -> None:
    style = {**_line_style(drawn, marked=True), "linestyle": "none"}
    axes.plot(drawn.x, drawn.y, **style, zorder=4)
    _spread(axes, drawn, as_band=False)


def _band(axes: Axes, drawn: _Drawn) -> None:
    axes.plot(drawn.x, drawn.y, **_line_style(drawn, marked=False), zorder=3)
    _spread(axes, drawn, as_band=True)


def _bars(axes: Axes, drawn: _Drawn) -> None:
    axes.bar(drawn.x, drawn.y, 0.9 * drawn.width, **_bar_style(drawn))
    _spread(axes, drawn, as_band=False, colour="0.15" if not drawn.series.printed else _PRINTED)


_DRAWERS: Final = {
    "line": _line, "steps": _line, "points": _points, "band": _band, "bars": _bars,
}  # fmt: skip


def _spread(axes: Axes, drawn: _Drawn, *, as_band: bool, colour: str | None = None) -> None:
    """Draw the intervals, whether or not they contain the values."""
    if drawn.intervals is None:
        return
    low, high = drawn.intervals
    colour = colour or drawn.colour
    if as_band:
        step: Literal["post"] | None = "post" if drawn.series.style == "steps" else None
        axes.fill_between(drawn.x, low, high, step=step, color=colour, alpha=0.18, linewidth=0)
        return
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    half = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    axes.errorbar(drawn.x, middle, yerr=half, color=colour, **_ERROR_BARS, zorder=3.5)


def _line_style(drawn: _Drawn, *, marked: bool) -> dict[str, Any]:
    printed = drawn.series.printed
    return {
        "color": drawn.colour,
        "linestyle": (0, (2, 1.5)) if printed else drawn.look.dashes,
        "linewidth": 0.8 if printed else 1.2,
        "drawstyle": "steps-post" if drawn.series.style == "steps" else "default",
        "marker": drawn.look.marker if marked else "none",
        "markersize": 5 if printed else 3.6,
        "markerfacecolor": "none" if printed else drawn.colour,
        "markeredgewidth": 0.9 if printed else 0.0,
        "clip_on": True,
    }


def _bar_style(drawn: _Drawn) -> dict[str, Any]:
    if drawn.series.printed:
        return {"facecolor": "none", "edgecolor": _PRINTED, "linewidth": 0.9, "zorder": 2}
    if drawn.look.again:
        return {"facecolor": drawn.colour, "edgecolor": "white", "hatch": "////", "zorder": 2}
    return {"facecolor": drawn.colour, "edgecolor": "none", "zorder": 2}


def _categories(axes: Axes, words: Sequence[str], characters: int) -> None:
    """Label the categories: horizontally where they fit, else slanted, and long ones vertically."""
    rotation, width = _word_layout(words, characters)
    axes.set_xticks(
        range(len(words)),
        [plain(word, width) for word in words],
        rotation=rotation,
        ha="right" if rotation == _ASLANT else "center",
        rotation_mode="anchor" if rotation == _ASLANT else "default",
    )
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(words) - 0.4)


def _word_layout(words: Sequence[str], characters: int) -> tuple[int, int]:
    """Return the rotation of category labels, and the characters per line."""
    room = max(characters * 8 // 10 // len(words), 1)
    if all(len(part) <= room for word in words for part in word.split()):
        return 0, room
    longest = max(map(len, words))
    return (_ASLANT, longest) if longest <= _ASLANT_CHARACTERS else (90, _UPRIGHT_CHARACTERS)


def _word_inches(panel: Panel, characters: int) -> float:
    """Return the extra height of a panel for its category labels."""
    words = _words(panel)
    rotation, width = _word_layout(words, characters) if words else (0, 0)
    if not rotation:
        return 0.0
    longest = max(min(len(word), width) for word in words)
    return longest / _CHARACTERS_AN_INCH * math.sin(math.radians(rotation))


def _legend_entries(picture: PaperFigure, looks: Mapping[str, _Look]) -> dict[str, Any]:
    """Return the legend entry of each name: ours first, then the paper's."""
    every = [series for panel in picture.panels for series in panel.series]
    ours = {series.label for series in every if not series.printed}
    entries: dict[str, Any] = {}
    for series in sorted(every, key=lambda each: each.printed):
        label = series.label
        if series.printed and label in ours:
            label = f"{label}, printed"
        if label and label not in entries:
            entries[label] = _handle(_Drawn(series, looks[series.label], (), 0.0))
    return entries


def _handle(drawn: _Drawn) -> Any:
    if drawn.series.style == "bars":
        return Patch(**_bar_style(drawn))
    points = drawn.series.style == "points"
    few = drawn.series.style == "line" and len(drawn.series.x) <= _MARKED_UP_TO
    style = _line_style(drawn, marked=points or few)
    if points:
        style["linestyle"] = "none"
    return Line2D([], [], **style)


def _legend_room(labels: Sequence[str], width_inches: float) -> tuple[int, float]:
    """Return the number of columns of the legend below the panels, and its height; 0 for none."""
    if len(labels) < 2:
        return 0, 0.0
    for columns in range(min(len(labels), _LEGEND_COLUMNS), 0, -1):
        rows = math.ceil(len(labels) / columns)
        # Matplotlib fills one column after the other, each as wide as its longest entry.
        widest = [
            max(map(len, labels[first : first + rows])) for first in range(0, len(labels), rows)
        ]
        if sum(widest) + 6 * len(widest) <= width_inches * _CHARACTERS_AN_INCH:
            break
    columns = math.ceil(len(labels) / rows)
    return columns, 0.1 + 0.16 * rows


def _numbers(values: Sequence[float | None]) -> list[float]:
    """Return values with NaN as a gap in place of None and of numbers that are not finite."""
    return [v if v is not None and math.isfinite(v) else math.nan for v in values]
