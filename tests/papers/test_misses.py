"""A sentence for each miss, and settings that are tried for whole items."""

from __future__ import annotations

import io

import pytest

from airqueue.cli.common import Results
from airqueue_papers import challenge, command_tables, miss, tried
from airqueue_papers.claim import PAPERS, load
from airqueue_papers.reproduction import Reproduced, choose
from airqueue_papers.tried import AS_JUDGED, COUNTED, Tried
from airqueue_papers.verdict import Record, Verdict


@pytest.mark.parametrize("paper", PAPERS)
def test_each_miss_has_a_sentence_and_nothing_else_has(paper):
    """Of the campaign with the full budget, whose outcome the distribution has."""
    missed = {each.claim.id for each in challenge.records() if each.missed}
    assert set(miss.load(paper)) == {name for name in missed if name.startswith(f"{paper}.")}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_sentence_is_a_clause_about_known_claims(paper):
    for name, why in miss.load(paper).items():
        assert name in load(paper).claims
        assert why == why.strip() and not why.endswith(".") and why != miss.UNEXPLAINED, name


def test_a_miss_without_a_sentence_is_unexplained_and_a_hit_needs_none():
    claim = load("http").claims["http.fig5.gain"]
    assert claim.id not in miss.load("http")
    assert Record(claim, Verdict.NOT_REPRODUCED, "").why == miss.UNEXPLAINED
    assert Record(claim, Verdict.OTHER_NUMBER, "").why == miss.UNEXPLAINED
    assert Record(claim, Verdict.REPRODUCED, "").why == ""
    of_nb = Record(load("http").claims["http.nb_multi"], Verdict.NOT_REPRODUCED, "")
    assert of_nb.to_json()["why_missed"] == of_nb.why == miss.load("http")["http.nb_multi"]


def test_a_claim_has_one_sentence(monkeypatch):
    entry = {"claims": ["http.nb_multi"], "why": "no reason"}
    monkeypatch.setattr(miss.toml_text, "parse", lambda _: {"misses": [entry, entry]})
    miss.load.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"misses/http.toml: http.nb_multi is there twice"):
            miss.load("http")
    finally:
        miss.load.cache_clear()


def test_the_file_has_each_setting_of_each_item():
    rows = tried.read(tried.kept())
    expected = [
        (each.name, words)
        for each in choose()
        if each.item.settings
        for words in (AS_JUDGED, *(setting.words for setting in each.item.settings))
    ]
    assert [(row.item, row.setting) for row in rows] == expected
    totals = {row.item: set() for row in rows}
    for row in rows:
        totals[row.item].add(sum(row.counts))
    assert all(len(found) == 1 for found in totals.values()), totals


def test_rows_are_read_as_they_were_written():
    rows = [Tried("mesh.table3", AS_JUDGED, (1, 2, 0, 3)), Tried("mesh.table3", "else", (0,) * 4)]
    assert tried.read(tried.written(rows)) == rows
    verdicts = rows[0].to_json()["verdicts"]
    assert list(verdicts) == [each.value for each in COUNTED]


@pytest.mark.parametrize(
    ("reproduced", "said"),
    [
        (
            1,
            "Of 6 numbers 2 are reproduced as judged, and no more with any other setting for all of",
        ),
        (3, "Of 6 numbers 2 are reproduced as judged, and 3 with a wider window."),
    ],
)
def test_the_sentence_names_a_setting_that_explains_more(reproduced, said):
    rows = [
        Tried("mesh.table3", AS_JUDGED, (2, 1, 1, 2)),
        Tried("mesh.table3", "with a wider window", (reproduced, 1, 1, 4 - reproduced)),
    ]
    assert tried.sentence(rows).startswith(said)


def test_the_command_tells_why_and_what_settings_explain():
    record = Record(load("http").claims["http.nb_multi"], Verdict.NOT_REPRODUCED, "Two nodes.")
    rows = [Tried("http.fig4", AS_JUDGED, (2, 1, 0, 0)), Tried("http.fig4", "else", (3, 0, 0, 0))]
    (chosen,) = choose(["http.fig4"])
    out = io.StringIO()
    console = Results()
    console.file = out
    command_tables.show(console, [Reproduced(chosen, {}, [record], (), (), rows)])
    shown = out.getvalue()
    assert f"Two nodes. Why missed: {record.why}." in shown
    assert "one setting for all numbers" in shown
    assert "Of 3 numbers 2 are reproduced as judged, and 3 else." in shown
