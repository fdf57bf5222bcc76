"""Verdicts on access points of known rules that share no code with ours; clocks differ."""

import dataclasses
import json
import math
from importlib import resources

import jsonschema
import numpy as np
import pytest
from access_points import AccessPoint

from airqueue.measure import schema
from airqueue.measure.events import Event
from airqueue.measure.prober import ProbeError
from airqueue.measure.records import MISSING, HostReport
from airqueue.measure.stations import observed, plans, queues, shares
from airqueue.measure.stations.method import measure
from airqueue.measure.stations.shares import Ratio
from airqueue.measure.stations.verdict import judge
from airqueue.measure.stations.words import stations_lines

FAST, SLOW = 30e6, 6e6
NAMES = ["here", "there", "far"]


def found(rule, rates=(FAST, SLOW), **about):
    prober = AccessPoint(rule, rates, **about)
    return measure(prober, NAMES[: len(rates)]), prober


@pytest.mark.parametrize(
    ("rule", "how", "share"),
    [
        ("fifo", "one_queue", "proportional"),
        ("flows", "by_flow", "equal_packets"),
        ("stations", "by_station", "equal_packets"),
        ("airtime", "by_station", "equal_airtime"),
        ("sparse_first", "undecided", "proportional"),
    ],
)
@pytest.mark.parametrize("rates", [(FAST, SLOW), (SLOW, FAST)])
def test_each_rule_is_named(rule, how, share, rates):
    result, _ = found(rule, rates)
    assert (result["queues"], result["shares"]) == (how, share)


@pytest.mark.parametrize(("rule", "how"), [("flows", "by_flow"), ("airtime", "by_station")])
def test_equally_fast_stations_do_not_tell_packets_from_airtime(rule, how):
    result, _ = found(rule, (FAST, FAST))
    assert (result["queues"], result["shares"]) == (how, "equal")


def test_a_deep_queue_that_refuses_nothing_is_told_by_what_leaves():
    for rule, share in (("fifo", "proportional"), ("stations", "equal_packets")):
        result, prober = found(rule, limit=10**6)
        assert result["shares"] == share
        assert not any(run.lost.any() for run in prober.runs)


def test_rates_alone_are_those_of_each_path():
    result, _ = found("fifo")
    for station, rate in zip(result["stations"], (FAST, SLOW), strict=True):
        packet_s = 0.0002 + 8 * 1500 / rate
        assert station["alone_bps"] == pytest.approx(8 * 1500 / packet_s, rel=0.03)


def test_airtime_shares_are_halves_where_airtime_is_shared():
    pair = found("airtime")[0]["pairs"][0]
    assert pair["airtime_shares"] == pytest.approx([0.5, 0.5], abs=0.03)
    first, second = (12_000 / (rate * 0.0002 + 12_000) * rate for rate in (FAST, SLOW))
    assert pair["packet_shares"] == pytest.approx([first / (first + second)] * 2, abs=0.03)


def test_three_stations_are_compared_with_this_one():
    result, _ = found("airtime", (FAST, SLOW, FAST))
    assert [p["stations"] for p in result["pairs"]] == [["here", "there"], ["here", "far"]]
    assert [p["shares"] for p in result["pairs"]] == ["equal_airtime", "equal"]
    assert (result["queues"], result["shares"]) == ("by_station", "equal_airtime")


def test_a_station_whose_clock_is_stepped_is_not_judged():
    result, _ = found("fifo", steps=True)
    assert result["stations"][1]["alone_bps"] is None
    assert (result["queues"], result["shares"]) == ("undecided", "undecided")


def test_paths_that_the_limits_cannot_fill_are_named():
    result, prober = found("fifo", most_pps=1000.0)
    assert result["stations"][0]["alone_bps"] is None
    assert "here could not be saturated" in result["warnings"][0]
    assert all(plan_peak(run) <= 1000.0 for run in prober.runs)
    # Enough for each path alone, not for both.
    result, prober = found("fifo", most_pps=2600.0)
    assert None not in [s["alone_bps"] for s in result["stations"]]
    assert "too fast for the agreed rates" in result["warnings"][0]
    assert all(plan_peak(run) <= 2600.0 for run in prober.runs)


def plan_peak(run):
    """The most packets that a run sent in a tenth of a second, per second."""
    at = run.scheduled_ns[run.scheduled_ns > 0] * 1e-9
    start, end = observed.loaded(run)
    counts = np.histogram(at, np.arange(start, end, 0.1))[0]
    return counts[:-1].max() / 0.1 * 0.98


def test_cut_and_shared_runs_are_not_judged():
    result, prober = found("fifo")
    whole = prober.runs
    for change in ({"end": "sender_silent"}, {"host": HostReport(shared=True)}):
        runs = [dataclasses.replace(run, **change) for run in whole]
        again = judge(runs, {"stations": NAMES[:2]})
        assert (again["queues"], again["shares"]) == ("undecided", "undecided")
        assert not again["pairs"]
    assert result["queues"] == "one_queue"


def test_the_result_is_what_the_schema_says():
    checked = json.loads(
        resources.files("airqueue.measure.stations").joinpath("schema.json").read_text("utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(checked)
    header = {"target": "192.0.2.1:5860", "airqueue": "0.1.0", "created": "2026-01-01T00:00:00Z"}
    for result in (
        measure(AccessPoint("airtime", (FAST, SLOW, FAST)), NAMES, header=header),
        found("fifo", steps=True)[0],
        judge([], {"stations": NAMES, "interrupted": True}),
    ):
        jsonschema.validate(json.loads(schema.to_text(result)), checked)


def test_words_end_in_advice_only_where_there_is_some():
    lines = {rule: stations_lines(found(rule)[0]) for rule in ("fifo", "flows", "airtime")}
    assert lines["fifo"][0] == (
        "All stations wait in one queue; shares are proportional to arrivals."
    )
    assert any("A flood to any station delays all" in line for line in lines["fifo"])
    assert any("airtime fairness (mac80211)" in line for line in lines["flows"])
    assert not any("airtime fairness" in line for line in lines["airtime"])
    cut = judge([], {"stations": NAMES, "interrupted": True, "warnings": ["One."]})
    assert stations_lines(cut)[-3:] == ["Interrupted: only a part was measured.", "", "One."]


def test_progress_names_the_station_and_never_goes_back():
    events: list[Event] = []
    measure(AccessPoint("fifo", (FAST, SLOW)), NAMES[:2], on_event=events.append)
    done = [e.fraction for e in events]
    assert done == sorted(done)
    assert any("rate of there alone" in e.message for e in events)


def test_floods_stay_within_what_was_agreed_and_end_with_this_machine():
    pair = plans.Pair(0, 1, (2000.0, 300.0))
    both = plans.together_plan(pair, more_to_first=True, stations=2, most_pps=1e6)
    assert both is not None
    plan, meta = both
    assert plans.together_plan(pair, more_to_first=True, stations=2, most_pps=1000.0) is None
    assert plans.two_to_one_plan(pair, 2, 1000.0) is None
    last = plan.segments[-1]
    assert last.start_s == max(s.start_s for s in plan.segments)
    assert last.flow < plans.OWN_FLOWS
    assert plans.fits(json.loads(json.dumps(meta)))
    # Everybody is offered more than any rule gives.
    offered = dict(meta["floods"])
    assert offered[0] >= 1.2 * max(1000.0, pair.equal_pps)
    assert offered[2] >= 1.2 * max(150.0, pair.equal_pps)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "session"},
        {"phases": None},
        {"phases": {"quiet": [0, 1], "after": [2, 3]}},
        {"phases": {"quiet": [0, 1], "load": [1, 1], "after": [2, 3]}},
        {"stations": "ab"},
        {"stations": [0, True]},
        {"stations": [0, 99]},
        {"stations": [0]},
        {"stations": [0, 1, 2]},
        {"floods": 3},
        {"floods": [[0, -1.0], [2, 5.0]]},
        {"floods": [[0, 5.0]]},
        {"floods": [[0, 5.0], 7]},
        {"more_to": 2},
    ],
)
def test_descriptions_from_elsewhere_are_not_relied_on(change):
    pair = plans.Pair(0, 1, (2000.0, 300.0))
    _, meta = plans.together_plan(pair, more_to_first=True, stations=2, most_pps=1e6)
    assert not plans.fits({**meta, **change})


def test_a_rule_is_named_only_if_no_other_fits():
    by = {"proportional": 2.0, "equal_packets": 0.0, "equal_airtime": 1.0}

    def ratio(log, half=0.05):
        return Ratio(log, half, (100, 100))

    assert shares.judge([(ratio(1.0), by), (ratio(0.9), by)]) == "equal_airtime"
    assert shares.judge([(ratio(1.0), by), (ratio(2.0), by)]) == "undecided"
    assert shares.judge([(ratio(0.5), by), (ratio(0.5), by)]) == "undecided", "between two rules"
    assert shares.judge([(ratio(1.5, 0.9), by), (ratio(1.5, 0.9), by)]) == "undecided", "vague"
    assert shares.judge([(ratio(1.0), by)]) == "undecided", "one run is not enough"
    alike = {**by, "equal_airtime": 0.1}
    assert shares.judge([(ratio(0.1), alike), (ratio(0.0), alike)]) == "equal"


def test_queues_are_named_only_if_waits_agree():
    fair = [Ratio(1.0, 0.02, (100, 100))] * 2

    def two(log):
        return Ratio(log, 0.02, (100, 100))

    assert queues.judge("equal_packets", fair, two(1.0 + math.log(2)), [0.1]) == "by_flow"
    assert queues.judge("equal_packets", fair, two(1.05), [0.1]) == "by_station"
    assert queues.judge("equal_packets", fair, two(1.35), []) == "apart", "between the two"
    assert queues.judge("equal_packets", fair, None, [0.1]) == "apart"
    assert queues.judge("equal_packets", fair, two(1.0), [0.95]) == "undecided"
    assert queues.judge("proportional", fair, None, [0.95, 1.0]) == "one_queue"
    assert queues.judge("proportional", fair, None, []) == "one_queue"
    assert queues.judge("proportional", fair, None, [0.95, 0.2]) == "undecided"
    assert queues.judge("undecided", fair, None, []) == "undecided"


def test_the_ratio_of_few_packets_is_not_known():
    _, prober = found("fifo")
    run = next(r for r in prober.runs if r.meta["kind"] == plans.TOGETHER)
    start, end = observed.settled(run)
    assert shares.ratio(run, [0], [2]) is not None
    # A moment in which hardly anything left; all that was offered left; no such flow.
    moment = {**run.meta, "phases": {**run.meta["phases"], "load": [start, start + 0.002]}}
    assert shares.ratio(dataclasses.replace(run, meta=moment), [0], [2]) is None
    little = {**run.meta, "floods": [[0, 1.0], [2, 1.0]]}
    assert shares.ratio(dataclasses.replace(run, meta=little), [0], [2]) is None
    assert shares.ratio(run, [0], [9]) is None
    assert end > start


def test_waits_are_compared_only_beside_a_flood_that_waits():
    _, prober = found("fifo")
    run = next(r for r in prober.runs if r.meta["kind"] == plans.ALONE)
    ratio, waited_s = observed.wait_ratio(run, 0, 2, 1e-4)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert waited_s > 0.02
    assert observed.wait_ratio(run, 0, 2, 10.0) is None, "no packet waits for so long"
    assert observed.wait_ratio(run, 0, 9, 1e-4) is None


@pytest.mark.parametrize("rule", ["flows", "fifo"])
def test_intervals_hold_what_rules_predict(rule):
    """Of some access points: the interval and the tolerance hold the rule's ratio in both runs."""
    for n in range(0, 20, 4):
        rates = (FAST * 0.9**n, SLOW * 1.05**n)
        _, prober = found(rule, rates)
        for run in (r for r in prober.runs if r.meta["kind"] == plans.TOGETHER):
            by = shares.predictions(run, (0, 2), rates)
            expected = by["equal_packets" if rule == "flows" else "proportional"]
            assert shares.ratio(run, [0], [2]).fits(expected)


def test_a_queue_that_holds_next_to_nothing_has_no_waits_to_compare():
    result, _ = found("fifo", limit=2)
    assert result["shares"] == "proportional"
    assert {e["name"] for e in result["pairs"][0]["evidence"]} == {"together", "two_to_one"}


def test_a_run_that_did_not_overload_both_stations_says_nothing():
    result, prober = found("flows")
    runs = []
    for run in prober.runs:
        floods = [[flow, pps / 9] for flow, pps in run.meta["floods"]]
        together = run.meta["kind"] == plans.TOGETHER
        meta = {**run.meta, "floods": floods} if together else run.meta
        runs.append(dataclasses.replace(run, meta=meta))
    again = judge(runs, {"stations": NAMES[:2]})
    assert (result["shares"], again["shares"]) == ("equal_packets", "undecided")
    assert not again["pairs"][0]["packet_shares"]


class Sleeper(AccessPoint):
    """Serves a tenth of the rate until it has been flooded for some runs: a radio that wakes up."""

    def run(self, plan, meta, on_progress=None):
        awake = len(self.runs) >= 2
        whole, self.rates_bps = (
            self.rates_bps,
            tuple(r if awake else r / 10 for r in self.rates_bps),
        )
        try:
            return super().run(plan, meta, on_progress)
        finally:
            self.rates_bps = whole


@dataclasses.dataclass
class Narrow(AccessPoint):
    """An access point behind a link that does not carry the largest packets."""

    largest: int = 1492

    def run(self, plan, meta, on_progress=None):
        run = super().run(plan, meta, on_progress)
        received = np.where(run.size_bytes <= self.largest, run.received_ns, MISSING)
        self.runs[-1] = dataclasses.replace(run, received_ns=received)
        return self.runs[-1]


def test_a_path_for_smaller_packets_is_said_to_be_one():
    prober = Narrow("fifo", (FAST, SLOW))
    with pytest.raises(ProbeError, match="of 1500 bytes between the server and here none arrived"):
        measure(prober, NAMES[:2])
    assert len(prober.runs) == 1


@dataclasses.dataclass
class CutShort(AccessPoint):
    """An access point of which the first run of each kind is cut short."""

    def run(self, plan, meta, on_progress=None):
        first = all(run.meta["kind"] != meta["kind"] for run in self.runs)
        run = super().run(plan, meta, on_progress)
        if first and meta["kind"] != plans.RATE:
            self.runs[-1] = run = dataclasses.replace(run, end="sender_silent")
        return run


def test_a_run_that_is_cut_short_is_done_again_and_the_result_says_so():
    prober = CutShort("fifo", (FAST, SLOW))
    result = measure(prober, NAMES[:2])
    assert (result["queues"], result["shares"]) == ("one_queue", "proportional")
    assert None not in [station["alone_bps"] for station in result["stations"]]
    [said] = result["warnings"]
    assert said.startswith(f"Of {len(prober.runs)} runs 3 did not count"), said
    assert said in stations_lines(result)


def test_a_rate_that_was_found_too_low_is_found_again():
    prober = Sleeper("fifo", (FAST, SLOW))
    result = measure(prober, NAMES[:2])
    alone = [r.meta["index"] for r in prober.runs if r.meta["kind"] == plans.ALONE]
    assert alone[:2] == [0, 1], "the first flood was carried whole"
    assert result["stations"][0]["alone_bps"] == pytest.approx(20e6, rel=0.03)
