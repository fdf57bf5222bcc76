"""`airqueue examples`: what comes with airqueue, and works where only the wheel is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airqueue.cli import examples, main


def test_the_list_has_every_example_with_a_sentence(runner):
    files = {path for path in examples.FOLDER.rglob("*") if path.suffix in {".toml", ".py", ".sh"}}
    known = examples.all_examples()
    assert {Path(each.path) for each in known} == files
    for each in known:
        assert each.about.endswith((".", "?")), each
        assert len(each.about) > 20, each
    shown = runner.invoke(main, ["examples"])
    assert all(each.name in shown.stdout for each in known)
    listed = json.loads(runner.invoke(main, ["examples", "--json"]).stdout)
    assert [each["name"] for each in listed] == [each.name for each in known]


@pytest.mark.parametrize("name", ["rdqm", "simulate/rdqm"])
def test_an_example_is_printed_and_copied_as_it_is(runner, name):
    text = (examples.FOLDER / "simulate" / "rdqm.toml").read_text("utf-8")
    assert runner.invoke(main, ["examples", name]).stdout == text
    assert runner.invoke(main, ["examples", name, "--out", "mine.toml"]).exit_code == 0
    assert Path("mine.toml").read_text("utf-8") == text
    again = runner.invoke(main, ["examples", name, "--out", "mine.toml"])
    assert again.exit_code == 1
    assert "is there already" in again.stderr
    path = runner.invoke(main, ["examples", name, "--path"]).stdout.strip()
    assert Path(path).read_text("utf-8") == text
    assert json.loads(runner.invoke(main, ["examples", name, "--json"]).stdout)["text"] == text


def test_a_wrong_name_gets_a_hint(runner):
    near = runner.invoke(main, ["examples", "rdqn"])
    assert near.exit_code == 2
    assert near.stderr.endswith("Error: There is no example 'rdqn'; did you mean rdqm?\n")
    far = runner.invoke(main, ["examples", "zzzzzz"])
    assert "`airqueue examples` lists them." in far.stderr
    assert runner.invoke(main, ["examples", "--path"]).exit_code == 2
