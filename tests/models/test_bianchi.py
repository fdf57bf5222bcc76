"""Bianchi's fixed point: published tables, the Markov chain itself, limits and laws."""

import itertools
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from chains import attempt_probability as chain
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.bianchi import MODEL, bianchi
from airqueue.models.edca_slots import slots
from airqueue.models.errors import ParameterError
from airqueue.models.saturation import AccessTimings, saturation

TABLE = rows("bianchi")


def model(**given: object) -> dict[str, object]:
    return dict(MODEL.evaluate(**{p.name: p.default for p in MODEL.parameters} | given))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"n={row['n']},cw_max={row['cw_max']}")
def test_the_tables(row: dict[str, str]) -> None:
    # The tables count values.
    windows = {name: float(row[name]) - 1 for name in ("cw_min", "cw_max")}
    cell = {"n": float(row["n"]), **windows}
    basic, rts = model(**cell), model(**cell, access="rts-cts")
    found = {
        "collision_probability": basic["collision_probability"],
        "attempt_probability": basic["attempt_probability"],
        "throughput_basic": basic["throughput_share"],
        "throughput_rts_cts": rts["throughput_share"],
    }
    compared = 0
    for name, value in found.items():
        if row[name]:
            assert value == pytest.approx(float(row[name]), abs=half_unit(row[name])), name
            compared += 1
    assert compared


def test_slots_of_the_paper() -> None:
    basic, rts = model(n=5), model(n=5, access="rts-cts")
    microseconds = [
        1e6 * float(figures[name])
        for figures in (basic, rts)
        for name in ("success_s", "collision_s")
    ]
    assert microseconds == pytest.approx([8982, 8713, 9568, 417], abs=1e-6)


@pytest.mark.parametrize(
    ("n", "w_min", "w_max", "retries"),
    [
        (2, 2, 8, None),
        (5, 4, 8, None),
        (3.5, 3, 12, None),
        (2, 4, 8, 0),
        (7, 2, 8, 1),
        (4, 2, 4, 4),
    ],
)
def test_equals_the_chain_solved_exactly(
    n: float, w_min: int, w_max: int, retries: int | None
) -> None:
    low, high = Fraction(0), Fraction(1)
    for _ in range(30):
        p = (low + high) / 2
        if float(p) < 1 - (1 - float(chain(p, w_min, w_max, retries))) ** (n - 1):
            low = p
        else:
            high = p
    solved = bianchi(n, w_min - 1, w_max - 1, retries)
    assert float(solved.collision_probability) == pytest.approx(float(low), abs=2**-30)
    tau = chain(Fraction(float(solved.collision_probability)), w_min, w_max, retries)
    assert float(solved.attempt_probability) == pytest.approx(float(tau), rel=1e-13)


@pytest.mark.parametrize("n", [1.5, 2, 10, 1000, 1_000_000])
@pytest.mark.parametrize("retries", [None, 0, 6])
def test_equals_mpmath(n: float, retries: int | None) -> None:
    def tau(p: mpmath.mpf) -> mpmath.mpf:
        stages = range(400 if retries is None else retries + 1)
        if retries is None:
            m, w = 5, mpmath.mpf(32)
            return 2 / (w + 1 + p * w * sum((2 * p) ** k for k in range(m)))
        slots = sum(p**k * (mpmath.mpf(min(2**k * 32, 1024)) + 1) / 2 for k in stages)
        return sum(p**k for k in stages) / slots

    with mpmath.workdps(40):
        p = mpmath.findroot(
            lambda p: p - 1 + (1 - tau(p)) ** (mpmath.mpf(n) - 1), (0, 1), "anderson", tol=1e-50
        )
        reference = float(p), float(tau(p))
    solved = bianchi(n, retries=retries)
    assert float(solved.collision_probability) == pytest.approx(reference[0], rel=1e-14)
    assert float(solved.attempt_probability) == pytest.approx(reference[1], rel=1e-13)


def test_one_window_needs_no_fixed_point() -> None:
    solved = bianchi([1, 2, 50], 30, 30, [[0], [6]])
    assert solved.attempt_probability == pytest.approx(np.full((2, 3), 2 / 32), rel=1e-14)
    assert solved.collision_probability[0] == pytest.approx(
        [0, 2 / 32, 1 - (1 - 2 / 32) ** 49], rel=1e-13
    )


def test_one_station_never_collides() -> None:
    alone = bianchi(1, retries=3)
    assert float(alone.collision_probability) == 0
    assert float(alone.drop_probability) == 0
    assert float(alone.attempt_probability) == pytest.approx(2 / 33, rel=1e-15)


def test_many_retries_tend_to_never_giving_up() -> None:
    endless = bianchi(20)
    distance = [
        abs(float(bianchi(20, retries=k).collision_probability - endless.collision_probability))
        for k in (5, 10, 20, 40)
    ]
    # What is given up is p^(K+1) with p below 0.4.
    assert all(far > near for far, near in itertools.pairwise(distance))
    assert distance[-1] < 1e-14
    assert float(endless.drop_probability) == 0


@settings(deadline=None)
@given(
    st.floats(1, 1e6),
    st.floats(1.001, 10),
    st.floats(1, 1000),
    st.floats(1, 100),
    st.one_of(st.none(), st.integers(0, 20)),
)
def test_crowds_collide_more_and_larger_windows_less(
    n: float, crowd: float, w_min: float, ratio: float, retries: int | None
) -> None:
    few = bianchi([n, n * crowd], w_min - 1, w_min * ratio - 1, retries)
    p, tau = few.collision_probability, few.attempt_probability
    assert p[1] >= p[0] - 1e-15
    assert tau[1] <= tau[0] * (1 + 1e-13)
    assert ((p >= 0) & (p <= 1)).all()
    wider = bianchi(n, 2 * w_min - 1, 2 * w_min * ratio - 1, retries)
    assert wider.collision_probability <= p[0] + 1e-15


@settings(deadline=None)
@given(st.floats(1, 1e4), st.integers(0, 12), st.floats(2, 64), st.integers(0, 6))
def test_the_solution_solves(n: float, retries: int, w_min: float, doublings: int) -> None:
    solved = bianchi(n, w_min - 1, w_min * 2**doublings - 1, retries)
    p, tau = float(solved.collision_probability), float(solved.attempt_probability)
    assert p == pytest.approx(float(1 - mpmath.mpf(1 - tau) ** (n - 1)), abs=n * 1e-14)
    assert float(solved.drop_probability) == pytest.approx(p ** (retries + 1), rel=1e-12)


def test_delay_is_the_time_of_all_attempts() -> None:
    """n L/S against slots per packet times the mean slot: Little's law, with drops and without."""
    for retries in (None, 0, 6):
        solved = bianchi(20, retries=retries)
        frames = AccessTimings()
        cell = saturation(20, solved.attempt_probability, frames.slot_times(), frames.payload_bits)
        p = float(solved.collision_probability)
        stages = range(200 if retries is None else retries + 1)
        slots = sum(p**k * (min(32 * 2**k, 1024) + 1) / 2 for k in stages)
        handled_s = float(cell.mean_access_delay_s() * (1 - solved.drop_probability))
        assert handled_s == pytest.approx(slots * float(cell.mean_slot_s), rel=1e-12)


def test_extreme_but_valid_input_is_solved_without_a_warning() -> None:
    n = np.array([1, 1 + 1e-15, 2, 1e6, 1e300, 1.7e308])[:, None]
    cw_max = np.array([0, 1, 1e9, 1.7e308])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for retries in (None, 0, 7, 1e300):
            solved = bianchi(n, 0, cw_max, retries)
            assert ((solved.collision_probability >= 0) & (solved.collision_probability <= 1)).all()
            assert ((solved.attempt_probability > 0) & (solved.attempt_probability <= 1)).all()
        for width in (2e-16, 1e-15, 1e-12):
            # τ is 1 but for rounding: an answer, not a failure to bracket it.
            p = bianchi(np.linspace(1, 2, 99), width, 0.5, 3).collision_probability
            assert ((p >= 0) & (p <= 1)).all()
    assert bianchi([], 31, 1023).drop_probability.shape == (0,)
    assert bianchi(np.arange(1, 4)).attempt_probability.shape == (3,)


def test_the_command_s_figures() -> None:
    figures = model(n=10, access="rts-cts", retries=6)
    assert list(figures) == [output.name for output in MODEL.outputs]
    assert figures["throughput_bps"] == pytest.approx(1e6 * figures["throughput_share"])
    assert figures["mean_access_delay_s"] == pytest.approx(10 * 8184 / figures["throughput_bps"])


def test_a_jammed_cell_delivers_nothing_and_has_no_delay() -> None:
    jammed = model(n=2, cw_min=0, cw_max=0)
    assert jammed["throughput_bps"] == 0
    assert jammed["mean_access_delay_s"] is None


def test_longer_frames_in_collisions_cost_throughput() -> None:
    equal, mixed = model(n=10), model(n=10, collision_payload_bits=12000)
    assert mixed["collision_s"] == pytest.approx((400 + 12000 + 129) * 1e-6)
    assert mixed["throughput_bps"] < equal["throughput_bps"]
    assert model(n=10, collision_payload_bits=12000, access="rts-cts")["collision_s"] == (
        pytest.approx(417e-6)
    )


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"n": 0.5}, "n"),
        ({"n": -1}, "n"),
        ({"n": [1, float("nan")]}, "n"),
        ({"n": 2, "retries": -1}, "retries"),
        ({"n": 2, "retries": 2.5}, "retries"),
        ({"n": 2, "cw_min": -1}, "cw_min"),
        ({"n": 2, "cw_max": 30}, "cw_max"),
        ({"n": [1, 2], "retries": [1, 2, 3]}, "n"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        bianchi(**arguments)
    assert raised.value.parameter == names


def simulated(n: int, cw_min: int, rule: str, retries: int = 7) -> tuple[float, float]:
    """p and the half width of its confidence interval, slot by slot."""
    run = slots(n, 0, cw_min, retries=retries, rule=rule, transmissions=300_000)
    estimate = run.collision_probability(0)
    return estimate.mean, estimate.half_width


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
@pytest.mark.parametrize(
    ("rule", "cw_min", "error"),
    [("freeze", 15, 0.06), ("freeze", 31, 0.06), ("edca", 3, 0.1), ("edca", 7, 0.1)],
)
def test_it_holds_as_far_as_it_says(n: int, rule: str, cw_min: int, error: float) -> None:
    real, half_width = simulated(n, cw_min, rule)
    model = float(bianchi(n, cw_min, retries=7).collision_probability)
    assert abs(model - real) <= error * real + half_width


def test_frozen_counters_with_small_windows_meet_less_often_than_it_says() -> None:
    real, _ = simulated(2, 3, "freeze")
    assert float(bianchi(2, 3, retries=7).collision_probability) > 1.5 * real
