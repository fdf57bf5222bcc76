"""The Host AP is what it says: counted with tc and plain UDP, without the measurement's endpoints."""

from __future__ import annotations

import os
import statistics
import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import pytest

from airqueue.linux.config import ConfigError, HostApConfig, QueueSpec
from airqueue.linux.disturbance import Disturbance, Disturber
from airqueue.linux.host_ap import HostAp
from bed_traffic import (
    Flow,
    judged_when_punctual,
    packets_to_see,
    shaped_bps,
    wait_until_empty,
    waits_at_the_head,
)

pytestmark = pytest.mark.bed

SHAPERS = ("tbf", "htb")
# One full frame takes 1.5 s: while a train arrives, next to nothing is served, and what is counted
# is the queue itself.
SLOW_BPS = 8_000
FRAME_BYTES = 1514
FRAME_BITS = 8 * FRAME_BYTES


def bed_of(queue: str, **settings: object) -> HostAp:
    return HostAp(HostApConfig(queue=QueueSpec.parse(queue), **settings))


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
        wait_until_empty(bed)
        flow.wait_for(bed.queue_stats().sent_packets)
        assert [arrival.seq for arrival in flow.arrivals][-30:] == list(range(70, 100))


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("ipv6", [pytest.param(False, marks=pytest.mark.long), True])
def test_every_packet_is_accounted_for_and_nothing_strays(shaper, ipv6):
    with bed_of("pfifo:50", shaper=shaper, ipv6=ipv6) as bed, Flow(bed) as flow:
        # The host stack's own packets (listener reports, solicitations) come in the first seconds.
        time.sleep(3)
        assert bed.queue_stats().sent_packets == 0
        flow.steady(rate_pps=800, seconds=1)
        wait_until_empty(bed)
        stats = bed.queue_stats()
        flow.wait_for(stats.sent_packets)
        assert stats.dropped_packets > 0
        assert stats.sent_packets + stats.dropped_packets == flow.sent
        assert len(flow.arrivals) == stats.sent_packets


def test_a_batch_sent_in_one_call_is_counted_as_its_packets():
    with bed_of("pfifo:100", rate_bps=SLOW_BPS) as bed, Flow(bed) as flow:
        flow.batch(40)
        stats = bed.queue_stats()
        assert stats.backlog_packets + stats.sent_packets == 40


def served_bps(
    bed: HostAp, flow: Flow, rate_bps: float, rel: float, size_bytes: int = 1500
) -> float:
    """The rate at which the bottleneck serves trains that wait for it, in full frames.

    On a busy machine this goes on until the machine's timers have been punctual for long enough to
    show ``rate_bps``. What the bed serves above that shows too, and below it this gives up.
    """
    began = time.monotonic()
    burst_bytes = bed.config.bucket_bytes
    while True:
        flow.train(3 * packets_to_see(FRAME_BYTES, burst_bytes, rel), size_bytes)
        wait_until_empty(bed)
        flow.wait_for(bed.queue_stats().sent_packets)
        since = [arrival for arrival in flow.arrivals if arrival.arrived_s >= began]
        served = shaped_bps(since, FRAME_BYTES, burst_bytes, rel)
        if served >= rate_bps * (1 - rel) or time.monotonic() > began + 12:
            return served


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("rate_bps", [7_000_000, 50_000_000])
def test_the_rate_is_the_rate(shaper, rate_bps):
    with bed_of("pfifo:2000", shaper=shaper, rate_bps=rate_bps) as bed, Flow(bed) as flow:
        served = served_bps(bed, flow, rate_bps, rel=0.02)
        assert served == pytest.approx(rate_bps, rel=0.02)


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
    with bed_of("pfifo:500", shaper=shaper) as bed, Flow(bed) as flow:
        for factor in (0.5, 2.0, 1.0):
            # These wait for tokens of the old rate when the new one comes.
            flow.train(100)
            bed.change_rate(factor)
            served = served_bps(bed, flow, factor * 7e6, rel=0.03)
            assert served == pytest.approx(factor * 7e6, rel=0.03)


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
@pytest.mark.parametrize("size_bytes", [1500, pytest.param(750, marks=pytest.mark.long)])
@judged_when_punctual
def test_a_stall_under_load_stops_service_for_its_length(shaper, size_bytes):
    load_pps = 1.3 * 7e6 / 8 / (size_bytes + 14)
    with bed_of("pfifo:100", shaper=shaper) as bed, Flow(bed) as flow:
        with flow.in_background(load_pps, size_bytes):
            time.sleep(0.5)
            began = time.monotonic()
            bed.stall(1.0)
            over = time.monotonic()
            time.sleep(0.5)
        waits = waits_at_the_head(flow)
        longest = max(waits, key=lambda wait: wait.length_s)
        # A tbf's own timer ends it when the command that should has not yet come.
        assert 0.95 < longest.length_s < 1.25
        assert longest.ended_s > began + 0.95
        assert longest.ended_s < over + 0.1
        others = (wait for wait in waits if wait.ended_s < began or wait.began_s > over)
        assert max(wait.length_s for wait in others) < 0.1
        assert bed.queue_stats().fifos[0].limit == 100


@pytest.mark.parametrize("shaper", SHAPERS)
@judged_when_punctual
def test_a_stall_ends_even_when_no_packet_comes_to_wake_the_queue(shaper):
    with bed_of("pfifo:100", shaper=shaper, rate_bps=1_000_000) as bed, Flow(bed) as flow:
        flow.train(100)
        began = time.monotonic()
        bed.stall(1.0)
        over = time.monotonic()
        wait_until_empty(bed)
        flow.wait_for(100)
        came_s = [arrival.arrived_s for arrival in flow.arrivals]
        waits_s = [b - a for a, b in pairwise(came_s)]
        held = len(waits_s) - waits_s.index(max(waits_s))
        assert max(waits_s) > 0.95
        assert held > 60
        # So many frames take their time; the timer that wakes a tbf is 0.2 s late on purpose. When
        # the command that ends the stall comes later still, one packet has left, and the next waits.
        margin_s = 0.2 if over < began + 1.2 else 0.2 + 1.1
        assert came_s[-1] < over + held * FRAME_BITS / 1e6 + margin_s + 0.15


@judged_when_punctual
def test_changes_during_a_stall_apply_after_it():
    with bed_of("pfifo:500") as bed, Flow(bed) as flow:
        with flow.in_background(1500):
            time.sleep(0.3)
            stall = threading.Thread(target=bed.stall, args=(3.0,))
            stall.start()
            time.sleep(0.5)
            bed.change_rate(0.5)
            served_before = bed.queue_stats().sent_packets
            time.sleep(0.5)
            assert bed.queue_stats().sent_packets == served_before
            stall.join()
        assert served_bps(bed, flow, 3.5e6, rel=0.03) == pytest.approx(3.5e6, rel=0.03)


def test_mpu_is_a_ceiling_of_packets_per_second():
    with bed_of("pfifo:500", mpu_bytes=FRAME_BYTES) as bed, Flow(bed) as flow:
        # Each packet costs the bucket as much as a full frame does.
        served_pps = served_bps(bed, flow, 7e6, rel=0.03, size_bytes=300) / FRAME_BITS
        assert served_pps == pytest.approx(7e6 / FRAME_BITS, rel=0.03)


def conforming(sent_at_s: Sequence[float], rate_pps: float, bucket: float) -> int:
    """How many packets, sent at these times, find their worth in a bucket that is full at first."""
    passed, tokens, last = 0, bucket, sent_at_s[0]
    for now in sent_at_s:
        tokens = min(bucket, tokens + (now - last) * rate_pps)
        last = now
        if tokens >= 1:
            tokens -= 1
            passed += 1
    return passed


@pytest.mark.parametrize("ipv6", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("policer", ["nft", "nft-packets"])
def test_the_policer_drops_and_never_queues(policer, ipv6):
    rate_pps = 7_000_000 / 8 / 1500
    with bed_of("pfifo:100", policer=policer, ipv6=ipv6) as bed, Flow(bed) as flow:
        # What passes at first is the bucket: the burst, and with nft a second's worth.
        bucket = bed.config.bucket_bytes // FRAME_BYTES + (rate_pps if policer == "nft" else 0)
        backlog = []
        # More than the bucket at once, so that it is empty however slowly the rest is sent.
        flow.train(1000)
        with flow.in_background(2 * rate_pps):
            until = time.monotonic() + 3.2
            while time.monotonic() < until:
                backlog.append(bed.queue_stats().backlog_packets)
                time.sleep(0.02)
        passed = bed.queue_stats().sent_packets
        flow.wait_for(passed)
        # A packet can be on its way through on each CPU at the moment of reading.
        assert max(backlog) <= (os.cpu_count() or 1)
        # Of what was sent when it was, so much could pass.
        assert passed <= flow.sent - 100
        assert passed == pytest.approx(conforming(flow.handed_over_s, rate_pps, bucket), rel=0.03)
        assert statistics.median(a.delay_s for a in flow.arrivals) < 0.005
        assert bed.truth()["capacity"] == 0


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("index", [1, 2])
@judged_when_punctual
def test_isolated_flows_do_not_share_the_delay(index, isolate, direction, ipv6):
    settings = {"shaper": "htb", "isolate": isolate, "direction": direction, "ipv6": ipv6}
    with bed_of("pfifo:100", **settings) as bed, Flow(bed, 0) as flood, Flow(bed, index) as sparse:
        with flood.in_background(1.5 * 7e6 / FRAME_BITS):
            time.sleep(0.6)
            stats = bed.queue_stats()
            sparse.steady(rate_pps=40, seconds=1)
            time.sleep(0.3)
        # Packets instead of seconds: a machine that serves late serves all of them late.
        came_s = sorted(arrival.arrived_s for arrival in (*flood.arrivals, *sparse.arrivals))
        meanwhile = statistics.median(
            bisect_right(came_s, arrival.arrived_s) - bisect_right(came_s, arrival.sent_s)
            for arrival in sparse.arrivals
        )
        if isolate:
            assert [fifo.limit for fifo in stats.fifos] == [100, 100, 100]
            assert sorted(fifo.backlog_packets for fifo in stats.fifos)[1] <= 1
            # It waits for the frame in transmission and, at worst, one more turn of the flood's leaf.
            assert meanwhile <= 3
        else:
            assert meanwhile == pytest.approx(100, rel=0.1)


def test_disturbances_come_in_turn_and_are_undone():
    plan = (Disturbance("swing", 0.6, 0.5), Disturbance("stall", 1.0, 0.2))
    with bed_of("pfifo:500", disturbances=plan) as bed, Flow(bed) as flow:
        with flow.in_background(1000):
            disturber = Disturber(bed, plan, limit=500)
            with disturber:
                deadline = time.monotonic() + 60
                while len(disturber.events) < 5 and time.monotonic() < deadline:
                    time.sleep(0.05)
        assert served_bps(bed, flow, 7e6, rel=0.03) == pytest.approx(7e6, rel=0.03)
    swings = [event for event in disturber.events if event.kind == "swing"]
    stalls = [event for event in disturber.events if event.kind == "stall"]
    assert len(swings) >= 3
    assert [event.value for event in swings] == ([0.5, 1.0] * len(swings))[: len(swings)]
    assert len(stalls) >= 2
    # None comes early and none is skipped, however long a busy machine's commands take.
    for every_s, events in ((0.6, swings), (1.0, stalls)):
        assert all(e.at_s >= every_s * number for number, e in enumerate(events, start=1))


class Effortless:
    """Stands for a bed whose every change takes no time."""

    def change_rate(self, factor: float) -> None: ...

    def change_limit(self, limit: int | None) -> None: ...

    def stall(self, seconds: float, stop: threading.Event | None = None) -> None: ...


@judged_when_punctual
def test_disturbances_happen_on_time():
    with Disturber(Effortless(), [Disturbance("swing", 0.5, 0.5)], limit=1) as disturber:
        time.sleep(2.2)
    assert len(disturber.events) >= 3
    for number, event in enumerate(disturber.events, start=1):
        assert 0.5 * number <= event.at_s < 0.5 * number + 0.2


def test_stopping_waits_neither_for_what_is_due_nor_for_the_end_of_a_stall():
    stop = threading.Event()
    stop.set()
    with bed_of("pfifo:100") as bed:
        began = time.monotonic()
        with Disturber(bed, [Disturbance("swing", 60, 0.5)], limit=100):
            pass
        bed.stall(30, stop)
        assert time.monotonic() - began < 20


def test_a_disturbance_that_fails_is_reported_when_it_is_stopped():
    asked = threading.Event()

    class Broken(Effortless):
        def change_rate(self, factor: float) -> None:
            asked.set()
            raise RuntimeError("refused")

    disturber = Disturber(Broken(), [Disturbance("swing", 0.1, 2)], limit=1)
    disturber.start()
    assert asked.wait(60)
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
