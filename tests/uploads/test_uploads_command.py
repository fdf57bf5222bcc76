"""`airqueue measure HOST --with STATION --uploads`, over stations of known channel access."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from contenders import Contenders, Station

from airqueue.cli import main, uploads
from airqueue.measure import capture
from airqueue.measure.capture import CaptureFile
from airqueue.measure.prober import RunInterrupted

MEASURE = ["measure", "192.0.2.1", "--with", "192.0.2.20", "--uploads", "--quiet"]
TABLES = {"bk": (7, 15, 1023), "be": (3, 15, 1023), "vi": (2, 7, 15), "vo": (2, 3, 7)}


@pytest.fixture
def cell(monkeypatch):
    """What the command measures; it notes how it was asked for."""
    stations = Contenders((Station(), Station()), TABLES)
    stations.asked = []

    @contextmanager
    def together(host, names, port, **about):
        stations.asked.append((host, list(names), port, about))
        yield stations

    monkeypatch.setattr(uploads, "TogetherProber", together)
    return stations


def test_the_verdict_comes_first_and_the_file_has_all(runner, cell):
    done = runner.invoke(main, [*MEASURE, "--json", "found.json", "--max-rate", "500mbit"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == (
        "Stations obey the AIFS and windows of the settings for background; in one category they "
        "win the medium equally often."
    )
    found = json.loads(Path("found.json").read_text("utf-8"))
    assert (found["obedience"], found["target"]) == ("obeyed", "192.0.2.1:5860")
    assert [s["name"] for s in found["stations"]] == ["this station", "192.0.2.20"]
    assert found["settings"]["vo"] == {"aifsn": 2, "cw_min": 3, "cw_max": 7, "txop_s": 0.001504}
    assert [c["category"] for c in found["categories"]] == ["bk"]
    [(host, names, port, about)] = cell.asked
    assert (host, names, port) == ("192.0.2.1", ["192.0.2.20"], 5860)
    limits = {"key": None, "max_rate_bps": 500e6, "max_wait_s": 600.0}
    assert about == {"direction": "up", **limits}


def test_settings_that_are_stated_are_judged(runner, cell):
    words = ["--category", "vo", "--category", "vo", "--edca", "vo=2/15/1023/0", "--json", "-"]
    done = runner.invoke(main, [*MEASURE, *words])
    found = json.loads(done.output)
    assert found["settings"]["vo"] == {"aifsn": 2, "cw_min": 15, "cw_max": 1023, "txop_s": 0.0}
    assert found["obedience"] == "not_obeyed"
    assert [c["category"] for c in found["categories"]] == ["vo"]


@pytest.mark.parametrize(
    ("words", "compared"),
    [
        ("--edca vo=2/15/1023/0", ["vo"]),
        ("--edca vo=2/15/1023/0 --edca bk=7/15/1023/0", ["bk", "vo"]),
        ("--edca be=3/15/1023/0", ["bk"]),
        ("--edca vo=2/15/1023/0 --category bk", ["bk"]),
    ],
)
def test_categories_whose_settings_are_stated_are_compared(runner, cell, words, compared):
    done = runner.invoke(main, [*MEASURE, *words.split(), "--json", "-"])
    found = json.loads(done.output)
    assert [c["category"] for c in found["categories"]] == compared


def test_the_headline_names_the_categories_that_were_compared(runner, cell):
    done = runner.invoke(main, [*MEASURE, "--category", "bk", "--category", "vi"])
    assert done.output.startswith(
        "Stations obey the AIFS and windows of the settings for background and video;"
    ), done.output


def test_a_capture_is_judged_again(runner, cell):
    first = runner.invoke(main, [*MEASURE, "--capture", "runs.capture"])
    again = runner.invoke(main, ["analyze", "runs.capture"])
    assert (first.exit_code, again.exit_code) == (0, 0), again.output
    assert again.output == first.output
    assert len(capture.load("runs.capture").runs) == len(cell.runs)
    refused = runner.invoke(main, ["analyze", "runs.capture", "--expect", "fifo"])
    assert refused.exit_code == 2
    assert "--expect is not for a capture of uploads" in refused.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--direction", "up"], "--direction does not go with --uploads"),
        (["--with", "192.0.2.20"], "names a station twice"),
        (["--edca", "vo"], "is not CATEGORY=AIFSN/CWMIN/CWMAX/TXOP"),
        (["--edca", "xx=2/3/7/0"], "categories are bk, be, vi, vo"),
        (["--edca", "vo=2/4/7/0"], "not the exponent 4"),
        (["--edca", "vo=2/3/7/1.504"], "vo=2/3/7/1.504"),
        (["--edca", "vo=x/3/7/0"], "AIFSN, CWMIN and CWMAX are whole numbers"),
        (["--edca", "vo=2/3/7/0", "--edca", "vo=2/3/7/1ms"], "states a category twice"),
        (["--category", "be"], "'be' is not one of"),
    ],
)
def test_what_does_not_go_together_is_refused(runner, cell, words, says):
    done = runner.invoke(main, [*MEASURE, *words])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
    assert not cell.asked


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--uploads"], "--uploads needs another station"),
        (["--with", "a", "--category", "vi"], "--category goes with --uploads"),
        (["--edca", "vi=2/7/15/0"], "--edca goes with --uploads"),
    ],
)
def test_options_of_uploads_alone_are_refused(runner, words, says):
    done = runner.invoke(main, ["measure", "192.0.2.1", *words])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_ctrl_c_keeps_what_was_measured(runner, cell):
    whole = cell.run

    def run(plan, meta, on_progress=None):
        if len(cell.runs) == 6:
            raise RunInterrupted(None)
        return whole(plan, meta, on_progress)

    cell.run = run
    done = runner.invoke(main, [*MEASURE, "--json", "found.json"])
    assert done.exit_code == 130
    assert "Interrupted: only a part was measured." in done.output
    assert json.loads(Path("found.json").read_text("utf-8"))["interrupted"]


def test_captures_from_elsewhere_are_refused_in_a_sentence(runner, cell):
    runner.invoke(main, [*MEASURE, "--capture", "runs.capture"])
    loaded = capture.load("runs.capture")
    header, run = loaded.header, loaded.runs[-1]
    with CaptureFile.create("wrong.capture", {**header, "settings": {"be": 1}}) as file:
        file.append(run)
    done = runner.invoke(main, ["analyze", "wrong.capture"])
    assert done.exit_code == 1
    assert "its header has settings" in done.output
    without = {key: value for key, value in header.items() if key != "settings"}
    with CaptureFile.create("without.capture", without) as file:
        file.append(run)
    done = runner.invoke(main, ["analyze", "without.capture"])
    assert done.exit_code == 1
    assert "names no settings" in done.output
    with CaptureFile.create("meta.capture", header) as file:
        file.append(replace(run, meta={**run.meta, "uploads": 1}))
    done = runner.invoke(main, ["analyze", "meta.capture"])
    assert done.exit_code == 1
    assert "it was not written by `airqueue measure`" in done.output
