"""Allocations against the worked table, brute force over all divisions, and fractions."""

from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.errors import ParameterError
from airqueue.models.mesh_allocation import (
    MODEL,
    ROUNDINGS,
    STRATEGIES,
    airtime_costs,
    allocate,
    continuous_optimum,
    drop_cost,
    equal,
    first_hop_drops,
    hop_costs,
    integer_optimum,
    largest_remainder,
    printed_equation_15,
    ratio,
    to_nearest,
)


def check(found: np.ndarray, cell: str) -> None:
    """Compare with the numbers of a cell, to half a unit of the last digit of each."""
    printed = cell.split()
    assert len(found) == len(printed)
    for value, number in zip(found, printed, strict=True):
        assert value == pytest.approx(float(number), abs=half_unit(number))


@pytest.mark.parametrize("row", rows("mesh_allocation"), ids=lambda row: row["total"])
def test_the_worked_table(row: dict[str, str]) -> None:
    total = int(row["total"])
    costs = hop_costs(len(row["nearest"].split()))
    check(continuous_optimum(total, costs), row["optimum"])
    check(ratio(total, costs), row["ratio"])
    assert to_nearest(ratio(total, costs)).tolist() == list(map(float, row["nearest"].split()))
    candidates = [list(map(float, each.split())) for each in row["whole_packet_optima"].split("|")]
    assert integer_optimum(total, costs).tolist() in candidates
    assert len({exact_cost(each) for each in candidates}) == 1


def exact_cost(buffers: list[float]) -> Fraction:
    return sum((Fraction(i, int(b) + 1) for i, b in enumerate(buffers, start=1)), Fraction(0))


def test_the_objective_of_the_table() -> None:
    assert float(drop_cost([1, 2, 3, 4], hop_costs(4))) == pytest.approx(2.7167, abs=5e-5)


@pytest.mark.parametrize(("total", "nodes", "buffers"), [(10, 4, [2, 2, 3, 3]), (8, 3, [2, 3, 3])])
def test_the_papers_buffers(total: int, nodes: int, buffers: list[int]) -> None:
    assert allocate(total, nodes).packets.tolist() == buffers


def test_the_papers_buffers_from_what_its_equation_gives() -> None:
    """B = 10.16 packets, not 10: whole packets cannot add up to it, but do to the nearest number."""
    for rounding in ("nearest", "largest-remainder"):
        found = allocate(10.16, 4, rounding=rounding)
        assert found.packets.sum() == 10
        assert found.sum_holds
    assert allocate(10.16, 4, "optimum", "best").sum_holds
    assert not allocate(85.27, 4).sum_holds


def test_the_papers_comparison_splits_equally() -> None:
    assert allocate(12, 4, "equal").packets.tolist() == [3, 3, 3, 3]


def test_an_edge_of_the_cross() -> None:
    assert allocate(4.5, 2).packets.tolist() == [2, 3]


@given(
    st.floats(0, 1e6),
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12),
    st.floats(0, 5),
)
def test_the_optimum_sums_and_balances(total: float, costs: list[float], minimum: float) -> None:
    """Σ b = B; equal marginal costs above the minimum, none at it that is worth more."""
    total += minimum * len(costs)
    found = continuous_optimum(total, costs, minimum)
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    assert (found >= minimum).all()
    marginal = np.array(costs) / (found + 1) ** 2
    inside = found > minimum + 1e-6
    if inside.any():
        level = marginal[inside].max()
        np.testing.assert_allclose(marginal[inside], level, rtol=1e-6)
        assert (marginal[~inside] <= level * (1 + 1e-5)).all()


@pytest.mark.parametrize("nodes", range(1, 51))
def test_the_optimum_sums_to_b_for_every_m(nodes: int) -> None:
    for total in (0.1, 3, nodes, 1000):
        assert continuous_optimum(total, hop_costs(nodes)).sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("nodes", range(1, 9))
def test_the_printed_form_sums_only_for_five(nodes: int) -> None:
    assert float(printed_equation_15(40, nodes).sum()) == pytest.approx(40 + 5 - nodes)
    assert allocate(40, nodes, "printed", "none").sum_holds == (nodes == 5)
    if nodes == 5:
        np.testing.assert_allclose(printed_equation_15(40, 5), continuous_optimum(40, hop_costs(5)))


def slow_optimum(total: float, costs: list[float]) -> list[float]:
    """Clip and solve again, one node at a time, as the method is described."""
    left = set(range(len(costs)))
    while True:
        roots = mpmath.fsum(mpmath.sqrt(costs[i]) for i in left)
        found = {i: mpmath.sqrt(costs[i]) * (total + len(left)) / roots - 1 for i in left}
        lowest = min(found, key=lambda i: found[i])
        if found[lowest] >= 0:
            return [float(found.get(i, 0)) for i in range(len(costs))]
        left.remove(lowest)


@pytest.mark.parametrize("total", [0, 0.3, 1, 2.5, 4, 7])
@pytest.mark.parametrize("nodes", [1, 2, 5, 20])
def test_small_buffers_against_clipping_step_by_step(total: float, nodes: int) -> None:
    costs = list(range(1, nodes + 1))
    np.testing.assert_allclose(
        continuous_optimum(total, costs), slow_optimum(total, costs), atol=1e-12
    )


def divisions(total: int, nodes: int) -> list[tuple[int, ...]]:
    """All ways to give ``total`` packets to ``nodes`` nodes."""
    bars = combinations(range(total + nodes - 1), nodes - 1)
    return [
        tuple(b - a - 1 for a, b in zip((-1, *each), (*each, total + nodes - 1), strict=True))
        for each in bars
    ]


@given(st.integers(0, 12), st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(0, 2))
@settings(max_examples=60)
def test_whole_packets_against_brute_force(total: int, costs: list[int], minimum: int) -> None:
    total += minimum * len(costs)

    def cost(buffers: tuple[int, ...]) -> Fraction:
        return sum((Fraction(c, b + 1) for c, b in zip(costs, buffers, strict=True)), Fraction(0))

    found = integer_optimum(total, costs, minimum)
    best = min(cost(each) for each in divisions(total, len(costs)) if min(each) >= minimum)
    assert found.sum() == total
    assert (found >= minimum).all()
    assert cost(tuple(int(b) for b in found)) == best


@given(st.integers(0, 400), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8))
def test_whole_packets_against_the_plain_greedy_rule(total: int, costs: list[float]) -> None:
    buffers = [0] * len(costs)
    for _ in range(total):
        worth = [c / ((b + 1) * (b + 2)) for c, b in zip(costs, buffers, strict=True)]
        buffers[int(np.argmax(worth))] += 1
    found = integer_optimum(total, costs)
    assert found.sum() == total
    assert float(drop_cost(found, costs)) == pytest.approx(
        float(drop_cost(buffers, costs)), rel=1e-12
    )


def test_a_billion_packets_are_divided_at_once() -> None:
    found = integer_optimum(1e9, hop_costs(4))
    assert found.sum() == 1e9
    np.testing.assert_allclose(found, continuous_optimum(1e9, hop_costs(4)), atol=1)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_largest_remainders_keep_the_sum(buffers: list[float]) -> None:
    found = largest_remainder(buffers)
    assert abs(found.sum() - sum(buffers)) <= 0.5 + 1e-9 * sum(buffers)
    assert (np.abs(found - buffers) <= 1).all()


def test_strategies_agree_where_they_must() -> None:
    airtimes = [1e-3] * 4
    for strategy in ("airtime", "airtime-path"):
        same = allocate(10, 4, strategy, "none", airtimes_s=airtimes)
        np.testing.assert_allclose(same.packets, continuous_optimum(10, hop_costs(4)))
        assert same.sum_holds
    assert allocate(10, 4, "optimum", "best").packets.tolist() == [1, 2, 3, 4]
    assert allocate(1e9, 3, "ratio", "none").packets == pytest.approx(
        allocate(1e9, 3, "optimum", "none").packets, rel=1e-8
    )


def test_a_slow_hop_gets_more_where_air_time_counts() -> None:
    slow_second = [1e-3, 10e-3, 1e-3]
    plain = allocate(12, 3, "optimum", "none").packets
    own = allocate(12, 3, "airtime", "none", airtimes_s=slow_second).packets
    path = allocate(12, 3, "airtime-path", "none", airtimes_s=slow_second).packets
    assert own[1] > plain[1]
    # What went over the slow hop is dear to lose behind it too.
    assert path[2] > path[1] > path[0]
    assert airtime_costs(slow_second, path=True).tolist() == pytest.approx([1e-3, 11e-3, 12e-3])


def test_first_hop_drops_leave_the_relays_the_rest() -> None:
    assert first_hop_drops(10, 4, 2).tolist() == pytest.approx([2, 8 / 3, 8 / 3, 8 / 3])
    assert first_hop_drops(7, 1).tolist() == [7]
    assert allocate(10, 4, "first-hop").packets.tolist() == [1, 3, 3, 3]
    assert allocate(2, 4, "first-hop", "none").packets.tolist() == [0.5] * 4


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_relay_keeps_the_minimum(strategy: str, rounding: str) -> None:
    if rounding == "best" and strategy not in ("optimum", "airtime", "airtime-path"):
        with pytest.raises(ParameterError):
            allocate(5, 4, strategy, rounding, airtimes_s=[1, 1, 1, 1])
        return
    for total in (0, 0.2, 3, 5, 30, 30.4):
        found = allocate(total, 4, strategy, rounding, minimum_packets=1, airtimes_s=[1, 2, 3, 4])
        assert (found.packets >= 1).all()
        # It holds where it can be kept, and is said not to hold where it is not.
        goal = total if rounding == "none" else round(total)
        assert found.sum_holds == (abs(found.packets.sum() - goal) < 1e-6)
        if total > 5 and strategy != "printed" and rounding != "nearest":
            assert found.sum_holds


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rounding", ["nearest", "largest-remainder", "best"])
@pytest.mark.parametrize("minimum", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("total", [0, 1, 7.5, 30])
def test_whole_packets_are_whole_whatever_the_minimum(
    strategy: str, rounding: str, minimum: float, total: float
) -> None:
    if rounding == "best" and strategy not in ("optimum", "airtime", "airtime-path"):
        return
    found = allocate(
        total, 3, strategy, rounding, minimum_packets=minimum, airtimes_s=[1, 2, 3]
    ).packets
    assert (found == np.floor(found)).all()
    assert (found >= minimum).all()


def test_arrays_of_totals() -> None:
    totals = np.array([[5.0, 10.0], [20.0, 0.0]])
    for found in (
        continuous_optimum(totals, hop_costs(4)),
        ratio(totals, hop_costs(4)),
        equal(totals, 4),
        first_hop_drops(totals + 4, 4),
        printed_equation_15(totals, 4),
    ):
        assert found.shape == (2, 2, 4)
    np.testing.assert_array_equal(
        continuous_optimum(totals, hop_costs(4))[0, 1], continuous_optimum(10, hop_costs(4))
    )


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: hop_costs(0), "nodes"),
        (lambda: hop_costs(10**9), "nodes"),
        (lambda: continuous_optimum(-1, [1]), "total_packets"),
        (lambda: continuous_optimum(float("nan"), [1]), "total_packets"),
        (lambda: continuous_optimum(3, [1, 2], 2), "total_packets"),
        (lambda: continuous_optimum(3, []), "costs"),
        (lambda: continuous_optimum(3, [0, 1]), "costs"),
        (lambda: continuous_optimum(3, [1e300, 1]), "costs"),
        (lambda: continuous_optimum(3, 2), "costs"),
        (lambda: drop_cost([1, 2], [1, 2, 3]), "costs"),
        (lambda: integer_optimum(2.5, [1, 2]), "total_packets"),
        (lambda: integer_optimum([2, 3], [1, 2]), "total_packets"),
        (lambda: integer_optimum(4, [1, 2], 0.5), "minimum_packets"),
        (lambda: largest_remainder([[1, 2]]), "packets"),
        (lambda: airtime_costs([]), "airtimes_s"),
        (lambda: allocate(10, 4, "best"), "strategy"),
        (lambda: allocate(10, 4, "ratio", "up"), "rounding"),
        (lambda: allocate([10, 12], 4), "total_packets"),
        (lambda: allocate(10, 4, minimum_packets=float("nan")), "minimum_packets"),
        (lambda: allocate(10, 4, "airtime"), "airtimes_s"),
        (lambda: allocate(10, 4, "airtime", airtimes_s=[1, 2]), "airtimes_s"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_commands_figures() -> None:
    found = MODEL.evaluate(
        total_packets=10,
        nodes=4,
        strategy="optimum",
        rounding="best",
        minimum_packets=0,
        airtimes_s=None,
    )
    assert set(found) == {output.name for output in MODEL.outputs}
    assert found["sum_holds"] is True
    assert found["drop_cost"] == pytest.approx(2.7167, abs=5e-5)
    printed_form = MODEL.evaluate(
        total_packets=0,
        nodes=9,
        strategy="printed",
        rounding="none",
        minimum_packets=0,
        airtimes_s=None,
    )
    assert min(printed_form["buffers_packets"]) >= 0
