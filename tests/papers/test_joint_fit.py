"""The joint fit: what it tries, that held-out cells do not choose, and its file and page."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from airqueue import simulate
from airqueue.runs import Local, Store
from airqueue_papers.item import Budget
from airqueue_papers.mesh import networks as paper
from airqueue_papers.mesh.several import table_runs
from validation.joint_fit import networks, page, search
from validation.joint_fit.parameters import Length, error, read
from validation.joint_fit.search import DRAWN, FINAL, Evaluated, Search

PLAN = read()
SCHEMES = {scheme.name: scheme for scheme in paper.SCHEMES}
DOCS = Path(__file__).parents[2] / "docs"


def test_half_of_each_table_is_held_out_by_the_seed():
    assert len(PLAN.cells) == 33
    for table in PLAN.tables:
        own = {cell.claim for cell in PLAN.cells if cell.table == table}
        assert len(own & PLAN.held_out) == len(own) // 2
    assert PLAN.held_out == read().held_out


def test_settings_are_drawn_once_and_the_usual_one_is_first():
    drawn = PLAN.drawn()
    assert drawn[0] == PLAN.usual
    assert len(drawn) == len(set(drawn)) == PLAN.settings + 1
    assert drawn == PLAN.drawn()
    assert all(PLAN.values(setting) for setting in drawn)


def test_neighbours_differ_in_one_parameter():
    near = [*PLAN.neighbours(PLAN.usual)]
    assert len(near) == len(set(near)) == sum(len(of.values) - 1 for of in PLAN.parameters)
    for each in near:
        assert sum(a != b for a, b in zip(each, PLAN.usual, strict=True)) == 1


def described(setting):
    return {
        (cell.table, cell.scheme): networks.described(PLAN, setting, cell.table, cell.scheme, 60)
        for cell in PLAN.cells
    }


def test_the_usual_setting_is_that_of_the_reproduction():
    usual = described(PLAN.usual)
    for name, scheme in SCHEMES.items():
        assert usual["table3", name] == paper.scheme_chain(4, 130.0, 60, scheme)
        assert usual["table4", name] == paper.scheme_chain(4, 200.0, 60, scheme)
        for table in ("table6", "table8", "table9"):
            assert usual[table, name] == table_runs(table, Budget.QUICK)[name].scenario


@pytest.mark.parametrize("setting", [*PLAN.neighbours(PLAN.usual)], ids="-".join)
def test_every_value_changes_something_and_the_engine_accepts_it(setting):
    changed = described(setting)
    usual = described(PLAN.usual)
    different = {name for name in usual if usual[name] != changed[name]}
    reading = [v.kilo for v in PLAN.values(setting)] != [v.kilo for v in PLAN.values(PLAN.usual)]
    assert bool(different) != reading
    for name in different:
        assert simulate.Scenario(changed[name]).description == changed[name]


def test_an_error_counts_too_much_and_too_little_alike():
    first, second = PLAN.cells[:2]
    ours = {first.claim: 2 * first.printed, second.claim: second.printed / 2}
    claims = [first.claim, second.claim]
    assert error(PLAN, ours, claims) == pytest.approx(math.log(2))
    assert error(PLAN, {**ours, first.claim: 0.0}, claims[:1]) == pytest.approx(math.log(1000))


def made_up(monkeypatch, held_out_seed):
    """A search in a world where every step towards one hidden setting comes nearer to the print."""
    hidden = tuple(of.values[-1].name for of in PLAN.parameters)
    noise = random.Random(held_out_seed)

    def simulated(_, settings, __):
        for setting in settings:
            off = 1 + sum(a != b for a, b in zip(setting, hidden, strict=True)) / 10
            yield {
                cell.claim: cell.printed * (noise.random() if cell.claim in PLAN.held_out else off)
                for cell in PLAN.cells
            }

    monkeypatch.setattr(Search, "_simulated", simulated)
    return hidden, Search(PLAN, Store("unused"), Local(1), lambda _: None).run()


@pytest.mark.long
def test_the_search_finds_what_the_fitted_cells_ask_for_whatever_the_held_out_ones_are(monkeypatch):
    hidden, one = made_up(monkeypatch, 1)
    _, other = made_up(monkeypatch, 2)
    assert [(e.stage, e.setting) for e in one] == [(e.stage, e.setting) for e in other]
    final = [each.setting for each in one if each.stage == FINAL]
    assert final[:2] == [PLAN.usual, hidden]
    assert len(final) == PLAN.finalists + 1
    assert {e.setting for e in one if e.stage == DRAWN} == set(PLAN.drawn())


def test_a_file_is_read_as_it_was_written():
    cells = {cell.claim: float(at + 1) for at, cell in enumerate(PLAN.cells)}
    found = [Evaluated(DRAWN, PLAN.usual, cells), Evaluated(FINAL, PLAN.usual, cells)]
    assert search.read(PLAN, search.written(PLAN, found)) == found


def test_a_table_is_explained_if_all_its_cells_are_near():
    exact = {cell.claim: cell.printed for cell in PLAN.cells}
    away = exact | {"mesh.table4.sized.rtt": 1.26 * exact["mesh.table4.sized.rtt"]}
    assert page.explained(PLAN, Evaluated(FINAL, PLAN.usual, exact)) == [*PLAN.tables]
    assert "table4" not in page.explained(PLAN, Evaluated(FINAL, PLAN.usual, away))
    assert "table3" in page.explained(PLAN, Evaluated(FINAL, PLAN.usual, away))


def stored():
    return search.read(PLAN, search.FILE.read_text("utf-8"))


def test_the_page_is_that_of_the_file():
    text = (DOCS / "reproduction.md").read_text("utf-8")
    assert page.replaced(text, PLAN, stored()) == text
    with pytest.raises(ValueError, match="has no place for the joint fit"):
        page.replaced("# A page\n", PLAN, stored())


def test_the_file_is_of_this_plan():
    assert [each.setting for each in stored() if each.stage == DRAWN] == PLAN.drawn()


@pytest.mark.parametrize("at", [pytest.param(0, marks=pytest.mark.long), -1])
def test_the_engine_finds_what_the_file_has(at, tmp_path):
    """The first and the last of the drawn settings."""
    chosen = [PLAN.drawn()[at]]
    by_setting = {each.setting: each for each in stored() if each.stage == DRAWN}
    found = Search(PLAN, Store(tmp_path), Local(1), lambda _: None)
    length = Length(PLAN.search.seconds, PLAN.search.replications)
    for setting, cells in zip(chosen, found._simulated(chosen, length), strict=True):
        for claim, ours in cells.items():
            assert ours == pytest.approx(by_setting[setting].cells[claim], rel=1e-4), claim
