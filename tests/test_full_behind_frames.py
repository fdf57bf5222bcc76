"""A full queue in front of a radio that sends several packets in a frame, and what looks like one."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from airqueue.measure.disciplines import frames, management
from airqueue.measure.disciplines.observed import Step

RATE_PPS = 1000.0
NOTHING_LOST = (0, 100)


def through_frames(
    refuses, overload=1.2, packets=11, *, repeated=0.05, seconds=5.0, others=0.0, seed=5
):
    """A queue in front of a radio that sends ``packets`` in a frame; some frames are sent twice.

    ``refuses``: whether an arrival that finds so many packets is dropped. ``others``: probability
    that others send before each of the frames, once and again; every other frame is composed before
    they do.
    """
    rng = np.random.default_rng(seed)
    behind, before = 0, 0
    came = np.arange(0, seconds, 1 / (overload * RATE_PPS))
    lost, arrived, waiting, ends = np.zeros(len(came), dtype=bool), [], 0, 0.0
    for k, at in enumerate(came):
        while waiting and ends + before * packets / RATE_PPS <= at:
            taken = min(packets, waiting)
            waiting -= taken
            ends += packets / RATE_PPS * (before + 1 + behind + (rng.random() < repeated))
            if others:
                turns = int(rng.geometric(1 - others)) - 1
                before, behind = (turns, 0) if rng.random() < 0.5 else (0, turns)
            arrived += [ends] * taken
        ends = ends if waiting or ends > at else at
        lost[k] = refuses(waiting, rng)
        waiting += not lost[k]
    got = np.flatnonzero(~lost)[: len(arrived)]
    some = slice(0, got[-1] + 1)
    left = np.zeros(got[-1] + 1)
    left[got] = arrived[: len(got)]
    left = np.maximum.accumulate(left)
    seen = Step(came[some], left, lost[some], 0.0, arrived_s=np.array(arrived[: len(got)]))
    return dataclasses.replace(seen, late_packets=0.9 * packets)


@pytest.mark.parametrize("limit", [30, 65, 108, 500])
@pytest.mark.parametrize("overload", [1.02, 1.1, 1.35])
def test_a_full_queue_is_seen_behind_frames_of_many_packets(limit, overload):
    filling_s = limit / (overload - 1) / RATE_PPS
    step = through_frames(lambda waiting, _: waiting >= limit, overload, seconds=5 + filling_s)
    found = frames.full([step])
    assert found is not None
    # With the frame on the air or without.
    assert limit - 1 <= found.length <= limit + 12
    assert management.judge([step], NOTHING_LOST).kind == "tail_drop"


def test_what_drops_at_random_behind_frames_is_not_full():
    """With a probability that rises from 40 to 90 packets, as RED without an average."""
    step = through_frames(lambda n, rng: rng.random() < (n - 40) / 50)
    assert frames.full([step]) is None
    assert management.judge([step], NOTHING_LOST).kind != "tail_drop"


def beside_others(refuses, packets, *, seconds=8, seed=5):
    """Two steps where others use the air: in one of them the queue is full more often."""
    return [
        through_frames(refuses, overload, packets, seconds=seconds, others=0.5, seed=seed)
        for overload in (0.8, 0.9)
    ]


@pytest.mark.parametrize(("limit", "packets"), [(60, 7), (60, 11), (90, 11), (116, 28)])
@pytest.mark.parametrize("seed", range(3))
def test_a_full_queue_is_seen_where_others_use_the_air(limit, packets, seed):
    """Times from composing to arriving differ; counts of packets taken in do not."""
    taken = beside_others(lambda n, _: n >= limit, packets, seed=seed)
    assert frames.full(taken) is None
    assert frames.refilled(taken).alike > 0.99
    found = management.judge(taken, NOTHING_LOST)
    assert found.kind == "tail_drop"
    assert [evidence.name for evidence in found.evidence] == ["refilled"]


@pytest.mark.parametrize("packets", [9, 11, pytest.param(28, marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 2))])
def test_counts_of_drops_at_random_are_not_those_of_frames(packets, seed):
    """A queue that drops evenly, or at random, takes in what frames carry by chance alone."""
    for refuses in (lambda n, rng: rng.random() < (n - 40) / 50, lambda n, rng: rng.random() < 0.5):
        taken = beside_others(refuses, packets, seed=seed)
        assert frames.refilled(taken) is None
        assert management.judge(taken, NOTHING_LOST).kind != "tail_drop"


def test_few_counts_and_frames_of_few_packets_tell_nothing():
    def full(packets, seconds):
        return beside_others(lambda n, _: n >= 60, packets, seconds=seconds)

    assert frames.refilled(full(11, 5)) is not None
    # Each count is that of a frame, or next to one; of four packets three counts in four are.
    assert frames.refilled(full(3, 5)) is None
    assert frames.refilled(full(4, 5)) is not None
    assert frames.refilled(full(4, 0.4)) is None
    assert frames.refilled(full(11, 0.4)) is None


def test_one_step_alone_does_not_tell_a_full_queue_by_counts():
    """A controller may drop a packet of each frame, under one overload."""
    one, other = beside_others(lambda n, _: n >= 60, 11)
    assert frames.refilled([one, other]) is not None
    assert frames.refilled([one]) is None
    nothing_lost = dataclasses.replace(other, lost=np.zeros_like(other.lost))
    assert frames.refilled([one, nothing_lost]) is None


def test_a_frame_that_the_air_loses_is_no_drop_with_room():
    """Packets of one frame in a row: the queue had room for them."""
    first, second = beside_others(lambda n, _: n >= 60, 11)
    lost = second.lost.copy()
    # Long after the last drop the queue is short of a frame and more.
    gaps = np.diff(np.flatnonzero(lost), prepend=0)
    end = np.flatnonzero(lost)[np.argmax(gaps)]
    middle = slice(end - gaps.max() // 2, end - gaps.max() // 2 + 11)
    arrived = np.delete(second.arrived_s, np.cumsum(~lost)[middle] - 1)
    lost[middle] = True
    left = np.maximum.accumulate(np.where(lost, 0.0, second.left_s))
    hit = dataclasses.replace(second, lost=lost, left_s=left, arrived_s=arrived)
    found = management.judge([first, hit], NOTHING_LOST)
    assert found.kind == "tail_drop"
    seen = frames.refilled([first, hit])
    assert sum(int(step.lost.sum()) for step in seen.steps) == int(
        first.lost.sum() + second.lost.sum()
    )


@pytest.mark.parametrize("packets", [5, 11, 28])
def test_counts_agree_by_chance_no_more_often_than_the_bound_says(packets):
    """Chernoff's bound over many draws of counts that have nothing to do with frames."""
    rng = np.random.default_rng(8)
    boundaries = packets * np.arange(frames.IN_FLIGHT, -1, -1)[:, np.newaxis]
    for counts in (5, 10):
        bound = [
            math.exp(
                frames._chance_at(
                    60, 60 - packets + boundaries + rng.integers(packets, size=counts)
                )
            )
            for _ in range(4000)
        ]
        for level in (0.1, 0.01, 0.001):
            assert np.mean(np.array(bound) <= level) <= level + 2 * math.sqrt(level / 4000)
