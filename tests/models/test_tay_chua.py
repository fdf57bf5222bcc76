"""Tay and Chua's fixed point against a slow evaluation with mpmath and against its limits."""

import mpmath
import numpy as np
import pytest

from airqueue.models.errors import ParameterError
from airqueue.models.tay_chua import MODEL, tay_chua


def slow(n: float, w_min: float, doublings: int) -> float:
    """The published closed form, solved by mpmath's bisection with 30 digits."""

    def surplus(p: mpmath.mpf) -> mpmath.mpf:
        backoff = (1 - p - p * (2 * p) ** doublings) / (1 - 2 * p) * w_min / 2
        return p - 1 + (1 - 1 / backoff) ** (n - 1)

    with mpmath.workdps(30):
        return float(
            mpmath.findroot(surplus, (mpmath.mpf("1e-9"), mpmath.mpf("0.968")), "anderson")
        )


@pytest.mark.parametrize("n", [1.5, 2, 7, 30])
@pytest.mark.parametrize(("w_min", "doublings"), [(32, 5), (16, 6), (6, 0), (24, 3)])
def test_equals_the_published_form(n: float, w_min: float, doublings: int) -> None:
    p = tay_chua(n, w_min - 1, w_min * 2**doublings - 1).collision_probability
    assert float(p) == pytest.approx(slow(n, w_min, doublings), abs=1e-12)


def test_the_worked_number() -> None:
    assert float(tay_chua(2).collision_probability) == pytest.approx(0.0586, abs=5e-5)


def test_one_station_never_collides() -> None:
    alone = tay_chua(1)
    assert float(alone.collision_probability) == 0
    assert float(alone.mean_backoff_slots) == 16


def test_arrays_broadcast() -> None:
    p = tay_chua(np.arange(1, 51)[:, None], [15, 31]).collision_probability
    assert p.shape == (50, 2)
    assert (np.diff(p, axis=0) > 0).all()
    # To the root finder's four units in the last place: among others, the sum has more stages.
    alone = float(tay_chua(10, 31).collision_probability)
    assert float(p[9, 1]) == pytest.approx(alone, rel=4 * np.finfo(float).eps, abs=0)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"n": 0.5}, "n"),
        ({"n": float("nan")}, "n"),
        ({"n": 2, "cw_min": 0}, "cw_min"),
        ({"n": 2, "cw_min": 63, "cw_max": 31}, "cw_max"),
        ({"n": [1, 2], "cw_min": [8, 16, 32]}, "n"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        tay_chua(**arguments)
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(n=2, cw_min=31, cw_max=1023)
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["attempt_probability"] == pytest.approx(1 / figures["mean_backoff_slots"])
