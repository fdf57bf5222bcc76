"""`airqueue measure HOST --with STATION` and what it writes, over access points of known rules."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from access_points import AccessPoint

from airqueue.cli import main, stations
from airqueue.measure import capture
from airqueue.measure.capture import CaptureFile
from airqueue.measure.prober import ProbeError, RunInterrupted

MEASURE = ["measure", "192.0.2.1", "--with", "192.0.2.20", "--quiet"]


@pytest.fixture
def access_point(monkeypatch):
    """What the command measures; it notes how it was asked for."""
    point = AccessPoint("fifo", (30e6, 6e6))
    point.asked = []

    @contextmanager
    def together(host, names, port, **about):
        point.asked.append((host, list(names), port, about))
        yield point

    monkeypatch.setattr(stations, "TogetherProber", together)
    return point


def test_the_verdict_comes_first_and_the_file_has_all(runner, access_point):
    done = runner.invoke(main, [*MEASURE, "--json", "found.json", "--max-rate", "500mbit"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "All stations wait in one queue; shares are proportional to arrivals."
    assert any(line.startswith("192.0.2.20 alone: ") for line in lines)
    found = json.loads(Path("found.json").read_text("utf-8"))
    assert (found["queues"], found["target"]) == ("one_queue", "192.0.2.1:5860")
    assert [s["name"] for s in found["stations"]] == ["this station", "192.0.2.20"]
    [(host, names, port, about)] = access_point.asked
    assert (host, names, port) == ("192.0.2.1", ["192.0.2.20"], 5860)
    assert about == {"key": None, "max_rate_bps": 500e6, "max_wait_s": 600.0}


def test_json_alone_goes_to_stdout(runner, access_point):
    done = runner.invoke(main, [*MEASURE, "--json", "-"])
    assert json.loads(done.output)["shares"] == "proportional"


def test_a_capture_is_judged_again(runner, access_point):
    first = runner.invoke(main, [*MEASURE, "--capture", "runs.capture"])
    again = runner.invoke(main, ["analyze", "runs.capture"])
    assert (first.exit_code, again.exit_code) == (0, 0), again.output
    assert again.output.splitlines()[:3] == first.output.splitlines()[:3]
    assert len(capture.load("runs.capture").runs) == len(access_point.runs)
    refused = runner.invoke(main, ["analyze", "runs.capture", "--expect", "fifo"])
    assert refused.exit_code == 2
    assert "--expect is not for a capture of several stations" in refused.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--direction", "up"], "--direction does not go with --with"),
        (["--report", "r.html"], "--report does not go with --with"),
        (["--with", "192.0.2.20"], "names a station twice"),
        (["--with", "192.0.2.1"], "--with names HOST itself"),
        ([w for n in range(8) for w in ("--with", f"192.0.2.{n}")], "give 8 at most"),
    ],
)
def test_what_does_not_go_together_is_refused(runner, access_point, words, says):
    done = runner.invoke(main, [*MEASURE, *words])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert not access_point.asked


def test_files_that_cannot_be_written_are_found_before_the_measurement(runner, access_point):
    done = runner.invoke(main, [*MEASURE, "--capture", "absent/runs.capture"])
    assert done.exit_code == 1
    assert "absent" in done.output
    assert not access_point.asked


def interrupting(point, after, error=None):
    """Have the access point stop as after Ctrl-C, or with an error."""
    whole = point.run

    def run(plan, meta, on_progress=None):
        if len(point.runs) == after:
            raise error or RunInterrupted(None)
        return whole(plan, meta, on_progress)

    point.run = run


def test_ctrl_c_keeps_what_was_measured(runner, access_point):
    interrupting(access_point, 8)
    done = runner.invoke(main, [*MEASURE, "--json", "found.json", "--capture", "runs.capture"])
    assert done.exit_code == 130
    assert "Interrupted: only a part was measured." in done.output
    assert json.loads(Path("found.json").read_text("utf-8"))["interrupted"]
    assert len(capture.load("runs.capture").runs) == 8


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (None, 130, "Interrupted. The packet records"),
        (ProbeError("192.0.2.20 is gone."), 1, "Error: 192.0.2.20 is gone. The packet records"),
    ],
)
def test_without_a_capture_finished_runs_are_kept_too(runner, access_point, error, code, says):
    interrupting(access_point, 3, error)
    done = runner.invoke(main, MEASURE)
    assert done.exit_code == code
    [kept] = Path().glob("*.capture")
    assert done.stderr.startswith(says)
    assert f"airqueue analyze {kept}" in done.stderr
    assert len(capture.load(kept).runs) == 3


def test_ctrl_c_before_the_first_run_says_so(runner, access_point):
    interrupting(access_point, 0)
    done = runner.invoke(main, MEASURE)
    assert (done.exit_code, done.output) == (130, "Interrupted.\n")


def test_an_end_that_fails_is_one_sentence(runner, access_point, monkeypatch):
    def run(plan, meta, on_progress=None):
        raise ProbeError("192.0.2.20 is gone.")

    monkeypatch.setattr(access_point, "run", run)
    done = runner.invoke(main, MEASURE)
    assert (done.exit_code, done.output) == (1, "Error: 192.0.2.20 is gone.\n")


def test_captures_from_elsewhere_are_refused_in_a_sentence(runner, access_point):
    runner.invoke(main, [*MEASURE, "--capture", "runs.capture"])
    loaded = capture.load("runs.capture")
    header, run = loaded.header, loaded.runs[-1]
    for wrong in ({"stations": ["one"]}, {"stations": 3}):
        with CaptureFile.create("wrong.capture", {**header, **wrong}) as file:
            file.append(run)
        done = runner.invoke(main, ["analyze", "wrong.capture"])
        assert done.exit_code == 1
        assert "its header has stations" in done.output
    without = {key: value for key, value in header.items() if key != "stations"}
    with CaptureFile.create("without.capture", without) as file:
        file.append(run)
    done = runner.invoke(main, ["analyze", "without.capture"])
    assert done.exit_code == 1
    assert "names no stations" in done.output
    for wrong in ({"floods": 1}, {"phases": {**run.meta["phases"], "load": "x"}}):
        with CaptureFile.create("meta.capture", header) as file:
            file.append(replace(run, meta={**run.meta, **wrong}))
        done = runner.invoke(main, ["analyze", "meta.capture"])
        assert done.exit_code == 1
        assert "it was not written by `airqueue measure`" in done.output
