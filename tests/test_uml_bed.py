"""The test bed in user-mode Linux: the truth is found, runs are the same, nothing stays behind.

Each test boots a machine, and a measurement takes its ten seconds: there are no more of them than
questions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.linux import uml_bed
from airqueue.linux.config import ConfigError, HostApConfig, from_json, parse_queue, to_json
from airqueue.linux.disturbance import Disturbance
from airqueue.linux.errors import MachineUnavailableError
from airqueue.linux.virtual import machine
from airqueue.measure.capture import load
from airqueue.measure.disciplines.classes import EACH
from airqueue.measure.plan import CE, ECT_0, ECT_1, NOT_ECT, traffic_class
from airqueue.measure.schema import check
from machines import machines, machines_left

RATE = ("--rate", "10mbit", "--max-time", "4s")

boots = pytest.mark.usefixtures("user_mode_linux")


def run(*arguments: str):
    return CliRunner().invoke(main, ["testbed", *arguments])


def measured(queue: str, folder: Path, *more: str) -> dict:
    result, capture = str(folder / "result.json"), str(folder / "runs.capture")
    kept = ("--json", result, "--capture", capture)
    done = run("measure", "--kernel", "uml", "--queue", queue, *RATE, *kept, "--quiet", *more)
    assert done.exit_code == 0, done.output
    found = json.loads(Path(result).read_text("utf-8"))
    check(found)
    return found


@contextmanager
def busy():
    """Other work for every processor."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.long
@boots
def test_packets_are_found_and_two_runs_are_the_same_to_the_byte(tmp_path):
    folders = [tmp_path / "idle", tmp_path / "busy"]
    for folder in folders:
        folder.mkdir()
    found = measured("pfifo:100", folders[0], "--seed", "3")
    assert (found["verdict"], found["counted_in"]) == ("fifo", "packets")
    assert found["truth"]["capacity"] == 100
    assert found["capacity"] == pytest.approx(found["truth"]["capacity"], abs=1)
    # Nothing is late on the virtual clock: the interval is that of whole packets, no wider.
    assert found["ci95"] == pytest.approx([99.5, 100.5], abs=0.1)
    assert found["truth"]["settings"] == {"limit": 100}
    assert "user-mode Linux" in found["target"]
    with busy():
        again = measured("pfifo:100", folders[1], "--seed", "3")
    assert again == found
    first, second = ((folder / "runs.capture").read_bytes() for folder in folders)
    assert first == second
    assert len(load(folders[0] / "runs.capture").runs) >= 4


@pytest.mark.long
@boots
def test_bytes_are_found_behind_long_wires(tmp_path):
    found = measured("bfifo:150kB", tmp_path, "--delay", "10ms", "--direction", "up", "--ipv6")
    assert (found["verdict"], found["counted_in"]) == ("fifo", "bytes")
    assert found["truth"]["capacity"] == 150_000
    # To the byte only within a packet of the smaller size, as on the host's kernel.
    assert found["capacity"] == pytest.approx(150_000, abs=764)
    assert found["truth"]["delay_s"] == 0.01


@pytest.mark.long
@boots
def test_flow_queues_are_told_from_a_fifo(tmp_path):
    report = tmp_path / "report.html"
    found = measured("fq_codel limit 100", tmp_path, "--report", str(report))
    assert found["verdict"] == "isolated"
    assert found["capacity"] is None
    truth = found["truth"]
    assert (truth["kind"], truth["discipline"]) == ("discipline", "fq_codel")
    assert truth["parameters"] == ["limit", "100"]
    assert truth["capacity"] is None
    assert (truth["settings"]["limit"], truth["settings"]["flows"]) == (100, 1024)
    assert "fq_codel" in report.read_text("utf-8")


@boots
def test_any_function_of_the_project_runs_in_the_bed(tmp_path):
    heard = []
    # cake as its own shaper, disturbed and with long wires: all of it reaches the machine.
    config = HostApConfig(parse_queue("cake besteffort"), shaper="own", delay_s=0.03)
    ran = uml_bed.run(
        config, "uml_functions:look", {"word": "hello"}, hear=heard.append, files=tmp_path
    )
    assert heard == [{"first": "hello"}, "second"]
    assert (tmp_path / "left").read_text("utf-8") == "hello"
    assert ran.result["answered"]
    assert ran.result["round_trip_ms"] == pytest.approx(60, abs=1)
    assert 0.06 <= ran.result["elapsed_s"] <= ran.virtual_s < 1
    assert ran.result["sent"] == 1
    assert ran.result["kernel"] == machine.check()[1].name
    assert ran.truth["settings"]["diffserv"] == "besteffort"


@pytest.mark.long
@boots
@pytest.mark.parametrize(
    ("queue", "direction", "ipv6"), [("fq_codel", "down", False), ("fq_codel noecn", "up", True)]
)
def test_the_kernels_marks_are_recorded(queue, direction, ipv6):
    classes = [traffic_class(ecn=ECT_0), traffic_class(), traffic_class(46, ECT_1)]
    config = HostApConfig(parse_queue(queue), direction=direction, ipv6=ipv6, rate_bps=10_000_000)
    # Each of the three flows has more than its third of 822 packets/s.
    arguments = {"classes": classes, "rate_pps": 500}
    rows = uml_bed.run(config, "uml_functions:classes", arguments).result
    counts = {(sent, received): count for sent, received, count in rows}
    marking = "noecn" not in queue
    for sent in classes:
        marked = counts.pop((sent, sent | CE), 0)
        assert (marked > 0) == (marking and sent & CE != NOT_ECT), sent
        assert counts.pop((sent, sent)) > 100, "CoDel marks or drops one at a time"
    assert not counts, "no other class arrives"


# tc-fq_codel(8): only what ce_threshold_selector selects is marked above ce_threshold. tc-prio(8):
# priomap has the band of each priority; of a forwarded packet of IPv4 that is 4 for EF and 6 for DSCP
# 45 (rt_tos2priority). tc-cake(8): voice has EF, bulk CS1; wash clears the DSCP behind the queue.
_ALIKE = {"ef": "alike", "nqb": "alike", "cs1": "alike"}
_LESS = {"ef": "less", "nqb": "less", "cs1": "less"}


@boots
@pytest.mark.parametrize(
    ("queue", "ecn", "l4s", "waits", "washed"),
    [
        pytest.param("fq_codel noecn", "drops", "alike", _ALIKE, False, marks=pytest.mark.long),
        (
            "fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3",
            "marks",
            "apart",
            _ALIKE,
            False,
        ),
        pytest.param(
            "prio bands 3 priomap 1 2 2 2 0 2 0 0 1 1 1 1 1 1 1 1",
            "undecided",
            "alike",
            {**_LESS, "cs1": "alike"},
            False,
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("cake diffserv4 wash", "marks", "alike", {**_LESS, "nqb": "alike"}, True),
            marks=pytest.mark.long,
        ),
    ],
)
def test_the_kernels_treatment_of_classes_is_told(queue, ecn, l4s, waits, washed):
    config = HostApConfig(parse_queue(queue), rate_bps=10_000_000)
    found = uml_bed.run(config, "uml_functions:treated", {"rate_pps": 822}).result
    assert (found["ecn"], found["l4s"]) == (ecn, l4s)
    assert found["waits"] == waits
    changed = {(of["field"], of["sent"], of["arrived"]) for of in found["changed"]}
    assert changed == ({("dscp", of >> 2, 0) for of in EACH if of >> 2} if washed else set())
    if ecn == "marks":
        assert found["lost_share"]["ect_0"] < found["lost_share"]["not_ect"]


@boots
def test_errors_inside_come_out_as_sentences():
    heard = []
    with pytest.raises(uml_bed.FunctionError, match=r"^nothing like this$") as raised:
        uml_bed.run(HostApConfig(), "uml_functions:fail", {"of": "like"}, hear=heard.append)
    assert raised.value.kind == "airqueue.linux.errors:NamespaceError"
    assert heard == ["before"]
    with pytest.raises(uml_bed.FunctionError, match=r"uml_functions:absent cannot be loaded"):
        uml_bed.run(HostApConfig(), "uml_functions:absent")
    # What tc says about a value that it does not take.
    refused = run("measure", "--kernel", "uml", "--queue", "codel target 3furlongs", "--quiet")
    assert refused.exit_code == 1
    assert 'codel target 3furlongs\' failed (Illegal "target")' in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.long
@boots
def test_ctrl_c_keeps_the_runs_and_leaves_nothing_else(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "airqueue", "testbed", "measure", "--kernel", "uml"]
    process = subprocess.Popen(
        [*command, "--capture", "runs.capture"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    # Progress arrives while the machine runs. At the second session the search is over.
    said = iter(process.stderr.readline, "")
    assert any("session 2" in line for line in said)
    assert machines(temporary)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "airqueue analyze runs.capture" in rest
    assert "session" in {run.meta["kind"] for run in load(tmp_path / "runs.capture").runs}
    assert not machines_left(temporary)
    assert not list(temporary.iterdir())


def test_a_machine_without_user_mode_linux_is_told_which_package(monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    done = run("measure", "--kernel", "uml", "--quiet")
    assert done.exit_code == 1
    assert "'apt-get install user-mode-linux' provides it" in done.stderr


def test_what_the_kernel_lacks_is_refused_before_it_boots(monkeypatch, tmp_path):
    monkeypatch.setattr(uml_bed.machine, "check", lambda: ("linux.uml", tmp_path))
    monkeypatch.setattr(uml_bed, "missing_tools", lambda names: "")
    (tmp_path / "kernel/drivers/net").mkdir(parents=True)
    (tmp_path / "kernel/drivers/net/veth.ko").touch()
    (tmp_path / "kernel/net/sched").mkdir(parents=True)
    (tmp_path / "kernel/net/sched/sch_tbf.ko").touch()
    with pytest.raises(MachineUnavailableError, match="has no fq_pie: choose another queue"):
        uml_bed.run(HostApConfig(parse_queue("fq_pie")), "uml_functions:look")
    with pytest.raises(ConfigError, match="cannot police"):
        uml_bed.run(HostApConfig(policer="nft"), "uml_functions:look")


@pytest.mark.parametrize(
    "config",
    [
        HostApConfig(),
        HostApConfig(parse_queue("codel target 5ms"), delay_s=0.1, loss=0.01, ipv6=True),
        HostApConfig(parse_queue("bfifo:9kB"), disturbances=(Disturbance("stall", 9.0, 1.0),)),
        HostApConfig(policer="nft-packets", direction="up", burst_bytes=30_280),
        HostApConfig(parse_queue("cake"), shaper="own", rate_bps=1_000_000),
    ],
)
def test_a_configuration_reaches_the_machine_as_it_was(config):
    assert from_json(json.loads(json.dumps(to_json(config)))) == config


@pytest.mark.parametrize("name", ["airqueue", "airqueue.linux:", "a b:c", ":x", "x:y:z", "../a:b"])
def test_only_a_function_of_a_module_is_run(name):
    with pytest.raises(ValueError, match=r"write package\.module:function"):
        uml_bed.run(HostApConfig(), name)
