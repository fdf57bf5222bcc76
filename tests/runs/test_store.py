"""Results on disk: what was written comes back, and nothing else does."""

import json
import tempfile
from pathlib import Path

import deeds  # noqa: F401 - the kinds of work for tests
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_work import PLAIN

from airqueue.runs import Store, Work


@given(PLAIN)
@settings(max_examples=20)
def test_what_is_written_comes_back(result):
    with tempfile.TemporaryDirectory() as root:
        store, work = Store(root), Work("square", {"number": 1})
        with pytest.raises(KeyError):
            store.read(work)
        store.write(work, result)
        assert repr(store.read(work)) == repr(result)
        with pytest.raises(KeyError):
            store.read(Work("square", {"number": 2}))


@pytest.fixture
def kept(tmp_path):
    """A store with one result, the work and the file."""
    store, work = Store(tmp_path), Work("square", {"number": 3})
    store.write(work, {"square": 9})
    (file,) = tmp_path.rglob("*.json")
    return store, work, file


@given(data=st.data())
@settings(max_examples=20)
def test_a_file_that_ends_early_counts_as_missing(data):
    with tempfile.TemporaryDirectory() as root:
        store, work = Store(root), Work("square", {"number": 3})
        store.write(work, {"square": 9})
        (file,) = Path(root).rglob("*.json")
        whole = file.read_bytes()
        # Without its last line break, it is whole all the same.
        file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 2))])
        with pytest.raises(KeyError):
            store.read(work)
        store.write(work, {"square": 9})
        assert file.read_bytes() == whole


@pytest.mark.parametrize(
    "change", [{"key": "0" * 64}, {"version": 2}, {"format": "another"}, {"result": ...}]
)
def test_a_file_of_something_else_counts_as_missing(kept, change):
    store, work, file = kept
    content = json.loads(file.read_text()) | change
    file.write_text(json.dumps({key: each for key, each in content.items() if each is not ...}))
    with pytest.raises(KeyError):
        store.read(work)


@pytest.mark.parametrize("content", ["[]", "null", "3", "\x00\xff"])
def test_a_foreign_file_counts_as_missing(kept, content):
    store, work, file = kept
    file.write_text(content)
    with pytest.raises(KeyError):
        store.read(work)


def test_a_file_says_what_it_is_of(kept):
    _, work, file = kept
    content = json.loads(file.read_text())
    assert content["inputs"] == {"number": 3}
    assert (content["kind"], content["key"], file.stem) == ("square", *2 * (work.stored_key,))


def test_a_write_that_fails_leaves_what_was_there(kept):
    store, work, file = kept
    before = file.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.write(work, float("nan"))
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
