"""Diagnoses with the measurement of the queue in which packets wait.

The measurements are real ones, of simulated bottlenecks whose queues are known.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from contextlib import nullcontext
from html import escape
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import imagined

from airqueue.cli import diagnose as command
from airqueue.cli import main, schemas
from airqueue.cli.captures import read_capture
from airqueue.diagnose.advice import tcp_bps
from airqueue.diagnose.queue import Measuring, Queue, measure, queue_from_json, to_measure
from airqueue.diagnose.queue_words import evidence, noun, sentences
from airqueue.diagnose.records import GATEWAY, SERVER, Records
from airqueue.diagnose.result import DiagnosisError, diagnosis, read_diagnosis, validator
from airqueue.diagnose.where import findings
from airqueue.measure import api
from airqueue.measure.prober import ProbeError, RunInterrupted
from airqueue.measure.schema import schema
from airqueue.measure.simulated import SimulatedProber
from airqueue.report.diagnosis import render
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.measured import RTT_S, measured_air, measured_plan
from airqueue.sizing.measured_advice import measured_advice
from benches.verdicts import over_wire

ABOUT = {
    "airqueue": "0",
    "created": "2026-01-01T00:00:00Z",
    "target": "<b>server</b>",
    "elapsed_s": 55.0,
    "interrupted": False,
}
SLOW_CODEL = {"discipline": "codel", "codel": {"target": "50 ms", "interval": "500 ms"}}
PATHS: dict[str, dict[str, Any]] = {
    "fifo": {"queue": "pfifo:250", "rate_bps": 7e6},
    "short": {"queue": "pfifo:12", "rate_bps": 7e6},
    "codel": over_wire(20e6, {**SLOW_CODEL, "limit": "1000 packets"}),
    "fq_codel": over_wire(20e6, {"discipline": "fq_codel", "limit": "1000 packets"}),
    "policer": {"policer": True, "rate_bps": 10e6},
}
WAY = {"access_point": (0.2, 0.2, "down"), "station": (0.2, 0.2, "up"), "line": (0.0, 0.2, "down")}
"""Rises of the legs by the place of the queue, and the direction of the load."""


@functools.cache
def _measured(name: str, direction: str) -> str:
    prober = SimulatedProber(PATHS[name], seed=4, direction=direction)
    return json.dumps(api.measure(prober, header={"target": "server:5860"}).to_json())


def queue(name: str, direction: str = "down", missing: str | None = None) -> Queue:
    return Queue(SERVER, direction, json.loads(_measured(name, direction)), missing)


def felt(place: str, rise_s: float = 0.2) -> Records:
    near, far, direction = WAY[place]
    rises = {GATEWAY: near / 0.2 * rise_s, SERVER: far / 0.2 * rise_s}
    return imagined(rises, direction=direction, carried_bps=6.5e6)


def judged(place: str, name: str, rise_s: float = 0.2):
    return diagnosis(felt(place, rise_s), queue=queue(name, WAY[place][2]))


def lines(found) -> list[str]:
    return [line for each in found.recommendation.settings for line in each.lines]


def document(found) -> dict[str, Any]:
    return found.to_json(ABOUT) | {"changes": []}


@pytest.mark.parametrize(
    ("place", "name", "says"),
    [
        ("access_point", "fifo", "the access point's queue towards you, a FIFO of 250 packets: "),
        ("access_point", "codel", "queue towards you, CoDel with a target of 50 ms: "),
        ("station", "fq_codel", "your own station's queue, FQ-CoDel with a target of 5.0 ms: "),
        ("line", "fifo", "line, downwards, where the queue is a FIFO of 250 packets: "),
    ],
)
def test_the_verdict_names_the_queue(place, name, says):
    found = judged(place, name)
    # The interval of a target is known to some per cent; its value is near the truth.
    target = found.queue.measured["discipline"]
    if target is not None:
        value = target["parameters"]["target_s"]["value"]
        truth = {"codel": 0.05, "fq_codel": 0.005}[name]
        assert value == pytest.approx(truth, rel=0.2)
        says = says.rpartition(" of ")[0] + " of "
    assert says in found.headline


def test_every_discipline_of_a_managed_queue_has_a_noun_of_its_own():
    known = schema()["$defs"]["discipline"]["anyOf"][1]["properties"]["name"]["enum"]
    measured = json.loads(_measured("codel", "down"))
    nouns = set()
    for name in set(known) - {"fifo", "policer", None}:
        measured["discipline"] |= {"name": name, "parameters": {}}
        nouns.add(noun(measured))
    assert len(nouns) == len(known) - 3
    assert "one that is no plain FIFO" not in nouns


def test_what_a_fifo_is_told_is_what_sizing_says_of_the_measurement():
    found = judged("access_point", "fifo")
    asked = Asked(RTT_S, 1)
    air = measured_air(found.queue.measured)
    # But for the rate of the shaper, which is below what TCP got.
    air = dataclasses.replace(air, carried_bps=tcp_bps(found.findings[0].load))
    advice = measured_advice(measured_plan(air, asked), asked)
    assert found.recommendation.headline == advice.headline
    assert found.recommendation.settings == advice.settings
    assert found.recommendation.do in ("limit", "flow-queueing")
    assert "250 packets now" in found.recommendation.headline


def test_a_shaper_behind_the_access_points_queue_is_its_own():
    # Sizing alone takes such a queue for the line's: here the legs know better.
    shaped = queue("fifo")
    shaped.measured["token_bucket"] = {
        "bytes": 3e6,
        "ci95_bytes": [2.9e6, 3.1e6],
        "at_least": False,
    }
    found = diagnosis(felt("access_point"), queue=shaped)
    assert found.recommendation == judged("access_point", "fifo").recommendation


def test_a_long_fifo_is_not_left_where_the_load_did_not_fill_it():
    found = judged("access_point", "fifo", rise_s=0.03)
    assert found.findings[0].place == "access_point"
    assert found.recommendation.do in ("limit", "flow-queueing")


def test_a_short_fifo_is_left_where_packets_wait_for_little():
    short = judged("access_point", "short", rise_s=0.022)
    assert (short.recommendation.do, lines(short)) == ("leave", [])
    # A wait that is longer than the FIFO can make it has another cause: no length of it helps.
    longer = judged("access_point", "short", rise_s=0.2)
    assert longer.recommendation.do == "flow-queueing"


@pytest.mark.parametrize("name", ["codel", "fq_codel"])
@pytest.mark.parametrize("place", WAY)
def test_a_managed_queue_in_which_packets_wait_for_little_is_left(place, name):
    found = judged(place, name, rise_s=0.02)
    assert found.findings[0].place == place
    assert (found.recommendation.do, lines(found)) == ("leave", [])
    said = " ".join([found.headline, found.recommendation.headline, *sentences(found.queue)])
    assert noun(found.queue.measured) in found.headline
    # What a flood waits is not what a transfer does to others.
    assert "it adds" not in said and "hardly wait" not in said
    assert "A flood waits" in said


@pytest.mark.parametrize(
    ("place", "name", "do", "has"),
    [
        ("access_point", "codel", "flow-queueing", "root cake bandwidth"),
        ("access_point", "fq_codel", "shape-access-point", "root cake bandwidth"),
        ("station", "codel", "shape-station", "root cake bandwidth"),
        ("station", "fq_codel", "shape-station", "root cake bandwidth"),
        ("line", "codel", "shape-line", "sqm.airqueue.download"),
        ("line", "fq_codel", "shape-line", "sqm.airqueue.download"),
    ],
)
def test_no_new_discipline_where_flows_are_kept_apart(place, name, do, has):
    found = judged(place, name)
    says = found.recommendation.headline
    assert found.recommendation.do == do
    assert any(has in line for line in lines(found))
    apart = name == "fq_codel"
    assert says.startswith("Leave the discipline") == apart
    assert not (apart and any("root fq_codel" in line for line in lines(found)))
    assert noun(found.queue.measured) in says


def test_a_line_is_shaped_below_the_rate_that_was_measured():
    found = judged("line", "fifo")
    # 95 % of the 7 Mb/s of the queue, not of the 6.5 Mb/s that TCP got.
    (shaped,) = [line for line in lines(found) if "sqm.airqueue.download" in line]
    assert int(shaped.partition("'")[2].rstrip("'")) == pytest.approx(0.95 * 7000, rel=0.01)


def test_a_measurement_that_does_not_fit_changes_nothing_else():
    plain = diagnosis(felt("access_point"))
    found = judged("access_point", "policer")
    assert found.headline == plain.headline
    assert found.recommendation.settings == plain.recommendation.settings
    assert "do not fit" in " ".join(sentences(found.queue))
    # Of another load's queue nothing is said either.
    other = diagnosis(felt("access_point"), queue=queue("fifo", "up"))
    assert other.headline == plain.headline
    assert other.recommendation.settings == plain.recommendation.settings


def test_only_a_queue_in_one_place_is_measured():
    def chosen(near_s: float, far_s: float):
        return to_measure(findings(imagined({GATEWAY: near_s, SERVER: far_s})))

    assert chosen(0.2, 0.2).place == "access_point"
    assert chosen(0.0, 0.2).place == "line"
    for nothing in (chosen(0.0, 0.0), chosen(0.1, 0.2)):
        assert isinstance(nothing, Queue) and nothing.measured is None
        assert nothing.missing is not None and nothing.missing.startswith("No queue was measured")


def test_the_document_keeps_the_measurement():
    found = judged("access_point", "fifo")
    kept = json.loads(json.dumps(document(found)))
    assert not list(validator().iter_errors(kept))
    jsonschema.Draft202012Validator(schemas.schema("diagnosis")).validate(kept)
    assert kept["queue"]["capacity"] == pytest.approx(250, abs=1)
    assert queue_from_json(kept) == found.queue
    plain = document(diagnosis(felt("access_point")))
    assert (plain["queue"], plain["queue_of"]) == (None, None)
    assert not list(validator().iter_errors(json.loads(json.dumps(plain))))


@pytest.mark.parametrize("name", [None, *PATHS])
def test_a_stored_result_is_read_again_with_its_queue(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    found = diagnosis(felt("access_point"), queue=None if name is None else queue(name))
    stored = document(found)
    Path("a.json").write_text(json.dumps(stored), "utf-8")
    words = ["--json", "b.json", "--report", "b.html", "--again", "a.json"]
    done = CliRunner().invoke(main, ["diagnose", "--from", "a.json", *words])
    assert done.exit_code == 0, done.output
    again = read_diagnosis("b.json")
    for key in ("headline", "recommendation", "findings", "queue", "queue_of"):
        assert again[key] == json.loads(json.dumps(stored[key]))
    page = Path("b.html").read_text("utf-8")
    assert ("<h2>The queue</h2>" in page) == (name is not None)
    assert all(escape(each["says"]) in page for each in evidence(found.queue))
    said = re.sub(r"\s+", " ", done.output)
    assert all(f"- The queue: {each['says']}" in said for each in evidence(found.queue))


def test_a_result_of_an_earlier_version_is_read(tmp_path):
    old = document(diagnosis(felt("access_point")))
    del old["queue"], old["queue_of"]
    kept = tmp_path / "old.json"
    kept.write_text(json.dumps(old), "utf-8")
    done = CliRunner().invoke(main, ["diagnose", "--from", str(kept), "--again", str(kept)])
    assert done.exit_code == 0 and "access point's queue towards you: " in done.output


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("queue", "verdict"), "good", "queue"),
        (("queue", "capacity"), -1, "queue"),
        (("queue",), {}, "queue"),
        (("queue_of", "site"), "moon", "queue_of.site"),
        (("queue_of",), None, "queue_of"),
        (("queue_of", "direction"), "up", "queue_of"),
    ],
)
def test_a_damaged_queue_is_refused(tmp_path, path, value, says):
    damaged = json.loads(json.dumps(document(judged("access_point", "fifo"))))
    place = damaged
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    kept = tmp_path / "d.json"
    kept.write_text(json.dumps(damaged), "utf-8")
    with pytest.raises(DiagnosisError, match="damaged") as refused:
        read_diagnosis(kept)
    assert says in str(refused.value)


AMOUNTS = st.one_of(st.none(), st.floats(0, 1e15), st.sampled_from([0, 1e-300, 1, 1e15]))


@settings(max_examples=25)
@given(
    st.tuples(st.sampled_from(sorted(PATHS)), st.sampled_from(sorted(WAY))),
    st.fixed_dictionaries({"rate_bps": AMOUNTS, "delay_full_s": AMOUNTS, "capacity": AMOUNTS}),
    AMOUNTS,
    st.one_of(st.none(), st.floats(1e-300, 1e15)),
)
def test_any_measurement_that_the_schema_accepts_gives_words(at, values, pps, carried):
    name, place = at
    measured = dict(queue(name, WAY[place][2]).measured) | values
    measured["rate_pps"] = dict.fromkeys(measured["rate_pps"], pps)
    if measured["verdict"] != "fifo":
        measured["capacity"] = None
    near, far, direction = WAY[place]
    records = imagined({GATEWAY: near, SERVER: far}, direction=direction, carried_bps=carried)
    found = diagnosis(records, queue=Queue(SERVER, direction, measured, None))
    kept = document(found)
    assert not list(validator().iter_errors(json.loads(json.dumps(kept))))
    assert found.headline and render(found, kept)


class Prober(SimulatedProber):
    """A prober whose session ends with the third session run, by an error or Ctrl-C."""

    def __init__(self, ends: BaseException | None, path: str = "fifo") -> None:
        super().__init__(PATHS[path], seed=4)
        self._ends, self._sessions = ends, 0

    def run(self, plan, meta, on_progress=None):
        self._sessions += meta["kind"] == "session"
        run = super().run(plan, meta, on_progress)
        if self._sessions == 3 and self._ends is not None:
            raise RunInterrupted(run) if isinstance(self._ends, KeyboardInterrupt) else self._ends
        return run


def begun(monkeypatch, connect, interrupted: bool = False) -> None:
    """Let the command find a full access point, and then measure with ``connect``."""
    records = felt("access_point")
    monkeypatch.setattr(command, "carry_out", lambda order, on_glimpse: (records, interrupted))
    monkeypatch.setattr(command.Order, "prober", lambda self, *args: nullcontext(connect()))


def run(*words: str):
    return CliRunner().invoke(
        main, ["diagnose", "h", "--queue", "--json", "d.json", *words], catch_exceptions=False
    )


def test_the_command_measures_and_keeps_the_packet_records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun(monkeypatch, lambda: Prober(None))
    done = run("--capture", "q.capture", "--report", "d.html", "--prometheus", "d.prom")
    assert done.exit_code == 0, done.output
    assert "a FIFO of 250 packets" in done.output
    assert "measuring the queue: looking for the rate" in done.output
    kept = read_diagnosis("d.json")
    assert kept["queue"]["target"] == "h:5860"
    header, runs = read_capture("q.capture")
    again = api.analyze(runs, header)
    assert again.capacity == kept["queue"]["capacity"]
    assert (header["target"], header["direction"]) == ("h:5860", "down")
    assert 'verdict="fifo"' in Path("d.prom").read_text("utf-8")


def test_the_measurement_in_a_diagnosis_is_one_by_itself(tmp_path):
    kept = tmp_path / "queue.json"
    kept.write_text(json.dumps(document(judged("access_point", "fifo"))["queue"]), "utf-8")
    done = CliRunner().invoke(main, ["size", "ap", str(kept)])
    assert done.exit_code == 0 and "250 packets now" in re.sub(r"\s+", " ", done.output)


def test_a_server_that_goes_away_leaves_the_diagnosis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def gone():
        raise ProbeError("Nobody answers at h.")

    begun(monkeypatch, gone)
    done = run()
    assert done.exit_code == 0
    assert "Nobody answers at h." in done.output and "access point's queue" in done.output
    kept = read_diagnosis("d.json")
    assert kept["queue"] is None and "Nobody answers" in kept["queue_of"]["missing"]
    assert kept["recommendation"]["do"] == "flow-queueing"


def test_a_server_that_goes_away_in_between_leaves_what_was_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun(monkeypatch, lambda: Prober(ProbeError("The server is gone.")))
    assert run("--capture", "q.capture").exit_code == 0
    kept = read_diagnosis("d.json")
    assert len(kept["queue"]["sessions"]) == 2 and kept["queue"]["interrupted"]
    assert "The server is gone." in kept["queue_of"]["missing"]
    assert len([r for r in read_capture("q.capture")[1] if r.meta["kind"] == "session"]) == 2


def test_ctrl_c_while_the_queue_is_measured_keeps_all_until_then(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun(monkeypatch, lambda: Prober(KeyboardInterrupt()))
    done = run("--capture", "q.capture")
    assert done.exit_code == 130
    assert "access point's queue towards you" in done.output and "Ctrl-C ended it" in done.output
    kept = read_diagnosis("d.json")
    assert kept["interrupted"] and len(kept["queue"]["sessions"]) == 3
    assert len([r for r in read_capture("q.capture")[1] if r.meta["kind"] == "session"]) == 3


def test_after_ctrl_c_in_the_diagnosis_no_queue_is_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun(monkeypatch, lambda: pytest.fail("measured"), interrupted=True)
    assert run().exit_code == 130
    assert "Ctrl-C" in read_diagnosis("d.json")["queue_of"]["missing"]


@pytest.mark.parametrize("path", ["fifo", "fq_codel"])
@pytest.mark.parametrize("limit_s", [0.5, 8.0, 25.0])
def test_the_time_limit_holds(path, limit_s):
    """No run begins after it: a simulated run has no progress before its end."""
    (finding,) = findings(felt("access_point"))
    prober, began_s = Prober(None, path), []
    plain = prober.run

    def noted(*given: Any):
        began_s.append(prober.elapsed_s())
        return plain(*given)

    prober.run = noted
    found, interrupted = measure(finding, Measuring(lambda: nullcontext(prober), "h", limit_s))
    assert not interrupted
    assert began_s and max(began_s) <= limit_s
    if limit_s < 1:
        assert found.measured is None and "the time was over" in found.missing


def test_a_diagnosis_that_takes_all_the_time_leaves_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun(monkeypatch, lambda: pytest.fail("measured"))
    assert run("--max-time", "1us").exit_code == 0
    assert "--max-time" in read_diagnosis("d.json")["queue_of"]["missing"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["h", "--capture", "x"], "give --queue"),
        (["h", "--max-time", "60s"], "give --queue"),
        (["--download", "http://h/file", "--queue"], "name its HOST"),
        (["h", "--queue", "--capture", "missing/x"], "missing"),
        (["--from", "d.json", "--queue"], "leave --queue out"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["diagnose", *words])
    assert done.exit_code in (1, 2)
    assert says in done.output and "Traceback" not in done.output
