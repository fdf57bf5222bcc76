"""What Python and the documentation say of results is what the Rust definitions say."""

import importlib
import json
import sys
from pathlib import Path
from typing import get_type_hints

import mypy.api
import numpy as np
import pytest

from airqueue import _native, figures, monitored, records
from airqueue.simulate import Scenario, cell, mesh
from airqueue.simulate.recorders import Recorders
from airqueue.simulate.report_types import Run
from airqueue.simulate.reported import KINDS
from tests.every_kind import NETWORK

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
WRITTEN = {
    path: content
    for script in ("native_types", "measurement_types")
    for path, content in importlib.import_module(script).WRITTEN.items()
}


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_the_files_are_those_that_the_scripts_write(path):
    assert path.read_text("utf-8") == WRITTEN[path](), "run `make types`"


@pytest.mark.parametrize("place", [0, 1])
def test_everything_that_is_reported_is_explained(place):
    for name, schema in json.loads(_native.result_schemas()[place])["$defs"].items():
        assert schema.get("description"), name
        for field, of in schema.get("properties", {}).items():
            assert of.get("description"), f"{name}.{field}"
            assert field in schema["required"], f"{name}.{field}"


def keys(of: type) -> list[str]:
    return list(of.__annotations__)


def test_a_replication_has_the_figures_of_the_types_in_their_order():
    run = Scenario(NETWORK).replicate()
    assert list(run) == keys(figures.Figures) == [*keys(Run)][: len(run)]
    for kind in KINDS:
        of = getattr(figures, f"{kind.removesuffix('s').title()}Figures")
        assert run[kind]
        assert all(list(each) == keys(of) for each in run[kind].values())
    types = get_type_hints(figures.MediumFigures)
    assert list(run["medium"]) == list(types)
    assert all(isinstance(value, types[figure]) for figure, value in run["medium"].items())


def test_what_a_manager_sees_is_of_the_types():
    network = mesh.chain(2, overrides={"buffers.sample_interval": "1 s"})
    layout, snapshot = network.layout()
    assert sorted(layout) == sorted(keys(monitored.Map))
    assert sorted(snapshot) == sorted(keys(monitored.Snapshot))
    assert sorted(layout["flows"][0]) == sorted(keys(monitored.MapFlow))
    assert sorted(snapshot["flows"][0]) == sorted(keys(monitored.FlowSnapshot))
    assert sorted(snapshot["flows"][0]["hops"][0]) == sorted(keys(monitored.HopSnapshot))
    settings = json.loads(network._native.buffers)
    assert sorted(settings) == sorted(keys(monitored.Buffers))


def test_series_are_arrays_of_the_types():
    network = cell(stations=1, duration="50 ms")
    results = network.simulate(replications=1, recorders=Recorders(series_interval_s=0.01))
    series = results.series
    assert list(series) == keys(records.SeriesDict)
    for kind, of in (("flows", records.FlowSeriesDict), ("queues", records.QueueSeriesDict)):
        for columns in series[kind].values():
            assert list(columns) == keys(of)
            assert all(values.dtype == np.float64 for values in columns.values())


WRONG = """
from airqueue.description import Description
from airqueue.measure.schema import read_result
from airqueue.simulate import Scenario
from airqueue.simulate.reported import of_each

network: Description = {"stations": [{"nmae": "ap"}], "mac": {"acces": "edca"}}
results = Scenario(network).simulate()
results.summary["flows"]["up"]["throughput_bps"]["maen"]
results.runs[0]["flows"]["up"]["troughput_bps"]
of_each(results.runs[0], ("queues", "throughput_bps"))
results.frame("folws")
read_result("result.json")["capacty"]
results.runs[0]["medium"]["collided_ratio"]
"""


def test_a_type_checker_finds_what_is_misspelled(tmp_path, monkeypatch):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG, "utf-8")
    root = Path(__file__).parents[1]
    monkeypatch.setenv("MYPYPATH", str(root / "python"))
    found, _, _ = mypy.api.run(["--strict", "--cache-dir", str(root / ".mypy_cache"), str(path)])
    lines = [line.split(":")[1] for line in found.splitlines() if ": error: " in line]
    assert lines == ["7", "7", "9", "10", "11", "12", "13"], found
