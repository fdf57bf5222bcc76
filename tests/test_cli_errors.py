"""Errors that the command turns into sentences are there under the names that it looks for."""

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from airqueue.cli import errors, main


@pytest.mark.parametrize(("module", "name"), errors._MENDABLE)
def test_errors_that_become_sentences_are_exceptions(module: str, name: str) -> None:
    assert issubclass(getattr(import_module(module), name), Exception)


@pytest.mark.parametrize("given", ["x", "0", "1.5", "100001", ""])
def test_a_number_out_of_bounds_is_told_the_bounds(runner, given):
    done = runner.invoke(main, ["simulate", "cell.toml", "--replications", given])
    assert done.exit_code == 2
    assert f"found {given!r}, expected a whole number from 1 to 100000.\n" in done.stderr


@pytest.mark.parametrize("given", ["x", "-1", "nan", "inf"])
def test_a_number_with_a_fraction_is_told_the_bounds(runner, given):
    done = runner.invoke(main, ["size", "web", "--users", "5", "--round-trips", given])
    assert done.exit_code == 2
    assert f"found {given!r}, expected a number from 0 to 100.\n" in done.stderr


def test_a_number_without_an_upper_bound_is_told_the_lower_one(runner):
    done = runner.invoke(main, ["measure", "h", "--min-capacity", "-1"])
    assert done.exit_code == 2
    assert "found '-1', expected a number of 0 or more.\n" in done.stderr


@pytest.mark.parametrize("asked", ["--help", "--version", "simulate --help"])
def test_help_that_cannot_be_printed_is_one_sentence(asked):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "airqueue", *asked.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    advice = "free some space or choose another place"
    assert done.stderr == f"Error: No space left on device; {advice}.\n"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("simulate examples/simulate/saturated-cell.toml", "simulate/saturated-cell"),
        ("size mesh ./examples/mesh/chain.toml", "mesh/chain"),
        ("sweep examples/sweep/buffer-size.toml", "sweep/buffer-size"),
    ],
)
def test_an_example_that_is_not_there_is_found_with_airqueue(runner, command, name):
    done = runner.invoke(main, command.split())
    assert done.exit_code == 1
    assert f'"$(airqueue examples --path {name})"' in done.stderr
    assert runner.invoke(main, ["examples", "--path", name]).exit_code == 0


def test_other_files_that_are_not_there_are_not_taken_for_examples(runner):
    for path in ("cell.toml", "examples/cell.toml", "/examples/simulate/rdqm.toml", "examples"):
        done = runner.invoke(main, ["simulate", path])
        assert done.stderr == f"Error: {path}: No such file or directory.\n"


def test_a_name_that_is_no_text_is_shown_by_its_bytes(runner):
    done = runner.invoke(main, ["simulate", os.fsdecode(b"bad\xff.toml")])
    assert done.stderr == "Error: bad\\xff.toml: No such file or directory.\n"


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        ("examples", ">&-", 0),
        ("schema", ">&-", 0),
        ("status", ">&-", None),
        ("simulate nofile.toml", ">&- 2>&- <&-", 1),
        ("simulate -", "<&-", 1),
        ("analyze -", "<&-", 1),
        ("size ap -", "<&-", 1),
    ],
)
def test_closed_streams_are_no_traceback(arguments, closed, code, tmp_path):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m airqueue {arguments} {closed}', sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert code in (None, done.returncode), done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr
    if closed == "<&-":
        advice = "give it a file with '< FILE'"
        assert done.stderr == f"Error: standard input is closed; {advice}.\n"


@pytest.mark.parametrize(
    ("module", "code", "says"),
    [
        ("typing", -signal.SIGINT, ""),
        ("click", -signal.SIGINT, ""),
        ("jsonschema", errors.INTERRUPTED, "Interrupted.\n"),
    ],
)
def test_an_interrupt_while_modules_load_is_no_traceback(module, code, says, tmp_path):
    """The module gets it before it has loaded: the library's or command's first, or a later one."""
    interrupts = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (tmp_path / f"{module}.py").write_text(interrupts, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "airqueue", "size", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", says)
