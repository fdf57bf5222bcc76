"""docs/quantities.md has every spelling that the grammar reads, and says what each means."""

import re
import tomllib
from pathlib import Path

import pytest

from airqueue import _native
from airqueue.simulate import Scenario, ScenarioError
from airqueue.simulate.overrides import read

PAGE = (Path(__file__).parent.parent / "docs" / "quantities.md").read_text("utf-8")
KINDS = {
    "rate": "rate",
    "length of time": "duration",
    "size, number of bytes": "size",
    "number of packets": "packets",
    "rate of packets": "packet_rate",
    "length": "length",
    "power": "power",
    "ratio": "ratio",
    "frequency": "frequency",
}


def rows(first: str) -> list[list[str]]:
    """Return the cells of the table whose head begins with a word."""
    lines = PAGE[PAGE.index(f"| {first} |") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows("kind"), ids=lambda row: row[0])
def test_every_spelling_of_the_table_is_read(row):
    kind = KINDS[row[0]]
    units = re.findall("`([^`]+)`", row[1] + row[2])
    assert units
    suffixes = re.findall("`_([^`]+)`", row[3])
    for unit in units:
        for text in (f"2{unit}", f"2 {unit}", f" 2.0e0  {unit} "):
            assert _native.parse_quantity(text, kind) == _native.parse_quantity(f"2{unit}", kind)
        known = _native.measure(f"2 {unit}")
        # Of "2 kb" nobody knows whether bits or bytes are meant, but where only a rate can be.
        assert (unit in ("b", "kb", "mb", "gb")) if known is None else known[1] in suffixes


def test_no_kind_and_no_base_unit_is_missing_in_the_table():
    with pytest.raises(ValueError, match="is no kind of quantity") as caught:
        _native.parse_quantity("2", "colour")
    known = str(caught.value).partition("there are ")[2].split(", ")
    assert set(KINDS.values()) == set(known)


@pytest.mark.parametrize("row", rows("text")[:-1], ids=lambda row: row[0])
def test_every_range_of_the_table_is_read(row):
    for text in re.findall("`([^`]+)`", row[0]):
        values, swept, _ = _native.parse_values(text, "any", most=1000)
        assert swept
        assert len(values) > 2


def test_alternatives_are_read():
    lists = _native.parse_lists("54mbit,6mbit/54mbit", "rate")
    assert lists == [[54e6, 6e6], [54e6]]


def test_every_queue_of_the_page_is_read():
    section = PAGE.partition("## Queues")[2]
    queues = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)[2:]
    texts = [text for cell in queues for text in re.findall("`([^`]+)`", cell)]
    assert len(texts) > 5
    for text in texts:
        assert _native.parse_queue(text)[0] == text.partition(":")[0]


SCENARIO = """
duration = "1 s"
queue = "bfifo:30kB"
phy = {standard = "802.11b"}
stations = [{name = "ap", queue = "pfifo:20"}, {name = "sta"}]
flows = [{from = "ap", to = "sta", source = "cbr", rate = "5mbit", size = "1500b"}]
"""


def test_scenarios_take_the_spellings_of_command_lines():
    Scenario(tomllib.loads(SCENARIO))
    with pytest.raises(ScenarioError, match=r'queue: .*"fifo:3" is no queue; write a discipline'):
        Scenario(tomllib.loads(SCENARIO.replace("bfifo:30kB", "fifo:3")))


def test_a_range_is_no_value_of_one_scenario():
    assert read("queue=pfifo:20") == ("queue", "pfifo:20")
    for text in ("stations.sta.count=1..5", "phy.rate=1 Mb/s..5 Mb/s step 1 Mb/s"):
        with pytest.raises(ScenarioError, match=r"is a range, .* a file for airqueue sweep"):
            read(text)
