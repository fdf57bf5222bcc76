"""Intervals of rare counts: exact binomial and Poisson bounds, clusters, and how often they cover."""

import numpy as np
import pytest
from scipy import stats

from airqueue.models.batch_means import quotient, ratio_of, share_of
from airqueue.models.edca_slots import Slots, slots


@pytest.mark.parametrize("among", [30, 300, 30_000])
def test_without_any_event_the_interval_is_the_exact_one(among: int) -> None:
    """Clopper and Pearson: no event in N has a chance of 2.5 % at a share of 1 - 0.025^(1/N)."""
    whole = np.full(30, among / 30)
    none, all_ = share_of(np.zeros(30), whole), share_of(whole, whole)
    assert (none.mean, all_.mean) == (0, 1)
    exact = stats.beta.ppf(0.975, 1, among)
    assert exact <= none.half_width <= 1.1 * exact
    assert all_.half_width == none.half_width
    assert share_of(np.zeros(30), whole, event=4.0).half_width == pytest.approx(
        min(1.0, 4.0 * none.half_width)
    )
    assert share_of(np.zeros(4), np.ones(4)).half_width <= 1


@pytest.mark.parametrize("clusters", [0.5, 1.0, 3.0, 10.0, 30.0])
@pytest.mark.parametrize("size", [1, 10])
def test_few_clusters_are_covered(clusters: float, size: int) -> None:
    """Poisson's clusters of one event or ten: of 1000 intervals of 95 %, 900 or more cover the mean.

    Of clusters of ten those runs count that have one: without any, nothing tells their size.
    """
    draws = np.random.default_rng(3)
    whole = np.full(30, 1e6)
    covered = []
    while len(covered) < 1000:
        part = size * draws.poisson(clusters / 30, 30).astype(float)
        if part.any() or size == 1:
            covered.append(share_of(part, whole).covers(clusters * size / 30e6))
    assert sum(covered) >= 900


def test_one_cluster_has_poisson_s_interval() -> None:
    """Of one event: up to 5.57 of them, by Byar's approximation to 2 %, in whatever batches it is."""
    part = np.zeros(30)
    part[7] = 10.0
    found = share_of(part, np.full(30, 1e6))
    assert found.half_width / found.mean + 1 == pytest.approx(
        stats.chi2.ppf(0.975, 4) / 2, rel=0.05
    )


def test_many_events_have_the_interval_of_the_batches() -> None:
    draws = np.random.default_rng(1)
    part, whole = draws.poisson(4000.0, 30).astype(float), np.full(30, 10_000.0)
    alone = share_of(part, whole, merged=(1,))
    assert alone == quotient(part, whole)
    # Batches in pairs of pairs that are alike: three at a time have the larger scatter.
    alike = np.repeat(draws.poisson(4000.0, 10).astype(float), 3)
    assert share_of(alike, whole).half_width > 1.3 * quotient(alike, whole).half_width
    # Too few batches to merge, and batches that do not scatter at all.
    assert share_of(part[:4], whole[:4]).mean == pytest.approx(part[:4].sum() / 40_000)
    assert share_of(np.full(30, 10.0), np.full(30, 100.0)).half_width == 0


def test_a_ratio_has_the_errors_of_both() -> None:
    """Few of one against many: Poisson's upper end; many against one: the inverse of the lower."""
    many, few, whole = np.full(30, 1000.0), np.zeros(30), np.full(30, 1e6)
    few[4] = 1.0
    over, under = ratio_of(few, many, whole), ratio_of(many, few, whole, scale=2.0)
    assert over.mean == pytest.approx(1 / 30_000)
    assert over.half_width >= 0.99 * (stats.chi2.ppf(0.975, 4) / 2 - 1) / 30_000
    assert under.mean == pytest.approx(60_000)
    assert under.half_width >= 0.99 * (2 / stats.chi2.ppf(0.025, 2) - 1) * 60_000
    none = ratio_of(np.zeros(30), many, whole)
    assert none.mean == 0
    assert none.half_width == pytest.approx(-np.log(0.025) / 30_000, rel=0.05)
    draws = np.random.default_rng(2)
    one, other = (draws.poisson(40_000.0, 30).astype(float) for _ in range(2))
    assert ratio_of(one, other, whole).half_width == pytest.approx(
        quotient(one, other).half_width, rel=0.3
    )


def run(transmissions: int, seed: int) -> Slots:
    return slots([5, 5], [0, 22], transmissions=transmissions, seed=seed)


@pytest.mark.parametrize("transmissions", [300, 1000, 2000, 5000])
def test_shares_of_a_rare_class_are_covered(transmissions: int) -> None:
    """A class that gets one success in 1400: of 100 intervals of 95 %, 90 or more cover its share.

    The truth is a run that is a thousand times as long, with an error of some 2 %.
    """
    truth = run(5_000_000, 1000).success_share(1)
    assert truth.half_width < 0.1 * truth.mean
    runs = [run(transmissions, seed) for seed in range(1, 101)]
    for index, share in ((0, 1 - truth.mean), (1, truth.mean)):
        assert sum(each.success_share(index).covers(share) for each in runs) >= 90
    assert sum(each.packet_share(1).covers(truth.mean) for each in runs) >= 90
    # None is as good as certain that there are no successes.
    assert min(each.success_share(1).half_width for each in runs) > truth.mean / 2


@pytest.mark.parametrize(
    ("stations", "aifs", "cw_min", "transmissions"),
    [
        ([2, 1], [0, 31], 31, 2000),
        ([5, 5], [0, 16], 31, 5000),
        ([1, 3], [0, 2], [7, 31], 5000),
        ([1, 1], [0, 0], 31, 5000),
    ],
)
def test_other_shares_are_covered_too(
    stations: list[int], aifs: list[int], cw_min: int | list[int], transmissions: int
) -> None:
    truth = slots(stations, aifs, cw_min, transmissions=5_000_000).success_share(1).mean
    covered = sum(
        slots(stations, aifs, cw_min, transmissions=transmissions, seed=seed)
        .success_share(1)
        .covers(truth)
        for seed in range(1, 101)
    )
    assert covered >= 90
