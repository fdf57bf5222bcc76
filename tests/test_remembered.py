"""What was computed once: not again, not for others, and not for longer than what it is of."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass

from airqueue.measure.api import analyze, measure
from airqueue.measure.remembered import remembered
from devices import CoDel, DevicesProber


@dataclass(eq=False)
class Thing:
    size: int


def counted():
    calls = []

    @remembered
    def total(things, *more):
        calls.append(more)
        several = things if isinstance(things, list) else [things]
        return sum(thing.size for thing in several) + sum(more)

    return total, calls


def test_each_answer_is_computed_once():
    total, calls = counted()
    first, second = Thing(1), Thing(1)
    assert [total(first), total(first), total(first, 5), total(first, 5)] == [1, 1, 6, 6]
    assert total(second) == 1
    assert len(calls) == 3, "others are not the same for being alike"
    assert [total([first, second]), total([first, second]), total([second, first])] == [2, 2, 2]
    assert total([first]) == 1
    assert len(calls) == 5, "one object alone, or a sequence of one, is one question"
    assert total([]) == 0


def test_nothing_is_kept_of_what_is_gone():
    total, _ = counted()
    first, second = Thing(1), Thing(2)
    total([first, second])
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None
    assert total(second) == 2


def test_a_measurement_says_what_an_analysis_of_its_runs_says():
    runs = []
    measured = measure(DevicesProber([CoDel(1000)]), on_run=runs.append).to_json()
    anew = analyze(runs, {"profile": "quick", "elapsed_s": measured["elapsed_s"]}).to_json()
    assert measured["discipline"]["name"] == "codel"
    assert {**measured, "created": ""} == {**anew, "created": ""}
