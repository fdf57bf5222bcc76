"""Columns of Arrow, against those that `pyarrow.array` makes."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from airqueue.simulate import tables


@pytest.mark.parametrize(
    ("of", "values"),
    [
        (pa.float64(), [1.5, math.nan, None, -0.0, 3, 1e308, math.inf, 2.0, None]),
        (pa.float64(), [None]),
        (pa.int64(), [3, None, -(2**63), 2**63 - 1, 0]),
        (pa.bool_(), [True, None, False, *[True] * 9]),
        (pa.string(), ["phone", "", None, "téléphone", "電話", math.nan]),
        (pa.string(), []),
        (pa.int64(), np.arange(20)),
        (pa.float64(), np.array([0.5, np.nan])),
    ],
)
def test_columns_are_those_of_pyarrow(of, values):
    ours = tables.column(values, of)
    ours.validate(full=True)
    assert ours.equals(pa.array(values, of, from_pandas=True))
