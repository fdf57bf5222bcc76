"""Compares the hold chain with the exact process at the points of a grid.

For pages and figures that show where the chain is valid; a point takes as long as its simulation,
about 0.1 s per million transmissions of two stations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from airqueue.models.backoff import CW_MAX, CW_MIN
from airqueue.models.batch_means import Estimate
from airqueue.models.edca_classes import RETRIES
from airqueue.models.edca_hold import hold_chain
from airqueue.models.edca_slots import slots
from airqueue.models.edca_validity import TOLERANCE
from airqueue.models.errors import ModelError


@dataclass(frozen=True, slots=True)
class Point:
    """Classes to compare: one value for each class."""

    stations: Sequence[int] = (1, 1)
    aifs_slots: Sequence[int] = (0, 0)
    cw_min: Sequence[int] = (int(CW_MIN), int(CW_MIN))
    cw_max: int = int(CW_MAX)
    retries: int | None = RETRIES


@dataclass(frozen=True, slots=True)
class Comparison:
    """Model and process at one point."""

    point: Point
    rule: str
    model_share: tuple[float, ...]
    """Share of successes of each class."""
    real_share: tuple[Estimate, ...]
    model_ratio: float
    """Successes of a station of the first class for each of one of the last."""
    real_ratio: Estimate | None
    """None where the last class had no success."""

    @property
    def share_error(self) -> tuple[float, ...]:
        """(model - real) / model of each class; above 0: the model gives it too much."""
        pairs = zip(self.model_share, self.real_share, strict=True)
        return tuple(1.0 - real.mean / model for model, real in pairs)

    @property
    def within(self) -> bool:
        """Whether every share is within the tolerance of `airqueue.models.edca_validity`."""
        return max(abs(error) for error in self.share_error) <= TOLERANCE


def compare(
    points: Iterable[Point],
    *,
    rule: str = "edca",
    transmissions: int = 2_000_000,
    seed: int = 1,
    progress: Callable[[Point], object] | None = None,
) -> list[Comparison]:
    """Return model and process at each point; ``progress`` is called with each point when it is done.

    rule, transmissions, seed: as `airqueue.models.edca_slots.slots` takes them.

    >>> (done,) = compare(aifs_points([2]), transmissions=100_000)
    >>> done.within, round(done.model_ratio, 3)
    (True, 1.277)
    """
    done = []
    for point in points:
        done.append(_compared(point, rule, transmissions, seed))
        if progress is not None:
            progress(point)
    return done


def aifs_points(differences: Iterable[int], stations: Sequence[int] = (1, 1)) -> list[Point]:
    """Two classes, equal but for the AIFS of the second (EDCA paper, Fig. 4)."""
    return [Point(stations=stations, aifs_slots=(0, d)) for d in differences]


def window_points(windows: Iterable[int], stations: Sequence[int] = (1, 1)) -> list[Point]:
    """Two classes, equal but for the CWmin of the first (EDCA paper, Fig. 5)."""
    start = Point(stations=stations)
    return [replace(start, cw_min=(w, start.cw_min[1])) for w in windows]


def _compared(point: Point, rule: str, transmissions: int, seed: int) -> Comparison:
    given = (point.stations, point.aifs_slots, point.cw_min, point.cw_max)
    chain = hold_chain(*given, retries=point.retries)
    run = slots(*given, retries=point.retries, rule=rule, transmissions=transmissions, seed=seed)
    last = len(point.stations) - 1
    try:
        ratio = run.ratio(0, last)
    except ModelError:
        ratio = None
    return Comparison(
        point=point,
        rule=rule,
        model_share=tuple(chain.success_share.tolist()),
        real_share=tuple(run.success_share(i) for i in range(last + 1)),
        model_ratio=float(chain.ratio(0, last)),
        real_ratio=ratio,
    )
