"""Slow paths: what the short steps do not name, a longer one does, and what they do not fill."""

from __future__ import annotations

import numpy as np
import pytest

from airqueue.measure import naming
from airqueue.measure.api import measure
from airqueue.measure.disciplines import likelihood, steps
from airqueue.measure.disciplines.observed import Step
from airqueue.measure.records import Run
from airqueue.measure.simulated import SimulatedProber
from benches.verdicts import over_wire

RED = {"min": "12 packets", "max": "54 packets", "probability": 0.1, "weight": 1 / 32}


def measured(queue, rate_bps):
    """Return what a line with this queue is said to have, and what its steps were."""
    runs: list[Run] = []
    found = measure(SimulatedProber(over_wire(rate_bps, queue), seed=1), on_run=runs.append)
    assert found.capacity is None
    assert found.discipline is not None
    return found.discipline.name, [r.meta["says"] for r in runs if r.meta["kind"] == steps.STEP]


def test_a_red_of_which_short_steps_see_few_packets_is_named_by_a_longer_one():
    name, taken = measured({"discipline": "red", "limit": "162 packets", "red": RED}, 1e6)
    assert name == "red"
    assert taken[-1].endswith("unevenly")


def test_a_queue_for_each_flow_that_no_step_fills_is_filled_by_one_more():
    """1000 packets more than leave: at 1.5 Mb/s the largest step brings 170."""
    name, taken = measured({"discipline": "drr", "limit": "1000 packets"}, 1.5e6)
    assert name == "fifo_by_flow"
    assert f"{steps.FILLING:.2f} times" in taken[-1]


def test_no_other_step_follows_where_a_queue_was_full():
    _, taken = measured({"discipline": "drr", "limit": "60 packets"}, 5e6)
    assert f"{max(steps.OVERLOADS):.2f} times" in taken[-1]


@pytest.mark.parametrize(
    ("kind", "drops", "more"),
    [
        ("unknown", 50, True),
        ("undecided", 50, True),
        ("red", 50, False),
        ("codel", 50, False),
        # Nothing was dropped: more of the same tells nothing.
        ("undecided", 0, False),
    ],
)
def test_one_more_step_is_for_drops_that_have_no_name(monkeypatch, kind, drops, more):
    class Taken:
        def __init__(self):
            self.drops = range(drops)

    class Runner:
        def sessions(self, *kinds):
            return []

    class Judged:
        pass

    judged = Judged()
    judged.kind = kind
    monkeypatch.setattr(naming, "_hardly_acted", lambda seen, full: False)
    monkeypatch.setattr(naming, "_seen", lambda sessions: ([Taken()], None))
    monkeypatch.setattr(naming.management, "judge", lambda seen, idle: judged)
    assert naming._more_would_tell(Runner()) is more


@pytest.mark.parametrize("rate_pps", [80.0, 600.0, 25_000.0])
@pytest.mark.parametrize("ceiling", [1.02, 1.3, 10.0])
def test_a_longer_step_swings_about_its_mean_within_what_can_be_sent(rate_pps, ceiling):
    at = steps.Layout(1500, rate_pps, ceiling * rate_pps, 100.0, (), 0.5)
    plan, meta = steps.long_plan(at, 3)
    flood = [s for s in plan.segments if s.count > 1]
    start, end = meta["phases"]["hold"]
    sent = sum(s.count for s in flood)
    overload = steps.overloads(at)[1]
    assert sent == pytest.approx(overload * rate_pps * (end - start), rel=0.02)
    assert sent <= 1.01 * steps.MOST_PACKETS
    assert len(plan.segments) <= 1024
    for segment in flood:
        # Of a part a packet more or less is sent.
        assert segment.rate_pps <= ceiling * rate_pps + 1.5 / segment.duration_s
    if ceiling > 2:
        away = np.cumsum([s.count - overload * rate_pps * s.duration_s for s in flood])
        assert np.ptp(away) > steps.LEAST_SWING


def test_a_step_fills_what_is_known_and_sixty_packets_more():
    at = steps.Layout(1500, 80.0, 1e6, 1000.0, (), 0.5)
    overload, length_s = steps.filling_step(at)
    assert (overload - 1) * 80.0 * length_s == pytest.approx(1.1 * 1000 + 60)
    slow_sender = steps.Layout(1500, 80.0, 79.0, 1000.0, (), 0.5)
    overload, length_s = steps.filling_step(slow_sender)
    assert overload > 1
    assert length_s > steps.LONGEST_S


def test_shares_of_time_tell_no_single_packets_of_a_slow_path():
    """Packets lost by chance: a free parameter is worth half a nat on average (Wilks)."""
    rng = np.random.default_rng(3)
    packets, share = 2700, 0.08
    came = np.arange(packets) / 130.0
    lost = rng.random(packets) < share
    # All wait: so that the length grows with time, and both rivals know the time alone.
    step = Step(came, came + 100.0, lost, 0.0)
    law = float(np.sum(np.log(np.where(lost, share, 1 - share))))
    parameters = packets / likelihood.LEAST_IN_BIN
    gain = likelihood.best_rival(step, None) - law
    assert gain < parameters / 2 + 4 * np.sqrt(parameters / 2)
