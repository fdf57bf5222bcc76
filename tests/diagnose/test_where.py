"""Verdicts on imagined paths whose truth is known: where packets wait under a load."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from recorded import LOADED, imagined

from airqueue.diagnose.again import changes
from airqueue.diagnose.felt import FEWEST, rises
from airqueue.diagnose.records import GATEWAY, SERVER, WIRE, Leg, Load, Records
from airqueue.diagnose.where import FELT_S, judge


def place(records: Records) -> str:
    return judge(records, records.loads[0]).place


@pytest.mark.parametrize(
    ("near_s", "far_s", "direction", "where"),
    [
        (0.2, 0.2, "down", "access_point"),
        (0.05, 0.05, "up", "station"),
        (0.0, 0.2, "down", "line"),
        (0.0, 0.03, "up", "line"),
        (0.1, 0.2, "down", "both"),
        (0.0, 0.0, "down", "none"),
        (0.004, 0.004, "up", "none"),
    ],
)
def test_the_leg_whose_round_trips_rise_is_named(near_s, far_s, direction, where):
    records = imagined({GATEWAY: near_s, SERVER: far_s}, direction=direction)
    assert place(records) == where


def test_a_gateway_that_answers_late_itself_tells_nothing():
    finding = judge(*_with_load(imagined({GATEWAY: 0.3, SERVER: 0.05})))
    assert finding.place == "undecided"
    assert "the gateway itself answers late" in finding.says
    # Where nobody behind the gateway waits its slowness is no matter.
    assert place(imagined({GATEWAY: 0.3, SERVER: 0.001})) == "none"


def test_without_a_gateway_the_legs_are_not_told_apart():
    finding = judge(*_with_load(imagined({SERVER: 0.2})))
    assert finding.place == "undecided"
    assert "--gateway" in finding.says and "--wire" in finding.says
    assert place(imagined({SERVER: 0.001})) == "none"


def test_a_load_within_the_radio_network_needs_no_gateway():
    records = imagined({SERVER: 0.2})
    legs = tuple(
        dataclasses.replace(leg, name=WIRE) if leg.name == SERVER else leg for leg in records.legs
    )
    load = dataclasses.replace(records.loads[0], site=WIRE)
    assert place(Records(legs, (load,), records.quiet)) == "access_point"


@pytest.mark.parametrize(
    ("rises_s", "direction", "where", "waits"),
    [
        # A download whose acknowledgements fill the line's or this machine's upload, and the like.
        ((0.0, 0.3, 0.0), "down", "line", "up"),
        ((0.3, 0.3, 0.0), "down", "station", "up"),
        ((0.3, 0.3, 0.0), "up", "access_point", "down"),
        ((0.0, 0.3, 0.3), "down", "line", "down"),
        ((0.3, 0.3, 0.3), "up", "station", "up"),
        ((0.0, 0.3, 0.15), "down", "line", "both"),
    ],
)
def test_the_direction_in_which_packets_wait_is_named(rises_s, direction, where, waits):
    near_s, far_s, along_s = rises_s
    records = imagined({GATEWAY: near_s, SERVER: far_s}, direction=direction, along_s=along_s)
    finding = judge(*_with_load(records))
    assert (finding.place, finding.waits) == (where, waits)
    assert ("acknowledgements" in finding.says) == (waits != direction)
    unknown = judge(*_with_load(imagined({GATEWAY: near_s, SERVER: far_s}, direction=direction)))
    assert unknown.waits is None and unknown.direction == direction
    of_the_web = dataclasses.replace(records.loads[0], kind="web", one_way=None)
    assert "Nothing tells" in judge(records, of_the_web).says


def test_packets_beside_the_load_that_are_lost_decide_no_direction():
    finding = judge(*_with_load(imagined({SERVER: 0.3, GATEWAY: 0.0}, along_s=0.0, lost=0.95)))
    assert finding.waits is None


def test_waits_now_and_then_are_not_none():
    records = imagined({GATEWAY: 0.0, SERVER: 0.0})
    leg = records.legs[1]
    stalls = (leg.sent_s >= LOADED[0] + 1) & (leg.sent_s < LOADED[0] + 1.4)
    late = dataclasses.replace(leg, round_trip_s=leg.round_trip_s + 0.2 * stalls)
    finding = judge(dataclasses.replace(records, legs=(records.legs[0], late)), records.loads[0])
    assert finding.place == "undecided"
    assert "at times" in finding.says


def test_a_wait_on_the_wire_is_none_of_the_radio_network():
    records = imagined({GATEWAY: 0.0, SERVER: 0.2}, site=WIRE)
    legs = (records.legs[0], dataclasses.replace(records.legs[1], name=WIRE))
    finding = judge(dataclasses.replace(records, legs=legs), records.loads[0])
    assert finding.place == "undecided"
    assert "on the wire" in finding.says


def test_few_answers_decide_nothing():
    finding = judge(*_with_load(imagined({GATEWAY: 0.2, SERVER: 0.2}, lost=0.97)))
    assert finding.place == "undecided"
    assert "Too few" in finding.says and "under the load" in finding.says
    records = dataclasses.replace(imagined({GATEWAY: 0.2, SERVER: 0.2}), quiet=())
    assert "without load" in judge(*_with_load(records)).says


def test_a_load_that_fills_nothing_says_so():
    records = imagined({GATEWAY: 0.0, SERVER: 0.0})
    idle = dataclasses.replace(records.loads[0], idle="The path carries everything.")
    assert judge(records, idle).place == "not_loaded"


@pytest.mark.long
def test_random_paths_are_not_confidently_wrong():
    draw = np.random.default_rng(20261125)
    right = 0
    for seed in range(60):
        truth = ("access_point", "line", "none")[seed % 3]
        rise_s = float(np.exp(draw.uniform(np.log(0.025), np.log(1.0))))
        near_s = rise_s if truth == "access_point" else 0.0
        far_s = 0.0 if truth == "none" else rise_s
        records = imagined(
            {GATEWAY: near_s, SERVER: far_s},
            jitter_s=float(draw.uniform(0.0002, 0.003)),
            lost=float(draw.uniform(0.0, 0.5)),
            seed=seed,
        )
        found = place(records)
        assert found in (truth, "undecided"), (seed, rise_s)
        right += found == truth
    assert right >= 0.95 * 60


def test_intervals_hold_the_rise():
    # The swing of `imagined` adds 0.9 of the rise in the median.
    held = 0
    for seed in range(60):
        records = imagined({GATEWAY: 0.1, SERVER: 0.1}, seed=seed)
        found = rises(records, [records.legs[0]], records.loads[0])
        assert found is not None
        held += found[0].low <= 0.09 <= found[0].high
    assert held >= 51, "at least 85 % of intervals of 95 % with ten blocks"


def test_a_leg_without_enough_answers_has_no_rise():
    sent = np.arange(0.0, 12.0, 1.0)
    leg = Leg(SERVER, "h", "icmp", sent, np.full(len(sent), 0.01))
    load = Load(SERVER, "down", "flood", *LOADED)
    assert len(leg.between(*LOADED).sent_s) < FEWEST
    assert rises(Records((leg,), (load,), ((0.0, 6.0),)), [leg], load) is None


@pytest.mark.parametrize(
    ("before_s", "now_s", "word"),
    [(0.2, 0.02, "better"), (0.02, 0.2, "worse"), (0.1, 0.1, "unchanged")],
)
def test_two_diagnoses_are_compared_with_an_interval(before_s, now_s, word):
    before = imagined({GATEWAY: before_s, SERVER: before_s}, seed=1)
    now = imagined({GATEWAY: now_s, SERVER: now_s}, seed=2)
    (change,) = changes(before, now)
    assert change.word == word
    assert change.change.low <= 0.9 * (now_s - before_s) <= change.change.high + FELT_S / 10


def test_loads_without_a_counterpart_are_not_compared():
    before = imagined({SERVER: 0.1}, direction="up")
    assert changes(before, imagined({SERVER: 0.1}, direction="down")) == []


def _with_load(records: Records) -> tuple[Records, Load]:
    return records, records.loads[0]
