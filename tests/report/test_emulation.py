"""The HTML report of an emulation: whole, self-contained, safe against what is in names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pages import parsed

from airqueue.emulate import Order, Program, exact
from airqueue.emulate.plan import Node
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.series import MOST_INTERVALS, Series
from airqueue.emulate.twins import Comparison
from airqueue.report.emulation import render

HOSTILE = "<script>alert(1)</script>\"'&"


def below(*counts: int) -> list[dict[str, float]]:
    return [{"below_s": 2**k * 1e-6, "packets": count} for k, count in enumerate(counts, 3)]


def results(name: str = "phone", **changed) -> EmulationResults:
    pair = {
        "offered_packets": 100,
        "offered_bytes": 150_000,
        "delivered_packets": 90,
        "delivered_bytes": 135_000,
        "dropped_packets": 8,
        "given_up_packets": 2,
        "marked_packets": 0,
        "delay_mean_s": 0.02,
        "delay_p50_s": 0.02,
        "delay_p95_s": 0.031,
        "delay_p99_s": 0.0456,
        "delay_max_s": 0.05,
        "losses": [{"place": f"{name}.be", "reason": "early", "packets": 8}],
    }
    emulated = {
        "duration_s": 2.0,
        "written_packets": 90,
        "late_p50_s": 1e-5,
        "late_p99_s": 1e-4,
        "late_max_s": 1.2e-4,
        "late_ratio": 0.0,
        "read_late_p99_s": 1e-4,
        "read_late_max_s": 1e-4,
        "read_late_ratio": 0.0,
        "unwritten_packets": 0,
        "held_packets": 0,
        "cpu_ratio": 0.1,
        "priority": True,
        "late_below": below(10, 40, 80, 90, 90),
        "read_late_below": below(90, 90),
        "pairs": {f"{name}->server": pair},
        "refused": {name: {"packets": 1, "bytes": 40, "answered_packets": 0}},
    }
    series = {
        "begin_s": 0.0,
        "time_s": [0.5, 1.0, 1.5],
        "late_p99_s": [1e-4, None, 1e-4],
        "pairs": {
            f"{name}->server": {
                "delivered_bps": [1e6, 0.0, 2e6],
                "delay_p50_s": [0.01, None, 0.02],
                "delay_p95_s": [0.01, None, 0.03],
                "lost_packets": [0, 0, 1],
            }
        },
        "stations": {name: {"airtime_ratio": [0.1, 0.0, 0.3]}},
        "queues": {name: {"packets": [1, 2, 3]}},
    }
    queue = {
        "offered_packets": 5,
        "dropped_full_packets": 1,
        "dropped_early_packets": 2,
        "dropped_filtered_packets": 0,
        "marked_packets": 0,
        "length_mean_packets": 0.3,
        "length_max_packets": 4,
        "sojourn_mean_s": None,
        "sojourn_max_s": None,
    }
    station = {
        "attempts": 5,
        "airtime_ratio": 0.2,
        "busy_ratio": 0.3,
        "failed_ratio": None,
        "given_up_packets": 0,
    }
    values = {
        "outside": {"node": name},
        "programs": ({"node": name, "command": ["sh", "-c", f"echo {name}"], "exit_code": 7},),
        "congestion_control": {name: "cubic"},
        "changes": ({"at_s": 1.0, "change": {"station": name, "away": True}},),
        "series": series,
        **changed,
    }
    return EmulationResults(
        name,
        1,
        (Node(name, False, "10.0.0.1", None, 1500),),
        emulated,  # type: ignore[arg-type]
        {"queues": {name: queue}, "stations": {name: station}},
        {name: 0},
        {name: name},
        **values,
    )


def test_everything_asked_for_is_there():
    page = parsed(render(results(), 7))
    assert page.headings[0].startswith("Delays of this run can be trusted to within 0.2 ms")
    for title in (
        "Packets of programs",
        "Where packets were lost",
        "Rate over time",
        "Delay over time",
        "Queues over time",
        "Air time over time",
        "How late packets were",
        "What ran",
    ):
        assert title in page.headings, title
    # Rate, delay, queue, air time, lateness over time, and two histograms.
    assert page.svgs == 7
    assert page.references == []
    said = " ".join(page.text)
    for each in (
        "46 ms",
        "540 kb/s",
        "active queue management",
        "echo phone",
        "CUBIC",
        "in real time",
    ):
        assert each in said, each


def test_a_run_without_packets_has_a_page():
    empty = results(series=None)
    empty.emulated["pairs"].clear()
    empty.emulated.update(late_max_s=None, read_late_max_s=None, late_p99_s=None, late_p50_s=None)
    page = parsed(render(empty, 0))
    assert "No program sent a packet to another node." in page.text
    assert page.svgs == 0


def test_names_from_outside_cannot_inject_markup():
    twins = [Comparison(f"{HOSTILE}->server", "lost_ratio", 0.1, 0.1, 0.1, 0.0, 0.2)]
    text = render(results(HOSTILE), 7, twins)
    page = parsed(text)  # no script but data, no attribute that runs
    assert "<script>alert" not in text
    assert HOSTILE in " ".join(page.text)
    assert page.references == []
    embedded = text.split('id="result">')[1].split("</script>")[0]
    assert json.loads(embedded)["scenario"] == HOSTILE


class Moment:
    """Counters of a made-up network that delivers 1000 bytes a second."""

    def __init__(self, elapsed_s: float) -> None:
        self.elapsed_s = elapsed_s

    def since(self, before: Moment) -> dict[str, object]:
        span_s = self.elapsed_s - before.elapsed_s
        pair = {
            "delivered_bps": 8000.0 * (span_s > 0),
            "delay_p50_s": None,
            "delay_p95_s": None,
            "offered_packets": 1,
            "delivered_packets": 1,
            "dropped_packets": round(span_s * 2),
            "given_up_packets": 0,
        }
        stations = {f"s{n}": {"airtime_ratio": n / 100} for n in range(20)}
        return {
            "elapsed_s": self.elapsed_s,
            "late_p99_s": None,
            "pairs": {"a->b": pair},
            "stations": stations,
            "queues": {"q": {"packets": 0}},
        }


@pytest.mark.parametrize("ticks", [3, 240, 241, 5000])
def test_a_long_run_has_few_intervals_and_loses_nothing(ticks):
    series = Series(2)
    for tick in range(ticks):
        series.add(Moment(0.5 * tick))  # type: ignore[arg-type]
    end_s = 0.5 * (ticks - 1) + 0.4
    series.end(Moment(end_s))  # type: ignore[arg-type]
    found = series.document()
    assert found is not None
    times = found["time_s"]
    assert min(ticks, MOST_INTERVALS // 2) - 1 <= len(times) <= MOST_INTERVALS
    assert times[-1] == end_s
    assert times == sorted(times)
    lost = found["pairs"]["a->b"]["lost_packets"]
    assert sum(lost) == pytest.approx(2 * end_s, abs=len(lost) / 2)
    assert list(found["stations"]) == [f"s{n}" for n in range(10, 20)]
    assert found["queues"] == {}


@pytest.mark.long
def test_exact_runs_give_the_same_page(user_mode_linux):
    order = Order(Program("phone", ("ping", "-c", "6", "-i", "0.3", "peer")))
    first, second = (exact.run("home-evening", order, seed=3) for _ in range(2))
    pages = [render(each.results, each.exit_code) for each in (first, second)]
    assert pages[0] == pages[1]
    page = parsed(pages[0])
    assert "Rate over time" in page.headings
    assert first.results.series is not None
    assert first.results.series["time_s"][-1] == first.results.emulated["duration_s"]
    assert first.results.programs[0]["exit_code"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_run_that_ctrl_c_ends_has_its_report(tmp_path: Path):
    page = tmp_path / "r.html"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "airqueue", "emulate", "bloated-fifo"),
            *("--report", str(page), "--at", "phone", "--", "ping", "-i", "0.05", "peer"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "icmp_seq=20" in line:
            break
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    assert process.wait(60) == 0  # ping ends in order
    parsed(page.read_text("utf-8"))
    assert "ping -i 0.05 peer" in page.read_text("utf-8")
    assert list(tmp_path.iterdir()) == [page]
