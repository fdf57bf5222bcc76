"""CoDel's control law to the departure: steps made by hand, and access points beside uploads."""

from __future__ import annotations

import numpy as np
import pytest

from airqueue import _native
from airqueue.measure.api import measure
from airqueue.measure.disciplines import codel, exact_law, law_of_steps
from airqueue.measure.disciplines.observed import Step
from airqueue.measure.simulated import SimulatedProber
from benches.verdicts import beside_uploads

RATE_PPS = 1000.0
FRAME = 10
INTERVAL_S = 0.06


def uneven_frames(rng, frames=500):
    """Arrivals of frames of `FRAME` packets that others delay: longer than CoDel's gaps, often."""
    return np.cumsum(FRAME / RATE_PPS * (0.3 + rng.exponential(0.7, frames)))


def before_a_ring(drops_at, held, rng):
    """A step whose queue drops at the first departure after each of these instants.

    A packet leaves for the ring when the packet ``held`` places before it has arrived.
    """
    arrived = np.repeat(uneven_frames(rng), FRAME)
    left, lost, due, passed = [], [], 0, 0
    while passed < len(arrived):
        leaves = arrived[passed - held] if passed >= held else 0.0
        drops = due < len(drops_at) and drops_at[due] <= leaves
        due += drops
        lost.append(drops)
        left.append(arrived[passed])
        passed += not drops
    came = np.arange(len(left)) / (3 * RATE_PPS)
    return Step(came, np.array(left), np.array(lost), 0.0, rest_s=2.0, arrived_s=arrived)


def law(begin, count=0, drops=60, interval_s=INTERVAL_S):
    gaps = codel._gaps(begin, drops) if count == 0 else 1 / np.sqrt(count + np.arange(1, drops))
    return 0.5 + interval_s * np.concatenate(([0.0], np.cumsum(gaps)))


@pytest.mark.parametrize("begin", ["rfc", "cobalt"])
@pytest.mark.parametrize("held", [15, 40, 65])
def test_the_law_is_found_with_the_packets_behind_the_queue(begin, held):
    step = before_a_ring(law(begin), held, np.random.default_rng(held))
    assert codel._longest(step, None) is None
    found = codel.fit([step], None)
    assert found is not None
    assert found.law.begin == begin
    # Drops come between frames: of the packets of a frame no one is told from the others.
    least, greatest = found.law.behind
    assert least <= held <= greatest < least + FRAME
    assert found.interval_s[1] <= INTERVAL_S <= found.interval_s[2]
    assert found.interval_s[2] - found.interval_s[1] < 0.05 * INTERVAL_S


@pytest.mark.parametrize("count", [4, 17])
def test_a_law_that_goes_on_from_a_count_has_not_rested(count):
    step = before_a_ring(law("rfc", count, 90, 0.3), 40, np.random.default_rng(count))
    found = codel.fit([step], None)
    assert found is not None
    assert found.begin == "unrested"
    assert found.interval_s[1] <= 0.3 <= found.interval_s[2]
    # COBALT's first drop then is no interval later than the first late packet.
    assert found.target_s is None


@pytest.mark.parametrize("strays", [1, 3])
@pytest.mark.parametrize("begin", ["rfc", "cobalt"])
def test_the_law_may_begin_after_other_drops(begin, strays):
    """COBALT counts such drops, since it does not begin anew; CoDel does."""
    interval_s = 0.12
    earlier = 0.8 - interval_s * np.array([2.3, 4.1, 4.9])[:strays][::-1]
    count = strays + 1 if begin == "cobalt" else 0
    at = np.concatenate((earlier, 0.3 + law(begin, count, 80, interval_s)))
    step = before_a_ring(at, 40, np.random.default_rng(strays))
    found = codel.fit([step], None)
    assert found is not None
    assert (found.begin, found.law.passed) == (begin, strays)
    assert found.interval_s[1] <= interval_s <= found.interval_s[2]
    # Which packet was late first is not known.
    assert found.target_s is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_drops_tell_how_the_law_began_where_another_step_told_the_law(seed):
    few = before_a_ring(law("cobalt", 0, 20, 0.12), 40, np.random.default_rng(seed))
    assert codel._to_departures(few, None) is None
    known = exact_law.Known((40, 40), (0.119, 0.121))
    assert codel._to_departures(few, None, known).begin == "cobalt"
    elsewhere = exact_law.Known((40, 40), (0.15, 0.16))
    assert codel._to_departures(few, None, elsewhere) is None


FEW = 14
"""Drops of a step, so few that drops at random follow the law of some ring as well."""


def together(begin="cobalt", held=(40, 40, 40), interval_s=(0.09, 0.09, 0.09), drops=FEW):
    return [
        before_a_ring(law(begin, 0, drops, interval), ring, np.random.default_rng(30 + k))
        for k, (ring, interval) in enumerate(zip(held, interval_s, strict=True))
    ]


@pytest.mark.parametrize("begin", ["rfc", "cobalt"])
def test_several_steps_tell_a_law_together_that_none_tells_alone(begin):
    taken = together(begin)
    assert all(codel.fit([step], None) is None for step in taken)
    found = codel.fit(taken, None)
    assert found is not None
    assert found.begin == begin
    assert found.law.behind[0] <= 40 <= found.law.behind[1]
    assert found.interval_s[1] <= 0.09 <= found.interval_s[2]


@pytest.mark.parametrize(
    "unlike", [{"interval_s": (0.09, 0.16, 0.05)}, {"held": (40, 15, 70)}], ids=["interval", "ring"]
)
def test_steps_of_different_laws_tell_none_together(unlike):
    """A device has one ring and one interval."""
    assert codel.fit(together(**unlike), None) is None


@pytest.mark.parametrize("drops", [20, 60])
def test_drops_at_random_in_several_steps_are_not_the_laws(drops):
    rng = np.random.default_rng(7)
    for _ in range(15):
        taken = []
        for _ in range(3):
            gaps = codel._gaps("rfc", drops) * rng.uniform(0, 2, drops - 1)
            at = 0.5 + INTERVAL_S * np.concatenate(([0.0], np.cumsum(gaps)))
            taken.append(before_a_ring(at, 40, rng))
        assert codel.fit(taken, None) is None


def test_weights_of_counts_sum_up_to_one():
    """Bonferroni's inequality with weights holds where these do."""
    for dropped in (0, 5, 1000):
        weights = np.exp(law_of_steps._of_counts(66, dropped))
        assert weights.sum() == pytest.approx(1)
        assert weights.argmax() in (0, 1, dropped + 2)


@pytest.mark.parametrize("longest", [2.0, 1.5])
def test_drops_at_random_are_not_the_laws(longest):
    """As dense as the law's: gaps even from 2 - ``longest`` to ``longest`` times the law's."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        gaps = codel._gaps("rfc", 60) * rng.uniform(2 - longest, longest, 59)
        at = 0.5 + INTERVAL_S * np.concatenate(([0.0], np.cumsum(gaps)))
        assert codel._to_departures(before_a_ring(at, 40, rng), None) is None


def test_evenly_spaced_drops_are_not_the_laws():
    rng = np.random.default_rng(5)
    for gap_s in (0.02, 0.05, 0.1):
        step = before_a_ring(0.5 + gap_s * np.arange(40), 40, rng)
        assert codel._to_departures(step, None) is None


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.9, 1.0, 1.5, 2.5, 4.0, 6.0])
def test_how_likely_a_place_stays_is_the_walks_largest_eigenvalue(ratio):
    places = 800
    at = (np.arange(places) + 0.5) * ratio / places
    step = np.abs(at[:, np.newaxis] - at) <= 1
    largest = np.linalg.eigvalsh(0.5 * ratio / places * step)[-1]
    stays = chance_between(np.array([[0.0, 1.0, 2.0]]), ratio)
    assert stays == pytest.approx(largest, rel=0.08)
    assert stays > 0.99 * largest


def chance_between(low, wide, known=0.0):
    """The chance of drops a unit apart, each between an instant and one ``wide`` later."""
    even = np.arange(low.shape[1], dtype=float)[np.newaxis]
    pair = np.array([0]), np.array([0])
    edge, interval = np.array([0.0]), np.array([1.0])
    (chance,) = _native.law_chances(
        (low, low + wide, even), pair, low.shape[1], edge, interval, known
    )
    return chance


def test_the_interval_puts_a_drop_in_its_place_and_is_one_of_many():
    at = np.arange(4.0)[np.newaxis]
    once = chance_between(at[:, :3], 0.5)
    # Of four drops the first is where the law begins, and the interval puts another in its place.
    assert chance_between(at, 0.5) == pytest.approx(once**2)
    # Intervals up to 1 reach as far as 3 units, in which 6 places 0.5 wide are told apart.
    assert chance_between(at, 0.5, known=1.0) == pytest.approx(6 * once**2)


@pytest.mark.parametrize("first", [0, 1, 4, 7])
def test_ends_of_the_interval_are_those_of_all_pairs_of_drops(first):
    """By hand, as the definition says: the least and the greatest over all pairs."""
    rng = np.random.default_rng(5)
    rings, drops = 300, 7
    shapes = np.cumsum(rng.exponential(size=(rings // 2, drops + 3)), axis=1)
    ring = rng.permutation(rings)
    law = ring // 2
    shape = shapes[np.arange(rings) // 2, :drops]
    at = 1 + 0.1 * shape + rng.normal(scale=0.03, size=shape.shape)
    low, high = at - rng.uniform(0.01, 0.05, at.shape), at + rng.uniform(0.01, 0.05, at.shape)
    edge = rng.uniform(0, 0.01, rings)
    ends = np.zeros(rings), np.full(rings, np.inf)
    for events in ((0, first), (first, drops)):
        ends = _native.law_intervals((low, high, shapes), (ring, law), events, edge[ring], ends)
    pairs = [(i, j) for i in range(drops) for j in range(i + 1, drops)]
    lows = [(low[:, j] - high[:, i] - 2 * edge) / (shape[:, j] - shape[:, i]) for i, j in pairs]
    highs = [(high[:, j] - low[:, i] + 2 * edge) / (shape[:, j] - shape[:, i]) for i, j in pairs]
    least, most = np.maximum(0, np.max(lows, axis=0))[ring], np.min(highs, axis=0)[ring]
    exist = least <= most
    assert 50 < np.count_nonzero(exist) < 250
    assert (ends[0] <= ends[1]).tolist() == exist.tolist()
    assert ends[0][exist] == pytest.approx(least[exist], rel=1e-12)
    assert ends[1][exist] == pytest.approx(most[exist], rel=1e-12)


def test_one_law_and_one_edge_stand_for_all_rings():
    low, high = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[0.1, 1.1], [0.1, 2.1]])
    tried, pairs = (low, high, np.array([[0.0, 2.0]])), (np.array([0, 1]), np.array([0, 0]))
    ends = np.zeros(2), np.full(2, np.inf)
    least, most = _native.law_intervals(tried, pairs, (0, 2), np.array([0.0]), ends)
    assert least == pytest.approx([0.45, 0.95])
    assert most == pytest.approx([0.55, 1.05])


@pytest.mark.parametrize(
    ("ring", "law", "events", "edge"),
    [(2, 0, 3, [0.0]), (-1, 0, 3, [0.0]), (0, 1, 3, [0.0]), (0, 0, 4, [0.0]), (0, 0, 3, [])],
)
def test_pairs_that_do_not_exist_are_refused(ring, law, events, edge):
    low = np.zeros((2, 3))
    tried = low, low + 1, np.arange(3.0)[np.newaxis]
    with pytest.raises(_native.NativeError, match="do not fit"):
        _native.law_intervals(
            tried,
            (np.array([ring]), np.array([law])),
            (0, events),
            np.array(edge),
            (np.zeros(1), np.full(1, np.inf)),
        )


class Rfc8289:
    """CoDel by its pseudocode, written for this test: is a head dropped that leaves at an instant?"""

    def __init__(self, target_s, interval_s):
        self.target_s, self.interval_s = target_s, interval_s
        self.above_at, self.next_s, self.count = None, None, 0

    def drops(self, now, waited, behind):
        if waited < self.target_s or behind <= 1:
            self.above_at = self.next_s = None
            return False
        if self.next_s is not None:
            if now < self.next_s:
                return False
            self.count += 1
            self.next_s += self.interval_s / self.count**0.5
            return True
        self.above_at = now + self.interval_s if self.above_at is None else self.above_at
        if now < self.above_at:
            return False
        self.count, self.next_s = 1, now + self.interval_s
        return True


def codel_before_a_ring(target_s, interval_s, held, rng, packets=5000):
    came, arrived = np.arange(packets) / (1.08 * RATE_PPS), np.repeat(uneven_frames(rng), FRAME)
    made = Rfc8289(target_s, interval_s)
    left, lost, passed = [], [], 0
    for at in came:
        if passed >= len(arrived):
            break
        leaves = max(at, arrived[passed - held] if passed >= held else 0.0)
        behind = np.searchsorted(came, leaves) - len(left)
        lost.append(made.drops(leaves, leaves - at, behind))
        left.append(max(at, arrived[passed]))
        passed += not lost[-1]
    got = np.array(left)[~np.array(lost)]
    return Step(came[: len(left)], np.array(left), np.array(lost), 0.0, rest_s=9.0, arrived_s=got)


def test_the_target_is_what_packets_had_waited_in_the_queue_alone():
    """The ring and the air hold 40 packets, for 40 ms: no part of the wait that CoDel sees."""
    told = []
    for seed in range(12):
        step = codel_before_a_ring(0.03, 0.3, 40, np.random.default_rng(seed))
        found = codel.fit([step], None)
        if found is None or found.law.behind is None or found.target_s is None:
            continue
        value, low, high = found.target_s
        assert low <= 0.03 <= high
        assert low <= value <= high
        told.append(high - low)
    assert len(told) >= 6
    assert min(told) < 0.03


@pytest.mark.parametrize(
    ("target_ms", "interval_ms", "limit", "uploaders", "seed"),
    [
        (6, 131, 617, 2, 170),
        pytest.param(20, 150, 700, 1, 3, marks=pytest.mark.long),
        pytest.param(5, 100, 1000, 3, 7, marks=pytest.mark.long),
    ],
)
def test_a_codel_beside_uploads_is_named_with_its_drivers_ring(
    target_ms, interval_ms, limit, uploaders, seed
):
    """The ring of the simulator's driver has 64 packets, and a packet is on its way into the ring."""
    table = {"target": f"{target_ms} ms", "interval": f"{interval_ms} ms"}
    device = {"discipline": "codel", "limit": f"{limit} packets", "codel": table}
    found = measure(SimulatedProber(beside_uploads(device, uploaders), seed=seed))
    assert found.capacity is None
    assert found.discipline.name == "codel"
    parameters = found.discipline.parameters
    for key, truth_ms in (("target_s", target_ms), ("interval_s", interval_ms)):
        low, high = parameters[key].ci95
        assert low <= truth_ms / 1e3 <= high
    behind = [e.value for e in found.discipline.evidence if e.name == "packets_behind_the_queue"]
    assert behind == [65]


@pytest.mark.parametrize(
    ("rtt_ms", "seed"), [(63, 1), pytest.param(209, 4, marks=pytest.mark.long)]
)
def test_a_cake_beside_uploads_is_named(rtt_ms, seed):
    """Its first drops come while packets are late and in time by turns."""
    device = {"discipline": "cake", "cake": {"rtt": f"{rtt_ms} ms"}}
    found = measure(SimulatedProber(beside_uploads(device, 2), seed=seed))
    assert found.capacity is None
    assert found.discipline.name == "cake"
    low, high = found.discipline.parameters["interval_s"].ci95
    assert low <= rtt_ms / 1e3 <= high
