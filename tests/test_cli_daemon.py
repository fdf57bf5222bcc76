"""`airqueue apply` and others are the commands of `airqueued`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from airqueue.cli import daemon, main
from airqueue.sizing import plans
from binaries import newest


def ran(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "airqueue", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def built() -> None:
    if daemon.program() is None:
        pytest.skip("airqueued is not built: make endpoint")


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("command", daemon.COMMANDS)
def test_help_is_that_of_the_program(tmp_path, command):
    done = ran(command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"Usage: airqueued {command}" in done.stdout and "Example" in done.stdout


@pytest.mark.usefixtures("built")
def test_arguments_and_exit_codes_pass(tmp_path):
    wrong = {"plan": 1, "made_by": "me", "settings": []}
    (tmp_path / "plan.json").write_text(json.dumps(wrong), "utf-8")
    words = ("apply", "plan.json", "--dry-run", "--state", str(tmp_path / "state"))
    done = ran(*words, cwd=tmp_path)
    assert done.returncode == 3 and "settings" in done.stderr
    assert ran("apply", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("words", [["--help"], ["status"], ["places"]])
def test_what_cannot_be_printed_is_a_failure(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [newest("airqueued"), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    said = "airqueued: the output cannot be written: No space left on device (os error 28)\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.usefixtures("built")
def test_the_program_knows_the_interface_that_a_plan_names(tmp_path):
    setting = {"why": "A test.", "set": plans.queue("nosuchif0", plans.fifo(packets=5))}
    plan = {"plan": 1, "made_by": "me", "settings": [setting]}
    (tmp_path / "plan.json").write_text(json.dumps(plan), "utf-8")
    words = ("apply", "plan.json", "--dry-run", "--state", str(tmp_path / "state"))
    done = ran(*words, cwd=tmp_path)
    assert done.returncode != 0 and "nosuchif0" in done.stderr


def test_without_the_program_a_sentence_says_where_it_is(monkeypatch):
    monkeypatch.setattr(daemon, "PROGRAM", "no-such-program")
    done = CliRunner().invoke(main, ["restore"])
    assert done.exit_code == 1
    assert "`airqueue restore` is a command of no-such-program" in done.output
