"""The bench of two engines on random networks: its sums, and how it goes on after a break."""

from __future__ import annotations

import json
import stat
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benches import engine_random
from benches.engine_random import Row

ROW = Row(
    seed=1,
    draw=0,
    kind="stations",
    about="802.11b",
    instructions=(300, 200),
    time_s=(3e-3, 4e-3),
    differ=(),
)


def test_ratios_above_one_are_faster() -> None:
    assert ROW.ratio("instructions") == 1.5
    assert ROW.ratio("time_s") == 0.75


def test_the_mean_is_geometric_and_quantiles_are_linear() -> None:
    assert engine_random.geometric_mean([0.5, 2.0, 1.0]) == pytest.approx(1.0)
    ratios = [4.0, 1.0, 3.0, 2.0]
    assert engine_random.quantile(ratios, 0.0) == 1.0
    assert engine_random.quantile(ratios, 0.5) == 2.5
    assert engine_random.quantile(ratios, 1.0) == 4.0
    assert engine_random.quantile([7.0], 0.5) == 7.0


def test_slower_networks_are_counted() -> None:
    slower = replace(ROW, draw=1, instructions=(94, 100))
    summary = engine_random.summary([ROW, slower])
    assert summary["networks"] == 2
    assert summary["instructions"]["slower"] == 1
    assert summary["time_s"]["slower"] == 2


def test_figures_that_both_have_are_compared() -> None:
    ours = {"flows": {"a": {"packets": 3, "delay_s": 0.5, "new": 1}}, "more": {}}
    theirs = {"flows": {"a": {"packets": 3, "delay_s": 0.5 * (1 + 1e-12)}}}
    assert not list(engine_random.differences(theirs, ours))
    theirs["flows"]["a"]["packets"] = 4
    assert list(engine_random.differences(theirs, ours)) == ["flows.a.packets"]


def test_a_run_has_the_warm_up_in_it() -> None:
    assert engine_random.seconds({"warm_up": "100 ms", "duration": "2 s"}) == 2.1


def program(path: Path, text: str) -> Path:
    """A program that prints a text."""
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_rows_that_were_made_are_not_made_again(tmp_path: Path) -> None:
    # The drawer has one draw in words and one without, and no engine is there to run either.
    drawn = [
        {"draw": 0, "kind": "stations", "scenario": {}},
        {"draw": 1, "kind": "stations", "refused": "phy: other layers"},
    ]
    drawer = program(tmp_path / "drawn", "\n".join(map(json.dumps, drawn)))
    rows = tmp_path / "rows"
    rows.write_text(json.dumps(asdict(ROW)) + "\n")
    engines = (Path("/absent"), Path("/absent"))
    found, refused = engine_random.compare(engines, drawer, 2, 1, rows)
    assert [row.ratio("instructions") for row in found] == [1.5]
    assert refused == Counter({"no file: phy": 1})
    with pytest.raises(engine_random.BenchError, match="another seed"):
        engine_random.compare(engines, drawer, 2, 2, rows)


@pytest.mark.skipif(not (engine_random.ROOT / ".git").exists(), reason="commits need git")
def test_an_earlier_engine_gets_the_program_that_times_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_random, "built", lambda tree, bench: tree / bench)
    assert engine_random.earlier("HEAD", tmp_path) == tmp_path / "one"
    crate = tmp_path / "crates" / "airqueue-scenario"
    assert (crate / "Cargo.toml").read_text().count('name = "one"') == 1
    assert "simulate_counted" in (crate / "benches" / "one.rs").read_text()


def test_the_table_names_the_worst_network() -> None:
    worst = replace(ROW, draw=7, instructions=(90, 100), differ=("flows.delay_mean_s",))
    lines = engine_random.table([ROW, worst], Counter({"no file: phy": 3}))
    assert any(line.startswith("  draw 7: x0.90") for line in lines)
    assert "1 of 2 with other figures" in lines
    assert "3 draws were drawn again:" in lines
