"""What an emulation says of losses and of delivery opportunities."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.emulate import Order, Program, exact

FLOOD = """
import os, socket, time
to = (os.environ["AIRQUEUE_PEER"], 9)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(2000):
    sender.sendto(bytes(1472), to)
    time.sleep(0.0002)
"""


@pytest.fixture(scope="module")
def flooded(user_mode_linux):
    """The exact run of a host that sends more than the access point can pass on."""
    order = Order(Program("server", (sys.executable, "-c", FLOOD)), duration_s=2.0)
    changes = {"phy.rate": "VHT-MCS0", "stations.ap.queue": "pfifo:20"}
    return exact.run("quiet-flat", order, changes=changes, trace="ap:phone")


def test_every_loss_has_a_place_and_a_reason(flooded):
    pair = flooded.results.emulated["pairs"]["server->phone"]
    lost = pair["dropped_packets"] + pair["given_up_packets"]
    assert lost > 100, pair
    assert sum(each["packets"] for each in pair["losses"]) == lost
    assert {each["place"].partition(".")[0] for each in pair["losses"]} == {"ap"}


def test_opportunities_are_the_bytes_that_came(flooded):
    found = flooded.opportunities
    assert found is not None
    assert found.duration_ns == pytest.approx(
        flooded.results.emulated["duration_s"] * 1e9, rel=0.01
    )
    came = flooded.results.emulated["pairs"]["server->phone"]["delivered_bytes"]
    # Packets of 1500 bytes; the kernel's own, of neighbour discovery for example, are not carried.
    assert len(found.at_ns) == pytest.approx(came / 1500, abs=2)
    assert np.all(np.diff(found.at_ns) >= 0)


def test_a_wrong_link_is_one_sentence():
    asked = ["emulate", "quiet-flat", "--exact", "--trace", "server:phone=x", "--", "true"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 1
    assert "there is no station" in done.output
    assert "name FROM:TO" in done.output


@pytest.mark.emulation
def test_a_trace_that_cannot_be_made_costs_no_other_output(tmp_path):
    outputs = ("--trace", "ap:phone=x.mahi", "--json", "x.json", "--report", "x.html")
    command = [sys.executable, "-m", "airqueue", "emulate", "quiet-flat", "-q", *outputs]
    done = subprocess.run(
        [*command, "--", "true"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no trace of ap:phone was written")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.html", "x.json"]
