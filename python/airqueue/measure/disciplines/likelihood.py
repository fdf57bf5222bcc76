"""Likelihood of a discipline that drops at random: what the disciplines with such laws share.

A discipline is a hazard for each packet of the flood: the probability that the packet is dropped,
given what happened before. The likelihood of the losses that were seen is the product over the
packets that found room in the queue. Its rivals know nothing of any discipline: the share lost as a
free function of the length that a packet finds, or of time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airqueue import _native
from airqueue.measure.disciplines.observed import Bools, Floats, Step

UNFORESEEN = 1e-4
"""Least probability that a packet is lost, or passes, against the law."""
MIXED = 0.1
"""Part of the packets whose losses are not held against a law: they are lost with the flood's share,
because filling and delays are estimates."""
NEARLY = 0.04
"""Part of a length by which a queue may be shorter and full: for others' packets, and time."""
BINS = 20
"""Of a rival, for its free function of length, and for each second of time."""
LEAST_IN_BIN = 50
"""Packets of a rival's bin of time, on average: fewer tell which of them were lost, and no share."""
CLOSE = 0.25
"""Greatest distance, of Kolmogorov and Smirnov, between the accumulated hazards and the law, beyond
the sampling error: the law is followed with a filling that is an estimate."""


def log_likelihood(hazard: Floats, lost: Bools, known: Bools, idle: float) -> float:
    """Return the log-likelihood of the losses of the known packets.

    ``idle``: share of the packets that the path loses by itself.
    """
    return _native.log_likelihood(hazard, lost, known, beside(idle))


def beside(idle: float) -> tuple[float, float, float]:
    """Return what is lost beside any law, as the core takes it; ``idle`` as in `log_likelihood`."""
    return MIXED, idle, UNFORESEEN


def with_room(step: Step, full: float | None) -> Bools:
    """Mark the packets that found room in a queue that is full at this length."""
    if full is None:
        return np.ones(len(step.lost), dtype=bool)
    return np.asarray(step.waiting < full - max(step.slack, NEARLY * full))


def best_rival(step: Step, full: float | None) -> float:
    """Return the larger log-likelihood of the two rivals."""
    room = with_room(step, full)
    lost, length = step.lost[room], step.waiting[room]
    if not len(lost):
        return 0.0
    edges = np.unique(np.quantile(length, np.linspace(0, 1, BINS + 1)))
    by_length = _free(np.searchsorted(edges, length, side="right"), lost)
    bins_per_s = min(BINS, step.offered_pps / LEAST_IN_BIN)
    by_time = _free((step.came_s[room] * bins_per_s).astype(np.int64), lost)
    return max(by_length, by_time)


def _free(bins: np.ndarray, lost: Bools) -> float:
    """Log-likelihood where each bin has a share of its own (Krichevsky and Trofimov's estimate)."""
    total = np.bincount(bins).astype(np.float64)
    of_them = np.bincount(bins, weights=lost)
    p = (of_them + 0.5) / (total + 1)
    return float(np.sum(of_them * np.log(p) + (total - of_them) * np.log(1 - p)))


def follows(accumulated: Floats, cumulative: Callable[[Floats], Floats]) -> bool:
    """Return whether the hazards accumulated at the drops have the law's distribution, or nearly.

    ``cumulative``: the law's distribution function.
    """
    if len(accumulated) < 2:
        return False
    at_drops = np.sort(accumulated)
    n = len(at_drops)
    apart = cumulative(at_drops) - np.arange(n) / n
    distance = max(float(apart.max()), float(1 / n - apart.min()))
    return bool(distance <= CLOSE + 1.36 / np.sqrt(n))
