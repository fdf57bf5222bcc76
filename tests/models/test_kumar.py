"""Kumar et al.'s fixed point: its special cases, exact sums, uniqueness and multiplicity."""

import math
import warnings
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models.bianchi import bianchi
from airqueue.models.dcf_conventions import MODEL as CONVENTIONS
from airqueue.models.edca_slots import slots
from airqueue.models.errors import ParameterError
from airqueue.models.kumar import MODEL, kumar, kumar_backoffs, kumar_fixed_points
from airqueue.models.tay_chua import tay_chua

N = np.array([1, 1.5, 2, 3, 5, 10, 20, 50])


def test_the_three_worked_conventions() -> None:
    figures = CONVENTIONS.evaluate(n=2, cw_min=31, cw_max=1023, retries=None)
    assert list(figures) == [output.name for output in CONVENTIONS.outputs]
    assert figures["bianchi_p"] == pytest.approx(0.05704, abs=5e-6)
    assert figures["tay_chua_p"] == pytest.approx(0.05861, abs=5e-6)
    assert figures["http_p"] == pytest.approx(0.06025, abs=5e-6)
    spread = (0.06025 - 0.05704) / 0.05861
    assert figures["relative_spread"] == pytest.approx(spread, abs=3e-4)


def test_one_station_has_no_spread() -> None:
    figures = CONVENTIONS.evaluate(n=1, cw_min=31, cw_max=1023, retries=6)
    assert set(figures.values()) == {0}


def test_the_simulated_pair_lies_between_the_conventions() -> None:
    """A slot-by-slot simulation gave 0.0588 or 0.0590 by the rule of how a frozen backoff resumes."""
    p = {c: float(kumar(2, convention=c).collision_probability) for c in ("tay-chua", "http")}
    for simulated in (0.0588, 0.0590):
        assert p["tay-chua"] < simulated < p["http"]


@pytest.mark.parametrize("n", [1.5, 2, 3, 5])
def test_where_drops_are_rare_it_is_the_http_paper_s(n: float) -> None:
    """Worked P_C of Eqs. (1), (2); the factor they leave out is 1 - p^7 < 1e-5 here."""
    worked = {1.5: 0.03167, 2: 0.06025, 3: 0.10954, 5: 0.18433}[n]
    p = float(kumar(n, convention="http").collision_probability)
    # dp/p is about the relative change of τ, p^7, times 1 - p.
    assert p == pytest.approx(worked, abs=5e-6 + p**8)


@pytest.mark.parametrize("retries", [None, 0, 2, 6])
def test_bianchi_is_a_special_case(retries: int | None) -> None:
    found, reference = kumar(N, 15, 255, retries), bianchi(N, 15, 255, retries)
    np.testing.assert_array_equal(found.collision_probability, reference.collision_probability)
    np.testing.assert_array_equal(found.drop_probability, reference.drop_probability)


def test_tay_and_chua_is_a_special_case() -> None:
    found, reference = kumar(N, retries=None, convention="tay-chua"), tay_chua(N)
    np.testing.assert_allclose(
        found.collision_probability, reference.collision_probability, rtol=1e-14
    )
    np.testing.assert_allclose(found.mean_backoff_slots, reference.mean_backoff_slots, rtol=1e-13)


@pytest.mark.parametrize(("convention", "extra"), [("bianchi", 1), ("tay-chua", 0), ("http", -1)])
def test_windows_are_a_list_of_backoffs(convention: str, extra: int) -> None:
    backoffs = [(min(24 * 2**k, 600) + extra) / 2 for k in range(8)]
    listed = kumar_backoffs(N, backoffs)
    windows = kumar(N, 23, 599, 7, convention=convention)
    for field in ("collision_probability", "attempt_probability", "mean_backoff_slots"):
        np.testing.assert_allclose(getattr(listed, field), getattr(windows, field), rtol=1e-13)
    np.testing.assert_allclose(listed.drop_probability, windows.drop_probability, rtol=1e-12)


@pytest.mark.parametrize("n", [1.2, 2, 30, 5000])
@pytest.mark.parametrize("backoffs", [[1.0], [5.0, 5.0], [1.0, 3.5, 80.0], [16.0, 40.0, 1e6, 1e6]])
def test_equals_mpmath(n: float, backoffs: list[float]) -> None:
    def surplus(p: mpmath.mpf) -> mpmath.mpf:
        attempts = sum(p**k for k in range(len(backoffs)))
        slots = sum(b * p**k for k, b in enumerate(backoffs))
        return p - 1 + (1 - attempts / slots) ** (mpmath.mpf(n) - 1)

    with mpmath.workdps(50):
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
    found = kumar_backoffs(n, backoffs)
    assert float(found.collision_probability) == pytest.approx(float(high), rel=1e-14)


def test_the_ratio_is_the_exact_one() -> None:
    backoffs = [Fraction(3), Fraction(7, 2), Fraction(90)]
    found = kumar_backoffs([2, 9, 40], [float(b) for b in backoffs])
    for p, rate in zip(found.collision_probability, found.attempt_probability, strict=True):
        q = Fraction(float(p))
        exact = sum(q**k for k in range(3)) / sum(b * q**k for k, b in enumerate(backoffs))
        assert float(rate) == pytest.approx(float(exact), rel=1e-14)


def test_lists_broadcast_against_n() -> None:
    found = kumar_backoffs([[2], [5], [9]], [[4, 8, 16], [16, 16, 32]])
    assert found.collision_probability.shape == (3, 2)
    alone = kumar_backoffs(9, [16, 16, 32])
    assert found.collision_probability[2, 1] == alone.collision_probability
    assert kumar_backoffs([], [1, 2]).collision_probability.shape == (0,)


@settings(deadline=None)
@given(st.floats(1, 1000), st.lists(st.floats(1.01, 1000), min_size=1, max_size=8).map(sorted))
def test_backoffs_that_never_shrink_have_one_solution(n: float, backoffs: list[float]) -> None:
    # Backoffs of one slot are left out: τ is then near 1, and 1 - τ is lost to rounding in both.
    every = kumar_fixed_points(n, backoffs)
    assert every.shape == (1,)
    one = kumar_backoffs(n, backoffs).collision_probability
    assert float(every[0]) == pytest.approx(float(one), rel=1e-12, abs=1e-300)


def test_backoffs_that_shrink_may_have_three() -> None:
    backoffs = [1000.0] + [1.0] * 30
    with pytest.raises(ParameterError, match="kumar_fixed_points"):
        kumar_backoffs(200, backoffs)
    every = kumar_fixed_points(200, backoffs)
    assert every.size == 3
    for p in every:
        attempts = sum(mpmath.mpf(float(p)) ** k for k in range(31))
        slots = sum(b * mpmath.mpf(float(p)) ** k for k, b in enumerate(backoffs))
        assert float(1 - (1 - attempts / slots) ** 199) == pytest.approx(float(p), abs=1e-12)


def test_one_station_s_only_fixed_point_is_zero() -> None:
    assert kumar_fixed_points(1, [9.0, 2.0]).tolist() == [0]


@pytest.mark.parametrize(
    ("solve", "names"),
    [
        (lambda: kumar(0.9), "n"),
        (lambda: kumar(2, 0, convention="tay-chua"), "cw_min"),
        (lambda: kumar(2, 1, 1, convention="http"), "cw_min"),
        (lambda: kumar(2, convention="mine"), "convention"),
        (lambda: kumar(2, retries=-1), "retries"),
        (lambda: kumar_backoffs(2, []), "backoffs_slots"),
        (lambda: kumar_backoffs(2, 5.0), "backoffs_slots"),
        (lambda: kumar_backoffs(2, [0.5, 1]), "backoffs_slots"),
        (lambda: kumar_backoffs(2, [1, 1e301]), "backoffs_slots"),
        (lambda: kumar_backoffs(2, [1, float("nan")]), "backoffs_slots"),
        (lambda: kumar_backoffs([1, 2], np.ones((3, 4))), "n"),
        (lambda: kumar_fixed_points([1, 2], [4.0]), "n"),
        (lambda: kumar_fixed_points(2, [[4.0]]), "backoffs_slots"),
    ],
)
def test_bad_input_is_named(solve: Callable[[], object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        solve()
    assert raised.value.parameter == names


def test_extreme_but_valid_input_is_solved_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for backoffs in ([1.0], [1e300] * 50, [1.0, 1e300]):
            for n in (1, 1 + 1e-15, 1e6, 1.7e308):
                p = float(kumar_backoffs(n, backoffs).collision_probability)
                assert 0 <= p <= 1
        # 1 - exp(-n/b), as b is huge.
        p = kumar_backoffs(1e300, [1e300] * 50).collision_probability
        assert float(p) == pytest.approx(-math.expm1(-1), rel=1e-14)


def test_the_command_s_figures() -> None:
    defaults = {p.name: p.default for p in MODEL.parameters} | {"n": 10}
    windows = MODEL.evaluate(**defaults)
    assert list(windows) == [output.name for output in MODEL.outputs]
    assert windows["mean_backoff_slots"] == pytest.approx(1 / windows["attempt_probability"])
    listed = MODEL.evaluate(**defaults | {"backoffs_slots": [16.5, 32.5, 64.5, 128.5]})
    assert listed["collision_probability"] == pytest.approx(
        float(kumar(10, 31, 255, 3).collision_probability)
    )


@pytest.mark.parametrize("rule", ["freeze", "edca"])
@pytest.mark.parametrize("cw_min", [15, 31])
def test_two_real_stations_lie_between_two_counts(cw_min: int, rule: str) -> None:
    run = slots(2, 0, cw_min, retries=6, rule=rule, transmissions=1_000_000)
    real = run.collision_probability(0)
    low, high = (
        float(kumar(2, cw_min, convention=c).collision_probability) for c in ("tay-chua", "http")
    )
    assert low - real.half_width <= real.mean <= high + real.half_width


def test_with_small_windows_frozen_counters_lie_below_them_all() -> None:
    real = slots(2, 0, 3, retries=6, rule="freeze", transmissions=300_000).collision_probability(0)
    for convention in ("bianchi", "tay-chua", "http"):
        model = float(kumar(2, 3, convention=convention).collision_probability)
        assert model > 1.4 * real.mean
