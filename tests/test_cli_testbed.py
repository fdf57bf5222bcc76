"""`airqueue testbed`: options, errors in one sentence, and the truth beside the estimate."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.cli import testbed as testbed_module
from airqueue.linux import discipline
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
    ("queue", "arguments", "last"),
    [
        ("fq_codel", (), "parent 1:1 handle 10: fq_codel"),
        ("codel target 50ms limit 9", (), "parent 1:1 handle 10: codel target 50ms limit 9"),
        ("sfq", ("--shaper", "htb"), "parent 1:10 handle 10: sfq"),
        ("cake nat", (), "root handle 10: cake bandwidth 7000000bit nat"),
        ("cake", ("--shaper", "tbf"), "parent 1:1 handle 10: cake"),
        ("drr", (), "parent 10: protocol all prio 2 u32 match u32 0 0 flowid 10:1"),
    ],
)
def test_show_passes_words_of_disciplines_on_to_tc(queue, arguments, last):
    shown = run("show", "--queue", queue, *arguments)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[-1].endswith(last)


def test_show_puts_the_wires_where_the_access_point_receives():
    lines = run("show", "--delay", "5ms", "--loss", "0.5%").stdout.splitlines()
    netem = [line for line in lines if " netem " in line]
    assert len(netem) == 2
    assert all(line.endswith("delay 5000us loss 0.5%") for line in netem)
    assert all(line.startswith("ip netns exec ap ") for line in netem)


@pytest.mark.skipif(shutil.which("tc") is None, reason="tc is not installed")
@pytest.mark.parametrize("kind", sorted({*discipline.NAMES} - {"drr"}))
def test_tc_knows_the_parameters(kind):
    """Of a word that tc does not know it says so; all else it says about there being no device."""
    newer = {"bands", "priomap", "weights", "offload_horizon"} if kind == "fq" else set()
    for word in sorted({*discipline.parameters(kind)} - newer):
        command = ["tc", "qdisc", "add", "dev", "no-such", "root", kind, word, "1", "1"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        assert f'What is "{word}"' not in said, word


def test_lists_of_numbers_are_one_parameter():
    of_prio = discipline.Discipline.parse("prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1")
    assert of_prio.words[:3] == ("prio", "bands", "3")


def test_the_page_names_the_disciplines():
    page = (Path(__file__).parents[1] / "docs" / "testbed.md").read_text("utf-8")
    listed = page.split("`--queue` takes ")[1].split("each\nfollowed")[0]
    assert re.findall(r"`(\w+)`", listed) == list(discipline.NAMES)


def test_a_seed_is_for_the_virtual_clock():
    result = run("measure", "--seed", "2")
    assert result.exit_code == 2
    assert "--seed is for --kernel uml" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--queue", "codle"), "is no queue"),
        (("--queue", "codel:100p"), "pfifo:PACKETS"),
        (("--queue", "codle target 5ms"), "no discipline 'codle'; there are cake"),
        (("--queue", "codel target 5ms;reboot"), "'5ms;reboot' is no word of tc's"),
        (("--queue", "codel --help"), "'--help' is no word of tc's"),
        (("--queue", "codel " + "1 " * 100), "words of parameters"),
        (("--queue", "cake bandwidth 5mbit"), "leave it out"),
        (("--queue", "cake", "--stall", "9s:1s"), "cannot be stalled"),
        (("--queue", "codel", "--shaper", "own"), "only cake"),
        (("--shaper", "own"), "only cake"),
        (("--queue", "drr", "--isolate"), "drr keeps flows apart itself"),
        (("--queue", "codel", "--policer", "nft"), "codel is without effect"),
        (("--queue", "codel", "--limit-swing", "9s:0.5"), "only that of a FIFO can"),
        (("--delay", "11s"), "10 s"),
        (("--loss", "60%"), "50 %"),
        (("--loss", "1p"), "write for example 0.01 or 1%"),
        (("--queue", "fifo:5"), "there are pfifo, bfifo"),
        (("--queue", "pfifo"), "write pfifo:LIMIT"),
        (("--mpu", "590"), '"590" has no unit; a size'),
        (("--queue", "pfifo:0"), "must be at least 1 packet and less than 2^31"),
        (("--queue", "bfifo:1B"), "must be at least 1514 bytes and less than 2^31"),
        (("--queue", "codel targte 5ms"), "no parameter 'targte'; did you mean 'target'?"),
        (("--queue", "skbprio target 5ms"), "no parameter 'target'; there are limit"),
        (("--queue", "codel limit 9 ecm"), "no parameter 'ecm'; did you mean 'ecn'?"),
        (("--queue", "codel limit"), "codel has limit without a value"),
        (("--queue", "codel target nonsense"), "codel has target nonsense; expected a number"),
        (("--rate", "1e300mbit"), "the rate of 1e+306 b/s is outside 8 kb/s to 1 Gb/s"),
        (("--rate", "7"), '"7" has no unit; a rate'),
        (("--rate", "9gbit"), "1 Gb/s"),
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
    needed = [line for line in result.stdout.splitlines() if "--kernel uml" not in line]
    assert not any("MISSING" in line for line in needed)
    for name in ("tbf", "htb", "u32", "nftables", "veth", "FIFO"):
        assert name in result.stdout


@pytest.mark.bed
def test_check_names_what_is_missing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = run("check")
    assert result.exit_code == 1
    assert "apt-get install iproute2" in result.stderr
