"""TCP networks in ns-2: what its scripts are told, the estimates, and laws that the runs obey."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from peers.compare import LONGER, compare, table
from peers.references_tcp import HTTP, SIX, WEB, AtMeanSize, jain
from peers.tcp import (
    Browsed,
    Flow,
    Sessions,
    Transfers,
    counted,
    parse_flows,
    run_sessions,
    run_transfers,
)

ns2 = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Flow("sideways"),
        lambda: Flow("down", -1.0),
        lambda: Flow(mbps=54.0),
        lambda: Transfers(kind="none", flows=()),
        lambda: replace(HTTP, agents="two-way"),
        lambda: replace(HTTP, window=0),
        lambda: replace(HTTP, ack_every=0),
        lambda: replace(HTTP, queue_frames=1),
        lambda: replace(HTTP, warm_up_s=0.0),
        lambda: replace(WEB, law="normal"),
        lambda: replace(WEB, stations=0),
    ],
)
def test_a_network_that_cannot_be_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        wrong()


def test_flows_are_read_as_they_are_written() -> None:
    flows = (Flow(), Flow(), Flow("up", 5.0, 5.5), Flow("down", 0.5, 1.0))
    assert counted(flows) == "2*down:ap:11 up:5:5.5 down:0.5:1"
    assert parse_flows(counted(flows)) == flows


@pytest.mark.parametrize("law", ["exponential", "pareto"])
def test_the_mean_number_of_segments_is_that_of_whole_ones(law: str) -> None:
    """A million sizes, evenly spread over their probabilities."""
    u = (np.arange(10**6) + 0.5) / 10**6
    sizes = -30e3 * np.log(u) if law == "exponential" else 10e3 * u ** (-1 / 1.5)
    mean = float(np.mean(np.ceil(sizes / 1000)))
    network = Sessions(kind="web", stations=1, law=law, segment_bytes=1000)
    # What is left of Pareto's mean above the largest of them is 1 % of it.
    assert network.mean_segments == pytest.approx(mean, rel=0.012)


def browsed(sizes: list[float], delays: list[float]) -> Browsed:
    return Browsed(
        simulator="fake",
        cpu_s=1.0,
        simulated_s=1.0,
        sessions=len(sizes),
        delay_s=sum(delays),
        segments=sum(sizes),
        segments_squared=sum(s * s for s in sizes),
        delay_s_times_segments=sum(s * d for s, d in zip(sizes, delays, strict=True)),
    )


def test_a_delay_that_is_a_line_of_the_size_is_known_without_error() -> None:
    runs = [browsed(sizes, [0.01 + 0.003 * s for s in sizes]) for sizes in ([1, 9, 4], [70, 2])]
    estimate = AtMeanSize("", "s", lambda _: 0.0, lambda _: 1.0, mean_segments=30.0)
    value, error = estimate.estimate(runs)
    assert value == pytest.approx(0.1)
    assert error == pytest.approx(0.0, abs=1e-12)


def test_fairness_is_one_for_equals_and_one_nth_for_a_single_one() -> None:
    assert jain([2.0, 2.0, 2.0]) == pytest.approx(1)
    assert jain([0.0, 5.0, 0.0, 0.0]) == pytest.approx(0.25)


@ns2
def test_fewer_acknowledgements_leave_more_air_for_data() -> None:
    short = replace(HTTP, agents="one-way", window=1000, warm_up_s=5.0, seconds=20.0)
    rates = [sum(run_transfers(replace(short, ack_every=d)).flow_bps) for d in (1, 2, 3, 5)]
    assert rates == sorted(rates)


@ns2
@pytest.mark.parametrize("agents", ["one-way", "full"])
def test_a_window_below_d_waits_for_the_timer(agents: str) -> None:
    """One segment a time: 40 ms, or less where the timer runs by itself, and the two exchanges."""
    alone = run_transfers(
        replace(HTTP, agents=agents, window=1, ack_every=5, warm_up_s=5.0, seconds=20.0)
    )
    per_s = alone.flow_bps[0] / 8000
    assert 1 / 0.0445 < per_s < 1 / 0.0395


@ns2
def test_a_stations_rate_is_that_of_both_directions() -> None:
    """One segment a time: both exchanges, and before each at most 15 slots on average."""

    def cycle_us(mbps: float) -> float:
        data, ack = 8 * 1534 / mbps, 8 * 74 / mbps
        return data + ack + 2 * (192 + 10 + 192 + 112 + 50)

    for mbps in (1.0, 2.0, 5.5):
        scenario = replace(SIX, flows=(Flow(mbps=mbps),), window=1, warm_up_s=5.0, seconds=30.0)
        measured = 8 * 1460 / run_transfers(scenario).flow_bps[0] * 1e6
        assert cycle_us(mbps) < measured < cycle_us(mbps) + 2 * 300


@ns2
def test_the_queue_holds_one_frame_less_than_its_limit() -> None:
    """And the MAC one more."""
    flows = (Flow("down", 5.0),)
    run = run_transfers(replace(SIX, flows=flows, queue_frames=20, seconds=30.0))
    assert run.ap_queue_frames is not None
    assert 0 < run.ap_queue_frames <= 19


@ns2
def test_sessions_take_what_their_segments_take() -> None:
    """With a window of one each segment adds the same, and there are as many as sizes ask for."""
    run = run_sessions(replace(WEB, stations=1, window=1, seconds=3000.0))
    spread = 3 * WEB.mean_segments / math.sqrt(run.sessions)
    assert run.segments / run.sessions == pytest.approx(WEB.mean_segments, abs=spread)
    assert run.sessions == pytest.approx(3000 / 10.1, rel=0.2)
    each = (run.delay_s_times_segments - run.delay_s * run.segments / run.sessions) / (
        run.segments_squared - run.segments**2 / run.sessions
    )
    # Two exchanges: 2815 us on the air, DIFS twice, two backoffs that overlap in part.
    assert 2815e-6 + 100e-6 < each < 2815e-6 + 100e-6 + 600e-6
    # Half of the exponential sizes are below ln 2 of their mean, 95 % below ln 20; a quantile of 300
    # sessions has a standard error of some 8 %.
    rest = run.delay_s / run.sessions - each * run.segments / run.sessions
    for seconds, share in ((run.delay_p50_s, 0.5), (run.delay_p95_s, 0.95)):
        segments = math.ceil(-math.log(1 - share) * 30)
        assert seconds == pytest.approx(rest + each * segments, rel=3 * 0.08)
    assert run.delay_p50_s < run.delay_s / run.sessions < run.delay_p95_s


@ns2
def test_networks_are_compared_with_ours() -> None:
    """Nobody but ns-2 has them; what comes out agrees to what so short a time allows."""
    cases = (
        replace(HTTP, window=1, warm_up_s=5.0, seconds=20.0),
        replace(WEB, stations=3, window=1, seconds=600.0),
    )
    entries = compare(cases, ["ns3-wheel", "ns2", "ns3-debian"])
    assert [e.simulator for e in entries] == ["airqueue ns2", "ns-2.35"] * 2
    for ours, theirs, tolerance in zip(entries[::2], entries[1::2], (0.02, 0.3), strict=True):
        assert ours.figures == pytest.approx(theirs.figures, rel=tolerance)
        assert ours.simulated_s == pytest.approx(LONGER * theirs.simulated_s)
    assert "goodput_bps" in table(entries)
