"""`airqueue diagnose` with real endpoints and the kernel's TCP, in homes whose fault is known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airqueue.cli.captures import read_capture
from airqueue.diagnose.result import read_diagnosis
from airqueue.emulate import Order, Program, exact
from airqueue.measure.api import analyze

pytestmark = pytest.mark.usefixtures("user_mode_linux")

AIRQUEUE = (sys.executable, "-m", "airqueue")
PHY = {"standard": "802.11g", "rate": "24 Mb/s"}
AIR_BPS = 17e6
"""About what 802.11g carries at 24 Mb/s."""


def diagnosed(
    folder: Path, queue: str, host: dict[str, Any], *words: str, server: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Diagnose the path from a phone to a server; ``queue`` is the access point's.

    ``server``: options of its server.
    """
    home = {
        "warm_up": "0 s",
        "phy": PHY,
        "stations": [
            {"name": "ap", "queue": queue},
            {"name": "phone", "real": True, "queue": "fq_codel"},
        ],
        "hosts": [{"name": "server", "link": "ap", "delay": "5 ms", "real": True, **host}],
    }
    kept = str(folder / "result.json")
    argv = (*AIRQUEUE, "diagnose", "server", "--quiet", "--hold", "3s", "--json", kept, *words)
    other = Program("server", (*AIRQUEUE, "server", *server))
    done = exact.run(home, Order(Program("phone", argv), (other,)), scratch=folder)
    assert done.exit_code == 0, done.stderr
    return read_diagnosis(kept)


def check_rates(found: dict[str, Any], queue_bits: float = 0.0) -> None:
    """Rates over time have the reported mean while the queue is full, and begin before it is.

    TCP hands on at once what waited for a lost packet, up to ``queue_bits`` beside an edge.
    """
    for load in found["records"]["loads"]:
        rates = np.array(load["rates"])
        assert (rates[1:, 0] == rates[:-1, 1]).all(), "stretches follow each other"
        assert rates[0, 0] < load["began_s"] - 1.5
        held = rates[(rates[:, 0] >= load["began_s"]) & (rates[:, 1] <= load["ended_s"])]
        length_s = held[:, 1] - held[:, 0]
        mean_bps = (length_s * held[:, 2]).sum() / length_s.sum()
        bound_bps = 0.03 * load["carried_bps"] + queue_bits / length_s.sum()
        assert abs(mean_bps - load["carried_bps"]) <= bound_bps


@pytest.mark.long
def test_the_access_points_queue_is_found_by_a_server_without_tcp(tmp_path):
    found = diagnosed(tmp_path, "pfifo:200", {}, "--direction", "down", server=("--no-tcp",))
    (finding,) = found["findings"]
    assert (finding["load"], finding["place"]) == ("flood", "access_point")
    # A probe waits for all packets of the full queue, at the rate that was carried.
    check_rates(found)
    full_s = 200 * 1500 * 8 / finding["carried_bps"]
    assert finding["rise_s"]["value"] == pytest.approx(full_s, rel=0.1)
    assert finding["flood_rise_s"] == pytest.approx(full_s, rel=0.1)
    assert found["recommendation"]["do"] == "flow-queueing"


def test_the_queue_in_which_packets_wait_is_measured(tmp_path):
    capture = str(tmp_path / "queue.capture")
    words = ("--direction", "down", "--queue", "--max-time", "60s", "--capture", capture)
    found = diagnosed(tmp_path, "pfifo:250", {"rate": "7 Mb/s", "queue": "pfifo:250"}, *words)
    (finding,) = found["findings"]
    assert (finding["load"], finding["place"]) == ("tcp", "line")
    assert found["queue_of"] == {"site": "server", "direction": "down", "missing": None}
    queue = found["queue"]
    assert (queue["verdict"], queue["counted_in"]) == ("fifo", "packets")
    assert queue["capacity"] == pytest.approx(250, abs=1)
    assert "where the queue is a FIFO of 250 packets" in found["headline"]
    # TCP fills what the measurement found, and not more.
    assert finding["rise_s"]["value"] <= queue["delay_full_s"] * 1.05
    assert found["recommendation"]["do"] == "shape-line"
    assert found["elapsed_s"] < 60
    header, runs = read_capture(capture)
    assert analyze(runs, header).capacity == queue["capacity"]


@pytest.mark.long
def test_acknowledgements_that_fill_a_slow_upload_are_not_blamed_on_the_download(tmp_path):
    # Of 20 Mb/s acknowledgements take some 350 kb/s.
    line = {"rate": "20 Mb/s", "rate_to_host": "200 kb/s", "queue": "pfifo:30"}
    found = diagnosed(tmp_path, "fq_codel", line)
    down, up = found["findings"]
    assert (down["place"], down["waits"], up["place"], up["waits"]) == ("line", "up", "line", "up")
    assert down["along_s"]["high"] < 0.01 < down["rise_s"]["low"]
    # Probes and packets beside the load take 42 kb/s of the upload, if none of them is dropped.
    assert 0.99 * (200e3 - 42e3) < up["carried_bps"] < 200e3
    lines = [line for each in found["recommendation"]["settings"] for line in each["lines"]]
    assert any(line.endswith("sqm.airqueue.download='0'") for line in lines)


@pytest.mark.long
def test_the_line_is_found_in_both_directions_with_tcp(tmp_path):
    line = {"rate": "8 Mb/s", "queue": "pfifo:100"}
    found = diagnosed(tmp_path, "pfifo:1000", line, "--together")
    check_rates(found, 100 * 1500 * 8)
    assert [each["load"] for each in found["findings"]] == ["tcp", "tcp"]
    assert [each["direction"] for each in found["findings"]] == ["down", "up"]
    for finding in found["findings"]:
        assert finding["place"] == "line"
        # TCP keeps the queue of the line from half full to full.
        assert 0.05 < finding["rise_s"]["value"] <= 100 * 1500 * 8 / 8e6 * 1.1
        assert finding["carried_bps"] == pytest.approx(8e6, rel=0.08)
    (at_once,) = found["together"]
    # A round trip waits in both queues. In each of them short acknowledgements take places of data,
    # so that a full one may delay by less.
    assert 0.05 < at_once["rise_s"]["value"] <= 2 * 100 * 1500 * 8 / 8e6 * 1.1
    for carried_bps in (at_once["down_bps"], at_once["up_bps"]):
        assert 2e6 < carried_bps <= 8e6 * 1.08
    assert found["recommendation"]["do"] == "shape-line"


@pytest.mark.long
def test_nobody_waits_where_flows_are_kept_apart(tmp_path):
    found = diagnosed(tmp_path, "fq_codel", {}, "--direction", "down")
    (finding,) = found["findings"]
    assert finding["place"] == "none"
    assert finding["carried_bps"] > 0.6 * AIR_BPS
    assert found["recommendation"]["do"] == "leave"
