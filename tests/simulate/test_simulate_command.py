"""`airqueue simulate`: tables, files, pictures, interrupts, and no argument that crashes."""

import contextlib
import csv
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import airqueue
import pcap_reader
from airqueue.simulate import Scenario
from airqueue.simulate.scenario import schema
from airqueue.simulate.shown import SHOWN
from tests.every_kind import NETWORK

RESULT = json.loads(
    resources.files("airqueue.simulate").joinpath("results.schema.json").read_text("utf-8")
)


def test_the_tables_show_flows_queues_stations_and_the_medium(invoke):
    result = invoke("cell.toml", "--replications", "2")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "cell.toml: 2 replications of 0.1 s, seed 1" in result.stdout
    for words in ("up1", "sta3", "throughput", "Mb/s", "±", "collided", "all together"):
        assert words in result.stdout
    assert len([line for line in result.stdout.splitlines() if line.startswith("up")]) == 3


def test_one_replication_has_no_interval(invoke):
    shown = invoke("cell.toml", "--replications", "1").stdout
    assert "±" not in shown
    assert "One replication has no confidence interval." in shown


def test_many_names_are_shown_as_least_mean_and_greatest(invoke):
    shown = invoke("cell.toml", "--replications", "2", "--set", "stations.sta.count=20").stdout
    assert "20 flows" in shown
    assert "21 stations" in shown
    assert shown.count("least") == shown.count("greatest") == 3
    assert "up7" not in shown


def test_what_is_shown_exists():
    summary = Scenario(NETWORK).simulate(replications=1).summary
    for kind, names in SHOWN.items():
        every = summary[kind] if kind == "medium" else next(iter(summary[kind].values()))
        assert set(names) <= set(every)


def test_json_is_what_the_schema_says_and_the_library_gives(invoke):
    jsonschema.Draft202012Validator.check_schema(RESULT)
    result = invoke("cell.toml", "--replications", "3", "--seed", "9", "--json", "-")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    jsonschema.validate(shown, RESULT)
    assert shown["airqueue"] == airqueue.__version__
    assert (shown["seed"], shown["replications"], shown["finished"]) == (9, 3, [0, 1, 2])
    assert shown["complete"] is True
    assert shown["scenario"] == Scenario.from_toml("cell.toml").description
    again = Scenario.from_toml("cell.toml").simulate(9, 3, workers=1)
    assert shown == json.loads(again.to_text())
    for kind in ("flows", "stations", "queues"):
        for figures in shown[kind].values():
            for summary in figures.values():
                assert {"mean", "ci95"} <= summary.keys()


def test_the_schema_takes_files_of_the_same_version_without_what_was_added_since(invoke):
    shown = json.loads(invoke("cell.toml", "--replications", "1", "--json", "-").stdout)
    kinds = ("pages", "videos", "absences", "associations", "interference", "signals")
    added = ("warnings", "queues_in_force", *kinds)
    jsonschema.validate({key: of for key, of in shown.items() if key not in added}, RESULT)
    with pytest.raises(jsonschema.ValidationError, match="'medium' is a required property"):
        jsonschema.validate({key: of for key, of in shown.items() if key != "medium"}, RESULT)


def test_json_of_one_replication_has_no_interval(invoke):
    shown = json.loads(invoke("cell.toml", "--replications", "1", "--json", "-").stdout)
    jsonschema.validate(shown, RESULT)
    figures = [figure for of in shown["flows"].values() for figure in of.values()]
    assert figures
    assert all(figure["ci95"] is None for figure in figures)


def test_changes_reach_the_scenario(invoke):
    changes = ("phy.rate=5.5 Mb/s", "stations.1.count=2", "flows.up.size=700 B", "duration=50 ms")
    options = [word for change in changes for word in ("--set", change)]
    shown = json.loads(invoke("cell.toml", *options, "--json", "-").stdout)
    assert shown["scenario"]["phy"]["rate"] == "5.5 Mb/s"
    assert shown["scenario"]["flows"][0]["size"] == "700 B"
    assert shown["duration_s"] == 0.05
    assert list(shown["flows"]) == ["up1", "up2"]


def test_files_have_the_same_figures(invoke, tmp_path):
    result = invoke("cell.toml", "--replications", "2", "--json", "a.json", "--csv", "new/rows")
    assert result.exit_code == 0, result.output
    assert "all together" in result.stdout
    shown = json.loads(Path("a.json").read_text())
    assert sorted(path.name for path in Path("new/rows").iterdir()) == [
        "absences.csv",
        "associations.csv",
        "beacons.csv",
        "calls.csv",
        "connections.csv",
        "drops.csv",
        "flows.csv",
        "frames.csv",
        "interference.csv",
        "limits.csv",
        "medium.csv",
        "pages.csv",
        "pings.csv",
        "queues.csv",
        "signals.csv",
        "sleep.csv",
        "stations.csv",
        "videos.csv",
    ]
    with Path("new/rows/flows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["replication"], row["flow"]) for row in rows] == [
        (i, name) for i in "01" for name in ("up1", "up2", "up3")
    ]
    of_first = [float(row["throughput_bps"]) for row in rows if row["flow"] == "up1"]
    mean = shown["flows"]["up1"]["throughput_bps"]["mean"]
    assert sum(of_first) / 2 == pytest.approx(mean, rel=1e-15)


def test_recorders_write_down_the_first_replication_and_change_nothing(invoke):
    few = ("cell.toml", "--replications", "3", "--json", "-")
    recorded = invoke(*few, "--pcap", "a.pcap", "--csv", "rows", "--series", "10ms")
    assert recorded.exit_code == 0, recorded.output
    assert recorded.stdout == invoke(*few).stdout
    # All that the stations attempted in 0.12 s, in which 0.02 s of warm-up are not counted.
    frames = [frame for frame in pcap_reader.read(Path("a.pcap")) if frame.kind == pcap_reader.DATA]
    with Path("rows/stations.csv").open() as file:
        first = [row for row in csv.DictReader(file) if row["replication"] == "0"]
    counted = sum(int(row["attempts"]) for row in first)
    assert counted < len(frames) < 1.5 * counted
    with Path("rows/flow_series.csv").open() as file:
        series = list(csv.DictReader(file))
    assert [row["flow"] for row in series[::12]] == ["up1", "up2", "up3"]
    assert float(series[0]["time_s"]) == pytest.approx(0.01)
    assert float(series[11]["time_s"]) == pytest.approx(0.12)
    # Those of the last 0.1 s say what the figures say.
    carried = sum(float(row["throughput_bps"]) for row in series[2:12]) / 10
    with Path("rows/flows.csv").open() as file:
        assert float(next(csv.DictReader(file))["throughput_bps"]) == pytest.approx(carried)
    assert len(Path("rows/queue_series.csv").read_text().splitlines()) == 1 + 3 * 12


def test_an_interrupt_leaves_a_capture_that_can_be_read(invoke):
    arguments = ("--set", "duration=1000 s", "--pcap", "a.pcap", "--replications", "1000")
    with simulating(*arguments, "--workers", "2") as process:
        deadline = time.monotonic() + 60
        # The threads are there before the first frame is.
        while not (capture := Path("a.pcap")).exists() or capture.stat().st_size < 1000:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(pcap_reader.read(Path("a.pcap"))) > 0


@pytest.mark.filterwarnings("error")
def test_pictures_are_the_same_each_time(invoke):
    for name in ("a.svg", "b.svg", "a.pdf", "a.PNG"):
        result = invoke("cell.toml", "--replications", "2", "--plot", name)
        assert result.exit_code == 0, result.output
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    assert "airqueue simulate cell.toml" in Path("a.svg").read_text()
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert Path("a.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "changes", [["stations.sta.count=60"], ["flows=[]"], ["flows.0.start=1 s"]]
)
def test_cells_without_names_or_figures_can_be_drawn(invoke, changes):
    options = [word for change in changes for word in ("--set", change)]
    result = invoke("cell.toml", *options, "--replications", "1", "--plot", "a.svg")
    assert result.exit_code == 0, result.output
    assert Path("a.svg").stat().st_size > 1000


def test_the_schema_needs_no_file(invoke):
    result = invoke("--schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == schema()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "Missing argument 'FILE'"),
        (["none.toml"], 1, "none.toml: No such file or directory."),
        (["."], 1, ".: Is a directory; name a file in it."),
        (["cell.toml", "--set", "phy.rate"], 2, "'phy.rate' changes nothing; write for example"),
        (["cell.toml", "--set", "phy.rat=3"], 1, "cell.toml, as changed: phy.rat: unknown key"),
        (["cell.toml", "--set", "phy.rate=11"], 1, "phy.rate: 11 has no unit"),
        (["cell.toml", "--set", "phy.rate=12 Mb/s"], 1, "cell.toml, as changed: phy.rate: "),
        (["cell.toml", "--set", "flows.9.rate=3"], 1, "flows.9.rate: there is no '9' in a list of"),
        (["cell.toml", "--set", "stations.sta.count=0"], 1, "stations[1].count: found 0, expected"),
        (["cell.toml", "--seed", "-1"], 2, "'--seed'"),
        (["cell.toml", "--replications", "0"], 2, "'--replications'"),
        (["cell.toml", "--workers", "0"], 2, "'--workers'"),
        (["cell.toml", "--plot", "a.gif"], 2, "a.gif: a plot is SVG, PDF or PNG"),
        (["cell.toml", "--plot", "no/a.svg"], 1, "no/a.svg: there is no directory"),
        (["cell.toml", "--json", "no/a.json"], 1, "no/a.json: there is no directory"),
        (["cell.toml", "--csv", "cell.toml"], 1, "cell.toml: is no directory; choose another"),
        (["cell.toml", "--series", "10ms"], 2, "--csv DIR says where the series go"),
        (["cell.toml", "--series", "0s", "--csv", "a"], 2, "'0s' is not above zero"),
        (["cell.toml", "--pcap-station", "ap"], 2, "--pcap FILE says where they go"),
        (
            ["cell.toml", "--pcap", "a", "--pcap-station", "no"],
            2,
            "there is no station 'no'; the stations are ap, sta1, sta2, sta3",
        ),
        (["cell.toml", "--map", "a.gif"], 2, "a.gif: a map is SVG, PDF or PNG"),
        (["cell.toml", "--devices"], 2, "--devices simulates nothing: leave out FILE"),
        (["--devices", "--schema"], 2, "--schema simulates nothing: leave out --devices"),
        (["cell.toml", "--pcap", "no/a.pcap"], 1, "no/a.pcap: there is no directory"),
        (["bad.toml"], 1, "; expected valid TOML"),
    ],
)
def test_errors_are_sentences(invoke, arguments, code, says):
    Path("bad.toml").write_text("[phy\n")
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert says in " ".join(result.stderr.split())
    assert code == 2 or result.stderr.rstrip().endswith((".", "?"))
    assert isinstance(result.exception, SystemExit)


PIECES = st.sampled_from(
    ["phy.", "rate", "=", "stations", ".0", ".sta", "[1]", "count", "3", "11 Mb/s", "{", "}", '"']
)


@settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PIECES).map("".join) | st.text())
@example("phy={}")
@example("stations=3")
@example("stations=[]")
@example("flows=[]")
@example("duration=9e99 s")
@example("\ud800=1")
@example("stations.0.name=\ud800")
def test_no_change_ends_in_a_traceback(invoke, change):
    result = invoke("cell.toml", "--replications", "1", "--set", change)
    assert result.exit_code in (0, 1, 2)
    assert isinstance(result.exception, type(None) | SystemExit), repr(result.exception)


def command(*arguments):
    return [sys.executable, "-m", "airqueue", "simulate", "cell.toml", *arguments]


@contextlib.contextmanager
def simulating(*arguments):
    """The command as a process with two workers that have begun to simulate."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command(*arguments), stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        try:
            deadline = time.monotonic() + 60
            threads = Path(f"/proc/{process.pid}/task")
            while len(list(threads.iterdir())) < 3:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def test_ctrl_c_keeps_what_has_finished_and_is_heard_at_once(invoke):
    # All of it would take hours, and the summary of what has finished takes no time.
    arguments = ["--json", "-", "--set", "duration=20 s", "--replications", "100000"]
    with simulating(*arguments, "--workers", "2") as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=120)
        took = time.monotonic() - began
    assert process.returncode == 130, err
    shown = json.loads(out)
    jsonschema.validate(shown, RESULT)
    assert shown["complete"] is False
    assert shown["replications"] == 100_000
    assert err == f"Interrupted after {len(shown['finished'])} of 100000 replications.\n"
    assert took < 60


def test_ctrl_c_before_the_first_has_finished_writes_nothing(invoke):
    with simulating("--json", "-", "--set", "duration=100000 s", "--workers", "2") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "Interrupted after 0 of 5 replications.\n"


def test_progress_shows_on_a_terminal_only(invoke):
    """Ends when both were seen, not when the work is done: a fast machine may draw too seldom."""
    leader, follower = pty.openpty()
    arguments = ("--set", "duration=1 s", "--replications", "100000", "--workers", "1")
    with subprocess.Popen(
        command(*arguments, "--json", "-"), stdout=subprocess.DEVNULL, stderr=follower
    ) as process:
        try:
            seen = shown_until(leader, r"\d of 100000 replications.* left")
        finally:
            process.send_signal(signal.SIGINT)
    os.close(follower)
    os.close(leader)
    assert process.returncode == 130
    assert "connecting" not in seen


def shown_until(leader, pattern):
    """Return what a terminal has shown when the pattern appears in its text."""
    shown = ""
    deadline = time.monotonic() + 120
    while not re.search(pattern, shown):
        left = deadline - time.monotonic()
        assert select.select([leader], [], [], max(left, 0))[0], shown
        shown += os.read(leader, 1 << 16).decode()
    return shown


def test_only_what_needs_them_loads_pandas_and_matplotlib(invoke):
    code = (
        "import sys; from airqueue.cli import main;"
        "main(['simulate', 'cell.toml'], standalone_mode=False);"
        "slow = {'pandas', 'matplotlib'} & set(sys.modules); assert not slow, slow"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "all together" in done.stdout
