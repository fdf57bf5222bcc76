"""Traces of delivery opportunities, held against the runs that they are of."""

from __future__ import annotations

import subprocess
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from airqueue import traces
from airqueue.cli import main
from airqueue.simulate import Recorders, Scenario

ROOM = 50
PACKETS_PER_S = 3000
SCENARIO = """
duration = "8 s"
warm_up = "1 s"
[phy]
standard = "802.11g"
rate = "24 Mb/s"
[[stations]]
name = "ap"
queue = "pfifo:{room}p"
[[stations]]
name = "phone"
[[stations]]
name = "other"
[[flows]]
name = "down"
from = "ap"
to = "phone"
source = "cbr"
rate = "{rate} kb/s"
size = "1500 B"
[[flows]]
name = "up"
from = "other"
to = "ap"
source = "poisson"
rate = "2 Mb/s"
size = "1000 B"
"""


@pytest.fixture
def scenario(tmp_path: Path):
    def write(packets_per_s: int = PACKETS_PER_S) -> Path:
        path = tmp_path / "cell.toml"
        text = SCENARIO.format(room=ROOM, rate=packets_per_s * 12)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def replay(lines: list[int], duration_s: float, per_s: float) -> tuple[float, np.ndarray]:
    """Return goodput in packets/s and delays: a drop-tail queue before mahimahi's opportunities.

    Written from mm-link's description alone: an opportunity takes 1500 bytes, an unused one is gone,
    and after the last line the trace begins again. A packet is in the queue until it is delivered:
    beside those that the simulated queue counts the MAC has one in hand.
    """
    period_ms, waiting, delays = lines[-1], deque(), []
    loops = int(duration_s * 1e3 / period_ms) + 1
    times = (1e-3 * (at + n * period_ms) for n in range(loops) for at in lines)
    arrivals = iter(np.arange(0.0, duration_s, 1 / per_s))
    arrival = next(arrivals)
    for at in times:
        while arrival is not None and arrival <= at:
            if len(waiting) < ROOM + 1:
                waiting.append(arrival)
            arrival = next(arrivals, None)
        if arrival is None:
            break
        if waiting:
            delays.append(at - waiting.popleft())
    return len(delays) / duration_s, np.array(delays)


def compared(lines: list[int], figures: dict) -> list[float]:
    """Return goodput and quantiles of the delay of a replay, relative to those of the run."""
    goodput, delays = replay(lines, 8.0, PACKETS_PER_S)
    settled = delays[200:]
    return [
        goodput * 12_000 / figures["throughput_bps"],
        np.quantile(settled, 0.5) / figures["delay_p50_s"],
        np.quantile(settled, 0.95) / figures["delay_p95_s"],
        np.quantile(settled, 0.99) / figures["delay_p99_s"],
    ]


def test_a_replay_gives_goodput_and_delays_of_the_run(scenario):
    recorders = Recorders(trace="ap:phone")
    results = Scenario.from_toml(scenario()).simulate(replications=1, recorders=recorders)
    (found,) = recorders.opportunities
    assert found.guessed < 0.001
    lines = [int(line) for line in traces.mahimahi(found).splitlines()]
    assert lines == sorted(lines)
    figures = results.runs[0]["flows"]["down"]
    # Quantiles of a run are read from buckets of 1.6 %; times of lines are rounded down to 1 ms of
    # some 30; the queue of the run was full at the beginning.
    assert compared(lines, figures) == pytest.approx([1.0] * 4, abs=0.04)
    # A trace that lacks each tenth opportunity is not that of the run.
    wrong = [at for n, at in enumerate(lines) if n % 10]
    assert compared(wrong, figures) != pytest.approx([1.0] * 4, abs=0.04)
    # The same bytes in the rates of a script.
    rates = traces.rates(found)
    assert len(rates) == 80
    assert np.mean(rates) == pytest.approx(figures["throughput_bps"], rel=0.01)


def test_idle_times_are_guessed_at_the_rate_of_the_others():
    # A second with an opportunity a millisecond, then a second without packets.
    at = np.arange(1, 1001) * 1_000_000
    idle = np.array([[1_000_000_000, 2_000_000_000]])
    found = traces.Opportunities("ap:phone", at, idle, 2_000_000_000)
    assert found.guessed == 0.5
    # The last of the thousand was at the very beginning of the idle time.
    assert found.rate_bps == pytest.approx(12e6, rel=0.002)
    assert len(found.filled()) == pytest.approx(2000, abs=3)
    assert any("50.0 %" in each for each in found.sentences)
    again = traces.Opportunities.from_json(found.to_json())
    assert again.filled().tolist() == found.filled().tolist()


def test_a_link_that_mostly_idles_has_no_trace(scenario):
    path = scenario(50)
    target = path.with_name("t.mahi")
    asked = ["simulate", str(path), "--replications", "1", "--trace", f"ap:phone={target}"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 1
    assert "no trace of ap:phone was written" in done.output
    assert "keep the link loaded" in done.output
    assert not target.exists()


def test_the_command_writes_both_kinds_and_warns(scenario):
    path = scenario()
    written = {}
    for name in ("t.mahi", "t.sh"):
        target = path.with_name(name)
        asked = ["simulate", str(path), "--replications", "1", "--trace", f"ap={target}"]
        done = CliRunner().invoke(main, asked)
        assert done.exit_code == 0, done.output
        assert "A trace does not react to load" in done.output
        written[name] = target.read_text("ascii")
    assert all(line.isdigit() for line in written["t.mahi"].splitlines())
    assert "# A trace does not react to load" in written["t.sh"]
    checked = subprocess.run(["sh", "-n", str(path.with_name("t.sh"))], check=False)
    assert checked.returncode == 0


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("ap:nobody", "there is no station 'nobody'; name FROM:TO"),
        ("phone:other", "no flow has a hop over the link phone:other"),
    ],
)
def test_a_wrong_link_is_one_sentence(scenario, link, said):
    path = scenario()
    asked = ["simulate", str(path), "--trace", f"{link}={path.with_name('x')}"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code != 0
    assert said in done.output.replace('"', "'")
    assert "Traceback" not in done.output


def test_a_name_cannot_leave_the_comment_of_a_script():
    at = np.arange(1, 1001) * 1_000_000
    found = traces.Opportunities("ap\ntouch x", at, np.zeros((0, 2), np.int64), 1_000_000_000)
    lines = traces.script(found).splitlines()
    assert [line for line in lines if "touch" in line] == [lines[1]]
    assert lines[1].startswith("# ")


def test_a_link_that_delivered_less_than_an_opportunity_is_not_said_to_be_silent():
    nothing = np.empty(0, np.int64)
    short = traces.Opportunities("ap:phone", nothing, nothing.reshape(-1, 2), 10**9)
    with pytest.raises(traces.TraceError, match="less than one opportunity, which is 1500 bytes"):
        short.filled()


def test_a_run_keeps_one_link(scenario):
    traces = ["--trace", "ap:phone=t.mahi", "--trace", "phone:ap=u.mahi"]
    done = CliRunner().invoke(main, ["simulate", str(scenario(50)), *traces])
    assert done.exit_code == 2
    assert "can be given once: a run keeps one link" in done.output
