"""The range checks that all models share: what passes is unchanged, what does not is named."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.checks import broadcast, choice, finished, number, numbers, probability
from airqueue.models.edca_hold import hold_chain
from airqueue.models.edca_slots import slots
from airqueue.models.errors import ConvergenceError, ModelError, ParameterError


def refusal(*arguments: object, **bounds: object) -> str:
    with pytest.raises(ParameterError) as raised:
        numbers(*arguments, **bounds)
    return str(raised.value)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_what_passes_is_unchanged(values: list[float]) -> None:
    assert numbers("x", values).tolist() == values


@given(st.floats(), st.floats(-10, 10), st.floats(-10, 10))
def test_bounds_hold_and_say_so(value: float, low: float, high: float) -> None:
    inside = math.isfinite(value) and low <= value <= high
    if inside:
        assert numbers("x", value, at_least=low, at_most=high) == value
    else:
        assert refusal("x", value, at_least=low, at_most=high).startswith("x is ")


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (0, {"above": 0}, "x is 0; it must be above 0"),
        ([1, 7, 3], {"below": 5}, "x[1] is 7; it must be below 5"),
        ([[1, 2], [3, -4]], {"at_least": 0}, "x[1, 1] is -4; it must be at least 0"),
        (math.nan, {}, "x is nan; it must be a finite number"),
        (-math.inf, {"at_most": 3}, "x is -inf; it must be at most 3"),
        (2.5, {"whole": True, "at_least": 1}, "x is 2.5; it must be a whole number at least 1"),
        (2.5, {"whole": True}, "x is 2.5; it must be a whole number"),
        (9, {"above": 1, "below": 4}, "x is 9; it must be above 1 and below 4"),
        ("seven", {}, "x is 'seven', which is not a number"),
        (10**400, {}, "x is too large for a number"),
        ([[1], [2, 3]], {}, "x is [[1], [2, 3]], which is not a number"),
    ],
)
def test_a_refusal_says_what_would_be_right(
    value: object, bounds: dict[str, float], message: str
) -> None:
    assert refusal("x", value, **bounds) == message


@pytest.mark.parametrize(
    "value",
    [
        "5",
        b"5",
        True,
        [True, False],
        1 + 0j,
        np.complex128(1 + 2j),
        np.datetime64("2020-01-01"),
        np.timedelta64(5, "s"),
        np.ma.array([5.0, 2.0], mask=[True, False]),
        [None],
        {},
    ],
)
def test_what_numpy_would_make_a_number_of_is_refused(value: object) -> None:
    assert refusal("x", value).endswith("which is not a number")


@pytest.mark.parametrize(
    "value", [Decimal("2.5"), Fraction(5, 2), np.float32(2.5), np.ma.array(2.5), np.array([2.5])]
)
def test_numbers_of_other_kinds_are_numbers(value: object) -> None:
    assert numbers("x", value) == 2.5


def test_one_number_is_asked_for_where_a_list_has_no_meaning() -> None:
    with pytest.raises(ParameterError, match="retries is a list of numbers"):
        hold_chain([1, 1], [0, 4], retries=[7, 4])
    with pytest.raises(ParameterError, match="seed is a list of numbers"):
        slots([1, 1], [0, 4], seed=[])


def test_a_probability_includes_its_ends() -> None:
    assert probability("p", [0, 1]).tolist() == [0, 1]
    with pytest.raises(ParameterError, match=r"p is -0\.1; it must be from 0 to 1"):
        probability("p", -0.1)


def test_shapes_that_do_not_fit_are_named() -> None:
    a, b = broadcast(a=numbers("a", [[1], [2]]), b=numbers("b", [3, 4, 5]))
    assert a.shape == b.shape == (2, 3)
    with pytest.raises(ParameterError, match=r"numbers of values .* a 2, b 3; give") as raised:
        broadcast(a=numbers("a", [1, 2]), b=numbers("b", [3, 4, 5]))
    assert raised.value.parameter == "a"
    with pytest.raises(ParameterError, match=r"shapes .* a \(1, 2\), b \(3,\)"):
        broadcast(a=numbers("a", [[1, 2]]), b=numbers("b", [3, 4, 5]))


def test_results_are_finite_and_scalars_stay_scalars() -> None:
    scalar = finished("y", np.array(2.5))
    assert isinstance(scalar, float)
    assert finished("y", np.array([1.0])).shape == (1,)
    assert str(finished("y", np.array(-0.0))) == "0.0"
    with pytest.raises(ConvergenceError, match=r"y\[1\] is inf"):
        finished("y", np.array([1.0, np.inf]))


def test_a_choice_lists_the_others() -> None:
    assert choice("form", "printed", ["printed", "corrected"]) == "printed"
    with pytest.raises(ParameterError, match="one of printed, corrected"):
        choice("form", "wrong", ["printed", "corrected"])
    assert issubclass(ParameterError, ModelError)
    assert issubclass(ConvergenceError, ModelError)


def test_one_number_is_not_a_list() -> None:
    assert number("x", 3, at_least=1) == 3.0
    with pytest.raises(ParameterError, match="x is a list of numbers"):
        number("x", [3.0])
    with pytest.raises(ParameterError, match="x is 0; it must be above 0"):
        number("x", 0, above=0)
