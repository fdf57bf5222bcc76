"""Exit codes that a build can act upon."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

import synthetic
from airqueue.cli import main
from airqueue.cli.expect import UNDECIDED, UNMET, Expectation
from airqueue.measure.api import analyze
from airqueue.measure.capture import CaptureFile
from airqueue.measure.schema import to_text


def code(expected: Expectation, result) -> int:
    try:
        expected.enforce(result)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return 0


@pytest.mark.parametrize(
    ("expected", "verdict", "ends"),
    [
        ("managed", "isolated", 0),
        ("managed", "not_flat", 0),
        ("managed", "policer", UNMET),
        ("isolated", "not_flat", UNMET),
        ("managed", "undecided", UNDECIDED),
        (None, "undecided", 0),
    ],
)
def test_verdicts(expected, verdict, ends):
    assert code(Expectation(expected), synthetic.other_result(verdict)) == ends


def test_a_capacity_is_outside_when_its_whole_interval_is():
    result = synthetic.fifo_result(capacity=100.0, ci95=[99.0, 101.0])
    assert code(Expectation(max_capacity=100.5), result) == 0
    assert code(Expectation(max_capacity=99.5), result) == 0
    assert code(Expectation(max_capacity=98.9), result) == UNMET
    assert code(Expectation(min_capacity=101.1), result) == UNMET
    assert code(Expectation(min_capacity=10), synthetic.other_result("isolated")) == UNDECIDED


def test_delays():
    result = synthetic.fifo_result(delay_full_s=0.06)
    assert code(Expectation(max_delay_s=0.05), result) == UNMET
    assert code(Expectation(max_delay_s=0.07), result) == 0
    silent = synthetic.fifo_result(delay_full_s=None)
    assert code(Expectation(max_delay_s=0.05), silent) == UNDECIDED


def test_what_is_contradicted_comes_before_what_is_open(capsys):
    result = synthetic.fifo_result(delay_full_s=None)
    assert code(Expectation("managed", max_delay_s=0.05), result) == UNMET
    assert "the verdict is fifo, not managed" in capsys.readouterr().err


def test_a_stored_capture_is_held_to_expectations(tmp_path):
    path = tmp_path / "a.capture"
    runs = [synthetic.fifo_run(index=i) for i in range(3)]
    assert analyze(runs, {}).verdict == "fifo"
    with CaptureFile.create(path, {"profile": "quick"}) as capture:
        for run in runs:
            capture.append(run)
    for options, ends in (
        (["--expect", "fifo", "--min-capacity", "99"], 0),
        (["--expect", "managed"], UNMET),
        (["--min-capacity", "9", "--max-capacity", "8"], 2),
        (["--expect", "undecided"], 2),
    ):
        done = CliRunner().invoke(main, ["analyze", str(path), *options])
        assert done.exit_code == ends, done.output


@pytest.mark.parametrize(
    ("delay_s", "ends"), [(0.3, UNMET), (0.1, 0), (0.205, 0), (None, UNDECIDED)]
)
def test_compare_fails_when_a_delay_really_grew(tmp_path, delay_s, ends):
    before, after = (synthetic.fifo_result() for _ in range(2))
    for result, base in ((before, 0.2 if delay_s else None), (after, delay_s)):
        for number, session in enumerate(result["sessions"]):
            session["delay_full_s"] = None if base is None else base + number * 1e-4
    for name, result in (("a", before), ("b", after)):
        (tmp_path / f"{name}.json").write_text(to_text(result))
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    done = CliRunner().invoke(main, ["compare", *files, "--fail-on", "worse"])
    assert done.exit_code == ends, done.output
    assert CliRunner().invoke(main, ["compare", *files]).exit_code == 0
