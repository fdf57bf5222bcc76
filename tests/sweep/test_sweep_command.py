"""`airqueue sweep`: points, table, files, pictures, and no file that makes it crash."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from here import CELL, Here

from airqueue.cli import backends, main
from airqueue.plots.style import COLOURS

SWEEP = """
scenario = "cell.toml"
replications = 2
[parameters]
stations.sta.count = [1, 3]
phy.rate = ["2 Mb/s", "11 Mb/s"]
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(CELL)
    Path("sweep.toml").write_text(SWEEP)
    return lambda *arguments: CliRunner().invoke(
        main, ["sweep", *arguments], env={"COLUMNS": "120"}
    )


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch):
    monkeypatch.setattr(backends, "Local", lambda workers: Here())


@pytest.mark.usefixtures("terminal")
def test_list_prints_the_points_and_simulates_nothing(invoke):
    result = invoke("sweep.toml", "--list")
    assert result.exit_code == 0, result.output
    assert "sweep.toml: 4 points, 2 replications each, seed 1" in result.stdout
    assert re.search(r"│ +3 │ +3 │ 11 Mb/s +│", result.stdout)
    assert sorted(path.name for path in Path().iterdir()) == ["cell.toml", "sweep.toml"]


@pytest.mark.usefixtures("terminal")
def test_the_table_of_a_sweep_that_delivers_nothing(invoke):
    Path("cell.toml").write_text(CELL.replace('"40 ms"', '"100 us"').replace('"10 ms"', '"0 s"'))
    Path("sweep.toml").write_text(SWEEP.replace("replications = 2", "replications = 1"))
    result = invoke("sweep.toml", "--plot", "delay.svg", "--show", "flows.*.delay_mean_s")
    assert result.exit_code == 0, result.output
    assert len(re.findall(r"│ +\d │ +[13] │ \d+ Mb/s +│ +1 │ +– │", result.stdout)) == 4
    assert invoke("sweep.toml").exit_code == 0


@pytest.mark.usefixtures("terminal")
def test_the_table_has_a_row_for_each_point_and_says_where_the_rest_is(invoke):
    result = invoke("sweep.toml")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    for words in ("4 points, 8 runs, seed 1", "flows.*", "throughput", "Mb/s", "±", "delay"):
        assert words in result.stdout
    assert len(re.findall(r"│ +\d │ +[13] │ \d+ Mb/s +│ +2 │", result.stdout)) == 4
    assert "Of several names the mean is shown." in result.stdout
    assert "sweep-sweep has all tables" in result.stdout
    assert Path("sweep-sweep/flows.parquet").exists()


def test_what_is_shown_can_be_chosen(invoke):
    shown = invoke(
        "sweep.toml", "--show", "stations.ap.airtime_ratio", "--show", "medium.throughput_bps"
    )
    assert shown.exit_code == 0, shown.output
    assert "stations.ap" in shown.stdout
    assert "medium" in shown.stdout
    assert "delay" not in shown.stdout
    assert "Of several names" not in shown.stdout


def test_json_has_the_summary_of_every_point(invoke):
    result = invoke("sweep.toml", "--json", "-", "--out", "out")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown == json.loads(Path("out/summary.json").read_text())
    assert (shown["format"], shown["complete"], shown["seed"]) == ("airqueue-sweep", True, 1)
    assert shown["parameters"] == ["stations.sta.count", "phy.rate"]
    point = shown["points"][2]
    assert point["parameters"] == {"stations.sta.count": 3, "phy.rate": "2 Mb/s"}
    assert set(point["flows"]) == {"up1", "up2", "up3"}
    assert point["medium"]["throughput_bps"].keys() == {"mean", "ci95"}
    assert invoke("sweep.toml", "--json", "a.json", "--out", "out").exit_code == 0
    assert json.loads(Path("a.json").read_text()) == shown


def test_intervals_that_stay_wide_are_named(invoke):
    text = Path("sweep.toml").read_text().replace("= 2\n", "= {least = 2, most = 3}\n")
    Path("sweep.toml").write_text(text + '[until]\n"flows.*.delay_mean_s" = 1e-9\n')
    assert "4 points, 2 to 3 replications each" in invoke("sweep.toml", "--list").stdout
    shown = invoke("sweep.toml").stdout
    assert "With 3 replications, intervals are still wider than asked for:" in shown
    assert "point 0 (stations.sta.count=1, phy.rate=2 Mb/s): flows.up.delay_mean_s" in shown
    assert "throughput" not in shown


def test_a_picture_of_two_parameters_has_an_axis_and_lines(invoke):
    result = invoke("sweep.toml", "--plot", "a.svg", "--show", "flows.*.throughput_bps")
    assert result.exit_code == 0, result.output
    drawn = re.sub(r"\s+", " ", Path("a.svg").read_text())
    assert "airqueue sweep sweep.toml" in drawn
    # A line for each rate: words are outlines, lines have the colours of the style.
    assert all(colour in drawn for colour in COLOURS[:2])
    assert COLOURS[2] not in drawn


def test_pictures_that_cannot_be_are_refused_before_anything_runs(invoke):
    assert "a plot is SVG, PDF or PNG" in invoke("sweep.toml", "--plot", "a.txt").output
    Path("sweep.toml").write_text(
        Path("sweep.toml").read_text() + 'flows.up.size = ["1 kB", "100 B"]\n'
    )
    assert "a plot shows one or two parameters" in invoke("sweep.toml", "--plot", "a.svg").output
    assert not Path("sweep-sweep").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "sweep.toml: x: unknown key of a sweep"),
        ("x", "; expected valid TOML"),
        ("[phy]", "sweep.toml: this is a scenario, not a sweep; `airqueue simulate FILE`"),
        (
            'scenario = "none.toml"\nparameters.a = [1]',
            "sweep.toml: scenario: there is no file none.toml; name one",
        ),
        ("", "sweep.toml: missing key scenario; expected the name of a scenario file"),
        ('scenario = "sweep.toml"', "sweep.toml: parameters: a table of 0; expected"),
        ('scenario = "cell.toml"\nparameters.phy.x = [1]', "point 0 (phy.x=1): cell.toml: phy.x"),
    ],
)
def test_every_error_is_a_sentence_with_file_and_key(invoke, text, says):
    Path("sweep.toml").write_text(text)
    result = invoke("sweep.toml")
    assert result.exit_code == 1
    assert says in re.sub(r"\s+", " ", result.output)
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--show", "medium"], "medium: no figure; expected"),
        (["--workers", "2", "--cluster", "tcp://127.0.0.1:9"], "a cluster has its own"),
        (["--cluster", "http://x"], "--cluster http://x is no address; write tcp://HOST:PORT"),
        (["--plot", "a.gif"], "a plot is SVG, PDF or PNG"),
        (["--workers", "0"], "found '0', expected a whole number from 1 to"),
    ],
)
def test_wrong_usage_is_exit_code_2(invoke, arguments, says):
    result = invoke("sweep.toml", *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_figure_that_there_is_not_is_refused(invoke):
    result = invoke("sweep.toml", "--show", "flows.up.dealy")
    assert result.exit_code == 2
    assert "--show flows.up.dealy: unknown figure of flows; they have offered_bps" in result.output


def test_a_cluster_that_is_not_there_is_an_error(invoke, monkeypatch):
    monkeypatch.setattr("airqueue.runs.cluster._CONNECT_S", 0.2)
    result = invoke("sweep.toml", "--cluster", "tcp://127.0.0.1:9", "--out", "out")
    assert result.exit_code == 1
    assert list(Path("out").iterdir()) == []
    assert "Error: no Dask scheduler at 'tcp://127.0.0.1:9'" in result.output


def test_on_a_terminal_it_says_how_far_it_is_and_ctrl_c_keeps_what_finished(tmp_path, invoke):
    Path("cell.toml").write_text(Path("cell.toml").read_text().replace("40 ms", "20 s"))
    many = Path("sweep.toml").read_text().replace("= 2\n", "= 2000\n")
    Path("sweep.toml").write_text(many)
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "airqueue", "sweep", "sweep.toml", "--out", "out"],
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "120"},
    )
    os.close(follower)
    said, sent = b"", False
    with contextlib.suppress(OSError):  # the end of a terminal
        while chunk := os.read(leader, 4096):
            said += chunk
            if re.search(rb"[1-9] runs? ", said) and not sent:
                process.send_signal(signal.SIGINT)
                sent = True
    shown, _ = process.communicate()
    os.close(leader)
    assert process.returncode == 130, said
    assert re.search(rb"0 of 4 points, \d+ runs? .* left", said)
    assert re.search(rb"Interrupted after \d+ runs?; the same command goes on from there\.", said)
    assert b"of 4 points" in shown
