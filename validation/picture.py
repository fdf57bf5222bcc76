"""The figure of a claim: the model's line, the reference's points, and where the claim ends."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airqueue.plots.style import COLOURS, STYLE
from validation.claim import Claim, Point

MODEL, REFERENCE, OUTSIDE = COLOURS[0], COLOURS[1], "#f3f3f3"


def draw(claim: Claim, path: Path) -> None:
    """Write the figure as SVG."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 3.0), layout="constrained")
        axes = figure.add_subplot()
        points = sorted(claim.points, key=lambda point: point.x)
        xs = [point.x for point in points]
        axes.plot(xs, [point.model for point in points], color=MODEL, label="model")
        axes.errorbar(
            xs,
            [point.reference for point in points],
            [2 * point.standard_error for point in points],
            fmt="o",
            markersize=4,
            color=REFERENCE,
            label=claim.reference,
        )
        for start, end in _outside(points):
            axes.axvspan(start, end, color=OUTSIDE, zorder=0)
        if claim.logarithmic:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(claim.axis)
        axes.set_ylabel(claim.quantity)
        axes.legend()
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _outside(points: list[Point]) -> list[tuple[float, float]]:
    """Return the stretches of the horizontal axis that the claim does not cover."""
    stretches = []
    for before, after in pairwise(points):
        if not (before.inside and after.inside):
            stretches.append((before.x, after.x))
    return stretches
