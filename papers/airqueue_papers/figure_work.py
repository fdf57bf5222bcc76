"""Draws a figure of a reproduction as a piece of work with plain data in and out: several processes
share the drawing, and a stored figure is not drawn again.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from importlib import metadata
from typing import Any

from airqueue.runs import kinds
from airqueue_papers.drawing import draw
from airqueue_papers.picture import Panel, PaperFigure, Series


def inputs(picture: PaperFigure) -> dict[str, Any]:
    """Return all inputs of a picture's files as plain JSON."""
    panels = [
        {**asdict(panel), "series": [_plain_series(series) for series in panel.series]}
        for panel in picture.panels
    ]
    return {
        "name": picture.name,
        "title": picture.title,
        "panels": panels,
        "matplotlib": metadata.version("matplotlib"),
    }


def figure(described: Mapping[str, Any]) -> dict[str, str]:
    """Draw the picture of `inputs`: ``svg``, ``pdf`` in base64, and ``narrow``, stacked for phones.

    A picture of one panel has no ``narrow``.
    """
    panels = tuple(
        Panel(**{**panel, "series": tuple(_series(each) for each in panel["series"])})
        for panel in described["panels"]
    )
    picture = PaperFigure(described["name"], described["title"], panels)
    svg, pdf = draw(picture, "svg", "pdf")
    files = {"svg": svg.decode(), "pdf": base64.b64encode(pdf).decode()}
    if len(panels) > 1:
        files["narrow"] = draw(picture, "svg", stacked=True)[0].decode()
    return files


kinds.register(
    "figure",
    figure,
    (
        "airqueue_papers.drawing",
        "airqueue_papers.picture",
        "airqueue.plots.parts",
        "airqueue.plots.style",
        "airqueue.text",
    ),
)


def _plain_series(series: Series) -> dict[str, Any]:
    values = {field.name: getattr(series, field.name) for field in fields(series)}
    numbers = {
        name: None if values[name] is None else [_plain(each) for each in values[name]]
        for name in ("x", "y", "low", "high")
    }
    return {**values, **numbers}


def _plain(value: Any) -> float | str | None:
    """Return a word unchanged and a number as a Python float; None, a gap, if not finite."""
    if value is None or isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None


def _series(plain: Mapping[str, Any]) -> Series:
    return Series(**{name: _tuple(value) for name, value in plain.items()})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
