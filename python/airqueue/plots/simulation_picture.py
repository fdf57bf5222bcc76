"""Results of a simulation as a picture. Loads matplotlib, so imported only when needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from airqueue import text
from airqueue.plots.intervals import Panel, Point, draw
from airqueue.plots.parts import FORMATS
from airqueue.simulate import Results, ScenarioError
from airqueue.simulate.reported import KINDS, summary_of_each

if TYPE_CHECKING:
    from airqueue.figures import FigureOf, Summaries

_PANELS: Final[tuple[tuple[FigureOf, str, str], ...]] = (
    (("flows", "throughput_bps"), "Throughput of flows", "IP packets at their destination"),
    (("flows", "delay_mean_s"), "Delay of flows", "mean, from source to destination"),
    (("stations", "airtime_ratio"), "Airtime of stations", "share of the time"),
    (("queues", "length_mean_packets"), "Length of queues", "mean"),
)
"""Kind and figure, title and label."""


def file_format(path: str, what: str) -> str:
    """Return the format of a file's suffix; raises ScenarioError for an unknown suffix."""
    found = Path(path).suffix.removeprefix(".").lower()
    if found not in FORMATS:
        kinds = text.listed([kind.upper() for kind in FORMATS], "or")
        raise ScenarioError(f"{path}: a {what} is {kinds}; call the file for example {what}.svg")
    return found


def about(results: Results) -> str:
    """Return the text on the source of the figures."""
    count = text.plural(len(results.runs), "replication")
    return f"{count} of {results.duration_s:g} s, seed {results.seed}"


class SimulationPlot:
    """A picture in the format of its file's suffix; raises ScenarioError where that is none."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._format = file_format(path, "plot")

    def draw(self, name: str, results: Results) -> bytes:
        """Return the file: a panel for each figure with a value."""
        panels = [
            panel
            for of, title, label in _PANELS
            if (panel := _panel(results.summary, of, title, label)) is not None
        ]
        title = f"airqueue simulate {name}"
        return draw(panels, self._format, title=title, description=about(results))


def _panel(summary: Summaries, of: FigureOf, title: str, label: str) -> Panel | None:
    """Return the panel of a figure; None if the figure has no value."""
    kind, figure = of
    points = tuple(
        Point(name, each["mean"], None if (ci := each["ci95"]) is None else (ci[0], ci[1]))
        for name, each in summary_of_each(summary, of).items()
    )
    if all(point.mean is None for point in points):
        return None
    _, unit = text.words_and_unit(figure)
    return Panel(title, label, unit, points, KINDS[kind])
