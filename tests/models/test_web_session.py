"""Session delays: every worked table, Eq. (14) by brute force, and the speed of sweeps."""

import math

import numpy as np
import pytest
from tables import half_unit, rows

from airqueue.models.checks import FORMS
from airqueue.models.errors import ParameterError
from airqueue.models.file_sizes import DISTRIBUTIONS, mean_segments_of
from airqueue.models.http_constants import HttpConstants
from airqueue.models.http_timing import DOT11B, timing_from
from airqueue.models.tcp_capacity import collision
from airqueue.models.tcp_window import tcp_window
from airqueue.models.web_session import (
    MODEL,
    affine_delay_s,
    file_delay_s,
    handshake_s,
    mean_file_delay_s,
    session_delay,
    work_bits,
)

BITS = 240_000


def test_handshake() -> None:
    assert float(handshake_s()) == pytest.approx(2.828e-3, abs=5e-7)
    assert float(handshake_s(form="printed")) == pytest.approx(1.678e-3, abs=5e-7)
    # The print, term by term, in µs.
    printed = 2 * (50 + 192 + 310 + 320 / 11 + 10 + 192 + 112 / 2)
    assert float(handshake_s(form="printed")) == pytest.approx(printed * 1e-6, rel=1e-13)


@pytest.mark.parametrize(
    "row", rows("http_session_one_station"), ids=lambda row: f"{row['kilo']}-{row['handshake']}"
)
def test_one_station(row: dict[str, str]) -> None:
    bits, form = 30 * int(row["kilo"]) * 8, row["handshake"]
    found = {
        "affine": affine_delay_s(bits, handshake=form),
        "pareto": mean_file_delay_s(bits, distribution="pareto", handshake=form),
        "exponential": mean_file_delay_s(bits, handshake=form),
    }
    for name, delay in found.items():
        assert float(delay) == pytest.approx(float(row[name]), abs=half_unit(row[name]))


def test_the_papers_delay() -> None:
    assert float(affine_delay_s(BITS)) == pytest.approx(0.10947, abs=5e-6)
    assert float(affine_delay_s(BITS)) == pytest.approx(0.1095, abs=5e-5)
    standard_rts = timing_from(HttpConstants(rts_bits=160))
    assert float(affine_delay_s(BITS, timing=standard_rts)) == pytest.approx(0.1089, abs=5e-5)


@pytest.mark.parametrize("row", rows("http_session_users"), ids=lambda row: row["n"])
def test_users(row: dict[str, str]) -> None:
    for column, curve in (("collision", "collision"), ("collision_free", "collision-free")):
        delay = session_delay(int(row["n"]), curve=curve)
        assert float(delay.mean_s) == pytest.approx(float(row[column]), abs=half_unit(row[column]))


@pytest.mark.parametrize("row", rows("http_session_think"), ids=lambda row: row["think_s"])
def test_think_times(row: dict[str, str]) -> None:
    delay = session_delay(11, float(row["think_s"]))
    assert float(delay.mean_s) == pytest.approx(float(row["delay"]), abs=half_unit(row["delay"]))


def test_the_printed_arrival_rate() -> None:
    assert float(session_delay(11, arrivals="printed").mean_s) == pytest.approx(1.004, abs=5e-4)


@pytest.mark.parametrize("row", rows("http_delayed_ack_ns2"), ids=lambda row: row["d"])
def test_delayed_ack_lies_in_the_simulated_intervals(row: dict[str, str]) -> None:
    """Table 3 of the paper: the affine model with the timer of 40 ms, spread evenly."""
    delay = float(affine_delay_s(BITS, int(row["d"]), timer_s=0.04))
    assert float(row["low"]) <= delay <= float(row["high"])


def test_one_user_alone_is_the_affine_model() -> None:
    """With a single user the queue is empty, and the collision-free cell is Eq. (15)."""
    for d in (1, 2, 3):
        delay = session_delay(2, d=d, curve="collision-free", timer_s=0.04)
        assert float(delay.mean_s) == pytest.approx(
            float(affine_delay_s(BITS, d, timer_s=0.04)), rel=1e-12
        )


def equation_14(bits: float) -> float:
    """Letter by letter, with ceil, floor and mod."""
    exchange = float(DOT11B.data_exchange_s + DOT11B.ack_exchange_s)
    ceil, floor = math.ceil(bits / 8000), math.floor(bits / 8000)
    last = (ceil - floor) * (8000 - bits % 8000) / 11e6
    return float(handshake_s()) + ceil * (exchange + 31 * 20e-6) - last


@pytest.mark.parametrize("bits", [1, 7999, 8000, 8001, 240_000, 243_210, 10_000_001])
def test_a_file_by_the_letter(bits: float) -> None:
    assert float(file_delay_s(bits)) == pytest.approx(equation_14(bits), rel=1e-13)
    padded = float(file_delay_s(math.ceil(bits / 8000) * 8000))
    assert float(file_delay_s(bits, padded=True)) == pytest.approx(padded, rel=1e-13)


def test_the_mean_over_sizes_is_the_mean_of_files() -> None:
    """Quantiles of an exponential size: a midpoint sum of Eq. (14) over a million files."""
    count = 1_000_000
    sizes = -BITS * np.log(1 - (np.arange(count) + 0.5) / count)
    assert float(mean_file_delay_s(BITS)) == pytest.approx(
        float(file_delay_s(sizes).mean()), rel=1e-5
    )
    segments = mean_segments_of(lambda x: np.exp(-x / BITS), BITS, 8000)
    assert float(mean_file_delay_s(BITS, segments=segments)) == pytest.approx(
        float(mean_file_delay_s(BITS)), rel=1e-6
    )
    padded = mean_file_delay_s(BITS, padded=True)
    assert float(padded) == pytest.approx(float(file_delay_s(sizes, padded=True).mean()), rel=1e-5)


def test_parts_add_up() -> None:
    delay = session_delay(np.array([[2], [11], [51]]), 10, BITS, [1, 2, 3], timer_s=0.04)
    assert delay.mean_s.shape == (3, 3)
    total = delay.setup_s + delay.transfer_s + delay.timer_wait_s
    assert delay.mean_s == pytest.approx(total)
    assert delay.timer_wait_s[0] == pytest.approx([0, 0.02, 0.08 / 3])
    assert delay.sessions_per_s * delay.transfer_s == pytest.approx(delay.mean_active)
    assert ((delay.busy > 0) & (delay.busy < 1)).all()
    # Delayed ACK shortens the transfer of many users (Fig. 10).
    assert (np.diff(delay.transfer_s, axis=1) < 0).all()


def test_elements_do_not_depend_on_their_neighbours() -> None:
    generator = np.random.default_rng(7)
    n, d = generator.integers(2, 52, 20), generator.integers(1, 6, 20)
    think, bits = generator.uniform(1, 20, 20), generator.uniform(1e4, 1e6, 20)
    together = session_delay(n, think, bits, d).mean_s
    alone = [float(session_delay(*point).mean_s) for point in zip(n, think, bits, d, strict=True)]
    assert together == pytest.approx(alone, rel=1e-11)
    # Also when only the timing has the axis.
    rates = timing_from(HttpConstants(data_rate_bps=[2e6, 11e6]))
    windows = session_delay(
        11, timing=timing_from(HttpConstants(data_rate_bps=[[2e6], [11e6]], cw_max=[63, 1023]))
    )
    assert windows.mean_s.shape == windows.setup_s.shape == (2, 2)
    assert windows.mean_s[1, 1] == pytest.approx(float(session_delay(11).mean_s), rel=1e-12)
    assert session_delay(11, timing=rates).mean_s[1] == pytest.approx(
        float(session_delay(11).mean_s), rel=1e-12
    )


def test_too_many_users_for_the_collision_model() -> None:
    with pytest.raises(ParameterError, match="more than 427 downloads at a time") as raised:
        session_delay(1000)
    assert raised.value.parameter == "n"
    assert float(session_delay(1000, 1000, curve="collision-free").mean_s) > 0.1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("users", "think_s"), [(1000, 3600.0), (5000, 3600.0), (600, 120.0)])
def test_users_who_hardly_ever_download_need_no_capacity_for_all(
    form: str, users: int, think_s: float
) -> None:
    """The birth-death chain by ratios, cut off where its weights are below 1e-15."""
    weight, weights = 1.0, [1.0]
    while weight > 1e-15 * max(weights) or len(weights) < 20:
        k = len(weights)
        rate = float(collision(k, collision_cost="corrected").aggregate_bps)
        if k == 1 and form == "corrected":
            rate = float(tcp_window(1).throughput_bps)
        weight *= (users - k + 1) / think_s / (rate / BITS)
        weights.append(weight)
    chance = np.array(weights) / sum(weights)
    active = float(np.arange(len(chance)) @ chance)
    transfer = active / ((users - active) / think_s)
    found = session_delay(users + 1, think_s, BITS, collision_cost="corrected", form=form)
    assert float(found.transfer_s) == pytest.approx(transfer, rel=1e-9)


@pytest.mark.parametrize("size", [1, 800, 7999, 8000, 8001, 20_000, 243_210])
def test_one_user_alone_sends_segment_by_segment(size: float) -> None:
    """Exchange by exchange: data and its acknowledgement, each with a backoff; the last is short."""
    total, left = float(handshake_s()), size
    while left > 0:
        carried = min(left, 8000)
        total += float(DOT11B.data_exchange_s) - (8000 - carried) / 11e6 + 15.5 * 20e-6
        total += float(DOT11B.ack_exchange_s) + 15.5 * 20e-6
        left -= carried
    delay = session_delay(2, mean_bits=size, form="corrected", segments=math.ceil(size / 8000))
    assert float(delay.mean_s) == pytest.approx(total, rel=1e-12)
    # Without the number of segments: no less than one packet, and no more than a packet too little.
    least = float(session_delay(2, mean_bits=size, form="corrected").mean_s)
    assert least == pytest.approx(total) if size <= 8000 else 0 <= total - least <= 3.6e-3


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("size_bytes", [100, 1500, 30_000])
def test_the_command_agrees_with_itself_for_one_user(distribution: str, size_bytes: float) -> None:
    """alone_s is the exact mean of Eq. (14); a single user among none waits for nobody."""
    given = {parameter.name: parameter.default for parameter in MODEL.parameters}
    one = given | {"n": 2, "size_bytes": size_bytes, "distribution": distribution}
    figures = MODEL.evaluate(**one)
    assert figures["mean_s"] == pytest.approx(figures["alone_s"], rel=1e-12)


def test_a_single_packet_with_delayed_acks_takes_a_round_trip() -> None:
    """However many segments an ACK is for: data, ACK, two backoffs."""
    for bits, d in ((800, 2), (8000, 5), (1, 1)):
        short = (8000 - bits) / 11e6
        delay = session_delay(2, mean_bits=bits, d=d, form="corrected")
        assert float(delay.transfer_s) == pytest.approx(float(DOT11B.round_trip_s) - short)
    assert work_bits([800, 8000, 80_000], [1, 1, 10]).shape == (3,)
    with pytest.raises(ParameterError, match="segments"):
        work_bits(800, 0.5)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"n": 1}, "n"),
        ({"n": float("inf")}, "n"),
        ({"think_s": -1}, "think_s"),
        ({"mean_bits": 0}, "mean_bits"),
        ({"form": "exact"}, "form"),
        ({"mean_bits": 0, "form": "corrected"}, "mean_bits"),
        ({"d": 0}, "d"),
        ({"timer_s": -1}, "timer_s"),
        ({"curve": "flat"}, "curve"),
        ({"handshake": "none"}, "form"),
        ({"collision_cost": "none"}, "collision_cost"),
        ({"n": [2, 3], "think_s": [1, 2, 3]}, "n"),
        ({"n": [2, 3], "timing": timing_from(HttpConstants(slot_s=[1e-6, 2e-6, 3e-6]))}, "n"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        session_delay(**{"n": 11, **arguments})
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(
        n=11,
        think_s=10.0,
        size_bytes=30_000,
        d=1.0,
        timer_s=0.0,
        curve="collision",
        distribution="pareto",
        shape=1.5,
        handshake="corrected",
        collision_cost="printed",
        form="printed",
    )
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["mean_s"] == pytest.approx(0.1153, abs=5e-5)
    assert figures["alone_s"] == pytest.approx(0.11092, abs=5e-6)
    assert figures["affine_s"] == pytest.approx(0.10947, abs=5e-6)


def test_a_busy_cell_is_warned_of_the_printed_cost() -> None:
    given = {parameter.name: parameter.default for parameter in MODEL.parameters}
    busy, quiet = given | {"n": 101, "think_s": 5.0}, given | {"n": 11}
    assert MODEL.evaluate(**quiet)["caution"] is None
    assert "too little" in str(MODEL.evaluate(**busy)["caution"])
    assert MODEL.evaluate(**busy | {"curve": "collision-free"})["caution"] is None
    assert MODEL.evaluate(**busy | {"collision_cost": "corrected"})["caution"] is None
