"""The bench of EDCA's loop with a bounded TXOP: valid networks with the table's values."""

from __future__ import annotations

from typing import Any

import pytest

from airqueue.simulate import Scenario
from benches import edca_access


def every(*, linux: bool) -> list[dict[str, Any]]:
    return list(edca_access.tasks(1, edca_access.PACKETS, edca_access.CASES, linux=linux))


def test_runs_are_those_in_which_the_txop_is_too_short() -> None:
    tasks = every(linux=False)
    assert all(task["case"][1] > task["packets"] for task in tasks)
    alone, three = ([t for t in tasks if t["settings"] == of] for of in edca_access.SETTINGS)
    assert len(alone) == len(three) > 0
    assert all(task["access"] == edca_access.PLAIN for task in alone)
    # The access point never wins more seldom than by Table 2.
    assert all(t["access"]["aifsn"] <= 6 and t["access"]["cw_min"] <= 31 for t in three)
    assert all(task["access"] != edca_access.PLAIN for task in three)


def test_emulated_networks_are_valid_and_have_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def emulated(run: Any, described: Any, _program: object) -> tuple[list[Any], list[Any]]:
        Scenario(described)
        seen.append(described)
        ended = [{**each, "bytes": [n * 1000 for n in range(40)]} for each in run["transfers"]]
        return ended, []

    monkeypatch.setattr(edca_access.edca_linux, "emulated", emulated)
    for task in every(linux=True):
        row = edca_access.once(task)
        assert [len(row["upload"]), len(row["download"])] == task["case"]
        assert edca_access.figures(row)[:2] == (pytest.approx(1), pytest.approx(1))
        (own,) = (s["mac"]["edca"]["be"] for s in seen[-1]["stations"] if s["name"] == "ap")
        assert {key: own[key] for key in ("aifsn", "cw_min")} == task["access"]
        assert seen[-1]["changes"] == []
    assert len({described["stations"][0]["mac"]["edca"]["be"]["txop"] for described in seen}) == 3


def test_a_simulated_network_runs_with_fewer_flows() -> None:
    task = {**every(linux=False)[0], "case": [1, 2], "packets": 1}
    row = edca_access.once(task)
    assert [len(row["upload"]), len(row["download"])] == [1, 2]
    assert all(bps > 0 for bps in (*row["upload"], *row["download"]))
    assert "1, 2" in edca_access.table(
        [{**row, "task": {**task, "settings": s}} for s in edca_access.SETTINGS]
    )
