"""The slot-level simulation: worked tables, exact cases, confidence intervals, bad input."""

import math
import signal
import time

import numpy as np
import pytest
from tables import rows

from airqueue import _native
from airqueue.models.batch_means import quotient
from airqueue.models.edca_compare import Comparison, Point, aifs_points, compare, window_points
from airqueue.models.edca_slots import MODEL, Estimate, slots
from airqueue.models.errors import ModelError, ParameterError

TRANSMISSIONS = 2_000_000


def check(value: Estimate, printed: str) -> None:
    """Within 1 % of a table made of 2e7 transmissions and two standard errors of this shorter run."""
    right = float(printed)
    standard_error = value.half_width / 2
    assert standard_error < 0.011 * right, "the run is too short to tell anything"
    assert abs(value.mean - right) <= 0.01 * right + 2 * standard_error


@pytest.mark.parametrize("rule", ["edca", "freeze"])
@pytest.mark.parametrize("row", rows("edca_aifs"), ids=lambda row: row["aifs_slots"])
def test_the_worked_table_of_aifs(row: dict[str, str], rule: str) -> None:
    run = slots([1, 1], [0, int(row["aifs_slots"])], rule=rule, transmissions=TRANSMISSIONS)
    check(run.ratio(0, 1), row[rule])


WINDOWS = [
    pytest.param(row, rule, id=f"{row['cw_min']}-{rule}")
    for row in rows("edca_windows")
    for rule in ("edca", "freeze")
    if row[rule]
]


@pytest.mark.parametrize(("row", "rule"), WINDOWS)
def test_the_worked_table_of_windows(row: dict[str, str], rule: str) -> None:
    # Rare successes of the other station need a longer run.
    longer = 10 if int(row["cw_min"]) < 8 else 1
    windows = [int(row["cw_min"]) - 1, 31]
    run = slots([1, 1], 0, windows, rule=rule, transmissions=longer * TRANSMISSIONS)
    check(run.ratio(0, 1), row[rule])


@pytest.mark.parametrize(("rule", "printed"), [("edca", 0.0590), ("freeze", 0.0588)])
def test_the_worked_collision_probability(rule: str, printed: float) -> None:
    run = slots([2], 0, rule=rule, transmissions=TRANSMISSIONS)
    estimate = run.collision_probability(0)
    assert abs(estimate.mean - printed) <= 0.00005 + estimate.half_width


@pytest.mark.parametrize("rule", ["edca", "freeze"])
def test_acknowledgements_of_the_access_point_have_strict_priority(rule: str) -> None:
    run = slots([1, 6], [0, 4], [3, 31], rule=rule, transmissions=100_000)
    assert run.success_share(0).mean == 1
    assert run.attempts[:, 1].sum() == 0
    with pytest.raises(ModelError, match="class 1 had no success"):
        run.ratio(0, 1)
    with pytest.raises(ModelError, match="class 1 made no attempt"):
        run.collision_probability(1)
    with pytest.raises(ModelError, match="no success"):
        slots([2], 0, 0, 0, transmissions=1000).success_share(0)


def test_the_first_transmission_is_that_of_independent_draws() -> None:
    """Fresh counters from 0..15 of two stations, over many seeds: they meet with 1/16."""
    seeds, cw = 20_000, 16
    least = np.array([min(a, b) for a in range(cw) for b in range(cw)], dtype=float)
    stations: list[_native.Contender] = [(0, cw, cw, None, 1, 0), (0, cw, cw, None, 1, 1)]
    firsts = [_native.Contention(stations, "edca", seed).run(1) for seed in range(seeds)]
    collided = np.mean([first["collided"] for first in firsts])
    idle = np.mean([first["idle_slots"] for first in firsts])
    assert abs(collided - 1 / cw) < 4 * math.sqrt(1 / cw * (1 - 1 / cw) / seeds)
    assert abs(idle - least.mean()) < 4 * least.std() / math.sqrt(seeds)


def test_two_stations_with_constant_windows_of_two() -> None:
    """EDCA rule, windows of 2 for ever: the counters form a chain of four states, solved by hand.

    Both at 0 or both at 1 collide and draw anew. At (0, 1) the first succeeds, the other counts down
    to 0 and the first draws: (0, 0) or (1, 0), each with 1/2. So from an unequal state a collision at
    once follows with 1/2; from a collision an equal state follows with 1/2 again. Half of all
    transmissions collide, and half of the equal states are (1, 1), one idle slot, if they come from a
    collision; those from an unequal state are always (0, 0). Hence 1/8 idle slots per transmission.
    """
    run = slots([2], 0, 1, 1, retries=None, transmissions=400_000)
    assert quotient(run.collided, run.transmissions).covers(0.5)
    assert quotient(run.idle_slots, run.transmissions).covers(0.125)
    assert run.drops.sum() == 0


def test_intervals_cover_as_often_as_they_say() -> None:
    """The share of one of two equal stations is 1/2; of 200 intervals of 95 % about 190 cover it."""
    covered = sum(
        slots([1, 1], 0, transmissions=30_000, seed=seed).success_share(0).covers(0.5)
        for seed in range(200)
    )
    # Binomial with n = 200, p = 0.95: outside 178..199 with a probability below 1e-3.
    assert 178 <= covered <= 199


def test_quotient_has_the_interval_of_student() -> None:
    """Constant denominator: the interval of a mean. Numbers by hand; t(0.975, 3) = 3.182446."""
    estimate = quotient(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4))
    assert estimate.mean == 2.5
    deviation = math.sqrt((1.5**2 + 0.5**2) * 2 / 3)
    assert estimate.half_width == pytest.approx(3.182446 * deviation / 2, rel=1e-6)


def test_counts_agree_with_each_other() -> None:
    run = slots([2, 3], [0, 2], [7, 15], 63, retries=2, packets=[4, 1], transmissions=60_000)
    assert (run.attempts == run.successes + run.collisions).all()
    assert (run.packets == run.successes * [4, 1]).all()
    assert (run.successes.sum(axis=1) + run.collided == run.transmissions).all()
    assert run.transmissions.tolist() == [2000] * 30
    assert sum(run.packet_share(i).mean for i in range(2)) == pytest.approx(1)
    per_slot = [run.station_success_per_slot(i).mean * n for i, n in enumerate((2, 3))]
    slots_passed = (run.transmissions + run.idle_slots).sum()
    assert sum(per_slot) == pytest.approx(run.successes.sum() / slots_passed)


def test_queues_of_one_node_do_not_collide_in_the_air() -> None:
    """An access point with two queues, then three stations with two each."""
    apart = slots([1, 1], 0, 3, 3, transmissions=60_000)
    together = slots([1, 1], 0, 3, 3, nodes=[7, 7], transmissions=60_000)
    assert apart.collided.sum() > 0
    assert together.collided.sum() == 0
    assert together.internal_collisions[:, 0].sum() == 0
    assert together.internal_collisions[:, 1].sum() > 0
    # Classes of three stations in three nodes: the air still sees collisions between nodes.
    nodes = slots([3, 3], [0, 1], 7, 63, nodes=[0, 0], transmissions=60_000)
    assert nodes.collided.sum() > 0
    assert nodes.internal_collisions[:, 1].sum() > 0


def test_a_seed_is_a_run_and_progress_is_told() -> None:
    told: list[float] = []
    one = slots([1, 2], [0, 1], transmissions=3000, seed=5, progress=told.append)
    again = slots([1, 2], [4, 5], transmissions=3000, seed=5)
    other = slots([1, 2], [0, 1], transmissions=3000, seed=6)
    assert (one.successes == again.successes).all()
    assert (one.successes != other.successes).any()
    assert told[-1] == 1
    assert told == sorted(told)


def test_a_long_run_can_be_interrupted() -> None:
    """The kernel looks for signals, so that Ctrl-C ends a run of hours at once."""

    class InterruptedRunError(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise InterruptedRunError

    before = signal.signal(signal.SIGALRM, interrupt)
    # Of this process alone: others may keep it waiting.
    started = time.process_time()
    try:
        with pytest.raises(InterruptedRunError):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            slots([1, 1], 0, transmissions=10**12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - started < 60


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"stations": [1.5, 1]}, "stations"),
        ({"stations": [70_000, 1]}, "stations"),
        ({"stations": [[1, 1], [2, 1]]}, "stations"),
        ({"cw_min": 2.5}, "cw_min"),
        ({"cw_max": 1000.5}, "cw_max"),
        ({"rule": "legacy"}, "rule"),
        ({"packets": [1, 2, 3]}, "packets"),
        ({"packets": 0}, "packets"),
        ({"nodes": [0]}, "nodes"),
        ({"nodes": [0, 0], "stations": [1, 2]}, "nodes"),
        ({"transmissions": 0}, "transmissions"),
        ({"batches": 1}, "batches"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        slots(**{"stations": [1, 1], "aifs_slots": [0, 1], **arguments})
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    start = {p.name: p.default for p in MODEL.parameters}
    figures = MODEL.evaluate(**{**start, "transmissions": 30_000})
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert sum(figures["success_share"]) == pytest.approx(1)
    with pytest.raises(ParameterError) as raised:
        MODEL.evaluate(**{**start, "transmissions": 10**9})
    assert raised.value.parameter == "transmissions"


def test_a_grid_compares_the_chain_with_the_process() -> None:
    done: list[Point] = []
    near, far, out = compare(
        [*aifs_points([4, 16]), Point(aifs_slots=(0, 4), cw_min=(3, 31))],
        transmissions=200_000,
        progress=done.append,
    )
    assert done == [near.point, far.point, out.point]
    assert near.within
    assert not far.within
    assert far.share_error[1] > 0.1
    assert isinstance(far, Comparison)
    assert far.real_ratio is not None
    assert far.real_ratio.mean > far.model_ratio
    assert out.real_ratio is None
    assert out.share_error[1] == 1
    (windows,) = compare(window_points([15]), rule="freeze", transmissions=200_000)
    assert windows.model_ratio == pytest.approx(2.231, abs=0.0005)
    assert windows.real_ratio is not None
    assert windows.real_ratio.mean > windows.model_ratio
