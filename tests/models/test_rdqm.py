"""RDQM's partition: limits that sum to the buffer, shares, admission, and predicted throughput."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import phy
from airqueue.models.rate_mix import airtime_fair, tcp_cycle_s
from airqueue.models.rdqm import MODEL, admitted_frames, partition, predicted_throughput

MIX = [11e6] * 3 + [5.5e6] * 2 + [1e6]
FLOWS = st.lists(
    st.tuples(st.integers(1, 2000), st.sampled_from([10, 20, 55, 110]), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(FLOWS, st.integers(0, 1000), st.sampled_from(["rtt*rate", "rtt"]))
def test_the_limits_are_the_algorithm_s(
    flows: list[tuple[int, int, bool]], buffer: int, weight: str
) -> None:
    milliseconds, rates, reports = (list(column) for column in zip(*flows, strict=True))
    parts = partition(
        buffer,
        np.array(milliseconds) * 1e-3,
        np.array(rates) * 1e5,
        np.array(reports, dtype=float),
        weight=weight,
    )
    bdp = [Fraction(t * (r if weight == "rtt*rate" else 1)) for t, r, _ in flows]
    total = sum(w for w, (_, _, report) in zip(bdp, flows, strict=True) if report)
    reporting = sum(reports)
    for limit, own, (_, _, report) in zip(parts.limits_frames, bdp, flows, strict=True):
        share = own / total * reporting if report else 1
        assert limit == pytest.approx(float(share * Fraction(buffer, len(flows))))
    # The limits sum to the buffer, and its two parts are as the numbers of flows.
    assert float(parts.total_frames) == pytest.approx(buffer)
    assert float(parts.rdqm_frames) * len(flows) == pytest.approx(buffer * reporting)
    assert float(parts.rdqm_frames + parts.legacy_frames) == pytest.approx(buffer)


@given(
    st.integers(1, 40),
    st.floats(1e-3, 10),
    st.floats(1e5, 1e10),
    st.floats(0, 1e4),
    st.sampled_from(["rtt*rate", "rtt"]),
)
def test_alike_flows_share_equally(
    flows: int, rtt_s: float, rate_bps: float, buffer: float, weight: str
) -> None:
    parts = partition(buffer, [rtt_s] * flows, rate_bps, weight=weight)
    assert parts.limits_frames == pytest.approx(np.full(flows, buffer / flows))
    nobody = partition(buffer, [rtt_s] * flows, rate_bps, 0, weight=weight)
    assert nobody.limits_frames == pytest.approx(parts.limits_frames)


@given(FLOWS, st.integers(1, 1000))
def test_by_rtt_equals_by_bdp_where_the_rates_are_equal(
    flows: list[tuple[int, int, bool]], buffer: int
) -> None:
    rtt = np.array([milliseconds * 1e-3 for milliseconds, _, _ in flows])
    by_bdp, by_rtt = partition(buffer, rtt, 2e6), partition(buffer, rtt, weight="rtt")
    assert by_rtt.limits_frames == pytest.approx(by_bdp.limits_frames)


def test_a_floor_raises_the_sum() -> None:
    without = partition(8, 0.15, MIX)
    floored = partition(8, 0.15, MIX, floor_frames=1)
    assert without.limits_frames.min() < 1
    assert floored.limits_frames.min() == 1
    above = without.limits_frames > 1
    assert (floored.limits_frames[above] == without.limits_frames[above]).all()
    added = float(floored.total_frames - without.total_frames)
    assert added == pytest.approx(np.sum(1 - without.limits_frames[~above]))
    assert 0 < added <= len(MIX)


def test_a_sweep_has_the_flows_last() -> None:
    parts = partition([60, 120, 240], [[0.05], [0.1], [0.2]], [11e6, 1e6], [1, 1])
    assert parts.limits_frames.shape == (3, 2)
    assert parts.limits_frames[:, 0].tolist() == pytest.approx([55, 110, 220])
    assert parts.total_frames == pytest.approx([60, 120, 240])
    swept = partition([60, 120], 0.1, [11e6, 1e6])
    assert swept.limits_frames[1] == pytest.approx([110, 10])
    assert partition(60, 0.1, 11e6).limits_frames == pytest.approx([60])


def test_what_does_not_report_needs_no_rtt() -> None:
    parts = partition(90, [0.1, 0, 0], [11e6, 0, 0], [1, 0, 0])
    assert parts.limits_frames == pytest.approx([30, 30, 30])


@given(st.integers(0, 400).map(lambda quarters: quarters / 4), st.sampled_from([">", ">="]))
def test_admission_counts_as_the_queue_does(limit: float, admission: str) -> None:
    count = 0
    while not (count > limit if admission == ">" else count >= limit):
        count += 1
    assert admitted_frames(limit, admission) == count


def test_admission_of_whole_and_broken_limits() -> None:
    assert admitted_frames([0, 2.5, 3]).tolist() == [1, 3, 4]
    assert admitted_frames([0, 2.5, 3], ">=").tolist() == [0, 3, 3]


def ns2_cycle_s() -> np.ndarray:
    return tcp_cycle_s(phy("b-long"), MIX, overhead_bytes=34, control_rate_bps=2e6)


def test_the_worked_throughput() -> None:
    limits = partition(400, 0.15, MIX).limits_frames
    mix = predicted_throughput(ns2_cycle_s(), 1460, limits, 0.15)
    kbps = mix.throughput_bps / 1e3
    assert kbps == pytest.approx([856] * 3 + [428] * 2 + [78], abs=0.5)
    assert float(mix.total_bps) / 1e6 == pytest.approx(3.50, abs=0.005)
    # The published figures, 700, 500 and 100 kb/s of 3.2 Mb/s, lie between this and airtime fairness.
    fair = airtime_fair(ns2_cycle_s(), 1460)
    for index, published in ((0, 700), (3, 500), (5, 100)):
        ends = sorted([kbps[index], fair.throughput_bps[index] / 1e3])
        assert ends[0] * 0.98 < published < ends[1] * 1.02
    assert float(fair.total_bps) * 0.99 < 3.2e6 < float(mix.total_bps)


def test_throughput_follows_the_rate_whatever_the_rtt() -> None:
    rtt = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.15])
    limits = partition(400, rtt, MIX).limits_frames
    mix = predicted_throughput(ns2_cycle_s(), 1460, limits, rtt)
    assert mix.throughput_bps / mix.throughput_bps[0] == pytest.approx(np.divide(MIX, 11e6))
    # By RTT alone the rates do not count, so all get what the slowest leaves them.
    limits = partition(400, rtt, weight="rtt").limits_frames
    alike = predicted_throughput(ns2_cycle_s(), 1460, limits, rtt)
    assert alike.throughput_bps == pytest.approx(np.full(6, alike.throughput_bps[0]))
    # Equal limits favour the near flows, queueing in front of all takes the favour away.
    near = predicted_throughput(0.003, 1460, [10, 10], [0.01, 0.1])
    assert near.throughput_bps[0] == pytest.approx(10 * near.throughput_bps[1])
    queueing = predicted_throughput(0.003, 1460, [10, 10], [0.01, 0.1], queueing_s=[[0.1], [1e9]])
    ratio = queueing.throughput_bps[:, 0] / queueing.throughput_bps[:, 1]
    assert ratio == pytest.approx([0.2 / 0.11, 1])


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"buffer_frames": -1}, "buffer_frames"),
        ({"buffer_frames": float("nan")}, "buffer_frames"),
        ({"buffer_frames": 1e300}, "buffer_frames"),
        ({"buffer_frames": [1, 2, 3], "rtt_s": [[0.1], [0.2]]}, "buffer_frames"),
        ({"rtt_s": -1}, "rtt_s"),
        ({"rtt_s": 0}, "rtt_s"),
        ({"rtt_s": []}, "rtt_s"),
        ({"rtt_s": 1e300}, "rtt_s"),
        ({"rtt_s": [0.1, 0.2], "rate_bps": [1, 2, 3]}, "rtt_s"),
        ({"rate_bps": 0}, "rate_bps"),
        ({"rate_bps": 1e300}, "rate_bps"),
        ({"rate_bps": 5e-324}, "rate_bps"),
        ({"reports": 0.5}, "reports"),
        ({"reports": 2}, "reports"),
        ({"weight": "rate"}, "weight"),
        ({"floor_frames": -1}, "floor_frames"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        partition(**{"buffer_frames": 100, "rtt_s": 0.1, "rate_bps": 1e6} | arguments)
    assert raised.value.parameter == names


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"limits_frames": [0, 0]}, "limits_frames"),
        ({"limits_frames": []}, "limits_frames"),
        ({"limits_frames": [-1, 2]}, "limits_frames"),
        ({"rtt_s": 0}, "rtt_s"),
        ({"rtt_s": [1, 2, 3]}, "limits_frames"),
        ({"queueing_s": -1}, "queueing_s"),
        ({"cycle_s": 0}, "cycle_s"),
    ],
)
def test_bad_input_of_the_prediction_is_named(arguments: dict[str, object], names: str) -> None:
    usual = {"cycle_s": 0.003, "segment_bytes": 1460, "limits_frames": [10, 20], "rtt_s": 0.1}
    with pytest.raises(ParameterError) as raised:
        predicted_throughput(**usual | arguments)
    assert raised.value.parameter == names


@pytest.mark.parametrize(("arguments", "names"), [((-1,), "limit_frames"), ((1, "<"), "admission")])
def test_bad_limits_are_named(arguments: tuple[object, ...], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        admitted_frames(*arguments)
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    given_values = {parameter.name: parameter.default for parameter in MODEL.parameters}
    figures = MODEL.evaluate(
        **given_values | {"rates_bps": MIX, "overhead_bytes": 34, "control_rate_bps": 2e6}
    )
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["total_frames"] == pytest.approx(100)
    assert figures["legacy_frames"] == 0
    assert figures["capped_total_bps"] == pytest.approx(3.50e6, abs=5e3)
    assert figures["airtime_fair_total_bps"] == pytest.approx(3.21e6, abs=5e3)
    assert figures["drop_tail_total_bps"] == pytest.approx(2.28e6, abs=5e3)
    assert all(len(figures[name]) == len(MIX) for name in ("limits_frames", "capped_bps"))
    one_rate = MODEL.evaluate(**given_values | {"rates_bps": (11e6,), "rtts_s": (0.01, 0.1)})
    assert len(one_rate["drop_tail_bps"]) == 2
