"""Sparse matrices by rows against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from airqueue.models import sparse_rows
from airqueue.models.sparse_rows import Rows

RANDOM = np.random.default_rng(11)


def drawn(height, width, entries):
    """A random matrix with entries at equal places: ours and SciPy's."""
    rows, columns = RANDOM.integers(0, height, entries), RANDOM.integers(0, width, entries)
    values = RANDOM.normal(size=entries)
    theirs = scipy.sparse.coo_array((values, (rows, columns)), shape=(height, width)).tocsr()
    return Rows.of(rows, columns, values, (height, width)), theirs


def is_same(ours, theirs):
    expected = theirs.tocsr()
    expected.sort_indices()
    assert ours.starts.tolist() == expected.indptr.tolist()
    assert ours.columns.tolist() == expected.indices.tolist()
    assert ours.values == pytest.approx(expected.data, abs=1e-12)
    assert (ours.height, ours.width) == expected.shape


@pytest.mark.parametrize(("height", "width", "entries"), [(1, 1, 1), (7, 5, 0), (40, 30, 200)])
def test_a_matrix_is_scipys(height, width, entries):
    ours, theirs = drawn(height, width, entries)
    is_same(ours, theirs)
    is_same(ours.transposed(), theirs.T)
    assert ours.entries == theirs.nnz
    column, row = RANDOM.normal(size=width), RANDOM.normal(size=height)
    assert ours @ column == pytest.approx(theirs @ column, abs=1e-12)
    assert row @ ours == pytest.approx(row @ theirs, abs=1e-12)


@pytest.mark.parametrize("at_once", [1, 50, 1 << 20])
def test_a_product_is_scipys_however_much_is_held_at_once(monkeypatch, at_once):
    monkeypatch.setattr(sparse_rows, "_AT_ONCE", at_once)
    first, theirs = drawn(40, 30, 150)
    second, others = drawn(30, 25, 120)
    is_same(first.times(second), theirs @ others)


def test_some_entries_of_a_matrix():
    ours, _ = drawn(20, 20, 90)
    kept = ours.values > 0
    some = ours.only(kept)
    assert (some.values > 0).all()
    assert some.rows.tolist() == ours.rows[kept].tolist()
    third = ours.row(3)
    assert some.columns[some.row(3)].tolist() == ours.columns[third][kept[third]].tolist()
