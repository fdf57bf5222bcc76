"""Diagnoses for Prometheus, as its own parser reads them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from recorded import LOADED, QUIET, imagined

from airqueue.cli import main
from airqueue.diagnose import metrics
from airqueue.diagnose.records import GATEWAY, SERVER
from airqueue.diagnose.result import diagnosis

parser = pytest.importorskip(
    "prometheus_client.parser", reason="needs prometheus_client, of the dev group"
)

PAGE = (Path(__file__).parents[2] / "docs" / "diagnose.md").read_text("utf-8")
TARGET = 'quote " and \\ and\nline'
ABOUT = {
    "airqueue": "0",
    "created": "2026-01-01T00:00:00Z",
    "target": TARGET,
    "elapsed_s": 25.0,
    "interrupted": False,
}


def read(text: str) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    """Return the values of each family by labels, without the target, which all have."""
    assert text.endswith("\n")
    found = {}
    for each in parser.text_string_to_metric_families(text):
        assert each.type == "gauge" and each.documentation and each.name not in found
        values = {}
        for sample in each.samples:
            # node_exporter's textfile collector refuses files with timestamps.
            assert sample.timestamp is None and sample.name == each.name
            labels = dict(sample.labels)
            assert labels.pop("target") == TARGET
            assert values.setdefault(frozenset(labels.items()), sample.value) == sample.value
        assert len(values) == len(each.samples), "a sample twice"
        found[each.name] = values
    return found


def labelled(**labels: str) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())


def measured(unit: str) -> dict[str, object]:
    """What a document has of a measured queue, as far as metrics read it."""
    result = {
        "verdict": "fifo",
        "capacity": 250.0,
        "capacity_unit": unit,
        "delay_full_s": 0.4,
        "rate_bps": 7e6,
    }
    of = {"site": SERVER, "direction": "down", "missing": None}
    return {"queue": result, "queue_of": of}


def test_figures_are_those_of_the_records():
    records = imagined({GATEWAY: 0.0, SERVER: 0.2}, lost=0.1, carried_bps=20e6)
    found = read(metrics.text(diagnosis(records).to_json(ABOUT)))
    for leg in records.legs:
        during = (leg.sent_s >= LOADED[0]) & (leg.sent_s < LOADED[1])
        quiet = np.any([(leg.sent_s >= a) & (leg.sent_s < b) for a, b in QUIET], axis=0)
        for chosen, site, way in ((during, SERVER, "down"), (quiet, "none", "none")):
            labels = {"leg": leg.name, "site": site, "direction": way}
            trips = leg.round_trip_s[chosen]
            for q in (0.5, 0.95, 0.99):
                value = found["airqueue_diagnosis_round_trip_seconds"][
                    labelled(**labels, quantile=str(q))
                ]
                assert value == pytest.approx(np.nanquantile(trips, q), rel=1e-9)
            answered = found["airqueue_diagnosis_probes_answered"][labelled(**labels)]
            assert answered == np.count_nonzero(~np.isnan(trips))
            assert found["airqueue_diagnosis_probes_sent"][labelled(**labels)] == len(trips)
    load = {"site": SERVER, "direction": "down"}
    assert found["airqueue_diagnosis_carried_bits_per_second"][labelled(**load)] == 20e6
    # The load adds 0.9 of 200 ms in the median, within its interval.
    low, high = (found[f"airqueue_diagnosis_rise_{n}_seconds"] for n in ("low", "high"))
    assert low[labelled(**load)] <= 0.18 <= high[labelled(**load)]
    verdict = labelled(**load, load="flood", place="line")
    assert found["airqueue_diagnosis_verdict_info"] == {verdict: 1}
    assert found["airqueue_diagnosis_recommendation_info"] == {labelled(do="shape-line"): 1}


def test_the_run_is_described():
    document = diagnosis(imagined({GATEWAY: 0.1, SERVER: 0.1})).to_json(ABOUT)
    found = read(metrics.text(document))
    assert found["airqueue_diagnosis_info"] == {labelled(version="0"): 1}
    ended = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp()
    assert found["airqueue_diagnosis_end_timestamp_seconds"] == {labelled(): ended}
    assert found["airqueue_diagnosis_duration_seconds"] == {labelled(): 25}
    assert found["airqueue_diagnosis_interrupted"] == {labelled(): 0}


def test_the_measured_queue_is_described():
    document = diagnosis(imagined({GATEWAY: 0.1, SERVER: 0.1})).to_json(ABOUT)
    assert not any("diagnosis_queue" in name for name in read(metrics.text(document)))
    found = read(metrics.text(document | measured("packets")))
    load = {"site": SERVER, "direction": "down"}
    info = labelled(**load, verdict="fifo", discipline="")
    assert found["airqueue_diagnosis_queue_info"] == {info: 1}
    values = {"capacity_packets": 250, "delay_full_seconds": 0.4, "rate_bits_per_second": 7e6}
    for name, value in values.items():
        assert found[f"airqueue_diagnosis_queue_{name}"] == {labelled(**load): value}
    assert "airqueue_diagnosis_queue_capacity_bytes" not in found


def test_what_is_not_known_is_left_out():
    records = imagined({SERVER: 0.2})
    load = dataclasses.replace(records.loads[0], idle="carries all", carried_bps=None)
    records = dataclasses.replace(records, loads=(load,))
    found = read(metrics.text(diagnosis(records).to_json(ABOUT)))
    legs = {dict(labels)["leg"] for labels in found["airqueue_diagnosis_round_trip_seconds"]}
    assert legs == {SERVER}, "the gateway never answers"
    assert not any("rise" in name or "carried" in name for name in found)
    (verdict,) = found["airqueue_diagnosis_verdict_info"]
    assert dict(verdict)["place"] == "not_loaded"


def test_every_name_is_explained_and_has_its_unit():
    records = imagined({GATEWAY: 0.1, SERVER: 0.1})
    load = dataclasses.replace(records.loads[0], flood_rise_s=0.1)
    records = dataclasses.replace(records, loads=(load,))
    document = diagnosis(records).to_json(ABOUT)
    names = {*read(metrics.text(document))}
    for unit in ("packets", "bytes"):
        names |= {*read(metrics.text(document | measured(unit)))}
    explained = {*re.findall(r"`(airqueue_diagnosis_\w+)`", PAGE)}
    assert names == explained
    units = ("_seconds", "_info", "_bits_per_second", "_sent", "_answered", "_interrupted")
    units += ("_packets", "_bytes")
    assert all(name.endswith(units) for name in names)


def test_the_command_writes_the_file_beside_which_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = diagnosis(imagined({GATEWAY: 0.1, SERVER: 0.1})).to_json(ABOUT) | {"changes": []}
    Path("now.json").write_text(json.dumps(document), "utf-8")
    done = CliRunner().invoke(main, ["diagnose", "--from", "now.json", "--prometheus", "a.prom"])
    assert done.exit_code == 0
    assert read(Path("a.prom").read_text("utf-8"))["airqueue_diagnosis_verdict_info"]
    assert {path.name for path in tmp_path.iterdir()} == {"now.json", "a.prom"}
