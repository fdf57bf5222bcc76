"""Rows of `airqueued`'s loop: nearer to equal flows than the TXOP alone, and read by airqueued."""

import json
import subprocess
import tomllib

import pytest

from airqueue.models.edca_hold import hold_chain
from airqueue.sizing.edca import size_edca
from airqueue.sizing.edca_advice import edca_advice
from airqueue.sizing.edca_follow import MOST_FLOWS, MOST_PACKETS, access_rows, most_packets
from binaries import newest


def lines(uploads, downloads, **changed):
    """The configuration for so many flows."""
    phy = changed.pop("phy", "b-short")
    sized = size_edca(uploads, downloads, phy=phy)
    advice = edca_advice(sized, device="wlan0", radio="radio0", mark="dscp", **changed)
    return next(each.lines for each in advice.settings if each.target == "airqueued")


def row_for(rows, uploads, downloads):
    """The row that the loop takes (`AccessLoop::row`)."""
    fit = [row for row in rows if row.downloads <= downloads and row.uploads <= uploads]
    return max(fit, key=lambda row: (row.downloads, row.uploads))


ROUNDING = 1e-12
"""Of floating-point numbers: a chain of ratio 1 changes nothing, to this."""


@pytest.mark.parametrize("packets", [1, 2, 3, 5])
def test_rows_come_nearer_to_equal_flows_than_the_txop_alone(packets):
    rows = access_rows(8, 12, packets, 1023)
    assert all(row.downloads > packets == row.packets for row in rows)
    for uploads in range(1, 9):
        for downloads in range(packets + 1, 13):
            row = row_for(rows, uploads, downloads)
            assert row.downloads == downloads
            wins = hold_chain([1, uploads], [row.aifsn - 2, 4], [row.cw_min, 31], 1023).ratio(0, 1)
            share, alone = float(wins) * packets / downloads, packets / downloads
            # No step from pair to pair is longer than that from a window to its half, 2.4.
            assert max(share, 1 / share) <= min(2.4**0.5, 1 / alone) * (1 + ROUNDING)
            if row.uploads == uploads:
                assert row.download_over_upload == pytest.approx(share)


def test_without_a_bound_table_2_needs_no_rows():
    assert access_rows(6, 6, MOST_PACKETS, 1023) == access_rows(0, 60, 1, 1023) == ()
    assert not any(line.startswith("access") for line in lines(6, 6))
    most = access_rows(2007, 2007, 1, 1023)
    assert max(row.downloads for row in most) == MOST_FLOWS >= max(row.uploads for row in most)


def test_european_rules_bound_the_txop_at_5_ghz():
    # 6 ms, and packets of 1500 bytes at 54 Mb/s: 248 us, SIFS and acknowledgement, 16 + 28, SIFS.
    sized = size_edca(3, 3, phy="a")
    assert most_packets(sized) == int((6e-3 + 16e-6) / sized.txop.step_s) < MOST_PACKETS
    assert most_packets(size_edca(3, 3)) == MOST_PACKETS


@pytest.mark.parametrize("given", [{}, {"longest_packets": 2}, {"phy": "a"}])
def test_airqueued_reads_the_lines(tmp_path, given):
    text = "\n".join(lines(6, 30, **given))
    (loop,) = tomllib.loads(text)["edca"]
    assert loop["interface"] == "wlan0"
    assert ("access" in loop) is bool(given)
    file = tmp_path / "airqueued.toml"
    file.write_text(f'config = 1\nplan = "none.json"\n{text}\n', "utf-8")
    command = [newest("airqueued"), "--config", file, "--state", tmp_path / "state"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # The configuration is read before the plan, which is not there.
    assert (done.returncode, "cannot read the plan" in done.stderr) == (3, True), done.stderr
    # A value that airqueued does not take is told, so that the lines were read.
    file.write_text(file.read_text("utf-8").replace("most_packets = ", "most_packets = -"), "utf-8")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "most_packets" in done.stderr


def test_json_has_the_lines_as_well():
    sized = size_edca(6, 6)
    advice = edca_advice(sized, device="wlan0", radio="radio0", mark="dscp", longest_packets=2)
    settings = json.loads(json.dumps(advice.to_json()))["settings"]
    assert [each["target"] for each in settings].count("airqueued") == 1
