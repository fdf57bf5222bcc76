"""Which steps are taken to name a discipline, at what overloads, and after which rests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from airqueue.measure import naming, search
from airqueue.measure.disciplines import steps


def test_the_longer_rest_comes_before_overloads_that_may_fill_the_queue(monkeypatch):
    """CAKE drops at random after an overflow: the law is asked for after each step."""
    taken = []
    in_doubt = SimpleNamespace(
        begin="unrested",
        step=SimpleNamespace(offered_pps=1100.0),
        law=SimpleNamespace(interval_s=0.1),
    )
    monkeypatch.setattr(
        naming, "_run", lambda runner, plan, meta, left_s: taken.append(meta) or True
    )
    monkeypatch.setattr(naming, "last_law", lambda sessions: in_doubt)
    monkeypatch.setattr(naming, "any_law", lambda sessions: SimpleNamespace(begin="cobalt"))
    monkeypatch.setattr(naming, "_rate_shown_pps", lambda session, overload: None)

    class Nothing:
        def sessions(self, kind):
            return [OfDrops()]

    class OfDrops:
        drops = range(900)

        def offered_pps(self, phase):
            return 3000.0

        def rate_pps(self, phase):
            return 1000.0

    def rests():
        return [meta["phases"]["hold"][0] for meta in taken if meta["kind"] == steps.STEP]

    at = steps.Layout(1500, 1000.0, 1e6, 200.0, (), 0.5)
    assert naming.take_steps(Nothing(), at)
    longer = steps.rest_s(0.1, 900)
    told = [steps.REST_S, longer, steps.REST_S, steps.REST_S]
    assert rests() == pytest.approx(told, rel=1e-3)
    assert len({meta["index"] for meta in taken if meta["kind"] == steps.STEP}) == len(told)
    # Where none of the steps tells which CoDel this is, the last one has the largest overload.
    taken.clear()
    monkeypatch.setattr(naming, "any_law", lambda sessions: in_doubt)
    assert naming.take_steps(Nothing(), at)
    assert rests() == pytest.approx([*told, longer], rel=1e-3)
    assert f"{steps.overloads(at)[-1]:.2f} times the rate" in taken[-1]["says"]


def test_a_longer_rest_is_16_intervals_and_as_long_as_cobalt_counts_down():
    assert steps.rest_s(0.1, 0) > max(steps.LENGTHS_S)
    assert steps.rest_s(0.5, 20) > 16 * 0.5
    assert steps.rest_s(5.0, 20) == steps.LONGEST_REST_S
    # COBALT counts down by one after I / sqrt(count), from 1600 drops, and rests for another I.
    counts_down = 0.1 * (1 + sum(count**-0.5 for count in range(1, 1601)))
    assert counts_down < steps.rest_s(0.1, 1600) < steps.LONGEST_REST_S
    at = steps.Layout(1500, 1000.0, 1e6, 200.0, (), 0.5)
    _, meta = steps.step_plan(at, 1.1, 5.0, 3, rest=8.0)
    assert meta["phases"]["hold"][0] == 8.0


def test_steps_do_not_exceed_what_the_sender_can_send():
    at = steps.Layout(1500, 1000.0, 1050.0, 200.0, (), 0.5)
    assert max(steps.overloads(at)) <= 1.05
    plan, meta = steps.step_plan(at, 1.03, 5.0, 0)
    assert max(s.rate_pps for s in plan.segments if s.count > 1) <= 1050
    assert meta["phases"]["hold"][0] >= steps.REST_S
    two, _ = steps.two_floods_plan(at)
    rates = [s for s in two.segments if s.count > 1]
    starts = {s.start_s for s in rates}
    for start in starts:
        assert sum(s.rate_pps for s in rates if s.start_s == start) <= 1050 * (1 + 1e-3)


def test_the_rate_of_a_path_is_a_floods_without_the_tokens_that_were_saved(monkeypatch):
    """A shaper passes its burst at once, then 480 packets/s; the bucket need not be known."""
    monkeypatch.setattr(search.bucket, "saved", lambda session: None)
    burst = np.arange(20, dtype=np.int64)
    rest = 20 + np.cumsum(np.full(200, round(1e9 / 480), dtype=np.int64))
    arrived = np.append(np.concatenate([burst, rest]), -1)
    received = arrived >= 0
    run = SimpleNamespace(received_ns=arrived, received=received)
    session = SimpleNamespace(run=run, flood=np.ones(len(arrived), dtype=bool))
    assert search.carried_pps(session) == pytest.approx(480, rel=1e-6)
    few = SimpleNamespace(run=run, flood=np.arange(len(arrived)) < 5)
    assert search.carried_pps(few) == 0.0


def test_the_first_step_does_not_fill_a_short_queue():
    at = steps.Layout(1500, 10_000.0, 1e6, 800.0, (), 0.5)
    first = steps.overloads(at)[0]
    assert (first - 1) * 10_000 * steps.LENGTHS_S[0] <= 800


class Steps:
    """A runner whose steps all show one rate of the path."""

    def __init__(self, carries_pps, floods_pps=1e6):
        self.carries_pps, self.floods_pps, self.taken = carries_pps, floods_pps, []

    def sessions(self, *kinds):
        return [self]

    def offered_pps(self, phase):
        return self.floods_pps

    def rate_pps(self, phase):
        return self.carries_pps


def test_a_step_by_a_wrong_rate_is_taken_again_by_the_rate_that_it_showed(monkeypatch):
    taken = []

    def run(runner, plan, meta, left_s):
        taken.append((meta["kind"], max(s.rate_pps for s in plan.segments if s.count > 1)))
        return True

    monkeypatch.setattr(naming, "_run", run)
    monkeypatch.setattr(naming, "last_law", lambda sessions: None)
    monkeypatch.setattr(naming, "any_law", lambda sessions: None)
    monkeypatch.setattr(naming, "_more_would_tell", lambda runner: False)
    at = steps.Layout(1500, 1000.0, 1e6, 200.0, (), 0.5)

    # The path carries 600 packets/s for seconds, whatever a train saw.
    def shown(step, overload):
        return None if taken[-1][1] < 1.1 * overload * 600 else 600.0

    monkeypatch.setattr(naming, "_rate_shown_pps", shown)
    assert naming.take_steps(Steps(600.0), at)
    offered = [rate for kind, rate in taken if kind == steps.STEP]
    first, middle, large = steps.overloads(at)
    assert offered == pytest.approx(
        [1000 * first, 600 * first, 600 * middle, 600 * large], rel=0.01
    )


def two_floods_taken(monkeypatch, carries_pps):
    """Rates of both floods, run by run, where a train saw 300 packets/s."""
    taken, runner = [], Steps(carries_pps)

    def run(_, plan, meta, left_s):
        start, end = meta["phases"]["uneven"]
        packets = sum(s.count for s in plan.segments if s.count > 1 and start <= s.start_s < end)
        runner.floods_pps = packets / (end - start)
        runner.carries_pps = min(carries_pps, runner.floods_pps)
        taken.append(runner.floods_pps)
        return True

    monkeypatch.setattr(naming, "_run", run)
    assert naming._take_two_floods(runner, steps.Layout(1500, 300.0, 1e6, 200.0, (), 0.5))
    return taken


def test_floods_that_the_path_carries_are_taken_again_by_more(monkeypatch):
    both = sum(steps.UNEVEN)
    assert two_floods_taken(monkeypatch, 300.0) == pytest.approx([300 * both], rel=0.02)
    again = two_floods_taken(monkeypatch, 500.0)
    assert again == pytest.approx(
        [300 * both, naming.MORE * both * min(500.0, 300 * both)], rel=0.02
    )
    # A path of any rate is given up some day.
    assert len(two_floods_taken(monkeypatch, 1e5)) == 1 + naming.FLOODS_AGAIN
