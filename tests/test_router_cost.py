"""The bench of what `airqueued` costs a router: a small one, whose packets and memory add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benches import router_cost
from binaries import newest

FLOWS = 20


@pytest.mark.bed
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name == "rdqm-steady" else [])
        for name in router_cost.CASES
    ],
)
def test_a_run_counts_what_passed_and_what_the_service_took(name: str) -> None:
    case = router_cost.CASES[name]
    found = router_cost.once(case, newest("airqueued"), FLOWS, seconds=2.0, settle_s=0.0)
    # The shaper may first send what its bucket holds, some packets.
    shaper_mbps = router_cost.STEADY_MBPS if case.steady else router_cost.SHAPER_MBPS
    assert 0 < found["mbps"] <= 1.02 * shaper_mbps
    # Packets pass one by one: none is longer than the interface's MTU with its header.
    mean_bytes = found["mbps"] * 1e6 / 8 / found["packets_per_s"]
    assert mean_bytes <= router_cost.PACKET_BYTES * (1 + 1e-9), "more than rounding"
    assert 0 < found["seen"]["downloads"] <= FLOWS
    assert found["seen"]["mbps"] <= 1.02 * shaper_mbps
    assert found["share"] > 0
    memory = found["memory"]
    assert memory["VmHWM"] >= memory["RssAnon"] + memory["RssFile"] > 0
    # A guard, and its successor.
    assert found["guards"] == len(found["guards_memory"]) == 2


def test_flows_of_one_rate_come_to_the_rate_that_is_stated() -> None:
    pace = router_cost.pace_bytes_per_s(500)
    with_headers = pace * router_cost.PACKET_BYTES / router_cost.SEGMENT_BYTES
    assert 500 * with_headers * 8e-6 == pytest.approx(router_cost.SHAPER_MBPS, rel=1e-3)


def test_a_table_has_the_worst_memory_and_means_with_intervals() -> None:
    def run(share: float, memory: int) -> dict[str, Any]:
        return {
            "share": share,
            "guards_share": 0.001,
            "memory": {"VmHWM": memory, "RssAnon": memory // 4},
            "mbps": 100.0,
            "packets_per_s": 8000.0,
            "seen": {"downloads": 500, "lost_packets": 0},
        }

    text = router_cost.table({"rdqm": [run(0.01, 8_000_000), run(0.012, 12_000_000)]})
    cells = [cell.strip() for cell in text.splitlines()[-1].strip("|").split("|")]
    assert cells[0] == router_cost.CASES["rdqm"].about
    assert cells[5].startswith("1.20 [")
    assert cells[6:] == ["12.0", "3.0"]


def test_the_configuration_names_all_stations(tmp_path: Path) -> None:
    text = router_cost.configuration(router_cost.CASES["rdqm"], tmp_path).read_text("utf-8")
    assert text.count("[[rdqm.station]]") == router_cost.STATIONS
