"""Mechanisms switched off: each claim rests on one, and what is switched off changes its runs."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue import simulate
from airqueue.runs import Local, Store
from airqueue_papers import challenge, mechanism, tried
from airqueue_papers.challenge import Row
from airqueue_papers.claim import PAPERS, load
from airqueue_papers.command import reproduce_command
from airqueue_papers.item import Budget, Simulation
from airqueue_papers.mechanism import Mechanism, needs_grounds
from airqueue_papers.reproduction import Chosen, paper
from airqueue_papers.sabotage import campaign, chosen_for, sabotaged, sabotages
from airqueue_papers.verdict import Verdict
from validation import sabotage as validation

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


SAMPLE = ["apq.host-ap", "http.fig5", "http.fig13", "mesh.paced"]
"""Items with five mechanisms and seven claims; a few seconds of work, since exact runs are kept."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("sabotage") / "runs")


def test_a_sample_of_the_campaign_is_that_of_the_file(store):
    done = campaign(chosen_for(SAMPLE), Budget.QUICK, store, Local(1))
    file = resources.files("airqueue_papers").joinpath(challenge.FILE).read_text("utf-8")
    kept = {row.claim: row for row in challenge.read(file)}
    assert {row.claim for row in done.rows} == {
        *("apq.val.kernel.accurate", "apq.val.kernel.tight"),
        *("http.fig5.gain", "http.fig13.window", "mesh.text.paced", "mesh.text.unpaced"),
    }
    for row in done.rows:
        of = kept[row.claim]
        assert (row.verdict, row.without) == (of.verdict, of.without), row.claim
        # Each of these falls, with the runs of before as with these.
        assert row.without is Verdict.NOT_REPRODUCED


def test_a_campaign_goes_on_where_it_was_stopped(store):
    seen = []
    campaign(chosen_for(SAMPLE), Budget.QUICK, store, Local(1), seen.append)
    first = seen[-1]
    assert first.kept == first.pieces
    again = campaign(chosen_for(SAMPLE), Budget.QUICK, store, Local(1))
    assert again.rows == campaign(chosen_for(SAMPLE), Budget.QUICK, store, Local(1)).rows


def test_the_command_tells_what_stands(store):
    def run(*arguments):
        out = ("--out", str(store.path.parent), "--workers", "1")
        return CliRunner().invoke(reproduce_command, [*SAMPLE, "--sabotage", *out, *arguments])

    table = run()
    assert table.exit_code == 0, table.output
    assert "http.delayed-acks: every receiver acknowledges each segment" in table.stdout
    written = json.loads(run("--json", "-").stdout)
    assert written["format"] == "airqueue-sabotage"
    assert written["tally"]["discriminating"] == len(written["claims"]) == 6
    assert all(each["reason_without"] for each in written["claims"])
    none = CliRunner().invoke(reproduce_command, ["beyond.queue", "--sabotage"])
    assert none.exit_code == 2 and "beyond.queue has none" in none.stderr
    refused = run("--exact")
    assert refused.exit_code == 2 and "leave --exact out" in refused.stderr


def test_every_challenged_claim_is_in_the_file():
    for name in PAPERS:
        for of in mechanism.load(name).mechanisms:
            for each in of.claims:
                assert challenge.challenge_of(load(name).claims[each]) is not None, each


def test_rows_of_other_papers_stay_and_all_are_in_the_papers_order():
    def row(name: str, verdict: Verdict) -> Row:
        return Row(name, "", verdict, (), None, ())

    old = [row(f"{paper}.a", Verdict.REPRODUCED) for paper in ("apq", "http", "anomaly")]
    new = [row("http.b", Verdict.UNDECIDED)]
    both = validation.with_others(new, old, lambda each: each.claim.partition(".")[0], {"http"})
    assert [each.claim for each in both] == ["apq.a", "http.b", "anomaly.a"]


def test_rows_are_read_as_they_were_written():
    rows = [
        Row(
            "http.table3.d2",
            "http.delayed-acks",
            Verdict.REPRODUCED,
            (0.1,),
            Verdict.UNDECIDED,
            (2.0,),
        ),
        Row("http.pc2", "", Verdict.REPRODUCED, (1.0, 2.5), None, ()),
    ]
    assert challenge.read(challenge.written(rows)) == rows


def test_a_row_of_another_mechanism_is_none(monkeypatch):
    claim = load("http").claims["http.fig5.gain"]
    row = Row(claim.id, "http.large-window", Verdict.REPRODUCED, (), Verdict.REPRODUCED, ())
    monkeypatch.setattr(challenge, "_rows", lambda: {claim.id: row})
    assert challenge.challenge_of(claim) is None


def test_the_page_is_that_of_the_file():
    page = Path(validation.__file__).parents[1] / "docs" / "reproduction.md"
    file = resources.files("airqueue_papers").joinpath(challenge.FILE).read_text("utf-8")
    text = page.read_text("utf-8")
    settings = tried.read(tried.kept())
    assert validation.replaced(text, challenge.read(file), settings) == text
    with pytest.raises(ValueError, match="has no place for the counts"):
        validation.replaced("# A page\n", [], [])
