"""The outputs of commands: one that fails keeps none of the others back."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from airqueue.cli import main
from airqueue.cli.written import all_written

CELL = """
duration = "100 ms"
[phy]
standard = "802.11b"
[[stations]]
name = "ap"
[[stations]]
name = "sta"
[[flows]]
name = "up"
from = "sta"
to = "ap"
source = "cbr"
rate = "100 kb/s"
"""
FULL = "Error: /dev/full: No space left on device; free some space or choose another place.\n"


@pytest.fixture
def run(runner):
    """Run a command beside ``cell.toml``."""
    Path("cell.toml").write_text(CELL)
    return lambda *arguments: runner.invoke(main, arguments)


def fail(error: Exception) -> None:
    raise error


def test_the_other_outputs_are_written_and_the_failure_is_raised():
    written: list[str] = []
    with pytest.raises(OSError, match="full"), all_written() as write:
        write(fail, OSError("full"))
        write(written.append, "second")
    assert written == ["second"]


def test_of_several_failures_each_is_said_once(capsys):
    with pytest.raises(click.ClickException, match="last"), all_written() as write:
        for message in ("first", "first", "last"):
            write(fail, click.ClickException(message))
    assert capsys.readouterr().err == "Error: first\n"


def test_a_defect_is_raised_for_its_traceback_whatever_fails_after_it(capsys):
    with pytest.raises(ZeroDivisionError), all_written() as write:
        write(fail, ZeroDivisionError())
        write(fail, click.ClickException("later"))
    assert capsys.readouterr().err == "Error: later\n"


def test_what_failed_is_said_where_an_interrupt_ends_the_work(capsys):
    with pytest.raises(KeyboardInterrupt), all_written() as write:
        write(fail, click.ClickException("first"))
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "Error: first\n"


def test_a_simulation_writes_what_can_be_written(run):
    options = ("--replications", "1", "--csv", "rows", "--trace", "sta:ap=nothing.mahi")
    result = run("simulate", "cell.toml", "--json", "/dev/full", "--report", "r.html", *options)
    assert result.exit_code == 1
    assert result.stderr.startswith(FULL)
    assert "no trace of sta:ap is made" in result.stderr
    assert Path("r.html").exists() and Path("rows", "flows.csv").exists()
    assert "1 replication of" in result.stdout


def test_a_size_is_shown_and_written_where_its_plan_is_not(run):
    size = ("size", "ap", "--rate", "54mbit", "--rtt", "100ms", "--plan", "/dev/full")
    result = run(*size, "--json", "size.json")
    assert (result.exit_code, result.stderr) == (1, FULL)
    assert Path("size.json").exists()
    assert "54" in result.stdout
