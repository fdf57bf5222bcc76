"""A setting switched in turn: the statistic against known effects and drifts, and the switch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from recorded import imagined

from airqueue.cli import main
from airqueue.diagnose.again import changes
from airqueue.diagnose.alternate import WITH, WITHOUT, Alternated, Half, from_json, order, paired
from airqueue.diagnose.records import GATEWAY, SERVER
from airqueue.diagnose.result import diagnosis, read_diagnosis, validator
from airqueue.diagnose.switching import Switch, SwitchError, Turns, alternate

ABOUT = {
    "airqueue": "0",
    "created": "2026-01-31T12:00:00Z",
    "target": "server.example",
    "elapsed_s": 100.0,
    "interrupted": False,
}
MEAN_SWING = 0.9
"""Median of the swing of imagined queues, about: their rise under the load is so much of the peak."""
PAIRS = 6


def halves(effect_s: float, drift_s: np.ndarray, seed: int = 0) -> list[Half]:
    """Return diagnoses of a queue of 200 ms at most, changed by the setting and by a drift."""
    found = []
    for n, (state, drift) in enumerate(zip(order(len(drift_s) // 2), drift_s, strict=True)):
        peak_s = 0.2 + drift + (effect_s if state == WITH else 0.0)
        rises = {GATEWAY: peak_s, SERVER: peak_s}
        found.append(Half(state, imagined(rises, seed=1000 * seed + n)))
    return found


def test_the_order_balances_a_steady_drift():
    states = order(4)
    assert states == [WITHOUT, WITH, WITH, WITHOUT, WITHOUT, WITH, WITH, WITHOUT]
    places = np.arange(len(states))
    with_it = np.array([state == WITH for state in states])
    assert places[with_it].mean() == places[~with_it].mean()


@pytest.mark.parametrize("effect_s", [0.0, -0.1])
@pytest.mark.parametrize("shape", ["line", "step", "walk"])
def test_a_drift_does_not_pass_for_the_setting(effect_s, shape):
    """95 % intervals; the bound is that of 40 draws which would be broken by chance once in 1000."""
    draw = np.random.default_rng(20261126)
    draws, missed = 40, 0
    for seed in range(draws):
        n = 2 * PAIRS
        drift = {
            "line": np.linspace(0, draw.uniform(-0.15, 0.15), n),
            "step": np.where(np.arange(n) >= draw.integers(1, n), draw.uniform(-0.15, 0.15), 0.0),
            "walk": np.cumsum(draw.normal(0, 0.015, n)),
        }[shape]
        (found,) = paired(halves(effect_s, np.maximum(drift, -0.09), seed))
        truth = MEAN_SWING * effect_s
        # The swing's median within the load is known to 3 % of the effect.
        slack = 0.03 * abs(effect_s)
        missed += not found.change.low - slack <= truth <= found.change.high + slack
    # P(more than 7 of 40 missed at 5 % each) = 0.0007.
    assert missed <= 7


def test_a_drift_deceives_two_diagnoses_and_not_the_pairs():
    measured = halves(0.0, np.linspace(0.0, 0.3, 2 * PAIRS))
    (deceived,) = changes(measured[0].records, measured[-1].records)
    assert deceived.word == "worse"
    (found,) = paired(measured)
    assert found.word == "undecided" and found.change.low < 0 < found.change.high
    assert "cannot be told" in found.says


def test_an_effect_is_seen_beside_a_larger_drift():
    measured = halves(-0.15, np.linspace(0.0, 0.3, 2 * PAIRS))
    (found,) = paired(measured)
    assert found.word == "better"
    assert found.change.low <= -0.15 * MEAN_SWING <= found.change.high
    (worse,) = paired(halves(0.15, np.linspace(0.3, 0.0, 2 * PAIRS)))
    assert worse.word == "worse"


def test_a_pair_without_a_partner_does_not_count():
    measured = halves(-0.1, np.zeros(8))
    assert paired(measured[:7]) == paired(measured[:6])
    assert paired(measured[:3]) == []
    blind = Half(measured[0].state, imagined({}))
    (found,) = paired([blind, *measured[1:]])
    assert len(found.rises_s) == 3


def test_a_stored_comparison_is_the_one_that_was_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    in_turn = Alternated(tuple(halves(-0.1, np.zeros(4))), WITHOUT)
    assert in_turn.records is in_turn.halves[3].records
    document = diagnosis(in_turn.records, alternated=in_turn).to_json(ABOUT) | {"changes": []}
    document = json.loads(json.dumps(document))
    validator().validate(document)
    Path("d.json").write_text(json.dumps(document), "utf-8")
    again = from_json(read_diagnosis("d.json"))
    assert again is not None and again.to_json() == document["alternated"]
    words = ["--from", "d.json", "--json", "e.json", "--report", "e.html"]
    done = CliRunner().invoke(main, ["diagnose", *words])
    assert done.exit_code == 0 and "2 pairs in turn" in " ".join(done.output.split())
    assert read_diagnosis("e.json")["alternated"] == document["alternated"]
    assert "pairs in turn" in Path("e.html").read_text("utf-8")
    document["alternated"]["halves"][1]["records"]["legs"][0]["sent_s"][0] = 1e9
    Path("d.json").write_text(json.dumps(document), "utf-8")
    done = CliRunner().invoke(main, ["diagnose", "--from", "d.json"])
    assert done.exit_code == 1 and "not in order" in done.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["host", "--pairs", "4"], "give --switch"),
        (["host", "--leave", "with"], "give --switch"),
        (["host", "--settle", "1s"], "give --switch"),
        (["host", "--switch", "true", " "], "empty command"),
        (["host", "--switch", "true", "true", "--pairs", "1"], "1"),
        (["host", "--switch", "true", "true", "--queue"], "leave --queue out"),
        (["host", "--switch", "true", "true", "--together"], "leave --together out"),
        (["host", "--switch", "true", "true", "--again", "x"], "leave --again out"),
        (["--from", "d.json", "--switch", "true", "true"], "leave --switch out"),
    ],
)
def test_wrong_usage_is_one_sentence(words, says):
    done = CliRunner().invoke(main, ["diagnose", *words])
    assert done.exit_code == 2 and says in done.output


class Bench:
    """A setting in a file, and diagnoses that note the state in which they were made."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "state"
        self.log = folder / "log"
        self.seen: list[str] = []
        self.said: list[str] = []

    def switch(self, left: str, **replaced: str) -> Switch:
        commands = {
            state: f"echo {state} > {self.file}; echo {state} >> {self.log}"
            for state in (WITHOUT, WITH)
        }
        return Switch(commands | replaced, left, self.said.append)

    @property
    def state(self) -> str:
        return self.file.read_text("utf-8").strip()

    def measure(self, words: str):
        self.seen.append(self.state)
        return imagined({GATEWAY: 0.1, SERVER: 0.1}), False


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.parametrize("left", [WITHOUT, WITH])
def test_diagnoses_are_made_in_both_states_and_the_setting_is_left(bench, left):
    with bench.switch(left) as switch:
        found = alternate(switch, 3, bench.measure, lambda words: None, 0.0)
    assert [half.state for half in found.halves] == bench.seen == order(3)
    assert not found.interrupted and found.error is None and switch.put_back and bench.state == left
    # No command where the state is there already: without, with, without, with (and the last).
    ran = bench.log.read_text("utf-8").split()
    assert ran == [WITHOUT, WITH, WITHOUT, WITH, *([WITHOUT] if left == WITHOUT else [])]
    assert any(left in words for words in bench.said)


@pytest.mark.parametrize("left", [WITHOUT, WITH])
@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_ctrl_c_keeps_whole_diagnoses_and_leaves_the_setting(bench, left, after):
    def measure(words: str):
        if len(bench.seen) == after:
            signal.raise_signal(signal.SIGINT)
        return bench.measure(words)

    if after == 0:
        with pytest.raises(KeyboardInterrupt), bench.switch(left) as switch:
            alternate(switch, 3, measure, lambda words: None, 0.0)
    else:
        with bench.switch(left) as switch:
            found = alternate(switch, 3, measure, lambda words: None, 0.0)
        assert found.interrupted and len(found.halves) == after
    assert bench.state == left and switch.put_back
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_errors_leave_the_setting(bench):
    def measure(words: str):
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="gone"), bench.switch(WITH) as switch:
        alternate(switch, 3, measure, lambda words: None, 0.0)
    assert bench.state == WITH
    # A switch that fails at once: the state is unknown, and is set anew.
    broken = f"echo half > {bench.file}; exit 3"
    switch = bench.switch(WITH, **{WITHOUT: broken})
    with pytest.raises(SwitchError, match="exit code 3"), switch:
        alternate(switch, 3, bench.measure, lambda words: None, 0.0)
    assert bench.state == WITH and switch.put_back


def test_an_error_after_some_diagnoses_keeps_them(bench):
    def measure(words: str):
        if len(bench.seen) == 5:
            raise OSError("the network is gone")
        return bench.measure(words)

    with bench.switch(WITHOUT) as switch:
        found = alternate(switch, 3, measure, lambda words: None, 0.0)
    assert [half.state for half in found.halves] == order(3)[:5]
    assert not found.interrupted and "gone" in str(found.error)
    assert bench.state == WITHOUT and switch.put_back
    assert len(paired(found.halves)) == len(paired(found.halves[:4])) > 0


def test_the_command_writes_what_was_diagnosed_before_an_error(monkeypatch, tmp_path):
    """And then ends with the error's sentence and code."""
    half = imagined({GATEWAY: 0.1, SERVER: 0.1})
    halves = tuple(Half(state, half) for state in order(2))
    turns = Turns(halves, error=SwitchError("The command for the state 'with' failed."))
    monkeypatch.setattr(
        "airqueue.cli.diagnose.measure_in_turn", lambda order, wanted, view: (turns, WITHOUT, True)
    )
    kept = tmp_path / "kept.json"
    words = ["diagnose", "192.0.2.1", "--switch", "true", "true", "--json", str(kept)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1 and "'with' failed" in done.output
    document = json.loads(kept.read_text("utf-8"))
    assert len(document["alternated"]["halves"]) == 4
    assert document["interrupted"]


def test_a_setting_that_cannot_be_put_back_is_said(bench):
    with bench.switch(WITHOUT, **{WITHOUT: "false"}) as switch:
        switch.to(WITH)
    assert not switch.put_back
    assert "could NOT be left" in bench.said[-1] and "by hand: false" in bench.said[-1]


PROGRAM = textwrap.dedent(
    """
    import sys, time
    from airqueue.diagnose.switching import Switch
    folder, slow = sys.argv[1:]
    def command(state):
        return f"sleep {slow if state == 'without' else 0}; echo {state} > {folder}/state"
    def measure(words):
        print("measuring", flush=True)
        time.sleep(60)
    def say(words): print(words, file=sys.stderr)
    with Switch({"without": command("without"), "with": command("with")}, "without", say) as switch:
        switch.to("with")
        measure("")
    """
)


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_to_the_whole_terminal_leave_the_setting(tmp_path, number, code):
    """As a terminal does: the signal goes to the group, twice, the second one to the restoring."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "measuring\n"
    assert (tmp_path / "state").read_text("utf-8") == "with\n"
    os.killpg(child.pid, number)
    time.sleep(0.5)
    os.killpg(child.pid, number)
    _, errors = child.communicate(timeout=60)
    assert (tmp_path / "state").read_text("utf-8") == "without\n"
    assert "left in the state 'without'" in errors
    assert child.returncode in (code, -number)
