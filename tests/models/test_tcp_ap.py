"""TCP-AP's pacing: the worked example, the same in fractions, and a series of RTTs step by step."""

from fractions import Fraction
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.errors import ParameterError
from airqueue.models.tcp_ap import MODEL, coefficient_of_variation, paced, tcp_ap


@pytest.mark.parametrize(
    ("rtt_ms", "queueing_ms", "delay_ms"), [("30", 3.138, 17.12), ("10.8", 0.738, 7.52)]
)
def test_the_worked_example(rtt_ms: str, queueing_ms: float, delay_ms: float) -> None:
    found = tcp_ap(float(rtt_ms) * 1e-3, 4)
    assert float(found.queueing_delay_s) * 1e3 == pytest.approx(queueing_ms, abs=5e-4)
    assert float(found.four_hop_delay_s) * 1e3 == pytest.approx(delay_ms, abs=5e-3)
    data, ack = Fraction(8 * 1572, 11_000_000), Fraction(8 * 112, 11_000_000)
    queueing = (Fraction(rtt_ms) / 1000 / 4 - data - ack) / 2
    assert float(found.queueing_delay_s) == pytest.approx(float(queueing), rel=1e-12)
    assert float(found.four_hop_delay_s) == pytest.approx(float(4 * (queueing + data)), rel=1e-12)


@pytest.mark.parametrize(("variation", "rate"), [(0, 58.4), (0.2, 41.7)])
def test_the_worked_rates(variation: float, rate: float) -> None:
    found = tcp_ap(30e-3, 4, variation=variation)
    assert float(found.packet_rate) == pytest.approx(rate, abs=0.05)
    assert float(found.packet_rate * found.interval_s) == pytest.approx(1)


def test_short_routes_wait_for_one_hop() -> None:
    found = tcp_ap([9e-3, 12e-3], [3, 4])
    # The same RTT per hop, so the same t_q.
    assert found.queueing_delay_s[0] == pytest.approx(found.queueing_delay_s[1])
    assert found.four_hop_delay_s[1] == pytest.approx(4 * found.four_hop_delay_s[0])


def test_an_idle_path_leaves_the_time_of_the_packets() -> None:
    """Without queueing the RTT is all transmission: t_q = 0 and D is four packets long."""
    transmission = 8 * (1572 + 112) / 11e6
    found = tcp_ap(4 * transmission, 4)
    assert float(found.queueing_delay_s) == pytest.approx(0, abs=1e-15)
    assert float(found.four_hop_delay_s) == pytest.approx(4 * 8 * 1572 / 11e6)


@given(st.lists(st.floats(0.011, 0.4), min_size=1, max_size=80))
def test_a_series_step_by_step(rtts: list[float]) -> None:
    average, recent = None, []
    for rtt, ack in zip(rtts, paced(rtts, 4), strict=True):
        queueing = (rtt / 4 - 8 * (1572 + 112) / 11e6) / 2
        delay = 4 * (queueing + 8 * 1572 / 11e6)
        average = delay if average is None else 0.7 * average + 0.3 * delay
        recent = [*recent, delay][-50:]
        cov = pstdev(recent) / fmean(recent)
        assert ack.variation == pytest.approx(cov, rel=1e-6, abs=1e-9)
        assert ack.average_delay_s == pytest.approx(average)
        assert ack.interval_s == pytest.approx((1 + 2 * cov) * average)


def test_a_steady_series_is_the_steady_rate() -> None:
    last = paced([30e-3] * 10, 4)[-1]
    assert last.interval_s == pytest.approx(float(tcp_ap(30e-3, 4).interval_s))


def test_hopeless_samples_are_left_out() -> None:
    """With an RTT of 5 s, t_q is replaced by its average: γ = 1/2 from 0."""
    first, second, third = paced([20e-3, 30e-3, 5.0], 4)
    assert second.four_hop_delay_s == pytest.approx(17.12e-3, abs=5e-6)
    smoothed = 0.25 * first.queueing_delay_s + 0.5 * second.queueing_delay_s
    assert third.queueing_delay_s == pytest.approx(smoothed)
    assert paced([4.2], 4)[0].queueing_delay_s == 0


def test_delays_of_half_a_second_do_not_count() -> None:
    """t_q of 0.2 s is believed, the D of 0.8 s that follows from it is not."""
    (only,) = paced([1.6], 4)
    assert only.four_hop_delay_s > 0.5
    assert only.average_delay_s is None
    assert only.interval_s == 0.05


@pytest.mark.parametrize("hops", [1, 3, 4, 9])
def test_a_steady_rate_is_given_only_where_the_source_follows_it(hops: int) -> None:
    """Just below D = 0.5 s the steady interval is that of a series of such RTTs; above, none is."""
    factor = 4 if hops >= 4 else 1
    limit = hops * (2 * (0.5 / factor - 8 * 1572 / 11e6) + 8 * (1572 + 112) / 11e6)
    below = 0.999 * limit
    (only,) = paced([below], hops)
    assert only.interval_s == pytest.approx(float(tcp_ap(below, hops).interval_s))
    assert paced([1.001 * limit], hops)[0].average_delay_s is None
    with pytest.raises(ParameterError, match="does not follow"):
        tcp_ap(1.001 * limit, hops)


def test_the_two_deviations() -> None:
    values = [1.0, 1.0, 4.0]
    assert coefficient_of_variation(values) == pytest.approx(2**0.5 / 2)
    assert coefficient_of_variation(values, "absolute") == pytest.approx(2 / 3)
    assert coefficient_of_variation([7.0]) == 0
    rtts = [30e-3, 40e-3, 90e-3]
    standard, absolute = (paced(rtts, 4, deviation=d)[-1] for d in ("standard", "absolute"))
    assert standard.interval_s > absolute.interval_s
    assert standard.average_delay_s == absolute.average_delay_s


def test_arrays_broadcast() -> None:
    assert tcp_ap(np.array([[30e-3], [60e-3]]), [4, 5, 6]).packet_rate.shape == (2, 3)
    assert paced([], 4) == []


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: tcp_ap(0, 4), "rtt_s"),
        (lambda: tcp_ap(1e-4, 4, segment_bytes=1), "rtt_s"),
        (lambda: tcp_ap(float("inf"), 4), "rtt_s"),
        (lambda: tcp_ap(0.03, 0), "hops"),
        (lambda: tcp_ap(0.03, 4, bandwidth_bps=0), "bandwidth_bps"),
        (lambda: tcp_ap(0.03, 4, variation=-1), "variation"),
        (lambda: tcp_ap(0.03, 4, overhead_bytes=1e300), "overhead_bytes"),
        (lambda: coefficient_of_variation([]), "samples"),
        (lambda: coefficient_of_variation([0.0]), "samples"),
        (lambda: coefficient_of_variation([1.0], "median"), "deviation"),
        (lambda: paced(0.03, 4), "rtts_s"),
        (lambda: paced([0.03], 4, deviation="median"), "deviation"),
        (lambda: paced([-1.0], 4), "rtts_s"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_commands_figures() -> None:
    found = MODEL.evaluate(
        rtt_s=30e-3,
        hops=4,
        bandwidth_bps=11e6,
        segment_bytes=1460,
        overhead_bytes=112,
        variation=0.2,
    )
    assert set(found) == {output.name for output in MODEL.outputs}
    assert found["goodput_bps"] == pytest.approx(found["packets_per_s"] * 11680)
