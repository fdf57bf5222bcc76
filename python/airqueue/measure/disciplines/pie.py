"""PIE (RFC 8033): drops arrivals at random with a probability that a controller moves.

Test: the controller of the RFC, with its gains and an update every 15 ms, or as often as Linux's
timers allow, is led by the delays that were seen; what it then drops is compared with what was lost.
Likelihood: `likelihood`; the hazard is that of section 5.1 (no drop until the probability since the
last drop adds up to 0.85, none missed beyond 8.5) or, for devices without it, the probability itself.
The hazards added up at the drops are then exponentially distributed, beyond 0.85 with section 5.1.

A controller comes to rest slowly: its probability falls by 1/64 an update or less, so that what was
before the step may have left some of it. Each step begins with a probability of its own.

Parameter: the target with the greatest likelihood. The first search compares numbers of drops between
two updates, the second one single packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from airqueue import _native
from airqueue.measure.disciplines.likelihood import (
    follows,
    log_likelihood,
    with_room,
)
from airqueue.measure.disciplines.observed import Bools, Floats, Ints, Step

UPDATES_S: Final = (0.015, 0.016, 0.02, 0.03)
"""The RFC's interval between updates; Linux's, a tick more, with 1000, 250 and 100 ticks a second."""
LEAST_ADDED: Final = 0.85
MOST_ADDED: Final = 8.5
LEAST_SPARED: Final = 0.2
"""Probability below which nothing is dropped behind a short delay (section 4.1)."""
ABOUT: Final = 0.15
"""Part of it by which the probability, an estimate, may be wrong."""
TARGETS_S: Final = np.geomspace(1e-3, 1.0, 160)
CLOSER: Final = np.geomspace(1 / 1.06, 1.06, 25)
"""Targets of the second search, over one of the first."""
BEGUN: Final = np.array([0.0, 0.001, 0.003, 0.01, 0.03, 0.1])
"""Probabilities at the beginning of a step, of the first search."""
FEWER: Final = 3
"""Only every third target and probability is tried where departures are searched, too."""
NEAR_BEGUN: Final = (1 / 1.3, 1.0, 1.3)
"""The same of the second search, over the one of the first."""
UNCERTAIN: Final = 0.05
"""Half of the least interval of the target, as a share: the phase of the updates is not known."""
SHORT: Final = 0.25
SHORT_PACKETS: Final = 4.0
"""Of a target below this part of the delays at drops, or so many packet times, an end is known."""
LIKELY: Final = 8.0
"""Log-likelihood below the greatest at the ends of the interval, over all variants. Wilks has 1.92,
where the law is followed with the device's own delays and not with estimates."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How often the controller updates, and whether drops are derandomised (section 5.1)."""

    update_s: float
    derandomised: bool


@dataclass(frozen=True, slots=True)
class Pie:
    """PIE's target in seconds with the ends of its interval, and the log-likelihood."""

    log_likelihood: float
    target_s: tuple[float, float, float]
    variant: Variant
    drops: int
    follows: bool
    """Whether the hazards added up at the drops are distributed as they should be."""


def fit(step: Step, full: float | None, idle: float) -> Pie | None:
    """Return the target with the greatest likelihood; None if nothing was lost with room."""
    room = with_room(step, full)
    if not np.any(step.lost & room):
        return None
    best: tuple[float, float, Variant, Floats] | None = None
    likely: list[tuple[float, float]] = []
    for led, starts in _first_search(step, room):
        for variant, begin, begun in starts:
            targets, before = _near(begin, begun)
            rows = [_of_packets(row[led.at], step, variant) for row in led.hazards(targets, before)]
            values = [log_likelihood(hazard, step.lost, room, idle) for hazard, _ in rows]
            k = int(np.argmax(values))
            if best is None or values[k] > best[0]:
                best = values[k], float(targets[k]), variant, rows[k][1]
            likely += zip(values, targets.tolist(), strict=True)
    assert best is not None
    value, target, variant, added = best
    near = [t for v, t in likely if v >= value - LIKELY]
    # A delay is known to the packet that leaves; bursts on their way are counted as waiting. So is a
    # packet that has left the queue and waits for its tokens.
    vague = UNCERTAIN * target + step.packet_s / 2
    low = 0.0 if step.in_bursts else max(0.0, min(*near, target - vague) - step.packet_s)
    high, target = max(*near, target + vague), max(0.0, target - step.packet_s / 2)
    # The controller follows the distance from the target: beside long delays a short target is vague.
    short = max(SHORT_PACKETS * step.packet_s, SHORT * float(np.median(step.sojourn_s[step.lost])))
    if target < short:
        low, high = 0.0, max(high, short)
    at_drops = added[step.lost & room]
    least = LEAST_ADDED if variant.derandomised else 0.0
    return Pie(
        value,
        (target, low, high),
        variant,
        len(at_drops),
        follows(at_drops, lambda sums: -np.expm1(-np.maximum(sums - least, 0.0))),
    )


def _of_packets(probability: Floats, step: Step, variant: Variant) -> tuple[Floats, Floats]:
    """Hazard of each packet, and the probabilities added up since the last drop."""
    hazard = np.where(step.waiting < 2, 0.0, probability)
    added = _native.since_last_drop(hazard, step.lost)
    if variant.derandomised:
        hazard = np.where(added < LEAST_ADDED, 0.0, np.where(added >= MOST_ADDED, 1.0, hazard))
    return hazard, added


def _near(target_s: float, begun: float) -> tuple[Floats, Floats]:
    """Return the targets, and the probabilities at the beginning, of the second search."""
    before = begun * np.array(NEAR_BEGUN if begun > 0 else (1.0,))
    targets, beginnings = np.meshgrid(target_s * CLOSER, before)
    return targets.ravel(), beginnings.ravel()


def _first_search(step: Step, room: Bools) -> list[tuple[_Led, list[tuple[Variant, float, float]]]]:
    """Return where the second search begins: by variants, the target and the first probability.

    They are those that explain best how many packets were lost when.
    """
    targets, begun = (x.ravel() for x in np.meshgrid(TARGETS_S, BEGUN))
    found = []
    for update_s in UPDATES_S:
        led = _Led.by(step, update_s)
        hazard = led.hazards(targets, begun)
        starts = []
        for derandomised in (True, False):
            total = _of_counts(led, hazard, step.lost, room, derandomised=derandomised)
            k = int(np.argmax(total))
            starts.append((Variant(update_s, derandomised), float(targets[k]), float(begun[k])))
        found.append((led, starts))
    return found


def _of_counts(
    led: _Led, hazard: Floats, lost: Bools, room: Bools, *, derandomised: bool
) -> Floats:
    """Log-likelihood of how many packets were lost after each update; shape (targets,)."""
    came, dropped = (
        np.bincount(led.at[which], minlength=len(led.delays)).astype(np.float64)
        for which in (room, room & lost)
    )
    # A derandomised drop needs 0.85 more than one on its own.
    mean = came * hazard / (1 + LEAST_ADDED * derandomised) + 0.01
    return np.asarray(np.sum(dropped * np.log(mean) - mean, axis=1))


def explains(step: Step, room: Bools) -> float:
    """Return how well PIE explains when packets with room were lost: a log-likelihood, roughly.

    Of the usual update interval, and few targets.
    """
    targets, begun = (x.ravel() for x in np.meshgrid(TARGETS_S[::FEWER], BEGUN[::FEWER]))
    led = _Led.by(step, UPDATES_S[1])
    hazard = led.hazards(targets, begun)
    return float(np.max(_of_counts(led, hazard, step.lost, room, derandomised=True)))


@dataclass(frozen=True, slots=True)
class _Led:
    """A controller led by the delays that were seen at its updates; ``at``: the update before each
    packet."""

    update_s: float
    delays: Floats
    at: Ints

    @classmethod
    def by(cls, step: Step, update_s: float) -> _Led:
        """Take the delay of the packet that had left last before each update."""
        updates = np.arange(0.0, step.came_s[-1] + update_s, update_s)
        left, waited = step.left_s[~step.lost], step.sojourn_s[~step.lost]
        last = np.searchsorted(left, updates, side="right") - 1
        delays = np.where(last >= 0, waited[np.maximum(last, 0)], 0.0)
        return cls(update_s, delays, np.searchsorted(updates, step.came_s, side="right") - 1)

    def hazards(self, targets_s: Floats, begun: Floats) -> Floats:
        """Probability of a drop after each update; shape (targets, updates).

        ``begun``: the probability before the first update, for each target.
        """
        probability, spared = _native.pie_probabilities(
            self.delays, targets_s, begun, self.update_s
        )
        surely = np.clip((probability / LEAST_SPARED - 1) / ABOUT + 0.5, 0.0, 1.0)
        # Section 4.1: what keeps the link busy is not dropped.
        calm = self.delays < targets_s[:, None] / 2
        return np.where(spared, 0.0, np.where(calm, surely * probability, probability))
