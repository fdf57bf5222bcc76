"""What a piece of work is named by, and what of the code belongs to its name."""

import importlib
import re
from pathlib import Path

import deeds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.runs import RunError, Work, execute, fingerprint, kinds
from airqueue.runs.local import Local
from airqueue.simulate import Scenario
from test_layers import PACKAGE, imported

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
PLAIN = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.text(max_size=3), LEAVES)
INPUTS = st.dictionaries(st.text(max_size=4), PLAIN, max_size=4)

CHANGES_NO_NUMBER = {
    *("files", "provenance", "text", "toml_text"),
    *("description", "description_words", "figures", "records", "monitored", "lazy"),
    *("runs", "callable_module"),
}
"""What packages of kinds use for words, files and types alone, and for who carries work out."""


def turned(value):
    """Return the same value with the keys of all tables in another order."""
    if isinstance(value, dict):
        return {key: turned(each) for key, each in reversed(value.items())}
    return [turned(each) for each in value] if isinstance(value, list) else value


@given(INPUTS, st.floats(0.1, 10), st.text(max_size=5))
def test_the_key_is_that_of_the_inputs_alone(inputs, weight, name):
    key = Work("square", inputs).key
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert Work("square", turned(inputs), weight, name).key == key
    stored = Work("square", inputs).stored_key
    assert Work("square", turned(inputs), weight, name).stored_key == stored


@given(INPUTS, INPUTS)
def test_other_inputs_have_another_key(one, other):
    # repr tells 1, 1.0 and True apart, as JSON does.
    same = repr(sorted_deeply(one)) == repr(sorted_deeply(other))
    assert (Work("square", one).key == Work("square", other).key) is same


def sorted_deeply(value):
    """Return a value in which the order of keys no longer shows."""
    if isinstance(value, dict):
        return sorted((key, sorted_deeply(each)) for key, each in value.items())
    return [sorted_deeply(each) for each in value] if isinstance(value, list) else value


def test_another_kind_has_another_key():
    assert Work("square", {}).key != Work("fragile", {}).key


@pytest.mark.parametrize("inputs", [{"a": {1}}, {"a": float("nan")}, {"a": float("inf")}])
def test_inputs_that_are_no_json_are_refused_by_name(inputs):
    with pytest.raises(RunError, match="the tenth: its inputs are no plain JSON"):
        Work("square", inputs, name="the tenth")


def test_unknown_kinds_and_weights_without_meaning_are_refused():
    with pytest.raises(RunError, match="no kind of work 'sqare'; there are model, measurement"):
        Work("sqare", {})
    with pytest.raises(RunError, match="weight is 0; expected a number above zero"):
        Work("square", {}, weight=0)


def test_only_the_stored_key_depends_on_the_code(monkeypatch):
    before, after = Work("square", {"a": 1}), Work("square", {"a": 1})
    stored = before.stored_key
    monkeypatch.setattr("airqueue.runs.work.fingerprint", lambda parts: "other code")
    assert after.stored_key != stored
    assert after.key == before.key


def test_simulation_without_a_store_digests_no_code(monkeypatch):
    monkeypatch.setattr("airqueue.runs.work.fingerprint", refuse)
    described = {"duration": "1 ms", "phy": {"standard": "802.11b"}}
    described["stations"] = [{"name": "a"}, {"name": "b"}]
    described["flows"] = [{"from": "a", "to": "b"}]
    assert len(Scenario(described).simulate(replications=1, workers=1).runs) == 1


def test_an_error_in_a_thread_of_local_processes_is_raised(monkeypatch):
    monkeypatch.setattr("airqueue.runs.work.fingerprint", refuse)
    with pytest.raises(AssertionError, match="the code was digested"):
        execute([Work("square", {"number": 3})], None, Local(1))


def refuse(parts):
    raise AssertionError("the code was digested")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Two packages of our own, whose files a test may change; digests are read anew."""
    for name in ("stands_on", "unused"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "inner.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def key_of(parts) -> str:
    fingerprint.fingerprint.cache_clear()
    fingerprint._digest.cache_clear()
    importlib.invalidate_caches()
    return fingerprint.fingerprint(frozenset(parts))


def test_a_change_of_the_code_that_it_stands_on_changes_the_fingerprint(package):
    keys = [key_of({"stands_on"})]
    (package / "unused" / "inner.py").write_text("x = 2\n")
    assert key_of({"stands_on"}) == keys[0]
    (package / "stands_on" / "inner.py").write_text("x = 2\n")
    keys.append(key_of({"stands_on"}))
    (package / "stands_on" / "inner.py").rename(package / "stands_on" / "outer.py")
    keys.append(key_of({"stands_on"}))
    keys.append(key_of({"stands_on.outer"}))
    keys.append(key_of({"stands_on", "unused"}))
    (package / "stands_on" / "clock.c").write_text("int x;\n")
    keys.append(key_of({"stands_on"}))
    assert len(set(keys)) == len(keys)


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(RunError, match="no module airqueue_nowhere, which work depends on"):
        key_of({"airqueue_nowhere"})


def test_the_steering_of_buffers_belongs_to_scenarios_that_have_it():
    plain, steered = ({"scenario": scenario} for scenario in ({}, {"buffers": {}}))
    kind = kinds.find("simulation")
    assert kind.parts(plain) < kind.parts(steered)
    assert "airqueue.sizing" in kind.parts(steered) - kind.parts(plain)


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("simulation", {"scenario": {"buffers": {}}}),
        ("series", {"scenario": {"buffers": {}}}),
        ("model", {}),
        ("measurement", {}),
    ],
)
def test_a_kind_stands_on_all_that_its_packages_import(kind, inputs):
    parts = {name.removeprefix("airqueue.") for name in kinds.find(kind).parts(inputs)}
    for part in parts:
        place = PACKAGE.joinpath(*part.split("."))
        files = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
        used = {name.split(".")[0] for path in files for name in imported(path)}
        used = {name for name in used if (PACKAGE / name).is_dir() or is_module(name)}
        assert used - {"_native"} <= parts | CHANGES_NO_NUMBER, part


def is_module(name: str) -> bool:
    return Path(PACKAGE / f"{name}.py").is_file()


def test_every_kind_has_its_function():
    for name in kinds.names():
        kind = kinds.find(name)
        assert callable(kinds.function_of(kind.function)), name


def test_a_kind_is_registered_once_and_where_other_processes_find_it():
    kinds.register("square", deeds.square, ())  # as when its module is loaded again
    with pytest.raises(RunError, match="'square' is deeds:square; choose another name"):
        kinds.register("square", deeds.fragile, ())
    with pytest.raises(RunError, match="other processes cannot import; move the function"):
        kinds.register("inner", lambda inputs: inputs, ())
    assert "inner" not in kinds.names()
