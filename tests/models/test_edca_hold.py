"""The hold chain: worked tables, the chain solved state by state in fractions, identities, limits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.edca_classes import classes
from airqueue.models.edca_hold import MODEL, HoldChain, hold_chain
from airqueue.models.edca_solver import attempts_fixed_point
from airqueue.models.errors import ConvergenceError, ParameterError


@pytest.mark.parametrize("row", rows("edca_aifs"), ids=lambda row: row["aifs_slots"])
def test_the_worked_table_of_aifs(row: dict[str, str]) -> None:
    ratio = float(hold_chain([1, 1], [0, int(row["aifs_slots"])]).ratio(0, 1))
    assert ratio == pytest.approx(float(row["model"]), abs=half_unit(row["model"]))


@pytest.mark.parametrize("row", rows("edca_windows"), ids=lambda row: row["cw_min"])
def test_the_worked_table_of_windows(row: dict[str, str]) -> None:
    ratio = float(hold_chain([1, 1], 0, [int(row["cw_min"]) - 1, 31]).ratio(0, 1))
    assert ratio == pytest.approx(float(row["model"]), abs=half_unit(row["model"]))


def test_the_worked_three_classes() -> None:
    success = hold_chain([2, 5, 5], [0, 1, 4], [7, 15, 31]).station_success_per_slot
    for value, printed in zip(success, ("0.107611", "0.0175037", "0.00109950"), strict=True):
        assert float(value) == pytest.approx(float(printed), abs=half_unit(printed))


@pytest.mark.parametrize(
    ("n", "p"), [(2, "0.05704"), (3, "0.10456"), (5, "0.17808"), (10, "0.28977"), (20, "0.39878")]
)
def test_one_class_is_bianchi(n: int, p: str) -> None:
    chain = hold_chain(n, 0, 31, 1023, retries=None)
    assert chain.collision_probability.shape == (1,)
    assert float(chain.collision_probability[0]) == pytest.approx(float(p), abs=half_unit(p))


def state_by_state(chain: HoldChain, aifs: list[int]) -> tuple[list[Fraction], ...]:
    """p_i, P_hold and successes per slot from the chain's transition matrix, exact in fractions.

    State j counts idle slots; an idle slot leads to j + 1 (or stays at the last), any transmission
    to 0. The stationary distribution is solved from its balance equations, not from a product.
    """
    tau = [Fraction(float(t)) for t in chain.attempt_probability]
    n = [int(k) for k in chain.stations]
    last = max(aifs)

    def idle(j: int, without: int | None = None) -> Fraction:
        product = Fraction(1)
        for i, (count, t) in enumerate(zip(n, tau, strict=True)):
            if aifs[i] <= j:
                product *= (1 - t) ** (count - (i == without))
        return product

    # Unnormalised: inflow of state j > 0 is idle(j-1) of j-1 (and of itself, for the last).
    weight = [Fraction(1)]
    for j in range(1, last + 1):
        stay = idle(j) if j == last else Fraction(0)
        weight.append(weight[-1] * idle(j - 1) / (1 - stay))
    if last == 0:
        weight = [Fraction(1)]
    pi = [w / sum(weight) for w in weight]
    # The balance of state 0 was not used: it must hold by itself.
    into_zero = sum((pi[j] * (1 - idle(j)) for j in range(last + 1)), Fraction(0))
    assert into_zero == pi[0] or last == 0
    p, hold, success = [], [], []
    for i, t in enumerate(tau):
        free = sum(pi[aifs[i] :], Fraction(0))
        alone = sum((pi[j] * idle(j, without=i) for j in range(aifs[i], last + 1)), Fraction(0))
        p.append(1 - alone / free)
        hold.append(1 - free)
        success.append(t * alone)
    return p, hold, success


def bianchi_tau(p: Fraction, w_min: int, w_max: int, retries: int) -> Fraction:
    """Attempts over slots, stage by stage."""
    stages = range(retries + 1)
    slots = sum(p**k * Fraction(min(2**k * w_min, w_max) + 1, 2) for k in stages)
    return Fraction(sum(p**k for k in stages)) / slots


@pytest.mark.parametrize(
    ("n", "aifs", "cw_min", "cw_max", "retries"),
    [
        ([1, 1], [0, 7], [31, 31], 1023, 7),
        ([2, 3, 1], [1, 0, 3], [7, 15, 31], 63, 4),
        ([4, 2], [0, 2], [4, 10], 39, 0),
        ([3], [0], [15], 1023, 7),
    ],
)
def test_the_chain_s_own_equations_hold(
    n: list[int], aifs: list[int], cw_min: list[int], cw_max: int, retries: int
) -> None:
    chain = hold_chain(n, aifs, cw_min, cw_max, retries=retries)
    p, hold, success = state_by_state(chain, aifs)
    for i, largest in enumerate(cw_min):
        assert float(chain.collision_probability[i]) == pytest.approx(float(p[i]), rel=1e-11)
        assert float(chain.hold_probability[i]) == pytest.approx(float(hold[i]), abs=1e-12)
        assert float(chain.station_success_per_slot[i]) == pytest.approx(
            float(success[i]), rel=1e-11
        )
        tau = bianchi_tau(p[i], largest + 1, cw_max + 1, retries)
        assert float(chain.attempt_probability[i]) == pytest.approx(float(tau), rel=1e-11)


@pytest.mark.parametrize("aifs", [0, 1, 4, 20])
def test_two_classes_have_the_published_hold_probability(aifs: int) -> None:
    chain = hold_chain([3, 2], [0, aifs], [15, 31])
    silent = (1 - chain.attempt_probability) ** chain.stations
    terms = sum(float(silent[0]) ** -j for j in range(1, aifs + 1))
    expected = terms / (1 / (1 - float(silent[0] * silent[1])) + terms)
    assert float(chain.hold_probability[1]) == pytest.approx(expected, abs=1e-12)
    assert float(chain.hold_probability[0]) == 0


NETWORKS = st.lists(
    st.tuples(st.integers(1, 20), st.integers(0, 12), st.integers(1, 63)), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=40)
@given(NETWORKS, st.integers(0, 100))
def test_laws(network: list[tuple[int, int, int]], shift: int) -> None:
    n, aifs, cw_min = (list(column) for column in zip(*network, strict=True))
    chain = hold_chain(n, aifs, cw_min)
    # A slot is idle, a success, or a collision.
    assert 0 < float(chain.idle_probability) < 1
    assert float(chain.idle_probability + chain.success_per_slot.sum()) <= 1 + 1e-12
    assert float(chain.success_share.sum()) == pytest.approx(1)
    # Only differences of AIFS matter, and the order of the classes does not.
    shifted = hold_chain(n, [d + shift for d in aifs], cw_min)
    assert np.array_equal(shifted.success_share, chain.success_share)
    reversed_ = hold_chain(n[::-1], aifs[::-1], cw_min[::-1])
    assert reversed_.success_share[::-1] == pytest.approx(chain.success_share, rel=1e-9)
    # A class may be written as two equal ones.
    split = hold_chain([*n, n[0]], [*aifs, aifs[0]], [*cw_min, cw_min[0]])
    joined = hold_chain([2 * n[0], *n[1:]], aifs, cw_min)
    assert split.collision_probability[0] == pytest.approx(
        joined.collision_probability[0], rel=1e-9
    )
    assert split.collision_probability[-1] == pytest.approx(
        split.collision_probability[0], rel=1e-9
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 10), st.integers(1, 10), st.integers(1, 63))
def test_a_longer_aifs_gets_less(high: int, low: int, cw_min: int) -> None:
    aifs = np.stack([np.zeros(13), np.arange(13)], axis=-1)
    assert (np.diff(hold_chain([high, low], aifs, cw_min).success_share[:, 1]) < 0).all()


def test_stations_that_always_transmit() -> None:
    """Windows of one value: alone it has everything; two only collide; a longer AIFS never starts."""
    alone = hold_chain(1, 0, 0, 0)
    assert float(alone.success_per_slot[0]) == 1
    both = hold_chain(2, 0, 0, 0)
    assert float(both.collision_probability[0]) == 1
    assert float(both.success_per_slot[0]) == 0
    with pytest.raises(ConvergenceError, match="every attempt collides"):
        _ = both.success_share
    shut_out = hold_chain([1, 4], [0, 3], [0, 31], [0, 1023])
    assert shut_out.success_share.tolist() == [1, 0]
    assert 0 < float(shut_out.collision_probability[1]) <= 1
    with pytest.raises(ConvergenceError, match="ratio"):
        shut_out.ratio(0, 1)


def test_points_are_solved_alike_alone_and_together() -> None:
    n = np.linspace(1, 40, 30)[:, np.newaxis, np.newaxis]
    aifs = np.stack([np.zeros(120), np.arange(120) % 50], axis=-1)
    chain = hold_chain(n, aifs, [15, 31])
    assert chain.attempt_probability.shape == (30, 120, 2)
    assert chain.idle_probability.shape == (30, 120)
    one = hold_chain(float(n[7, 0, 0]), aifs[33], [15, 31])
    assert one.success_share == pytest.approx(chain.success_share[7, 33], rel=1e-11)
    assert float(one.idle_probability) == pytest.approx(float(chain.idle_probability[7, 33]))


def test_an_iteration_that_does_not_settle_says_so() -> None:
    with pytest.raises(ConvergenceError, match="does not settle"):
        attempts_fixed_point(
            lambda x, _: np.where(x < 0.5, 0.9, 0.1), classes(1, 0, 7, 7), what="unknown"
        )


def test_extreme_classes_are_solved() -> None:
    """From one station to a million, windows from one value up, AIFS hundreds of slots apart."""
    chance = np.random.default_rng(1)
    shape = (100, 3)
    stations = np.floor(10 ** chance.uniform(0, 6, shape))
    w_min = np.floor(2 ** chance.uniform(0, 14, shape))
    aifs = chance.integers(0, 300, shape)
    for retries in (None, 0, 7, 10**9):
        chain = hold_chain(stations, aifs, w_min - 1, 64 * w_min - 1, retries=retries)
        assert ((chain.collision_probability >= 0) & (chain.collision_probability <= 1)).all()
        assert ((chain.attempt_probability > 0) & (chain.attempt_probability <= 1)).all()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"stations": 0}, "stations"),
        ({"stations": []}, "stations"),
        ({"stations": [1] * 65, "aifs_slots": 0}, "stations"),
        ({"stations": [1, float("nan")]}, "stations"),
        ({"aifs_slots": [0, 1.5]}, "aifs_slots"),
        ({"aifs_slots": [0, -1]}, "aifs_slots"),
        ({"cw_min": -0.5}, "cw_min"),
        ({"cw_min": 63, "cw_max": 31}, "cw_max"),
        ({"cw_max": 1e300}, "cw_max"),
        ({"retries": -1}, "retries"),
        ({"stations": [1, 1, 1], "aifs_slots": [0, 1]}, "stations"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        hold_chain(**{"stations": [1, 1], "aifs_slots": [0, 1], **arguments})
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    given_ = {p.name: p.default for p in MODEL.parameters}
    figures = MODEL.evaluate(**given_)
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["within_validity"] is True
    assert figures["note"] == ""
    far = MODEL.evaluate(**{**given_, "aifs_slots": [0, 20]})
    assert far["within_validity"] is False
    assert "edca-slots" in far["note"]
