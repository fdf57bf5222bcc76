"""The HTTP paper's timing and capacities: worked tables, a slow evaluation, limits, a simulation."""

from dataclasses import replace

import http_reference
import numpy as np
import pytest
from tables import half_unit, rows

from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.http_constants import CONSTANTS_11A, HttpConstants
from airqueue.models.http_timing import DOT11A, DOT11B, HttpTiming, timing_from, timing_of
from airqueue.models.kumar import kumar
from airqueue.models.tcp_capacity import (
    MODEL,
    caution,
    collision,
    collision_free,
    contention_time,
    most_connections,
    single_station_bps,
)
from airqueue.models.tcp_window import tcp_window


def test_two_backlogged_stations() -> None:
    cost = contention_time(2)
    assert float(cost.backoff_s) == pytest.approx(176.60e-6, abs=5e-9)
    assert float(cost.collisions_s) == pytest.approx(43.21e-6, abs=5e-9)
    assert float(cost.total_s) == pytest.approx(219.8e-6, abs=5e-8)
    assert float(cost.collision_probability) == pytest.approx(0.060255, abs=5e-7)
    corrected = contention_time(2, collision_cost="corrected")
    assert float(corrected.total_s) == pytest.approx(187.6e-6, abs=5e-8)
    # The definition for two stations: T_coll without T_b, and half of T_W.
    p = float(corrected.collision_probability)
    assert float(corrected.collisions_s) == pytest.approx(342e-6 * p / (1 - p) / 2, rel=1e-12)
    assert float(single_station_bps(collision_cost="corrected")) == pytest.approx(2.4169e6, abs=50)
    assert float(single_station_bps()) == pytest.approx(2.3707e6, abs=50)


@pytest.mark.parametrize("row", rows("http_delayed_ack_capacity"), ids=lambda row: row["d"])
def test_capacity_over_delayed_ack(row: dict[str, str]) -> None:
    d = float(row["d"])
    found = {
        "single_station": single_station_bps(d),
        "collision_free": collision_free(10, d).aggregate_bps,
        "collision": collision(10, d).aggregate_bps,
    }
    for name, bps in found.items():
        assert float(bps) / 1e6 == pytest.approx(float(row[name]), abs=half_unit(row[name]))


@pytest.mark.parametrize("row", rows("http_capacity"), ids=lambda row: row["n_c"])
def test_capacity_over_connections(row: dict[str, str]) -> None:
    n_c = float(row["n_c"])
    for name, model in (("collision", collision), ("collision_free", collision_free)):
        found = model(n_c)
        assert float(found.aggregate_bps) / 1e6 == pytest.approx(
            float(row[name]), abs=half_unit(row[name])
        )
        assert float(found.per_connection_bps) * n_c == pytest.approx(float(found.aggregate_bps))


def test_the_curves_cross_between_ten_and_twelve_connections() -> None:
    above = collision([10, 12]).aggregate_bps > collision_free([10, 12]).aggregate_bps
    assert above.tolist() == [True, False]
    # Only with the backoff inside T_coll, hence the default.
    many = np.arange(1, 41)
    corrected = collision(many, collision_cost="corrected").aggregate_bps
    assert (corrected > collision_free(many).aggregate_bps).all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_equals_a_slow_evaluation(d: int) -> None:
    assert float(single_station_bps(d)) == pytest.approx(
        1e6 * http_reference.single_station_mbps(d), rel=1e-12
    )
    assert float(single_station_bps(d, form="printed")) == pytest.approx(
        1e6 * http_reference.single_station_mbps(d, slot=1), rel=1e-12
    )
    for n_c in (1, 7, 40):
        assert float(collision(n_c, d).aggregate_bps) == pytest.approx(
            1e6 * http_reference.collision_mbps(n_c, d), rel=1e-12
        )


def test_one_acknowledgement_per_segment_is_the_plain_case() -> None:
    cost = contention_time(2).total_s
    plain = 8000 / (DOT11B.data_exchange_s + DOT11B.ack_exchange_s + 2 * cost)
    assert float(single_station_bps(1)) == pytest.approx(float(plain), rel=1e-14)  # (7)
    free = 8000 / DOT11B.round_trip_s
    assert float(collision_free(1).aggregate_bps) == pytest.approx(float(free), rel=1e-14)  # (9)
    cost = contention_time(1.5).total_s
    contended = 8000 / (DOT11B.data_exchange_s + DOT11B.ack_exchange_s + 2 * cost)
    assert float(collision(1).aggregate_bps) == pytest.approx(float(contended), rel=1e-14)  # (10)
    # ACKs that are never sent leave data and one backoff.
    rare = 8000 / (DOT11B.data_exchange_s + DOT11B.first_backoff_s)
    assert float(single_station_bps(1e6)) == pytest.approx(float(rare), rel=1e-5)
    assert float(collision_free(1, 1e6).aggregate_bps) == pytest.approx(float(rare), rel=1e-5)
    assert float(collision(1, 1e6).aggregate_bps) == pytest.approx(float(rare), rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_corrected_collision_is_counted_once(n: int) -> None:
    """Slots in which each of n stations attempts with probability 1/T_b: count what happens."""
    cost = contention_time(n, collision_cost="corrected")
    tau = 1 - (1 - float(cost.collision_probability)) ** (1 / (n - 1))
    attempts = np.random.default_rng(1).binomial(n, tau, 4_000_000)
    collisions, successes = (attempts > 1).sum(), (attempts == 1).sum()
    # 3e5 successes and more, 1e4 collisions and more: four standard deviations are below 4 %.
    assert float(cost.collisions_s) / 342e-6 == pytest.approx(collisions / successes, rel=0.04)


def test_few_backlogged_stations_cost_no_collisions() -> None:
    for kind in ("printed", "corrected"):
        cost = contention_time([0, 1, 1 + 1e-12], collision_cost=kind)
        assert cost.collisions_s == pytest.approx([0, 0, 0], abs=1e-12)
        assert cost.backoff_s == pytest.approx([310e-6] * 3)


@pytest.mark.parametrize(
    ("constants", "equation", "percent", "digit"),
    [
        (replace(CONSTANTS_11A, symbol_s=0), 8, 25.2, 0.05),
        (CONSTANTS_11A, 8, 25.7, 0.05),
        (replace(CONSTANTS_11A, symbol_s=0), 11, 25.2, 0.05),
        (CONSTANTS_11A, 11, 25.6, 0.05),
        (replace(CONSTANTS_11A, cw_min=31), 11, 26.70, 0.005),
        (replace(CONSTANTS_11A, symbol_s=0, rts_cts=False), 8, 24.7, 0.05),
    ],
)
def test_gain_of_delayed_ack_for_80211a(
    constants: HttpConstants, equation: int, percent: float, digit: float
) -> None:
    timing = timing_from(constants)
    if equation == 8:
        one, two = single_station_bps([1, 2], timing)
    else:
        one, two = collision_free(1, [1, 2], timing).aggregate_bps
    assert 100 * (two / one - 1) == pytest.approx(percent, abs=digit)


def test_gain_grows_with_the_rate() -> None:
    b, a = single_station_bps([1, 2]), single_station_bps([1, 2], DOT11A)
    assert 100 * (b[1] / b[0] - 1) == pytest.approx(22.4, abs=0.05)
    assert a[1] / a[0] > b[1] / b[0]
    assert float(
        single_station_bps(1, timing_from(replace(CONSTANTS_11A, symbol_s=0)))
    ) == pytest.approx(10.48e6, abs=5e3)


def test_constants_may_be_arrays() -> None:
    timing = timing_from(HttpConstants(data_rate_bps=[2e6, 11e6], cw_min=[[15], [31]]))
    both = collision(3, 2, timing).aggregate_bps
    assert both.shape == (2, 2)
    assert both[1, 1] == collision(3, 2).aggregate_bps
    assert single_station_bps(2, timing)[1, 1] == pytest.approx(float(single_station_bps(2)))
    assert tcp_window(3, timing).throughput_bps.shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: collision(0), "n_c"),
        (lambda: collision_free(float("nan")), "n_c"),
        (lambda: single_station_bps(0.5), "d"),
        (lambda: single_station_bps(1e300), "d"),
        (lambda: contention_time(2, collision_cost="half"), "collision_cost"),
        (lambda: single_station_bps(2, form="wrong"), "form"),
        (lambda: collision([1, 2], [1, 2, 3]), "n_c"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_no_answer_for_more_connections_than_the_fixed_point_has() -> None:
    assert float(collision(400).aggregate_bps) > 0
    with pytest.raises(ConvergenceError, match="500 connections, only up to 427"):
        collision(500)


@pytest.mark.parametrize("d", [1, 3, 2.5])
@pytest.mark.parametrize("timing", [DOT11B, DOT11A], ids=["b", "a"])
def test_the_most_connections_are_the_last_with_a_solution(d: float, timing: HttpTiming) -> None:
    most = int(most_connections(d, timing))
    p = np.linspace(1e-6, 1 - 1e-6, 1_000_000)
    windows = [min((timing.cw_min + 1) * 2**k, timing.cw_max + 1) for k in range(7)]
    backoff = sum(p**k * (1 - p) * (w - 1) / 2 for k, w in enumerate(windows))
    usable = backoff > 1
    stations = 1 + np.log1p(-p[usable]) / np.log1p(-1 / backoff[usable])
    assert most == int(2 * d * (stations.max() - 1))
    assert float(collision(most, d, timing).aggregate_bps) > 0
    with pytest.raises(ConvergenceError, match="only up to"):
        collision(most + 1, d, timing)


def with_drops_bps(n_c: int, timing: HttpTiming) -> float:
    """Eqs (10), (12), each collision counted once, from the fixed point that counts drops."""
    n_b = 1 + n_c / 2
    solved = kumar(n_b, timing.cw_min, timing.cw_max, timing.attempts - 1, convention="http")
    tau = float(solved.attempt_probability)
    one, idle = n_b * tau * (1 - tau) ** (n_b - 1), (1 - tau) ** n_b
    lost = idle * float(timing.slot_s) + (1 - one - idle) * float(timing.collision_s)
    exchanges = float(timing.data_exchange_s + timing.ack_exchange_s)
    return float(timing.tcp_bits) / (exchanges + 2 * lost / one)


@pytest.mark.parametrize(
    "timing",
    [DOT11B, DOT11A, timing_of(phy="g", access="basic", segment_bytes=1460)],
    ids=["b", "a", "g"],
)
def test_the_end_of_the_contention_model_is_warned_of(timing: HttpTiming) -> None:
    """Without a caution it is within 8 % of the fixed point with drops, with one as it says."""

    def low(n_c: int) -> float:
        found = float(collision(n_c, 1, timing, collision_cost="corrected").aggregate_bps)
        return 1 - found / with_drops_bps(n_c, timing)

    most = int(most_connections(1, timing))
    warned = [
        n for n in range(1, most + 1, 5) if "given up" in str(caution(timing, "corrected", n))
    ]
    assert warned and warned == [n for n in range(1, most + 1, 5) if n >= warned[0]]
    assert max(low(n) for n in range(1, warned[0], 10)) < 0.08
    assert 0.03 <= low(warned[0]) <= 0.08
    assert 0.15 <= low(most) <= 0.36
    assert caution(timing, "corrected", 2 * warned[0] - 12, d=2) is None
    assert "given up" in str(caution(timing, "corrected", 2 * warned[0], d=2))


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(n_c=10, d=2.0, collision_cost="printed", form="corrected")
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["collision_bps"] == pytest.approx(2.9371e6, abs=50)
    assert figures["delayed_ack_gain"] == pytest.approx(0.224, abs=5e-4)


@pytest.mark.parametrize(
    ("n_c", "cost", "warned"),
    [(2, "printed", False), (20, "printed", True), (20, "corrected", False)],
)
def test_the_printed_cost_is_warned_of_where_it_shows(n_c: int, cost: str, warned: bool) -> None:
    assert ("too little" in str(caution(DOT11B, cost, n_c))) == warned
    layer = timing_of(phy="n", access="basic")
    both = str(caution(layer, cost, n_c))
    assert "aggregation" in both
    assert ("too little" in both) == warned
