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


def test_what_has_no_interval():
    assert stats.t_interval([]) is None
    one = stats.t_interval([4.0])
    assert (one.mean, one.low, one.high) == (4.0, -math.inf, math.inf)
    for samples in ([math.inf, 1.0], [math.nan, 1.0], [math.inf, -math.inf]):
        ours = stats.t_interval(samples)
        assert math.isnan(ours.low)
        assert math.isnan(ours.high)
