"""What `airqueue reproduce --json` writes, and its schemas."""

from __future__ import annotations

import copy
import json
from dataclasses import fields

import jsonschema
import pytest
from click.testing import CliRunner

from airqueue_papers import document
from airqueue_papers.claim import COMPARATORS, SORTS
from airqueue_papers.command import reproduce_command
from airqueue_papers.item import Budget
from airqueue_papers.tally import Tally
from airqueue_papers.verdict import KINDS, Verdict, counts


def accept(written, of=document.FORMAT):
    """Raise unless the schema of a format accepts a document; it may refer to nothing outside."""
    jsonschema.Draft202012Validator(document.schema(of)).validate(written)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return str(tmp_path_factory.mktemp("document"))


@pytest.fixture(scope="module")
def written(out):
    """A measurement, formulas of the APQ paper, and simulations of the HTTP paper."""
    arguments = [*("apq.fig9", "apq.discussion", "http.fig5"), "--out", out, "--json", "-"]
    done = CliRunner().invoke(reproduce_command, arguments, catch_exceptions=False)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", document.SCHEMAS)
def test_a_schema_is_one_and_the_command_prints_it(name):
    sabotage = ["--sabotage"] if name == document.SABOTAGE_FORMAT else []
    printed = CliRunner().invoke(reproduce_command, ["--schema", *sabotage], catch_exceptions=False)
    assert json.loads(printed.stdout) == document.schema(name)
    jsonschema.Draft202012Validator.check_schema(document.schema(name))
    with pytest.raises(jsonschema.ValidationError):
        accept({"format": "another"}, name)


def test_the_schema_has_the_words_of_the_program(written):
    of = document.schema()["$defs"]
    assert of["verdict"]["enum"] == [*Verdict]
    assert of["counted_as"]["enum"] == [*KINDS]
    assert of["sort"]["enum"] == [*SORTS]
    assert of["budget"]["enum"] == [*Budget]
    assert of["claim"]["properties"]["comparator"]["enum"] == [*COMPARATORS]
    assert (
        of["tally"]["required"] == [*of["tally"]["properties"]] == [f.name for f in fields(Tally)]
    )
    assert of["claim"]["required"] == [*of["claim"]["properties"]] == [*written["claims"][0]]


def test_what_the_command_writes_is_what_the_schema_says(written):
    accept(written)
    assert len(written["claims"]) > 20


def test_records_are_read_as_they_were_written(written):
    again = [each.to_json() for each in document.records(written)]
    assert again == written["claims"]
    assert counts(document.records(written)) == written["verdicts"]


def test_papers_take_the_place_of_what_was_kept_of_them(written):
    kept = {**written, "items": [*written["items"], "anomaly.udp"], "tried": [], "beyond": {}}
    old = [each for each in written["claims"] if each["id"].startswith("apq.")]
    changed = [{**each, "reason": "Another run."} for each in written["claims"]]
    new = {
        **written,
        "items": ["http.fig5"],
        "claims": [each for each in changed if each["id"].startswith("http.")],
    }
    both = document.merged(new, kept, {"http"})
    accept(both)
    assert both["items"] == [*written["items"], "anomaly.udp"]
    assert both["claims"] == [*old, *new["claims"]]
    assert both["tally"] == written["tally"]
    with pytest.raises(ValueError, match="kept claims are of the budget full, the new ones of"):
        document.merged(new, {**kept, "budget": "full"}, {"http"})


def test_a_campaign_is_what_its_schema_says(out):
    arguments = ["http.fig5", "--sabotage", "--out", out, "--json", "-"]
    done = CliRunner().invoke(reproduce_command, arguments, catch_exceptions=False)
    accept(json.loads(done.stdout), document.SABOTAGE_FORMAT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "airqueue-sabotage"),
        (["budget"], "enough"),
        (["tally", "reproduced"], -1),
        (["tally", "more"], 1),
        (["verdicts", "nearly"], 1),
        (["claims", 0, "verdict"], "reproduced, nearly"),
        (["claims", 0, "counted_as"], None),
        (["claims", 0, "ours"], "12"),
        (["claims", 0, "ours"], []),
        (["claims", 0, "ci95"], [1.0]),
        (["claims", 0, "ci95"], [[1.0, 2.0, 3.0], None]),
        (["claims", 0, "reason"], ""),
        (["claims", 0, "colour"], "red"),
        (["claims", 0, "why_missed"], ""),
        (["tried"], [{"item": "mesh.table3", "setting": "", "verdicts": {}}]),
        (["tried"], [{"item": "mesh.table3", "setting": "as judged", "verdicts": {"nearly": 1}}]),
        (["beyond", "mesh.table3"], []),
    ],
)
def test_what_it_does_not_say_is_refused(written, path, value):
    spoilt = copy.deepcopy(written)
    at = spoilt
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        accept(spoilt)
