"""A reproduction from end to end: items chosen by name, runs carried out once, records judged."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from distributed import LocalCluster

from airqueue.runs import Local, Store
from airqueue_papers.claim import PAPERS
from airqueue_papers.command import reproduce_command
from airqueue_papers.document import to_text
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import UnknownItemError, choose, missing, reproduce
from airqueue_papers.verdict import Verdict

QUICK = ["apq.fig6", "apq.fig7", "apq.fig9"]
"""Two sessions of a measurement, which both items share, and nothing to run."""


def test_names_choose_papers_and_items():
    assert [each.name for each in choose(["apq.fig7", "apq.fig6"])] == ["apq.fig6", "apq.fig7"]
    assert {each.paper for each in choose(["rdqm"])} == {"rdqm"}
    assert [each.paper for each in choose(["rdqm.fig2", "apq.fig6"])] == ["apq", "rdqm"]
    assert {each.paper for each in choose()} == set(PAPERS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ftp", "no paper 'ftp'; there are apq, rdqm, mesh, edca, http, anomaly, beyond"),
        ("apq.fig99", "no item 'apq.fig99'; apq has fig3"),
        ("apq.", "no item 'apq.'"),
        ("", "no paper ''"),
    ],
)
def test_unknown_names_are_refused_with_what_there_is(name, message):
    with pytest.raises(UnknownItemError, match=message):
        choose([name])


def test_runs_are_shared_kept_and_the_same_again(tmp_path):
    store, items = Store(tmp_path), choose(QUICK)
    assert len(missing(items, Budget.QUICK, store)) == 4
    seen = []
    first = reproduce(items, Budget.QUICK, store, Local(1), seen.append)
    assert seen[-1].pieces == 2
    assert not missing(items, Budget.QUICK, store)
    again = reproduce(items, Budget.QUICK, store, Local(2), seen.append)
    assert seen[-1].kept == 2
    fresh = reproduce(items, Budget.QUICK, Store(tmp_path / "other"), Local(2))
    assert to_text(first, Budget.QUICK) == to_text(again, Budget.QUICK)
    assert to_text(first, Budget.QUICK) == to_text(fresh, Budget.QUICK)


def test_a_sabotaged_run_is_not_reproduced(tmp_path):
    """Whoever makes the air ten times as fast is found out by its claims."""
    store, items = Store(tmp_path), choose(["apq.fig6"])
    reproduce(items, Budget.QUICK, store, Local(1))
    for work in missing(items, Budget.QUICK, Store(tmp_path / "none")):
        result = store.read(work)
        result["throughput"][1] = [10 * each for each in result["throughput"][1]]
        store.write(work, result)
    (spoilt,) = reproduce(items, Budget.QUICK, store, Local(1))
    assert all(each.verdict is not Verdict.REPRODUCED for each in spoilt.records)


def run(*arguments):
    return CliRunner().invoke(reproduce_command, arguments, catch_exceptions=False)


def test_the_command(tmp_path):
    done = run(*QUICK, "--out", str(tmp_path), "--json", "-", "--workers", "1")
    assert done.exit_code == 0
    written = json.loads(done.stdout)
    assert json.loads((tmp_path / "claims.json").read_text()) == written
    assert written["items"] == QUICK
    assert [each["id"] for each in written["claims"]][:2] == ["apq.fig6.cisco", "apq.fig6.netgear"]
    assert sum(written["verdicts"].values()) == len(written["claims"]) == 5
    assert all(
        bool(each["why_missed"])
        == (each["verdict"] in ("not reproduced", "same conclusion, other number"))
        for each in written["claims"]
    )
    assert written["tried"] == []
    table = run(*QUICK, "--out", str(tmp_path))
    assert "5 claims:" in table.stdout
    assert "not testable here" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--workers", "2", "--cluster", "tcp://127.0.0.1:9"], "a cluster has its own"),
        (["--exact", "--cluster", "tcp://127.0.0.1:9"], "leave --cluster out"),
        (["--cluster", "here"], "--cluster here is no address"),
    ],
)
def test_a_cluster_excludes_what_is_for_this_machine(arguments, says):
    refused = CliRunner().invoke(reproduce_command, ["apq.fig6", *arguments])
    assert refused.exit_code == 2
    assert says in refused.output


def test_a_list_is_no_json():
    refused = CliRunner().invoke(reproduce_command, ["--list", "--json", "-"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "leave --json out" in refused.stderr


def test_a_report_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    refused = CliRunner().invoke(reproduce_command, ["apq.fig6", "--out", str(tmp_path / "file/x")])
    assert refused.exit_code == 1
    assert f"{tmp_path}/file: is no directory; choose another name" in refused.output


@pytest.mark.long
def test_a_cluster_gives_the_same_claims(tmp_path):
    names = ["apq.fig6", "http.fig13"]
    here = run(*names, "--out", str(tmp_path / "here"), "--json", "-", "--workers", "1")
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as workers:
        out = ["--out", str(tmp_path / "there"), "--cluster", workers.scheduler_address]
        there = run(*names, *out, "--json", "-")
        assert there.exit_code == 0, there.output
        # Finished runs are kept here: the command needs no cluster any more.
        kept = len(list((tmp_path / "there" / "runs").rglob("*")))
    assert there.stdout == here.stdout
    assert kept == len(list((tmp_path / "here" / "runs").rglob("*")))
    assert (tmp_path / "there" / "index.html").is_file()


def test_the_list_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "apq.fig6" in run("apq", "--list").stdout
    assert not list(tmp_path.iterdir())
