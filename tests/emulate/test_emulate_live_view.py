"""`airqueue emulate --live` on a terminal, `airqueue ctl show --watch`, and the tables of both."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import emulate_view, main
from airqueue.cli.console import Console
from airqueue.emulate import control
from tests.piped import tables_alone

COMMAND = [sys.executable, "-m", "airqueue"]


def figures() -> Any:
    pair = {
        "offered_bps": 1e6,
        "delivered_bps": 1e6,
        "offered_packets": 100,
        "delivered_packets": 90,
        "dropped_packets": 8,
        "given_up_packets": 2,
        "marked_packets": 0,
        "delay_p50_s": 0.02,
        "delay_p95_s": None,
    }
    silent = {**pair, "offered_packets": 0, "delivered_packets": 0}
    stations = {
        f"sta{n}": {"airtime_ratio": n / 100, "busy_ratio": 0.5, "away": n == 1} for n in range(20)
    }
    queues = {
        "sta19.be": {"packets": 7, "bytes": 7000, "dropped_packets": 3},
        "sta19.vo": {"packets": 1, "bytes": 100, "dropped_packets": 0},
        "server->ap": {"packets": 5, "bytes": 5000, "dropped_packets": 0},
        "ap->server": {"packets": 0, "bytes": 0, "dropped_packets": 0},
    }
    return {
        "duration_s": 3.0,
        "elapsed_s": 12.0,
        "late_p99_s": 0.0003,
        "read_late_p99_s": None,
        "unwritten_packets": 0,
        "held_packets": 3,
        "cpu_ratio": None,
        "pairs": {"phone->server": pair, "server->phone": silent},
        "stations": stations,
        "queues": queues,
    }


def test_tables_have_what_matters():
    shown = io.StringIO()
    Console(width=100, file=shown).print(*emulate_view.tables(figures()))
    rows = [line.split("│")[1:-1] for line in shown.getvalue().splitlines() if "│" in line]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert cells["phone → server"] == ["1.00 Mb/s", "20 ms", "–", "8", "2"]
    assert "server → phone" not in cells
    assert cells["sta19"] == ["19.0 %", "8", "3"]
    # The busiest, and the one that is away.
    assert cells["sta1"][0] == "away"
    assert "sta2" not in cells
    assert cells["server → ap"] == ["", "5", "0"]
    assert "ap → server" not in cells


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--live", "--", "true"], "--live needs a terminal on stderr"),
        (["--live", "--shell", "phone"], "--live and --shell do not go together"),
        (["--live", "--quiet", "--", "true"], "--live and --quiet do not go together"),
        (["--live", "--exact", "--", "true"], "--live is for real time"),
        (["--control", "s", "--exact", "--", "true"], "--control is for real time"),
        (["--metrics", "9100", "--exact", "--", "true"], "--metrics is for real time"),
        (["--control", "s", "--twins", "3", "--", "true"], "--control is not for --twins"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, says):
    result = CliRunner().invoke(main, ["emulate", "quiet-flat", *options])
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


@contextmanager
def terminal(*command: str | Path, stdout: int | None = None) -> Iterator[tuple[Any, int]]:
    """Run a command whose stderr, and whose stdout unless it is given, is a terminal."""
    reading, end = pty.openpty()
    process = subprocess.Popen(
        [str(each) for each in command],
        stdin=subprocess.DEVNULL,
        stdout=end if stdout is None else stdout,
        stderr=end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "50"},
        start_new_session=True,
    )
    os.close(end)
    try:
        yield process, reading
    finally:
        process.terminate()
        process.wait(60)
        os.close(reading)


def read_until(reading: int, *marks: str) -> str:
    """Read from a terminal until it has shown all of these; with none, until nobody writes."""
    found, deadline = b"", time.monotonic() + 60
    while not marks or not all(mark.encode() in found for mark in marks):
        left = deadline - time.monotonic()
        assert left > 0, f"{marks} are not all in {found.decode(errors='replace')}"
        if select.select([reading], [], [], left)[0]:
            data = b""
            with suppress(OSError):  # EIO: the last writer has closed the terminal
                data = os.read(reading, 65_536)
            if not data:
                break
            found += data
    return found.decode(errors="replace")


@pytest.mark.emulation
def test_figures_and_programs_share_a_terminal():
    script = (
        "ping -q -c 5 -i 0.02 peer; test -t 1 && echo at a terminal;"
        "printf 'no end'; echo ' of a line'; echo oops >&2; sleep 2; printf last"
    )
    command = [*COMMAND, "emulate", "quiet-flat", "--live", "--at", "phone"]
    with terminal(*command, "--", "sh", "-c", script) as (process, reading):
        shown = read_until(reading)
        assert process.wait(60) == 0
    assert "5 packets transmitted, 5 received" in shown
    assert "at a terminal" not in shown
    assert "no end of a line" in shown
    assert "oops" in shown
    assert "last" in shown
    assert "air time" in shown
    assert "phone → server" in shown
    # The summary comes after the last of the figures; a busy machine may have spoilt the delays.
    summary = " ".join(shown.rpartition("air time")[2].lower().split())
    assert "delays of this run" in summary


@pytest.mark.emulation
def test_what_does_not_go_to_the_terminal_stays_as_it_is(tmp_path):
    with (tmp_path / "out").open("wb") as out:
        command = [*COMMAND, "emulate", "quiet-flat", "--live", "--", "printf", "a\\000b"]
        with terminal(*command, stdout=out.fileno()) as (process, reading):
            read_until(reading)
            assert process.wait(60) == 0
    assert (tmp_path / "out").read_bytes() == b"a\0b"


@pytest.mark.emulation
def test_figures_can_be_watched_in_another_terminal(tmp_path):
    path = tmp_path / "s"
    emulation = subprocess.Popen(
        [
            *COMMAND,
            "emulate",
            "quiet-flat",
            "--control",
            path,
            "--",
            "sh",
            "-c",
            "echo go; sleep 99",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert emulation.stdout is not None
        assert emulation.stdout.readline() == b"go\n"
        with terminal(*COMMAND, "ctl", "--control", path, "show", "--watch") as (process, reading):
            read_until(reading, "air time", "of a processor")
            emulation.terminate()
            assert "The emulation has ended." in read_until(reading, "has ended.")
            assert process.wait(60) == 0
    finally:
        emulation.terminate()
        emulation.communicate(timeout=60)


def test_figures_in_a_pipe_are_tables_and_a_comment(monkeypatch):
    monkeypatch.setattr(control, "ask", lambda path, do, **more: figures())
    done = CliRunner().invoke(main, ["ctl", "--control", "here", "show"])
    assert done.exit_code == 0, done.output
    pairs, stations = tables_alone(done.stdout)
    assert pairs[0] == ["pair", "rate", "delay p50", "delay p95", "dropped", "lost"]
    (pair,) = pairs[1:]
    assert pair[0] == "phone → server" and pair[-2:] == ["8", "2"]
    # Queues of hosts have no air time: an empty cell.
    assert stations[-1] == ["server → ap", "", "5", "0"]
