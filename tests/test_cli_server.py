"""The command line with real sockets: the server as a process, and who talks to it."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from airqueue.cli import main
from airqueue.measure.schema import check

pytestmark = pytest.mark.wall_clock


@contextmanager
def serving(*arguments):
    """`airqueue server` as a process; yields it and the address that it names."""
    command = [sys.executable, "-m", "airqueue", "server", "--bind", "127.0.0.1", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"Listening on (127\.0\.0\.1):(\d+)", line)
            assert found, line
            yield process, int(found[2])
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_server_ends_cleanly(number):
    with serving("--port", "0") as (process, _port):
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert errors == "Stopped.\n"


def test_measuring_through_a_real_server(runner, tmp_path):
    # Loopback has no queue to fill at such a rate, and the verdict must say so.
    (tmp_path / "key").write_text("secret")
    with serving("--port", "0", "--key-file", str(tmp_path / "key")) as (_process, port):
        command = ["measure", "127.0.0.1", "--port", str(port), "--max-rate", "5mbit", "-q"]
        arguments = ["--key-file", "key", "--capture", "a.capture", "--json", "-"]
        result = runner.invoke(main, [*command, *arguments])
        wrong = runner.invoke(main, command)
    assert result.exit_code == 0, result.output
    measured = json.loads(result.stdout)
    check(measured)
    assert measured["verdict"] == "not_saturable"
    assert wrong.exit_code == 1
    assert wrong.stdout == ""
    assert "key" in wrong.stderr
    assert wrong.stderr.count("\n") == 1
    again = runner.invoke(main, ["analyze", "a.capture", "--json", "-"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["verdict"] == measured["verdict"]


def test_a_taken_port_is_one_sentence(runner):
    with serving("--port", "0") as (_process, port):
        result = runner.invoke(main, ["server", "--bind", "127.0.0.1", "--port", str(port)])
    assert result.exit_code == 1
    assert str(port) in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--bind", "--attend"])
def test_an_address_that_is_none_is_wrong_usage(runner, option):
    result = runner.invoke(main, ["server", "--port", "0", option, "host.example"])
    assert result.exit_code == 2
    assert "'host.example' is no IP address, such as 192.0.2.1.\n" in result.stderr


def test_nobody_there_is_one_sentence(runner):
    result = runner.invoke(main, ["measure", "127.0.0.1", "--port", "9", "--quiet"])
    assert result.exit_code == 1
    assert "127.0.0.1" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
