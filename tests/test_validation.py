"""docs/validation.md is what the models and their references give today, and its claims hold."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from validation import ampdu, page, sleep
from validation.__main__ import SECONDS, SUBJECTS, TRANSMISSIONS, generate
from validation.claim import REFERENCES, Claim, Point, Verdict, simulated

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
    "Aggregation": lambda _: ampdu.claims(SECONDS / 2, ("n",)),
    "Sleep": lambda _: sleep.claims(),
}
"""Of every kind something: the whole page takes minutes."""


@pytest.mark.parametrize(
    "subject",
    [
        *("Frames and exchanges", "TCP and the web"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("Saturated stations", "EDCA", "Aggregation", "Sleep")
        ),
    ],
)
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


UNTOLD = {
    # One setting, whose reference in ns-2 has an error of 1.5 %.
    "Engine, behaviour ns2, TCP: three rates, all flows",
    # Two settings, in which the kernel marks one packet in 500.
    "PIE and Linux: marks",
}
"""Claims of which no setting can be told."""


@pytest.mark.long
def test_every_claim_that_can_be_told_holds(made):
    _, claims = made
    assert claims
    assert [claim.title for claim in claims if claim.counts[Verdict.DIFFERS]] == []
    assert {claim.title for claim in claims if not claim.holds} <= UNTOLD


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


def claim_of(*points: Point, tolerance: float = 0.1) -> Claim:
    return Claim("x", "X", "", "", "", tolerance, "", points)


def point(model: float, error: float, *, inside: bool = True) -> Point:
    return Point("p", 1, model, 1.0, error, inside)


@pytest.mark.parametrize(
    ("model", "error", "verdict"),
    [
        (1.1 - 1e-9, 0.05, Verdict.AGREES),
        (0.9 + 1e-9, 0.0, Verdict.AGREES),
        (1.0, 0.0501, Verdict.TOO_NOISY),  # nothing was found, and nothing could have been
        (1.1001, 0.01, Verdict.TOO_NOISY),  # beyond the tolerance, perhaps by chance
        (1.12 + 1e-9, 0.01, Verdict.DIFFERS),
        (0.88 - 1e-9, 0.01, Verdict.DIFFERS),
        (1.5, 0.19, Verdict.DIFFERS),  # not even wide intervals bridge this
        (0.6074, 0.27, Verdict.TOO_NOISY),
    ],
)
def test_a_setting_agrees_only_where_a_difference_would_have_been_seen(model, error, verdict):
    assert point(model, error).judge(0.1) is verdict


def test_the_least_tolerance_is_for_the_interval_too():
    assert Point("p", 1, 0.3, 0.2, 0.06).judge(0.1, absolute=0.1) is Verdict.TOO_NOISY
    assert Point("p", 1, 0.3 - 1e-9, 0.2, 0.05).judge(0.1, absolute=0.1) is Verdict.AGREES


def test_a_claim_holds_where_a_covered_setting_agrees_and_none_differs():
    good, noisy, far = point(1.0, 0.01), point(1.0, 0.2), point(1.2, 0.01)
    assert claim_of(good, noisy).holds
    assert not claim_of(good, far).holds
    assert not claim_of(noisy).holds
    assert claim_of(good, point(1.2, 0.01, inside=False)).holds
    assert claim_of(good, noisy, far).counts == dict.fromkeys(Verdict, 1)


def test_settings_that_cannot_be_told_are_counted_apart(tmp_path):
    good, noisy, far = point(1.01, 0.01), point(1.4, 0.3), point(1.2, 0.01)
    page.write({"S": [claim_of(good, noisy), claim_of(good, far), claim_of(noisy)]}, tmp_path)
    text = (tmp_path / "validation.md").read_text("utf-8")
    assert "Of 3 settings that can be told 2 agree with their reference and 1 differ." in text
    assert "2 settings are too noisy to tell. 1 of 3 claims hold." in text
    assert "**1 of 1 settings agree. 1 is too noisy to tell.**" in text
    assert "| 10 % | +1.00% | 1 |  | 1 | yes |" in text
    assert "| 10 % | +20.00% | 1 | 1 |  | **no** |" in text
    assert "| 10 % | - |  |  | 1 | cannot be told |" in text


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
