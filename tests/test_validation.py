"""docs/validation.md is what the models and their references give today, and its claims hold."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from validation import ampdu, page
from validation.__main__ import SECONDS, SUBJECTS, TRANSMISSIONS, generate
from validation.claim import REFERENCES, Claim, Point, simulated

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page computed anew, and its claims."""
    folder = tmp_path_factory.mktemp("validation")
    found = generate(folder)
    return folder, [claim for claims in found.values() for claim in claims]


SAMPLE = {
    **{
        name: SUBJECTS[name]
        for name in ("Frames and exchanges", "Saturated stations", "EDCA", "TCP and the web")
    },
    "Aggregation": lambda _: ampdu.claims(SECONDS / 2),
}
"""Of every kind something: the whole page takes minutes."""


@pytest.mark.parametrize("subject", SAMPLE)
def test_a_sample_of_the_page_is_up_to_date_and_holds(subject):
    written = (DOCS / "validation.md").read_text("utf-8")
    for claim in SAMPLE[subject](TRANSMISSIONS):
        assert claim.holds, claim.title
        assert page.section(claim).rstrip() in written, claim.title


@pytest.mark.long
def test_the_page_is_up_to_date(made):
    folder, _ = made
    assert (folder / "validation.md").read_text("utf-8") == (DOCS / "validation.md").read_text(
        "utf-8"
    ), "run make validation, read what changed, and commit it"


@pytest.mark.long
def test_every_claim_holds(made):
    _, claims = made
    assert claims
    assert [claim.title for claim in claims if not claim.holds] == []


@pytest.mark.long
def test_every_range_has_something_in_it(made):
    _, claims = made
    assert all(claim.covered for claim in claims)
    assert len({claim.name for claim in claims}) == len(claims)


@pytest.mark.long
def test_figures_are_there_and_shown(made):
    folder, claims = made
    drawn = {path.name for path in (folder / "validation").glob("*.svg")}
    assert drawn == {f"{claim.name}.svg" for claim in claims if claim.figure}
    assert drawn == {path.name for path in (DOCS / "validation").glob("*.svg")}
    page = (folder / "validation.md").read_text("utf-8")
    assert all(f"](validation/{name})" in page for name in drawn)


def test_a_claim_fails_where_a_covered_point_differs():
    far = Point("far", 1, 1.2, 1.0, 0.01)
    assert not far.agrees(0.1)
    assert far.agrees(0.18)  # with two standard errors
    claim = Claim("x", "X", "", "", "", 0.1, "", [far])
    assert not claim.holds
    assert Claim("x", "X", "", "", "", 0.1, "", [Point("far", 1, 1.2, 1, 0.01, False)]).holds


def references() -> list[dict[str, str]]:
    return list(csv.DictReader(REFERENCES.open(encoding="utf-8", newline="")))


def test_every_reference_is_described():
    rows = references()
    assert len({row["name"] for row in rows}) == len(rows)
    assert all(row["setting"] and row["quantity"] and row["simulator"] for row in rows)


@pytest.mark.long
@pytest.mark.usefixtures("made")
def test_every_reference_is_used():
    assert simulated.cache_info().currsize == len(references())
