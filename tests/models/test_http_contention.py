"""Eqs (1), (2) of the HTTP paper against the closed form in mpmath, its table and its limits."""

from decimal import Decimal

import http_reference
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.http_contention import MODEL, contention, most_backlogged


@pytest.mark.parametrize("row", rows("http_contention"), ids=lambda row: row["n_b"])
def test_the_worked_table(row: dict[str, str]) -> None:
    solved = contention(float(row["n_b"]))
    for name in ("collision_probability", "mean_backoff_slots"):
        assert float(getattr(solved, name)) == pytest.approx(
            float(row[name]), abs=half_unit(row[name])
        )
    unit = 10.0 ** int(Decimal(row["drop_probability"]).as_tuple().exponent)
    assert float(solved.drop_probability) == pytest.approx(
        float(row["drop_probability"]), abs=unit / 2
    )


def test_two_stations() -> None:
    assert float(contention(2).collision_probability) == pytest.approx(0.06025, abs=1e-5)
    assert float(contention(2).collision_probability) == pytest.approx(0.060255, abs=5e-7)
    assert float(contention(2).mean_backoff_slots) == pytest.approx(16.596, abs=5e-4)
    # Eq. (6): for two stations P is simply 1/T_b.
    assert float(contention(2).collision_probability) == pytest.approx(
        1 / float(contention(2).mean_backoff_slots), rel=1e-12
    )


@pytest.mark.parametrize("n_b", [1.5, 2, 3, 5, 10, 26, 50, 100, 200])
def test_equals_the_closed_form(n_b: float) -> None:
    with mpmath.workdps(30):
        p = http_reference.collision_probability(n_b)
        backoff = http_reference.mean_backoff(p)
    solved = contention(n_b)
    assert float(solved.collision_probability) == pytest.approx(float(p), rel=1e-10)
    assert float(solved.mean_backoff_slots) == pytest.approx(float(backoff), rel=1e-10)


def test_through_the_hole_of_the_closed_form() -> None:
    # P = 1/2, where Eq. (1) is 0/0 in closed form and an ordinary sum otherwise.
    slots = sum(0.5 ** (k + 1) * (min(2**k * 32, 1024) - 1) / 2 for k in range(7))
    n_b = 1 + np.log(0.5) / np.log(1 - 1 / slots)
    assert float(contention(n_b).collision_probability) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("n_b", [0, 0.5, 1])
def test_nobody_to_collide_with(n_b: float) -> None:
    alone = contention(n_b)
    assert float(alone.collision_probability) == 0
    assert float(alone.mean_backoff_slots) == 15.5
    assert float(alone.drop_probability) == 0


def test_shapes_and_shared_work() -> None:
    sweep = contention(np.array([[1.5], [2.0], [2.0]]), [15, 31], 1023)
    assert sweep.collision_probability.shape == (3, 2)
    assert sweep.collision_probability[1, 1] == contention(2).collision_probability
    assert (sweep.collision_probability[1] == sweep.collision_probability[2]).all()
    assert isinstance(contention(2).collision_probability, float)
    assert contention([]).collision_probability.shape == (0,)


@given(st.floats(1, 60), st.floats(4, 2000), st.integers(0, 8), st.integers(1, 12))
def test_a_root_on_the_branch_that_starts_at_zero(
    n_b: float, w_min: float, doublings: int, attempts: int
) -> None:
    w_max = w_min * 2**doublings
    cw_min, cw_max = w_min - 1, w_max - 1
    limit = float(most_backlogged(cw_min, cw_max, attempts))
    if n_b > limit:
        with pytest.raises(ConvergenceError, match="at most"):
            contention(n_b, cw_min, cw_max, attempts)
        return
    solved = contention(n_b, cw_min, cw_max, attempts)
    p, slots = float(solved.collision_probability), float(solved.mean_backoff_slots)
    assert 0 <= p < 1
    slow = sum(p**k * (1 - p) * (min(2**k * w_min, w_max) - 1) / 2 for k in range(attempts))
    assert slots == pytest.approx(slow, rel=1e-9)
    assert p == pytest.approx(1 - (1 - 1 / slots) ** (n_b - 1), abs=1e-9)
    fewer = contention(1 + 0.9 * (n_b - 1), cw_min, cw_max, attempts)
    assert float(fewer.collision_probability) <= p + 1e-12


def test_the_limit_is_the_top_of_n_over_p() -> None:
    p = np.linspace(1e-6, 1 - 1e-6, 2_000_001)
    slots = sum(p**k * (1 - p) * (min(2**k * 32, 1024) - 1) / 2 for k in range(7))
    with np.errstate(invalid="ignore"):
        n_b = 1 + np.log1p(-p) / np.log1p(-1 / slots)
    assert float(most_backlogged()) == pytest.approx(
        np.nanmax(np.where(slots > 1, n_b, 0)), rel=1e-9
    )
    assert float(contention(214).collision_probability) < 0.9
    # Past it only P = 1 is left, which is not an answer.
    with pytest.raises(ConvergenceError, match=r"at most 214\.505 stations"):
        contention([2, 215])


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"n_b": -1}, "n_b"),
        ({"n_b": float("nan")}, "n_b"),
        ({"n_b": 2, "cw_min": 2}, "cw_min"),
        ({"n_b": 2, "cw_min": 63, "cw_max": 31}, "cw_max"),
        ({"n_b": 2, "attempts": 0}, "attempts"),
        ({"n_b": 2, "attempts": 2.5}, "attempts"),
        ({"n_b": 2, "attempts": [6, 7]}, "attempts"),
        ({"n_b": [1, 2], "cw_min": [8, 16, 32]}, "n_b"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        contention(**arguments)
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(n_b=2, cw_min=31, cw_max=1023, attempts=7)
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["most_backlogged"] == pytest.approx(214.505, abs=5e-4)
