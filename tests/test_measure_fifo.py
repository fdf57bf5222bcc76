"""The whole method against an independent packet-by-packet queue."""

from __future__ import annotations

import pytest

from airqueue.measure.api import measure
from fifo import Fifo


class FifoProber:
    direction = "down"

    def __init__(self, fifo: Fifo) -> None:
        self.fifo, self.now = fifo, 0.0

    def max_rate_pps(self, size: int) -> float:
        return 1e9 / (8 * size)

    def run(self, plan, meta, on_progress=None):
        self.now += plan.end_s
        return self.fifo.run(plan, meta)

    def elapsed_s(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("shaper", [False, True])
@pytest.mark.parametrize("capacity", [5, 30, 100, 1000])
def test_packet_queue(capacity, shaper):
    result = measure(FifoProber(Fifo(capacity, shaper=shaper, skew_ppm=50)))
    assert (result.verdict, result.counted_in, result.drop_from) == ("fifo", "packets", "tail")
    assert result.capacity == pytest.approx(capacity, abs=0.2)
    assert result.ci95[0] <= capacity <= result.ci95[1]
    assert result.in_service_packets == (0 if shaper else 1)


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
