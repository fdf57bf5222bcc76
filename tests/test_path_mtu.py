"""Paths that carry smaller packets than those wanted, against an independent queue."""

import dataclasses

import numpy as np
import pytest

from airqueue.measure.api import analyze, measure
from airqueue.measure.known import SizeState
from airqueue.measure.path_mtu import KIND, between, replaced
from airqueue.measure.plan import RATE_WINDOW_S
from airqueue.measure.quick import session_plan
from airqueue.measure.records import MISSING, Run
from fifo import Fifo, FifoProber


class Narrow(FifoProber):
    """A path that loses larger packets, silently or (``refused``) at the sending host."""

    def __init__(self, fifo: Fifo, mtu: int, *, refused: bool = False) -> None:
        super().__init__(fifo)
        self.mtu, self.refused = mtu, refused

    def run(self, plan, meta, on_progress=None):
        small = dataclasses.replace(
            plan, segments=tuple(s for s in plan.segments if s.size_bytes <= self.mtu)
        )
        if small == plan:
            return super().run(plan, meta, on_progress)
        assert meta["kind"] == KIND, "only the search sends what does not fit"
        return self._with_lost(super().run(small, meta, on_progress), plan)

    def _with_lost(self, run: Run, plan) -> Run:
        lost = [
            (round((s.start_s + k * s.duration_s / s.count) * 1e9), s.flow, s.size_bytes)
            for s in plan.segments
            for k in range(s.count)
            if s.size_bytes > self.mtu
        ]
        at = np.array([row[0] for row in lost])
        gone = np.full(len(lost), MISSING)
        columns = {
            "scheduled_ns": at,
            "sent_ns": gone if self.refused else at,
            "kernel_tx_ns": gone,
            "received_ns": gone,
            "flow": np.array([row[1] for row in lost], dtype=np.uint8),
            "size_bytes": np.array([row[2] for row in lost], dtype=np.uint16),
        }
        order = np.argsort(np.concatenate((run.scheduled_ns, at)), kind="stable")
        both = {n: np.concatenate((getattr(run, n), c))[order] for n, c in columns.items()}
        blocked = len(lost) if self.refused else 0
        host = dataclasses.replace(run.host, send_blocked=blocked)
        return dataclasses.replace(run, **both, host=host)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("mtu", [1499, 1492, 1400, 1280, 1000])
def test_a_narrow_path_is_measured_with_packets_that_fit(mtu, refused):
    runs: list[Run] = []
    result = measure(Narrow(Fifo(100), mtu, refused=refused), on_run=runs.append)
    assert result.path_mtu is not None
    assert (result.path_mtu.bytes, result.path_mtu.at_least) == (mtu, False)
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(100, abs=0.6)
    sizes = {s.size_bytes for s in result.sessions}
    assert max(sizes) == mtu
    assert result.counted_in == "packets"
    assert any(f"at most {mtu} bytes" in w for w in result.warnings)
    assert result.hosts["send_blocked"] == 0, "the search is not the host's fault"
    # The records alone say it, too.
    assert analyze(runs, {}).path_mtu == result.path_mtu


@pytest.mark.parametrize("sizes", [(9000,), (9000, 1500), (4000, 2000)])
def test_what_the_senders_kernel_refuses_is_searched_to_the_byte(sizes):
    path = Narrow(Fifo(100), 1500, refused=True)
    result = measure(path, sizes=sizes)
    assert (result.path_mtu.bytes, result.path_mtu.at_least) == (1500, False)
    assert max(s.size_bytes for s in result.sessions) == 1500


def test_a_search_that_is_cut_short_knows_a_least_size():
    runs: list[Run] = []
    measure(Narrow(Fifo(100), 1400), on_run=runs.append)
    first = next(r for r in runs if r.meta["kind"] == KIND)
    found = analyze([first], {})
    assert (found.path_mtu.bytes, found.path_mtu.at_least) == (750, True)
    assert any("of 750 bytes at least" in each for each in found.warnings)


def test_a_path_that_carries_what_is_wanted_is_asked_once():
    runs: list[Run] = []
    result = measure(FifoProber(Fifo(100)), on_run=runs.append)
    assert sum(r.meta["kind"] == KIND for r in runs) == 1
    assert result.path_mtu is not None
    assert (result.path_mtu.bytes, result.path_mtu.at_least) == (1500, True)
    assert not any("at most" in w for w in result.warnings)


def test_an_older_capture_is_gone_on_with():
    runs: list[Run] = []
    measure(FifoProber(Fifo(100)), on_run=runs.append)
    older = [r for r in runs if r.meta["kind"] != KIND]
    more: list[Run] = []
    measure(FifoProber(Fifo(100)), on_run=more.append, previous=older)
    assert not more


def test_a_search_narrows_to_one_byte():
    for mtu in (577, 999, 1234, 1499):
        low, high, runs = 576, 1500, 0
        while tried := between(low, high):
            assert low < min(tried) <= max(tried) < high
            low = max([low, *(s for s in tried if s <= mtu)])
            high = min([high, *(s for s in tried if s > mtu)])
            runs += 1
        assert low == mtu
        assert runs <= 3


@pytest.mark.parametrize(
    ("wanted", "mtu", "used"),
    [
        ((1500, 750), 1492, (1492, 750)),
        ((1500, 750), 1000, (1000, 500)),
        ((1500,), 1280, (1280,)),
        ((9000, 1500), 1500, (1500, 250)),
    ],
)
def test_sizes_that_take_the_place_of_those_wanted(wanted, mtu, used):
    assert replaced(wanted, mtu) == used


def peak_bps(plan) -> float:
    """Highest rate as a server judges it: sums over overlapping segments of at least 100 ms."""
    spans = [
        (s.start_s, s.start_s + max(s.duration_s, 0.1), s.count * s.size_bytes * 8)
        for s in plan.segments
    ]
    return max(
        sum(bits / (end - start) for start, end, bits in spans if start <= at < end)
        for at, _, _ in spans
    )


@pytest.mark.parametrize("held", [8, 100, 1000, 3000, 20_000])
@pytest.mark.parametrize("rate_bps", [5e6, 50e6, 250e6, 330e6, 800e6])
def test_plans_of_sessions_keep_the_servers_limit(held, rate_bps):
    limit_bps = 1e9
    states = []
    for size in (1500, 750):
        rate = rate_bps / (8 * size)
        # The ceiling of `find_rate`: 97 % of the limit, less the probes.
        ceiling = 0.97 * limit_bps / (8 * size) - 16 / max(0.15, 40 / rate)
        states.append(SizeState(size, rate, ceiling, held * 1500 / size))
    for state in states:
        plan, meta = session_plan(state, states)
        assert peak_bps(plan) <= limit_bps
        start, end = meta["phases"]["fill"]
        assert end - start >= RATE_WINDOW_S * (1 - 1e-9)
