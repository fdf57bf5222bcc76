"""Estimators of the queue, side by side, each a pure function of one session's records.

| name | what it uses | survives |
|---|---|---|
| published | Eq. (1) of the APQ paper: medians and the flood's throughput | a steady rate only |
| corrected | Eq. (1) with all packets, means, drift and phase removed | other flows, clock skew |
| counting | the packets that wait when one is refused | rate changes, stalls, bursts |
| fill_drain | the packets that come after the flood has ended | random loss, drops at the head |
"""

from __future__ import annotations

from collections.abc import Callable

from airqueue.measure.estimators.corrected import corrected
from airqueue.measure.estimators.counting import counting
from airqueue.measure.estimators.fill_drain import fill_drain
from airqueue.measure.estimators.published import published
from airqueue.measure.session import Session

Estimator = Callable[[Session], float | None]
"""Session -> packets waiting in the full queue, or None where the records do not tell."""

ESTIMATORS: dict[str, Estimator] = {
    "published": published,
    "corrected": corrected,
    "counting": counting,
    "fill_drain": fill_drain,
}
"""Every estimator by the name under which results carry it."""


def estimate(session: Session) -> dict[str, float | None]:
    """Run every estimator over the session: name -> packets or None."""
    return {name: estimator(session) for name, estimator in ESTIMATORS.items()}


__all__ = [
    "ESTIMATORS",
    "Estimator",
    "corrected",
    "counting",
    "estimate",
    "fill_drain",
    "published",
]
