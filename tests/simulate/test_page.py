"""The pages on simulations have every example, option, discipline and behaviour, and their code runs.

Keys, words and figures are in pages that ``make types`` writes: ``tests/test_native_types.py``
compares these pages.
"""

import re
from pathlib import Path

import pytest

from airqueue.cli.simulate import simulate
from airqueue.cli.talk import SHARED
from airqueue.simulate.scenario import schema

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMAND = (DOCS / "how-to" / "simulate.md").read_text("utf-8")
QUEUES = (DOCS / "explanation" / "queues.md").read_text("utf-8")
BEHAVIOURS = (DOCS / "explanation" / "behaviours.md").read_text("utf-8")
RATES = (DOCS / "explanation" / "radio.md").read_text("utf-8")
WIFI = ROOT / "crates" / "airqueue-wifi" / "src"
NAMES = {"Standard": "standard", "Ns3": "ns3", "Ns2": "ns2"}


def words(name: str) -> list[str]:
    """Return the words that a key may have as its value."""
    return [each["const"] for each in schema()["$defs"][name]["oneOf"]]


@pytest.mark.parametrize("word", words("DisciplineName"))
def test_every_queue_discipline_has_a_paragraph(word):
    assert re.search(rf"^\*\*`{word}`\*\*", QUEUES, re.MULTILINE) or word == "droptail"


@pytest.mark.parametrize("word", words("RateControlName"))
def test_every_rate_control_has_a_row(word):
    assert f"\n| `{word}` |" in RATES or word == "fixed"


def test_every_option_is_explained():
    options = [option for parameter in simulate.params for option in parameter.opts]
    options = [option for option in options if option not in SHARED]
    assert not [name for name in options if name.startswith("--") and f"`{name}" not in COMMAND]


def test_every_example_is_named():
    for path in (ROOT / "examples" / "simulate").iterdir():
        assert f"`{path.name}`" in COMMAND


@pytest.mark.parametrize("source", ["mac/behaviour.rs", "phy/conventions.rs"])
def test_the_behaviours_are_those_of_the_code(source):
    rows = re.findall(r"^/// (\| .*)$", (WIFI / source).read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 4
    for row in rows[1:]:
        if "(Conventions)" in row:
            continue  # the rows of phy/conventions.rs
        shown = re.sub(r"`(\w+)`", lambda name: f"`{NAMES[name[1]]}`", row)
        assert shown in BEHAVIOURS.splitlines(), shown
