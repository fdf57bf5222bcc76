"""Backoff series, the shared fixed point and the root finder, at their ends and against mpmath."""

import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from chains import attempt_probability as chain
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models.backoff import (
    attempt_probability,
    attempts_and_backoff,
    drop_probability,
    retry_limit,
    windows,
)
from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.fixed_point import collision_probability, hit, spared
from airqueue.models.roots import increasing_root

A = np.asarray


def slow(
    p: float, cw_min: float, cw_max: float, retries: int, extra: float
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Both sums term by term with 60 digits."""
    with mpmath.workdps(60):
        q = mpmath.mpf(p)
        attempts = slots = mpmath.mpf(0)
        for k in range(retries + 1):
            window = min(mpmath.mpf(2) ** k * cw_min, mpmath.mpf(cw_max))
            attempts += q**k
            slots += q**k * (window + extra) / 2
        return (1 - q) * attempts, (1 - q) * slots


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-9, 0.3, 0.5, np.nextafter(0.5, 1), 0.9, 1 - 1e-12])
@pytest.mark.parametrize(("cw_min", "cw_max"), [(32, 1024), (7, 7), (3, 100), (1, 2.0**60)])
@pytest.mark.parametrize("retries", [0, 1, 6, 80])
@pytest.mark.parametrize("extra", [1.0, 0.0, -1.0])
def test_equals_the_sums_term_by_term(
    p: float, cw_min: float, cw_max: float, retries: int, extra: float
) -> None:
    found = attempts_and_backoff(A(p), A(cw_min), A(cw_max), retries=retries, extra_slots=extra)
    for value, reference in zip(found, slow(p, cw_min, cw_max, retries, extra), strict=True):
        # p^k has a relative condition of k: some 80 units in the last place.
        assert float(value) == pytest.approx(float(reference), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.8, 1 - 1e-9])
@pytest.mark.parametrize("doublings", [0, 3, 5])
def test_without_a_limit_it_is_the_published_closed_form(p: float, doublings: int) -> None:
    cw_max = 32.0 * 2**doublings
    _, slots = attempts_and_backoff(A(p), A(32.0), A(cw_max), retries=None, extra_slots=1.0)
    with mpmath.workdps(40):
        q, w = mpmath.mpf(p), mpmath.mpf(32)
        # Σ_{k<m} (2p)^k is the quotient (1-(2p)^m)/(1-2p), which has no value at p = 1/2.
        series = sum((2 * q) ** k for k in range(doublings))
        reference = 2 / (w + 1 + q * w * series)
    assert 1 / float(slots) == pytest.approx(float(reference), rel=1e-14)


def test_more_retries_than_can_be_counted_is_never_giving_up() -> None:
    p = np.linspace(0, 1 - 1e-6, 50)
    endless = attempts_and_backoff(p, A(8.0), A(64.0), retries=None, extra_slots=1.0)
    many = attempts_and_backoff(p, A(8.0), A(64.0), retries=1e300, extra_slots=1.0)
    np.testing.assert_array_equal(endless, many)


def test_at_certain_collision_every_stage_is_used_equally() -> None:
    found = attempt_probability(A(1.0), A(32.0), A(1024.0), A(6.0), 1.0)
    backoffs = [Fraction(w + 1, 2) for w in (32, 64, 128, 256, 512, 1024, 1024)]
    assert float(found) == pytest.approx(float(7 / sum(backoffs)), rel=1e-14)
    assert float(attempt_probability(A(1.0), A(32.0), A(1024.0), A(np.inf), 1.0)) == pytest.approx(
        2 / 1025, rel=1e-12
    )


def test_each_element_has_its_own_limit() -> None:
    limits = A([0.0, 2.0, 6.0, 9.0, np.inf])
    together = attempt_probability(A(0.4), A(4.0), A(64.0), limits, 1.0)
    alone = [float(attempt_probability(A(0.4), A(4.0), A(64.0), A(k), 1.0)) for k in limits]
    assert together == pytest.approx(alone, rel=1e-15)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(7, 8)])
@pytest.mark.parametrize(
    ("cw_min", "cw_max", "retries"),
    [(1, 1, None), (4, 4, None), (2, 8, None), (3, 12, None), (4, 8, 0), (2, 8, 1), (2, 4, 4)],
)
def test_equals_the_stationary_markov_chain(
    p: Fraction, cw_min: int, cw_max: int, retries: int | None
) -> None:
    limit = retry_limit(retries)
    found = attempt_probability(A(float(p)), A(float(cw_min)), A(float(cw_max)), limit, 1.0)
    assert float(found) == pytest.approx(float(chain(p, cw_min, cw_max, retries)), rel=1e-14)


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=20),
    st.floats(3, 1e6),
    st.floats(1, 1e6),
    st.one_of(st.none(), st.integers(0, 40)),
    st.sampled_from([1.0, 0.0, -1.0]),
)
def test_more_collisions_never_make_a_station_bolder(
    p: list[float], cw_min: float, ratio: float, retries: int | None, extra: float
) -> None:
    ordered = np.sort(p)
    tau = attempt_probability(ordered, A(cw_min), A(cw_min * ratio), retry_limit(retries), extra)
    assert (tau > 0).all()
    assert (tau <= 1).all()
    assert (np.diff(tau) <= 1e-13 * tau[:-1]).all()


def test_windows_of_every_size_are_evaluated_without_a_warning() -> None:
    p = np.linspace(0, 1, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cw_max in (1.0, 2.0**31, 1e300, np.finfo(np.float64).max):
            for retries in (None, 0, 3, 10**9):
                found = attempt_probability(p, A(1.0), A(cw_max), retry_limit(retries), 1.0)
                assert np.isfinite(found).all()
                assert (found > 0).all()


def test_empty_arrays_stay_empty() -> None:
    none = np.empty((0, 3))
    assert attempts_and_backoff(none, none, none, retries=None, extra_slots=1.0)[1].shape == (0, 3)
    assert attempt_probability(none, none, none, none, 1.0).shape == (0, 3)
    assert increasing_root(lambda x: x - 1, none, 2.0, (), what="x").shape == (0, 3)


def test_drops_need_a_limit() -> None:
    assert drop_probability(A([0.5, 1.0]), A(np.inf)).tolist() == [0, 0]
    assert drop_probability(A([0.5, 1.0, 0.0]), A(2.0)).tolist() == [0.125, 1, 0]


@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), float("inf"), "x"])
def test_a_bad_retry_limit_is_named(bad: float) -> None:
    with pytest.raises(ParameterError, match="retries"):
        retry_limit(bad)


@pytest.mark.parametrize(
    ("cw_min", "cw_max", "names"),
    [
        (-0.5, 7, "cw_min"),
        (7, 3, "cw_max"),
        (1, float("inf"), "cw_max"),
        ([1, 2], [1] * 3, "cw_min"),
    ],
)
def test_bad_windows_are_named(cw_min: float, cw_max: float, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        windows(cw_min, cw_max)
    assert raised.value.parameter == names


def test_hit_and_spared_share_the_certainty() -> None:
    tau = A([1e-18, 1e-9, 0.3, 1.0])
    np.testing.assert_allclose(hit(tau, A(5.0)) + spared(tau, A(5.0)), 1.0, rtol=1e-15)
    assert hit(A(1e-18), A(3.0)) == pytest.approx(2e-18, rel=1e-12)
    assert spared(A(0.5), A(1001.0)) == pytest.approx(0.5**1000, rel=1e-12)
    assert (float(hit(A(1.0), A(1.0))), float(hit(A(1.0), A(1.1)))) == (0, 1)


def test_a_tiny_solution_is_as_accurate_as_a_large_one() -> None:
    found = collision_probability(lambda p, tau: tau, A([2.0, 3.0]), (A([1e-15, 1e-200]),))
    assert found == pytest.approx([1e-15, 2e-200], rel=1e-14)


def test_roots_take_integers_and_more_elements_than_a_chunk() -> None:
    squares = np.arange(100_000).reshape(400, 250)
    found = increasing_root(lambda x, y: x * x - y, 0, 400, (squares,), what="root")
    np.testing.assert_allclose(found, np.sqrt(squares), rtol=1e-14)


def test_ends_that_do_not_bracket_are_named() -> None:
    with pytest.raises(ConvergenceError, match=r"no width .* between 0 and 1 \(parameters 5\)"):
        increasing_root(lambda x, y: x - y, 0.0, 1.0, (A([0.5, 5.0]),), what="width")
