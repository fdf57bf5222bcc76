"""Segments of files of random size: sums to a million terms, closed forms, hostile functions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.file_sizes import mean_segments, mean_segments_of, segment_tail


def pareto(mean: float, shape: float):
    smallest = mean * (shape - 1) / shape

    def survival(bits):
        return np.minimum(1.0, smallest / np.maximum(bits, smallest)) ** shape

    return survival


def test_worked_numbers() -> None:
    assert float(mean_segments(240_000, 8000, "pareto")) == pytest.approx(30.512, abs=5e-4)
    assert float(mean_segments(240_000, 8000)) == pytest.approx(30.503, abs=5e-4)
    assert mean_segments([240_000, 240_001], 8000, "constant").tolist() == [30, 31]


@pytest.mark.parametrize("shape", [1.2, 1.5, 2.5, 50])
@pytest.mark.parametrize("mean", [1000.0, 8000.0, 240_000.0, 3e6])
def test_pareto_against_a_sum(mean: float, shape: float) -> None:
    smallest = mean * (shape - 1) / shape / 8000
    found = float(mean_segments(mean, 8000, "pareto", shape))
    whole = math.floor(smallest) + 1
    # Term by term, the rest between two integrals.
    terms = np.arange(whole, 2_000_000)
    head = whole + ((smallest / terms) ** shape).sum()
    last = 2_000_000
    rest = smallest**shape * last ** (1 - shape) / (shape - 1)
    assert head + rest <= found * (1 + 1e-12)
    assert found <= head + rest + (smallest / last) ** shape + found * 1e-12


def test_long_pareto_files_by_the_series() -> None:
    """Both sides of the place where ζ gives way, and far beyond: within 1/2 of E[X]/L + 1/2."""
    means = np.geomspace(1e4, 1e9, 400) * 8000
    for shape in (1.2, 1.5, 3.0, 50.0):
        extra = mean_segments(means, 8000, "pareto", shape) - means / 8000
        assert (np.abs(extra - 0.5) <= 0.5).all()
    near = mean_segments(np.array([0.999, 1.001]) * 3e4 * 8000, 8000, "pareto", 1.5)
    assert near[1] - near[0] == pytest.approx(0.002 * 3e4, rel=0.02)


@given(st.floats(1e-3, 1e9), st.floats(1, 1e6), st.sampled_from(["exponential", "pareto"]))
def test_between_the_mean_and_one_more(mean: float, segment: float, kind: str) -> None:
    count = float(mean_segments(mean, segment, kind))
    ratio = mean / segment
    assert max(1.0, ratio) * (1 - 1e-9) <= count <= (ratio + 1) * (1 + 1e-9)


@pytest.mark.parametrize("mean", [500.0, 8000.0, 240_000.0, 4e7])
def test_any_survival_function_agrees_with_the_closed_forms(mean: float) -> None:
    assert mean_segments_of(lambda x: np.exp(-x / mean), mean, 8000) == pytest.approx(
        float(mean_segments(mean, 8000)), rel=2e-6
    )
    for shape in (1.5, 3.0):
        found = mean_segments_of(pareto(mean, shape), mean, 8000)
        assert found == pytest.approx(float(mean_segments(mean, 8000, "pareto", shape)), rel=2e-6)


def test_atoms() -> None:
    """Files of exactly 3 or exactly 10 segments, or a bit more."""
    for extra, expected in ((0, 6.5), (1, 7.5)):
        sizes = np.array([3 * 8000 + extra, 10 * 8000 + extra])

        def survival(bits: np.ndarray, sizes: np.ndarray = sizes) -> np.ndarray:
            return (bits[..., None] < sizes).mean(axis=-1)

        assert mean_segments_of(survival, sizes.mean(), 8000) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("survival", "names"),
    [
        (lambda x: x / 1e6, "survival"),
        (lambda x: 0.5, "survival"),
        (lambda x: np.full(x.shape, np.nan), "survival"),
        (lambda x: np.exp(-x / 1e3) * 2, "survival"),
        (lambda x: np.exp(-x / 1e3), "mean_bits"),
    ],
)
def test_what_is_no_survival_function_is_refused(survival, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        mean_segments_of(survival, 240_000, 8000)
    assert raised.value.parameter == names


def test_too_heavy_a_tail_is_refused() -> None:
    for mean in (240_000, 1e12):
        with pytest.raises(ConvergenceError, match="too heavy"):
            mean_segments_of(pareto(mean, 1.01), mean, 8)
    with pytest.raises(ConvergenceError, match="still"):
        mean_segments_of(pareto(1e9, 1.1), 1e9, 8000, tolerance=1e-9)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"mean_bits": 0}, "mean_bits"),
        ({"segment_bits": float("nan")}, "segment_bits"),
        ({"shape": 1}, "shape"),
        ({"shape": 1e9}, "shape"),
        ({"distribution": "cauchy"}, "distribution"),
        ({"mean_bits": [1, 2], "shape": [2, 3, 4]}, "mean_bits"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        mean_segments(**{"mean_bits": 1e5, "segment_bits": 8000, **arguments})
    assert raised.value.parameter == names


def test_the_tail_is_of_segments() -> None:
    assert segment_tail(lambda x: np.exp(-x), 2.0, 3) == pytest.approx(np.exp([0, -2, -4]))


def test_too_rough_a_tail_is_refused() -> None:
    def survival(bits):
        smooth = np.minimum(1.0, (80_000 / np.maximum(bits, 1.0)) ** 1.5)
        return smooth * np.where(bits > 1e8, 1 + 0.5 * np.sin(1e6 * np.log(bits + 1.0)), 1.0)

    with pytest.raises(ConvergenceError, match="too rough"):
        mean_segments_of(survival, 240_000, 8000, tolerance=1e-5)
