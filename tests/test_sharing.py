"""How two floods at once tell whether flows share a queue."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from airqueue.measure.disciplines import sharing
from airqueue.measure.disciplines.sharing import Flood, Floods


def floods(larger_s, smaller_s, lost=(200, 60), packets=1000, frame=1.0):
    at = np.linspace(0, 1, 50)
    both = zip((larger_s, smaller_s), lost, strict=True)
    return Floods(*(Flood(at, wait + 0 * at, n, packets) for wait, n in both), 1e-3, frame)


def behind_frames(larger_s, smaller_s, lost, packets=500):
    """Floods that leave in frames of 25 packets."""
    return floods(larger_s, smaller_s, lost, packets, 25.0)


@pytest.mark.parametrize(
    ("seen", "sparse_passes", "said"),
    [
        (floods(0.1, 0.1), False, "one_queue"),
        (floods(0.1, 0.1), True, "sparse_first"),
        (floods(0.1, 0.001), True, "by_flow"),
        (floods(0.1, 0.065), False, "undecided"),
        # A short queue: where one waits less its losses tell, as far as their numbers do.
        (floods(3e-3, 3e-3, (200, 20)), False, "one_queue"),
        (floods(1e-3, 0.5e-3, (200, 0)), True, "by_flow"),
        (floods(1e-3, 0.5e-3, (200, 150)), False, "one_queue"),
        (floods(1e-3, 0.5e-3, (9000, 6000), 30_000), False, "undecided"),
        (floods(1e-3, 0.5e-3, (2, 0)), False, "undecided"),
        # The smaller flood's packets are few: chance may spare half of them.
        (floods(1e-3, 1e-3, (30, 14), 75), False, "undecided"),
        (floods(1e-3, 1e-3, (30, 1), 75), False, "by_flow"),
        # A driver's FIFO behind the queues: both wait, one loses.
        (floods(0.1, 0.065, (400, 0)), True, "by_flow"),
        # Both wait in that FIFO, for frames, and the air loses packets of both.
        (behind_frames(0.18, 0.13, (196, 30)), False, "by_flow"),
        (behind_frames(0.18, 0.13, (196, 30)), True, "by_flow"),
        # One queue that tells flows apart for drops alone; losses alike, or as chance may give them.
        (behind_frames(0.18, 0.178, (196, 30)), False, "one_queue"),
        (behind_frames(0.18, 0.13, (196, 190)), False, "undecided"),
        (behind_frames(0.18, 0.13, (60, 3), 1000), False, "by_flow"),
        (behind_frames(0.18, 0.13, (60, 20), 1000), False, "undecided"),
        # Losses alike, and waits that one queue does not give.
        (floods(4e-3, 1e-3, (200, 190)), True, "undecided"),
        # In one queue nobody waits longer, and waits agree to a packet or two.
        (floods(0.1, 0.18), True, "undecided"),
        (floods(0.1, 0.09), True, "undecided"),
        (floods(0.01, 0.009), True, "sparse_first"),
        # The path carried both, in frames of many packets.
        (floods(3e-3, 3e-3, (0, 0)), True, "undecided"),
        (
            dataclasses.replace(floods(0.05, 0.05, (200, 180)), frame_packets=30.0),
            False,
            "one_queue",
        ),
        (dataclasses.replace(floods(0.05, 0.05, (9, 9)), frame_packets=30.0), True, "undecided"),
        # So few frames wait in a driver's ring, behind whatever queues.
        (dataclasses.replace(floods(0.08, 0.08), frame_packets=10.0), True, "undecided"),
        (dataclasses.replace(floods(0.08, 0.08), frame_packets=10.0), False, "one_queue"),
        (dataclasses.replace(floods(0.12, 0.12), frame_packets=10.0), True, "sparse_first"),
        # The path carried both: nothing waited, whatever the ratio of these waits.
        (floods(-5e-3, -5e-3, (0, 0)), True, "undecided"),
    ],
)
def test_the_smaller_flood_tells_how_flows_share(seen, sparse_passes, said):
    assert sharing.judge(seen, sparse_passes=sparse_passes) == said


def test_waits_are_compared_at_one_time():
    """In a queue that swings the two medians differ, where losses differ in time."""
    at = np.linspace(0, 1, 400)
    swings = 0.05 * (1 + np.sin(20 * at))
    smaller = at > 0.5
    seen = Floods(Flood(at, swings, 0, 400), Flood(at[smaller], swings[smaller], 0, 400), 1e-3)
    assert seen.ratio == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("lost", "apart"),
    [((250, 100), True), ((250, 240), False), ((30, 14), False), ((30, 2), True), ((49, 0), False)],
)
def test_a_full_queue_loses_equal_shares_of_both_floods(lost, apart):
    # As long as packets of both wait alike, their waits do not tell: in a driver's FIFO, for frames.
    seen = behind_frames(0.06, 0.058, lost, 1000 if lost[0] > 30 else 75)
    assert sharing.drops_apart(seen) == apart
