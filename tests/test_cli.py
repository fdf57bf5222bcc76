"""The command line: exit codes, one sentence for what goes wrong, nothing lost on Ctrl-C."""

import dataclasses
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

import mgen_logs
import synthetic
from airqueue.cli import analyze as analyze_module
from airqueue.cli import main
from airqueue.cli import measure as measure_module
from airqueue.cli.captures import check_header, check_meta
from airqueue.cli.progress import Display, glimpse, time_left
from airqueue.measure.capture import CaptureFile
from airqueue.measure.events import Event
from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, cbr
from airqueue.measure.prober import ProbeError, RunInterrupted, RunProgress
from airqueue.measure.schema import ResultError, check, to_text
from fifo import Fifo, FifoProber
from tests.piped import tables_alone

COMMANDS = ("measure", "server", "analyze", "compare", "model")


class InterruptedProber(FifoProber):
    """A path on which something happens after a few runs."""

    def __init__(self, fifo, runs, what):
        super().__init__(fifo)
        self.left, self.what = runs, what

    def run(self, plan, meta, on_progress=None):
        if self.left == 0:
            raise self.what
        self.left -= 1
        return super().run(plan, meta, on_progress)


class MemoryCapture:
    """A `CaptureFile` that keeps runs in memory: what the command does with it is tested here."""

    files: ClassVar[dict] = {}

    def __init__(self, path):
        self.path = path

    @classmethod
    def create(cls, path, header):
        cls.files[path] = (dict(header), [])
        return cls(path)

    @classmethod
    def resume(cls, path):
        return cls(path)

    def append(self, run):
        self.files[self.path][1].append(run)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def path_of(monkeypatch):
    """Puts a prober in the place of a server; returns what the command asked for."""
    asked = []
    MemoryCapture.files = {}
    monkeypatch.setattr(measure_module, "CaptureFile", MemoryCapture)
    for module in (measure_module, analyze_module):
        monkeypatch.setattr(
            module, "read_capture", lambda path: (MemoryCapture.files[path][0], stored(path))
        )

    def stored(path):
        return list(MemoryCapture.files[path][1])

    def use(prober):
        @contextmanager
        def open_prober(host, port, **options):
            asked.append({"host": host, "port": port, **options})
            prober.direction = options["direction"]
            yield prober

        monkeypatch.setattr(measure_module, "LiveProber", open_prober)
        return asked

    return use


@pytest.mark.parametrize("arguments", [(), ("--help",), *((c, "--help") for c in COMMANDS)])
def test_help_is_there(runner, arguments):
    result = runner.invoke(main, list(arguments))
    assert "Usage: " in result.output
    assert len(arguments) == 0 or result.exit_code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_an_example(runner, command):
    assert f"\n    airqueue {command}" in runner.invoke(main, [command, "--help"]).output


def test_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "airqueue", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("airqueue, version ")


def test_measure_prints_words_and_a_table(runner, path_of):
    asked = path_of(FifoProber(Fifo(50)))
    result = runner.invoke(main, ["measure", "192.0.2.1"])
    assert result.exit_code == 0, result.output
    assert "50 packets, counted in packets" in result.stdout
    assert "counting" in result.stdout
    assert "G.114" in result.stdout
    assert "session 1" in result.stderr
    assert asked[0]["port"] == 5860
    assert asked[0]["direction"] == "down"
    ((heads, *rows),) = tables_alone(result.stdout)
    assert heads[0] == "packets, ± 95 %"
    assert next(row for row in rows if row[0] == "counting")[-1].startswith("50.0")


def test_json_on_stdout_is_json_alone(runner, path_of):
    path_of(FifoProber(Fifo(50)))
    result = runner.invoke(main, ["measure", "192.0.2.1", "--json", "-", "--quiet"])
    assert result.exit_code == 0
    measured = json.loads(result.stdout)
    check(measured)
    assert measured["target"] == "192.0.2.1:5860"
    assert result.stderr == ""


def test_options_reach_the_endpoint(runner, path_of, tmp_path):
    asked = path_of(FifoProber(Fifo(50)))
    (tmp_path / "key").write_text("secret\n")
    arguments = ["measure", "::1", "--port", "7", "--direction", "up", "--key-file", "key"]
    limits = ["--max-rate", "300mbit", "--max-wait", "90s"]
    result = runner.invoke(main, [*arguments, *limits, "--json", "-", "-q"])
    assert result.exit_code == 0, result.output
    expected = {"host": "::1", "port": 7, "direction": "up", "key": b"secret"}
    assert asked == [{**expected, "max_rate_bps": 300e6, "max_wait_s": 90.0}]
    assert json.loads(result.stdout)["target"] == "[::1]:7"


def test_files_are_written(runner, path_of, tmp_path):
    path_of(FifoProber(Fifo(50)))
    arguments = ["--json", "a.json", "--report", "a.html", "--capture", "a.capture"]
    result = runner.invoke(main, ["measure", "192.0.2.1", *arguments])
    assert result.exit_code == 0, result.output
    assert "What to set: airqueue size ap a.json" in result.stdout
    assert "50 packets now" in runner.invoke(main, ["size", "ap", "a.json"]).stdout
    measured = json.loads((tmp_path / "a.json").read_text())
    check(measured)
    assert "Delay over time" in (tmp_path / "a.html").read_text()
    header, runs = MemoryCapture.files["a.capture"]
    assert header["profile"] == "quick"
    assert len([r for r in runs if r.meta["kind"] == "session"]) == len(measured["sessions"])


def test_interrupt_keeps_what_there_is_and_resume_ends_it(runner, path_of, tmp_path):
    path_of(InterruptedProber(Fifo(50), 5, KeyboardInterrupt()))
    command = ["measure", "192.0.2.1", "--sizes", "1500,500"]
    result = runner.invoke(main, [*command, "--capture", "a.capture", "--json", "part.json"])
    assert result.exit_code == 130
    assert "airqueue analyze a.capture" in result.stderr
    assert "Traceback" not in result.output
    part = json.loads((tmp_path / "part.json").read_text())
    check(part)
    assert part["interrupted"] is True
    assert len(MemoryCapture.files["a.capture"][1]) == 5

    analyzed = runner.invoke(main, ["analyze", "a.capture", "--json", "-"])
    assert analyzed.exit_code == 0, analyzed.output
    check(json.loads(analyzed.stdout))

    path_of(FifoProber(Fifo(50)))
    resumed = runner.invoke(main, ["measure", "192.0.2.1", "--resume", "a.capture", "--json", "-"])
    assert resumed.exit_code == 0, resumed.output
    whole = json.loads(resumed.stdout)
    assert {s["size_bytes"] for s in whole["sessions"]} == {1500, 500}
    assert whole["interrupted"] is False
    metas = [run.meta for run in MemoryCapture.files["a.capture"][1]]
    names = [(meta["kind"], meta["size_bytes"], meta["index"]) for meta in metas]
    assert len(names) == len(set(names)), "a stored run was measured again"


def test_interrupt_without_a_capture_still_keeps_the_runs(runner, path_of):
    path_of(InterruptedProber(Fifo(50), 4, KeyboardInterrupt()))
    result = runner.invoke(main, ["measure", "192.0.2.1"])
    assert result.exit_code == 130
    ((path, (_, runs)),) = MemoryCapture.files.items()
    assert path in result.stderr
    assert len(runs) == 4


def test_the_run_that_was_cut_short_is_kept_too(runner, path_of):
    stopped = RunInterrupted(dataclasses.replace(synthetic.fifo_run(), end="cancelled"))
    path_of(InterruptedProber(Fifo(50), 4, stopped))
    result = runner.invoke(main, ["measure", "192.0.2.1", "--capture", "a.capture", "--json", "-"])
    assert result.exit_code == 130
    assert [run.end for run in MemoryCapture.files["a.capture"][1]] == [
        *["complete"] * 4,
        "cancelled",
    ]
    check(json.loads(result.stdout))


def test_interrupt_before_the_first_run(runner, path_of):
    path_of(InterruptedProber(Fifo(50), 0, KeyboardInterrupt()))
    result = runner.invoke(main, ["measure", "192.0.2.1"])
    assert result.exit_code == 130
    assert result.stderr.endswith("Interrupted.\n")
    assert MemoryCapture.files == {}


@pytest.mark.parametrize("runs", [0, 3])
def test_a_failing_path_is_one_sentence(runner, path_of, runs):
    path_of(InterruptedProber(Fifo(50), runs, ProbeError("The server stopped answering.")))
    result = runner.invoke(main, ["measure", "192.0.2.1", "--quiet"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: The server stopped answering.")
    assert result.stderr.count("\n") == 1
    assert ("airqueue analyze" in result.stderr) is (runs > 0)
    assert ("go on with `--resume" in result.stderr) is (runs > 0)


def test_resuming_in_another_way_is_wrong_usage(runner, path_of):
    path_of(FifoProber(Fifo(50)))
    MemoryCapture.files["a.capture"] = ({"direction": "up", "profile": "quick"}, [])
    command = ["measure", "192.0.2.1", "--resume", "a.capture"]
    wrong = runner.invoke(main, [*command, "--direction", "down"])
    assert wrong.exit_code == 2
    assert "--direction up" in wrong.stderr
    asked = path_of(FifoProber(Fifo(50)))
    assert runner.invoke(main, [*command, "-q", "--json", "-"]).exit_code == 0
    assert asked[-1]["direction"] == "up"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (
            {"profile": "quick", "target": "192.0.2.9:5860"},
            "192.0.2.9:5860, and not with 192.0.2.1",
        ),
        (
            {"profile": "quick", "target": "192.0.2.1:5861"},
            "192.0.2.1:5861, and not with 192.0.2.1",
        ),
        ({"profile": "stations", "target": "192.0.2.1:5860"}, "of several stations"),
        ({"profile": "uploads", "target": "192.0.2.1:5860"}, "of several stations"),
    ],
)
def test_a_capture_of_something_else_is_not_resumed(runner, path_of, header, says):
    asked = path_of(FifoProber(Fifo(50)))
    MemoryCapture.files["a.capture"] = (header, [])
    done = runner.invoke(main, ["measure", "192.0.2.1", "--resume", "a.capture"])
    assert (done.exit_code, asked) == (2, [])
    assert says in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["measure"], "HOST"),
        (["measure", "h", "--sizes", "big"], "1500,750"),
        (["measure", " "], "HOST is empty; give a name or an IP address"),
        (["measure", "h", "--sizes", "10"], "64 to 9000"),
        (["measure", "h", "--sizes", "700,700"], "twice"),
        (["measure", "h", "--max-rate", "7"], "unit"),
        (["measure", "h", "--max-time", "soon"], "length of time"),
        (["measure", "h", "--port", "0"], "65535"),
        (["measure", "h", "--capture", "a", "--resume", "b"], "--capture"),
        (["analyze"], "FILE"),
        (["analyze", "--format", "mgen", "a.drc", "b.drc", "a.drc"], "name each file once"),
        (["analyze", "a", "b"], "one FILE"),
        (["analyze", "a", "--sender-log", "b"], "--format mgen"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_exit_code_2(runner, path_of, arguments, message):
    asked = path_of(FifoProber(Fifo(50)))
    result = runner.invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "missing/a.json"], "no directory"),
        (["--report", "."], "Is a directory"),
        (["--capture", "missing/a.capture"], "no directory"),
        (["--key-file", "missing.key"], "missing.key: No such file"),
        (["--key-file", "empty.key"], "empty.key has no key, which is a line of text; write"),
    ],
)
def test_bad_files_are_found_before_anything_is_sent(runner, path_of, tmp_path, arguments, message):
    (tmp_path / "empty.key").write_text("\n")
    asked = path_of(FifoProber(Fifo(50)))
    result = runner.invoke(main, ["measure", "192.0.2.1", *arguments])
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert asked == []


def test_a_full_disk_is_one_sentence(runner, path_of):
    path_of(FifoProber(Fifo(50)))
    outputs = ["--json", "/dev/full", "--report", "a.html"]
    result = runner.invoke(main, ["measure", "192.0.2.1", "-q", *outputs])
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: /dev/full: No space left on device; free some space or choose another place.\n"
    )
    assert "50 packets" in result.stdout  # the result itself is not lost
    assert "50 packets" in Path("a.html").read_text("utf-8")


def test_compare_says_whether_it_changed(runner, tmp_path):
    grown = synthetic.fifo_result(
        capacity=200.0, ci95=[199.5, 200.5], sessions=synthetic.sessions([199.8, 200.1, 200.2])
    )
    (tmp_path / "a.json").write_text(to_text(synthetic.fifo_result()))
    (tmp_path / "b.json").write_text(to_text(grown))
    result = runner.invoke(main, ["compare", "a.json", "b.json", "--json", "c.json"])
    assert result.exit_code == 0, result.output
    assert "grew by 100.0 packets" in result.stdout.replace("\n", " ")
    assert json.loads((tmp_path / "c.json").read_text())["changes"][0]["real"] is True
    ((heads, *rows),) = tables_alone(result.stdout)
    assert heads == ["packets unless noted", "before", "after", "change", "real?"]
    assert rows[0] == ["verdict", "fifo", "fifo", "", ""]
    assert next(row for row in rows if row[0] == "capacity")[-1] == "yes"
    alone = runner.invoke(main, ["compare", "a.json", "b.json", "--json", "-"])
    assert json.loads(alone.stdout)["format"] == "airqueue-comparison"


def test_compare_refuses_wrong_files(runner, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text(to_text(synthetic.fifo_result()))
    for pair in (["a.json", "b.json"], ["b.json", "missing.json"]):
        result = runner.invoke(main, ["compare", *pair])
        assert result.exit_code == 1
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


def test_names_from_outside_are_no_markup(runner, tmp_path):
    evil = "[bold]x[/nonsense]"
    result = synthetic.fifo_result(warnings=[evil], target=evil)
    (tmp_path / "a.json").write_text(to_text(result))
    (tmp_path / "b.json").write_text(to_text(synthetic.fifo_result()))
    shown = runner.invoke(main, ["compare", "a.json", "b.json"])
    assert shown.exit_code == 0, shown.output
    assert evil in shown.stdout
    tables_alone(shown.stdout)


def mgen_logs_of(folder, size_bytes, capacity):
    """Logs of one session of 30 s, in the proportions of the paper, through a queue."""
    rate = 7e6 / 8 / (size_bytes + 14)
    plan = Plan(
        (
            cbr(PROBE_FLOW, 0.0, 30.0, 10, size_bytes),
            cbr(FLOOD_FLOW, 7.5, 22.5, 1.3 * rate, size_bytes),
        )
    )
    run = Fifo(capacity, offset_s=0.0).run(plan, {})
    sequence = [0, 0]
    packets = []
    for flow, sent, received in zip(run.flow, run.sent_ns, run.received_ns, strict=True):
        arrived = None if received < 0 else mgen_logs.EPOCH_US + int(received) // 1000
        left = mgen_logs.EPOCH_US + int(sent) // 1000
        packets.append(
            mgen_logs.Packet(int(flow), sequence[flow], left, arrived, payload=size_bytes - 28)
        )
        sequence[flow] += 1
    folder.mkdir()
    return mgen_logs.write_logs(folder, packets, "text")


def test_logs_of_mgen_give_the_capacity(runner, tmp_path):
    logs = [mgen_logs_of(tmp_path / str(size), size, 80) for size in (1500, 750)]
    receivers, senders = zip(*logs, strict=True)
    arguments = ["analyze", "--format", "mgen", *map(str, receivers), "--json", "-"]
    for path in senders:
        arguments += ["--sender-log", str(path)]
    result = runner.invoke(main, [*arguments, "--report", "mgen.html"])
    assert result.exit_code == 0, result.output
    measured = json.loads(result.stdout)
    check(measured)
    assert {s["size_bytes"] for s in measured["sessions"]} == {1500, 750}
    assert measured["estimators"]["counting"]["packets"] == pytest.approx(80, abs=1)
    assert "Delay over time" in (tmp_path / "mgen.html").read_text()


def test_a_wrong_log_is_one_sentence(runner, tmp_path):
    (tmp_path / "a.drc").write_text("hello\n")
    result = runner.invoke(main, ["analyze", "--format", "mgen", "a.drc"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: a.drc, line 1")
    assert result.stderr.count("\n") == 1


GOOD_META = {"kind": "session", "size_bytes": 1500, "index": 0, "phases": synthetic.PHASES}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": 3}, "kind 3"),
        ({"size_bytes": "1500"}, "size_bytes '1500'"),
        ({"size_bytes": True}, "size_bytes True"),
        ({"size_bytes": 0}, "size_bytes 0"),
        ({"index": -1}, "index -1"),
        ({"phases": []}, "phases"),
        ({"phases": {"quiet": [0.0, 1.0]}}, "no phases quiet, hold and after"),
        ({"kind": "bucket", "phases": {}}, "no phases quiet, hold and after"),
        ({"kind": "step", "phases": {}}, "no phases quiet, hold and after"),
        ({"kind": "two_floods"}, "no phases quiet, uneven and after"),
        ({"kind": "classes"}, "block_s None"),
        ({"kind": "classes", "block_s": 0}, "block_s 0"),
        ({"phases": {**synthetic.PHASES, "hold": [1.0]}}, "no pairs"),
        ({"phases": {**synthetic.PHASES, "hold": [2.0, 1.0]}}, "no pairs"),
        ({"phases": {**synthetic.PHASES, "hold": [0.0, float("inf")]}}, "no pairs"),
    ],
)
def test_stored_runs_must_say_what_they_are(change, message):
    check_meta("a.capture", 7, GOOD_META)
    with pytest.raises(ResultError, match=message) as caught:
        check_meta("a.capture", 7, {**GOOD_META, **change})
    assert str(caught.value).startswith("a.capture: run 7 has ")


@pytest.mark.parametrize(
    "change", [{"profile": []}, {"profile": "x"}, {"direction": 1}, {"sizes": "1"}, {"created": 3}]
)
def test_a_header_from_elsewhere_is_checked(change):
    good = {"profile": "quick", "direction": "up", "sizes": [1500], "target": "a", "more": 1}
    assert check_header("a.capture", good) == {k: v for k, v in good.items() if k != "more"}
    with pytest.raises(ResultError, match=f"header has {next(iter(change))}"):
        check_header("a.capture", {**good, **change})


def test_progress_is_plain_lines_where_there_is_no_terminal(capsys):
    running = RunProgress(elapsed_s=1.0, planned_s=2.0, received=90, lost=10, delay_s=0.02)
    with Display() as display:
        display.on_event(Event("session", "session 1 with [1500]-byte packets", 0.1, 20.0))
        display.on_event(Event("session", "inside", 0.1, 19.0, running))
        display.on_event(Event("session", "session 2", 0.5, 10.0))
    assert capsys.readouterr().err == "session 1 with [1500]-byte packets\nsession 2\n"


def test_quiet_is_silent(capsys):
    with Display(quiet=True) as display:
        display.on_event(Event("session", "session 1", 0.1, 20.0))
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == ""


def test_glimpse_and_time_left():
    running = RunProgress(elapsed_s=1.0, planned_s=2.0, received=90, lost=10, delay_s=0.02)
    assert glimpse(running) == "delay 20 ms  loss 10.0 %"
    assert glimpse(RunProgress(0.0, 2.0, 0, 0, None)) == ""
    assert time_left(None) == ""
    assert time_left(12.3) == "about 12 s left"
    assert time_left(3600.0) == "about 60 min left"


def test_a_torn_capture_is_an_interrupted_measurement(runner, tmp_path):
    header = {"profile": "quick", "direction": "down", "sizes": [1500, 750], "target": "a"}
    runs = [synthetic.fifo_run(size, index) for size in (1500, 750) for index in range(2)]
    with CaptureFile.create(tmp_path / "a.capture", header) as capture:
        for run in runs:
            capture.append(run)
    whole = (tmp_path / "a.capture").read_bytes()
    (tmp_path / "torn.capture").write_bytes(whole[:-20])
    for name, sessions in (("a", 4), ("torn", 3)):
        result = runner.invoke(main, ["analyze", f"{name}.capture", "--json", "-"])
        assert result.exit_code == 0, result.output
        measured = json.loads(result.stdout)
        check(measured)
        assert measured["interrupted"] is (name == "torn")
        assert len(measured["sessions"]) == sessions
        assert measured["profile"] == "quick"


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    (tmp_path / "a.json").write_text(to_text(synthetic.fifo_result()))
    command = f"{sys.executable} -m airqueue compare a.json a.json --json - | head -c 1"
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ,
        check=True,
    )
    assert "Traceback" not in done.stderr
