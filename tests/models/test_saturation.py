"""Saturation throughput from named slots: enumeration, identities, and what is refused."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models.errors import ConvergenceError, ModelError, ParameterError
from airqueue.models.saturation import AccessTimings, SlotTimes, saturation

TIMES = SlotTimes(50e-6, 8982e-6, 8713e-6)


def test_equals_the_enumeration_of_who_transmits() -> None:
    n, tau = 5, Fraction(1, 7)
    idle_s, success_s, collision_s = Fraction(1), Fraction(30), Fraction(20)
    kinds = [Fraction(0)] * 3
    for sending in itertools.product((False, True), repeat=n):
        chance = math.prod((tau if s else 1 - tau for s in sending), start=Fraction(1))
        kinds[min(sum(sending), 2)] += chance
    idle, success, collision = kinds
    slot = idle * idle_s + success * success_s + collision * collision_s
    cell = saturation(n, float(tau), SlotTimes(1, 30, 20), 1000)
    for found, reference in (
        (cell.transmission_probability, 1 - idle),
        (cell.success_probability, success / (1 - idle)),
        (cell.mean_slot_s, slot),
        (cell.idle_share, idle * idle_s / slot),
        (cell.success_share, success * success_s / slot),
        (cell.collision_share, collision * collision_s / slot),
        (cell.packets_per_s, success / slot),
        (cell.throughput_bps, 1000 * success / slot),
        (cell.mean_access_delay_s(), n * slot / success),
    ):
        assert float(found) == pytest.approx(float(reference), rel=1e-13)


@settings(deadline=None)
@given(st.floats(1, 1e6), st.floats(1e-12, 1))
def test_the_shares_of_time_are_all_of_it(n: float, tau: float) -> None:
    cell = saturation(n, tau, TIMES, 8184)
    shares = [float(x) for x in (cell.idle_share, cell.success_share, cell.collision_share)]
    assert math.fsum(shares) == pytest.approx(1, abs=1e-14)
    assert min(shares) >= 0
    assert 0 <= float(cell.success_probability) <= 1


def test_one_station_alone_collides_never() -> None:
    for tau in (1e-9, 0.3, 1.0):
        assert float(saturation(1, tau, TIMES, 1).collision_share) == pytest.approx(0, abs=1e-15)
        assert float(saturation(1, tau, TIMES, 1).success_probability) == pytest.approx(
            1, abs=1e-15
        )


def test_throughput_of_the_best_attempt_probability() -> None:
    """Bianchi's approximation of the optimum, 1/(n sqrt(T_c/2σ)), is within 1 % of the maximum."""
    tau = np.linspace(1e-4, 0.05, 5000)
    bits = saturation(20, tau, TIMES, 8184).throughput_bps
    near = saturation(20, 1 / (20 * math.sqrt(8713 / 100)), TIMES, 8184).throughput_bps
    assert float(near) == pytest.approx(float(bits.max()), rel=0.01)


def test_a_hopeless_crowd_has_no_delay() -> None:
    cell = saturation([2, 1e6], 0.5, TIMES, 8184)
    assert cell.throughput_bps[1] == 0
    with pytest.raises(ConvergenceError, match="no packet gets through"):
        cell.mean_access_delay_s()


def test_arrays_broadcast() -> None:
    cell = saturation([[1], [2], [3]], [0.1, 0.2], SlotTimes([1, 2], 3, 4), 5)
    assert cell.throughput_bps.shape == cell.stations.shape == (3, 2)
    assert saturation([], 0.1, TIMES, 5).throughput_bps.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((0, 0.1, TIMES, 1), "n"),
        ((1, 0, TIMES, 1), "attempt_probability"),
        ((1, 1.1, TIMES, 1), "attempt_probability"),
        ((1, 0.1, SlotTimes(0, 1, 1), 1), "idle_s"),
        ((1, 0.1, SlotTimes(1, -1, 1), 1), "success_s"),
        ((1, 0.1, SlotTimes(1, 1, math.inf), 1), "collision_s"),
        ((1, 0.1, TIMES, math.nan), "payload_bits"),
        (([1, 2], [0.1] * 3, TIMES, 1), "n"),
    ],
)
def test_bad_input_is_named(arguments: tuple[float, float, SlotTimes, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        saturation(*arguments)
    assert raised.value.parameter == names


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("payload_bits", 0),
        ("data_rate_bps", 0),
        ("control_rate_bps", -1),
        ("slot_s", 0),
        ("sifs_s", -1e-6),
        ("phy_header_s", math.nan),
        ("rts_bits", -1),
        ("collision_payload_bits", 8000),
    ],
)
def test_bad_frames_are_named(name: str, bad: float) -> None:
    with pytest.raises(ParameterError) as raised:
        AccessTimings(**{name: bad}).slot_times()
    assert raised.value.parameter == name


def test_unknown_access_is_named() -> None:
    with pytest.raises(ParameterError, match="basic, rts-cts"):
        AccessTimings().slot_times("rts")


def test_frames_of_many_sizes_at_once() -> None:
    times = AccessTimings(payload_bits=[1000, 2000], data_rate_bps=[[1e6], [2e6]]).slot_times(
        "rts-cts"
    )
    alone = AccessTimings(payload_bits=2000, data_rate_bps=2e6).slot_times("rts-cts")
    assert np.shape(times.success_s) == (2, 2)
    assert np.asarray(times.success_s)[1, 1] == alone.success_s
    with pytest.raises(
        ParameterError, match="payload_bits 2, sifs_s 3, collision_payload_bits 2; give"
    ):
        AccessTimings(payload_bits=[1, 2], sifs_s=[1, 2, 3]).slot_times()


@pytest.mark.parametrize("huge", [1e300, 1.7e308])
@pytest.mark.parametrize("tiny", [5e-324, 1e-300])
def test_what_floating_point_cannot_hold_is_an_error_not_a_nan(huge: float, tiny: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for times in (SlotTimes(tiny, tiny, tiny), SlotTimes(huge, huge, huge)):
            for n, tau in ((1, 1.0), (2, tiny), (huge, 0.5), (huge, tiny)):
                try:
                    cell = saturation(n, tau, times, huge)
                except ModelError:
                    continue
                assert np.isfinite(cell.throughput_bps)
        with pytest.raises(ConvergenceError):
            AccessTimings(payload_bits=huge, data_rate_bps=tiny).slot_times("rts-cts")
