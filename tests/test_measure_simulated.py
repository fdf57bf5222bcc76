"""The whole method over the simulated bottleneck: the real client and server on a virtual clock."""

from __future__ import annotations

from typing import Any

import pytest

from airqueue.measure.api import measure
from airqueue.measure.result import Measurement
from airqueue.measure.schema import check
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.words import describe


def measured(seed: int = 1, profile: str = "quick", **config: Any) -> Measurement:
    result = measure(SimulatedProber({"flows": 3, **config}, seed=seed), profile=profile)
    check(result.to_json())
    return result


@pytest.mark.parametrize("queue", [1, 50, 100])
def test_a_driver_ring_adds_up(queue):
    result = measured(queue=f"pfifo:{queue}", ring_packets=40)
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(queue + 40, abs=1)
    assert result.ci95[0] <= queue + 40 <= result.ci95[1]


@pytest.mark.long
@pytest.mark.parametrize("capacity", [30, 100, 1000])
def test_the_paper_as_published(capacity):
    """Both sizes, 30 sessions of 120 s each after Algorithm 1, in seconds."""
    result = measured(profile="paper", queue=f"pfifo:{capacity}")
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert sum(s.accepted for s in result.sessions) == 60
    for row in result.estimators["published"].by_size.values():
        assert row["sessions"] == 30
        assert row["packets"] == pytest.approx(capacity, abs=max(1.5, 0.03 * capacity))
    assert result.capacity == pytest.approx(capacity, abs=1)
    # 30 sessions of two minutes for each size, and a search of a minute for each 50 packets/s.
    assert result.elapsed_s > 2 * 30 * 120


# Without a ring the formula sees what `test_the_paper_as_published` has.
@pytest.mark.long
@pytest.mark.parametrize("ring", [0, 40])
def test_the_published_formula_sees_all_stages(ring):
    result = measured(profile="paper", queue="pfifo:50", ring_packets=ring)
    for row in result.estimators["published"].by_size.values():
        assert row["packets"] == pytest.approx(50 + ring, abs=max(1.5, 0.03 * (50 + ring)))


def test_skew_of_100_ppm():
    result = measured(queue="pfifo:250", skew_ppm=100.0, clock_offset_s=-3.0)
    assert result.capacity == pytest.approx(250, abs=0.2)
    assert result.hosts["clock_skew_ppm"]["value"] == pytest.approx(100, abs=5)


def test_isolated_flows_get_no_capacity():
    result = measured(queue="pfifo:100", isolate_flows=True)
    assert result.verdict == "isolated"
    assert result.capacity is None
    # What arrives of the sparse flow long before the flood is none of the flood's time.
    assert result.rate_bps == pytest.approx(7e6, rel=0.01)


def test_a_policer_gets_no_capacity():
    result = measured(policer=True, burst_bytes=30_000)
    assert result.verdict == "policer"
    assert result.capacity is None


def test_drops_at_the_head():
    result = measured(queue="pfifo:100", drop_from="head")
    assert (result.verdict, result.drop_from) == ("fifo", "head")
    assert result.capacity == pytest.approx(100, abs=1)


@pytest.mark.parametrize("rate_mbps", [100, 300])
def test_an_aggregating_device(rate_mbps):
    result = measured(queue="pfifo:500", rate_bps=rate_mbps * 1e6, aggregate_packets=64)
    assert result.verdict == "fifo"
    assert result.resolution["packets"] >= 32
    assert result.capacity == pytest.approx(500, abs=64)
    assert result.ci95[0] <= 500 <= result.ci95[1]


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_rate_that_swings(factor):
    result = measured(queue="pfifo:100", rate_changes=[[0.9, factor], [1.8, 1.0]], repeat_s=1.8)
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(100, abs=2)


def test_stalls_of_seconds():
    result = measured(queue="pfifo:100", stalls_s=[[5.0, 2.5]], repeat_s=11.0)
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(100, abs=2)


def test_a_limit_that_changes_is_no_capacity():
    result = measured(queue="pfifo:100", limit_changes=[[0.4, 40], [0.8, 100]], repeat_s=0.8)
    assert result.verdict in ("not_flat", "undecided")
    assert result.capacity is None


def test_a_packet_ceiling():
    result = measured(queue="pfifo:100", mpu_bytes=1500)
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(100, abs=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_jitter_and_loss_of_a_radio(seed):
    result = measured(seed=seed, queue="pfifo:120", service_jitter_s=620e-6, loss_probability=0.005)
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(120, abs=2.4)
    assert result.ci95[0] <= 120 <= result.ci95[1] + 1


def test_a_slow_sender_is_named():
    result = measured(queue="pfifo:100", rate_bps=50e6, sender_cap_pps=3000)
    assert result.verdict in ("sender_limited", "not_saturable")
    assert result.capacity is None


def test_a_slow_receiver_is_named():
    result = measured(
        queue="pfifo:100", rate_bps=50e6, receive_buffer_packets=60, reader_rate_pps=2500
    )
    assert result.verdict in ("receiver_limited", "undecided")
    assert result.capacity is None


def test_a_sender_that_wakes_up_for_single_packets_hides_no_packet():
    """At 250 Mb/s a packet takes 48 microseconds: as long as a machine needs to wake up."""
    for shaper in ("link", "token_bucket"):
        result = measured(
            queue="pfifo:73",
            rate_bps=250e6,
            shaper=shaper,
            burst_bytes=32_790,
            sender_wakeup_s=45e-6,
        )
        assert (result.verdict, result.counted_in) == ("fifo", "packets")
        assert result.capacity == pytest.approx(73, abs=0.2)
        # The stamps tell: nothing is left that would make the interval wider.
        assert result.ci95 == pytest.approx((72.5, 73.5), abs=0.1)


def test_a_receiver_that_wakes_up_hides_no_packet_or_the_interval_has_it():
    """Nothing stamps what a receiver's waking takes: it shows before the flood."""
    short = measured(queue="pfifo:150", rate_bps=100e6, receiver_wakeup_s=20e-6)
    assert short.capacity == pytest.approx(150, abs=0.2)
    assert short.ci95 == pytest.approx((149.5, 150.5), abs=0.1)
    for wakeup_s in (45e-6, 100e-6, 250e-6):
        long = measured(queue="pfifo:150", rate_bps=100e6, receiver_wakeup_s=wakeup_s)
        assert long.verdict == "fifo"
        assert long.ci95[0] <= 150 <= long.ci95[1]
        # What arrives of the small packets while the receiver wakes up, and two halves of one.
        assert long.ci95[1] - long.ci95[0] <= wakeup_s * 100e6 / (8 * 764) + 2
    assert any("than the instants are known" in warning for warning in long.warnings)


def test_waking_up_is_nothing_to_a_slow_path():
    result = measured(queue="pfifo:100", sender_wakeup_s=45e-6, receiver_wakeup_s=100e-6)
    assert result.capacity == pytest.approx(100, abs=0.2)
    assert result.ci95 == pytest.approx((99.5, 100.5), abs=0.1)
    assert not result.warnings


def test_bytes_behind_hosts_that_wake_up():
    config = {"queue": "bfifo:110000", "link_layer_bytes": 14, "rate_bps": 54e6}
    result = measured(**config, sender_wakeup_s=45e-6, receiver_wakeup_s=15e-6)
    assert (result.verdict, result.counted_in) == ("fifo", "bytes")
    assert result.ci95[0] <= 110_000 <= result.ci95[1]
    # 72 packets of 1514 bytes fit and 143 of 764, so the limit is from 109,252 to 110,016.
    assert result.capacity == pytest.approx(109_634, abs=1)


@pytest.mark.parametrize("loss", [0.12, 0.2, 0.25, 0.4])
def test_a_queue_before_a_lossy_radio_is_no_policer(loss):
    result = measured(queue="pfifo:83", rate_bps=20e6, loss_probability=loss)
    assert result.verdict in ("fifo", "undecided")
    assert result.discipline is None or result.discipline.name is None
    assert any("lost even without load" in each for each in result.warnings)
    if loss <= 0.2:
        assert result.ci95[0] <= 83 <= result.ci95[1]
    if loss <= 0.25:
        assert result.rate_bps == pytest.approx((1 - loss) * 20e6, rel=0.05)


def test_the_delay_of_a_full_queue_is_not_that_of_a_path_that_became_faster():
    result = measured(queue="pfifo:83", rate_bps=2e7, rate_changes=[[3.5, 2.0]], repeat_s=7)
    assert result.verdict == "fifo"
    # 25 ms while the path has 40 Mb/s, 50 ms while it has 20 Mb/s.
    assert 0.024 < result.delay_full_s < 0.051
    for session in result.sessions:
        assert not session.accepted or session.delay_full_s > 0.024 * session.size_bytes / 1500


def test_the_interval_of_a_queue_that_drops_at_its_head_is_that_of_the_count():
    result = measured(queue="pfifo:83", rate_bps=20e6, drop_from="head")
    assert (result.verdict, result.drop_from) == ("fifo", "head")
    assert result.ci95 == pytest.approx((82.5, 83.5), abs=0.6)
    assert not any("of their packets" in each for each in result.warnings)


@pytest.mark.parametrize("header_bytes", [0, 14, 26])
def test_byte_limits_have_the_headers_that_the_counts_allow(header_bytes):
    result = measured(queue="bfifo:300000", rate_bps=20e6, link_layer_bytes=header_bytes)
    assert result.counted_in == "bytes"
    assert result.ci95[0] <= 300_000 <= result.ci95[1]
    refuted = any("The counts do not fit packets with 14 bytes" in w for w in result.warnings)
    assert refuted == (header_bytes != 14)


def test_sizes_that_are_nearly_equal_leave_the_unit_open_and_not_the_number():
    path = SimulatedProber({"flows": 3, "queue": "pfifo:93", "rate_bps": 20e6}, seed=1)
    result = measure(path, sizes=(1500, 1499))
    assert (result.capacity, result.counted_in) == (pytest.approx(93, abs=0.5), "undecided")
    assert any("too near to each other" in each for each in result.warnings)


def test_a_queue_whose_unit_is_undecided_is_a_fifo_in_words_too():
    result = measured(queue="bfifo:4000", rate_bps=20e6, link_layer_bytes=14)
    assert (result.verdict, result.capacity) == ("fifo", None)
    said = describe(result.to_json())
    assert said.headline == (
        "One first-in first-out queue that holds 2 packets of 1500 bytes or 5 packets of 750 bytes; "
        "whether it counts packets or bytes is undecided."
    )
    assert "When full it adds" in " ".join(said.findings)
