"""Work on a Dask cluster: the same results, whoever of it dies; and errors that say what to do."""

import importlib.metadata
import os
import signal
import sys
import threading

import deeds  # noqa: F401 - the kinds of work for tests
import pytest
from distributed import LocalCluster

from airqueue.lazy import MissingExtraError
from airqueue.runs import BackendError, Cluster, Local, Work, WorkError, cluster, execute
from airqueue.simulate import cell
from airqueue.sweep import Sweep


@pytest.fixture(scope="module")
def workers():
    """A scheduler in this process, and two worker processes."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as found:
        yield found


def squares(numbers, **more):
    return [
        Work("square", {"number": number, **more}, name=f"square {number}") for number in numbers
    ]


def test_a_cluster_gives_the_same_results_as_processes(workers):
    works = squares(range(6))
    there = execute(works, None, Cluster(workers.scheduler_address))
    assert dict(there) == dict(execute(works, None, Local(1)))


def test_work_that_kills_its_workers_is_named(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(workers.scheduler, "allowed_failures", 0)
    work = Work("fragile", {"diary": str(tmp_path / "diary"), "deaths": 99}, name="the fragile one")
    with pytest.raises(WorkError, match="the fragile one: several workers that were at it died"):
        execute([work], None, Cluster(workers.scheduler_address))


def test_work_that_fails_is_named(workers):
    with pytest.raises(WorkError, match="the wrong one: KeyError: 'the key'"):
        execute([Work("wrong", {}, name="the wrong one")], None, Cluster(workers.scheduler_address))


def test_other_code_on_the_workers_is_an_error_that_says_so(workers, monkeypatch):
    monkeypatch.setattr(Work, "code", "0" * 64)
    with pytest.raises(BackendError, match=r"the worker tcp:.* has other code of airqueue"):
        execute(squares([1]), None, Cluster(workers.scheduler_address))


def test_another_version_on_the_workers_is_an_error_that_says_so(workers, monkeypatch):
    monkeypatch.setattr("airqueue.__version__", "99.0")
    here = importlib.metadata.version("airqueue")
    with pytest.raises(
        BackendError, match=rf"has airqueue {here} and this is 99\.0; install the same"
    ):
        execute(squares([1]), None, Cluster(workers.scheduler_address))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "http://127.0.0.1:9", ""])
def test_a_scheduler_that_is_not_there_is_an_error(address, monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.5)
    with pytest.raises(BackendError, match=r"no Dask scheduler at .*; expected tcp://HOST:PORT"):
        execute(squares([1]), None, Cluster(address))


def test_a_scheduler_without_workers_and_one_that_goes_are_errors():
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty:
        with pytest.raises(
            BackendError, match="has no worker; start some, as with 'dask worker tcp:"
        ):
            execute(squares([1]), None, Cluster(empty.scheduler_address, patience_s=0.1))
        thread = threading.Timer(0.5, empty.close)
        thread.start()
        with pytest.raises(BackendError, match="is gone; what had finished is kept"):
            execute(squares([1]), None, Cluster(empty.scheduler_address))
        thread.join()


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        MissingExtraError, match=r"distributed is not installed: pip install 'airqueue\[cluster\]'"
    ):
        execute(squares([1]), None, Cluster("tcp://127.0.0.1:9"))


def test_a_sweep_that_loses_a_worker_is_complete_and_the_same(workers, tmp_path):
    scenario = cell(stations=2, duration="10 s")
    given = {
        "scenario": scenario,
        "parameters": {"stations.sta.count": [1, 4], "phy.rate": ["2 Mb/s", "11 Mb/s"]},
        "replications": {"least": 3, "most": 6},
        "until": {"flows.*.delay_mean_s": 0.0001},
    }
    lost = []

    def lose(progress):
        if progress.runs.finished > 5 and not lost:
            lost.append(next(iter(workers.workers.values())).pid)
            os.kill(lost[0], signal.SIGKILL)

    there = Sweep(given).run(tmp_path / "there", Cluster(workers.scheduler_address), lose)
    Sweep(given).run(tmp_path / "here", Local(1))
    assert lost
    assert there.complete
    tables = [path.name for path in (tmp_path / "here").glob("*.parquet")]
    for name in (*tables, "summary.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
