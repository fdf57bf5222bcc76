"""The document of a diagnosis, its recommendation, its report, and the command's refusals."""

from __future__ import annotations

import dataclasses
import gzip
import json

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from recorded import at_once, imagined

import airqueue
from airqueue.cli import main
from airqueue.cli.diagnose_files import Files
from airqueue.cli.diagnose_view import emit
from airqueue.cli.plans import PlanFile
from airqueue.diagnose.advice import Asking
from airqueue.diagnose.again import changes
from airqueue.diagnose.records import GATEWAY, SERVER, from_json, stretches, to_json
from airqueue.diagnose.result import diagnosis, read_diagnosis, schema
from airqueue.sizing.plans import PlanError
from tests.piped import tables_of

ABOUT = {
    "airqueue": "0",
    "created": "2026-01-01T00:00:00Z",
    "target": "<b>server</b>",
    "elapsed_s": 25.0,
    "interrupted": False,
}

ONE_LOAD = to_json(imagined({SERVER: 0.1}))["loads"][0]


def lines(found) -> list[str]:
    return [line for each in found.recommendation.settings for line in each.lines]


def test_records_survive_json():
    records = imagined({GATEWAY: 0.1, SERVER: 0.1}, lost=0.3)
    rates = ((3.0, 3.1, 1e6), (3.1, 3.2, 2e7))
    records = dataclasses.replace(
        records, loads=(dataclasses.replace(records.loads[0], rates=rates),)
    )
    again = from_json(json.loads(json.dumps(to_json(records))))
    assert again.loads == records.loads and again.quiet == records.quiet
    for ours, theirs in zip(records.legs, again.legs, strict=True):
        np.testing.assert_allclose(theirs.round_trip_s, ours.round_trip_s, atol=1e-9)
        assert np.isnan(ours.round_trip_s).any()
    # The findings are a function of the records alone.
    assert (
        diagnosis(again).to_json(ABOUT)["findings"] == diagnosis(records).to_json(ABOUT)["findings"]
    )


def test_rates_are_of_stretches_that_follow_each_other():
    at_s = np.array([1.0, 1.1, 1.1, 1.12, 1.2, 1.3])
    bits = np.array([1e5, 3e4, 2e4, 5e4, 0.0])
    found = stretches(at_s, bits)
    assert found == ((1.0, 1.1, 1e6), (1.1, 1.2, 1e6), (1.2, 1.3, 0.0))
    assert sum((end - begin) * bps for begin, end, bps in found) == pytest.approx(bits.sum())


def test_files_fit_the_schema_and_the_report_shows_both_legs(tmp_path, capsys):
    kept, report = tmp_path / "d.json", tmp_path / "d.html"
    before = imagined({GATEWAY: 0.3, SERVER: 0.3}, seed=3)
    records = imagined({GATEWAY: 0.1, SERVER: 0.1})
    emit(diagnosis(records), changes(before, records), ABOUT, Files(str(kept), str(report)))
    shown = capsys.readouterr().out
    assert "access point's queue towards you" in shown and "better" in shown
    document = read_diagnosis(kept)
    jsonschema.Draft202012Validator.check_schema(schema())
    assert document["findings"][0]["place"] == "access_point"
    assert document["changes"][0]["word"] == "better"
    page = report.read_text("utf-8")
    assert "<b>server</b>" not in page, "names from outside are escaped"
    assert page.count("<svg") >= 1 and "download, server" in page


def test_a_slow_line_is_shaped_below_its_rate_in_the_direction_that_lags():
    down = diagnosis(imagined({GATEWAY: 0.0, SERVER: 0.2}, carried_bps=20e6))
    assert down.recommendation.do == "shape-line"
    assert "uci set sqm.airqueue.download='19000'" in lines(down)
    assert "uci set sqm.airqueue.upload='0'" in lines(down)
    up = diagnosis(imagined({GATEWAY: 0.0, SERVER: 0.2}, direction="up", carried_bps=2e6))
    assert "uci set sqm.airqueue.upload='1900'" in lines(up)
    assert "tc qdisc replace dev wan root cake bandwidth 1900kbit" in lines(up)
    assert not any("ifb" in line for line in lines(up))


def test_a_full_access_point_is_given_flow_queueing():
    found = diagnosis(imagined({GATEWAY: 0.2, SERVER: 0.2}))
    assert found.recommendation.do == "flow-queueing"
    assert any("fq_codel" in line for line in lines(found))


def test_a_full_station_is_told_of_its_own_queue():
    found = diagnosis(imagined({GATEWAY: 0.2, SERVER: 0.2}, direction="up"))
    assert found.recommendation.do == "shape-station"
    assert "own station" in found.headline


def test_nothing_is_changed_where_nobody_waits_or_nothing_is_known():
    calm = diagnosis(imagined({GATEWAY: 0.0, SERVER: 0.0}))
    assert (calm.recommendation.do, lines(calm)) == ("leave", [])
    unknown = diagnosis(imagined({SERVER: 0.2}))
    assert (unknown.recommendation.do, lines(unknown)) == ("nothing-known", [])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name a host"),
        (["--download", "ftp://host/file"], "not an address of the web"),
        (["--download", "http://"], "not an address of the web"),
        (["--download", "http://host/file", "--direction", "up"], "Nothing to load with"),
        (["host", "--together", "--load", "flood"], "connections of TCP"),
        (["--together", "--download", "http://host/file"], "connections of TCP"),
        (["host", "--again", "missing.json"], "missing.json"),
        (["host", "--hold", "soon"], "soon"),
        (["host", "--device", "wlan0; reboot"], "no name of a device"),
        (["host", "--flent", "x.gz"], ".flent.gz"),
        (["host", "--flent", "missing/x.flent.gz"], "missing"),
        (["host", "--from", "d.json"], "measures nothing"),
        (["--from", "missing.json"], "missing.json"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["diagnose", *words])
    assert done.exit_code in (1, 2)
    assert says in done.output and "Traceback" not in done.output


def test_a_stored_result_gives_what_the_measurement_gave(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    records = imagined({GATEWAY: 0.1, SERVER: 0.1}, lost=0.2)
    emit(diagnosis(records), [], ABOUT, Files("a.json", "a.html", "x.flent.gz"))
    said = capsys.readouterr().out
    (tmp_path / "x.flent.gz").rename("a.flent.gz")
    words = ["--json", "b.json", "--report", "b.html", "--flent", "x.flent.gz"]
    done = CliRunner().invoke(main, ["diagnose", "--from", "a.json", *words])
    assert (done.exit_code, done.output) == (0, said)
    for ours, again in (("a.json", "b.json"), ("a.html", "b.html")):
        version = f'"airqueue": "{airqueue.__version__}"'
        stored = (tmp_path / ours).read_text("utf-8").replace('"airqueue": "0"', version)
        stored = stored.replace("airqueue 0<", f"airqueue {airqueue.__version__}<")
        assert (tmp_path / again).read_text("utf-8") == stored
    stored, again = (
        json.loads(gzip.decompress((tmp_path / name).read_bytes()))
        for name in ("a.flent.gz", "x.flent.gz")
    )
    assert again["results"] == stored["results"] and again["raw_values"] == stored["raw_values"]


def test_a_full_disk_does_not_hide_the_result(capsys):
    found = diagnosis(imagined({GATEWAY: 0.1, SERVER: 0.1}))
    with pytest.raises(OSError, match="/dev/full"):
        emit(found, [], ABOUT, Files(prometheus="/dev/full"))
    assert "access point's queue towards you" in capsys.readouterr().out


def test_a_stored_result_is_compared_with_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rise_s in (("before", 0.3), ("now", 0.1)):
        found = diagnosis(imagined({GATEWAY: rise_s, SERVER: rise_s}))
        emit(found, [], ABOUT, Files(f"{name}.json"))
    done = CliRunner().invoke(main, ["diagnose", "--from", "now.json", "--again", "before.json"])
    assert done.exit_code == 0 and "better" in done.output
    ((heads, *rows), *pasted) = tables_of(done.stdout)
    assert heads == ["leg", "load", "median", "95 %", "99 %", "answered", "a minute"]
    assert [row[:2] for row in rows][:2] == [[GATEWAY, "none"], [GATEWAY, "down (server)"]]
    assert {len(row) for row in rows} == {len(heads)}
    # What follows is to be pasted, and all else is comments.
    shown = {line for settings in found.recommendation.settings for line in settings.lines}
    assert {cell for block in pasted for (cell,) in block} <= shown


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("created",), "yesterday", "not a time"),
        (("created",), "1900-01-01T00:00:00Z", "before 1970"),
        (("records", "legs", 0, "round_trip_s"), [0.1], "as many round trips"),
        (("records", "legs", 0, "sent_s", 0), 1e9, "not in order"),
        (("records", "legs", 0, "sent_s", 0), -1.0, "not in order"),
        (("records", "legs", 0, "round_trip_s", 0), float("nan"), "NaN"),
        (("records", "loads", 0, "carried_bps"), 10**400, "no number"),
        (("records", "loads", 0, "ended_s"), 1e15, "none within"),
        (("records", "loads", 0, "rates"), [[2.0, 1.0, 1e6]], "none within"),
        (("records", "loads", 0, "rates"), [[1.0, 1e6]], "rates"),
        (("records", "quiet", 0), [2.0, 1.0], "none within"),
        (("records", "together"), [ONE_LOAD], "pairs of a download and an upload"),
        (("records", "together"), [ONE_LOAD] * 2, "pairs of a download and an upload"),
    ],
)
def test_a_damaged_result_is_refused(tmp_path, path, value, says):
    document = diagnosis(imagined({GATEWAY: 0.1, SERVER: 0.1})).to_json(ABOUT) | {"changes": []}
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    kept = tmp_path / "d.json"
    kept.write_text(json.dumps(document), "utf-8")
    done = CliRunner().invoke(main, ["diagnose", "--from", str(kept)])
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert str(kept) in done.output and says in done.output


def test_both_directions_at_once_are_felt_but_blame_nobody(tmp_path, capsys):
    alone = imagined({GATEWAY: 0.1, SERVER: 0.3})
    records = at_once(alone)
    found = diagnosis(records)
    (pair,) = found.together
    # The load of the imagined path swings between 0.8 and 1 of the rise.
    assert 0.8 * 0.3 <= pair.rise.low <= pair.rise.high <= 0.3
    assert 0.8 * 0.1 <= pair.near.low <= pair.near.high <= 0.1
    assert found.recommendation == diagnosis(alone).recommendation
    assert found.findings == diagnosis(alone).findings
    kept, report = tmp_path / "d.json", tmp_path / "d.html"
    emit(found, [], ABOUT, Files(str(kept), str(report)))
    shown = " ".join(capsys.readouterr().out.split())
    assert "20.00 Mb/s came down and 2.00 Mb/s went up" in shown
    assert "both, server" in report.read_text("utf-8")
    document = read_diagnosis(kept)
    rows = [row for row in document["round_trips"] if row["load_direction"] == "both"]
    assert {row["leg"] for row in rows} == {GATEWAY, SERVER}
    assert document["together"][0]["rise_s"]["value"] == pair.rise.value
    assert from_json(document["records"]).together == records.together


def test_a_plan_is_written_of_what_is_recommended(tmp_path, capsys):
    path = tmp_path / "plan.json"
    found = diagnosis(imagined({GATEWAY: 0.2, SERVER: 0.2}, direction="up", carried_bps=10e6))
    emit(found, [], ABOUT, Files(plan=PlanFile(str(path))))
    (item,) = json.loads(path.read_text("utf-8"))["settings"]
    assert item["set"]["queue"] == {
        "interface": "wlan0",
        # The load is a flood of 10 Mb/s, of whose air acknowledgements would take a fifth.
        "queue": {"cake": {"rate_bps": 7_600_000}},
    }
    assert item["why"] == found.recommendation.headline
    calm = diagnosis(imagined({GATEWAY: 0.0, SERVER: 0.0}))
    with pytest.raises(PlanError, match=r"the plan of an earlier run: do not apply .*plan\.json\."):
        emit(calm, [], ABOUT, Files(plan=PlanFile(str(path))))
    path.unlink()
    capsys.readouterr()
    emit(calm, [], ABOUT, Files(plan=PlanFile(str(path))))
    assert "No plan is written" in capsys.readouterr().err and not path.exists()


@pytest.mark.parametrize("kind", ["tcp", "flood"])
@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_plan_before_a_radio_shapes_below_what_tcp_gets(tmp_path, kind, direction):
    path = tmp_path / "plan.json"
    records = imagined({GATEWAY: 0.2, SERVER: 0.2}, direction=direction, carried_bps=30.5e6)
    loads = tuple(dataclasses.replace(load, kind=kind) for load in records.loads)
    found = diagnosis(dataclasses.replace(records, loads=loads))
    emit(found, [], ABOUT, Files(plan=PlanFile(str(path))))
    (item,) = json.loads(path.read_text("utf-8"))["settings"]
    rate_bps = item["set"]["queue"]["queue"]["cake"]["rate_bps"]
    # At 54 Mb/s a flood gets 30.5 Mb/s and TCP 24.88 (docs/sizing.md): a shaper above has no queue.
    most_bps = {"tcp": 30.5e6, "flood": 24.88e6}[kind]
    assert 0.9 * most_bps < rate_bps < 0.96 * most_bps
    assert "all stations" in item["why"] or direction == "up"


def test_a_line_that_lags_downwards_is_planned_for_openwrt_alone(tmp_path, capsys):
    path = tmp_path / "plan.json"
    found = diagnosis(imagined({GATEWAY: 0.0, SERVER: 0.2}), Asking(line="eth1"))
    emit(found, [], ABOUT, Files(plan=PlanFile(str(path))))
    assert (
        "--plan-sets uci plans this configuration" in capsys.readouterr().err and not path.exists()
    )
    emit(found, [], ABOUT, Files(plan=PlanFile(str(path), "uci")))
    (item,) = json.loads(path.read_text("utf-8"))["settings"]
    assert item["set"]["uci"]["options"]["interface"] == "eth1"


def test_a_file_that_cannot_be_written_costs_no_other(tmp_path):
    report, figures = tmp_path / "report.html", tmp_path / "figures.prom"
    with pytest.raises(OSError, match="/dev/full"):
        emit(
            diagnosis(imagined({GATEWAY: 0.2, SERVER: 0.2})),
            [],
            ABOUT,
            Files("/dev/full", str(report), prometheus=str(figures)),
        )
    assert report.exists() and figures.exists()


@pytest.mark.parametrize("answers", [{SERVER: 0.3}, {GATEWAY: 0.1}, {}])
def test_both_directions_at_once_need_the_leg_to_the_server_alone(answers):
    (pair,) = diagnosis(at_once(imagined(answers))).together
    assert (pair.rise is not None) == (SERVER in answers)
    assert pair.near is None and pair.says


def test_a_server_without_tcp_cannot_be_loaded_in_both_directions_at_once():
    records = at_once(imagined({SERVER: 0.3}))
    idle = tuple(
        dataclasses.replace(load, idle="No TCP.", carried_bps=None) for load in records.together
    )
    found = diagnosis(dataclasses.replace(records, together=idle))
    assert [pair.says for pair in found.together] == ["No TCP."]
    document = found.to_json(ABOUT)
    assert all(row["load_direction"] != "both" for row in document["round_trips"])


def test_a_wait_under_both_directions_at_once_alone_is_felt():
    found = diagnosis(dataclasses.replace(at_once(imagined({SERVER: 0.3})), loads=()))
    assert found.effects, "a call and a game feel the wait"


def test_results_without_loads_at_once_can_be_read():
    document = to_json(imagined({SERVER: 0.3}))
    del document["together"]
    assert from_json(document).together == ()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": "other"}',
        '{"format": "airqueue-diagnosis", "version": 9}',
        '{"format": "airqueue-diagnosis", "version": 1}',
    ],
)
def test_a_file_that_is_no_diagnosis_is_refused(tmp_path, content):
    path = tmp_path / "d.json"
    path.write_text(content, "utf-8")
    done = CliRunner().invoke(main, ["diagnose", "host", "--again", str(path)])
    assert done.exit_code == 1
    assert str(path) in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("--hold", "3s"),
        ("--max-rate", "9mbit"),
        ("--direction", "up"),
        ("--queue",),
        ("--together",),
    ],
)
def test_a_stored_result_leaves_nothing_to_measure(tmp_path, words):
    kept = tmp_path / "d.json"
    emit(diagnosis(imagined({GATEWAY: 0.2, SERVER: 0.2})), [], ABOUT, Files(str(kept)))
    done = CliRunner().invoke(main, ["diagnose", "--from", str(kept), *words])
    assert done.exit_code == 2
    assert f"--from measures nothing: leave {words[0]} out" in done.output


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("legs", 0, "round_trip_s", 0), -1.0, "-1.0 is less than the minimum of 0"),
        (("legs", 0, "round_trip_s", 0), 1e300, "1e+300 is greater than the maximum"),
        (("loads", 0, "carried_bps"), 1e308, "1e+308 is greater than the maximum"),
        (("loads", 0, "carried_bps"), -5, "-5 is less than the minimum of 0"),
    ],
)
def test_a_stored_result_that_cannot_be_is_refused_with_its_place(tmp_path, place, value, words):
    kept = tmp_path / "d.json"
    emit(diagnosis(imagined({GATEWAY: 0.2, SERVER: 0.2})), [], ABOUT, Files(str(kept)))
    document = json.loads(kept.read_text("utf-8"))
    *way, last = place
    found = document["records"]
    for step in way:
        found = found[step]
    found[last] = value
    kept.write_text(json.dumps(document), "utf-8")
    done = CliRunner().invoke(main, ["diagnose", "--from", str(kept)])
    assert done.exit_code == 1
    assert words in done.output and str(kept) in done.output


@pytest.mark.parametrize(
    ("lost", "along_s", "gateway", "says"),
    [
        (0.1, None, True, "behind the gateway"),
        (0.1, None, False, "over a cable"),
        (0.0, None, True, None),
    ],
)
def test_losses_where_nobody_waits_are_no_reason_to_leave_all(lost, along_s, gateway, says):
    rises_s = {GATEWAY: 0.0, SERVER: 0.0} if gateway else {SERVER: 0.0}
    found = diagnosis(imagined(rises_s, along_s=along_s, quiet_lost=lost))
    if says is None:
        assert found.recommendation.do == "leave" and not found.effects
        return
    assert found.recommendation.do == "find-losses"
    assert says in found.recommendation.headline
    assert "of probes have no answer" in found.headline
    assert any("G.1010" in each for each in found.effects)
    assert any("limit their echo replies" in each for each in found.effects) == gateway
    jsonschema.validate(found.to_json(ABOUT) | {"changes": []}, schema())


def test_a_queue_that_is_full_before_the_load_is_no_reason_to_leave_all():
    """Both legs wait 200 ms without our load, and the load adds nothing."""
    records = imagined({GATEWAY: 0.0, SERVER: 0.0})
    legs = [dataclasses.replace(leg, round_trip_s=leg.round_trip_s + 0.2) for leg in records.legs]
    found = diagnosis(dataclasses.replace(records, legs=tuple(legs)))
    assert found.recommendation.do == "nothing-known"
    assert found.effects[0].startswith("Without our load the gateway takes 203 ms to answer")
    # A server far away is no queue.
    far = diagnosis(dataclasses.replace(records, legs=(records.legs[0], legs[1])))
    assert far.recommendation.do == "leave" and not far.effects


def test_answers_that_the_gateway_alone_leaves_out_are_not_lost():
    records = imagined({GATEWAY: 0.0, SERVER: 0.0})
    near = records.legs[0]
    some = np.arange(len(near.sent_s)) % 3 == 0
    near = dataclasses.replace(near, round_trip_s=np.where(some, np.nan, near.round_trip_s))
    found = diagnosis(dataclasses.replace(records, legs=(near, records.legs[1])))
    assert found.recommendation.do == "leave" and not found.effects


def test_packets_that_a_load_makes_others_lose_are_counted():
    found = diagnosis(imagined({GATEWAY: 0.0, SERVER: 0.0}, along_s=0.0, lost=0.1))
    assert found.recommendation.do == "find-losses"
    assert "policer" in found.recommendation.headline
    again = diagnosis(from_json(json.loads(json.dumps(to_json(found.records)))))
    assert again.effects == found.effects


def test_what_acknowledgements_fill_is_shaped_at_the_rate_of_the_other_load():
    down = imagined({GATEWAY: 0.0, SERVER: 0.3}, along_s=0.0, carried_bps=26e6)
    up = imagined({GATEWAY: 0.0, SERVER: 0.3}, along_s=0.3, direction="up", carried_bps=5e5)
    alone, both = diagnosis(down), dataclasses.replace(down, loads=(*down.loads, *up.loads))
    assert "not known" in alone.recommendation.headline
    assert "upwards, with its acknowledgements" in alone.headline
    found = diagnosis(both)
    assert "sqm.airqueue.download='0'" in "".join(lines(found))
    assert "sqm.airqueue.upload='475'" in "".join(lines(found))


@pytest.mark.parametrize("direction", ["down", "up"])
def test_what_a_game_bears_is_left_at_either_end_of_the_air(direction):
    found = diagnosis(imagined({GATEWAY: 0.014, SERVER: 0.014}, direction=direction))
    assert found.recommendation.do == "leave"
