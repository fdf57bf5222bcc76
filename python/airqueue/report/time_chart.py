"""Charts of values over time: one for each interval, gaps where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airqueue.emulate.words import arrow
from airqueue.report.svg import Chart, padded

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Axis:
    """What is drawn over time."""

    label: str
    scale: float = 1.0
    width: int = 560


def chart_over_time(name: str, many: Sequence[Values], times: Sequence[float], axis: Axis) -> str:
    """Return a chart of values, one for each interval between ``times`` (s), in seconds."""
    scaled = [[None if v is None else v * axis.scale for v in values] for values in many]
    of_name = f", {arrow(name)}" if name else ""
    chart = Chart(
        f"{axis.label} over time{of_name}",
        (min(times[0], 0.0), times[-1]),
        padded(v for values in scaled for v in values if v is not None),
        x_label=f"time (s){of_name}",
        y_label=axis.label,
        width=axis.width,
        height=200,
    )
    for number, values in enumerate(scaled, start=1):
        for xs, ys in _runs(times, values):
            chart.line(xs, ys, number)
    return chart.render()


def _runs(times: Sequence[float], values: Values) -> Iterator[tuple[list[float], list[float]]]:
    """Yield steps over the intervals that have a value, without the gaps."""
    xs: list[float] = []
    ys: list[float] = []
    for begin, end, value in zip(times, times[1:], values, strict=False):
        if value is None:
            if xs:
                yield xs, ys
            xs, ys = [], []
            continue
        xs += [begin, end]
        ys += [value, value]
    if xs:
        yield xs, ys
