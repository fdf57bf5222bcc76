"""Capacity for n flows: what decides where, and that each need is met by the least queue."""

from fractions import Fraction
from math import ceil, isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.buffer_rules import rule
from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.flow_adapted import (
    MODEL,
    NEEDS,
    RECOVERY_WINDOW,
    effective_rtt_s,
    flow_adapted,
    turning_point_flows,
)
from airqueue.models.sawtooth import sawtooth

RATE_BPS, RTT_S = 18e6, 0.2
PATH = 300


def least_queue(flows: int, window: int, groups: Fraction) -> int:
    """The least whole B with ``B² groups >= D²`` and ``B + D >= n w``, by counting up to it."""
    squared = Fraction(PATH * PATH) / max(groups, Fraction(1))
    busy = isqrt(ceil(squared))
    while busy * busy < squared:
        busy += 1
    return max(busy, flows * window - PATH, 1)


@pytest.mark.parametrize("recovery", RECOVERY_WINDOW)
@pytest.mark.parametrize("together", [1, 3, 1000])
def test_equals_counting_in_fractions(together: int, recovery: str) -> None:
    for flows in (1, 2, 3, 5, 9, 20, 74, 75, 76, 84, 100, 250, 1000):
        found = flow_adapted(RATE_BPS, RTT_S, flows, together=together, recovery=recovery)
        wanted = least_queue(flows, int(RECOVERY_WINDOW[recovery]), Fraction(flows, together))
        assert float(found.capacity_packets) == wanted
        assert float(found.full_delay_s) == pytest.approx(wanted * 12e3 / RATE_BPS)


def test_one_flow_gets_the_rule_of_thumb() -> None:
    one = flow_adapted(RATE_BPS, RTT_S, 1)
    assert float(one.capacity_packets) == float(rule(RATE_BPS, RTT_S).buffer_packets) == PATH
    assert float(one.utilisation_at_least) == pytest.approx(1)
    assert float(one.window_packets) == 2 * PATH
    assert str(one.decided_by) == "keep"
    cubic = flow_adapted(RATE_BPS, RTT_S, 1, control="cubic")
    assert float(cubic.capacity_packets) == ceil(PATH * 3 / 7)
    assert float(cubic.utilisation_at_least) == pytest.approx(1)


def test_many_flows_get_what_they_need_to_recover() -> None:
    many = flow_adapted(RATE_BPS, RTT_S, [250, 1000, 10_000])
    assert (many.window_packets == 4).all()
    assert (many.decided_by == "recover").all()
    # The queue then delays by n w/C - RTT: the path has become short of packets, not of buffer.
    expected = np.array([250, 1000, 10_000]) * 4 * 12e3 / RATE_BPS - RTT_S
    assert many.full_delay_s == pytest.approx(expected)


def test_all_in_step_are_as_one() -> None:
    for flows in (1, 7, 40):
        found = flow_adapted(RATE_BPS, RTT_S, flows, together=flows)
        assert float(found.capacity_packets) == PATH
        assert float(found.utilisation_at_least) == pytest.approx(1)


def test_groups_in_step_vary_more() -> None:
    """n flows in groups of g: the sum's deviation is that of n/g independent flows."""
    rng = np.random.default_rng(3)
    n, g = 60, 6
    together = np.repeat(rng.uniform(2 / 3, 4 / 3, (20_000, n // g)), g, axis=1).sum(axis=1)
    fewer = rng.uniform(2 / 3, 4 / 3, (20_000, n // g)).sum(axis=1)
    assert together.std() / together.mean() == pytest.approx(fewer.std() / fewer.mean(), rel=0.03)
    a, b = flow_adapted(RATE_BPS, RTT_S, n, together=g), flow_adapted(RATE_BPS, RTT_S, n // g)
    assert a.capacity_packets == b.capacity_packets


def test_receivers_that_let_little_wait_bound_the_queue() -> None:
    # 44 packets are 65 535 bytes: seven such flows hold no more than 308, so 8 wait.
    bounded = flow_adapted(RATE_BPS, RTT_S, [1, 7, 20], window_limit_packets=44)
    assert bounded.capacity_packets.tolist() == [1, 8, 68]
    assert bounded.decided_by.tolist() == ["bound", "bound", "keep"]
    assert flow_adapted(
        RATE_BPS, RTT_S, [1, 2], window_limit_packets=[[44], [400]]
    ).decided_by.shape == (2, 2)


def test_windows_that_all_fit_lose_nothing_and_fill_what_they_can() -> None:
    # 1 and 3 windows of 44 packets on a path of 300 leave the link idle most of the time; no queue
    # changes that. From 7 on (308 packets) the link is always busy, the queue never overflows.
    few = flow_adapted(RATE_BPS, RTT_S, [1, 3, 7], window_limit_packets=44)
    assert few.utilisation_at_least == pytest.approx([44 / 300, 132 / 300, 1])
    assert few.window_packets == pytest.approx([44, 44, 44])
    # Limits that are never reached change nothing.
    free, wide = (flow_adapted(RATE_BPS, RTT_S, 20, window_limit_packets=w) for w in (None, 44))
    assert wide.utilisation_at_least == free.utilisation_at_least < 1
    assert wide.window_packets == free.window_packets == (300 + 68) / 20


def test_never_below_the_least() -> None:
    found = flow_adapted(1e6, 0.001, 1, least_packets=5, recovery="limited-transmit")
    assert float(found.capacity_packets) == 5
    assert str(found.decided_by) == "least"
    assert set(NEEDS) == {"keep", "recover", "least", "bound"}


@given(st.floats(1e5, 1e9), st.floats(1e-3, 1), st.floats(1, 1e4), st.floats(1, 100))
def test_every_need_is_met(rate: float, rtt: float, flows: float, together: float) -> None:
    found = flow_adapted(rate, rtt, flows, together=together)
    queue, path = float(found.capacity_packets), rate * rtt / 12e3
    assert queue == np.floor(queue) >= 1
    assert queue + path >= 4 * flows * (1 - 1e-9)
    groups = max(1.0, flows / together)
    assert queue * groups**0.5 >= path * (1 - 1e-9)
    one_less = queue - 1
    needed = one_less < 1 or one_less + path < 4 * flows or one_less * groups**0.5 < path
    assert needed
    worst = sawtooth(queue * 1500, rate, rtt).utilisation
    assert worst <= found.utilisation_at_least <= 1


@pytest.mark.parametrize("control", ["reno", "cubic"])
@pytest.mark.parametrize("recovery", RECOVERY_WINDOW)
@pytest.mark.parametrize("rtt", [0.01, 0.2, 1.0])
def test_the_turning_point_has_the_smallest_queue(rtt: float, recovery: str, control: str) -> None:
    turn = float(turning_point_flows(RATE_BPS, rtt, recovery=recovery, control=control))
    flows = np.arange(1, 1001)
    queues = flow_adapted(RATE_BPS, rtt, flows, recovery=recovery, control=control).capacity_packets
    lowest = flows[queues == queues.min()]
    assert lowest.min() - 1 <= turn <= lowest.max() + 1
    assert (np.diff(queues[: int(turn) - 1]) <= 0).all()
    assert (np.diff(queues[int(turn) + 1 :]) > 0).all()


@pytest.mark.parametrize("together", [2, 30, 149, 151, 1000])
def test_the_turning_point_of_flows_in_groups(together: int) -> None:
    turn = float(turning_point_flows(RATE_BPS, RTT_S, together=together))
    flows = np.arange(1, 1001)
    queues = flow_adapted(RATE_BPS, RTT_S, flows, together=together).capacity_packets
    lowest = flows[queues == queues.min()]
    assert lowest.max() - 1 <= turn <= lowest.max() + 1


def test_the_turning_point_on_a_path_of_nothing() -> None:
    assert turning_point_flows([1e3, 5e-324], [1e-6, 0.1]).tolist() == [1, 1]


def test_one_round_trip_for_many() -> None:
    rtts = [0.01, 0.05, 0.2]
    # Packets on the path at equal rates: Σ (C/n) RTT; at equal windows w: n w with Σ w/RTT = C.
    assert effective_rtt_s(rtts) == pytest.approx(sum(rtts) / 3)
    window = 1 / sum(1 / rtt for rtt in rtts)
    assert effective_rtt_s(rtts, "equal-windows") == pytest.approx(3 * window)
    assert effective_rtt_s([0.07]) == effective_rtt_s([0.07], "equal-windows") == 0.07
    assert effective_rtt_s([1e-300, 1e300], "equal-windows") == pytest.approx(2e-300)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"rate_bps": -1}, "rate_bps"),
        ({"rtt_s": 0}, "rtt_s"),
        ({"flows": 0}, "flows"),
        ({"packet_bytes": 0}, "packet_bytes"),
        ({"control": "bbr"}, "control"),
        ({"together": 0.5}, "together"),
        ({"recovery": "timeout"}, "recovery"),
        ({"window_limit_packets": 0}, "window_limit_packets"),
        ({"window_limit_packets": [5, 6], "flows": [1, 2, 3]}, "rate_bps"),
        ({"least_packets": 1.5}, "least_packets"),
        ({"flows": [1, 2], "rtt_s": [1, 2, 3]}, "rate_bps"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        flow_adapted(**{"rate_bps": RATE_BPS, "rtt_s": RTT_S, "flows": 3} | arguments)
    assert raised.value.parameter == names


@pytest.mark.parametrize("rtts", [[], [0.1, -1], [float("inf")]])
def test_bad_round_trips_are_named(rtts: list[float]) -> None:
    with pytest.raises(ParameterError) as raised:
        effective_rtt_s(rtts)
    assert raised.value.parameter == "rtts_s"


def defaults(**given: Any) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in MODEL.parameters} | given


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e-300, 0.999999999999, 1e300])
@pytest.mark.parametrize(
    "name", ["rate_bps", "rtts_s", "flows", "packet_bytes", "together", "window_limit_packets"]
)
def test_extremes_are_answered_or_refused(name: str, value: float) -> None:
    try:
        figures = MODEL.evaluate(**defaults(**{name: [value] if name == "rtts_s" else value}))
    except ModelError:
        return
    assert all(np.isfinite(v) for v in figures.values() if isinstance(v, float))


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(**defaults(flows=20.0, rtts_s=(0.1, 0.3)))
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["capacity_packets"] == 68
    assert figures["decided_by"] == "keep"
    assert figures["rtt_s"] == pytest.approx(0.2)
