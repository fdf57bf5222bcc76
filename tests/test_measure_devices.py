"""The whole method against devices that are not a plain queue: an answer that is right, or none."""

from __future__ import annotations

import numpy as np
import pytest

from airqueue.measure.api import measure
from airqueue.measure.records import Run
from devices import (
    CellLink,
    CoDel,
    Cross,
    Delay,
    DevicesProber,
    Hysteresis,
    Link,
    Loss,
    PacketsAndBytes,
    Pie,
    Policer,
    PowerSave,
    RandomDropInside,
)


@pytest.mark.parametrize(
    "managed",
    [
        CoDel(1000),
        CoDel(1000, rate_bps=1e6),
        Pie(500),
        pytest.param(Pie(1000, rate_bps=50e6), marks=pytest.mark.long),
        Hysteresis(20),
        pytest.param(Hysteresis(100), marks=pytest.mark.long),
        RandomDropInside(100),
    ],
    ids=lambda link: f"{type(link).__name__}-{link.capacity}-{link.rate_bps:.0f}",
)
def test_a_managed_queue_has_no_capacity(managed):
    result = measure(DevicesProber([managed]))
    assert result.verdict in ("not_flat", "undecided")
    assert result.capacity is None


def test_a_policer_with_a_deep_bucket_before_a_queue():
    result = measure(DevicesProber([Policer(bucket=200_000), Link(20, rate_bps=50e6)]))
    assert result.verdict == "policer"


@pytest.mark.parametrize("limit_bytes", [100_000, 140_000])
def test_a_limit_in_packets_and_another_in_bytes_is_neither(limit_bytes):
    """Large packets meet the limit in bytes, small ones that of 100 packets."""
    result = measure(DevicesProber([PacketsAndBytes(100, limit_bytes=limit_bytes)]))
    assert (result.verdict, result.counted_in) == ("fifo", "undecided")
    assert result.capacity is None
    held = result.estimators["counting"].by_size
    assert held["750"]["packets"] == pytest.approx(100, abs=0.5)
    assert held["1500"]["packets"] == pytest.approx(limit_bytes // 1514, abs=0.5)
    assert any("fit neither" in w for w in result.warnings)


@pytest.mark.parametrize(("cell", "cells"), [(2048, 100), (256, 600)])
def test_cells_of_memory_look_like_what_they_come_nearest(cell, cells):
    """Cells larger than a packet count packets; small ones hold nearly as many bytes as they have."""
    result = measure(DevicesProber([CellLink(cells, cell=cell)]))
    truth = cells if cell > 1514 else cells * cell
    assert result.verdict == "fifo"
    assert result.counted_in == ("packets" if cell > 1514 else "bytes")
    assert result.capacity == pytest.approx(truth, rel=0.01)


def test_half_of_the_slots_taken_by_others_is_not_one_number_of_packets():
    """Their share of the slots is larger the fewer of our packets there are in a second."""
    result = measure(DevicesProber([Cross(pps=260, poisson=False), Link(400)]))
    assert result.capacity is None


@pytest.mark.parametrize("at_s", [0.12, 0.5])
def test_a_stall_in_the_search_costs_a_second_search_and_no_more(at_s):
    """The train that meets it sees a path that is many times slower than it is."""
    result = measure(DevicesProber([Link(100, rate_bps=150e6, stalls=((at_s, 0.08),))]))
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(100, abs=1)


def test_retries_on_the_air_hold_up_single_packets():
    """Each hundredth packet takes 5 to 30 ms more."""

    def service(now: float, frame: int, rng: np.random.Generator) -> float:
        return frame * 8 / 7e6 + (rng.uniform(0.005, 0.03) if rng.random() < 0.01 else 0.0)

    for seed in range(3):
        result = measure(DevicesProber([Link(200, service=service)], seed=seed))
        assert (result.verdict, result.counted_in) == ("fifo", "packets")
        assert result.capacity == pytest.approx(200, abs=1.5)


@pytest.mark.parametrize("capacity", [20, 100, 400])
@pytest.mark.parametrize("idle_s", [0.02, 0.1])
def test_a_station_that_sleeps_when_idle(capacity, idle_s):
    """The exploring flood never sees a quiet path: the first count comes from the delay's growth."""
    result = measure(DevicesProber([PowerSave(idle_s, wake_s=0.1), Link(capacity)]))
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(capacity, abs=0.5)


@pytest.mark.parametrize("share", [0.03, 0.1])
def test_losses_in_the_air_are_not_taken_for_a_full_queue_in_the_search(share):
    """Then every session is laid out for the whole queue, not for the few packets of a first look."""
    runs: list[Run] = []
    result = measure(DevicesProber([Link(1000), Loss(share)]), on_run=runs.append)
    held = result.estimators["counting"].by_size["1500"]["packets"]
    assert held == pytest.approx(1000 * (1 - share), rel=0.02)
    assert result.capacity is None or result.ci95[0] <= 1000 <= result.ci95[1]


def test_sessions_that_only_lost_in_the_air_are_discarded():
    """The rate goes up fourfold for a while: no overload then, whatever is lost."""
    slow, fast = 7e6, 28e6

    def service(now: float, frame: int, rng: np.random.Generator) -> float:
        return frame * 8 / (fast if 8 < now < 14 else slow)

    result = measure(DevicesProber([Link(60, service=service), Loss(0.015)]))
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(60, abs=2)
    assert set(result.discard_reasons) <= {"not_saturated"}


@pytest.mark.parametrize("capacity", [20, 100])
def test_a_few_packets_out_of_order(capacity):
    late = Delay(lambda rng: 0.005 if rng.random() < 0.02 else 0.0, reorders=True)
    result = measure(DevicesProber([Link(capacity), late]))
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(capacity, abs=0.5)


@pytest.mark.parametrize(
    ("capacity", "rate_bps"),
    [(3, 0.2e6), (100, 0.2e6), (4000, 20e6), pytest.param(1000, 500e6, marks=pytest.mark.long)],
)
def test_slow_and_fast_behind_a_satellite(capacity, rate_bps):
    link = Link(capacity, rate_bps=rate_bps)
    result = measure(DevicesProber([link], base_delay_s=0.3, skew_ppm=-200))
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(capacity, abs=0.5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_jitter_above_the_queue_is_never_a_confident_number(seed):
    """3 ms of it are up to 12 packet times of a queue of 20: the counts mean nothing."""
    stages = [Link(20, rate_bps=54e6), Delay(lambda rng: rng.exponential(0.003))]
    assert measure(DevicesProber(stages, seed=seed)).capacity is None


@pytest.mark.parametrize(("rate_bps", "period_s"), [(3.2e6, 1.75), (6e6, 1.5)])
def test_a_slow_path_whose_rate_changes_is_not_taken_for_a_clock_step(rate_bps, period_s):
    """A packet takes 4 or 9 ms through the empty path, 2 or 6: no clock was set."""

    def service(now: float, frame: int, rng: np.random.Generator) -> float:
        return frame * 8 / rate_bps * (2.5 if int(now / period_s) % 2 else 1.0)

    result = measure(DevicesProber([Link(30, service=service)]))
    assert (result.verdict, result.counted_in) == ("fifo", "packets")
    assert result.capacity == pytest.approx(30, abs=1)
    assert "clock_step" not in result.discard_reasons


@pytest.mark.parametrize("share", [pytest.param(0.01, marks=pytest.mark.long), 0.02])
def test_a_radio_with_uneven_service_and_loss_has_a_capacity(share):
    """Service times as uneven as an exponential's, and what the air loses is missing at random."""

    def service(now: float, frame: int, rng: np.random.Generator) -> float:
        return rng.exponential(frame * 8 / 40e6)

    for seed in range(3):
        stages = [Link(110, service=service), Loss(share)]
        result = measure(DevicesProber(stages, seed=seed))
        assert (result.verdict, result.counted_in) == ("fifo", "packets")
        assert result.ci95[0] - 1 <= 110 <= result.ci95[1] + 1
