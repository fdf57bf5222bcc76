"""`airqueue testbed`: options, errors in one sentence, and the truth beside the estimate."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.cli import testbed as testbed_module
from airqueue.linux.config import HostApConfig
from airqueue.linux.errors import NamespaceError
from airqueue.measure.schema import check
from fifo import Fifo, FifoProber


def run(*arguments: str):
    return CliRunner().invoke(main, ["testbed", *arguments])


def test_show_prints_commands_without_any_rights():
    result = run("show", "--queue", "bfifo:150kB", "--rate", "500kbit", "--burst", "4p")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == ["ip netns add sender", "ip netns add ap", "ip netns add receiver"]
    assert all(line.startswith("ip netns exec ") for line in lines[3:])
    assert lines[-2].endswith("tbf rate 500000bit burst 6056 limit 150000")
    assert lines[-1].endswith("parent 1:1 handle 10: bfifo limit 150000")


def test_isolation_chooses_the_shaper_that_can():
    assert " htb " in run("show", "--isolate").stdout
    assert run("show", "--isolate", "--shaper", "tbf").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--queue", "codel"), "pfifo:PACKETS"),
        (("--queue", "fifo:5"), "there are pfifo, bfifo"),
        (("--queue", "pfifo"), "write pfifo:LIMIT"),
        (("--mpu", "590"), '"590" has no unit; a size'),
        (("--queue", "pfifo:0"), "at least 1"),
        (("--rate", "7"), '"7" has no unit; a rate'),
        (("--rate", "9gbit"), "1 gbit/s"),
        (("--burst", "1p"), "one full frame"),
        (("--stall", "1s:5s"), "stall"),
        (("--swing", "1s"), "swing"),
        (("--policer", "nft", "--isolate"), "policer"),
        (("--isolate", "--stall", "9s:1s"), "stall"),
    ],
)
def test_wrong_options_are_wrong_usage_in_one_sentence(arguments, says):
    for command in ("show", "measure"):
        result = run(command, *arguments)
        assert result.exit_code == 2
        assert says in result.stderr
        assert "Traceback" not in result.stderr


def test_a_machine_that_cannot_build_it_is_told_so(monkeypatch):
    def refuse(policer: bool = False) -> None:
        raise NamespaceError("the test bed needs root")

    monkeypatch.setattr(testbed_module.preflight, "ensure_privileges", refuse)
    for command in ("check", "measure"):
        result = run(command)
        assert result.exit_code == 1
        assert result.stderr == "Error: the test bed needs root.\n"


def test_an_output_that_cannot_be_written_is_found_before_anything_is_built(monkeypatch, tmp_path):
    monkeypatch.setattr(testbed_module, "host_ap_prober", None)
    result = run("measure", "--json", str(tmp_path / "absent" / "result.json"))
    assert result.exit_code == 1
    assert "absent" in result.stderr


def test_the_truth_stands_beside_the_estimate(monkeypatch):
    configs: list[HostApConfig] = []

    @contextmanager
    def simulated(config: HostApConfig):
        configs.append(config)
        yield FifoProber(Fifo(100, shaper=True))

    monkeypatch.setattr(testbed_module, "host_ap_prober", simulated)
    monkeypatch.setattr(testbed_module.preflight, "ensure_privileges", lambda policer: None)
    result = run("measure", "--queue", "pfifo:100", "--shaper", "htb", "--quiet", "--json", "-")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    check(answer)
    assert answer["truth"]["capacity"] == 100
    assert answer["truth"]["counted_in"] == "packets"
    assert answer["target"] == "Host AP, pfifo:100 behind htb at 7.00 Mb/s"
    assert configs == [HostApConfig(shaper="htb")]
    shown = run("measure", "--queue", "pfifo:100", "--quiet")
    assert "truth" in shown.stdout


@pytest.mark.bed
def test_check_tries_everything():
    result = run("check")
    assert result.exit_code == 0
    assert "MISSING" not in result.stdout
    for name in ("tbf", "htb", "u32", "nftables", "veth", "FIFO"):
        assert name in result.stdout


@pytest.mark.bed
def test_check_names_what_is_missing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = run("check")
    assert result.exit_code == 1
    assert "apt-get install iproute2" in result.stderr
