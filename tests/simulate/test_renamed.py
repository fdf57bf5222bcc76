"""Keys by their old names: what becomes of them in files, overrides, sweeps and commands."""

import copy
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue import toml_text
from airqueue.cli import main
from airqueue.simulate import RenamedKeyWarning, Scenario, ScenarioError, overrides, shaped
from airqueue.simulate.renamed import current
from airqueue.sweep import Sweep, SweepError
from conftest import CELL

ROOT = Path(__file__).parents[2]
BASE = {
    "duration": "1 s",
    "phy": {"standard": "802.11b"},
    "medium": {"ranges": {"decode": "1 km", "sense": "2 km"}},
    "queue": {"discipline": "drr", "limit": "40 packets"},
    "buffers": {},
    "stations": [
        {"name": "ap", "position": ["0 m", "0 m"], "queue": {"discipline": "mac80211"}},
        {"name": "sta", "count": 3, "random": {"radius": "50 m"}},
    ],
    "flows": [
        {"name": "up", "from": "sta1", "to": "ap", "source": "tcp"},
        {"name": "page", "from": "ap", "to": "sta2", "source": "web"},
    ],
}
# Where, the old name, the new one, and two values.
RENAMED = [
    ("tcp", "like", "stack", "linux", "ns2"),
    ("flows[0].tcp", "like", "stack", "linux", "ns2"),
    ("stations[0].queue.mac80211", "turn", "airtime_quantum", "1 ms", "2 ms"),
    ("queue.drr", "by", "queue_per", "link", "flow"),
    ("buffers", "look", "sample_interval", "1 s", "2 s"),
    ("buffers", "every", "refresh_interval", "5 s", "6 s"),
    ("buffers", "change", "min_change", "2 packets", "3 packets"),
    ("buffers", "hold", "hold_time", "5 s", "6 s"),
    ("buffers", "queues", "limit_per", "node", "node"),
    ("flows[1].web", "law", "distribution", "pareto", "constant"),
    ("stations[1].random", "apart", "min_distance", "2 m", "3 m"),
    ("flows[0]", "volume", "transfer_size", "1 MB", "2 MB"),
]
each_key = pytest.mark.parametrize(("table", "old", "new", "value", "other"), RENAMED)


def written(table, key, value):
    """Return the network with a key in a table of it, whatever the key is called."""
    described = copy.deepcopy(BASE)
    holder = described
    for step in table.replace("[", ".[").split("."):
        holder = holder[int(step[1:-1])] if step[0] == "[" else holder.setdefault(step, {})
    holder[key] = value
    return described


def sentence(table, old, new):
    return f"{table}.{old} is now called {table}.{new}; the old name is read until version 0.2"


@each_key
def test_an_old_key_is_the_new_one_with_one_warning(table, old, new, value, other):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_new = Scenario(written(table, new, value))
    with pytest.warns(RenamedKeyWarning) as told:
        by_old = Scenario(written(table, old, value))
    assert [str(each.message) for each in told] == [sentence(table, old, new)]
    assert by_old.description == by_new.description == written(table, new, value)


@each_key
def test_both_names_are_refused(table, old, new, value, other):
    both = written(table, old, value)
    place = f"{table}.{new}".replace("[", ".").replace("]", "")
    holder = both
    for step in place.split(".")[:-1]:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    holder[new] = value
    named = re.escape(f"{table}.{old}: the key is now called {table}.{new}, which is given too")
    with pytest.raises(ScenarioError, match=named):
        Scenario(both)
    with pytest.raises(ScenarioError, match=named):
        overrides.apply(both, {"duration": "2 s"})


@each_key
@pytest.mark.filterwarnings("ignore::airqueue.simulate.RenamedKeyWarning")
def test_an_override_by_either_name_changes_a_key_by_either_name(table, old, new, value, other):
    expected = written(table, new, other)
    for given in (old, new):
        for changed in (old, new):
            base = written(table, given, value)
            before = copy.deepcopy(base)
            found = overrides.apply(base, {f"{table}.{changed}": other})
            assert found == expected, (given, changed)
            assert base == before
    # A file without the key.
    assert overrides.apply(BASE, {f"{table}.{old}": other}) == expected


def test_an_override_warns_with_its_own_place():
    with pytest.warns(RenamedKeyWarning) as told:
        overrides.apply(BASE, {"flows.page.web.law": "pareto"})
    assert [str(each.message) for each in told] == [sentence("flows[1].web", "law", "distribution")]


QUEUE = {"discipline": "drr", "drr": {"by": "flow"}}
VOLUME = {"flows.up.volume": "1 kB"}
# Each call is in one line.
CALLS = [
    lambda path: Scenario(tomllib.loads(path.read_text("utf-8"))),
    lambda path: Scenario.from_toml(path),  # noqa: PLW0108 - the line counts
    lambda path: Scenario.from_toml(path, {"duration": "2 s"}),
    lambda path: Scenario(BASE).changed(VOLUME),
    lambda path: overrides.apply(BASE, VOLUME),
    lambda path: Sweep({"scenario": str(path), "parameters": {"duration": ["1 s", "2 s"]}}),
    lambda path: shaped(QUEUE, [0], 1500, rate_bps=1_000_000),
]


@pytest.mark.parametrize("call", CALLS)
def test_the_warning_names_the_line_outside_the_package(tmp_path, call):
    path = tmp_path / "old.toml"
    path.write_text(CELL.replace("[phy]", 'tcp = {like = "linux"}\n[phy]'))
    with pytest.warns(RenamedKeyWarning) as told:
        call(path)
    line = call.__code__.co_firstlineno
    assert {(each.filename, each.lineno) for each in told} == {(__file__, line)}


def test_a_script_sees_its_own_line(tmp_path):
    (tmp_path / "old.toml").write_text(CELL.replace("[phy]", 'tcp = {like = "linux"}\n[phy]'))
    script = tmp_path / "script.py"
    script.write_text('from airqueue.simulate import Scenario\n\nScenario.from_toml("old.toml")\n')
    ran = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    warned, line = ran.stderr.splitlines()
    assert warned == f"{script}:3: RenamedKeyWarning: {sentence('tcp', 'like', 'stack')}"
    assert line.strip() == 'Scenario.from_toml("old.toml")'


def test_the_command_prints_one_sentence_without_a_source_line(tmp_path):
    (tmp_path / "old.toml").write_text(CELL.replace("[phy]", 'tcp = {like = "linux"}\n[phy]'))
    few = ["--replications", "1", "--set", "duration=20 ms"]
    ran = subprocess.run(
        [sys.executable, "-m", "airqueue", "simulate", "old.toml", *few],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == f"Warning: {sentence('tcp', 'like', 'stack')}.\n"


def test_a_table_as_value_of_an_override_has_old_keys_too():
    with pytest.warns(RenamedKeyWarning, match=r"buffers\.hold is now called buffers\.hold_time"):
        found = overrides.apply(BASE, {"buffers": {"hold": "5 s", "source": "separate"}})
    assert found["buffers"] == {"hold_time": "5 s", "source": "separate"}
    both = {"buffers": {"hold": "5 s", "hold_time": "5 s"}}
    with pytest.raises(ScenarioError, match=r"^buffers\.hold: "):
        overrides.apply(BASE, both)


def test_keys_keep_their_order():
    with pytest.warns(RenamedKeyWarning):
        found = current({"tcp": {"mss": "500 B", "like": "ns2", "sack": True}, "flows": []})
    assert list(found["tcp"]) == ["mss", "stack", "sack"]
    assert list(found) == ["tcp", "flows"]


def test_what_is_no_scenario_is_left_to_the_check():
    for value in (1, float("nan"), [{}], [None, {"volume"}], object()):
        assert current({"flows": value})["flows"] is value


def test_a_queue_on_its_own():
    queue = {"discipline": "drr", "limit": "2 packets", "drr": {"queue_per": "flow"}}
    offered = {"at_ns": [0] * 4, "size_bytes": 1500, "rate_bps": 12_000_000}
    expected = shaped(queue, **offered).left_ns.tolist()
    with pytest.warns(RenamedKeyWarning, match=r"^queue\.drr\.by is now called"):
        found = shaped({**queue, "drr": {"by": "flow"}}, **offered)
    assert found.left_ns.tolist() == expected


@pytest.mark.filterwarnings("ignore::airqueue.simulate.RenamedKeyWarning")
@pytest.mark.parametrize("base", [BASE, written("buffers", "look", "1 s")])
def test_a_sweep_over_an_old_key_is_that_over_the_new_one(base):
    values = ["250 ms", "500 ms"]
    by_old, by_new = (
        Sweep({"scenario": base, "parameters": {f"buffers.{key}": values}})
        for key in ("look", "sample_interval")
    )
    for one, other in zip(by_old.points, by_new.points, strict=True):
        assert by_old.scenario(one) == by_new.scenario(other)
    with pytest.raises(SweepError, match=r"buffers\.look: the key is now called"):
        Sweep(
            {
                "scenario": {**base, "buffers": {"look": "1 s", "sample_interval": "1 s"}},
                "parameters": {"duration": ["1 s", "2 s"]},
            }
        )


@pytest.mark.parametrize("json", [[], ["--json", "-"]])
def test_commands_say_it_once_on_stderr(tmp_path, monkeypatch, json):
    monkeypatch.chdir(tmp_path)
    Path("old.toml").write_text(CELL.replace("[phy]", 'tcp = {like = "linux"}\n[phy]'))
    Path("new.toml").write_text(CELL.replace("[phy]", 'tcp = {stack = "linux"}\n[phy]'))
    Path("sweep.toml").write_text(
        'scenario = "old.toml"\nreplications = 1\n'
        '[parameters]\n"flows.up.source" = ["tcp"]\n"flows.up.volume" = ["1 kB", "2 kB"]\n'
    )
    of_file = "Warning: " + sentence("tcp", "like", "stack") + ".\n"
    of_sweep = "Warning: " + sentence("flows[0]", "volume", "transfer_size") + ".\n"
    few = ["--replications", "2", "--workers", "1", *json]
    old = CliRunner().invoke(main, ["simulate", "old.toml", *few])
    new = CliRunner().invoke(main, ["simulate", "new.toml", *few])
    changed = CliRunner().invoke(main, ["simulate", "new.toml", "--set", "tcp.like=linux", *few])
    assert old.exit_code == new.exit_code == changed.exit_code == 0, old.output
    assert old.stdout.replace("old.toml", "new.toml") == new.stdout == changed.stdout
    assert (old.stderr, new.stderr, changed.stderr) == (of_file, "", of_file)
    swept = CliRunner().invoke(main, ["sweep", "sweep.toml", "--list"])
    assert swept.exit_code == 0, swept.output
    assert swept.stderr == of_file + of_sweep
    assert "Warning" not in swept.stdout


def test_sizes_of_a_mesh_say_it_too(tmp_path):
    text = (ROOT / "examples/simulate/mesh-buffers.toml").read_text("utf-8")
    path = tmp_path / "mesh.toml"
    path.write_text(text.replace("[buffers]\n", '[buffers]\nlook = "1 s"\n'))
    sized = CliRunner().invoke(main, ["size", "mesh", str(path)])
    assert sized.exit_code == 0, sized.output
    assert sized.stderr == f"Warning: {sentence('buffers', 'look', 'sample_interval')}.\n"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/*.toml")), ids=lambda path: path.stem)
def test_no_example_has_an_old_key(path):
    described = toml_text.parse(path.read_text("utf-8"))
    if "parameters" in described:
        Sweep.from_toml(path)
    else:
        assert current(described) == described


PAGES = [ROOT / "README.md", ROOT / "papers/README.md", *sorted(ROOT.glob("docs/**/*.md"))]
TEXTS = [*PAGES, *sorted(ROOT.glob("examples/*/*.toml"))]
OLD = {(re.sub(r"^.*\W", "", table), old) for table, old, _, _, _ in RENAMED}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_no_page_and_no_command_has_an_old_key(path):
    text = path.read_text("utf-8")
    keys = [block for block in text.split("\n\n") if re.match(r"\| (key|`\[[\w.]+\]`) \|", block)]
    for table, old in OLD:
        dotted = rf"\b{table}\.{old}\b" if table else rf"\bflows\.\w+\.{old}\b"
        assert not re.search(dotted, text), f"{table}.{old}"
        # A station is like a device; of TCP the stack has that name no more.
        of_stations = old == "like" and path.name == "scenario-keys.md"
        assert of_stations or not any(f"\n| `{old}` |" in block for block in keys), old
    for fence in re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        assert current(tomllib.loads(fence)) == tomllib.loads(fence)
