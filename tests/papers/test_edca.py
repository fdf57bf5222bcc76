"""The EDCA paper's items: on a made-up test bed as the paper has it, and on ones that are not."""

import math

import pytest
from judged import items, judged, outcomes

from airqueue.models.battiti_li import battiti_li
from airqueue.simulate import Scenario
from airqueue_papers.claim import load
from airqueue_papers.edca.parameters import measured_step_us
from airqueue_papers.edca.scenarios import Access, Pair, Shared, Transfers
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget
from airqueue_papers.verdict import Verdict

ITEMS = items("edca")
CLAIMS = [claim for claim in load("edca").claims.values() if claim.judged]
STEP_US = 1290
SIFS_US = 10


def network(scenario):
    """A test bed that does what the paper says."""
    groups = {station["name"]: station.get("count", 1) for station in scenario["stations"]}
    sources = {flow.get("source", "saturated") for flow in scenario["flows"]}
    if "second" in groups:
        return pair(scenario)
    if "near" in groups:
        return advantage(scenario, groups, "tcp" if "tcp" in sources else "udp")
    if "tcp" in sources:
        return transfers(scenario, groups)
    if groups.get("sta") == 11:
        names = [name for name in members(groups) if name != "ap"]
        return {"flows": {name: {"throughput_bps": 5e5} for name in names}}
    return {"stations": {name: {"acknowledged_packets": 7} for name in members(groups)}}


def members(groups):
    for name, count in groups.items():
        if name != "down":
            yield from [name] if name == "ap" else [f"{name}{k}" for k in range(count)]


def pair(scenario):
    keys = scenario["stations"][2]["mac"]["edca"]["be"]
    aifs, cw_min = keys["aifsn"] - 2, keys["cw_min"]
    ratio = float(battiti_li([1, 1], [0, min(aifs, 8)], [31, cw_min]).ratio(1, 0))
    # Beyond eight slots the share falls faster than the model's, whose ratio grows by 0.09 a slot.
    ratio *= math.exp(-0.13 * max(aifs - 8, 0))
    amount, unit = keys["txop"].split()
    packets = int(amount) if unit == "packets" else (int(amount) + SIFS_US) // STEP_US
    packets = max(1, packets)
    flows = {"first": 1e6, "second": 1e6 * ratio * packets}
    return {"flows": {name: {"delivered_packets": count} for name, count in flows.items()}}


def advantage(_scenario, groups, source):
    flows = {name: {"throughput_bps": 5e5} for name in members(groups) if name != "ap"}
    near = {"throughput_bps": 6e5 if source == "udp" else 1e6}
    flows.pop("near0")
    return {"flows": flows | {"near": near}}


def transfers(scenario, groups):
    window = int(scenario["tcp"]["window"].split()[0])
    fair = scenario.get("mac", {}).get("access") == "edca"
    rates = {f"{kind}{k}": 500e3 for kind in ("up", "down") for k in range(groups.get(kind, 0))}
    if not fair:
        starved = groups.get("up", 0) // 3
        for k in range(starved):
            rates[f"up{k}"] = 1e3
        rates |= {name: 2e3 for name in rates if name.startswith("down")}
    connection = {
        "retransmitted_segments": 0 if window < 100 else 9,
        "ack_packets": 1000,
        "lost_ack_packets": 0,
        "timeouts": 1,
    }
    queues = {"up0.be" if fair else "up0": {"length_mean_packets": 9, "dropped_packets": 5}}
    queues["up0.be" if fair else "up0"]["offered_packets"] = 100
    queues["ap.vo" if fair else "ap"] = {"length_mean_packets": 0.1}
    return {
        "duration_s": 60.0,
        "connections": {name: connection | {"goodput_bps": rate} for name, rate in rates.items()},
        "queues": queues,
    }


def changed(change):
    """The test bed with other figures."""

    def other(scenario):
        figures = network(scenario)
        change(figures, scenario)
        return figures

    return other


def connections(**other):
    def change(figures, _scenario):
        for connection in figures.get("connections", {}).values():
            connection.update(other)

    return changed(change)


def all_alike(figures, _scenario):
    for connection in figures.get("connections", {}).values():
        connection["goodput_bps"] = 5e5


def one_starves(figures, _scenario):
    for name, connection in figures.get("connections", {}).items():
        connection["goodput_bps"] = 1e3 if name in ("up0", "up1") else 5e5


def downloads_halved(figures, _scenario):
    for name, connection in figures.get("connections", {}).items():
        if name.startswith("down"):
            connection["goodput_bps"] /= 2


def nobody_ahead(figures, _scenario):
    if "near" in figures.get("flows", {}):
        figures["flows"]["near"]["throughput_bps"] = 5e5


def second(factor):
    """The second of two stations has so many times as much, by its parameters."""

    def change(figures, scenario):
        if "second" in figures.get("flows", {}):
            keys = scenario["stations"][2]["mac"]["edca"]["be"]
            figures["flows"]["second"]["delivered_packets"] *= factor(keys)

    return changed(change)


def ap_wins_twice(figures, _scenario):
    if "stations" in figures:
        figures["stations"]["ap"]["acknowledged_packets"] *= 2


def both_alike(figures, _scenario):
    figures["flows"]["second"] = figures["flows"]["first"]


def small_packets_lose(figures, scenario):
    if scenario["flows"][0].get("size") == "378 B":
        figures["flows"]["second"]["delivered_packets"] *= 0.8


SABOTAGE = {
    "edca.table1.aimd": connections(retransmitted_segments=3),
    "edca.table1.range": changed(all_alike),
    "edca.table2.acks": connections(lost_ack_packets=50),
    "edca.fig1": changed(nobody_ahead),
    "edca.fig2": changed(nobody_ahead),
    "edca.fig3.step": second(lambda keys: 1 + int(keys["txop"].split()[0]) / 2000),
    "edca.fig3.shape": second(lambda _: 1.1),
    "edca.fig4": second(lambda keys: 0.8 if keys["aifsn"] > 6 else 1),
    "edca.fig4.exponential": second(lambda keys: 5 if keys["aifsn"] > 20 else 1),
    "edca.fig5": second(lambda keys: 3 if keys["cw_min"] == 127 else 1),
    "edca.fig5.model": second(lambda keys: 1.2 if keys["cw_min"] == 3 else 1),
    "edca.sec4.sizes": changed(small_packets_lose),
    "edca.sec5.three": changed(all_alike),
    "edca.sec5.share": changed(ap_wins_twice),
    "edca.sec5.dlshare": changed(ap_wins_twice),
    "edca.fig6": changed(all_alike),
    "edca.fig7": changed(all_alike),
    "edca.fig8": changed(one_starves),
    "edca.fig8.restored": changed(one_starves),
    "edca.fig9": changed(downloads_halved),
    "edca.sec52.range": changed(one_starves),
}


OF_SEVERAL_TESTS = {"edca.cal.short", "edca.cal.minute"}
"""Made-up tests are alike: `test_the_lengths_of_tests` has some that vary."""


@pytest.mark.parametrize(
    ("spread", "holds"),
    [
        ({15: 0.2, 60: 0.1, 300: 0.1}, (True, True)),
        ({15: 0.1, 60: 0.1, 300: 0.1}, (False, True)),
        ({15: 0.2, 60: 0.1, 300: 0.05}, (True, False)),
    ],
)
def test_the_lengths_of_tests(spread, holds):
    def of(length):
        run = ITEMS["cal"].runs(Budget.QUICK)[f"{length}"]
        flows = [f"sta{k}" for k in range(11)]
        tests = [1 + spread[length] * (-1) ** k for k in range(run.replications)]
        return run.outcome(
            [{"flows": {name: {"throughput_bps": 5e5 * by} for name in flows}} for by in tests]
        )

    found = ITEMS["cal"].compare({f"{length}": of(length) for length in spread})
    assert tuple(finding.holds for finding in found) == holds


def test_parameters_that_do_nothing_have_no_effect_that_is_similar():
    record = judged("edca", ITEMS["sizes"], changed(both_alike))["edca.sec4.sizes"]
    assert record.verdict is Verdict.NOT_REPRODUCED


def test_every_claim_has_an_item_and_every_item_a_claim():
    assert {claim.item for claim in CLAIMS} == set(ITEMS)


@pytest.mark.parametrize("name", ITEMS)
def test_a_test_bed_as_the_paper_has_it_reproduces_all(name):
    missed = {
        key: record.reason
        for key, record in judged("edca", ITEMS[name], network).items()
        if record.verdict not in (Verdict.REPRODUCED, Verdict.NOT_TESTABLE)
    }
    assert not missed


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_another_test_bed_does_not_reproduce_it(claim):
    setting = claim.by_construction and claim.place.startswith("Table")
    if claim.not_testable or setting or claim.id in OF_SEVERAL_TESTS:
        assert claim.id not in SABOTAGE
        return
    record = judged("edca", ITEMS[claim.item], SABOTAGE[claim.id])[claim.id]
    assert record.verdict is not Verdict.REPRODUCED


def test_settings_are_not_reproduced_by_other_scenarios():
    # What is by construction is still read off the scenario that was run.
    def other(run):
        if "edca" in run.scenario["mac"]:
            for holder in (run.scenario, run.scenario["stations"][0]):
                for keys in holder["mac"]["edca"].values():
                    keys |= {"aifsn": 9, "cw_min": 7, "txop": "2 packets"}
        else:
            run.scenario["queue"] = {"limit": "9 packets", "ring": "9 packets"}
            run.scenario["tcp"]["window"] = "9 packets"

    for name in ("table1", "table2"):
        found = outcomes(ITEMS[name], network)
        for run in found.values():
            other(run)
        for finding in ITEMS[name].compare(found):
            claim = load("edca").claims[finding.claim]
            if claim.by_construction:
                ours = [value.mean for value in finding.ours]
                assert finding.holds is False or ours != claim.numbers, claim.id


@pytest.mark.parametrize("budget", Budget)
def test_runs_are_scenarios(budget):
    runs = {key: run for item in ITEMS.values() for key, run in item.runs(budget).items()}
    for name, run in runs.items():
        assert Scenario(run.scenario).flows, name
        assert run.weight > 0


@pytest.mark.parametrize("name", ITEMS)
def test_pictures_have_points_on_every_line(name):
    pictures = list(ITEMS[name].pictures(outcomes(ITEMS[name], network)))
    assert pictures or name in ("cal", "table2")
    for line in (line for p in pictures for panel in p.panels for line in panel.series):
        assert len(line.x) == len(line.y) > 0


def test_scenarios_say_what_the_paper_means():
    # AIFS above DIFS, CWmin as a number of values; n + 1 stations; flows one to a station.
    keys = Pair(Access(4, 32)).scenario(1)["stations"][2]["mac"]["edca"]["be"]
    assert (keys["aifsn"], keys["cw_min"], keys["cw_max"]) == (6, 31, 1023)
    assert len(Scenario(Shared(3, 2).scenario(1)).flows) == 5
    fair = Scenario(Transfers(3, 2, "table2", background_mbps=0.5).scenario(1))
    assert len(fair.flows) == 6
    assert len(fair.stations) == 7


def test_steps_are_found_between_the_txops_tried():
    ratios = {us: Value(1.0 + us // 1000) for us in range(0, 6000, 100)}
    assert measured_step_us(ratios) == pytest.approx(1000)
    assert measured_step_us({0: Value(1.0), 100: Value(1.0)}) == 0.0
