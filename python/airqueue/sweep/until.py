"""The number of replications of a point: until the intervals of given figures are narrow enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airqueue.stats import t_interval
from airqueue.sweep import figures
from airqueue.sweep.figures import Figure, Pattern

if TYPE_CHECKING:
    from airqueue.simulate.report_types import Run


@dataclass(frozen=True, slots=True)
class Width:
    """Target for half of a 95 % confidence interval; either bound suffices."""

    relative: float | None
    """Relative to the mean."""
    absolute: float | None
    """Absolute precision, in the figure's unit."""

    def excess(self, values: Sequence[float | None]) -> float:
        """Return the interval's width over the target; at most 1 if the interval is narrow enough.

        A figure that is missing in all replications does not count. One value has no interval.
        """
        present = [value for value in values if value is not None]
        interval = t_interval(present)
        if interval is None:
            return 0.0
        half = interval.half_width
        aims = [] if self.relative is None else [self.relative * abs(interval.mean)]
        aims += [] if self.absolute is None else [self.absolute]
        aim = max(aims)
        if half <= aim:
            return 1.0 if half else 0.0
        return half / aim if aim > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for the number of replications."""

    least: int
    most: int
    widths: tuple[tuple[Pattern, Width], ...] = ()

    @property
    def patterns(self) -> list[Pattern]:
        """The figures whose intervals count."""
        return [pattern for pattern, _ in self.widths]

    def selected(self, run: Run) -> dict[Figure, float | None]:
        """Return the figures of a run that count."""
        return {
            figure: figures.value(run, figure) for _, figure in figures.each(self.patterns, run)
        }

    def wide(self, runs: Sequence[Mapping[Figure, float | None]]) -> dict[Figure, float]:
        """Return the figures that are too wide, and how many times: from what `selected` gave.

        A figure that several patterns name has to satisfy each of them.
        """
        found: dict[Figure, float] = {}
        for pattern, width in self.widths:
            for figure in runs[0] if runs else ():
                if not pattern.names(figure):
                    continue
                excess = width.excess([run[figure] for run in runs])
                if excess > 1:
                    found[figure] = max(excess, found.get(figure, 0.0))
        return found

    def next(self, runs: Sequence[Mapping[Figure, float | None]]) -> int:
        """Return the number of replications needed, given all so far; equal if these suffice.

        A half-width falls with the root of the number. The number at most doubles at a time, since
        an interval of few values is a poor guess.
        """
        now = len(runs)
        wide = self.wide(runs)
        if not wide or now >= self.most:
            return now
        excess = max(wide.values())
        wanted = math.ceil(now * excess**2) if excess < 1e3 else 2 * now
        return min(max(wanted, now + 1), 2 * now, self.most)
