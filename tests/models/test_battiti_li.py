"""The model of Battiti and Li: identity with the hold chain, its equations, and its limits."""

from fractions import Fraction

import numpy as np
import pytest

from airqueue.models.battiti_li import MODEL, battiti_li
from airqueue.models.edca_hold import hold_chain
from airqueue.models.errors import ConvergenceError, ParameterError


@pytest.mark.parametrize("windows", [[31, 31], [7, 31], [31, 4]])
@pytest.mark.parametrize("retries", [7, 0, None])
def test_one_station_in_each_class_is_the_hold_chain(
    windows: list[int], retries: int | None
) -> None:
    aifs = np.stack([np.zeros(21), np.arange(21)], axis=-1)
    here = battiti_li([1, 1], aifs, windows, retries=retries)
    there = hold_chain([1, 1], aifs, windows, retries=retries)
    assert here.ratio(0, 1) == pytest.approx(there.ratio(0, 1), rel=1e-11)
    assert here.collision_probability == pytest.approx(there.collision_probability, rel=1e-11)
    # Its attempts are per slot of any kind, those of the chain per slot outside the wait.
    free = there.attempt_probability * (1 - there.hold_probability)
    assert here.attempt_probability == pytest.approx(free, rel=1e-11)


def test_without_aifs_it_is_the_hold_chain_for_any_number() -> None:
    here, there = battiti_li([3, 7], 0, [7, 31]), hold_chain([3, 7], 0, [7, 31])
    assert here.attempt_probability == pytest.approx(there.attempt_probability, rel=1e-11)
    assert here.success_share == pytest.approx(there.success_share, rel=1e-11)


def wait(p: Fraction, aifs: int) -> Fraction:
    """Mean slots until ``aifs`` idle ones in a row, each busy with p: the recursion of the states.

    From i idle slots so far: x_i = 1 + (1-p) x_(i+1) + p x_0, x_aifs = 0. With x_i = a_i + b_i x_0.
    """
    a, b = Fraction(0), Fraction(0)
    for _ in range(aifs):
        a, b = 1 + (1 - p) * a, (1 - p) * b + p
    return a / (1 - b)


def test_its_own_equations_hold() -> None:
    n, aifs, cw_min, cw_max, retries = [2, 5, 3], [0, 3, 6], [7, 15, 31], 63, 5
    solved = battiti_li(n, aifs, cw_min, cw_max, retries=retries)
    tau = [Fraction(float(t)) for t in solved.attempt_probability]
    for i in range(3):
        silent = Fraction(1)
        for k in range(3):
            silent *= (1 - tau[k]) ** (n[k] - (k == i))
        p = 1 - silent
        assert float(solved.collision_probability[i]) == pytest.approx(float(p), rel=1e-11)
        delay = wait(p, aifs[i])
        decrement = 1 + p * delay
        assert float(solved.decrements_per_slot[i]) == pytest.approx(
            float(1 / decrement), rel=1e-11
        )
        slots = Fraction(0)
        for k in range(retries + 1):
            backoff = Fraction(min(2**k * (cw_min[i] + 1), cw_max + 1) - 1, 2)
            slots += p**k * (backoff * decrement + 1 + delay)
        attempts = sum(p**k for k in range(retries + 1))
        assert float(tau[i]) == pytest.approx(float(attempts / slots), rel=1e-11)


def test_stations_that_always_transmit_shut_the_others_out() -> None:
    solved = battiti_li([1, 1], [0, 0], [0, 31], [0, 1023])
    assert solved.station_success_per_slot[1] == 0
    with pytest.raises(ConvergenceError):
        solved.ratio(0, 1)


@pytest.mark.parametrize(
    ("n", "aifs", "cw_min", "cw_max"),
    [
        ([10, 9, 7], [3, 4, 0], [2, 1, 53], [383, 3, 1727]),
        ([1, 2], [3, 11], [0, 2], [1, 767]),
        ([2416, 395, 4300, 436], [245, 25, 168, 22], [48, 64, 13, 75], 9727),
    ],
)
def test_steep_equations_are_solved(
    n: list[int], aifs: list[int], cw_min: list[int], cw_max: list[int]
) -> None:
    """Where plain Newton steps and damped iterations get stuck."""
    solved = battiti_li(n, aifs, cw_min, cw_max)
    assert (solved.attempt_probability > 0).all()
    assert (solved.collision_probability <= 1).all()


def test_bad_input_is_named() -> None:
    with pytest.raises(ParameterError) as raised:
        battiti_li([1, 1], [0, -1])
    assert raised.value.parameter == "aifs_slots"


def test_the_command_s_figures() -> None:
    start = {p.name: p.default for p in MODEL.parameters}
    figures = MODEL.evaluate(**start)
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["ratio"] == pytest.approx(float(hold_chain([1, 1], [0, 4]).ratio(0, 1)))
    # With several stations in a class it overrates the lower one; the command says so.
    several = MODEL.evaluate(**{**start, "stations_high": 5, "stations_low": 5})
    assert several["within_validity"] is False
    assert several["share_error"][1] > 0.1
