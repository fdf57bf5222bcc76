"""Sparse matrices by rows: who interferes with whom, and who uses what, in large meshes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airqueue.models.checks import FloatArray

Indices = NDArray[np.intp]

_AT_ONCE: Final = 1 << 20
"""Terms of a product that are held at once."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix of which only some entries are kept: row i has those from ``starts[i]`` on.

    starts: shape (rows + 1,). columns, values: shape (entries,), columns of a row in order.
    """

    starts: Indices
    columns: Indices
    values: FloatArray
    width: int

    @classmethod
    def of(
        cls, rows: ArrayLike, columns: ArrayLike, values: ArrayLike, shape: tuple[int, int]
    ) -> Rows:
        """Return the matrix with the given entries; entries at one place are added up."""
        height, width = shape
        places = np.asarray(rows, dtype=np.intp) * width + np.asarray(columns, dtype=np.intp)
        found, which = np.unique(places, return_inverse=True)
        each = np.broadcast_to(np.asarray(values, dtype=np.float64), places.shape)
        sums = _sums(which, each, len(found))
        starts = np.searchsorted(found, np.arange(height + 1) * width)
        return cls(starts, found % width, sums, width)

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.starts) - 1

    @property
    def entries(self) -> int:
        """How many entries are kept."""
        return len(self.columns)

    @property
    def lengths(self) -> Indices:
        """Entries of each row; shape (rows,)."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Indices:
        """The row of each entry; shape (entries,)."""
        return np.repeat(np.arange(self.height), self.lengths)

    def row(self, i: int) -> slice:
        """Return which entries are those of a row."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def transposed(self) -> Rows:
        """Return the matrix with rows and columns exchanged."""
        return Rows.of(self.columns, self.rows, self.values, (self.width, self.height))

    def only(self, kept: NDArray[np.bool_]) -> Rows:
        """Return the matrix with some of the entries; kept: shape (entries,)."""
        before = np.concatenate(([0], np.cumsum(kept)))
        return Rows(before[self.starts], self.columns[kept], self.values[kept], self.width)

    def __matmul__(self, other: FloatArray) -> FloatArray:
        """Return the matrix times a vector; shape (rows,)."""
        return _sums(self.rows, self.values * other[self.columns], self.height)

    def __rmatmul__(self, other: FloatArray) -> FloatArray:
        """Return a vector times the matrix; shape (width,)."""
        return _sums(self.columns, self.values * other[self.rows], self.width)

    __array_ufunc__: Any = None  # so that a vector on the left calls __rmatmul__

    def times(self, other: Rows) -> Rows:
        """Return the product of two matrices; the work grows with the number of terms."""
        terms = np.concatenate(([0], np.cumsum(other.lengths[self.columns])))[self.starts]
        parts, first = [], 0
        while first < self.height:
            fitting = int(np.searchsorted(terms, terms[first] + _AT_ONCE, side="right")) - 1
            last = min(max(fitting, first + 1), self.height)
            parts.append(self._rows_times(first, last, other))
            first = last
        lengths = np.concatenate([part.lengths for part in parts])
        return Rows(
            np.concatenate(([0], np.cumsum(lengths))),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.values for part in parts]),
            other.width,
        )

    def _rows_times(self, first: int, last: int, other: Rows) -> Rows:
        """Return some rows of the product: each entry here meets a row there."""
        here = slice(int(self.starts[first]), int(self.starts[last]))
        met = self.columns[here]
        lengths = other.lengths[met]
        before = np.cumsum(lengths) - lengths
        there = np.arange(int(lengths.sum())) + np.repeat(other.starts[met] - before, lengths)
        rows = np.repeat(np.arange(last - first), self.lengths[first:last])
        return Rows.of(
            np.repeat(rows, lengths),
            other.columns[there],
            np.repeat(self.values[here], lengths) * other.values[there],
            (last - first, other.width),
        )


def _sums(places: Indices, values: FloatArray, count: int) -> FloatArray:
    """Return the sum of the values at each of ``count`` places."""
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)
