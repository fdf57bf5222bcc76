"""Tables of sweeps: rows of several points become Arrow together, which nobody sees."""

import pyarrow.parquet as pq
import pytest

from airqueue.sweep import Sweep, tables
from airqueue.sweep.results import NAMES

UP = {"name": "up", "from": "sta", "to": "ap", "source": "cbr", "rate": "1 Mb/s", "size": "1 kB"}
CALL = {"name": "call", "from": "ap", "to": "sta", "source": "voice"}
SCENARIO = {
    "duration": "200 ms",
    "phy": {"standard": "802.11a", "rate": "6 Mb/s"},
    "stations": [{"name": "ap"}, {"name": "sta"}],
    "flows": [UP],
}
# Points with and without calls, whose tables have no rows then, and figures that are missing.
SWEEP = {
    "scenario": SCENARIO,
    "replications": {"least": 2, "most": 2},
    "parameters": {
        "phy.rate": ["6 Mb/s", "54 Mb/s"],
        "flows": [[UP], [UP, CALL], [CALL, CALL | {"name": "other"}]],
    },
}


@pytest.mark.parametrize("most_rows", [0, 3, 7])
def test_it_does_not_matter_how_many_rows_are_gathered(tmp_path, monkeypatch, most_rows):
    Sweep(SWEEP).run(tmp_path)
    before = {name: pq.read_table(tmp_path / f"{name}.parquet") for name in NAMES}
    monkeypatch.setattr(tables, "_MOST_ROWS", most_rows)
    Sweep(SWEEP).run(tmp_path)
    for name, table in before.items():
        again = pq.read_table(tmp_path / f"{name}.parquet")
        assert again.schema.equals(table.schema, check_metadata=True), name
        assert again.equals(table), name
    assert before["calls"].num_rows == 2 * 2 * 3
    assert set(before["calls"]["point"].to_pylist()) == {1, 2, 4, 5}
    assert before["beacons"].num_rows == 0
