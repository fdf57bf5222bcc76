"""Shared by pictures of results: formats, units, words, and the writing of a figure to a file."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from airqueue.text import power_of_ten

FORMATS: Final = ("svg", "pdf", "png")

MARKERS: Final = ("o", "s", "^", "D", "v", "P")
DASHES: Final = ("-", (0, (4, 1.5)))
"""Beyond the colours the dashes change."""

_TICKED_UP_TO: Final = 26
"""Points up to which the ticks of a logarithmic axis are at points."""
_TICKS_APART: Final = 0.09
"""At least, of the length of such an axis, so that their labels do not touch."""


def label(words: str, unit: str, characters: int) -> str:
    """Return the label of an axis."""
    return plain(f"{words} ({unit})" if unit else words, characters)


def plain(words: str, width: int) -> str:
    """Return words in lines of that many characters; a dollar sign begins no formula."""
    return textwrap.fill(words, width).replace("$", r"\$")


def logarithmic(axis: Axis, places: Sequence[float] = ()) -> None:
    """Give a logarithmic axis plain numbers: at its points, which rise, where they are few.

    Without any at round numbers, as many as what is drawn on the axis by then has room for.
    """
    if not places:
        low, high = axis.get_view_interval()
        decades = math.log10(high / low) if 0 < low < high else 1.0
        subs = (1, 2, 5) if decades < 3 else (1,)
        axis.set_major_locator(LogLocator(subs=range(1, 10) if decades < 0.7 else subs))
        axis.set_minor_formatter(NullFormatter())
    elif len(places) <= _TICKED_UP_TO:
        axis.set_major_locator(FixedLocator(_well_apart(places)))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(value: float) -> str:
    """Return a number as it is written, or a power of ten where that takes many zeros."""
    if value <= 0 or 1e-4 < value < 1e5:
        return f"{value:g}"
    factor, _, exponent = f"{value:.2e}".partition("e")
    raised = power_of_ten(int(exponent))
    return raised if float(factor) == 1.0 else f"{float(factor):g}×{raised}"


def _well_apart(places: Sequence[float]) -> list[float]:
    positive = [place for place in places if place > 0]
    if len(positive) < 2:
        return positive
    least = _TICKS_APART * math.log(positive[-1] / positive[0])
    chosen: list[float] = []
    for place in positive:
        if not chosen or math.log(place / chosen[-1]) >= least:
            chosen.append(place)
    return chosen


def saved(figure: Figure, file_format: str, title: str, description: str) -> bytes:
    """Return a figure as a file of one of `FORMATS`, the same bytes each time."""
    content = io.BytesIO()
    metadata = _metadata(file_format, title, description)
    figure.savefig(content, format=file_format, metadata=metadata)
    return content.getvalue()


def _metadata(file_format: str, title: str, description: str) -> dict[str, Any]:
    if file_format == "pdf":
        return {"Title": title, "Subject": description, "CreationDate": None}
    if file_format == "svg":
        return {"Title": title, "Description": description, "Date": None}
    return {"Title": title, "Description": description}
