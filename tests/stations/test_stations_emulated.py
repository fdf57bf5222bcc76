"""Real endpoints at stations of an emulated access point, in user-mode Linux on a virtual clock."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from airqueue.emulate import Order, Program, exact

pytestmark = pytest.mark.usefixtures("user_mode_linux")

AIRQUEUE = (sys.executable, "-m", "airqueue")
SERVER = "10.213.0.3"
"""Real stations have the first addresses."""


def measure(folder: Path, queue: dict[str, Any]) -> dict[str, Any]:
    """Measure how an access point shares itself between a near and a far station."""
    cell = {
        "warm_up": "0 s",
        "phy": {"standard": "802.11g"},
        "queue": queue,
        "stations": [
            {"name": "ap"},
            {"name": "near", "rate": "36 Mb/s", "real": True},
            {"name": "far", "rate": "6 Mb/s", "real": True},
        ],
        "hosts": [{"name": "server", "link": "ap", "delay": "2 ms", "real": True}],
    }
    kept = folder / "found.json"
    argv = (*AIRQUEUE, "measure", SERVER, "--with", "far", "--quiet", "--json", str(kept))
    others = (
        Program("server", (*AIRQUEUE, "server")),
        Program("far", (*AIRQUEUE, "server", "--attend", SERVER)),
    )
    done = exact.run(cell, Order(Program("near", argv), others), scratch=folder)
    assert done.exit_code == 0, done.stderr
    return json.loads(kept.read_text("utf-8"))


@pytest.mark.long
def test_airtime_fairness_of_an_emulated_access_point(tmp_path):
    found = measure(tmp_path, {"discipline": "mac80211"})
    assert (found["queues"], found["shares"]) == ("by_station", "equal_airtime"), found
    near, far = (station["alone_bps"] for station in found["stations"])
    assert near > 3 * far
    assert found["pairs"][0]["airtime_shares"] == pytest.approx([0.5, 0.5], abs=0.06)
