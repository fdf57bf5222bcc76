"""Names of queue disciplines: known devices, and records that look like those of a discipline."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from airqueue import _native
from airqueue.measure.api import measure
from airqueue.measure.disciplines import (
    codel,
    management,
    red,
    ring,
    steps,
)
from airqueue.measure.disciplines.observed import Step, full_at
from airqueue.measure.records import Run
from airqueue.measure.result import Evidence
from airqueue.measure.schema import check
from airqueue.measure.session import Session
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.words import describe
from benches.verdicts import beside_uploads, over_air, over_wire
from devices import CoDel, DevicesProber, Hysteresis, Pie

RATE_PPS = 1000.0
NOTHING_LOST = (0, 100)


def queue(name, table=None, limit=1000):
    """A discipline as scenarios have it."""
    kept = {} if name == "cake" else {"limit": f"{limit} packets"}
    return {"discipline": name, **kept, **({} if table is None else {name: table})}


MANAGED = {
    "codel": (queue("codel"), "codel", {"target_s": 0.005, "interval_s": 0.1}),
    "slow codel": (
        queue("codel", {"target": "50 ms", "interval": "500 ms"}),
        "codel",
        {"target_s": 0.05, "interval_s": 0.5},
    ),
    "codel as in Linux": (
        queue("codel", {"target": "20 ms", "behaviour": "linux"}),
        "codel",
        {"target_s": 0.02, "interval_s": 0.1},
    ),
    "pie": (queue("pie", {"target": "15 ms", "behaviour": "linux"}), "pie", {"target_s": 0.015}),
    "slow pie": (
        queue("pie", {"target": "100 ms", "behaviour": "rfc"}),
        "pie",
        {"target_s": 0.1},
    ),
    "red": (
        queue("red", {"min": "40 packets", "max": "150 packets", "probability": 0.1}, 400),
        "red",
        {},
    ),
    "fq_codel": (queue("fq_codel"), "fq_codel", {"target_s": 0.005, "interval_s": 0.1}),
    "sfq": (queue("sfq", limit=127), "fifo_by_flow", {}),
    "drr": (queue("drr", limit=100), "fifo_by_flow", {}),
}


@pytest.mark.parametrize("key", MANAGED)
@pytest.mark.parametrize("place", ["line", "802.11g"])
def test_a_discipline_is_named_and_its_parameters_are_within_their_intervals(key, place):
    device, name, parameters = MANAGED[key]
    path = over_wire(20e6, device)
    if place != "line":
        path = over_air(np.random.default_rng(1), device)
        path["cell"]["scenario"]["phy"] = {"standard": place}
    found = measure(SimulatedProber(path, seed=4))
    check(found.to_json())
    assert found.capacity is None
    assert found.discipline is not None
    assert found.discipline.name == name
    assert set(found.discipline.parameters) == set(parameters)
    for parameter, truth in parameters.items():
        low, high = found.discipline.parameters[parameter].ci95
        assert low <= truth <= high
        assert found.discipline.parameters[parameter].value == pytest.approx(truth, rel=0.2)


def test_cake_where_no_queue_has_overflowed():
    """Its BLUE part is at rest: what it drops then hides the control law."""
    found = measure(SimulatedProber(over_wire(4e6, queue("cake", {"rtt": "50 ms"})), seed=2))
    assert found.discipline.name == "cake"
    low, high = found.discipline.parameters["interval_s"].ci95
    assert low <= 0.05 <= high


def test_a_policer_is_one_and_a_fifo_needs_no_steps():
    policed = measure(SimulatedProber({"policer": True, "rate_bps": 10e6}, seed=1))
    assert (policed.verdict, policed.discipline.name) == ("policer", "policer")
    runs: list[Run] = []
    plain = measure(SimulatedProber({"queue": "pfifo:60"}, seed=1), on_run=runs.append)
    assert plain.verdict == "fifo"
    assert plain.discipline is None
    assert not any(run.meta["kind"] == steps.STEP for run in runs)


@pytest.mark.parametrize(
    ("device", "kind"),
    [
        (CoDel(2000, target=0.02, interval=0.2), "codel"),
        (CoDel(400, rate_bps=30e6), "codel"),
        (Pie(2000), "pie"),
    ],
)
def test_other_programs_of_the_same_articles_are_recognised(device, kind):
    """Written for tests alone, by the articles: no code is shared with the simulator's."""
    found = measure(DevicesProber([device]))
    assert found.discipline is not None
    assert found.discipline.management == kind
    if kind == "codel":
        low, high = found.discipline.parameters["interval_s"].ci95
        assert low <= device.interval <= high


def test_a_queue_that_changes_its_mind_is_not_named():
    """Hysteresis is no discipline of any article."""
    found = measure(DevicesProber([Hysteresis(100)]))
    assert found.capacity is None
    assert found.discipline.name in ("managed", None)


# Steps made by hand: service in RATE_PPS, a packet every 1 / (1.1 RATE_PPS).


def step_with(drops_s, length_s=5.0, overload=1.1, rest_s=2.0):
    """A FIFO that loses the packet which would have left next at each of these instants."""
    came = np.arange(0, length_s, 1 / (overload * RATE_PPS))
    left = np.empty(len(came))
    lost = np.zeros(len(came), dtype=bool)
    free, due = 0.0, 0
    for k, at in enumerate(came):
        start = max(free, at)
        if due < len(drops_s) and start >= drops_s[due]:
            lost[k], left[k], due = True, start, due + 1
            continue
        free = left[k] = start + 1 / RATE_PPS
    return Step(came, left, lost, 0.0, rest_s=rest_s)


def law(begin, interval_s, drops, first_s=0.3):
    gaps = codel._gaps(begin, drops)
    return first_s + interval_s * np.concatenate(([0.0], np.cumsum(gaps)))


@pytest.mark.parametrize("begin", ["rfc", "linux", "cobalt"])
@pytest.mark.parametrize("interval_s", [0.05, 0.1, 0.3])
def test_drops_by_the_control_law_give_its_interval(begin, interval_s):
    found = codel.fit([step_with(law(begin, interval_s, 20))], None)
    assert found is not None
    assert found.law.begin == begin
    assert found.interval_s[1] <= interval_s <= found.interval_s[2]
    assert found.interval_s[2] - found.interval_s[1] < 0.02 * interval_s


@pytest.mark.parametrize(
    ("begin", "rest_s", "told"),
    [("cobalt", 1.0, "unrested"), ("cobalt", 1.7, "cobalt"), ("linux", 1.0, "linux")],
)
def test_a_count_of_one_is_cobalts_only_after_a_rest_of_16_intervals(begin, rest_s, told):
    found = codel.fit([step_with(law(begin, 0.1, 20), rest_s=rest_s)], None)
    assert found is not None
    assert found.begin == told


def test_the_step_after_the_longer_rest_tells_which_codel_it_is():
    """CoDel that had not forgotten a count of one in the other steps, of more drops."""
    unrested = step_with(law("cobalt", 0.1, 40), rest_s=1.0)
    found = codel.fit([unrested, step_with(law("linux", 0.1, 20), rest_s=2.0)], None)
    assert found is not None
    assert found.begin == "linux"


@pytest.mark.parametrize(
    ("begin", "others"), [("cobalt", ("rfc", "linux")), ("linux", ("cobalt",))]
)
def test_many_drops_tell_the_begin_that_frames_hide_from_single_drops(begin, others):
    """An interval of 37 ms behind frames of 5.5 ms: the frame in which a packet leaves is chance."""
    rng = np.random.default_rng(8)
    told = []
    for _ in range(40):
        step = step_with(law(begin, 0.037, 60, first_s=0.3 + rng.uniform(0, 0.01)))
        frame_s = 0.0055
        in_frames = dataclasses.replace(
            step,
            left_s=np.ceil(step.left_s / frame_s) * frame_s,
            late_packets=0.9 * frame_s * RATE_PPS,
        )
        found = codel.fit([in_frames], None)
        assert found is not None
        told.append(found.begin)
    assert not set(told) & set(others)
    assert begin in told


@pytest.mark.long
def test_drops_as_dense_as_the_law_but_at_random_are_not_codels():
    """None of 200 such steps passes, with as many drops at each time, in the mean, as by the law."""
    rng = np.random.default_rng(3)
    passed = 0
    for _ in range(200):
        # The law drops (t / 2 I)^2 packets in a time t: a Poisson process with that mean.
        count = rng.poisson(20)
        at = 0.3 + 2 * 0.1 * np.sqrt(np.sort(rng.uniform(0, 20, count)))
        passed += codel.fit([step_with(at)], None) is not None
    assert passed == 0


def test_evenly_spaced_drops_are_not_codels():
    assert codel.fit([step_with(0.3 + 0.05 * np.arange(40))], None) is None


def test_linux_takes_a_step_of_newtons_method_for_each_drop():
    gaps = codel._gaps("linux", 40)
    # include/net/codel_impl.h: x (3 - n x^2) / 2, by hand.
    assert gaps[:4] == pytest.approx([1.0, 0.5, 0.5625, 0.5625 * (3 - 4 * 0.5625**2) / 2])
    assert gaps[-1] == pytest.approx(39**-0.5, rel=1e-3)


DELAYS = np.array([0.02, 0.02])


def test_pies_controller_moves_as_the_rfc_says():
    """RFC 8033, 4.2, by hand: at rest, 0.125 (q - 15 ms) + 1.25 (q - q_old), divided by 2048."""
    probability, spared = _native.pie_probabilities(
        DELAYS, np.array([0.015]), np.array([0.0]), 0.015
    )
    first = (0.125 * 0.005 + 1.25 * 0.02) / 2048
    assert probability[0, 0] == pytest.approx(first)
    assert probability[0, 1] == pytest.approx(first + 0.125 * 0.005 / 128)
    assert spared.all()


def test_a_controller_that_had_not_come_to_rest_spares_no_burst():
    """RFC 8033, 4.2 and 4.4, by hand: from 5 %, where auto-tuning divides by 2."""
    probability, spared = _native.pie_probabilities(
        DELAYS, np.array([0.015]), np.array([0.05]), 0.015
    )
    first = 0.05 + (0.125 * 0.005 + 1.25 * 0.02) / 2
    assert probability[0] == pytest.approx([first, first + 0.125 * 0.005 / 2])
    assert not spared.any()


def test_losses_of_the_air_are_no_law():
    """Packets lost at random, one of a hundred, in a queue that grows: neither PIE nor RED."""
    rng = np.random.default_rng(5)
    step = step_with([], overload=1.03)
    lost = rng.random(len(step.lost)) < 0.01
    step = Step(step.came_s, step.left_s, lost, 0.0)
    found = management.judge([step], NOTHING_LOST)
    assert found.kind in ("unknown", "undecided")


def full_queue(limit, length_s=4.0, overload=1.35, rng=None):
    """A FIFO of so many packets in front of a steady service, or one that varies."""
    came = np.arange(0, length_s, 1 / (overload * RATE_PPS))
    left, lost, leaving = np.zeros(len(came)), np.zeros(len(came), dtype=bool), []
    free = 0.0
    for k, at in enumerate(came):
        while leaving and leaving[0] <= at:
            leaving.pop(0)
        if len(leaving) >= limit:
            lost[k], left[k] = True, free
            continue
        free = max(free, at) + (1 if rng is None else rng.uniform(0.5, 1.5)) / RATE_PPS
        left[k] = free
        leaving.append(free)
    return Step(came, left, lost, 0.0)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_full_queue_is_seen_and_drops_at_its_tail(seed):
    step = full_queue(100, rng=None if seed is None else np.random.default_rng(seed))
    assert full_at([step]) == pytest.approx(100, abs=1)
    found = management.judge([step], NOTHING_LOST)
    assert found.kind == "tail_drop"
    assert found.hard_limit == pytest.approx(100, abs=1)


def test_a_few_early_losses_in_long_queues_leave_no_tail_drop():
    """Slow controllers begin so; where the path loses packets anyway they prove nothing."""
    step = full_queue(100)
    early = np.flatnonzero((step.waiting > 70) & (step.waiting < 90))[:2]
    lost = step.lost.copy()
    lost[early] = True
    managed = Step(step.came_s, step.left_s, lost, 0.0)
    assert management.judge([managed], NOTHING_LOST).kind != "tail_drop"
    assert management.judge([managed], (1, 1000)).kind == "tail_drop"


def dropped_at_gaps(uneven, drops=60, chance=0.01):
    """What RED's fit says of sums at drops: uniform, or of drops whose intervals hardly vary."""
    rng = np.random.default_rng(7)
    sums = rng.uniform(0, 1, drops) if uneven else rng.normal(0.6, 0.1, drops)
    spread = red._spread(sums, np.full(drops, chance))
    return red.Red(0.0, 0.01, 20.0, 100.0, 0.1, drops, True, spread)


@pytest.mark.parametrize(
    ("gain", "uneven", "kind", "why"),
    [
        (40.0, True, "red", "red_log_likelihood_gain"),
        (40.0, False, "undecided", "red_evenness"),
        (9.0, True, "undecided", "red_log_likelihood_gain"),
    ],
)
def test_red_is_named_of_uneven_drops_and_of_odds_that_its_parameters_do_not_make(
    gain, uneven, kind, why
):
    laws = [management._Laws(None, dropped_at_gaps(uneven), 0.0, gain)]
    found = management._like_red(laws, Evidence("lost_with_room", "60 packets"), None)
    assert (found.kind, found.evidence[-1].name) == (kind, why)


@pytest.mark.long
def test_a_red_that_drops_packets_of_the_idle_path_is_red():
    """Under the kernel's tbf RED never forgets the floods before: 9 of 144 were lost without load."""
    device, name, _ = MANAGED["red"]
    runs: list[Run] = []
    measure(SimulatedProber(over_wire(20e6, device), seed=4), on_run=runs.append)
    taken = [Session(run) for run in runs if run.meta["kind"] == steps.STEP]
    seen = [step for each in taken if (step := Step.of(each)) is not None]
    assert management.judge(seen, (9, 144)).kind == name
    # What a path loses whatever waits is not RED's.
    for step in seen:
        step.lost[:] |= np.random.default_rng(5).random(len(step.lost)) < 0.06
    assert management._as_red(seen[1], None, 0.06) == red.fit(seen[1], None, 0.06)


def test_what_a_parameter_is_worth_grows_with_the_drops():
    """Schwarz: half the logarithm of the drops for each of four, and one of the weights."""
    found = dropped_at_gaps(uneven=True, drops=64)
    assert found.fitted == pytest.approx(2 * np.log(64) + np.log(len(red.WEIGHTS)))


@pytest.mark.parametrize(
    ("device", "names"),
    [
        # Drops at intervals that frames hide, in a queue that grows: by lengths alone as RED's.
        (queue("codel", {"target": "29 ms", "interval": "469 ms"}, 1212), {"codel", None}),
        (
            queue("red", {"min": "40 packets", "max": "150 packets", "probability": 0.1}, 450),
            {"red"},
        ),
    ],
)
def test_a_codel_behind_frames_and_beside_uploads_is_no_red_and_a_red_is_one(device, names):
    found = measure(SimulatedProber(beside_uploads(device, 1), seed=170))
    assert found.capacity is None
    assert found.discipline.name in names


@pytest.mark.long
def test_a_codel_whose_standing_queue_could_not_be_seen_is_no_fifo():
    """Beside uploads the path was not quiet before the queue stood: the queue stands once more."""
    device = queue("codel", {"target": "9 ms", "interval": "145 ms"}, 358)
    found = measure(SimulatedProber(beside_uploads(device, 2, "HT-MCS7"), seed=178))
    assert (found.verdict, found.capacity) == ("not_flat", None)


def before_a_ring(held, frame=10, packets=2000):
    """Packets that wait, then ring and radio, whose frames others delay: the step, and departures."""
    rng = np.random.default_rng(6)
    ends = np.cumsum(frame / RATE_PPS * (1 + 2 * (rng.random(packets // frame) < 0.3)))
    arrived = np.repeat(ends, frame)
    came = np.arange(packets) / (3 * RATE_PPS)
    # The ring has room for the packet so many places behind the one that has arrived.
    left = np.maximum(came, np.concatenate((np.zeros(held), arrived))[:packets])
    lost = np.zeros(packets, dtype=bool)
    return Step(came, arrived, lost, 0.0, arrived_s=arrived), left


@pytest.mark.parametrize("held", [10, 40, 74])
def test_departures_before_a_ring_are_those_of_the_queue(held):
    step, left = before_a_ring(held)
    assert ring.through(step, held).left_s == pytest.approx(left)


@pytest.mark.parametrize(
    ("target_ms", "limit", "uploaders", "seed"),
    [pytest.param(19, 946, 0, 84, marks=pytest.mark.long), (15, 623, 1, 60)],
)
def test_pie_is_named_before_a_drivers_ring(target_ms, limit, uploaders, seed):
    """What waits in the ring, for as long as others take the air, is not PIE's to see."""
    path = beside_uploads(queue("pie", {"target": f"{target_ms} ms"}, limit), uploaders)
    found = measure(SimulatedProber(path, seed=seed))
    assert found.capacity is None
    assert found.discipline.name == "pie"
    low, high = found.discipline.parameters["target_s"].ci95
    assert low <= target_ms / 1e3 <= high


@pytest.mark.long
@pytest.mark.parametrize(
    ("device", "name"), [(queue("sfq", limit=45), "fifo_by_flow"), (queue("cake"), "cake")]
)
def test_queues_of_each_flow_are_named_behind_frames_of_few_packets(device, name):
    """Beside uploads, at 26 Mb/s: mostly named, never wrongly."""
    path = beside_uploads(device, 2, "HT-MCS3")
    found = [measure(SimulatedProber(path, seed=seed)) for seed in range(1, 7)]
    assert {each.capacity for each in found} == {None}
    names = [each.discipline.name for each in found]
    assert set(names) <= {name, None}
    assert names.count(name) >= 4


AGGREGATED = {
    "802.11n": {"standard": "802.11n", "rate": "HT-MCS3"},
    "802.11ac": {"standard": "802.11ac", "rate": "VHT-MCS7"},
}


@pytest.mark.parametrize(
    ("standard", "device", "names"),
    [
        # A FIFO of a frame's length: bursts hide whether packets found room.
        pytest.param("802.11ac", {"limit": "28 packets"}, {"fifo", None}, marks=pytest.mark.long),
        ("802.11ac", {"limit": "300 packets"}, {"fifo"}),
        ("802.11n", {"discipline": "cake", "cake": {"rtt": "72 ms"}}, {"cake", "fq_codel_or_cake"}),
    ],
)
def test_bursts_of_aggregates_make_no_fifo_managed_and_no_managed_queue_a_fifo(
    standard, device, names
):
    path = {
        "cell": {
            "scenario": {
                "phy": AGGREGATED[standard],
                "stations": [{"name": "ap", "queue": device}, {"name": "laptop"}],
                "flows": [
                    {"from": "ap", "to": "laptop", "source": "external"},
                    {"from": "laptop", "to": "ap", "source": "external"},
                ],
            },
            "down": "ap->laptop",
            "up": "laptop->ap",
        }
    }
    found = measure(SimulatedProber(path, seed=1)).to_json()
    told = found["discipline"]
    name = found["verdict"] if told is None else told["name"]
    assert name in names
    if device.get("discipline"):
        assert found["verdict"] != "fifo"
        assert found["capacity"] is None


def test_words_name_the_discipline_with_its_parameters():
    found = measure(SimulatedProber(over_wire(20e6, queue("codel")), seed=4)).to_json()
    words = describe(found)
    assert words.headline == "This is CoDel on one queue."
    said = " ".join(words.paragraphs())
    assert "Its interval is 100 ms" in said
    assert "a call waits behind a download" in said
