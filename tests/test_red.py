"""RED's law: its search, and what tells its drops from those of other laws."""

from __future__ import annotations

import numpy as np
import pytest

from airqueue import _native
from airqueue.measure.api import measure
from airqueue.measure.disciplines import likelihood, management, red
from airqueue.measure.disciplines.observed import Step
from airqueue.measure.simulated import SimulatedProber
from benches.verdicts import in_cell

RATE_PPS = 1000.0


def red_step(
    rng: np.random.Generator,
    law: tuple[float, float, float, float],
    overload: float,
    seconds: float = 6.0,
) -> Step:
    """A flood through a queue that RED manages: thresholds, greatest probability and weight.

    As in section 7 of Floyd and Jacobson: the probabilities since the last drop add up to a sum that
    is uniform.
    """
    low, high, most, weight = law
    came = np.arange(0, seconds, 1 / (overload * RATE_PPS))
    left, lost = np.zeros(len(came)), np.zeros(len(came), dtype=bool)
    leaving: list[float] = []
    free = average = added = 0.0
    drawn = rng.random()
    for k, at in enumerate(came):
        while leaving and leaving[0] <= at:
            leaving.pop(0)
        average += weight * (len(leaving) - average)
        added += most * (average - low) / (high - low) if average > low else 0.0
        if average >= high or (average > low and added >= drawn):
            added, drawn = 0.0, rng.random()
            lost[k], left[k] = True, free
            continue
        free = left[k] = max(free, at) + 1 / RATE_PPS
        leaving.append(free)
    return Step(came, left, lost, 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_what_is_as_likely_as_the_truth(seed):
    """The likelihood has many peaks: from one point each, the search missed three of these."""
    rng = np.random.default_rng(seed)
    low = float(np.exp(rng.uniform(np.log(10), np.log(80))))
    high = low * rng.uniform(2.5, 5)
    most = float(np.exp(rng.uniform(np.log(0.03), np.log(0.5))))
    weight = 2.0 ** -int(rng.integers(4, 10))
    step = red_step(rng, (low, high, most, weight), float(rng.choice([1.1, 1.35, 2.0])))
    found = red.fit(step, None, 0.0)
    assert found is not None
    truth = _native.red_log_likelihood(
        step.waiting,
        step.lost,
        likelihood.with_room(step, None),
        (weight, 0.0, low, high - low, most, red.BLURRED),
        likelihood.beside(0.0),
    )
    assert found.log_likelihood > truth - 3.0


def test_another_weight_than_the_likeliest_without_the_law_of_gaps_may_be_the_best():
    rng = np.random.default_rng(6)
    better = []
    for _ in range(6):
        step = red_step(rng, (12.0, 54.0, 0.1, 1 / 32), 1.1, seconds=2.45)
        room = np.ones(len(step.lost), dtype=bool)
        seen = step, room, likelihood.beside(0.0)
        few, _ = red.EVALUATIONS
        first, *others = (
            max(
                -red._climb(seen, weight, start + np.log([1.0, 1.0, part, 1.0]), few)[1]
                for part in red.BEGUN
            )
            for weight, start in red._first_search(step, room)
        )
        found = red.fit(step, None, 0.0)
        assert found is not None
        assert found.log_likelihood >= max(first, *others)
        better.append(found.log_likelihood - first)
    # Odds of 150 to 1, as a name needs.
    assert max(better) > management.BETTER


def test_red_needs_its_average():
    """By the present length alone, without an average: no RED of a slow weight is found."""
    rng = np.random.default_rng(2)
    came = np.arange(0, 5, 1 / (1.1 * RATE_PPS))
    left, lost, leaving, free = np.zeros(len(came)), np.zeros(len(came), dtype=bool), [], 0.0
    for k, at in enumerate(came):
        while leaving and leaving[0] <= at:
            leaving.pop(0)
        if rng.random() < np.clip((len(leaving) - 20) / 200, 0, 1):
            lost[k], left[k] = True, free
            continue
        free = left[k] = max(free, at) + 1 / RATE_PPS
        leaving.append(free)
    step = Step(came, left, lost, 0.0)
    found = red.fit(step, None, 0.0)
    rival = likelihood.best_rival(step, None)
    assert found is not None
    assert not (found.follows and found.log_likelihood > rival + management.BETTER)


def test_reds_drops_are_as_uneven_as_its_law_says_at_the_stated_level():
    """Of 5000 records of RED about one of a hundred is refused; of few drops, two (skewness)."""
    rng = np.random.default_rng(11)
    for drops, most in ((25, 0.03), (200, 0.02)):
        chances = []
        for _ in range(5000):
            spread = red._spread(rng.uniform(0, 1, drops), np.full(drops, 1e-3))
            chances.append(red.as_even([red.Red(0.0, 0.01, 1, 2, 0.1, drops, True, spread)]))
        assert 0.003 < np.mean(np.array(chances) < 0.01) < most


def test_probabilities_that_are_estimates_make_no_red_too_even():
    """Sums that are wrong by a factor of their own each vary more, not less."""
    rng = np.random.default_rng(12)
    wrong = rng.uniform(0, 1, 300) * rng.lognormal(0.0, 0.4, 300)
    found = red.Red(0, 0, 1, 2, 0.1, 300, True, red._spread(wrong, np.full(300, 1e-3)))
    assert red.as_even([found]) > 0.5


@pytest.mark.long
def test_behind_frames_as_long_as_its_queue_red_is_no_fifo():
    """Its sessions look like those of a FIFO whose counts scatter by a frame: steps tell."""
    table = {"min": "13 packets", "max": "39 packets", "probability": 0.1, "weight": 1 / 64}
    queue = {"discipline": "red", "limit": "117 packets", "red": table}
    path = in_cell({"standard": "802.11n", "rate": "HT-MCS7"}, queue, 0)
    found = measure(SimulatedProber(path, seed=1))
    assert found.capacity is None
    assert found.discipline is not None
    assert found.discipline.name == "red"
