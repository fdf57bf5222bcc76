"""`airqueue schema`: every schema is one, stands alone, and accepts what the commands write."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

import synthetic
from airqueue.cli import main, schemas
from tests.test_extras import SWEEP
from tests.test_start import CELL


def accepts(name, text):
    """Raise unless a schema accepts a JSON text; the schema may refer to nothing outside."""
    jsonschema.Draft202012Validator(schemas.schema(name)).validate(json.loads(text))


@pytest.mark.parametrize("name", schemas.names())
def test_every_schema_is_printed_and_is_one(runner, name):
    printed = json.loads(runner.invoke(main, ["schema", name]).stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed == schemas.schema(name)
    refused = list(jsonschema.Draft202012Validator(printed).iter_errors({"format": "another"}))
    assert refused


@pytest.mark.parametrize("name", schemas.names())
def test_a_title_states_the_version_of_the_field(name):
    schema = schemas.schema(name)
    version = schema.get("properties", {}).get("version", {}).get("const")
    titled = re.search(r", version (\d+)$", schema.get("title", ""))
    assert titled is None or int(titled[1]) == version


def test_the_list_names_all_and_an_unknown_name_gets_a_hint(runner):
    listed = runner.invoke(main, ["schema"]).stdout
    heads, *rows = [line.split("\t")[0] for line in listed.splitlines()]
    assert (heads, rows) == ("schema", list(schemas.names()))
    done = runner.invoke(main, ["schema", "measurment"])
    assert (done.exit_code, done.stdout) == (2, "")
    hint = "Error: There is no schema 'measurment'; did you mean measurement?\n"
    assert done.stderr.endswith(hint)


def test_what_commands_write_is_accepted(runner, tmp_path):
    (tmp_path / "cell.toml").write_text(CELL, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    fifo, grown = tmp_path / "fifo.json", tmp_path / "grown.json"
    fifo.write_text(json.dumps(synthetic.fifo_result()), "utf-8")
    grown.write_text(
        json.dumps(synthetic.fifo_result(capacity=200.0, ci95=[199.0, 201.0])), "utf-8"
    )
    for name, arguments in [
        ("simulation", ["simulate", "cell.toml"]),
        ("sweep", ["sweep", "sweep.toml", "--out", "kept"]),
        ("comparison", ["compare", str(fifo), str(grown)]),
        ("advice", ["size", "ap", "--rate", "54mbit", "--rtt", "50ms"]),
        ("models", ["model"]),
        ("model", ["model", "bianchi", "n=1..3"]),
    ]:
        done = runner.invoke(main, [*arguments, "--json", "-"])
        assert done.exit_code == 0, (name, done.stderr)
        accepts(name, done.stdout)
