"""Diagnoses as data files of flent: what flent itself reads there, prints and draws."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recorded import imagined

from airqueue.diagnose import flent
from airqueue.diagnose.legs import INTERVAL_S
from airqueue.diagnose.records import GATEWAY, SERVER, WIRE, Floats, Leg, Records

ABOUT = {"airqueue": "0", "created": "2026-01-01T00:01:00Z", "target": "server.example"}
FLENT = (
    (sys.executable, "-m", "flent")
    if importlib.util.find_spec("flent")
    else (shutil.which("flent") or "",)
)
installed = pytest.mark.skipif(
    not FLENT[0], reason="needs flent, of the dev group (or Debian's package)"
)


def written(records: Records, folder: Path) -> Path:
    path = folder / "home.flent.gz"
    path.write_bytes(flent.content(records, ABOUT, path.name))
    return path


def both_ways() -> Records:
    """A download that waits, with lost probes, then an upload that does not."""
    records = imagined({GATEWAY: 0.1, SERVER: 0.15}, lost=0.2, carried_bps=20.5e6)
    (down,) = records.loads
    up = dataclasses.replace(down, direction="up", began_s=14.0, ended_s=18.0, carried_bps=4e6)
    return dataclasses.replace(records, loads=(down, up))


def with_a_wire() -> Records:
    """Three legs, of which the gateway never answers, and a load within the radio network."""
    records = imagined({SERVER: 0.1})
    dead, server = records.legs
    wire = dataclasses.replace(server, name=WIRE, method="server")
    load = dataclasses.replace(records.loads[0], site=WIRE, kind="flood")
    return dataclasses.replace(records, legs=(dead, wire, server), loads=(load,))


def run(path: Path, output: str, *words: str) -> str:
    """Have flent write a file, and return its text; flent's own exit code is 0 in any case."""
    to = path.parent / output
    # Words in pictures as words, and every point of a line.
    (path.parent / "matplotlibrc").write_text("svg.fonttype: none\npath.simplify: False\n", "utf-8")
    env = os.environ | {"HOME": str(path.parent), "MPLCONFIGDIR": str(path.parent)}
    done = subprocess.run(
        [*FLENT, "-i", str(path), "-o", str(to), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=env,
    )
    said = done.stdout + done.stderr
    assert not any(word in said for word in ("ERROR", "WARNING", "Traceback")), said
    return to.read_text("utf-8")


def table(path: Path) -> dict[str, Floats]:
    """Return the columns of flent's CSV; the first is the time."""
    head, *rows = csv.reader(io.StringIO(run(path, "x.csv", "-f", "csv")))
    cells = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])
    return {"time": cells[:, 0], **dict(zip(head[1:], cells.T[1:], strict=True))}


def milliseconds(leg: Leg) -> list[float]:
    return [round(1e3 * s, 6) for s in leg.round_trip_s.tolist() if not np.isnan(s)]


@installed
@pytest.mark.parametrize("made", [both_ways, with_a_wire])
def test_flent_reads_our_numbers(tmp_path, made):
    records = made()
    found = table(written(records, tmp_path))
    names = {"icmp": "ICMP", "server": "UDP"}
    answered = [leg for leg in records.legs if leg.answered]
    pings = {f"Ping (ms) {names[leg.method]} {leg.name}": leg for leg in answered}
    assert {name for name in found if name.startswith("Ping")} == {*pings, "Ping (ms) avg"}
    for name, leg in pings.items():
        known = ~np.isnan(found[name])
        assert found[name][known].tolist() == milliseconds(leg)
        sent_s = leg.sent_s[~np.isnan(leg.round_trip_s)]
        assert np.abs(found["time"][known] - sent_s).max() <= INTERVAL_S
    for load in records.loads:
        rates = found[f"TCP {'download' if load.direction == 'down' else 'upload'} BE {load.site}"]
        known = ~np.isnan(rates)
        assert set(rates[known]) == {load.carried_bps / 1e6}
        times = found["time"][known]
        assert times.min() == pytest.approx(load.began_s, abs=1.01 * INTERVAL_S)
        assert times.max() == pytest.approx(load.ended_s, abs=1.01 * INTERVAL_S)


@installed
def test_rates_have_their_course(tmp_path):
    records = both_ways()
    rates = ((3.0, 3.1, 1e6), (3.1, 3.25, 5.5e6), (3.25, 11.0, 20e6))
    down = dataclasses.replace(records.loads[0], rates=rates)
    found = table(written(dataclasses.replace(records, loads=(down,)), tmp_path))
    known = ~np.isnan(found["TCP download BE server"])
    series = dict(
        zip(found["time"][known].tolist(), found["TCP download BE server"][known], strict=True)
    )
    assert min(series) == 3.0 and max(series) == pytest.approx(10.95)
    assert [series[at] for at in (3.0, 3.05)] == [1.0, 1.0]
    assert [series[at] for at in (3.1, 3.15, 3.2)] == [5.5, 5.5, 5.5]
    assert {rate for at, rate in series.items() if at > 3.22} == {20.0}


def test_both_directions_at_once_follow_in_the_series_of_each_alone():
    alone = both_ways()
    later = tuple(
        dataclasses.replace(load, began_s=18.0, ended_s=19.0, carried_bps=bps)
        for load, bps in zip(alone.loads, (9e6, 3e6), strict=True)
    )
    found = flent.document(dataclasses.replace(alone, together=later), ABOUT)["results"]
    before = flent.document(alone, ABOUT)["results"]
    for name, mbps in (("TCP download BE server", 9.0), ("TCP upload BE server", 3.0)):
        first, end = (round(at / INTERVAL_S) for at in (18.0, 19.0))
        assert found[name][first:end] == [mbps] * (end - first)
        assert found[name][:first] == before[name][:first]


@installed
def test_flent_finds_the_medians_that_we_find(tmp_path):
    records = both_ways()
    said = run(written(records, tmp_path), "x.txt", "-f", "stats")
    for leg in records.legs:
        _, _, part = said.partition(f"Ping (ms) ICMP {leg.name}:\n")
        lines = dict(line.split(":", 1) for line in part.splitlines()[:7])
        median = float(lines["  Median"].split()[0])
        assert median == pytest.approx(1e3 * np.nanmedian(leg.round_trip_s), abs=1e-5)
        assert int(lines["  Data points"]) == leg.answered


@installed
@pytest.mark.parametrize("plot", ["all_scaled", "totals", "ping", "ping_cdf"])
@pytest.mark.parametrize("made", [both_ways, with_a_wire])
def test_flent_draws_our_series(tmp_path, made, plot):
    records = made()
    drawn = run(written(records, tmp_path), "x.svg", "-p", plot)
    assert "server.example" in drawn
    answered = [leg for leg in records.legs if leg.answered]
    if plot == "totals":
        assert all(word in drawn for word in (">Download<", ">Upload<", ">Ping (ms)<"))
    else:
        assert all(f"-- {leg.name}<" in drawn for leg in answered)
        loads = len(records.loads) if plot == "all_scaled" else 0
        assert len(re.findall(r" -- \w+<", drawn)) == len(answered) + loads
    points = sorted(len(path.split("L")) for path in re.findall(r' d="(M [^"]*)"', drawn))
    if plot == "ping":
        assert {leg.answered for leg in answered} <= {*points}
    # Five seconds of a load have a hundred steps.
    assert points[-1] >= 80


def test_no_probe_is_lost_on_the_time_axis():
    draw = np.random.default_rng(20261125)
    for offset in (0.0, 1 / 3, 2 / 3):
        # As `airqueue-probe` paces: after a late probe the next one is half an interval away or more.
        sent, slot = [], 0
        while slot < 400:
            late = draw.exponential(0.2) if draw.random() < 0.9 else draw.uniform(0, 4)
            sent.append((slot + offset + late) * INTERVAL_S)
            slot += 1 + int(late + 0.5)
        trips = draw.uniform(0.001, 0.1, len(sent))
        leg = Leg(SERVER, "h", "icmp", np.array(sent), np.round(trips, 9), "h")
        made = flent.document(Records((leg,), (), ()), ABOUT)
        (values,) = made["results"].values()
        assert [value for value in values if value is not None] == milliseconds(leg)
        assert [
            each["val"] for each in made["raw_values"]["Ping (ms) ICMP server"]
        ] == milliseconds(leg)


def test_times_are_those_of_the_measurement():
    records = both_ways()
    metadata = flent.document(records, ABOUT)["metadata"]
    last_s = max(leg.sent_s.max() for leg in records.legs)
    assert metadata["T0"] == f"2026-01-01T00:00:{60 - last_s:09.6f}Z"
    assert metadata["TOTAL_LENGTH"] == last_s and metadata["STEP_SIZE"] == INTERVAL_S
    assert metadata["TEST_PARAMETERS"]["data_directions"] == "-,du"


def test_equal_records_give_equal_files():
    assert flent.content(both_ways(), ABOUT, "x") == flent.content(both_ways(), ABOUT, "x")


@installed
def test_a_diagnosis_without_answers_can_be_read(tmp_path):
    records = imagined({})
    legs = tuple(
        dataclasses.replace(leg, round_trip_s=np.full(len(leg.sent_s), np.nan))
        for leg in records.legs
    )
    path = written(dataclasses.replace(records, legs=legs), tmp_path)
    assert run(path, "x.csv", "-f", "csv") == ""
