"""Python as one would type it: packages that are called, tables of other libraries, notebooks."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import airqueue
from airqueue import cells
from airqueue.cli import examples, main
from airqueue.simulate import Recorders, ResultsError, Scenario, ScenarioError, cell, simulate
from airqueue.simulate.tables import TABLES
from tests.simulate.test_devices import CELL

NOTEBOOKS = sorted((examples.FOLDER / "notebooks").glob("*.py"))
NETWORK = {
    "duration": "100 ms",
    "phy": {"standard": "802.11g"},
    "stations": [{"name": "ap"}, {"name": "phone"}],
    "flows": [{"name": "down", "from": "ap", "to": "phone", "source": "tcp"}],
}


def test_simulate_takes_a_file_a_dictionary_or_a_scenario(tmp_path):
    (tmp_path / "cell.toml").write_text(CELL, "utf-8")
    of_file = airqueue.simulate(tmp_path / "cell.toml", {"duration": "50 ms"}, replications=1)
    assert of_file.duration_s == 0.05
    of_keys = airqueue.simulate(NETWORK, {"duration": "50 ms"}, seed=3, replications=2)
    of_scenario = airqueue.simulate(
        Scenario(NETWORK), {"duration": "50 ms"}, seed=3, replications=2
    )
    assert (
        of_keys.runs == of_scenario.runs == simulate(of_keys.scenario, seed=3, replications=2).runs
    )
    timed = airqueue.simulate(NETWORK, replications=1, series_interval_s=0.05)
    recorders = Recorders(series_interval_s=0.05)
    series = Scenario(NETWORK).simulate(replications=1, recorders=recorders).series
    assert np.array_equal(timed.series["time_s"], series["time_s"])


@pytest.mark.parametrize(
    "code",
    [
        "import airqueue; airqueue.models.bianchi(10)",
        "import airqueue.models.bianchi; airqueue.models.bianchi(10)",
        "from airqueue.models.bianchi import bianchi; import airqueue; airqueue.models.bianchi(10)",
        "from airqueue.models import bianchi; bianchi(10); bianchi.bianchi(10); bianchi.MODEL",
        "import airqueue.simulate; airqueue.simulate.cell; airqueue.simulate.mesh.chain(2)",
        "import airqueue; airqueue.simulate.Scenario; airqueue.sweep.Sweep; airqueue.measure",
    ],
)
def test_names_work_however_they_are_imported(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_not_there_is_said():
    with pytest.raises(
        TypeError, match=r"airqueue\.models\.voice has no function voice\(\); it has .*mos"
    ):
        airqueue.models.voice(1)
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        airqueue.mesure  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'bianci'"):
        airqueue.models.bianci(10)
    assert {"simulate", "models"} <= set(dir(airqueue))
    assert {"bianchi", "kumar"} <= set(dir(airqueue.models))


def test_tables_of_other_libraries_have_the_figures_of_the_runs():
    results = cell(stations=2, duration="50 ms").simulate(replications=3)
    frame, table = results.to_pandas("flows"), results.to_arrow("flows")
    assert table.to_pandas().equals(frame)
    assert len(frame) == 3 * 2
    for kind in ("flow", "bogus", ""):
        for convert in (results.to_pandas, results.to_arrow):
            with pytest.raises(
                ResultsError, match=f"there are no figures '{kind}'; there are flows"
            ):
                convert(kind)


def test_a_data_set_of_xarray_has_names_as_coordinates():
    results = cell(stations=2, duration="50 ms").simulate(replications=3)
    of = results.to_xarray("flows")
    assert dict(of.sizes) == {"replication": 3, "flow": 2}
    for replication, run in results.runs.items():
        for name, figures in run["flows"].items():
            value = of.throughput_bps.sel(replication=replication, flow=name)
            assert float(value) == figures["throughput_bps"]
    assert of.throughput_bps.units == "b/s"
    assert dict(results.to_xarray("medium").sizes) == {"replication": 3}
    with pytest.raises(ResultsError, match="has no names"):
        results.to_xarray("limits")


def test_there_are_three_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["first-simulation", "papers-figure", "sweep"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    content = path.read_text("utf-8")
    found = list(cells.cells(content))
    assert found[0].is_text
    assert found[0].source.startswith("# ")
    names = {}
    for each in found:
        if not each.is_text:
            exec(compile("\n" * (each.line - 1) + each.source, str(path), "exec"), names)
    assert any("assert " in each.source for each in found), "a notebook checks what it says"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_example_with_cells_becomes_a_notebook(path, runner):
    done = runner.invoke(main, ["examples", f"notebooks/{path.name}", "--out", "n.ipynb"])
    assert done.exit_code == 0, done.stderr
    notebook = json.loads(Path("n.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    sources = ["".join(each["source"]) for each in notebook["cells"]]
    assert sources == [each.source for each in cells.cells(path.read_text("utf-8"))]
    wrong = runner.invoke(main, ["examples", "rdqm", "--out", "no.ipynb"])
    assert (wrong.exit_code, wrong.stderr) == (
        1,
        "Error: simulate/rdqm has no cells: a notebook has them.\n",
    )


def test_scenarios_are_copied_and_compared_by_what_they_describe():
    scenario = Scenario(NETWORK)
    for again in (copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert again == scenario
        assert hash(again) == hash(scenario)
        assert again.simulate(replications=1) == scenario.simulate(replications=1)
    assert scenario != scenario.changed({"duration": "200 ms"})
    assert scenario != NETWORK


@pytest.mark.parametrize("given", [None, 3, "", ["stations"]])
def test_what_is_no_scenario_is_said(given):
    with pytest.raises(ScenarioError, match="is no scenario; expected a Scenario, a dictionary"):
        simulate(given)


@pytest.mark.parametrize(
    ("interval_s", "says"),
    [
        ("1 s", "series_interval_s: '1 s'; expected seconds"),
        (1e-12, "series_interval_s: 1e-12; expected seconds, at least 1e-09"),
        (100, "the series have intervals of 100 s, and the run ends after 1.10 s"),
    ],
)
def test_intervals_of_series_are_checked(interval_s, says):
    with pytest.raises(ScenarioError, match=says):
        simulate(NETWORK, replications=1, series_interval_s=interval_s)


def test_results_with_series_are_compared_and_say_of_what_there_are_series():
    one, other = (simulate(NETWORK, replications=1, series_interval_s=0.02) for _ in range(2))
    assert one == other
    with pytest.raises(ResultsError, match="there are those of flows and queues"):
        one.series_frame("stations")
    with pytest.raises(ResultsError, match="there are no figures 'streams'"):
        one.frame("streams")


def test_tables_without_rows_have_the_columns_of_those_with_rows():
    call = {"name": "call", "from": "phone", "to": "ap", "source": "voice"}
    without = simulate(NETWORK, replications=1)
    having = simulate({**NETWORK, "flows": [call]}, {"duration": "1 s"}, replications=1)
    for kind in ("calls", "connections"):
        empty, full = (having, without) if kind == "connections" else (without, having)
        assert len(empty.to_pandas(kind)) == 0 < len(full.to_pandas(kind))
        assert empty.to_arrow(kind).schema == full.to_arrow(kind).schema
        assert list(empty.to_xarray(kind)) == list(full.to_xarray(kind))
    for kind in TABLES:
        assert len(without.to_arrow(kind).column_names) > 5, kind
