"""`airqueue size`: what is printed is what the JSON holds, and bad input is answered in sentences."""

import json
import re
from collections import Counter

import jsonschema
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.sizing.advice import said, schema, with_unit

MESH = """
radio = "b-ack-11"
rate = "11mbit"
nodes = ["roof", "tower", "gateway"]
[[link]]
between = ["roof", "tower"]
[[link]]
between = ["tower", "gateway"]
[[flow]]
name = "upload"
route = ["roof", "tower", "gateway"]
"""

SCENARIO = """
duration = "1 s"
phy = {standard = "802.11b"}
stations = [{name = "ap"}, {name = "roof"}]
"""
FLOWS = """
[[flows]]
name = "upload"
from = "roof"
to = "ap"
source = "tcp"
[[flows]]
name = "call"
from = "ap"
to = "roof"
source = "voice"
"""

GOOD = {
    "ap": "size ap --rate 54mbit --rtt 100ms --flows 20 --no-simulate",
    "ap behind a slow line": "size ap --rate 54mbit --rtt 30ms --line 16mbit",
    "ap of several rates": "size ap --rate 54mbit --rate 6mbit --rtt 100ms",
    "ap with aggregation": "size ap --rate 65mbit --phy n --rtt 40ms --delay-target 5ms",
    "mesh": "size mesh mesh.toml",
    "mesh by another rule": "size mesh mesh.toml --allocation optimum --rounding best --ring 0",
    "mesh of a scenario": "size mesh scenario.toml --carrying share",
    "rdqm": "size rdqm --flow 20ms@54mbit@192.0.2.7 --legacy 6mbit --buffer 60",
    "edca": "size edca --uploads 6 --downloads 6 --no-simulate",
    "web": "size web --users 20 --page 1MB --rate 54mbit --rtt 20ms --target 2s --no-simulate",
    "web with a trial": "size web --users 1 --page 10kB --rate 54mbit --rtt 20ms --think 1s",
    "edca at another layer": "size edca --uploads 1 --downloads 1 --phy b-long --mark priority",
}

BAD = {
    "rate without a unit": ("size ap --rate 54 --rtt 100ms", "unit"),
    "rate of zero": ("size ap --rate 0mbit --rtt 100ms", "less than one bit"),
    "rtt without a unit": ("size ap --rate 54mbit --rtt 20", 'such as "30 s" or "100ms"'),
    "rtt of zero": ("size ap --rate 54mbit --rtt 0s", "above zero"),
    "no flows": ("size ap --rate 54mbit --rtt 100ms --flows 0", "flows"),
    "too many flows": ("size ap --rate 54mbit --rtt 100ms --flows 1000000000", "flows"),
    "rate of no layer": ("size ap --rate 53mbit --rtt 100ms", "--phy"),
    "rate that the layer lacks": ("size ap --rate 54mbit --phy b-long --rtt 1s", "11 Mb/s"),
    "no such layer": ("size ap --rate 54mbit --phy q --rtt 1s", "phy"),
    "huge rate": ("size ap --rate 99999999999999999999gbit --rtt 1s", "rate"),
    "packet too small": ("size ap --rate 54mbit --rtt 1s --packet 10", "packet"),
    "device that is a command": (["size", "ap", "--rate", "54mbit", "--rtt", "1s", "--device", "a;b"],
                                 "wlan0"),
    "device with a space": (["size", "ap", "--rate", "54mbit", "--rtt", "1s", "--phy-device", "a b"],
                            "name"),
    "device that is an option": ("size ap --rate 54mbit --rtt 1s --device -d", "wlan0"),
    "no file": ("size mesh nowhere.toml", "nowhere.toml"),
    "a directory": ("size mesh .", "directory"),
    "broken TOML": ("size mesh broken.toml", "broken.toml"),
    "not text": ("size mesh binary.toml", "binary.toml"),
    "empty file": ("size mesh empty.toml", "empty.toml"),
    "radio without the rate": ("size mesh mesh.toml --radio a-ack-6", "11 Mb/s"),
    "a radio beside a scenario": ("size mesh scenario.toml --radio b-ack-11", "leave --radio out"),
    "a scenario without flows": ("size mesh flowless.toml", "flows"),
    "no such radio": ("size mesh mesh.toml --radio q", "radio"),
    "no uploads": ("size edca --uploads -1 --downloads 6", "uploads"),
    "nobody": ("size edca --uploads 0 --downloads 0", "download"),
    "too many uploads": ("size edca --uploads 1000000000 --downloads 6", "uploads"),
    "frame too large": ("size edca --uploads 1 --downloads 1 --packet 100000", "packet"),
    "JSON into nowhere": ("size ap --rate 54mbit --rtt 1s --json /no/such/place.json", "/no/such"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mesh.toml").write_text(MESH)
    (tmp_path / "scenario.toml").write_text(f"{SCENARIO}{FLOWS}")
    (tmp_path / "flowless.toml").write_text(SCENARIO)
    (tmp_path / "broken.toml").write_text("nodes = [")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "empty.toml").write_text("")
    return tmp_path


def invoke(command):
    arguments = command.split() if isinstance(command, str) else command
    result = CliRunner().invoke(main, arguments, env={"COLUMNS": "120"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize("name", GOOD)
def test_text_and_json_say_the_same(name):
    text = invoke(f"{GOOD[name]} --for all")
    assert text.exit_code == 0, text.output
    found = json.loads(invoke(f"{GOOD[name]} --for all --json -").stdout)
    jsonschema.validate(found, schema())
    words = re.sub(r"[\s│]+", " ", text.output)
    for figure in found["figures"]:
        assert with_unit(figure["name"], figure["value"]) in words, figure
    for caution in found["cautions"]:
        assert caution in words
    lines = text.output.splitlines()
    for settings in found["settings"]:
        for line in settings["lines"]:
            assert line in lines
    targets = {"hostapd", "openwrt", "tc"}
    if name.startswith("edca"):
        targets |= {"airqueued"}
    if name.startswith(("edca", "ap")) and name != "ap behind a slow line":
        targets |= {"scenario"}
    # No setting of hostapd or of OpenWrt's files limits windows or this queue.
    if name.startswith(("web", "rdqm")):
        targets = {"tc", "scenario"}
    assert {entry["target"] for entry in found["settings"]} == targets


@pytest.mark.parametrize("name", ["ap", "rdqm", "edca", "web"])
def test_a_scenario_alone_is_read_by_simulate(name):
    advised = invoke(f"{GOOD[name]} --no-simulate --for scenario")
    assert advised.exit_code == 0, advised.output
    assert advised.stderr.count("\n") == 1
    simulate = ["simulate", "-", "--replications", "1", "--set", "duration=10 ms"]
    done = CliRunner().invoke(main, simulate, input=advised.stdout)
    assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("terminal")
def test_a_scenario_alone_is_printed_on_a_terminal_with_quiet():
    shown = invoke(f"{GOOD['ap']} --for scenario").stdout
    alone = invoke(f"{GOOD['ap']} --for scenario --quiet")
    assert alone.stderr == ""
    assert shown.endswith(alone.stdout) and len(alone.stdout) < len(shown) / 2


def test_no_heading_of_settings_stands_alone():
    lines = invoke(f"{GOOD['mesh']} --for all").stdout.splitlines()
    heads = re.compile(r"# (openwrt|tc|hostapd): ")
    alone = [line for line, below in zip(lines, [*lines[1:], ""], strict=True) if not below]
    assert not [line for line in alone if heads.match(line)]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", ["ap", "mesh", "edca"])
def test_nothing_is_cut_on_a_narrow_terminal(name, columns):
    result = CliRunner().invoke(main, GOOD[name].split(), env={"COLUMNS": str(columns)})
    assert "…" not in result.output
    assert max(len(line) for line in result.output.splitlines()) <= columns
    # Folded cells read row by row hold every letter of what the table holds.
    found = json.loads(invoke(f"{GOOD[name]} --json -").stdout)
    letters = Counter(re.sub(r"[^\w]", "", result.output))
    for table in found["tables"]:
        shown = "".join(said(k, v) for row in table["rows"] for k, v in row.items())
        assert not Counter(re.sub(r"[^\w]", "", shown)) - letters


@pytest.mark.parametrize("name", ["ap", "mesh", "edca"])
def test_settings_are_printed_only_when_asked_for(name):
    assert json.loads(invoke(f"{GOOD[name]} --json -").stdout)["settings"] == []
    only = json.loads(invoke(f"{GOOD[name]} --for openwrt --json -").stdout)["settings"]
    assert only
    assert {entry["target"] for entry in only} == {"openwrt"}


def test_a_note_for_several_nodes_is_printed_once(here):
    command = f"{GOOD['mesh']} --for tc"
    words = re.sub(r"[\s#]+", " ", invoke(command).output)
    settings = json.loads(invoke(f"{command} --json -").stdout)["settings"]
    notes = [note for entry in settings for note in entry["notes"]]
    assert len(notes) > len(set(notes))
    for note in set(notes):
        assert words.count(note) == 1, note


def test_json_goes_to_a_file_beside_the_text(here):
    result = invoke(f"{GOOD['ap']} --json out.json")
    assert "queue limit" in result.output
    jsonschema.validate(json.loads((here / "out.json").read_text()), schema())


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_a_sentence(name):
    command, word = BAD[name]
    result = invoke(command)
    assert result.exit_code in (1, 2)
    said = result.output.rsplit("Error: ", 1)[-1]
    assert word in said
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["", "ap", "mesh", "edca", "rdqm", "web"])
def test_help_has_an_example(command):
    result = invoke(f"size {command} --help")
    assert result.exit_code == 0
    assert "airqueue size " in result.output
