"""The Host AP is what it says: counted with tc and plain UDP, without the measurement's endpoints."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from airqueue.linux.bed import HostAp
from airqueue.linux.config import BedConfig, ConfigError, QueueSpec
from airqueue.linux.disturbance import Disturbance, Disturber
from bed_traffic import Flow, wait_until_empty

pytestmark = pytest.mark.bed

SHAPERS = ("tbf", "htb")
# One full frame takes 1.5 s: while a train arrives, next to nothing is served, and what is counted
# is the queue itself.
SLOW_BPS = 8_000
FRAME_BITS = 8 * 1514


def bed_of(queue: str, **settings: object) -> HostAp:
    return HostAp(BedConfig(queue=QueueSpec.parse(queue), **settings))


@contextmanager
def loaded(queue: str, rate_pps: float, seconds: float, **settings: object) -> Iterator[HostAp]:
    """A bed with a steady flow of full-size packets through it."""
    with (
        bed_of(queue, **settings) as bed,
        Flow(bed) as flow,
        flow.in_background(rate_pps, seconds),
    ):
        yield bed


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("queue", ["pfifo:1", "pfifo:2", "pfifo:100", "pfifo_head_drop:100"])
def test_a_packet_queue_holds_its_limit_with_the_packet_that_waits_for_tokens(queue, shaper):
    limit = QueueSpec.parse(queue).limit
    with bed_of(queue, rate_bps=SLOW_BPS, shaper=shaper) as bed, Flow(bed) as flow:
        flow.train(limit + 20)
        stats = bed.queue_stats()
        # Whatever the bucket let through, the head now waits for tokens, inside the limit.
        assert stats.backlog_packets == limit == bed.truth()["capacity"]
        assert stats.backlog_bytes == limit * 1514
        time.sleep(0.05)
        assert len(flow.arrivals) <= 2
        assert bed.truth()["in_service_packets"] == 0


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("size_bytes", [1500, 750, 64])
def test_a_byte_queue_counts_ip_length_and_ethernet_header(shaper, size_bytes):
    with bed_of("bfifo:50000", rate_bps=SLOW_BPS, shaper=shaper) as bed, Flow(bed) as flow:
        flow.train(50000 // size_bytes + 60, size_bytes)
        stats = bed.queue_stats()
        frame = size_bytes + bed.truth()["overhead_bytes"]
        # Small packets are served meanwhile and replaced only while the train lasts.
        served_since = stats.sent_packets if size_bytes < 100 else 0
        assert 50000 // frame - served_since <= stats.backlog_packets <= 50000 // frame
        assert stats.backlog_bytes == stats.backlog_packets * frame


def test_a_head_drop_queue_keeps_the_newest():
    with bed_of("pfifo_head_drop:30", rate_bps=SLOW_BPS) as bed, Flow(bed) as flow:
        flow.train(100)
        bed.change_rate(1000)
        wait_until_empty(bed, within_s=3)
        time.sleep(0.1)
        assert [arrival.seq for arrival in flow.arrivals][-30:] == list(range(70, 100))


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("ipv6", [False, True])
def test_every_packet_is_accounted_for_and_nothing_strays(shaper, ipv6):
    with bed_of("pfifo:50", shaper=shaper, ipv6=ipv6) as bed, Flow(bed) as flow:
        # The host stack's own packets (listener reports, solicitations) come in the first seconds.
        time.sleep(3)
        assert bed.queue_stats().sent_packets == 0
        flow.steady(rate_pps=800, seconds=1)
        wait_until_empty(bed, within_s=1)
        time.sleep(0.1)
        stats = bed.queue_stats()
        assert stats.dropped_packets > 0
        assert stats.sent_packets + stats.dropped_packets == flow.sent
        assert len(flow.arrivals) == stats.sent_packets


def test_a_batch_sent_in_one_call_is_counted_as_its_packets():
    with bed_of("pfifo:100", rate_bps=SLOW_BPS) as bed, Flow(bed) as flow:
        flow.batch(40)
        stats = bed.queue_stats()
        assert stats.backlog_packets + stats.sent_packets == 40


def served_bps(bed: HostAp, seconds: float) -> float:
    """Rate at which the bottleneck serves, frames counted as it counts them."""
    before, began = bed.queue_stats(), time.monotonic()
    time.sleep(seconds)
    after, ended = bed.queue_stats(), time.monotonic()
    return (after.sent_bytes - before.sent_bytes) * 8 / (ended - began)


def serves(bed: HostAp, rate_bps: float, rel: float, seconds: float = 1.2) -> bool:
    """Whether the bottleneck serves at a rate, in one of four windows at least.

    A busy host's timers are late, and what a late timer loses is not made up for; none adds any.
    """
    served = (served_bps(bed, seconds) for _ in range(4))
    return any(rate == pytest.approx(rate_bps, rel=rel) for rate in served)


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("rate_bps", [7_000_000, 50_000_000])
def test_the_rate_is_the_rate(shaper, rate_bps):
    load_pps = 1.4 * rate_bps / FRAME_BITS
    with loaded("pfifo:50", load_pps, seconds=8, shaper=shaper, rate_bps=rate_bps) as bed:
        time.sleep(0.4)
        assert serves(bed, rate_bps, rel=0.02, seconds=1.8)


@pytest.mark.parametrize("shaper", SHAPERS)
def test_a_change_of_rate_leaves_the_queue_alone(shaper):
    with bed_of("pfifo:100", shaper=shaper, rate_bps=SLOW_BPS) as bed, Flow(bed) as flow:
        flow.train(130)
        full = bed.queue_stats()
        for factor in (0.5, 2, 1):
            bed.change_rate(factor)
            now = bed.queue_stats()
            assert now.fifos[0].limit == 100
            assert now.dropped_packets == full.dropped_packets
            assert now.backlog_packets + now.sent_packets == 100 + full.sent_packets
        flow.train(30)
        assert bed.queue_stats().backlog_packets == 100


@pytest.mark.parametrize("shaper", SHAPERS)
def test_a_change_of_rate_changes_the_rate_at_once(shaper):
    with loaded("pfifo:50", 2000, seconds=15, shaper=shaper) as bed:
        time.sleep(0.3)
        for factor in (0.5, 2.0, 1.0):
            bed.change_rate(factor)
            assert serves(bed, factor * 7e6, rel=0.03)


@pytest.mark.parametrize("shaper", SHAPERS)
def test_the_limit_can_be_changed_and_comes_back(shaper):
    with bed_of("pfifo:100", shaper=shaper, rate_bps=SLOW_BPS) as bed, Flow(bed) as flow:
        bed.change_limit(150)
        flow.train(200)
        assert bed.queue_stats().backlog_packets == 150
        bed.change_limit(None)
        assert bed.queue_stats().fifos[0].limit == 100
        assert bed.queue_stats().backlog_packets >= 148


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("size_bytes", [1500, 750])
def test_a_stall_under_load_stops_service_for_its_length(shaper, size_bytes):
    with bed_of("pfifo:100", shaper=shaper) as bed, Flow(bed) as flow:
        with flow.in_background(1.3 * 7e6 / 8 / (size_bytes + 14), 2.5, size_bytes):
            time.sleep(0.5)
            bed.stall(1.0)
            time.sleep(0.5)
        gaps = [b.arrived_s - a.arrived_s for a, b in pairwise(flow.arrivals)]
        assert 0.95 < max(gaps) < 1.1
        assert sorted(gaps)[-2] < 0.1
        assert bed.queue_stats().fifos[0].limit == 100


@pytest.mark.parametrize("shaper", SHAPERS)
def test_a_stall_ends_even_when_no_packet_comes_to_wake_the_queue(shaper):
    with bed_of("pfifo:100", shaper=shaper) as bed, Flow(bed) as flow:
        flow.train(100)
        began = time.monotonic()
        bed.stall(1.0)
        backlog = bed.queue_stats().backlog_packets
        wait_until_empty(bed, within_s=1)
        # 100 frames take 0.17 s; the timer that wakes a tbf is 0.1 s late on purpose.
        assert time.monotonic() - began < 1.0 + 0.17 + 0.1 + 0.15
        assert backlog > 60


def test_changes_during_a_stall_apply_after_it():
    with loaded("pfifo:50", 1500, seconds=5) as bed:
        time.sleep(0.3)
        stall = threading.Thread(target=bed.stall, args=(3.0,))
        stall.start()
        time.sleep(0.5)
        bed.change_rate(0.5)
        served_before = bed.queue_stats().sent_packets
        time.sleep(0.5)
        assert bed.queue_stats().sent_packets == served_before
        stall.join()
        assert served_bps(bed, 1.2) == pytest.approx(3.5e6, rel=0.03)


def test_mpu_is_a_ceiling_of_packets_per_second():
    ceiling_pps = 7e6 / FRAME_BITS
    with bed_of("pfifo:50", mpu_bytes=1514) as bed, Flow(bed) as flow:
        with flow.in_background(2 * ceiling_pps, seconds=2, size_bytes=300):
            time.sleep(0.3)
            served_pps = served_bps(bed, 1.4) / 8 / 314
        assert served_pps == pytest.approx(ceiling_pps, rel=0.03)


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("policer", ["nft", "nft-packets"])
def test_the_policer_drops_and_never_queues(policer, ipv6):
    rate_bps = 7_000_000
    with bed_of("pfifo:100", policer=policer, ipv6=ipv6) as bed, Flow(bed) as flow:
        backlog = []
        with flow.in_background(2 * rate_bps / 8 / 1500, seconds=3.2):
            # The bucket of nft holds a second's worth, which twice the rate empties in a second.
            time.sleep(1.4)
            before, began = len(flow.arrivals), time.monotonic()
            while time.monotonic() - began < 1.5:
                backlog.append(bed.queue_stats().backlog_packets)
                time.sleep(0.02)
            passed = len(flow.arrivals) - before
            seconds = time.monotonic() - began
        # A packet can be on its way through on each CPU at the moment of reading.
        assert max(backlog) <= (os.cpu_count() or 1)
        assert passed * 1500 * 8 / seconds == pytest.approx(rate_bps, rel=0.03)
        # What passes at first is the bucket: a second's worth, or the burst.
        free = rate_bps / 8 / 1500 if policer == "nft" else 12
        expected = 3.2 * rate_bps / 8 / 1500 + free
        assert len(flow.arrivals) == pytest.approx(expected, rel=0.04)
        assert statistics.median(a.delay_s for a in flow.arrivals) < 0.005
        assert bed.truth()["capacity"] == 0


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("index", [1, 2])
def test_isolated_flows_do_not_share_the_delay(index, isolate, direction, ipv6):
    settings = {"shaper": "htb", "isolate": isolate, "direction": direction, "ipv6": ipv6}
    with bed_of("pfifo:100", **settings) as bed, Flow(bed, 0) as flood, Flow(bed, index) as sparse:
        with flood.in_background(1.5 * 7e6 / FRAME_BITS, seconds=2):
            time.sleep(0.6)
            stats = bed.queue_stats()
            sparse.steady(rate_pps=40, seconds=1)
            time.sleep(0.3)
        delay_s = statistics.median(arrival.delay_s for arrival in sparse.arrivals)
        full_s = 100 * FRAME_BITS / 7e6
        if isolate:
            assert [fifo.limit for fifo in stats.fifos] == [100, 100, 100]
            assert sorted(fifo.backlog_packets for fifo in stats.fifos)[1] <= 1
            # It waits for the frame under way and, at worst, one more turn of the flood's leaf.
            assert delay_s < 3 * FRAME_BITS / 7e6
        else:
            assert delay_s == pytest.approx(full_s, rel=0.1)


def test_disturbances_happen_on_time_and_are_undone():
    plan = (Disturbance("swing", 0.6, 0.5), Disturbance("stall", 1.0, 0.2))
    with loaded("pfifo:100", 1000, seconds=4, disturbances=plan) as bed:
        began = time.monotonic()
        with Disturber(bed, plan, limit=100) as disturber:
            time.sleep(2.1)
            stopping = time.monotonic()
        assert time.monotonic() - stopping < 0.3
        ended_s = stopping - began
        time.sleep(0.2)
        assert served_bps(bed, 1.2) == pytest.approx(7e6, rel=0.03)
    swings = [event for event in disturber.events if event.kind == "swing"]
    stalls = [event for event in disturber.events if event.kind == "stall"]
    assert [event.value for event in swings] == [0.5, 1.0, 0.5][: len(swings)]
    # The last one due may not have come yet on a busy machine.
    assert int(ended_s / 0.6) - 1 <= len(swings) <= int(ended_s / 0.6)
    assert int(ended_s / 1.0) - 1 <= len(stalls) <= int(ended_s / 1.0)
    # None comes early, none is skipped; one that falls due during a stall waits for its end.
    for number, event in enumerate(swings, start=1):
        assert 0.6 * number <= event.at_s < 0.6 * number + 0.6


def test_a_disturbance_that_fails_is_reported_when_it_is_stopped():
    class Broken:
        def change_rate(self, factor: float) -> None:
            raise RuntimeError("refused")

        def change_limit(self, limit: int | None) -> None: ...

        def stall(self, seconds: float, stop: threading.Event | None = None) -> None: ...

    disturber = Disturber(Broken(), [Disturbance("swing", 0.1, 2)], limit=1)
    disturber.start()
    time.sleep(0.3)
    with pytest.raises(RuntimeError, match="refused"):
        disturber.stop()


def test_a_policer_refuses_what_only_a_shaper_can_do():
    with bed_of("pfifo:100", policer="nft") as bed:
        for change in (lambda: bed.change_rate(2), lambda: bed.change_limit(5)):
            with pytest.raises(ConfigError, match="policer"):
                change()


def test_changes_that_make_no_sense_are_refused():
    with bed_of("pfifo:100") as bed:
        for change in (
            lambda: bed.change_rate(0),
            lambda: bed.change_rate(float("nan")),
            lambda: bed.change_limit(0),
            lambda: bed.stall(0),
        ):
            with pytest.raises(ConfigError):
                change()
