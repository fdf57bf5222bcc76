"""docs/simulate.md has every key, every figure, every option and the table of behaviours."""

import json
import re
from pathlib import Path

import pytest

from airqueue.cli.simulate import simulate
from airqueue.cli.talk import SHARED
from airqueue.simulate import Scenario
from airqueue.simulate.reported import KINDS
from airqueue.simulate.scenario import schema
from tests.every_kind import NETWORK

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulate.md").read_text("utf-8")
WIFI = ROOT / "crates" / "airqueue-wifi" / "src"
NAMES = {"Standard": "standard", "Ns3": "ns3", "Ns2": "ns2"}


def keys(node) -> set[str]:
    """Return the names of all properties in a JSON Schema."""
    if isinstance(node, list):
        return set().union(*map(keys, node))
    if not isinstance(node, dict):
        return set()
    return set(node.get("properties", {})).union(*map(keys, node.values()))


def test_every_key_is_explained():
    missing = [key for key in sorted(keys(schema())) if not re.search(rf"\b{key}\b", PAGE)]
    assert not missing


def words(node) -> set[str]:
    """Return the words that some key of a JSON Schema may have as its value."""
    if isinstance(node, list):
        return set().union(*map(words, node))
    if not isinstance(node, dict):
        return set()
    given = {word for word in [*node.get("enum", []), node.get("const")] if isinstance(word, str)}
    return given.union(*map(words, node.values()))


def test_every_word_is_explained():
    missing = [word for word in sorted(words(schema())) if not re.search(rf"\b{word}\b", PAGE)]
    assert not missing


def disciplines() -> list[str]:
    """Return the words of the registered queue disciplines."""
    return [word["const"] for word in schema()["$defs"]["DisciplineName"]["oneOf"]]


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table whose header row begins with ``heading``."""
    table = PAGE.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return [re.split(r"(?<!\\)\|", line.strip("| ")) for line in table.splitlines()[2:]]


def queue_row(key: str) -> str:
    section = PAGE.partition("### `[queue]`")[2]
    return next(line for line in section.splitlines() if line.startswith(f"| `{key}` |"))


@pytest.mark.parametrize("word", disciplines())
def test_every_queue_discipline_has_its_rows(word):
    assert f"`{word}`" in queue_row("discipline")
    assert re.search(rf"^\*\*`{word}`\*\*", PAGE, re.MULTILINE) or word == "droptail"
    table = schema()["$defs"]["QueueTable"]["properties"].get(word)
    own = {} if table is None else schema()["$defs"][table["$ref"].rpartition("/")[2]]
    keys_shown = [
        key for row in rows(f"`[queue.{word}]`") for key in re.findall(r"`(\w+)`", row[0])
    ]
    assert sorted(keys_shown) == sorted(own.get("properties", {}))


def test_every_limit_of_a_queue_is_said():
    said = schema()["$defs"]["QueueTable"]["properties"]["limit"]["description"]
    group = r"(?:`(\d+) packets`|that of the memory) for ([\w, ]+?)(?=, `|, that|\.$)"
    limits = {
        word: limit
        for limit, those in re.findall(group, said)
        for word in re.split(", | and ", those)
    }
    assert sorted(limits) == sorted(disciplines())
    row = queue_row("limit")
    default = re.search(r'`"(\d+) packets"`', row)[1]
    other = {word: limit for word, limit in limits.items() if limit != default}
    assert not [word for word, limit in other.items() if f"`{word}`" not in row or limit not in row]


def test_every_figure_is_explained():
    run = next(iter(Scenario(NETWORK).simulate(replications=1).runs.values()))
    figures = {*run["medium"]}
    for kind in KINDS:
        figures |= {*next(iter(run[kind].values()))}
    assert not [figure for figure in sorted(figures) if f"`{figure}`" not in PAGE]


def test_every_option_is_explained():
    options = [option for parameter in simulate.params for option in parameter.opts]
    options = [option for option in options if option not in SHARED]
    assert not [name for name in options if name.startswith("--") and f"`{name}" not in PAGE]


def test_every_example_is_named():
    for path in (ROOT / "examples" / "simulate").iterdir():
        assert f"`{path.name}`" in PAGE


@pytest.mark.parametrize("source", ["mac/behaviour.rs", "phy/conventions.rs"])
def test_the_behaviours_are_those_of_the_code(source):
    rows = re.findall(r"^/// (\| .*)$", (WIFI / source).read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 4
    for row in rows[1:]:
        if "(Conventions)" in row:
            continue  # the rows of phy/conventions.rs
        words = re.sub(r"`(\w+)`", lambda name: f"`{NAMES[name[1]]}`", row)
        assert words in PAGE.splitlines(), words


def test_the_code_of_the_page_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    code = re.search(r"```python\n(from .*?)```", PAGE, re.DOTALL)[1]
    short = code.replace('"10 s"', '"0.05 s"').replace("stations=10, overrides={", SHORT)
    assert short.count("0.05 s") == 2
    found = {}
    exec(short, found)
    assert json.loads(found["results"].to_text())["complete"]


SHORT = 'stations=10, duration="0.05 s", overrides={'
