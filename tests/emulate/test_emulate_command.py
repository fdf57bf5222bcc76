"""`airqueue emulate`: what is wrong is one sentence, before anything is built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue.cli import emulate as command
from airqueue.cli import main
from airqueue.emulate import EmulationError, Program, devices, emulate
from airqueue.linux.errors import NamespaceError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument 'SCENARIO'"),
        (["quiet-flat"], "Say what to run"),
        (["quiet-flat", "--at", "phone"], "write the command after --"),
        (["quiet-flat", "--shell", "phone", "--", "true"], "--shell NODE is the command"),
        (["quiet-flat", "--shell", "phone", "--at", "phone"], "--shell NODE is the command"),
        (["quiet-flat", "--run", "sleep 1"], "is not NODE=COMMAND"),
        (["quiet-flat", "--run", "phone= "], "is not NODE=COMMAND"),
        (["quiet-flat", "--run", "=true"], "is not NODE=COMMAND"),
        (["quiet-flat", "--duration", "0s"], "above zero"),
        (["quiet-flat", "--duration", "1e9h"], "--duration is at most 1000000h"),
        (["quiet-flat", "--duration", "1e30s", "--exact", "--", "true"], "--duration is at most"),
        (["quiet-flat", "--seed", "-1", "--", "true"], "--seed"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, says):
    result = CliRunner().invoke(main, ["emulate", *arguments])
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("option", ["--json", "--control"])
def test_a_file_that_cannot_be_written_is_found_before_anything_is_built(option, tmp_path):
    path = str(tmp_path / "absent" / "result")
    result = CliRunner().invoke(main, ["emulate", "quiet-flat", option, path, "--", "true"])
    assert result.exit_code == 1
    assert "absent" in result.stderr


@pytest.mark.parametrize(
    ("preset", "hint"),
    [
        ("quiet-flat", "; there are ap, phone, server"),
        ("conference-hall", "; real nodes are phone, server"),
    ],
)
def test_an_unknown_node_is_told_with_the_nodes_that_there_are(preset, hint):
    result = CliRunner().invoke(
        main, ["emulate", preset, "--exact", "--at", "tablet", "--", "true"]
    )
    assert result.exit_code == 1
    says = f'there is no station, host or group "tablet"{hint}.'
    assert result.stderr == f"Error: {preset}: {says}\n"


def test_a_machine_without_namespaces_is_told_so(monkeypatch):
    def refuse(what: str, tools: object) -> None:
        raise NamespaceError(f"{what} needs root or user namespaces")

    monkeypatch.setattr(command.privileges, "ensure", refuse)
    result = CliRunner().invoke(main, ["emulate", "quiet-flat", "--", "true"])
    assert result.exit_code == 1
    assert result.stderr == "Error: an emulation needs root or user namespaces.\n"


def test_a_machine_without_tun_devices_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "_TUN", tmp_path / "tun")
    assert re.match("there is no .*modprobe tun", devices.why_no_tun())

    def forbid(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(devices.os, "open", forbid)
    assert "cannot be opened (Permission denied): run as root" in devices.why_no_tun()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("echo hi", "the program is 'echo hi'; give a list of words"),
        ((), "the list of the program's words is empty"),
        (("sleep", 1), "the program's word 1 is no text; write '1'"),
    ],
)
def test_a_program_is_a_list_of_words(argv, says):
    with pytest.raises(EmulationError, match=re.escape(says)):
        Program("phone", argv)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"real": "phone"}, "real: 'phone' is a text; give a list of nodes"),
        ({"seed": 1.5}, "seed: 1.5; expected a whole number"),
        ({"device": "tap"}, "'tap' is no kind of device"),
    ],
)
def test_arguments_of_a_network_are_checked(arguments, says):
    with pytest.raises(EmulationError, match=re.escape(says)):
        emulate("quiet-flat", **arguments)
