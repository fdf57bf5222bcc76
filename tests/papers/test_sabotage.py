"""Mechanisms switched off: each claim rests on one, and what is switched off changes its runs."""

from __future__ import annotations

import pytest

from airqueue import simulate
from airqueue_papers import mechanism
from airqueue_papers.claim import PAPERS, load
from airqueue_papers.item import Budget, Simulation
from airqueue_papers.mechanism import Mechanism, needs_grounds
from airqueue_papers.reproduction import Chosen, paper
from airqueue_papers.sabotage import sabotaged, sabotages

ALL = [each for name in PAPERS for each in mechanism.load(name).mechanisms]


@pytest.mark.parametrize("name", PAPERS)
def test_each_claim_rests_on_one_mechanism_or_prediction(name):
    needed = {each.id for each in load(name).claims.values() if needs_grounds(each)}
    assert set(mechanism.load(name).by_claim) == needed
    assert set(sabotages(name)) == {each.name for each in mechanism.load(name).mechanisms}


@pytest.mark.parametrize("name", PAPERS)
def test_a_prediction_is_of_the_claim_s_sort(name):
    for null in mechanism.load(name).nulls:
        for each in null.claims:
            statement = load(name).claims[each].sort == "statement"
            assert (null.holds is not None) == statement, each
            assert bool(null.prediction) != statement, each


def changes(before: Chosen, after: Chosen) -> bool:
    usual, off = (each.item.runs(Budget.QUICK) for each in (before, after))
    assert usual.keys() == off.keys()
    works = [[w.key for run in runs.values() for w in run.works()] for runs in (usual, off)]
    return works[0] != works[1] or before.item.compare is not after.item.compare


@pytest.mark.parametrize("of", ALL, ids=[each.full_name for each in ALL])
def test_each_item_changes_and_the_engine_accepts_it(of: Mechanism):
    items = {item.name: item for item in paper(of.paper).items}
    for each in sabotaged(of):
        assert changes(Chosen(of.paper, items[each.item.name]), each), each.name
        for run in each.item.runs(Budget.QUICK).values():
            if isinstance(run, Simulation):
                assert simulate.Scenario(run.scenario).description == run.scenario
