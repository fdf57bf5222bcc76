"""Devices that stations are like, limits in force, and warnings on results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airqueue.cli import main
from airqueue.simulate import Results, Scenario, ScenarioError, cautions
from airqueue.simulate.devices import devices
from airqueue.sweep import Sweep

CELL = """
duration = "200 ms"
warm_up = "10 ms"
[phy]
standard = "802.11g"
[[stations]]
name = "ap"
[[stations]]
name = "phone"
[[flows]]
name = "up"
from = "phone"
to = "ap"
source = "tcp"
"""


def written_out(device, standard):
    """Return the keys of a device as a station's table has them."""
    station = {}
    for key in device["keys"]:
        if standard in key["standards"]:
            *above, last = key["key"].split(".")
            table = station
            for each in above:
                table = table.setdefault(each, {})
            table[last] = key["value"]
    return station


@pytest.mark.parametrize("device", devices(), ids=lambda device: device["name"])
@pytest.mark.parametrize("standard", ["802.11g", "802.11ax"])
def test_a_device_is_its_keys_written_out(device, standard):
    def network(station):
        return {
            "duration": "300 ms",
            "phy": {"standard": standard},
            "stations": [{"name": "ap", **station}, {"name": "phone"}],
            "flows": [{"from": "ap", "to": "phone", "source": "tcp"}],
        }

    like = Scenario(network({"like": device["name"]}))
    written = Scenario(network(written_out(device, standard)))
    assert like.queues_in_force() == written.queues_in_force()
    assert like.replicate() == written.replicate()


def test_the_list_has_each_key_with_its_source(runner):
    shown = runner.invoke(main, ["simulate", "--devices"]).stdout
    printed = json.loads(runner.invoke(main, ["simulate", "--devices", "--json", "-"]).stdout)
    assert printed == devices()
    rows = [line.split("\t") for line in shown.splitlines()]
    for device in devices():
        assert any(
            line.startswith(f"# {device['name']}: {device['about']}") for line in shown.splitlines()
        )
        for key in device["keys"]:
            assert any(row[0] == key["key"] and row[-1] == key["source"] for row in rows)


def test_the_table_and_the_json_have_the_limits_in_force(runner, tmp_path):
    (tmp_path / "cell.toml").write_text(CELL, "utf-8")
    done = runner.invoke(main, ["simulate", "cell.toml", "--replications", "1"])
    assert "phone\tdroptail\t50 packets\n" in done.stdout
    asked = ["simulate", "cell.toml", "--replications", "1", "--json", "-"]
    found = json.loads(runner.invoke(main, asked).stdout)
    names = [queue["name"] for queue in found["queues_in_force"]]
    assert names == list(found["queues"])
    assert found["queues_in_force"][0]["limit_packets"] == 50
    assert found["warnings"] == []


def test_limits_are_said_with_their_units():
    queue = {
        "name": "ap",
        "discipline": "cake",
        "limit_packets": None,
        "limit_bytes": 4 << 20,
        "limit_per": "queue",
        "ring_packets": 0,
    }
    assert cautions.limit_words(queue) == "4 MiB"
    assert cautions.limit_words({**queue, "limit_bytes": 1500}) == "1,500 B"
    both = {**queue, "limit_packets": 1, "limit_per": "flow", "ring_packets": 16}
    assert cautions.limit_words(both) == "1 packet or 4 MiB for each flow, and 16 in a ring"


DOWNLOADS = {
    "duration": "4 s",
    "warm_up": "1 s",
    "phy": {"standard": "802.11g"},
    "stations": [
        {"name": "ap", "queue": "pfifo:500"},
        {"name": "phone", "queue": "pfifo:2"},
    ],
    "flows": [{"name": f"down{n}", "from": "ap", "to": "phone", "source": "tcp"} for n in range(8)]
    + [{"name": "up", "from": "phone", "to": "ap"}],
}


def test_a_queue_that_drops_acknowledgements_is_named(runner, tmp_path):
    results = Scenario(DOWNLOADS).simulate(replications=2)
    (warning,) = results.warnings
    dropped = sum(
        results.summary["drops"][f"down{n} back at phone"]["full_packets"]["mean"] for n in range(8)
    )
    sent = sum(results.summary["connections"][f"down{n}"]["ack_packets"]["mean"] for n in range(8))
    assert dropped / sent > 0.05
    assert warning.startswith(f"The queue of phone drops {dropped / sent * 100:.1f} % of the TCP")
    assert results.to_json()["warnings"] == [warning]
    room = Scenario(DOWNLOADS).changed({"stations.phone.queue": "pfifo:500"})
    assert room.simulate(replications=1).warnings == []
    text = json.dumps(DOWNLOADS)
    assert Results(json.loads(text), 1, 1, {}).warnings == []


@pytest.mark.parametrize("change", [{"start": "6 s"}, {"start": "0 s", "stop": "500 ms"}])
def test_flows_that_send_nothing_in_the_time_that_is_counted_are_named(change):
    room = Scenario(DOWNLOADS).changed({"stations.phone.queue": "pfifo:500"})
    late = room.changed({f"flows.up.{key}": value for key, value in change.items()})
    (warning,) = late.simulate(replications=1).warnings
    assert warning.startswith("No packet of up is sent")


def sweep(parameters):
    return Sweep(
        {
            "scenario": {**DOWNLOADS, "stations": [{"name": "ap"}, {"name": "phone"}]},
            "parameters": parameters,
        }
    )


def test_a_sweep_that_compares_unequal_limits_says_so():
    (warning,) = sweep({"queue.discipline": ["droptail", "fq_codel"]}).warnings()
    assert warning == (
        "Queue disciplines are compared with unequal limits: at ap droptail holds 50 packets and "
        "fq_codel holds 10,240 packets or 32 MiB, and likewise at 1 more queues; give the scenario "
        "one limit for all, as in queue.limit"
    )
    assert sweep({"stations.ap.queue.discipline": ["codel", "pie"]}).warnings() == ()
    assert sweep({"flows.up.size": ["100 B", "1500 B"]}).warnings() == ()
    devices_compared = {"stations.ap.like": ["enterprise", "openwrt-24"]}
    assert sweep(devices_compared).warnings() == ()


def test_all_errors_of_a_file_come_at_once_with_their_lines(tmp_path):
    wrong = CELL.replace('standard = "802.11g"', 'standard = "802.11g"\nbnad = "5 GHz"')
    wrong = wrong.replace('to = "ap"', 'to = "app"').replace('"200 ms"', '"200 parsecs"')
    path = tmp_path / "cell.toml"
    path.write_text(wrong, "utf-8")
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"3 errors in {path}:"
    assert [line.split(": ")[0] for line in lines[1:]] == [f"{path}:{n}" for n in (2, 6, 14)]
    problems = {each.key: each for each in caught.value.problems}
    assert set(problems) == {"duration", "phy.bnad", "flows[0].to"}
    assert problems["phy.bnad"].problem == "unknown key `bnad`; did you mean `band`?"
    assert problems["flows[0].to"].problem.endswith('did you mean "ap"?')
    assert [problems[key].line for key in ("duration", "phy.bnad", "flows[0].to")] == [2, 6, 14]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sweep/buffer-size.toml", "this is a sweep, not a scenario; `airqueue sweep FILE`"),
        ("mesh/chain.toml", "this is a mesh to be sized, not a scenario; `airqueue size mesh"),
    ],
)
def test_a_file_of_another_command_is_said_to_be_one(name, says):
    path = Path(__file__).parents[2] / "examples" / name
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(path)
    assert f"{path}: {says}" in str(caught.value)


def test_one_error_is_one_line_with_the_file_and_the_line(tmp_path):
    path = tmp_path / "cell.toml"
    path.write_text(CELL.replace('"802.11g"', '"802.11"'), "utf-8")
    with pytest.raises(ScenarioError, match=rf"^{path}:5: phy\.standard: unknown word"):
        Scenario.from_toml(path)
    with pytest.raises(ScenarioError, match=r"^phy\.standard: "):
        Scenario({"phy": {"standard": "802.11"}, "stations": [{"name": "ap"}]})
