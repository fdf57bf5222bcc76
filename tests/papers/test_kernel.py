"""The papers' schemes with the kernel's TCP: arithmetic on known runs, kept results, a tiny item."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from judged import items, made_up

from airqueue import _native
from airqueue.linux.virtual import machine
from airqueue.runs import Local, Store
from airqueue.simulate import Scenario
from airqueue.stats import t_interval
from airqueue_papers.command import reproduce_command
from airqueue_papers.emulation import KIND, Emulation, Transfer, transfers
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget, Item
from airqueue_papers.kernel import (
    aggregates,
    calls,
    chains,
    compare,
    delays,
    ends,
    fairness,
    measured,
    rates,
)
from airqueue_papers.reproduction import Chosen, choose, exact_before, missing, reproduce
from airqueue_papers.site.runs import ScenarioFile

ITEMS = [each.ITEM for each in (delays, rates, fairness, calls, chains, aggregates)]
ENOUGH = compare.Measure("the goodput", "Mb/s", lambda run: run["goodput"], " Mb/s")
APART = replace(ENOUGH, relative=False)


def runs(*values):
    return [{"goodput": each} for each in values]


def test_a_relative_difference_is_that_of_geometric_means():
    found = ENOUGH.difference(runs(3.0, 5.0, 4.0), runs(2.0, 2.0, 1.0))
    of = t_interval([math.log(1.5), math.log(2.5), math.log(4.0)])
    expected = [100 * math.exp(end) - 100 for end in (of.mean, of.low, of.high)]
    assert (found.mean, found.low, found.high) == pytest.approx(expected)
    assert found.mean == pytest.approx(100 * 15 ** (1 / 3) - 100)
    # A hundredth: no interval says that more than all is lost.
    assert ENOUGH.difference(runs(1.0, 1.0, 1.0), runs(50.0, 150.0, 100.0)).low > -100
    with pytest.raises(ValueError, match="the goodput is zero in a run"):
        ENOUGH.difference(runs(0.0, 1.0), runs(1.0, 1.0))
    assert ENOUGH.difference_text(Value(12.34, 1.0, -2.0)) == "+12.3 % [+1.0, −2.0]"


def test_another_difference_has_the_unit():
    found = APART.difference(runs(3.0, 5.0), runs(2.0, 2.0))
    assert found.mean == 2.0
    assert APART.difference_text(Value(-0.5, -1.0, 0.25)) == "−0.50 Mb/s [−1.00, +0.25]"
    assert APART.difference_text(Value(-0.5)) == "−0.50 Mb/s"


@pytest.mark.parametrize(
    ("effect", "told"),
    [
        (Value(1, 0.1, 2), ""),
        (Value(-1, -2, -0.1), ""),
        (Value(1), ""),
        (Value(1, -0.1, 2), ", not told from none"),
    ],
)
def test_an_interval_with_zero_is_no_effect(effect, told):
    assert compare._verdict(effect) == told


def connections(case, bps):
    """Figures of a run in which all connections of a case have goodputs by this function."""
    scheme = next(iter(case.schemes.values()))
    names = [each.name for each in Emulation(scheme, "cubic", 1, 1.0, 1.0).transfers]
    made = {name: {"goodput_bps": bps(name), "rtt_mean_s": 0.1} for name in names}
    return {"kernel": "6.1.0", "connections": made, "calls": {}}


def test_what_the_scheme_does_and_how_the_two_differ():
    """Far flows have a quarter under drop-tail and the same under RDQM; ours all the same."""
    far = {f"flow{i}" for i in (5, 6)}

    def figures(name):
        starved = "kernel" in name and name.endswith("drop-tail")
        return connections(delays.CASE, lambda flow: 0.25e6 if starved and flow in far else 1e6)

    outcomes = made_up(delays.ITEM, figures)
    question, changes, apart, origin = delays.ITEM.says(outcomes)
    assert question.endswith("with the kernel's TCP?")
    assert "goes from 0.25 to 1.00 (+0.75 [+0.75, +0.75]) with the kernel's CUBIC, from" in changes
    assert "with ours the change is +0.00 [+0.00, +0.00], not told from none, +0.00" in changes
    same, starved = apart.split(" under RDQM, and by ")
    assert same.count("+0.00 [+0.00, +0.00]") == starved.count("−0.75 [−0.75, −0.75]") == 3
    assert "Linux 6.1.0 as Debian packages user-mode Linux" in origin
    assert f"; {compare.SEEDS} seeds for each mean" in origin


def test_a_scheme_that_is_switched_off_has_no_effect():
    def figures(name):
        case = fairness.UPLOADS if name.startswith("uploads") else fairness.MIXED
        return connections(case, lambda flow: 1e6 if flow.startswith("up") else 1e4)

    for changes in list(fairness.ITEM.says(made_up(fairness.ITEM, figures)))[1:-1:2]:
        assert changes.count("not told from none") == 6


@pytest.mark.parametrize(
    ("of", "case"),
    [
        (delays.ITEM, delays.CASE),
        (rates.ITEM, rates.CASE),
        (fairness.ITEM, fairness.MIXED),
    ],
    ids=lambda each: each.name,
)
def test_a_starved_connection_without_round_trips_is_no_obstacle(of, case):
    def figures(name):
        run = connections(case, lambda flow: 1e5)
        run["connections"][next(iter(run["connections"]))].update(goodput_bps=0.0, rtt_mean_s=None)
        return run

    outcomes = made_up(of, figures)
    assert list(of.says(outcomes))
    assert list(of.pictures(outcomes))


def with_calls(case, ratings):
    """A run with goodputs of 1 Mb/s, and calls with these ratings."""
    figures = {"mos": 4.0, "mouth_to_ear_s": 0.1, "late_ratio": 0.0}
    made = {f"call{at}": {"r_factor": r, **figures} for at, r in enumerate(ratings)}
    return {**connections(case, lambda flow: 1e6), "calls": made}


def test_the_worst_direction_of_a_call_counts():
    assert calls.worst_rating(with_calls(calls.APART, [93.0, 41.5, 80.0])) == 41.5
    # Nothing arrived; values below 0 are as bad as 0.
    assert calls.worst_rating(with_calls(calls.APART, [93.0, None])) == 0.0
    assert calls.worst_rating(with_calls(calls.APART, [93.0, -12.0])) == 0.0


def test_the_scheme_is_compared_with_both_settings_that_lack_it():
    ratings = {"802.11b": [30.0], "802.11e": [93.0], "Table 2": [90.0]}

    def figures(name):
        case = calls.APART if "apart" in name else calls.TOGETHER
        return with_calls(case, ratings[name.rpartition("-")[2]])

    sentences = " ".join(calls.ITEM.says(made_up(calls.ITEM, figures)))
    assert sentences.count("goes from 30.0 to 90.0 (+60.0 [+60.0, +60.0]) with the kernel's") == 2
    assert sentences.count("goes from 93.0 to 90.0 (−3.0 [−3.0, −3.0]) with the kernel's") == 2


def test_the_least_size_that_keeps_the_goodput_is_named():
    """Goodput grows with the size where frames carry many, and not where they carry one."""

    def figures(name):
        case = aggregates.CASES[name.partition("-")[0]]
        if name.startswith("single") or "-times" not in name:
            return connections(case, lambda flow: 8e6)
        multiple = int(name.rpartition("times")[2])
        return connections(case, lambda flow: min(8e6, 1e6 * multiple))

    sentences = list(aggregates.ITEM.says(made_up(aggregates.ITEM, figures)))
    assert "B = 13.3 packets" in sentences[0]
    single, aggregated = [each for each in sentences if "the least size" in each]
    assert "that keeps 90 % of the 8.0 Mb/s with 1000 packets at each node is B itself" in single
    assert "is 8 times B, at round trips of 100 ms" in aggregated


def test_kept_calls_are_read_again():
    of = calls.ITEM.runs(Budget.QUICK)
    run = with_calls(calls.APART, [93.0, None])
    for each in run["connections"].values():
        each |= {"mss_bytes": 1448, "segments": 7, "retransmitted_segments": 0}
    made = {work.key: run for each in of.values() for work in each.works() if work.kind == KIND}
    again = measured.read(measured.replaced("", {"beyond.kernel-calls": of}, made))
    assert {key[:16]: each for key, each in made.items()} == again


def test_other_items_of_a_table_keep_their_rows():
    def made(of, bps):
        run = with_calls(calls.APART, [93.0])
        for each in run["connections"].values():
            each |= {"goodput_bps": bps, "mss_bytes": 7, "segments": 7, "retransmitted_segments": 0}
        works = [work for each in of.runs(Budget.QUICK).values() for work in each.works()]
        return {work.key: run for work in works if work.kind == KIND}

    def table(before, of, bps):
        runs = of.runs(Budget.QUICK)
        return measured.replaced(before, {f"beyond.{of.name}": runs}, made(of, bps))

    both = table(table("", calls.ITEM, 1.0), aggregates.ITEM, 2.0)
    again = measured.read(table(both, calls.ITEM, 3.0))
    goodputs = {run["connections"]["up1"]["goodput_bps"] for run in again.values()}
    assert goodputs == {2.0, 3.0}
    assert len(again) == len(made(calls.ITEM, 0.0)) + len(made(aggregates.ITEM, 0.0))


@pytest.mark.parametrize("of", ITEMS, ids=lambda of: of.name)
def test_exact_runs_and_simulations_have_one_network(of):
    exact = {name: run for name, run in of.runs(Budget.QUICK).items() if isinstance(run, Emulation)}
    assert len(exact) == sum("-ours-" in name for name in of.runs(Budget.QUICK))
    assert of.runs(Budget.QUICK) == of.runs(Budget.FULL)
    for name, run in exact.items():
        simulation = of.runs(Budget.QUICK)[name.replace("-kernel-", "-ours-")]
        Scenario(run.scenario)
        nodes = sorted({end for each in run.transfers for end in (each.sender, each.receiver)})
        _native.Emulation(json.dumps(run.scenario), nodes, 1)
        flows = set(Scenario(simulation.scenario).flows)
        real = {each.name for each in run.transfers}
        assert real <= flows
        # What is not of TCP goes on in the exact run.
        assert flows - real <= set(Scenario(run.scenario).flows)
        differs = {"tcp", "flows", "warm_up"}
        of_both = (
            {k: v for k, v in s.items() if k not in differs}
            for s in (run.scenario, simulation.scenario)
        )
        assert len({json.dumps(each, sort_keys=True) for each in of_both}) == 1


def test_groups_are_as_many_transfers_and_categories_are_codepoints():
    table2 = Emulation(fairness.MIXED.schemes["Table 2"], "cubic", 1, 1.0, 1.0).transfers
    assert Transfer("up1", "up1", "ap", 0, 46 << 2) in table2
    assert Transfer("down6", "ap", "down6", 0, 46 << 2) in table2
    assert len(table2) == 12
    usual = Emulation(fairness.MIXED.schemes["802.11b"], "cubic", 1, 1.0, 1.0).transfers
    assert {(each.tos, each.ack_tos) for each in usual} == {(0, 0)}


def test_packets_of_programs_take_the_route_and_have_the_reports_of_the_flow():
    there, back = Emulation(chains.CLOSE.schemes["sized"], "cubic", 1, 1.0, 1.0).scenario["flows"]
    assert there["via"] == back["via"][::-1] == ["node3", "node2", "node1"]
    scenario = Emulation(rates.CASE.schemes["RDQM"], "cubic", 1, 1.0, 1.0).scenario
    told = {flow["rdqm_rtt"] for flow in scenario["flows"] if "rdqm_rtt" in flow}
    assert told == {"160 ms", "10 ms", "240 ms", "100 ms", "200 ms", "30 ms"}


def test_a_table_of_results_has_them_again():
    of = delays.ITEM.runs(Budget.QUICK)
    made = {
        work.key: {
            "kernel": "6.1.0",
            "calls": {},
            "connections": {
                "flow1": {
                    "goodput_bps": 0.1 * number,
                    "rtt_mean_s": None if number == 1 else 0.1,
                    "mss_bytes": 1448,
                    "segments": number,
                    "retransmitted_segments": 0,
                }
            },
        }
        for run in of.values()
        for number, work in enumerate(run.works())
        if work.kind == KIND
    }
    again = measured.read(measured.replaced("", {"beyond.kernel-delays": of}, made))
    assert {key[:16]: each for key, each in made.items()} == again


@pytest.mark.parametrize("name", [of.name for of in ITEMS])
def test_the_distribution_has_the_results_of_the_present_scenarios(name, tmp_path):
    (chosen,) = choose([f"beyond.{name}"])
    shown, known = exact_before([chosen], Budget.QUICK, Store(tmp_path))
    assert shown == [chosen]
    kernels = {result["kernel"].split(".")[0] for result in known.values()}
    assert kernels == {"6"}
    connections = [of for result in known.values() for of in result["connections"].values()]
    # Connections that starve from the beginning have not agreed on a size.
    assert all(of["mss_bytes"] == 1448 for of in connections if of["goodput_bps"] > 0)


def test_results_of_ones_own_come_before_those_of_the_distribution(tmp_path, monkeypatch):
    (chosen,) = choose(["beyond.kernel-chains"])
    store = Store(tmp_path)
    exact = [work for work in missing([chosen], Budget.QUICK, store) if work.kind == KIND]
    monkeypatch.setattr(measured, "results", lambda works: {"there": 1})
    for work in exact[:-1]:
        store.write(work, {})
    assert exact_before([chosen], Budget.QUICK, store) == ([chosen], {"there": 1})
    monkeypatch.setattr(measured, "results", lambda works: None)
    assert exact_before([chosen], Budget.QUICK, store) == ([], {})
    store.write(exact[-1], {})
    assert exact_before([chosen], Budget.QUICK, store) == ([chosen], {})


def test_exact_is_for_items_that_are_exact():
    done = CliRunner().invoke(reproduce_command, ["rdqm.fig2", "--exact"])
    assert done.exit_code == 2
    assert "--exact is for apq.host-ap, beyond.kernel-delays, beyond.kernel-rates" in done.stderr
    listed = CliRunner().invoke(reproduce_command, ["beyond", "--list"]).stdout
    assert " ".join(listed.split()).count("(with --exact)") == len(ITEMS)


def test_a_machine_without_user_mode_linux_is_told_before_any_run(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    done = CliRunner().invoke(reproduce_command, ["beyond.kernel-chains", "--exact"])
    assert isinstance(done.exception, machine.MachineUnavailableError)
    assert "apt-get install user-mode-linux" in str(done.exception)


def test_the_scenario_of_an_exact_run_says_how_to_run_programs_there():
    run = chains.ITEM.runs(Budget.QUICK)["table3-kernel-cubic-sized"]
    file = ScenarioFile("x", "scenarios/x.toml", run)
    assert file.command == (
        "airqueue emulate scenarios/x.toml --exact --real gateway --at node4 -- PROGRAM"
    )
    assert file.runs == compare.SEEDS


def test_both_ends_count_what_the_kernel_counts(tmp_path):
    """On this machine's loopback, in real time."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    end = {"name": "up", "port": port, "tos": 0}
    task = {
        "receive": [end],
        "send": [{**end, "address": "127.0.0.1", "start_s": 0.0}],
        "from_s": 0.2,
        "until_s": 0.6,
        "result": str(tmp_path / "result"),
    }
    program = [sys.executable, "-I", "-S", ends.__file__, json.dumps(task)]
    subprocess.run(program, check=True, timeout=60)
    received, sent = json.loads(Path(task["result"]).read_text())["ends"]
    assert received["received_bytes"] > 0
    assert sent["rtt_mean_s"] > 0
    assert sent["mss_bytes"] > 1000
    # A segment has one maximum segment size at most, and some are in flight at either look.
    assert 1.5 * sent["segments"] * sent["mss_bytes"] > received["received_bytes"]


TINY = compare.linux(
    {
        "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "5 ms"}],
        "flows": [{"name": "down", "from": "server", "to": "sta", "source": "tcp"}],
    }
)


@pytest.mark.long
@pytest.mark.usefixtures("user_mode_linux")
def test_a_tiny_item_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "CONGESTION", compare.CONGESTION[1:2])
    monkeypatch.setattr(compare, "SEEDS", 2)
    monkeypatch.setattr(compare, "WARM_UP_S", 2.0)
    monkeypatch.setattr(compare, "COUNTED_S", 3.0)
    slow = {**TINY, "phy": {"standard": "802.11b", "rate": "5.5 Mb/s"}}
    case = compare.Case("tiny", {"slow": slow, "fast": TINY})

    def says(outcomes):
        words = compare.Words("With 11 Mb/s", "at 5.5 Mb/s", "at 11 Mb/s")
        yield from compare.sentences(outcomes, case, delays.TOTAL, words)
        yield compare.origin(outcomes, case)

    item = Item("tiny", "Tiny", lambda _: (), case.runs, says=says, exact=True)
    chosen, store = [Chosen("beyond", item)], Store(tmp_path)
    (done,) = reproduce(chosen, Budget.QUICK, store, Local(2))
    assert not missing(chosen, Budget.QUICK, store)
    reno, apart, origin = done.sentences
    assert reno.startswith("With 11 Mb/s the goodput of all six goes from")
    assert "not told from none" not in reno
    assert apart.startswith("The kernel's TCP differs from ours")
    assert "Linux 6." in origin
    work, other = case.runs(Budget.QUICK)["tiny-kernel-reno-fast"].works()
    assert transfers(work.inputs) == store.read(work) != store.read(other)
    (connection,) = store.read(work)["connections"].values()
    assert 3e6 < connection["goodput_bps"] < 7e6
    assert 0.01 < connection["rtt_mean_s"] < 1.0
    assert connection["mss_bytes"] == 1448


def test_items_are_those_of_the_page_beyond():
    assert [of for of in items("beyond").values() if of.exact] == ITEMS
