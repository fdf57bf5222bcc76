"""`airqueue simulate --out`: whole files whenever one looks, and nothing simulated twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import airqueue
from airqueue.runs import Store
from airqueue.runs import store as store_module
from airqueue.simulate import Interrupted, Recorders, Results, ResultsError, cell
from airqueue.simulate import directory as directory_module
from airqueue.simulate.directory import ResultsDirectory
from airqueue.simulate.reported import KINDS
from airqueue.sweep import Sweep

TABLES = (*KINDS, "limits", "medium")
SERIES = {"flow_series": "flows", "queue_series": "queues"}


def small(**overrides):
    return cell("802.11b", stations=3, duration="100 ms", overrides=overrides)


def contents(path, *, of=(*TABLES, *SERIES)):
    """The bytes of the tables that are there, and of the summary."""
    names = [*(f"{name}.parquet" for name in of), "summary.json", "scenario.toml"]
    return {name: (path / name).read_bytes() for name in names if (path / name).exists()}


def alike(one: Results, other: Results) -> None:
    assert one.to_text() == other.to_text()
    assert one.runs == other.runs
    assert (one.series is None) == (other.series is None)
    if one.series is not None and other.series is not None:
        np.testing.assert_equal(one.series, other.series)


def test_everything_is_there(invoke):
    result = invoke("cell.toml", "--out", "out", "--seed", "7", "--set", "phy.rate=2 Mb/s")
    assert result.exit_code == 0, result.output
    assert "all together" in result.stdout
    names = {f"{name}.parquet" for name in TABLES}
    others = {"summary.json", "scenario.toml", "provenance.json", "runs"}
    assert {path.name for path in Path("out").iterdir()} == names | others
    shown = invoke("out/scenario.toml", "--seed", "7", "--json", "-").stdout
    assert shown == Path("out/summary.json").read_text()
    assert json.loads(shown)["scenario"]["phy"]["rate"] == "2 Mb/s"
    noted = json.loads(Path("out/provenance.json").read_text())
    assert (noted["airqueue"], noted["seed"]) == (airqueue.__version__, 7)
    (session,) = noted["sessions"]
    assert session["replications"] == 5
    assert {"date", "command", "python", "platform"} <= session.keys()


def test_the_tables_are_the_data_frames(tmp_path):
    recorders = Recorders(series_interval_s=0.02)
    late = small(**{"flows.up.start": "2 s", "flows.up.source": "cbr", "flows.up.rate": "1 Mb/s"})
    for scenario in (small(), late):
        results = scenario.simulate(
            replications=2, recorders=recorders, out=tmp_path / "out", force=True
        )
        frames = {name: results.frame(name) for name in TABLES}
        series = {name: results.series_frame(kind) for name, kind in SERIES.items()}
        for name, frame in (frames | series).items():
            table = pd.read_parquet(tmp_path / "out" / f"{name}.parquet")
            numbers = frame.select_dtypes(exclude=["object", "string"]).columns
            assert dict(table.dtypes[numbers]) == dict(frame.dtypes[numbers])
            pd.testing.assert_frame_equal(table, frame, check_dtype=False)


@pytest.mark.parametrize("changes", [{}, {"flows": []}, {"flows.up.start": "2 s"}])
def test_what_was_saved_is_loaded(tmp_path, changes):
    results = small(**changes).simulate(
        seed=3, replications=3, recorders=Recorders(series_interval_s=0.05)
    )
    results.save(tmp_path / "out")
    loaded = Results.load(tmp_path / "out")
    assert loaded.to_text() == results.to_text()
    assert loaded.runs == results.runs
    if "flows" not in changes:
        alike(loaded, results)


def test_saving_is_what_simulating_into_a_directory_writes(tmp_path):
    recorders = Recorders(series_interval_s=0.05)
    results = small().simulate(replications=3, recorders=recorders, out=tmp_path / "one")
    results.save(tmp_path / "other")
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_saved_replications_join_those_of_the_same_origin(tmp_path):
    every = small().simulate(replications=4)
    some = Results(every.scenario, every.seed, 4, {0: every.runs[0], 2: every.runs[2]})
    some.save(tmp_path / "out")
    assert not Results.load(tmp_path / "out").complete
    alike(small().simulate(replications=4, out=tmp_path / "out"), every)
    some.save(tmp_path / "out")
    alike(Results.load(tmp_path / "out"), every)


def test_more_replications_are_added_to_those_there(tmp_path):
    small().simulate(replications=2, out=tmp_path / "out")
    kept = []
    small().simulate(
        replications=5, on_progress=lambda now: kept.append(now.kept), out=tmp_path / "out"
    )
    small().simulate(replications=5, out=tmp_path / "fresh")
    assert set(kept) == {2}
    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")


def test_a_sweep_keeps_the_same_replication_under_the_same_name(tmp_path):
    scenario = small()
    scenario.simulate(seed=4, replications=2, out=tmp_path)
    described = {"scenario": scenario, "seed": 4, "parameters": {"duration": ["100 ms"]}}
    (point,) = (sweep := Sweep(described)).points
    works = [sweep.work(point, sweep.scenario(point), number) for number in range(3)]
    assert [work in Store(tmp_path / "runs") for work in works] == [True, True, False]


def test_nothing_is_simulated_where_all_is_there(tmp_path, monkeypatch):
    first = small().simulate(replications=3, out=tmp_path / "out")
    noted = (tmp_path / "out" / "provenance.json").read_bytes()
    monkeypatch.setattr("airqueue.simulate.replications.Replications._replicate", None)
    alike(small().simulate(replications=3, out=tmp_path / "out"), first)
    assert (tmp_path / "out" / "provenance.json").read_bytes() == noted


def finished() -> set[str]:
    return {path.stem for path in Path("out/runs").glob("*/*.json")}


AT_MOST = 9
SOME = f"""
import itertools, sys
from airqueue.cli import main
from airqueue.simulate.replications import Replications

number, replicate = itertools.count(), Replications._replicate

def some(self, replication):
    if next(number) < {AT_MOST}:
        return replicate(self, replication)
    self._stop.wait()

Replications._replicate = some
main(sys.argv[1:])
"""
"""The command, which does not get to the end of its work, however late it is interrupted."""


def begun(scenario, *arguments):
    """The command as a process that has finished some more replications, and not all."""
    known = len(finished())
    command = [sys.executable, "-c", SOME, "simulate", scenario, "--out", "out", *arguments]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while len(finished()) < known + 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    return process


def test_a_process_that_was_killed_loses_only_what_was_in_progress(invoke):
    arguments = ("--set", "duration=20 s", "--replications", "30", "--series", "100ms")
    for _ in range(2):
        process = begun("cell.toml", *arguments, "--workers", "2")
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert len(finished()) < 30
        assert not [name for name in TABLES if Path(f"out/{name}.parquet").exists()]
        with pytest.raises(ResultsError, match=r"has no summary\.json"):
            Results.load("out")
    assert invoke("cell.toml", *arguments, "--out", "out").exit_code == 0
    assert invoke("cell.toml", *arguments, "--out", "fresh").exit_code == 0
    assert contents(Path("out")) == contents(Path("fresh"))
    assert len(contents(Path("out"))) == len(TABLES) + len(SERIES) + 2
    assert len(json.loads(Path("out/provenance.json").read_text())["sessions"]) == 3
    assert not list(Path("out").rglob(".*"))


def test_ctrl_c_leaves_tables_of_what_has_finished(invoke):
    arguments = ("--set", "duration=20 s", "--replications", "30")
    process = begun("cell.toml", *arguments, "--workers", "2")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    part = Results.load("out")
    assert not part.complete
    assert f"Interrupted after {len(part.runs)} of 30 replications." in said
    assert invoke("cell.toml", *arguments, "--out", "out").exit_code == 0
    whole = Results.load("out")
    assert whole.complete
    assert {number: whole.runs[number] for number in part.runs} == part.runs


class Killed(BaseException):
    """What no code of ours expects."""


@pytest.mark.parametrize("writes", range(1, 16))
def test_whatever_was_written_last_is_gone_on_with(tmp_path, monkeypatch, writes):
    """Two replications are there and two are added, but the process ends before its n-th write."""
    recorders = Recorders(series_interval_s=0.05)
    out = tmp_path / "out"
    small().simulate(replications=2, out=out)
    left = iter(range(writes - 1))
    write = directory_module.write_atomically

    def last(path, content, **how):
        if next(left, None) is None:
            raise Killed
        write(path, content, **how)

    with monkeypatch.context() as patch:
        for module in (directory_module, store_module):
            patch.setattr(module, "write_atomically", last)
        try:
            small().simulate(replications=4, workers=1, recorders=recorders, out=out)
        except Killed:
            if (out / "summary.json").exists():
                assert len(Results.load(out).runs) == 2
        else:
            assert writes > 14
    resumed = small().simulate(replications=4, recorders=recorders, out=out)
    fresh = small().simulate(replications=4, recorders=recorders, out=tmp_path / "fresh")
    alike(resumed, fresh)
    alike(Results.load(out), fresh)
    assert contents(out) == contents(tmp_path / "fresh")


def test_a_full_disk_is_told_and_what_has_finished_stays(invoke, monkeypatch):
    write = store_module.write_atomically
    room = iter(range(2))

    def full(path, content, **how):
        if next(room, None) is None:
            raise OSError(28, os.strerror(28), "out/runs/the-third.json")
        write(path, content, **how)

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "write_atomically", full)
        result = invoke("cell.toml", "--out", "out", "--workers", "1")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: out/runs/the-third.json: No space left on device; free some space or choose "
        "another place."
    ]
    assert len(finished()) == 2
    assert invoke("cell.toml", "--out", "out").exit_code == 0


def test_recorders_have_the_first_replication_simulated_again(tmp_path):
    out, capture = tmp_path / "out", tmp_path / "a.pcap"
    small().simulate(replications=3, out=out)
    kept = []
    for recorders in (
        Recorders(series_interval_s=0.05),
        Recorders(series_interval_s=0.05),
        Recorders(series_interval_s=0.01),
        Recorders(pcap=capture),
    ):
        known = len(json.loads((out / "provenance.json").read_text())["sessions"])
        results = small().simulate(replications=3, recorders=recorders, out=out)
        kept.append(len(json.loads((out / "provenance.json").read_text())["sessions"]) == known)
        if recorders.series_interval_s is not None:
            fresh = small().simulate(replications=3, recorders=recorders)
            alike(results, fresh)
            alike(Results.load(out), fresh)
    assert kept == [False, True, False, False]
    assert capture.stat().st_size > 1000


def test_a_replication_that_is_simulated_again_is_not_lost_meanwhile(tmp_path):
    def stop(_progress):
        raise KeyboardInterrupt

    scenario = small(**{"duration": "1000 s"})
    first = scenario.simulate(replications=1, out=tmp_path)
    recorders = Recorders(series_interval_s=1.0)
    with pytest.raises(Interrupted):
        scenario.simulate(1, 2, 1, stop, recorders, out=tmp_path)
    assert Results.load(tmp_path).runs == first.runs


def test_results_of_something_else_are_refused_unless_forced(invoke):
    assert invoke("cell.toml", "--out", "out", "--replications", "3").exit_code == 0
    before = contents(Path("out"))
    Path("out/notes.txt").write_text("mine")
    other = {
        "another seed: it is 1 there and 2 here": ("--seed", "2"),
        "another scenario: phy.rate is nothing there and '2 Mb/s' here": (
            "--set",
            "phy.rate=2 Mb/s",
        ),
        "another scenario: stations[1].count is 3 there and 4": ("--set", "stations.sta.count=4"),
        "has replication 2 already, counted from 0; ask for at": ("--replications", "2"),
    }
    for says, arguments in other.items():
        result = invoke("cell.toml", "--out", "out", *arguments)
        assert result.exit_code == 1
        (line,) = result.stderr.splitlines()
        assert says in line
        assert line.endswith(" choose another directory, or discard them with --force.")
        assert contents(Path("out")) == before
    assert invoke("cell.toml", "--out", "out", "--seed", "2", "--force").exit_code == 0
    assert Results.load("out").seed == 2
    assert Path("out/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("airqueue", "0.0.1", "another version of airqueue: it is '0.0.1' there"),
        ("git_revision", "0123", "another revision of airqueue: it is '0123' there"),
        ("version", 9, "provenance.json: not of this version of airqueue"),
    ],
)
def test_results_of_another_program_are_refused(tmp_path, monkeypatch, key, value, says):
    monkeypatch.setattr("airqueue.provenance.git_revision", lambda: "4567")
    small().simulate(replications=1, out=tmp_path)
    noted = json.loads((tmp_path / "provenance.json").read_text())
    (tmp_path / "provenance.json").write_text(json.dumps({**noted, key: value}))
    with pytest.raises(ResultsError, match=says):
        small().simulate(replications=1, out=tmp_path)


def test_an_unknown_revision_is_no_other(tmp_path, monkeypatch):
    for revision in ("4567", None, "4567"):
        monkeypatch.setattr("airqueue.provenance.git_revision", lambda: revision)  # noqa: B023
        small().simulate(replications=1, out=tmp_path)


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("cell.toml", "cell.toml: is no directory; choose another name."),
        ("cell.toml/out", "cell.toml: is no directory; choose another name."),
        ("/proc/none", "/proc/none: No such file or directory."),
        ("/proc/self", "/proc/self/scenario.toml: No such file or directory."),
        ("foreign", "foreign: has flows.parquet and no provenance.json that says what of; choose"),
        ("torn", "torn/provenance.json is an empty file; choose another directory."),
        ("listed", "listed/provenance.json: a list of 0; expected an object."),
        ("bare", "bare/scenario.toml: No such file or directory."),
    ],
)
def test_directories_that_cannot_be_used_are_named_in_one_line(invoke, out, says):
    for name in ("foreign", "torn", "listed"):
        Path(name).mkdir()
    small().simulate(replications=1, out="bare")
    Path("foreign/flows.parquet").write_text("")
    Path("torn/provenance.json").write_text("")
    Path("listed/provenance.json").write_text("[]")
    described = Path("bare/scenario.toml").rename("bare.toml")
    given = described if out == "bare" else "cell.toml"
    result = invoke(str(given), "--out", out, "--replications", "1")
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {says}")


def tear(path: Path) -> None:
    path.write_text("PAR1")


def behead(path: Path) -> None:
    pd.DataFrame({"a": [1]}).to_parquet(path)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (tear, r"medium\.parquet: no table that airqueue wrote: "),
        (behead, "a table has no column 'replication'"),
    ],
)
def test_tables_that_are_damaged_are_named_and_made_anew(tmp_path, damage, says):
    results = small().simulate(replications=2, out=tmp_path)
    damage(tmp_path / "medium.parquet")
    with pytest.raises(ResultsError, match=says):
        Results.load(tmp_path)
    small().simulate(replications=2, out=tmp_path)
    alike(Results.load(tmp_path), results)


def test_a_replication_that_is_damaged_is_simulated_again(tmp_path):
    results = small().simulate(replications=3, out=tmp_path)
    next((tmp_path / "runs").glob("*/*.json")).write_text("{")
    kept = []
    again = small().simulate(
        replications=3, on_progress=lambda now: kept.append(now.kept), out=tmp_path
    )
    alike(again, results)
    assert set(kept) == {2}


def test_a_directory_of_an_older_airqueue_is_read_and_not_added_to(tmp_path):
    """It had no ``runs``: what had finished was in the tables, or still in ``replications``."""
    results = small().simulate(replications=2, out=tmp_path)
    shutil.rmtree(tmp_path / "runs")
    (tmp_path / "replications").mkdir()
    (tmp_path / "replications" / "2.json").write_text("{}")
    noted = json.loads((tmp_path / "provenance.json").read_text())
    (tmp_path / "provenance.json").write_text(json.dumps({**noted, "version": 1}))
    alike(Results.load(tmp_path), results)
    message = r"kept replications in another way; finished results .* with force=True$"
    with pytest.raises(ResultsError, match=message):
        small().simulate(replications=3, out=tmp_path)
    small().simulate(replications=3, out=tmp_path, force=True)
    assert len(Results.load(tmp_path).runs) == 3
    assert not (tmp_path / "replications").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_named(invoke):
    Path("out").mkdir(mode=0o500)
    result = invoke("cell.toml", "--out", "out")
    assert result.stderr.startswith("Error: out/scenario.toml: Permission denied")


def test_only_one_process_writes(invoke):
    scenario = small()
    with ResultsDirectory.opened("out", scenario.description, 1):
        result = invoke("cell.toml", "--out", "out")
        assert result.exit_code == 1
        assert "out: another process writes there; wait for it or" in result.stderr
    assert invoke("cell.toml", "--out", "out", "--force").exit_code == 0


def test_force_needs_a_directory(invoke):
    result = invoke("cell.toml", "--force")
    assert result.exit_code == 2
    assert "--out DIR says which" in result.stderr


@pytest.mark.parametrize("name", ["none", "cell.toml", "."])
def test_what_is_not_there_cannot_be_loaded(invoke, name):
    with pytest.raises(
        ResultsError, match=r"has no summary\.json; expected a directory of finished"
    ):
        Results.load(name)


def test_tables_and_summary_must_fit(tmp_path):
    for name, replications in (("one", 2), ("other", 3)):
        small().simulate(replications=replications, out=tmp_path / name)
    for table in TABLES:
        (tmp_path / "other" / f"{table}.parquet").replace(tmp_path / "one" / f"{table}.parquet")
    with pytest.raises(ResultsError, match="have different replications"):
        Results.load(tmp_path / "one")


def test_a_summary_of_another_format_is_not_read(tmp_path):
    small().simulate(replications=1, out=tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    (tmp_path / "summary.json").write_text(
        json.dumps({**summary, "version": summary["version"] + 1})
    )
    with pytest.raises(ResultsError, match=r"summary\.json is not of this version of airqueue"):
        Results.load(tmp_path)


def test_an_interrupt_before_the_first_has_finished_leaves_no_tables(tmp_path):
    def stop(_progress):
        raise KeyboardInterrupt

    long = cell("802.11b", duration="100000 s")
    with pytest.raises(Interrupted):
        long.simulate(replications=2, on_progress=stop, out=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"scenario.toml", "provenance.json"}
