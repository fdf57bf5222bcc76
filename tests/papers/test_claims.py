"""The claim files: complete, checked, and each claim answered by one item."""

from __future__ import annotations

from collections import Counter

import pytest

from airqueue_papers import claim
from airqueue_papers.claim import PAPERS, Claim
from airqueue_papers.reproduction import paper

PRINTED = {"apq": 71, "rdqm": 25, "mesh": 131, "edca": 37, "http": 50, "anomaly": 27}
"""At least so many numbers, statements, settings and errors of print each paper has."""


@pytest.mark.parametrize(("name", "count"), PRINTED.items())
def test_nothing_printed_is_forgotten(name, count):
    assert len(claim.load(name).claims) >= count


@pytest.mark.parametrize("name", PAPERS)
def test_every_judged_claim_has_an_item(name):
    items = Counter(item.name for item in paper(name).items)
    assert all(count == 1 for count in items.values())
    judged = [each for each in claim.load(name).claims.values() if each.judged]
    assert {each.item for each in judged} <= items.keys()


@pytest.mark.parametrize("name", PAPERS)
def test_numbers_have_tolerances_with_reasons_and_statements_none(name):
    for each in claim.load(name).claims.values():
        if not each.judged:
            assert each.sort == "statement", each.id
        elif each.sort == "statement":
            assert each.tolerance == 0.0, each.id
        else:
            assert each.because, each.id


def entry(**changes):
    return {
        "id": "http.a.b",
        "item": "a",
        "kind": "table",
        "place": "Table 1",
        "quantity": "delay",
        "printed": 0.1,
        "unit": "s",
        "sort": "absolute",
        "tolerance": 0.25,
        "because": "an example",
        **changes,
    }


def test_an_entry_becomes_a_claim():
    made = claim.made("there", "http", entry(), {})
    assert isinstance(made, Claim)
    assert made.numbers == [0.1]
    assert made.judged


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tolerence": 0.1}, "there: http.a.b: unknown key tolerence"),
        ({"id": "mesh.a.b"}, "begins with http."),
        ({"kind": "number"}, "kind number"),
        ({"comparator": "~"}, "comparator ~"),
        ({"item": ""}, "no item answers it"),
        ({"because": ""}, "a reason for it"),
        ({"printed": "many"}, "a reason for it"),
        ({"sort": "size"}, "sort size"),
        ({"sort": "statement"}, "a statement has no tolerance"),
        ({"effects": (1.0,)}, "unknown key effects"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        claim.made("there", "http", entry(**changes), {})


def test_a_file_s_reason_stands_for_claims_without_one():
    made = claim.made("there", "http", entry(because=""), {"absolute": "the file's"})
    assert made.because == "the file's"


def test_an_effect_is_the_distance_to_what_a_number_is_compared_with():
    sized = claim.load("mesh").claims["mesh.table3.sized.goodput"]
    assert (sized.against, sized.effects) == ("mesh.table3.fifo50.goodput", (52.0,))
    kept = claim.load("mesh").claims["mesh.related.enachescu"]
    assert (kept.against, kept.effects) == (100, (15.0, 10.0))


@pytest.mark.parametrize("against", ["http.a.c", "http.a.words"])
def test_a_comparison_needs_a_number(monkeypatch, against):
    words = entry(id="http.a.words", printed="qualitative", sort="statement", tolerance=0.0)
    table = {"title": "", "authors": "", "claims": [words, entry(against=against)]}
    monkeypatch.setattr(claim.toml_text, "parse", lambda _: table)
    claim.load.cache_clear()
    try:
        with pytest.raises(ValueError, match=f"http.a.b: against {against}: this has no number"):
            claim.load("http")
    finally:
        claim.load.cache_clear()
