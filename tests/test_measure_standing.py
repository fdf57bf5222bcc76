"""Queues that look full and flat for a second: only one that stands for seconds gives them away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from airqueue.measure.analysis import analyze
from airqueue.measure.api import measure
from airqueue.measure.records import Run
from airqueue.measure.result import Measurement
from airqueue.measure.session import Session
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.standing import (
    BELOW,
    KIND,
    Layout,
    Standing,
    chance,
    observe_filling,
    standing_plan,
    total,
)
from airqueue.measure.verdicts import with_room
from benches import verdicts
from devices import CoDel, Cross, DevicesProber, Link, Loss, Pie


def said(result: Measurement) -> str:
    return " ".join(e.says for e in result.evidence if e.name == "lost_with_room")


@pytest.mark.parametrize(
    "managed",
    [
        CoDel(50),
        CoDel(400, rate_bps=30e6),
        CoDel(200, target=0.05, interval=0.5),
        CoDel(700, target=0.3, interval=1.0),
        Pie(60),
    ],
    ids=lambda link: f"{type(link).__name__}-{link.capacity}-{getattr(link, 'interval', '')}",
)
def test_a_managed_queue_at_its_limit_is_no_fifo(managed):
    """In the sessions each of them refuses packets at one filling, as a FIFO does."""
    result = measure(DevicesProber([managed]))
    assert result.verdict in ("not_flat", "undecided")
    assert result.capacity is None


@pytest.mark.parametrize(
    ("uploaders", "rate", "limit", "times", "seed"),
    [
        (2, "HT-MCS7", 568, {"target": "9 ms", "interval": "129 ms"}, 82),
        pytest.param(
            *(3, "HT-MCS3", 487, {"target": "59 ms", "interval": "413 ms"}, 122),
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_codel_that_drops_as_little_as_the_air_loses_is_no_fifo(
    uploaders, rate, limit, times, seed
):
    """Beside uploads one packet of 150 is lost by the air, and CoDel drops no more for seconds."""
    queue = {"discipline": "codel", "limit": f"{limit} packets", "codel": times}
    path = verdicts.beside_uploads(queue, uploaders, rate)
    result = measure(SimulatedProber(path, seed=seed))
    assert result.capacity is None
    assert result.discipline.name in ("codel", "managed", "undecided", None)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_steady_packets_of_others_in_the_queue_leave_no_number(share):
    pps = share * 7e6 / 8 / 1014
    result = measure(DevicesProber([Cross(pps=pps, poisson=False), Link(100)]))
    assert result.capacity is None


@pytest.mark.parametrize("capacity", [10, 50, 400])
def test_a_fifo_loses_nothing_while_it_has_room(capacity):
    runs: list[Run] = []
    result = measure(DevicesProber([Link(capacity)]), on_run=runs.append)
    assert result.verdict == "fifo"
    assert result.capacity == pytest.approx(capacity, abs=0.5)
    assert sum(run.meta["kind"] == KIND for run in runs) == 1
    assert ", 0 of " in said(result)


def test_a_short_queue_before_a_fast_link_is_measured_within_what_endpoints_agree_to():
    found = measure(SimulatedProber({"queue": "pfifo:12", "rate_bps": 300e6}, seed=1))
    assert (found.verdict, found.capacity) == ("fifo", pytest.approx(12, abs=1))
    for rate_pps in (1e3, 1e4, 1e5):
        layout = Layout(1500, rate_pps, 4 * rate_pps, 8.0)
        assert len(standing_plan(layout, (), 0.4, 0)[0].segments) <= 1024 - 2 * 12


@pytest.mark.long
def test_what_the_air_loses_it_loses_without_a_queue_too():
    """One of a hundred such paths may lose so much more by chance that the kind is left undecided."""
    results = [measure(DevicesProber([Link(120), Loss(0.008)], seed=seed)) for seed in range(8)]
    decided = [result for result in results if result.verdict != "undecided"]
    assert len(decided) >= 7
    for result in decided:
        assert result.verdict == "fifo"
        assert result.ci95[0] <= 120 <= result.ci95[1]


def test_records_without_a_standing_queue_say_so():
    runs: list[Run] = []
    measure(DevicesProber([Link(100)]), on_run=runs.append)
    older = analyze([run for run in runs if run.meta["kind"] != KIND], {})
    assert older.verdict == "fifo"
    assert "cannot be excluded" in said(older)


def test_a_standing_run_that_was_cut_short_says_nothing():
    runs: list[Run] = []
    measure(DevicesProber([Link(200, 7e6)]), on_run=runs.append)
    cut = [replace(r, end="cancelled") if r.meta["kind"] == KIND else r for r in runs]
    assert "cannot be excluded" in said(analyze(cut, {}))


@pytest.mark.parametrize(
    ("stood", "blurred", "verdict"),
    [
        (None, True, "fifo"),  # not tried, or the host was the limit: no word of bursts
        (Standing((0, 0), (0, 900)), True, "undecided"),
        (Standing((0, 0), (0, 900)), False, "fifo"),
        (Standing((0, 2000), (0, 900)), True, "fifo"),
        (Standing((40, 2000), (0, 900)), False, "not_flat"),
        (Standing((13, 2000), (0, 900)), False, "undecided"),
    ],
)
def test_what_a_standing_queue_decides(stood, blurred, verdict):
    assert with_room(stood, blurred=blurred)[0] == verdict


def test_the_floods_that_fill_the_queue_say_what_the_path_loses_too():
    """4 of 936 packets beside 0 of 327 may be chance; beside 0 of 2300 they hardly are."""
    few = Standing((4, 936), (0, 327))
    assert with_room(few, blurred=False)[0] == "fifo"
    more = replace(few, filling=(0, 2000))
    assert chance(more) == pytest.approx(
        stats.fisher_exact([[4, 932], [0, 2327]], alternative="greater")[1]
    )
    assert with_room(more, blurred=False)[0] == "undecided"
    # A path that loses as many then is no controller.
    assert with_room(replace(few, filling=(8, 2000)), blurred=False)[0] == "fifo"


def test_a_filling_queue_shows_what_a_path_loses():
    """Packets that come before the queue is half full, lost ones and others."""
    runs: list[Run] = []
    measure(DevicesProber([Link(200), Loss(0.02)], seed=3), on_run=runs.append)
    taken = [Session(run) for run in runs if run.meta["kind"] == "session"]
    counts = [observe_filling(session, 200.0) for session in taken]
    lost, sent = (sum(count[k] for count in counts) for k in (0, 1))
    # At three times the rate two of three packets stay: 150 come until 100 wait.
    assert sent == pytest.approx(150 * len(taken), rel=0.15)
    assert stats.binomtest(lost, sent, 0.02).pvalue > 0.001


def test_a_slow_red_that_drops_four_packets_of_a_thousand_is_no_fifo():
    """The floods lose nothing until the queue is half full: the path loses none of the four."""
    number = 102
    case = verdicts.drawn(20_261_501, number)
    assert case.kind == "red"
    assert verdicts.answered(case, number).capacity is None


def test_the_queue_stands_and_never_runs_empty():
    """Between the bursts it loses what the plan says, and no more."""
    layout = Layout(1500, 7e6 / 8 / 1514, 1e5, 100)
    plan, meta = standing_plan(layout, [], 0.4, 0)
    run = DevicesProber([Link(100)]).run(plan, meta)
    standing = Session(run)
    packets = standing.during("stand") & run.received
    first = next(iter(run.meta["phases"]["stand"]))
    assert run.meta["phases"]["stand"][1] - first >= 5
    delay = run.delay_s[packets] - run.delay_s[run.received].min()
    assert delay.min() > 0.5 * 100 / layout.rate_pps
    offered = (packets | (standing.during("stand") & run.lost)).sum()
    assert offered > (1 - BELOW) * layout.rate_pps * 5


def test_the_chance_is_fishers():
    seen = total([Standing((4, 1000), (0, 400)), Standing((3, 1000), (1, 400))])
    assert seen == Standing((7, 2000), (1, 800))
    table = [[7, 1993], [1, 799]]
    assert chance(seen) == pytest.approx(stats.fisher_exact(table, alternative="greater")[1])
    assert chance(Standing((5, 10), (0, 0))) == 1.0


@pytest.mark.parametrize(
    "kind",
    [
        *("plain", "bytes", "lossy"),
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("codel", "red", "shared", "pie")),
    ],
)
def test_a_sample_of_the_campaign(kind):
    """The first three cases of each kind: no number for what has none, no wrong number for a FIFO."""
    cases = ((n, verdicts.drawn(verdicts.SEED, n)) for n in range(1000))
    chosen: list[tuple[int, Any]] = []
    for number, case in cases:
        if case.kind == kind:
            chosen.append((number, case))
        if len(chosen) == 3:
            break
    answers = [verdicts.answered(case, number) for number, case in chosen]
    assert not [answer for answer in answers if answer.wrong]
    assert any(answer.right for answer in answers)


def test_a_campaign_judges_by_what_is_known_beforehand():
    result = measure(SimulatedProber({"flows": 3, "queue": "pfifo:100"}, seed=1))
    right, wrong = True, False
    for truth, unit, expected in (
        (100.0, "packets", right),
        (102.0, "packets", wrong),
        (None, None, wrong),
        (100.0, "bytes", wrong),
    ):
        case = verdicts.Case("plain", "", {}, truth, unit)
        assert verdicts.judged(case, result) == (expected, not expected)


@pytest.mark.parametrize(
    ("stood", "verdict"),
    [
        (Standing((74, 3000), (30, 1250)), "fifo"),  # the air's losses, as without a queue
        (Standing((110, 3000), (30, 1250)), "fifo"),  # a few more: the queue touched its limit
        (Standing((480, 7400), (95, 2900)), "not_flat"),  # twice as many: a slow RED
        # Twice as many, of fewer packets: a RED at 1 Mb/s.
        (Standing((108, 801), (10, 193)), "undecided"),
        (Standing((9, 200), (1, 100)), "fifo"),  # many times as many, but chance does that
    ],
)
def test_where_packets_are_lost_without_load_a_standing_queue_must_lose_clearly_more(
    stood, verdict
):
    assert with_room(stood, blurred=False, lossy=True)[0] == verdict


@pytest.mark.parametrize(
    ("stood", "verdict"),
    [
        # The empty queue's losses die away, and those of the standing queue do not: a slow average.
        (Standing((250, 6600), (120, 2850), (66, 950), (13, 950)), "not_flat"),
        # So do those of interference that has ended: afterwards a standing queue loses as little.
        (Standing((90, 6600), (120, 2850), (66, 950), (13, 950)), "fifo"),
        # The path loses as many to the end.
        (Standing((250, 6600), (120, 2850), (41, 950), (39, 950)), "fifo"),
        # Fewer at the end, as it happens.
        (Standing((250, 6600), (120, 2850), (50, 950), (30, 950)), "fifo"),
    ],
)
@pytest.mark.parametrize("lossy", [True, False])
def test_losses_of_the_empty_queue_that_die_away_are_those_of_a_slow_average(stood, verdict, lossy):
    assert with_room(stood, blurred=False, lossy=lossy)[0] == verdict


def test_a_red_that_remembers_the_floods_for_seconds_is_no_fifo():
    """Its average halves in 2800 packets, so that packets are lost when nothing else waits."""
    number = 3
    case = verdicts.drawn(20_261_403, number)
    assert case.kind == "red"
    answer = verdicts.answered(case, number)
    assert answer.capacity is None
    assert "died away" in " ".join(answer.evidence)
