"""The numbers of docs/gallery.md are those of the stored claims, and these are today's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from airqueue.runs import Local, Store
from airqueue_papers import document
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import choose, reproduce
from airqueue_papers.tally import tally
from airqueue_papers.verdict import counts
from validation import gallery

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def stored():
    """The reproduction that the gallery shows."""
    return json.loads((DOCS / "gallery" / gallery.CLAIMS).read_text("utf-8"))


def test_the_gallery_s_claims_are_those_of_today(stored):
    """Print, tolerance, and the verdict without the mechanism; `make gallery` otherwise."""
    jsonschema.Draft202012Validator(document.schema()).validate(stored)
    again = [each.to_json() for each in document.records(stored)]
    assert again == stored["claims"]
    judged = {each.id for chosen in choose() for each in chosen.claims}
    assert judged <= {each["id"] for each in again}
    assert {each.name for each in choose()} <= set(stored["items"])


def test_the_gallery_s_numbers_are_those_of_its_claims(stored):
    page = (DOCS / "gallery.md").read_text("utf-8")
    assert f"with the budget `{stored['budget']}`" in page
    records = [*document.records(stored)]
    assert stored["tally"] == json.loads(json.dumps(tally(records).to_json()))
    assert stored["verdicts"] == counts(records)
    by_paper: dict[str, list] = {}
    for each in records:
        by_paper.setdefault(each.claim.id.partition(".")[0], []).append(each)
    assert gallery.summary(by_paper) in page
    said = re.findall(r"\n\n(.*)`airqueue reproduce (\S+)\.(\S+) --", page)
    assert len(said) == len(gallery.SHOWN)
    for words, paper, item in said:
        of_item = [each for each in by_paper.get(paper, []) if each.claim.item == item]
        assert words == gallery.counted(of_item), f"{paper}.{item}"


SAMPLE = ["apq.fig9", "http.fig5", "http.fig13", "mesh.paced"]
"""Items that take seconds with any budget: a measurement, formulas, simulations."""


def test_a_sample_of_the_gallery_s_claims_is_what_the_program_finds(stored, tmp_path):
    by_claim = {each["id"]: each for each in stored["claims"]}
    done = reproduce(choose(SAMPLE), Budget(stored["budget"]), Store(tmp_path), Local(1))
    found = [record for each in done for record in each.records]
    assert len(found) >= len(SAMPLE)
    for record in found:
        assert json.loads(json.dumps(record.to_json())) == by_claim[record.claim.id]
