"""Carrying out work by local processes: results, what is kept, deaths, errors, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import deeds  # noqa: F401 - the kinds of work for tests
import pytest

from airqueue.measure.schema import check
from airqueue.models import sweep
from airqueue.models.catalogue import find
from airqueue.runs import BackendError, Local, RunError, Store, Work, WorkError, execute, protocol
from airqueue.simulate import Scenario, cell


def squares(numbers, **more):
    return [
        Work("square", {"number": number, **more}, name=f"square {number}") for number in numbers
    ]


def test_the_results_are_the_same_whatever_the_crew_and_the_store(tmp_path):
    works = [*squares([3, 1, 2]), *squares([1])]
    one, two = execute(works, None, Local(1)), execute(works, Store(tmp_path), Local(2))
    assert dict(one) == dict(two)
    assert list(one) == list(two) == [work.key for work in works[:3]]
    assert [result["square"] for result in two.values()] == [9, 1, 4]
    assert one[works[0].key]["third"] == 1.0
    assert len(two) == 3


def test_what_is_kept_is_not_done_again(tmp_path):
    diary = tmp_path / "diary"
    store = Store(tmp_path / "kept")
    told = []
    for numbers in ([1, 2], [1, 2, 3], [3]):
        works = squares(numbers, diary=str(diary))
        results = execute(works, store, Local(1), told.append)
        assert [results[work.key]["square"] for work in works] == [n * n for n in numbers]
    assert len(diary.read_text().splitlines()) == 3
    last = told[-1]
    assert (last.finished, last.pieces, last.kept, last.fraction) == (1, 1, 1, 1.0)


def test_what_is_asked_for_again_is_done_again_and_only_that(tmp_path):
    diary = tmp_path / "diary"
    store, works, told = Store(tmp_path / "kept"), squares([1, 2], diary=str(diary)), []
    execute(works, store, Local(1))
    results = execute(works, store, Local(1), told.append, again={works[0].key})
    assert [each["square"] for each in results.values()] == [1, 4]
    assert len(diary.read_text().splitlines()) == 3
    assert told[-1].kept == 1


def test_progress_is_by_weight_and_never_goes_back():
    works = [Work("square", {"number": n, "takes_s": 0.2}, weight=n) for n in (1, 2, 5)]
    told = []
    execute(works, None, Local(1), told.append)
    fractions = [each.fraction for each in told]
    assert fractions == sorted(fractions)
    # Heavy ones begin first.
    assert {0.0, 1.0} <= set(fractions) <= {0.0, 5 / 8, 7 / 8, 1.0}
    assert told[0].time_left_s is None
    assert all(each.time_left_s >= 0 for each in told if each.finished)


def test_more_work_may_follow_from_results(tmp_path):
    def further(work, result):
        number = work.inputs["number"]
        assert result.value["square"] == number**2
        return squares([number + 1, 0] if number < 4 else [])

    for _ in ("new", "kept"):
        results = execute(squares([0]), Store(tmp_path), Local(1), further=further)
        assert sorted(each["square"] for each in results.values()) == [0, 1, 4, 9, 16]


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    diary = tmp_path / "diary"
    work = Work("fragile", {"diary": str(diary), "deaths": 2})
    results = execute([work, *squares(range(4))], None, Local(2))
    assert results[work.key] == "alive"
    assert len(results) == 5
    assert len(set(diary.read_text().splitlines())) == 3


def test_work_that_kills_its_processes_again_and_again_is_named(tmp_path):
    store = Store(tmp_path / "kept")
    inputs = {"diary": str(tmp_path / "diary"), "deaths": 99}
    works = [Work("fragile", inputs, weight=0.5, name="the fragile one"), *squares(range(4))]
    with pytest.raises(
        WorkError, match=r"the fragile one: 3 processes .* SIGKILL; is there enough"
    ):
        execute(works, store, Local(1))
    assert [store.read(work)["square"] for work in works[1:]] == [0, 1, 4, 9]


def test_work_that_fails_is_named_and_the_rest_is_kept(tmp_path):
    store = Store(tmp_path)
    works = [Work("wrong", {}, weight=0.5, name="point 7"), *squares(range(3))]
    with pytest.raises(WorkError, match="point 7: KeyError: 'the key'") as caught:
        execute(works, store, Local(1))
    assert caught.value.work is works[0]
    assert "in wrong" in caught.value.__notes__[0]
    assert [store.read(work)["square"] for work in works[1:]] == [0, 1, 4]


def test_errors_of_ours_come_as_they_are():
    description = {**cell(stations=1).description, "duration": "0 s"}
    work = Work("simulation", {"scenario": description, "seed": 1, "replication": 0}, name="it")
    with pytest.raises(WorkError, match=r"^it: duration: found 0 s, expected at least 1 ns"):
        execute([work], None, Local(1))


def test_what_work_prints_is_no_answer():
    work = Work("chatty", {})
    assert execute([work], None, Local(1))[work.key] == "an answer"


def test_results_that_are_no_json_are_refused():
    with pytest.raises(WorkError, match="not JSON compliant"):
        execute([Work("infinite", {})], None, Local(1))


def test_processes_that_cannot_start_are_an_error(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(BackendError, match="ended at once with exit code 1: ModuleNotFoundError"):
        execute(squares([1]), None, Local(1))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(BackendError, match=r"no process can be started: .*/nowhere/python"):
        execute(squares([1]), None, Local(1))
    with pytest.raises(RunError, match="workers: 0; expected at least 1"):
        Local(0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"airqueue": "9.9"}, "a worker has airqueue .* and this is 9.9; install the same version"),
        ({"code": "0" * 64}, "a worker has other code of airqueue"),
    ],
)
def test_another_airqueue_is_refused(monkeypatch, change, says):
    (work,) = squares([1])
    asked = json.loads(protocol.request(work)) | change
    said = protocol.run_request(json.dumps(asked))
    # The asking side speaks of its own version.
    with pytest.raises(BackendError, match=says):
        protocol.answer(work, said, "a worker")


def test_a_simulation_is_that_replication_of_the_scenario():
    network = cell(stations=2, duration="50 ms")
    works = [
        Work("simulation", {"scenario": network.description, "seed": 7, "replication": i})
        for i in (0, 2)
    ]
    alone = execute(works, None, Local(2))
    together = network.simulate(7, 3).runs
    assert list(alone.values()) == [together[0], together[2]]


def test_a_steered_replication_alone_is_the_same_as_among_others():
    root = Path(__file__).parents[2]
    short = {"duration": "1 s", "warm_up": "1 s", "changes": []}
    network = Scenario.from_toml(root / "examples/simulate/mesh-buffers.toml", short)
    together = network.simulate(1, 2).runs
    assert network.replicate(1, 1) == together[1]
    assert together[1]["limits"]


def test_a_model_is_that_of_the_catalogue():
    inputs = {"model": "tay-chua", "parameters": {"n": 10, "cw_min": "15"}}
    listed = {"model": "rate-mix", "parameters": {"rates_bps": ["11mbit", 1e6]}}
    lines = [protocol.request(Work("model", each)) for each in (inputs, listed)]
    one, two = (json.loads(protocol.run_request(line)) for line in lines)
    model = find("tay-chua")
    given = {parameter.name: parameter.default for parameter in model.parameters}
    assert one["result"] == sweep.evaluate(model, given | {"n": 10.0, "cw_min": 15.0})
    assert two["result"]


@pytest.mark.parametrize(
    ("model", "parameters", "says"),
    [
        ("tay-chau", {}, "no model 'tay-chau'; did you mean 'tay-chua'"),
        ("tay-chua", {}, "tay-chua needs n="),
        ("tay-chua", {"n": "1..5"}, "n has several values; expected one point"),
    ],
)
def test_models_that_cannot_be_evaluated_are_errors_of_ours(model, parameters, says):
    work = Work("model", {"model": model, "parameters": parameters})
    said = json.loads(protocol.run_request(protocol.request(work)))
    assert says in said["error"]


def test_a_measurement_depends_on_its_inputs_alone():
    path = {"rate_bps": 10_000_000, "queue": "pfifo:20"}
    work = Work("measurement", {"path": path, "seed": 3, "sizes": [1500]})
    one, two = (json.loads(protocol.run_request(protocol.request(work))) for _ in range(2))
    assert one == two, one
    found = one["result"]
    check({**found, "created": "2000-01-01T00:00:00Z"})
    assert found["capacity"] == pytest.approx(20, abs=1)


SCRIPT = """
import sys
import deeds
from airqueue.runs import Local, Store, Work, execute
works = [Work("square", {"number": n, "takes_s": t, "diary": sys.argv[2]})
         for n, t in ((1, 0), (2, 600), (3, 600))]
execute(works, Store(sys.argv[1]), Local(2))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_processes_end_with_the_one_that_started_them(tmp_path, number):
    diary, kept = tmp_path / "diary", tmp_path / "kept"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(kept), str(diary)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: diary.exists() and len(diary.read_text().splitlines()) == 3)
    wait_until(lambda: [*kept.rglob("*.json")])
    began = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=60)
    wait_until(lambda: not any(is_alive(int(pid)) for pid in diary.read_text().split()))
    assert time.monotonic() - began < 120  # and not the ten minutes that the work takes
    assert Store(kept).read(Work("square", {"number": 1, "takes_s": 0, "diary": str(diary)}))


def test_ctrl_c_reaches_the_caller_and_ends_the_work(tmp_path):
    works = squares([1, 2], takes_s=600, diary=str(tmp_path / "diary"))

    def interrupt():
        wait_until((tmp_path / "diary").exists)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        execute(works, None, Local(2))
    thread.join()
    assert time.monotonic() - began < 120


def wait_until(condition, patience_s=60.0):
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
