"""`airqueue measure` with real endpoints finds the queues of emulated access points."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from airqueue.emulate import Order, Program, exact

pytestmark = pytest.mark.usefixtures("user_mode_linux")

AIRQUEUE = (sys.executable, "-m", "airqueue")


def measure(folder: Path, phy: dict[str, Any], queue: dict[str, Any]) -> dict[str, Any]:
    """Measure the queue towards a station."""
    cell = {
        "warm_up": "0 s",
        "phy": phy,
        "queue": queue,
        "stations": [{"name": "ap"}, {"name": "phone", "real": True}],
        "hosts": [{"name": "server", "link": "ap", "delay": "2 ms", "real": True}],
    }
    kept = str(folder / "result.json")
    argv = (*AIRQUEUE, "measure", "server", "--quiet", "--max-time", "20s", "--json", kept)
    server = Program("server", (*AIRQUEUE, "server"))
    done = exact.run(cell, Order(Program("phone", argv), (server,)), scratch=folder)
    assert done.exit_code == 0, done.stderr
    return json.loads((folder / "result.json").read_text("utf-8"))


@pytest.mark.long
def test_a_queue_of_packets_is_found_to_the_packet(tmp_path):
    phy = {"standard": "802.11g", "rate": "12 Mb/s"}
    found = measure(tmp_path, phy, {"discipline": "droptail", "limit": "60 packets"})
    assert (found["verdict"], found["counted_in"]) == ("fifo", "packets")
    assert found["capacity"] == pytest.approx(60, abs=1)
    assert found["ci95"][0] <= 60 <= found["ci95"][1]


@pytest.mark.long
def test_queues_of_flows_are_told_from_a_fifo(tmp_path):
    phy = {"standard": "802.11g", "rate": "12 Mb/s"}
    found = measure(tmp_path, phy, {"discipline": "fq_codel", "limit": "1000 packets"})
    assert found["verdict"] == "isolated"
    assert found["capacity"] is None
