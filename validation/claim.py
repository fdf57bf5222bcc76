"""A claim about a model, and the references that the model is compared with."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from airqueue.models.edca_slots import Estimate

REFERENCES = Path(__file__).parent / "references.csv"


class Verdict(StrEnum):
    """What a setting says of a claim."""

    AGREES = "agrees"
    DIFFERS = "differs"
    TOO_NOISY = "too noisy to tell"


@dataclass(frozen=True, slots=True)
class Point:
    """One setting: the model's figure beside the reference's."""

    setting: str
    x: float
    """Position in the figure."""
    model: float
    reference: float
    standard_error: float
    """Standard error of the reference; 0 if exact or unknown."""
    inside: bool = True
    """Whether the claim covers this setting; other settings show the limits of the claim."""

    @property
    def difference(self) -> float:
        """The model's relative deviation from the reference; infinite for a reference of 0."""
        if self.reference == 0.0:
            return 0.0 if self.model == 0.0 else math.inf
        return self.model / self.reference - 1.0

    def judge(self, tolerance: float, absolute: float = 0.0) -> Verdict:
        """Return whether the model is within the greater tolerance, if that can be told.

        A setting differs if two standard errors do not bridge the distance to the tolerance. It
        agrees if the model is within the tolerance, and two standard errors are no more than that.
        All else is too noisy: a wide interval must not stand for agreement.
        """
        allowed = max(tolerance * abs(self.reference), absolute)
        distance, noise = abs(self.model - self.reference), 2.0 * self.standard_error
        if distance > allowed + noise:
            return Verdict.DIFFERS
        return Verdict.AGREES if max(distance, noise) <= allowed else Verdict.TOO_NOISY


@dataclass(frozen=True, slots=True)
class Claim:
    """Agreement of a model with a reference within a tolerance, over a stated range."""

    name: str
    """Also the figure's file name: lower case words joined by hyphens."""
    title: str
    statement: str
    """The model, its range, and the reason of the range: a sentence or two of Markdown."""
    quantity: str
    """The quantity compared, with its unit; the figure's vertical axis."""
    reference: str
    tolerance: float
    """Relative error that a reader may expect at most within the range."""
    axis: str
    """The variable; the figure's horizontal axis, and the table's first column."""
    points: Sequence[Point]
    logarithmic: bool = False
    """Whether both axes of the figure are logarithmic."""
    figure: bool = True
    absolute: float = 0.0
    """Least tolerance, in the unit of the quantity."""

    @property
    def covered(self) -> list[Point]:
        """The points that the claim covers."""
        return [point for point in self.points if point.inside]

    def judge(self, point: Point) -> Verdict:
        """Return what a setting says of this claim."""
        return point.judge(self.tolerance, self.absolute)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many covered settings agree, differ, and are too noisy."""
        return Counter(self.judge(point) for point in self.covered)

    @property
    def holds(self) -> bool:
        """Whether a covered setting agrees and none differs."""
        return self.counts[Verdict.AGREES] > 0 and not self.counts[Verdict.DIFFERS]


@dataclass(frozen=True, slots=True)
class Simulated:
    """Result of a reference simulator: mean and standard error over seeds."""

    value: float
    standard_error: float


@cache
def simulated(name: str) -> Simulated:
    """Return a row of references.csv; the file's columns say what was simulated.

    If the number of seeds is unknown, the standard deviation replaces the standard error, which it
    exceeds.
    """
    with REFERENCES.open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    row = rows[name]
    spread = float(row["std"] or 0) / math.sqrt(int(row["seeds"] or 1))
    return Simulated(float(row["mean"]), spread)


def against_simulator(
    setting: str, x: float, model: float, name: str, *, inside: bool = True
) -> Point:
    """Return the model's figure beside the row ``name`` of references.csv."""
    reference = simulated(name)
    return Point(setting, x, model, reference.value, reference.standard_error, inside)


def against_estimate(
    setting: str, x: float, model: float, real: Estimate, *, inside: bool = True
) -> Point:
    """Return the model's figure beside a Monte Carlo estimate.

    Half of a 95 % interval is taken as two standard errors, which are slightly less.
    """
    return Point(setting, x, model, real.mean, real.half_width / 2.0, inside)
