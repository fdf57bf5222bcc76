"""Results are written beside further work: all of them, whatever ends the work."""

import os
import threading

import deeds  # noqa: F401 - the kinds of work for tests
import pytest

from airqueue.runs import Store, Work
from airqueue.runs.keeper import Keeper
from airqueue.runs.result import Result

WORKS = [Work("square", {"number": number}) for number in range(200)]
ONE = Result.of(1)


class SlowStore(Store):
    """A store whose disk takes its time, until it is let go."""

    def __init__(self, path):
        super().__init__(path)
        self.goes_on = threading.Event()

    def keep(self, work, result):
        self.goes_on.wait(10)
        super().keep(work, result)


def test_all_results_are_there_at_the_end(tmp_path):
    with Keeper(Store(tmp_path)) as keeper:
        for work in WORKS:
            keeper.keep(work, Result.of(work.inputs["number"] ** 2))
    kept = [Store(tmp_path).read(work) for work in WORKS]
    assert kept == [number**2 for number in range(200)]
    assert "keeper" not in {thread.name for thread in threading.enumerate()}


def test_results_that_finished_are_kept_after_an_interrupt(tmp_path):
    store = SlowStore(tmp_path)
    with pytest.raises(KeyboardInterrupt), Keeper(store) as keeper:
        for work in WORKS[:50]:
            keeper.keep(work, ONE)
        assert not any(work in store for work in WORKS[:50]), "nothing waits for the disk"
        store.goes_on.set()
        raise KeyboardInterrupt
    assert all(work in Store(tmp_path) for work in WORKS[:50])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_to_ends_the_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError), Keeper(Store(tmp_path)) as keeper:
        keeper.keep(WORKS[0], ONE)


def test_a_result_that_cannot_be_written_ends_the_work(tmp_path):
    """At the latest at its end; another error that ends the work is not replaced."""
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file")
    with pytest.raises(NotADirectoryError), Keeper(store) as keeper:
        keeper.keep(WORKS[0], ONE)
    with pytest.raises(NotADirectoryError), Keeper(store) as keeper:
        for work in WORKS:
            keeper.keep(work, ONE)
        raise AssertionError("went on for 200 results")
    with pytest.raises(ZeroDivisionError), Keeper(store) as keeper:
        keeper.keep(WORKS[0], ONE)
        raise ZeroDivisionError


def test_a_result_that_json_does_not_have_ends_the_work(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"), Keeper(Store(tmp_path)) as keeper:
        keeper.keep(WORKS[0], Result.of(float("inf")))
    assert WORKS[0] not in Store(tmp_path)
