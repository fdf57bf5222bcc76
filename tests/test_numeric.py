"""Windows and minima against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage, optimize, signal

from airqueue import _native, numeric

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 33, 100])
@pytest.mark.parametrize("n", [1, 5, 200])
def test_windows_are_scipys(size, n):
    values = RANDOM.normal(size=n)
    least = ndimage.minimum_filter1d(values, size, mode="nearest")
    assert numeric.window_minimum(values, size).tolist() == least.tolist()
    mean = ndimage.uniform_filter1d(values, size, mode="nearest")
    assert numeric.window_mean(values, size) == pytest.approx(mean, abs=1e-12)


def test_moving_averages_are_scipys():
    values, weight = RANDOM.exponential(size=500), 0.07
    filtered = signal.lfilter([weight], [1, weight - 1], values, zi=[(1 - weight) * 3.0])[0]
    assert _native.moving_average(values, weight, 3.0) == pytest.approx(filtered, rel=1e-12)


@pytest.mark.parametrize("least", [0.0, 0.31, 2.7, 5.0])
def test_a_minimum_between_bounds(least):
    found = numeric.minimum_between(lambda x: abs(x - least) ** 1.5, 0.0, 5.0, within=1e-6)
    assert found == pytest.approx(least, abs=2e-6)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_nelder_and_mead_is_as_good_as_scipys(n):
    start = np.full(n, -1.2)
    simplex = np.vstack([start, start + 0.3 * np.eye(n)])
    options = {"initial_simplex": simplex, "xatol": 1e-6, "fatol": 1e-9, "maxfev": 5000}
    theirs = optimize.minimize(optimize.rosen, start, method="Nelder-Mead", options=options)
    calls = []

    def counted(point):
        calls.append(point)
        return float(optimize.rosen(point))

    point, cost = numeric.nelder_mead(
        counted, simplex, within=1e-6, cost_within=1e-9, evaluations=5000
    )
    assert cost == pytest.approx(theirs.fun, abs=1e-9)
    assert point == pytest.approx(theirs.x, abs=1e-4)
    assert len(calls) <= 1.1 * theirs.nfev


def test_nelder_and_mead_ends_after_so_many_evaluations():
    calls = []

    def counted(point):
        calls.append(point)
        return float(optimize.rosen(point))

    start = np.full(3, -1.2)
    simplex = np.vstack([start, start + np.eye(3)])
    _, cost = numeric.nelder_mead(counted, simplex, within=0, cost_within=0, evaluations=40)
    assert 40 <= len(calls) < 46
    assert cost == min(map(optimize.rosen, calls))
