"""The outputs of commands: none overwrites another or what is read, and one that fails keeps none of
the others back.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import click
import pytest

from airqueue.cli import main
from airqueue.cli.written import all_written, check_apart

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
WALK = """
[medium]
snr = "30 dB"
[[links]]
between = ["ap", "sta"]
snr_trace = {file = "walk.csv"}
"""
SWEEP = """
scenario = "cell.toml"
[parameters]
"stations.sta.count" = [1, 2]
"""
MESH = files("airqueue").joinpath("examples/mesh/chain.toml").read_text("utf-8")
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
    assert "no trace of sta:ap was written" in result.stderr
    assert Path("r.html").exists() and Path("rows", "flows.csv").exists()
    assert "1 replication of" in result.stdout


def test_a_size_is_shown_and_written_where_its_plan_is_not(run):
    size = ("size", "ap", "--rate", "54mbit", "--rtt", "100ms", "--plan", "/dev/full")
    result = run(*size, "--json", "size.json")
    assert (result.exit_code, result.stderr) == (1, FULL)
    assert Path("size.json").exists()
    assert "54" in result.stdout


@pytest.mark.parametrize("given", ["s.toml", "./s.toml", "there/../s.toml", "link.toml"])
def test_what_is_read_is_not_overwritten_by_whatever_name(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").touch()
    Path("there").mkdir()
    Path("link.toml").symlink_to("s.toml")
    with pytest.raises(click.UsageError, match="--json would overwrite"):
        check_apart([("--report", "a.html"), ("--json", given)], [None, "s.toml"])


def test_two_outputs_have_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.UsageError, match="named by both --json and --report"):
        check_apart([("--json", "x"), ("--report", Path("y/../x"))])
    with pytest.raises(click.UsageError, match="named by --pcap twice"):
        check_apart([("--pcap", "x"), ("--pcap", "x")])
    with pytest.raises(click.UsageError, match="both --json and --report"):
        check_apart([("--json", "/dev/shm/x"), ("--report", "/dev/shm/x")])


def test_what_passes_on_may_be_named_by_all(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    for name in ("/dev/null", "/dev/stdout", "/dev/fd/1", pipe):
        check_apart([("--json", name), ("--report", name)], [name])
    check_apart([("--json", "-"), ("--csv", "-")], ["-"], streams=("--json", "--csv"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("simulate cell.toml --json cell.toml", "--json would overwrite cell.toml, which is read"),
        ("simulate cell.toml --trace sta:ap=cell.toml", "--trace would overwrite"),
        ("simulate cell.toml --report x --json x", "x is named by both --json and --report"),
        ("simulate cell.toml --pcap x --trace sta:ap=x", "named by both --pcap and --trace"),
        ("simulate cell.toml --csv . --json ./flows.csv", "named by both --json and --csv"),
        ("simulate walk.toml --json ./walk.csv", "--json would overwrite ./walk.csv, which"),
        ("simulate cell.toml --out . --json summary.json", "named by both --json and --out"),
        ("simulate cell.toml --csv -", "--csv writes a directory, and - is none"),
        ("simulate cell.toml --out -", "--out writes a directory, and - is none"),
        ("simulate cell.toml --report -", "--report has no - for standard output"),
        ("emulate cell.toml --json cell.toml -- true", "--json would overwrite cell.toml"),
        (
            "emulate walk.toml --exact --run sta=true --at ap --json walk.csv -- true",
            "--json would overwrite walk.csv",
        ),
        ("emulate cell.toml --report x --pcap ap=x -- true", "named by both --report and --pcap"),
        ("emulate cell.toml --report - -- true", "--report has no -"),
        ("emulate cell.toml --control x --json x -- true", "named by both --json and --control"),
        ("measure 192.0.2.1 --capture x --json x", "named by both --json and --capture"),
        ("measure 192.0.2.1 --resume cell.toml --json cell.toml", "--json would overwrite"),
        ("measure 192.0.2.1 --with 192.0.2.2 --capture x --json x", "both --json and --capture"),
        ("testbed measure --capture x --report x", "both --report and --capture"),
        ("analyze cell.toml --report cell.toml", "--report would overwrite"),
        ("compare cell.toml cell.toml --json cell.toml", "--json would overwrite"),
        ("diagnose 192.0.2.1 --plan x --prometheus x", "named by both --prometheus and --plan"),
        ("diagnose 192.0.2.1 --queue --capture x --json x", "both --json and --capture"),
        ("diagnose --from cell.toml --json cell.toml", "--json would overwrite"),
        ("diagnose 192.0.2.1 --plan -", "--plan has no - for standard output"),
        ("size mesh mesh.toml --json mesh.toml", "--json would overwrite"),
        ("size ap --rate 54mbit --rtt 1s --json x --plan x", "named by both --json and --plan"),
        ("size ap --rate 54mbit --rtt 1s --plan -", "--plan has no - for standard output"),
        ("sweep sweep.toml --json cell.toml", "--json would overwrite cell.toml, which is read"),
        ("sweep walks.toml --json walk.csv", "--json would overwrite walk.csv, which is read"),
        ("sweep sweep.toml --json sweep-sweep/summary.json", "both --json and --out"),
        ("sweep sweep.toml --out -", "--out writes a directory, and - is none"),
        ("model tay-chua n=1,2 --json x --csv x", "named by both --json and --csv"),
        ("examples rdqm --out -", "--out has no - for standard output"),
        ("reproduce --out -", "--out writes a directory, and - is none"),
    ],
)
def test_outputs_that_would_be_lost_are_refused_before_the_run(run, arguments, says):
    Path("sweep.toml").write_text(SWEEP)
    Path("mesh.toml").write_text(MESH)
    Path("walk.toml").write_text(Path("cell.toml").read_text() + WALK)
    Path("walk.csv").write_text("time_s,snr_db\n0,30\n")
    Path("walks.toml").write_text(SWEEP.replace("cell.toml", "walk.toml"))
    before = {path: path.read_text() for path in Path().iterdir()}
    result = run(*arguments.split())
    assert result.exit_code == 2, result.output
    assert says in result.stderr
    assert result.stderr.endswith(".\n") and "Traceback" not in result.stderr
    assert {path: path.read_text() for path in Path().iterdir()} == before
