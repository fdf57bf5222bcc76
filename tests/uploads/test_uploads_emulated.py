"""Uploads of real endpoints at emulated stations, in user-mode Linux on a virtual clock."""

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


def measure(folder: Path, background: dict[str, Any]) -> dict[str, Any]:
    """Measure two stations whose background category has these parameters."""
    cell = {
        "warm_up": "0 s",
        "phy": {"standard": "802.11g"},
        "mac": {"access": "edca", "edca": {"bk": background}},
        "stations": [
            {"name": "ap"},
            {"name": "near", "rate": "24 Mb/s", "real": True},
            {"name": "far", "rate": "12 Mb/s", "real": True},
        ],
        "hosts": [{"name": "server", "link": "ap", "delay": "2 ms", "real": True}],
    }
    kept = folder / "found.json"
    words = ("measure", SERVER, "--with", "far", "--uploads", "--quiet", "--json", str(kept))
    others = (
        Program("server", (*AIRQUEUE, "server")),
        Program("far", (*AIRQUEUE, "server", "--attend", SERVER)),
    )
    order = Order(Program("near", (*AIRQUEUE, *words)), others)
    done = exact.run(cell, order, scratch=folder)
    assert done.exit_code == 0, done.stderr
    return json.loads(kept.read_text("utf-8"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("background", "said"),
    [
        ({"aifsn": 7, "cw_min": 15, "cw_max": 1023}, "obeyed"),
        ({"aifsn": 3, "cw_min": 15, "cw_max": 1023}, "not_obeyed"),
    ],
)
def test_stations_of_an_emulated_access_point(tmp_path, background, said):
    found = measure(tmp_path, background)
    assert found["obedience"] == said, found
    assert found["equal"]["fairness"] == "equal"
    assert found["categories"][0]["pairs"][0]["no_difference"] == (said == "not_obeyed")
