"""The chain: closed forms against the printed sums in fractions, and the solved one against sums over
every combination of busy nodes."""

import random
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models import mesh_chain
from airqueue.models.catalogue import find
from airqueue.models.errors import ConvergenceError, ParameterError
from airqueue.models.mesh_allocation import allocate
from airqueue.models.mesh_chain import (
    MODEL,
    NoSolutionError,
    full_limit,
    independence_caution,
    printed_solution,
    printed_sum,
    printed_transitions,
    relay_queues,
)
from airqueue.models.mesh_joint import can_follow, joint_queues

LINES = [(1,), (4,), (3, 3), (2, 2, 3), (3, 3, 3, 3), (2, 2, 3, 3), (1, 2, 3, 4), (8, 1, 1), (1, 9)]


def sums(pi: Fraction, m: int) -> tuple[Fraction, Fraction, Fraction]:
    """Eqs (4), (5), (6) term by term."""
    q = 1 - pi
    p0 = sum(
        (
            Fraction(1, i) * comb(m - 1, i - 1) * pi ** (m - i) * q ** (i - 1)
            for i in range(1, m + 1)
        ),
        Fraction(0),
    )
    terms = [comb(m - 2, i - 1) * pi ** (m - 1 - i) * q ** (i - 1) for i in range(1, m)]
    first = q * sum((Fraction(1, i) * t for i, t in enumerate(terms, start=1)), Fraction(0))
    later = q * sum((Fraction(1, i + 1) * t for i, t in enumerate(terms, start=1)), Fraction(0))
    return p0, first, later


@pytest.mark.parametrize("m", [2, 3, 4, 7, 30])
@pytest.mark.parametrize("pi", ["0", "1/1000", "1/3", "1/2", "99/100", "999999999/1000000000", "1"])
def test_closed_forms_against_the_sums(m: int, pi: str) -> None:
    exact = Fraction(pi)
    found = printed_transitions(float(exact), m)
    # π_0 as it reached the function, not the fraction that it was rounded from.
    expected = sums(Fraction(float(exact)), m)
    for value, wanted in zip(
        (found.served, found.first_arrival, found.arrival), expected, strict=True
    ):
        assert float(value) == pytest.approx(float(wanted), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("m", [2, 4, 10])
def test_limits_of_the_closed_forms(m: int) -> None:
    found = printed_transitions(0.0, m)
    assert float(found.served) == pytest.approx(1 / m)
    assert float(found.first_arrival) == pytest.approx(1 / (m - 1))
    assert float(found.arrival) == pytest.approx(1 / m)


@given(st.floats(1e-6, 1 - 1e-6), st.integers(2, 200))
def test_the_identity_behind_the_missing_solution(pi: float, m: int) -> None:
    p = printed_transitions(pi, m)
    assert float(p.served - p.arrival) == pytest.approx(
        pi * float(p.first_arrival) / (1 - pi), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("m", [2, 4, 9])
@pytest.mark.parametrize("buffer", [1, 2, 3, 12])
def test_the_sum_of_the_printed_chain(m: int, buffer: int) -> None:
    for pi in map(Fraction, (0.01, 0.25, 0.75, 0.99)):
        p0, first, later = sums(pi, m)
        total = pi + sum(
            (pi * (later / p0) ** (k - 1) * first / p0 for k in range(1, buffer + 1)), Fraction(0)
        )
        assert float(printed_sum(float(pi), m, buffer)) == pytest.approx(float(total), abs=1e-14)
        assert total < 1
        # What is missing.
        assert 1 - total == (1 - pi) * (later / p0) ** buffer


def test_the_printed_chain_has_no_solution() -> None:
    assert (printed_sum(np.linspace(0, 0.9, 500)[:, None], 4, [1, 2, 3, 10]) < 1).all()
    assert float(printed_sum(1.0, 4, 3)) == 1
    with pytest.raises(NoSolutionError, match="less than 1 for every π_0 below 1"):
        printed_solution(4, 3)
    assert full_limit([0, 1, 3]).tolist() == [1, 0.5, 0.25]


@pytest.mark.parametrize(
    ("buffers", "full", "first_share"),
    [
        ((3, 3, 3, 3), (0.270, 0.174, 0.128, 0.101), 0.51),
        ((2, 2, 3, 3), (0.373, 0.248, 0.091, 0.076), 0.60),
        ((1, 2, 3, 4), None, 0.82),
    ],
)
def test_the_worked_chains(
    buffers: tuple[int, ...], full: tuple[float, ...] | None, first_share: float
) -> None:
    found = relay_queues(buffers)
    if full is not None:
        np.testing.assert_allclose(found.full, full, atol=5e-4)
    assert float(found.drop_shares[0]) == pytest.approx(first_share, abs=5e-3)
    assert float(found.drop_shares.sum()) == pytest.approx(1)


def slow_chain(buffers: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """π_b and drops, by sums over all combinations of busy nodes and all queue lengths."""
    count = len(buffers)

    def mean_inverse(chances: list[float], offset: int) -> float:
        total = 0.0
        for states in product((0, 1), repeat=len(chances)):
            weight = 1.0
            for state, chance in zip(states, chances, strict=True):
                weight *= chance if state else 1 - chance
            total += weight / (offset + sum(states))
        return total

    q = [1.0] + [0.5] * count
    for _ in range(300):
        new, full, drops = [1.0], [], []
        for i in range(1, count + 1):
            served = mean_inverse([q[j] for j in range(count + 1) if j != i], 1)
            rest = [q[j] for j in range(count + 1) if j not in (i, i - 1)]
            first, later = (q[i - 1] * mean_inverse(rest, offset) for offset in (1, 2))
            lengths = [1.0, first / served]
            for _ in range(buffers[i - 1] - 1):
                lengths.append(lengths[-1] * later / served)
            new.append(1 - lengths[0] / sum(lengths))
            full.append(lengths[-1] / sum(lengths))
            drops.append(full[-1] * later)
        q = [(a + b) / 2 for a, b in zip(q, new, strict=True)]
    return np.array(full), np.array(drops)


@pytest.mark.parametrize("buffers", [(1,), (5,), (3, 3), (1, 4, 2), (2, 2, 3, 3), (1, 1, 7, 2, 20)])
def test_the_solved_chain_against_all_combinations(buffers: tuple[int, ...]) -> None:
    full, drops = slow_chain(buffers)
    found = relay_queues(buffers)
    np.testing.assert_allclose(found.full, full, rtol=1e-10)
    np.testing.assert_allclose(found.drops, drops, rtol=1e-10)


def followed_together(buffers: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, float]:
    """π_b, shares of the drops and what arrives, from the chain of all queues: no independence."""
    states = list(product(*(range(b + 1) for b in buffers)))
    place = {state: i for i, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    drops = np.zeros((len(states), len(buffers)))
    arrives = np.zeros(len(states))
    for state, i in place.items():
        senders = [-1, *(k for k, packets in enumerate(state) if packets)]
        for sender in senders:
            after = list(state)
            if sender >= 0:
                after[sender] -= 1
            if sender + 1 == len(buffers):
                arrives[i] += 1 / len(senders)
            elif after[sender + 1] < buffers[sender + 1]:
                after[sender + 1] += 1
            else:
                drops[i, sender + 1] += 1 / len(senders)
            moves[i, place[tuple(after)]] += 1 / len(senders)
    balance = np.vstack([moves.T - np.eye(len(states)), np.ones(len(states))])
    chance = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    full = [sum(chance[i] for s, i in place.items() if s[k] == b) for k, b in enumerate(buffers)]
    lost = chance @ drops
    return np.array(full), lost / lost.sum(), float(chance @ arrives)


@pytest.mark.parametrize("buffers", LINES)
def test_queues_followed_together_level_by_level(buffers: tuple[int, ...]) -> None:
    full, shares, delivered = followed_together(buffers)
    found = joint_queues(buffers)
    np.testing.assert_allclose(found.full, full, atol=1e-10)
    np.testing.assert_allclose(found.drop_shares, shares, atol=1e-10)
    assert float(found.delivered[-1]) == pytest.approx(delivered, rel=1e-10)
    # The source sends whenever no node does; what a node gets and does not drop it sends on.
    sent = np.append(1.0 - found.delivered.sum(), found.delivered)
    np.testing.assert_allclose(sent[:-1] - found.drops, sent[1:], rtol=1e-9)


@pytest.mark.parametrize("nodes", [1, 2, 3, 6, 10, 11])
def test_nodes_with_one_packet_each_deliver_every_so_often(nodes: int) -> None:
    """One in 2M+1 opportunities, as the whole chain says for three and six nodes, too."""
    assert float(joint_queues([1] * nodes).delivered[-1]) == pytest.approx(1 / (2 * nodes + 1))
    if nodes in (3, 6):
        assert followed_together((1,) * nodes)[2] == pytest.approx(1 / (2 * nodes + 1))


@pytest.mark.parametrize("buffers", [(1,) * 6, (3,) * 4, (10, 1), (2, 3, 1)])
def test_the_command_follows_the_queues_together(buffers: tuple[int, ...]) -> None:
    full, shares, delivered = followed_together(buffers)
    figures = MODEL.evaluate(buffers=list(buffers))
    assert figures["delivered_share"] == pytest.approx(delivered, rel=1e-9)
    np.testing.assert_allclose(figures["drop_share"], shares, atol=1e-9)
    np.testing.assert_allclose(figures["full_probability"], full, atol=1e-9)
    assert figures["caution"] is None


def driven(buffers: list[int], turns: int, seed: int = 1) -> tuple[float, float]:
    """The process, turn by turn: what arrives per turn, and the first node's share of the drops."""
    choose = random.Random(seed)
    queues, drops = [0] * len(buffers), [0] * len(buffers)
    busy, arrived = [-1], 0
    for _ in range(turns):
        sender = busy[int(choose.random() * len(busy))]
        if sender >= 0:
            queues[sender] -= 1
            if queues[sender] == 0:
                busy.remove(sender)
        to = sender + 1
        if to == len(buffers):
            arrived += 1
        elif queues[to] == buffers[to]:
            drops[to] += 1
        else:
            queues[to] += 1
            if queues[to] == 1:
                busy.append(to)
    return arrived / turns, drops[0] / sum(drops)


@pytest.mark.parametrize(
    ("buffers", "least", "words"),
    [
        ([1] * 20, 0.35, "three fifths"),
        ([2] * 20, 0.10, "a fifth"),
        ([3] * 20, 0.05, "a tenth"),
        ([10] * 10, 0.0, "2 %"),
    ],
)
def test_beyond_its_states_the_command_says_how_far_it_is_off(
    buffers: list[int], least: float, words: str
) -> None:
    most = {"three fifths": 0.6, "a fifth": 0.2, "a tenth": 0.1, "2 %": 0.02}[words]
    assert not can_follow(buffers)
    figures = find("mesh-chain").evaluate(buffers=buffers)
    assert figures["caution"] == independence_caution(buffers)
    assert f"up to {words}," in figures["caution"]
    delivered, first = driven(buffers, 600_000)
    # 600 000 turns: a standard error of about 1 % where 2 % arrive.
    assert least - 0.03 <= 1 - figures["delivered_share"] / delivered <= most + 0.03
    assert -0.02 <= first - figures["drop_share"][0] <= 0.12


@pytest.mark.parametrize("buffers", LINES[:7])
def test_what_independence_costs(buffers: tuple[int, ...]) -> None:
    """As the model's validity says: nothing for one relay, and else at most so much."""
    full, shares, _ = followed_together(buffers)
    found = relay_queues(buffers)
    room = 1e-9 if len(buffers) == 1 else 0.1
    assert -1e-9 <= shares[0] - float(found.drop_shares[0]) <= room
    assert (found.full >= full - 1e-9).all()
    assert (found.full <= full + min(room, 0.06)).all()


def test_the_stated_shares_of_queues_followed_together() -> None:
    for buffers, together, here in (((3, 3, 3, 3), 0.56, 0.51), ((1, 2, 3, 4), 0.90, 0.82)):
        assert followed_together(buffers)[1][0] == pytest.approx(together, abs=5e-3)
        assert float(relay_queues(buffers).drop_shares[0]) == pytest.approx(here, abs=5.5e-3)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_what_a_node_takes_it_sends(buffers: list[int]) -> None:
    """Balance of each queue: arrivals at empty and at busy, less drops, equal departures."""
    found = relay_queues(buffers)
    first = first_arrivals(np.asarray(1 - found.empty))
    taken = found.empty * first + (1 - found.empty) * found.arrival - found.drops
    np.testing.assert_allclose(taken, found.delivered, rtol=1e-9)
    assert ((found.full > 0) & (found.full < 1)).all()


def first_arrivals(busy: np.ndarray) -> np.ndarray:
    """p_1,0 from the distribution of the number of busy nodes, by convolution."""
    q = [1.0, *busy.tolist()]
    found = []
    for i in range(1, len(q)):
        counts = np.array([1.0])
        for j, chance in enumerate(q):
            if j not in (i, i - 1):
                counts = np.convolve(counts, [1 - chance, chance])
        found.append(q[i - 1] * float(np.sum(counts / np.arange(1, len(counts) + 1))))
    return np.array(found)


def test_one_relay_by_hand() -> None:
    """It contends with the source: p_0 = p_1,+ = 1/2, p_1,0 = 1, so π = 1 : 2 : 2 : 2 over 7."""
    found = relay_queues([3])
    assert float(found.empty[0]) == pytest.approx(1 / 7)
    assert float(found.full[0]) == pytest.approx(2 / 7)


def test_weighted_buffers_move_drops_to_the_first_node() -> None:
    rules = (("equal", "none"), ("ratio", "nearest"), ("optimum", "best"), ("first-hop", "none"))
    shares = [
        float(relay_queues(allocate(10 if s != "equal" else 12, 4, s, r).packets).drop_shares[0])
        for s, r in rules
    ]
    assert shares == sorted(shares)


def test_arrays_of_chains_and_large_buffers() -> None:
    found = relay_queues([[3, 3, 3, 3], [2, 2, 3, 3]])
    assert found.full.shape == (2, 4)
    np.testing.assert_allclose(found.full[1], relay_queues([2, 2, 3, 3]).full, rtol=1e-12)
    large = relay_queues([1e9] * 4)
    assert np.isfinite(large.full).all()
    assert relay_queues([2] * 100).full.shape == (100,)


def test_an_iteration_that_does_not_settle_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_chain, "_ITERATIONS", 2)
    with pytest.raises(ConvergenceError, match="did not settle"):
        relay_queues([3, 3])


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: printed_transitions(1.1, 4), "empty"),
        (lambda: printed_transitions(0.5, 1), "nodes"),
        (lambda: printed_transitions(float("nan"), 4), "empty"),
        (lambda: printed_sum(0.5, 4, 0), "buffer"),
        (lambda: printed_solution(4, 1e300), "buffer"),
        (lambda: full_limit(-1), "buffer"),
        (lambda: relay_queues([]), "buffers"),
        (lambda: relay_queues(3), "buffers"),
        (lambda: relay_queues([0, 1]), "buffers"),
        (lambda: relay_queues([1.5]), "buffers"),
        (lambda: relay_queues([1] * 101), "buffers"),
        (lambda: joint_queues([[1, 2]]), "buffers"),
        (lambda: joint_queues([]), "buffers"),
        (lambda: joint_queues([0.5]), "buffers"),
        (lambda: joint_queues([3] * 20), "buffers"),
        (lambda: joint_queues([1e9] * 100), "buffers"),
        (lambda: MODEL.evaluate(buffers=[]), "buffers"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_commands_figures() -> None:
    found = MODEL.evaluate(buffers=[2, 2, 3, 3])
    assert set(found) == {output.name for output in MODEL.outputs}
    assert sum(found["drop_share"]) == pytest.approx(1)
