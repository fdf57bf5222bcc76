"""Sweeps: what is simulated, what is kept, and what the tables say."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from here import CELL, Here
from hypothesis import given, settings
from hypothesis import strategies as st

import airqueue
from airqueue import toml_text
from airqueue.files import alone
from airqueue.runs import Local
from airqueue.simulate import Scenario
from airqueue.simulate.reported import KINDS
from airqueue.stats import t_interval
from airqueue.sweep import Interrupted, Sweep, SweepError
from airqueue.sweep.figures import Pattern

CELL_TABLE = toml_text.parse(CELL)
COUNTS = {"scenario": CELL_TABLE, "parameters": {"stations.sta.count": [1, 3]}, "replications": 2}


def files(out):
    """Return name and content of all tables, and of the summary."""
    return {path.name: path.read_bytes() for path in [*out.glob("*.parquet"), out / "summary.json"]}


def test_the_tables_have_what_simulations_of_each_point_find(tmp_path):
    given = COUNTS | {
        "seed": 7,
        "parameters": {"stations.sta.count": [1, 3], "phy.rate": ["2 Mb/s"]},
    }
    results = Sweep(given).run(tmp_path / "out", Here())
    assert results.complete
    for point, count in enumerate((1, 3)):
        changes = {"stations.sta.count": count, "phy.rate": "2 Mb/s"}
        alone = Scenario(CELL_TABLE).changed(changes).simulate(seed=7, replications=2)
        for kind in (*KINDS, "medium"):
            rows = results.table(kind).query(f"point == {point}")
            assert len(rows) == 0 or set(rows["stations.sta.count"]) == {count}
            assert len(rows) == 0 or set(rows["phy.rate_bps"]) == {2_000_000}
            own = rows[list(alone.frame(kind).columns)].reset_index(drop=True)
            pd.testing.assert_frame_equal(own, alone.frame(kind), check_dtype=False)
        summary = results.summary.query(f"point == {point}")
        (row,) = summary.query("kind == 'flows' and figure == 'delay_mean_s'")[:1].to_dict(
            "records"
        )
        name = "up" if count == 1 else "up1"
        found = alone.summary["flows"][name]["delay_mean_s"]
        assert (row["name"], row["mean"], row["n"]) == (name, found["mean"], 2)
        assert [row["ci95_low"], row["ci95_high"]] == found["ci95"]
    assert results.points.to_dict("list") == {
        "point": [0, 1],
        "stations.sta.count": [1, 3],
        "phy.rate_bps": [2_000_000, 2_000_000],
        "replications": [2, 2],
        "narrow": [None, None],
    }


def test_one_line_opens_a_table_in_pandas_and_in_duckdb(tmp_path):
    Sweep(COUNTS).run(tmp_path, Here())
    path = tmp_path / "flows.parquet"
    means = pd.read_parquet(path).groupby("stations.sta.count")["throughput_bps"].mean()
    words = (
        f"""SELECT "stations.sta.count", avg(throughput_bps) FROM '{path}' GROUP BY 1 ORDER BY 1"""
    )
    assert duckdb.sql(words).fetchall() == list(means.items())


def test_every_table_says_where_it_comes_from(tmp_path):
    Sweep(COUNTS).run(tmp_path, Here())
    Sweep(COUNTS).run(tmp_path, Here())
    noted = json.loads((tmp_path / "provenance.json").read_text())
    assert len(noted.pop("sessions")) == 2
    assert (noted["airqueue"], noted["scenario"]) == (airqueue.__version__, CELL_TABLE)
    assert noted["sweep"] == {key: each for key, each in COUNTS.items() if key != "scenario"}
    for path in tmp_path.glob("*.parquet"):
        assert json.loads(pq.read_metadata(path).metadata[b"airqueue"]) == noted


def test_processes_and_a_broken_off_sweep_give_the_same_bytes(tmp_path):
    given = COUNTS | {
        "parameters": {"stations.sta.count": [1, 2, 3]},
        "replications": {"least": 2, "most": 6},
        "until": {"flows.*.delay_mean_s": 0.05},
    }
    whole = Here()
    Sweep(given).run(tmp_path / "whole", whole)
    Sweep(given).run(tmp_path / "processes", Local(2))
    broken, done = tmp_path / "broken", []
    for most in (0, 1, 3, 2, 10**9):
        backend = Here(most)
        try:
            results = Sweep(given).run(broken, backend)
        except Interrupted as interrupt:
            results = interrupt.results
            assert not results.complete
        done += [work.key for work in backend.done]
        assert len(results.table("medium")) == results.replications == len(done)
    # Nothing was done twice, and nothing else.
    assert sorted(done) == sorted(work.key for work in whole.done)
    assert files(broken) == files(tmp_path / "whole") == files(tmp_path / "processes")


def test_a_changed_sweep_simulates_what_has_changed(tmp_path):
    def done(**changes):
        backend = Here()
        Sweep(COUNTS | changes).run(tmp_path, backend)
        return len(backend.done)

    assert done() == 4
    assert done() == 0
    assert done(parameters={"stations.sta.count": [3, 2, 1]}) == 2
    assert done(replications=3) == 2
    assert done(parameters={"stations.sta.count": [3], "phy.rate": ["11 Mb/s", "2 Mb/s"]}) == 4
    assert done(scenario=CELL_TABLE | {"duration": "50 ms"}) == 4
    assert done(seed=2) == 4
    assert len(pd.read_parquet(tmp_path / "medium.parquet")) == 4


def test_points_of_the_same_scenario_are_simulated_once(tmp_path):
    backend = Here()
    parameters = {"stations.sta.count": [1, 2], "stations.1.count": [2, 3]}
    results = Sweep(COUNTS | {"parameters": parameters}).run(tmp_path, backend)
    assert len(backend.done) == 4
    medium = results.table("medium").drop(columns=["stations.sta.count"])
    for point in (0, 1):
        one, other = (medium.query(f"point == {each}") for each in (point, point + 2))
        pd.testing.assert_frame_equal(
            one.drop(columns="point").reset_index(drop=True),
            other.drop(columns="point").reset_index(drop=True),
        )


def test_replications_end_where_the_intervals_are_narrow_or_at_the_most(tmp_path):
    given = COUNTS | {
        "parameters": {"phy.rate": ["2 Mb/s", "11 Mb/s"]},
        "replications": {"least": 2, "most": 12},
        "until": {
            "medium.throughput_bps": {"absolute": "300 kb/s"},
            "flows.*.delay_mean_s": {"relative": 0.2, "absolute": "1 ms"},
        },
    }
    results = Sweep(given).run(tmp_path, Here())
    flows, medium = results.table("flows"), results.table("medium")
    for row, outcome in zip(results.points.itertuples(), results.outcomes, strict=True):
        wide = set()
        of_medium = medium[medium["point"] == row.point]
        assert sorted(of_medium["replication"]) == list(range(row.replications))
        if t_interval(of_medium["throughput_bps"]).half_width > 300_000:
            wide.add(("medium", "", "throughput_bps"))
        for name, of in flows[flows["point"] == row.point].groupby("flow"):
            interval = t_interval(of["delay_mean_s"].dropna())
            if interval.half_width > max(0.2 * interval.mean, 0.001):
                wide.add(("flows", name, "delay_mean_s"))
        assert row.narrow == (not wide)
        assert row.narrow or row.replications == 12
        assert set(outcome.wide) == wide
    summary = json.loads(results.to_text())
    assert [bool(point["wide"]) for point in summary["points"]] == list(~results.points["narrow"])


def test_figures_that_only_some_points_have(tmp_path):
    call = {"name": "call", "from": "ap", "to": "sta1", "source": "voice"}
    given = {
        "scenario": CELL_TABLE | {"flows": [*CELL_TABLE["flows"], call]},
        "parameters": {"flows.call.source": ["saturated", "voice"]},
        "replications": 2,
    }
    results = Sweep(given).run(tmp_path, Here())
    assert set(results.table("calls")["point"]) == {1}
    assert list(results.table("calls")["flow"]) == ["call", "call"]
    first, second = results.over(Pattern.read("calls.*.mos"))
    assert first == {"mean": None, "ci95": None}
    assert second["mean"] == pytest.approx(results.table("calls")["mos"].mean())


# A frame of 802.11b takes longer than 100 us, so that nothing is delivered.
@pytest.mark.parametrize("replications", [1, 2])
def test_a_figure_that_no_replication_has_is_missing_at_every_point(tmp_path, replications):
    given = COUNTS | {
        "scenario": CELL_TABLE | {"duration": "100 us", "warm_up": "0 s"},
        "replications": replications,
    }
    results = Sweep(given).run(tmp_path, Here())
    missing = {"mean": None, "ci95": None}
    assert results.over(Pattern.read("flows.*.delay_mean_s")) == [missing, missing]
    delivered = results.over(Pattern.read("flows.*.throughput_bps"))
    assert [each["mean"] for each in delivered] == [0, 0]
    # No name of a flow that has the figure matches.
    assert results.over(Pattern.read("flows.none.throughput_bps")) == [missing, missing]


def test_a_samples_points_are_simulated(tmp_path):
    given = COUNTS | {
        "parameters": {"flows.up.size": {"from": "100 B", "to": "1500 B"}},
        "sample": {"points": 3, "seed": 4},
    }
    results = Sweep(given).run(tmp_path, Here())
    sizes = sorted(results.points["flows.up.size_bytes"])
    assert [100 + 467 * i <= size <= 567 + 467 * i for i, size in enumerate(sizes)] == [True] * 3
    assert len(results.table("medium")) == 6


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from", "to", "points", "scale", "least", "most", "a.b"]), inner
        )
    ),
    max_leaves=6,
)
KEYS = ("scenario", "parameters", "zip", "sample", "seed", "replications", "until", "x")


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=3), st.sampled_from(["phy.rate", "a", ""])
)
def test_no_sweep_is_worse_than_a_sentence(given, path):
    if isinstance(given.get("parameters"), dict):
        given["parameters"] = {path: given["parameters"]}
    try:
        Sweep(COUNTS | given)
    except (SweepError, OSError) as error:
        assert str(error)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"paramters": {}},
            "paramters: unknown key of a sweep; expected scenario, parameters, zip",
        ),
        ({"scenario": 3}, "scenario: 3; expected the name of a scenario file"),
        ({"parameters": {}}, "parameters: a table of 0; expected a table of what to change"),
        (
            {"parameters": {"stations.x.count": [1]}},
            r"parameters\.stations\.x\.count: there is no",
        ),
        ({"parameters": {"phy.rates": [1]}}, r"the one point|point 0 \(phy\.rates=1\): .*rates"),
        (
            {"parameters": {"stations.sta.count": [1, -1]}},
            r"point 1 \(stations\.sta\.count=-1\): stations\[1\]\.count",
        ),
        (
            {"parameters": {"phy": {"rate": ["11 Mb/s"]}, "phy.rate": ["1 Mb/s"]}},
            r"parameters\.phy\.rate: is there twice",
        ),
        (
            {"parameters": {"duration": {"from": "1 s", "to": "2 s"}}},
            "a range without points; give",
        ),
        ({"zip": "a"}, r"zip: 'a'; expected a list of lists"),
        ({"zip": [["a", "b"]]}, r"zip\[0\]: 'a'; expected one of stations\.sta\.count"),
        ({"zip": [["stations.sta.count"]]}, "expected two parameters or more with as many values"),
        ({"zip": [["stations.sta.count"] * 2]}, "stations.sta.count is there twice"),
        (
            {
                "parameters": {"stations.sta.count": [1, 2, 3], "phy.rate": ["1 Mb/s", "2 Mb/s"]},
                "zip": [["stations.sta.count", "phy.rate"]],
            },
            r"zip\[0\]: stations\.sta\.count has 3, phy\.rate has 2; expected",
        ),
        ({"sample": 0}, r"sample\.points: 0; expected a whole number from 1"),
        ({"sample": {"number": 3}}, r"sample\.number: unknown key"),
        ({"sample": 5}, "sample: nothing to draw from"),
        ({"seed": -1}, "seed: -1; expected a whole number from 0"),
        ({"replications": 0}, r"replications\.least: 0; expected"),
        ({"replications": {"many": 3}}, r"replications\.many: unknown key"),
        ({"replications": {"least": 5, "most": 3}}, "at most 3, and at least 5; exchange them"),
        ({"replications": {"least": 5, "most": 9}}, "has no precision to reach"),
        ({"until": 3}, "until: 3; expected a table"),
        ({"until": {"medium.throughput_bps": 0.1}}, "replications: intervals decide how many"),
    ],
)
def test_what_a_sweep_cannot_be_is_explained(change, says):
    with pytest.raises(SweepError, match=says):
        Sweep(COUNTS | change)


@pytest.mark.parametrize(
    ("until", "says"),
    [
        (
            {"flows.up1.delay": 0.1},
            r"until\.flows\.up1\.delay: unknown figure of flows; they have",
        ),
        ({"flows.down.delay_mean_s": 0.1}, r"until\.flows\.down.*none of the flows has that name"),
        ({"throughput_bps": 0.1}, r"until\.throughput_bps: no figure; expected flows"),
        ({"medium.throughput_bps": 0}, r"until\.medium.*relative: 0; expected 0\.05 for 5 %"),
        ({"medium.throughput_bps": True}, "relative: True; expected"),
        ({"medium.throughput_bps": {}}, "an empty table"),
        (
            {"medium.throughput_bps": {"half": 1}},
            "half: unknown key; expected relative or absolute",
        ),
        ({"medium.throughput_bps": {"absolute": "1 ms"}}, "absolute: '1 ms'; expected a number in"),
    ],
)
def test_what_cannot_be_waited_for_is_explained_before_anything_runs(until, says):
    with pytest.raises(SweepError, match=says):
        Sweep(COUNTS | {"replications": {"least": 2, "most": 9}, "until": until})


def test_keys_without_quotes_are_the_same_parameters():
    text = """
    [parameters]
    stations.sta.count = [1, 2]
    flows.up.from = ["sta"]
    flows.up.size = {from = "100 B", to = "300 B", points = 3}
    """
    sweep = Sweep({"scenario": CELL_TABLE, **toml_text.parse(text)})
    assert sweep.parameters == ("stations.sta.count", "flows.up.from", "flows.up.size")
    assert len(sweep.points) == 6


def test_directories_of_something_else_are_refused(tmp_path):
    (tmp_path / "flows.parquet").touch()
    with pytest.raises(SweepError, match=r"has flows\.parquet and no provenance\.json"):
        Sweep(COUNTS).run(tmp_path)
    (tmp_path / "provenance.json").write_text('{"format": "airqueue-provenance"}')
    with pytest.raises(SweepError, match=r"provenance\.json: not of a sweep; choose another"):
        Sweep(COUNTS).run(tmp_path)
    (tmp_path / "provenance.json").write_text("{")
    with pytest.raises(SweepError, match=r"provenance\.json is not JSON, at line 1"):
        Sweep(COUNTS).run(tmp_path)
    with pytest.raises(SweepError, match=r"flows\.parquet: is no directory"):
        Sweep(COUNTS).run(tmp_path / "flows.parquet")
    with (
        alone(tmp_path / "new", SweepError),
        pytest.raises(SweepError, match="another process writes"),
    ):
        Sweep(COUNTS).run(tmp_path / "new")


KILLED = """
scenario = "cell.toml"
replications = 12
[parameters]
stations.sta.count = [1, 2, 3]
"""
SCRIPT = "from airqueue.sweep import Sweep; Sweep.from_toml('sweep.toml').run('out')"


def test_kill_9_at_random_moments_loses_at_most_what_was_in_progress(tmp_path):
    (tmp_path / "cell.toml").write_text(CELL.replace("40 ms", "15 s"))
    (tmp_path / "sweep.toml").write_text(KILLED)
    moments = random.Random(1)
    kept = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        while process.poll() is None and runs_in(tmp_path / "out") <= kept:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        process.wait()
        assert runs_in(tmp_path / "out") >= kept
        kept = runs_in(tmp_path / "out")
    again, whole = Here(), Here()
    sweep = Sweep.from_toml(tmp_path / "sweep.toml")
    sweep.run(tmp_path / "out", again)
    sweep.run(tmp_path / "whole", whole)
    assert kept > 0
    assert len(again.done) == len(whole.done) - kept
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def runs_in(out: Path) -> int:
    return len([*(out / "runs").glob("*/*.json")])
