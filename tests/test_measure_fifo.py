"""The whole method against an independent packet-by-packet queue (`fifo.py`)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from airqueue.measure.api import analyze, measure
from airqueue.measure.records import Run
from airqueue.measure.schema import check
from fifo import Fifo, FifoProber


@pytest.mark.parametrize("shaper", [False, True])
@pytest.mark.parametrize("capacity", [5, 30, 100, 1000])
def test_packet_queue(capacity, shaper):
    result = measure(FifoProber(Fifo(capacity, shaper=shaper, skew_ppm=50)))
    assert (result.verdict, result.counted_in, result.drop_from) == ("fifo", "packets", "tail")
    assert result.capacity == pytest.approx(capacity, abs=0.2)
    assert result.ci95[0] <= capacity <= result.ci95[1]
    assert result.in_service_packets == (0 if shaper else 1)


@pytest.mark.parametrize("rate_bps", [0.5e6, 2e6, 54e6, 300e6])
def test_any_rate(rate_bps):
    result = measure(FifoProber(Fifo(120, rate_bps=rate_bps)))
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(120, abs=0.2)


@pytest.mark.parametrize("limit_bps", [10e6, 14e6])
def test_no_plan_passes_the_limits_of_the_server(limit_bps):
    class Limited(FifoProber):
        def max_rate_pps(self, size: int) -> float:
            return limit_bps / (8 * size)

        def run(self, plan, meta, on_progress=None):
            edges = sorted({s.start_s for s in plan.segments})
            peaks = [
                sum(
                    s.count * s.size_bytes * 8 / max(s.duration_s, 0.1)
                    for s in plan.segments
                    if s.start_s <= at < s.start_s + max(s.duration_s, 0.1)
                )
                for at in edges
            ]
            assert max(peaks) <= limit_bps
            return super().run(plan, meta, on_progress)

    result = measure(Limited(Fifo(100)))
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(100, abs=0.2)


@pytest.mark.parametrize("capacity", [30_000, 150_000, 1_000_000])
def test_byte_queue(capacity):
    result = measure(FifoProber(Fifo(capacity, in_bytes=True)))
    assert (result.verdict, result.counted_in) == ("fifo", "bytes")
    assert abs(result.capacity - capacity) <= max(764, 0.01 * capacity)
    assert result.ci95[0] <= capacity <= result.ci95[1]


@pytest.mark.parametrize("capacity", [40, 300])
def test_queue_that_drops_at_its_head(capacity):
    result = measure(FifoProber(Fifo(capacity, drop_head=True)))
    assert (result.verdict, result.counted_in, result.drop_from) == ("fifo", "packets", "head")
    assert result.capacity == pytest.approx(capacity, abs=1)


@pytest.mark.parametrize("capacity", [1, 2])
def test_two_packets_are_a_policer(capacity):
    result = measure(FifoProber(Fifo(capacity, shaper=True)))
    assert result.verdict == "policer"
    assert result.capacity is None


def test_a_path_faster_than_the_endpoints_is_not_saturable():
    result = measure(FifoProber(Fifo(100, rate_bps=10e9)))
    assert result.verdict == "not_saturable"
    assert result.capacity is None


@pytest.mark.parametrize("capacity", [50, 250])
@pytest.mark.parametrize("ppm", [-100, 100])
def test_skew_moves_nothing_by_a_fifth_of_a_packet(capacity, ppm):
    straight, skewed = (
        measure(FifoProber(Fifo(capacity, skew_ppm=skew))).to_json() for skew in (0, ppm)
    )
    for name in ("corrected", "counting", "fill_drain"):
        for size in ("1500", "750"):
            before = straight["estimators"][name]["by_size"][size]["packets"]
            after = skewed["estimators"][name]["by_size"][size]["packets"]
            assert after == pytest.approx(before, abs=0.2)
    low, high = skewed["hosts"]["clock_skew_ppm"]["ci95"]
    assert low - 1 <= ppm <= high + 1


def stepped(run: Run, at_s: float, by_s: float) -> Run:
    """The run as a receiver would have recorded it whose clock was stepped on the way."""
    received = run.received_ns.copy()
    late = run.received & (run.received_ns >= run.received_ns[run.received].min() + at_s * 1e9)
    received[late] += round(by_s * 1e9)
    return Run(
        run.scheduled_ns,
        run.sent_ns,
        run.kernel_tx_ns,
        received,
        run.flow,
        run.size_bytes,
        run.host,
        run.end,
        run.meta,
    )


@pytest.mark.parametrize("by_s", [-1.5, -0.01, 0.004, 2.0])
def test_a_clock_step_in_recorded_data_is_found(by_s):
    runs: list[Run] = []
    measure(FifoProber(Fifo(100)), on_run=runs.append)
    sessions = [i for i, r in enumerate(runs) if r.meta["kind"] == "session"]
    runs[sessions[0]] = stepped(runs[sessions[0]], 0.9, by_s)
    result = analyze(runs, {})
    assert result.discard_reasons == {"clock_step": 1}
    assert result.hosts["clock_steps"] == 1
    assert result.capacity == pytest.approx(100, abs=0.2)
    assert any("stepped" in w for w in result.warnings)


def test_rate_changes_in_every_session_do_not_move_the_count():
    class Swinging(FifoProber):
        def run(self, plan, meta, on_progress=None):
            factor = (0.5, 2.0)[int(meta["index"]) % 2]
            middle = (0.45 * plan.end_s, factor)
            self.fifo.rate_at = (middle,) if meta["kind"] == "session" else ()
            return super().run(plan, meta, on_progress)

    result = measure(Swinging(Fifo(100)))
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(100, abs=2)


def test_random_loss_in_the_air_is_not_taken_for_a_full_queue():
    class Lossy(FifoProber):
        def run(self, plan, meta, on_progress=None):
            run = super().run(plan, meta, on_progress)
            lost = np.random.default_rng(int(meta["index"])).random(len(run)) < 0.01
            run.received_ns[lost] = np.iinfo(np.int64).min
            return run

    result = measure(Lossy(Fifo(200)))
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(200, rel=0.02)


@pytest.mark.parametrize(
    "fifo",
    [Fifo(100), Fifo(1, shaper=True), Fifo(90_000, in_bytes=True), Fifo(9, rate_bps=1e10)],
)
def test_every_answer_fits_the_schema(fifo):
    check(measure(FifoProber(fifo)).to_json())


def test_analysis_of_the_stored_runs_is_the_measurement():
    runs: list[Run] = []
    first = measure(FifoProber(Fifo(75)), on_run=runs.append)
    header = {"profile": "quick", "created": first.created, "elapsed_s": first.elapsed_s}
    assert analyze(runs, header).to_json() == first.to_json()


def test_an_interrupted_measurement_goes_on_where_it_stopped():
    runs: list[Run] = []
    whole = measure(FifoProber(Fifo(75)), on_run=runs.append)
    prober, rest = FifoProber(Fifo(75)), []
    resumed = measure(prober, previous=runs[:4], on_run=rest.append)
    assert len(rest) == len(runs) - 4
    assert resumed.capacity == whole.capacity
    assert len(resumed.sessions) == len(whole.sessions)


def test_a_session_that_was_not_alone_at_the_server_is_discarded_and_its_reason_told():
    runs: list[Run] = []
    measure(FifoProber(Fifo(100)), on_run=runs.append)
    first = next(i for i, r in enumerate(runs) if r.meta["kind"] == "session")
    host = dataclasses.replace(runs[first].host, shared=True)
    runs[first] = dataclasses.replace(runs[first], host=host)
    result = analyze(runs, {})
    assert result.discard_reasons == {"shared": 1}
    because = [s.discarded_because for s in result.sessions if not s.accepted]
    assert because == ["the server carried packets of other clients' measurements meanwhile"]
    assert result.capacity == pytest.approx(100, abs=0.2)
