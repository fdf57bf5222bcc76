"""Student's intervals against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from airqueue import stats


@pytest.mark.parametrize("degrees", [*range(1, 402), 1000, 10**4, 10**6])
def test_quantiles_are_scipys(degrees):
    ours = stats.t_interval([-1.0, 1.0] + [0.0] * (degrees - 1))
    spread = math.sqrt(2 / degrees / (degrees + 1))  # s / √n of these samples
    exact = float(reference.t.ppf(0.975, degrees))
    assert ours.half_width / spread == pytest.approx(exact, rel=1e-11)


def test_an_interval_is_scipys():
    samples = np.random.default_rng(7).normal(3, 2, 25)
    ours = stats.t_interval(samples)
    low, high = reference.t.interval(0.95, 24, samples.mean(), reference.sem(samples))
    assert (ours.low, ours.high) == pytest.approx((low, high), rel=1e-12)
    assert ours.n == 25
    assert ours.contains(ours.mean)


def test_the_mean_of_samples_is_rounded_once():
    draw = np.random.default_rng(11)
    for exponent in (0, 5, 60, 200):
        for _ in range(500):
            signs = draw.choice([-1.0, 1.0], draw.integers(2, 12))
            samples = [
                float(s * draw.random() * 10 ** draw.uniform(-exponent, exponent)) for s in signs
            ]
            assert stats.t_interval(samples).mean == math.fsum(samples) / len(samples)
    # The second term is half of the first one's last place, and the third one decides.
    assert stats.t_interval([1.0, 2.0**-53, 2.0**-80]).mean == (1 + 2.0**-52) / 3
    assert stats.t_interval([0.1] * 10).mean == 0.1


@pytest.mark.parametrize("freedom", [1, 1.7, 4.25, 11, 60.3, 199.9, 200.1, 5000.5])
@pytest.mark.parametrize("below", [0.5, 0.9, 0.975, 0.995])
def test_quantiles_of_any_chance_are_scipys(freedom, below):
    exact = float(reference.t.ppf(below, freedom))
    assert stats.t_quantile(freedom, below) == pytest.approx(exact, rel=1e-9, abs=1e-12)
    assert stats.t_above(exact, freedom) == pytest.approx(1 - below, rel=1e-9)


@pytest.mark.parametrize(
    ("some", "others"),
    [((3, 40), (1, 900)), ((0, 10), (4, 10)), ((25, 2500), (11, 2600)), ((5, 5), (0, 7))],
)
def test_fishers_test_is_scipys(some, others):
    table = [[events, among - events] for events, among in (some, others)]
    exact = reference.fisher_exact(table, alternative="greater")[1]
    assert stats.fisher_exact(some, others) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (1, 5), (5, 5), (700, 1200)])
def test_successes_are_scipys(successes, trials):
    exact = reference.binom.sf(successes - 1, trials, 0.5)
    assert stats.at_least(successes, trials) == pytest.approx(exact, rel=1e-9)


def test_what_has_no_interval():
    assert stats.t_interval([]) is None
    one = stats.t_interval([4.0])
    assert (one.mean, one.low, one.high) == (4.0, -math.inf, math.inf)
    for samples in ([math.inf, 1.0], [math.nan, 1.0], [math.inf, -math.inf]):
        ours = stats.t_interval(samples)
        assert math.isnan(ours.low)
        assert math.isnan(ours.high)
