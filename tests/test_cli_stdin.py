"""`airqueue analyze -`: a capture, or one of the logs, from standard input."""

import json

import pytest

from airqueue.cli import main
from airqueue.measure.capture import CaptureFile
from fifo import Fifo, FifoProber
from test_cli import MemoryCapture, mgen_logs_of, path_of  # noqa: F401 - a fixture


@pytest.fixture
def capture_bytes(runner, path_of, tmp_path):  # noqa: F811
    """A capture of a measurement of a queue of 50 packets."""
    path_of(FifoProber(Fifo(50)))
    command = ["measure", "192.0.2.1", "--sizes", "1500,500", "--capture", "a.capture"]
    assert runner.invoke(main, command).exit_code == 0
    header, runs = MemoryCapture.files["a.capture"]
    path = tmp_path / "real.aqc"
    with CaptureFile.create(path, header) as file:
        for run in runs:
            file.append(run)
    return path.read_bytes()


def analyzed(runner, monkeypatch, *arguments, given):
    """The result of `airqueue analyze`, which reads real files here."""
    monkeypatch.undo()
    result = runner.invoke(main, ["analyze", *arguments, "--json", "-"], input=given)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_capture_from_standard_input_is_analyzed(runner, monkeypatch, capture_bytes, tmp_path):
    folder = tmp_path / "real.aqc"
    piped = analyzed(runner, monkeypatch, "-", given=capture_bytes)
    of_file = analyzed(runner, monkeypatch, str(folder), given=None)
    assert piped["estimators"] == of_file["estimators"]
    assert piped["estimators"]["counting"]["packets"] == pytest.approx(50, abs=1)


def test_a_log_from_standard_input_names_no_other_file(runner, tmp_path):
    receiver, sender = mgen_logs_of(tmp_path / "logs", 1500, 80)
    command = ["analyze", "--format", "mgen", "-", "--sender-log", str(sender), "--json", "-"]
    result = runner.invoke(main, command, input=receiver.read_bytes())
    assert result.exit_code == 0, result.output
    measured = json.loads(result.stdout)
    assert measured["target"] == "standard input"
    assert measured["estimators"]["counting"]["packets"] == pytest.approx(80, abs=1)


@pytest.mark.parametrize("arguments", [[], ["--format", "mgen"]])
def test_what_is_no_capture_is_told_of_standard_input(runner, arguments):
    result = runner.invoke(main, ["analyze", *arguments, "-"], input=b"hello\n")
    assert result.exit_code == 1
    assert "standard input" in result.stderr and "airqueue-" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_standard_input_is_read_once(runner):
    result = runner.invoke(main, ["analyze", "--format", "mgen", "-", "-"], input=b"")
    assert result.exit_code == 2
    assert "give - for one FILE only" in result.stderr
