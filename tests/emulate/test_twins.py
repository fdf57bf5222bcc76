"""Figures of a run beside those of its twins."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from scipy import stats

from airqueue.cli import common, emulate_tables, main
from airqueue.emulate import Order, Program, exact, twins, words
from airqueue.stats import prediction_interval
from tests.piped import tables_alone


def test_one_more_sample_is_in_the_prediction_interval_as_often_as_stated():
    # Closed form: t(0.975, 4) is 2.776, s is 1.5811, sqrt(1 + 1/5) is 1.0954.
    interval = prediction_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval is not None
    assert interval.high - 3.0 == pytest.approx(2.7764 * 1.5811 * 1.0954, rel=1e-4)
    samples = stats.norm.rvs(size=(20_000, 6), random_state=1)
    inside = [prediction_interval(row[:5]).contains(row[5]) for row in samples]
    assert sum(inside) / len(inside) == pytest.approx(0.95, abs=0.006)
    assert prediction_interval([]) is None


@pytest.fixture
def results(user_mode_linux):
    """Results of a short exact run."""
    order = Order(Program("phone", ("ping", "-c", "3", "-i", "0.2", "peer")))
    return exact.run("home-evening", order).results


def changed(results: Any, **figures: float) -> Any:
    emulated = copy.deepcopy(results.emulated)
    emulated["pairs"]["phone->server"] |= figures
    return replace(results, emulated=emulated)


def test_a_run_outside_the_scatter_is_found(results):
    others = [changed(results, delay_p95_s=0.010 + 0.001 * k) for k in range(5)]

    def compared(value: float) -> Any:
        found = twins.compare(changed(results, delay_p95_s=value), others)
        return next(
            each for each in found if (each.pair, each.figure) == ("phone->server", "delay_p95_s")
        )

    assert compared(0.0125).within is True
    assert compared(0.0125).twin == 0.010
    assert compared(0.0175).within is False
    # All twins have the same number of drops: their scatter is unknown.
    lost = [each for each in twins.compare(results, others) if each.figure == "lost_ratio"]
    assert all(each.within is None for each in lost)
    with pytest.raises(ValueError, match="2 twins do not show"):
        twins.compare(results, others[:2])


def test_figures_without_scatter_are_not_said_to_agree():
    scattered = twins.Comparison("a->b", "delay_p50_s", 0.5, 0.4, 0.4, 0.3, 0.6)
    equal = twins.Comparison("a->b", "throughput_bps", 580e3, 0.0, None, None, None)
    assert words.scatter([scattered]).startswith("0 of 1 figure of this run are outside")
    assert words.scatter([scattered, equal]).endswith("1 figure without scatter cannot be judged.")
    assert words.scatter([equal]).startswith("No figure of this run can be judged")


@pytest.mark.long
def test_twins_have_the_seeds_that_follow(user_mode_linux):
    order = Order(Program("phone", ("ping", "-c", "2", "peer")))
    watched: list[int] = []
    done = twins.run(
        "home-evening", order, 3, seed=2**32 - 2, watch=lambda twin, progress: watched.append(twin)
    )
    assert [each.results.seed for each in done] == [2**32 - 2, 2**32 - 1, 0]
    assert sorted(set(watched)) == [1, 2, 3]
    delays = {each.results.emulated["pairs"]["server->phone"]["delay_mean_s"] for each in done}
    assert len(delays) == 3


def test_each_row_of_a_table_in_a_pipe_names_its_pair(capsys):
    pair = "an <odd>\tname->server"
    figures = ("throughput_bps", "delay_p50_s", "lost_ratio")
    compared = [twins.Comparison(pair, figure, 0.5, 0.4, 0.4, 0.3, 0.6) for figure in figures]
    emulate_tables.show_twins(common.stdout(), compared, 5)
    ((heads, *rows),) = tables_alone(capsys.readouterr().out)
    assert heads == ["pair", "figure", "this run", "its twin", "scatter of 5 twins"]
    assert [row[0] for row in rows] == ["an <odd> name → server"] * 3


@pytest.mark.emulation
def test_the_command_shows_a_run_beside_its_twins(user_mode_linux, tmp_path):
    path = tmp_path / "result.json"
    command = [sys.executable, "-m", "airqueue", "emulate", "quiet-flat", "--twins", "3"]
    program = ["--at", "phone", "--json", str(path), "--", "ping", "-qc", "3", "-i", "0.2", "peer"]
    done = subprocess.run([*command, *program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "scatter of" in done.stderr
    judged = "outside the scatter of the twins", "No figure of this run can be judged"
    assert any(words in done.stderr for words in judged)
    # The programs of the twins print nothing.
    assert done.stdout.count("ping statistics") == 1
    found = json.loads(path.read_text("utf-8"))["twins"]
    assert [each["seed"] for each in found["runs"]] == [1, 2, 3]
    assert {each["figure"] for each in found["comparisons"]} == {
        "throughput_bps",
        "delay_p50_s",
        "delay_p95_s",
        "lost_ratio",
    }


@pytest.mark.parametrize("more", [["--exact", "--", "true"], ["--shell", "phone"]])
def test_twins_are_of_programs_in_real_time(more):
    done = CliRunner().invoke(main, ["emulate", "quiet-flat", "--twins", "3", *more])
    assert done.exit_code == 2
    assert "--twins is for programs in real time" in done.stderr


def test_twins_without_their_machine_are_refused_before_the_run(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    argv = ["emulate", "home-evening", "--twins", "3", "--at", "phone", "--", "true"]
    done = CliRunner().invoke(main, argv)
    assert done.exit_code == 1
    assert done.output.startswith("Error: user-mode Linux is not installed")
