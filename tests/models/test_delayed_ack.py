"""Delayed ACK: counts against a receiver that is stepped segment by segment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.delayed_ack import (
    DYNAMIC,
    MODEL,
    AckSchedule,
    ack_count,
    delayed_ack_file_s,
    mean_ack_count,
)
from airqueue.models.errors import ParameterError
from airqueue.models.file_sizes import mean_segments
from airqueue.models.web_session import affine_delay_s, file_delay_s, mean_file_delay_s


def receiver(segments: int, thresholds: tuple[int, ...], first: int = 1) -> tuple[int, int]:
    """(ACKs of complete batches, 1 if some segments are left to the timer)."""
    acks = waiting = 0
    for number in range(1, segments + 1):
        d = first
        for limit in thresholds:
            if number >= limit:
                d += 1
        waiting += 1
        if waiting >= d:
            acks, waiting = acks + 1, 0
    return acks, int(waiting > 0)


@given(
    st.integers(1, 400),
    st.lists(st.integers(1, 60), unique=True, max_size=6).map(sorted),
    st.integers(1, 9),
)
def test_counts_what_a_receiver_sends(segments: int, thresholds: list[int], first: int) -> None:
    count = ack_count(segments, AckSchedule(tuple(thresholds), first))
    assert (float(count.batches), float(count.by_timer)) == receiver(
        segments, tuple(thresholds), first
    )


def test_fixed_d_rounds_up() -> None:
    files = np.arange(1, 200)
    for d in (1, 2, 3, 4, 5):
        count = ack_count(files, AckSchedule(first=d))
        assert (count.acks == np.ceil(files / d)).all()
        assert (count.by_timer == (files % d != 0)).all()


def test_dynamic_scheme() -> None:
    # d = 1 for segment 1; 2 from segment 2; 3 from 5; 4 from 9.
    assert AckSchedule((2, 5, 9)).acknowledged_at(18) == [1, 3, 6, 10, 14, 18]
    files = np.arange(1, 300)
    count = ack_count(files, DYNAMIC)
    expected = np.array([receiver(int(n), (2, 5, 9)) for n in files])
    assert (count.batches == expected[:, 0]).all()
    assert (count.by_timer == expected[:, 1]).all()
    # In the long run one ACK in four segments.
    assert float(ack_count(10**12, DYNAMIC).acks) == pytest.approx(2.5e11, rel=1e-9)


def test_delay_of_a_file() -> None:
    plain = delayed_ack_file_s(ack_count([1, 30], AckSchedule()))
    assert plain == pytest.approx(file_delay_s([8000, 240_000], padded=True), rel=1e-13)
    for d in (2, 3, 5):  # all divide 30: no timer, and Eq. (15) is exact
        count = ack_count(30, AckSchedule(first=d))
        assert float(delayed_ack_file_s(count, timer_s=0.04)) == pytest.approx(
            float(affine_delay_s(240_000, d)), rel=1e-13
        )
    four = ack_count(30, AckSchedule(first=4))
    waited = delayed_ack_file_s(four, timer_s=[0, 0.04])
    assert waited[1] - waited[0] == pytest.approx(0.04)


def exponential(bits: np.ndarray) -> np.ndarray:
    return np.exp(-bits / 240_000)


def pareto(bits: np.ndarray) -> np.ndarray:
    return (80_000 / np.maximum(bits, 80_000)) ** 1.5


def test_means_over_sizes_are_sums_over_files() -> None:
    files = np.arange(1, 4000)
    weights = exponential((files - 1) * 8000.0) - exponential(files * 8000.0)
    for schedule in (DYNAMIC, AckSchedule(first=3)):
        each, mean = (
            ack_count(files, schedule),
            mean_ack_count(exponential, 240_000, 8000, schedule),
        )
        assert float(mean.batches) == pytest.approx((weights * each.batches).sum(), rel=1e-9)
        assert float(mean.by_timer) == pytest.approx((weights * each.by_timer).sum(), rel=1e-9)
    # N is geometric, so a batch of three is complete with q² (1-q)/(1-q³).
    q = float(np.exp(-8000 / 240_000))
    assert float(mean.by_timer) == pytest.approx(1 - q**2 * (1 - q) / (1 - q**3), rel=1e-9)


def test_every_segment_acknowledged_is_equation_14() -> None:
    mean = mean_ack_count(pareto, 240_000, 8000, AckSchedule())
    assert float(mean.acks) == pytest.approx(
        float(mean_segments(240_000, 8000, "pareto")), rel=1e-6
    )
    assert float(mean.by_timer) == 0
    assert float(delayed_ack_file_s(mean)) == pytest.approx(
        float(mean_file_delay_s(240_000, distribution="pareto", padded=True)), rel=1e-6
    )


def test_dynamic_scheme_lies_in_the_simulated_interval() -> None:
    """HTTP paper, section 4.3: 0.1080 s, [0.0980, 0.1180], which names no other timer than 40 ms."""
    mean = mean_ack_count(pareto, 240_000, 8000, DYNAMIC)
    assert 0.0980 <= float(delayed_ack_file_s(mean, timer_s=0.04)) <= 0.1180


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: AckSchedule((3, 2)), "thresholds"),
        (lambda: AckSchedule((0, 2)), "thresholds"),
        (lambda: AckSchedule((2, 2.5)), "thresholds"),
        (lambda: AckSchedule(((1, 2), (3, 4))), "thresholds"),
        (lambda: AckSchedule((1e9,)), "thresholds"),
        (lambda: AckSchedule(first=0), "first"),
        (lambda: ack_count(0, DYNAMIC), "segments"),
        (lambda: ack_count(1.5, DYNAMIC), "segments"),
        (lambda: delayed_ack_file_s(ack_count(3, DYNAMIC), timer_s=-1), "timer_s"),
        (lambda: delayed_ack_file_s(ack_count([3, 4], DYNAMIC), timer_s=[0, 0, 0]), "segments"),
        (lambda: delayed_ack_file_s(ack_count(3, DYNAMIC), handshake="x"), "form"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(
        segments=12, d=1, thresholds=[2, 5, 9], timer_s=0.04, handshake="corrected"
    )
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert (figures["acks"], figures["by_timer"]) == (5, 1)
    plain = MODEL.evaluate(segments=12, d=2, thresholds=None, timer_s=0.04, handshake="printed")
    assert plain["segments_per_ack"] == 2
