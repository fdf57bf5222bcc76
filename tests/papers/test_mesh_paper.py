"""The MESH paper's items: on made-up networks that are as the paper says, and on others."""

import json
import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from judged import items, judged, outcomes, vague

from airqueue.simulate import Scenario
from airqueue_papers.claim import load
from airqueue_papers.item import Budget, Simulation
from airqueue_papers.mesh import ns2
from airqueue_papers.tried import AS_JUDGED, tried
from airqueue_papers.verdict import Verdict

ROOT = Path(__file__).parents[2]
ITEMS = items("mesh")
CLAIMS = {claim.id: claim for claim in load("mesh").claims.values() if claim.judged}
WITH_CALLS = ("table7", "table9")
TABLES = ("table3", "table4", "table6", *WITH_CALLS, "table8", "table10", "table11")
USUAL = ("fifo50", "default")


@dataclass(frozen=True)
class Seen:
    """What a made-up network shows."""

    kbps: float = 1000.0
    """Of each transfer."""
    ms: float = 100.0
    kbps_std: float = 0.0
    """Over the transfers, as the next."""
    ms_std: float = 0.0
    jitter_ms: float = 5.0
    call_ms: float = 30.0
    call_kbps: float = 8.0
    wait_ms: float = 500.0
    full: dict[str, float] | None = None
    """Drops of queues, by station."""
    given_up: float = 0.0
    mpdus: float = 64.0
    queued: float = 1.0
    paced: float = 1.0
    """What the flow over four hops has, relative to the others."""


@cache
def runs():
    """Description of a scenario -> item and name of a run; of an item that tells of it first."""
    found = {}
    last = ("allocation", "abstract", "paced", "table7", "table6", "table5")
    names = [*last, *(name for name in reversed(ITEMS) if name not in last)]
    for item in names:
        for name, run in ITEMS[item].runs(Budget.QUICK).items():
            if isinstance(run, Simulation):
                found[json.dumps(run.scenario, sort_keys=True)] = (item, name)
    return found


def printed(claim):
    return CLAIMS[claim].numbers[0]


def as_printed(item, run):
    """What the paper has of a run."""
    scheme = run.partition("-")[0]
    if item in TABLES:
        return of_table(item, scheme)
    if item == "table5":
        scheme = run.rpartition("-")[2]
        of = [printed(f"mesh.table5.{scheme}.{what}") for what in ("goodput", "rtt")]
        return Seen(kbps=1000 * of[0], ms=15 * of[1])
    if item == "fig8":
        last, source = (42, 30) if scheme == "equal" else (10, 75)
        drops = {"node1": last, "node4": source, "node3": 100 - last - source}
        return Seen(
            1000 if scheme == "equal" else 1025, 30 if scheme == "equal" else 27, full=drops
        )
    if item == "fig11":
        name, hops, _ = run.split("-")
        sized = {2: 30, 3: 50, 4: 67}[int(hops)]
        times = {2: 100 * sized, 3: 25 * sized, 4: 431}
        by_air = {2: 0, 3: 5, 4: 100}[int(hops)]
        large = name == "default"
        kbps = 1000 if large else 910 if hops == "4" else 950
        return Seen(kbps, times[int(hops)] if large else sized, full={"node1": 9}, given_up=by_air)
    return {
        "paced": Seen(kbps=300, paced=0.07),
        "related": Seen(kbps=1e3 * 0.88),
        "fig1": Seen(wait_ms=650),
    }.get(item, Seen())


def deviation(claim):
    return CLAIMS[claim].numbers[0] if claim in CLAIMS else 0.0


def of_table(item, scheme):
    what = "ftp_" if item in WITH_CALLS else ""
    mega = 1000 if item == "table11" else 1
    seen = Seen(
        kbps=mega * printed(f"mesh.{item}.{scheme}.{what}goodput"),
        ms=printed(f"mesh.{item}.{scheme}.{what}rtt"),
        given_up=50.0 if item == "table4" else 0.0,
        full={"node4": 9} if item == "table3" else None,
        kbps_std=deviation(f"mesh.{item}.{scheme}.{what}goodput_std"),
        ms_std=deviation(f"mesh.{item}.{scheme}.{what}rtt_std"),
    )
    if item in WITH_CALLS:
        delay = printed(f"mesh.{item}.{scheme}.voip_delay")
        rate = printed(f"mesh.{item}.{scheme}.voip_rate")
        jitter = printed(f"mesh.{item}.{scheme}.voip_jitter")
        return replace(seen, call_ms=delay, call_kbps=rate, jitter_ms=jitter)
    return seen


def network(change=lambda _item, _run, seen: seen):
    """A network that shows what the paper has, with a change."""

    def figures(scenario):
        if "interval_s" in scenario:
            item, run = runs()[json.dumps(scenario["scenario"], sort_keys=True)]
            return series(change(item, run, as_printed(item, run)))
        item, run = runs()[json.dumps(scenario, sort_keys=True)]
        return made_up(scenario, change(item, run, as_printed(item, run)))

    return figures


def series(seen):
    """Two packets, whose delays have the deviation."""
    delays = [(seen.ms + sign * seen.ms_std) / 1e3 for sign in (-1, 1)]
    of_queue = {"length_mean_packets": [1, 1]}
    of_flow = {"delay_mean_s": delays, "throughput_bps": [1, 1], "srtt_s": delays}
    return {"time_s": [101, 102], "queues": {"node1": of_queue}, "flows": {"up": of_flow}}


def deviating(count, mean, std):
    """Numbers with a mean and a standard deviation."""
    away = std * math.sqrt((count - 1) / 2)
    return [mean] * count if count < 2 else [mean + away, *[mean] * (count - 2), mean - away]


def made_up(scenario, seen):
    built = Scenario(scenario)
    transfers = [name for name in built.flows if not name.startswith("call")]
    flows = {
        name: {
            "delay_mean_s": seen.call_ms / 1e3,
            "delay_max_s": seen.wait_ms / 1e3,
            "throughput_bps": 1e3 * (seen.kbps if name in transfers else seen.call_kbps),
            "jitter_s": seen.jitter_ms / 1e3,
        }
        for name in built.flows
    }
    each = deviating(len(transfers), seen.kbps, seen.kbps_std)
    rates = {
        name: kbps * (seen.paced if name == "up4" else 1.0)
        for name, kbps in zip(transfers, each, strict=True)
    }
    times = dict(zip(transfers, deviating(len(transfers), seen.ms, seen.ms_std), strict=True))
    queue = {"length_mean_packets": seen.queued, "length_max_packets": 5 * seen.queued}
    station = {"mpdus_per_frame": seen.mpdus, "given_up_packets": seen.given_up}
    full = seen.full or {}
    return {
        "duration_s": 100.0,
        "flows": flows,
        "connections": {
            name: {"goodput_bps": 1e3 * kbps, "rtt_mean_s": times[name] / 1e3}
            for name, kbps in rates.items()
        },
        "calls": {},
        "pings": {},
        "frames": {},
        "drops": {},
        "pages": {},
        "videos": {},
        "beacons": {},
        "sleep": {},
        "absences": {},
        "associations": {},
        "interference": {},
        "signals": {},
        "queues": {
            name: {**queue, "dropped_packets": full.get(name, 0.0)} for name in built.stations
        },
        "stations": dict.fromkeys(built.stations, station),
        "medium": {},
        "limits": [{"station": name, "limit_packets": 3} for name in built.stations],
    }


def only(names, **factors):
    """A change of runs that begin with one of these names: figures times factors."""

    def change(_item, run, seen):
        if not any(run.startswith(name) or f"-{name}" in run for name in names):
            return seen
        return replace(seen, **{key: getattr(seen, key) * by for key, by in factors.items()})

    return change


def anywhere(**figures):
    return lambda _item, _run, seen: replace(seen, **figures)


SABOTAGE = {
    "mesh.fig1.delay": anywhere(wait_ms=450),
    "mesh.fig8.equal": anywhere(full={"node4": 9}),
    "mesh.fig8.weighted": anywhere(full={"node1": 9}),
    "mesh.fig8.rtt": only(["weighted"], ms=2),
    "mesh.fig8.tput": only(["weighted"], kbps=0.9),
    "mesh.fig11.goodput23": only(["sized"], kbps=0.8),
    "mesh.fig11.4hop_goodput": only(["sized"], kbps=0.7),
    "mesh.abs.loss": only(["sized"], kbps=0.9),
    "mesh.abs.rtt": only(["sized"], ms=3),
    "mesh.buf.ampdu": anywhere(mpdus=32.0),
    "mesh.related.enachescu": anywhere(kbps=300.0),
    "mesh.table5.fifo50.goodput": None,
    "mesh.table5.tcpap.rtt": None,
    "mesh.text.4hop_large": only(["default"], ms=3),
    "mesh.text.4hop_sized": only(["sized"], ms=3),
    "mesh.text.hardly_queues": anywhere(queued=10.0),
    "mesh.text.losses": anywhere(given_up=0.0),
    "mesh.text.modest": lambda item, _run, seen: (
        replace(seen, ms=100.0) if item == "table3" else seen
    ),
    "mesh.text.order": only(["sized"], kbps=1.5),
    "mesh.text.paced": anywhere(paced=0.5),
    "mesh.text.t7_bound": anywhere(call_ms=200.0),
    "mesh.text.t9_bound": anywhere(call_ms=200.0),
    "mesh.text.t7_combined": anywhere(call_kbps=200.0),
    "mesh.text.t7_gain": only(["tcpap"], kbps=1.2),
    "mesh.text.t9": anywhere(call_ms=50.0),
    "mesh.text.table5": only(["sized"], kbps=0.5),
    "mesh.text.updown": only(["down"], kbps=0.8),
    "mesh.text.unpaced": lambda _i, run, seen: replace(
        seen, paced=0.1 if run != "tcp-ap" else 0.07
    ),
    "mesh.text.wireless": anywhere(given_up=0.0),
}
"""None: normalised by itself."""


def sabotage(claim):
    """Return a change of the networks with which a claim is missed."""
    if claim in SABOTAGE:
        return SABOTAGE[claim]
    if claim.endswith("_std") or "jitter" in claim:
        return anywhere(kbps_std=0.0, ms_std=0.0, jitter_ms=0.0)
    if "goodput" in claim:
        return anywhere(kbps=10.0) if "table5" not in claim else only(["sized", "tcpap"], kbps=0.5)
    if "rate" in claim:
        return anywhere(call_kbps=6.0)
    if "voip_delay" in claim:
        return only(["fifo50", "tcpap", "sized"], call_ms=3)
    if "loss" in claim:
        return only(["sized", "tcpap"], kbps=0.7)
    # Round-trip times, and how much shorter they are.
    return (
        only(["sized", "tcpap"] if "table5" in claim else USUAL, ms=3)
        if (".text." in claim or "fig11" in claim)
        else only([claim.split(".")[2]], ms=3)
    )


MODELS = {claim.id for claim in CLAIMS.values() if claim.item in ("sizes", "allocation")}
"""Answered by models of the paper's equations: no run changes them."""
BEYOND = {
    *("mesh.eq.Bcross", "mesh.text.t9_loss", "mesh.abs.rtt"),
    *("mesh.table5.sized.goodput", "mesh.text.table5"),
}
"""What the paper does not keep to itself: B of eight nodes, Table 9, 4.6 in Table 8, and the 94 and
91 % of Tables 3 and 4, two of the chains that keep 96 % in Table 5."""


def test_every_claim_has_an_item_and_every_item_a_claim():
    assert {claim.item for claim in CLAIMS.values()} == set(ITEMS)


@pytest.mark.parametrize("name", ITEMS)
def test_networks_as_the_paper_has_them_reproduce_all(name):
    missed = {
        key: (record.reason, record.ours)
        for key, record in judged("mesh", ITEMS[name], network()).items()
        if record.verdict not in (Verdict.REPRODUCED, Verdict.NOT_TESTABLE)
        and not (record.verdict is Verdict.UNDECIDED and vague(record.claim))
    }
    assert set(missed) <= BEYOND, missed


@pytest.mark.parametrize("name", sorted(set(CLAIMS) - MODELS))
def test_another_network_does_not_reproduce_it(name):
    claim = CLAIMS[name]
    change = sabotage(name)
    if claim.not_testable or change is None:
        assert claim.not_testable or claim.by_construction
        return
    record = judged("mesh", ITEMS[claim.item], network(change))[name]
    assert record.verdict is not Verdict.REPRODUCED, record


LOSSES = (
    *("mesh.text.tput_loss", "mesh.text.tput_loss_t4", "mesh.text.t6_ap_loss"),
    *("mesh.text.t6_ours_loss", "mesh.text.t8_ap_loss", "mesh.text.t8_ours_loss"),
    *("mesh.text.t9_loss", "mesh.text.t10_loss", "mesh.text.t11_loss"),
    *("mesh.fig11.goodput23", "mesh.fig11.4hop_goodput", "mesh.text.table5"),
    *("mesh.table3.sized.goodput", "mesh.table6.tcpap.goodput", "mesh.table11.sized.goodput"),
)


@pytest.mark.parametrize("name", LOSSES)
def test_no_loss_holds_where_the_scheme_gains(name):
    gains = only(["sized", "tcpap"], kbps=1.2)
    record = judged("mesh", ITEMS[CLAIMS[name].item], network(gains))[name]
    assert record.verdict in (Verdict.NOT_REPRODUCED, Verdict.UNDECIDED)
    if not vague(CLAIMS[name]):
        assert record.verdict is Verdict.NOT_REPRODUCED


def test_no_gain_holds_with_the_sign_reversed():
    paced = network(only(["tcpap"], kbps=1.2))
    assert judged("mesh", ITEMS["table7"], paced)["mesh.text.t7_gain"].verdict is (
        Verdict.NOT_REPRODUCED
    )
    weighted = network(only(["weighted"], kbps=0.9, ms=1.5))
    found = judged("mesh", ITEMS["fig8"], weighted)
    for name in ("mesh.fig8.tput", "mesh.fig8.rtt"):
        assert found[name].verdict is Verdict.NOT_REPRODUCED


def test_what_schemes_are_compared_by_has_a_tolerance_from_the_comparison():
    compared = [
        claim
        for claim in CLAIMS.values()
        if claim.item in (*TABLES, "table5", "deviations") and claim.sort != "statement"
        if not claim.not_testable
        if claim.comparator == "=" and not claim.by_construction and ".table" in claim.id
    ]
    assert len(compared) > 40
    for claim in compared:
        assert claim.effects and claim.margins[0] <= claim.effects[0] / 4 + 1e-12, claim.id


def test_a_setting_explains_all_cells_of_a_table_or_some():
    """Each cell is right in another setting: no setting explains both, and no verdict is mixed."""

    def figures(_item, run, seen):
        scheme, _, variant = run.partition("-")
        wrong = "sized" if variant == "ack2" else "tcpap"
        longer = scheme == wrong and variant != "control11"
        return replace(seen, ms=1.4 * seen.ms) if longer else seen

    of = ITEMS["table6"]
    claims = [claim for claim in CLAIMS.values() if claim.item == "table6"]
    seen = outcomes(of, network(figures))
    records = list(judged("mesh", of, network(figures)).values())
    found = {each.setting: each.counts for each in tried("mesh.table6", of, claims, seen, records)}
    words = [each.words for each in of.settings]
    assert list(found) == [AS_JUDGED, *words]
    numbers = {sum(counts) for counts in found.values()}
    assert numbers == {sum(claim.sort != "statement" for claim in claims)}
    assert found[AS_JUDGED][1] > 0 < found[words[0]][1]
    assert found[words[1]][1] == 0 < found[words[1]][0]
    missed = {each.claim.id for each in records if each.missed}
    assert "mesh.table6.tcpap.rtt" in missed
    assert "mesh.table6.sized.rtt" not in missed


def test_tcp_s_own_estimates_are_told_beside_the_print():
    table3, table4 = ITEMS["deviations"].says(outcomes(ITEMS["deviations"], network()))
    assert "22 (2.83) with sized buffers, printed 22 (2)" in table3
    assert table4.startswith("Table 4: TCP's own estimate")


def test_every_item_with_settings_has_their_runs():
    for name, item in ITEMS.items():
        for budget in Budget:
            of_item = item.runs(budget)
            for setting in item.settings:
                assert {*setting.runs, *setting.runs.values()} <= of_item.keys(), name


@pytest.mark.parametrize("budget", Budget)
def test_runs_are_scenarios(budget):
    for item in ITEMS.values():
        for name, run in item.runs(budget).items():
            assert sum(work.weight for work in run.works()) > 0
            if isinstance(run, Simulation) and budget is Budget.QUICK:
                assert Scenario(json.loads(json.dumps(run.scenario))).flows, name


@pytest.mark.parametrize("name", ITEMS)
def test_pictures_have_points_on_every_line(name):
    for picture in ITEMS[name].pictures(outcomes(ITEMS[name], network())):
        for line in (line for panel in picture.panels for line in panel.series):
            assert len(line.x) == len(line.y) > 0
            assert any(each is not None for each in line.y)


def test_rows_of_ns2_are_those_of_the_validation():
    files = (
        ROOT / "papers/airqueue_papers/ns2_mesh.csv",
        ROOT / "validation/references_mesh.csv",
    )
    own, all_rows = (file.read_text("utf-8").splitlines() for file in files)
    assert own[0] == all_rows[0]
    assert set(own) <= set(all_rows)


def test_ns2_is_asked_by_network():
    assert ns2.of("chain-4-130", "fifo50", "rtt") == pytest.approx(492.5, abs=0.1)
    assert ns2.of("cross-calls", "fifo50", "call") == pytest.approx(190.7, abs=0.1)
    assert ns2.of("cross", "tcpap", "rtt") is None
    assert ns2.shorter("chain-4-200", "sized") == pytest.approx(0.27466 / 0.02879, abs=0.01)
    assert ns2.lost_percent("chain-4-200", "sized") == pytest.approx(9.4, abs=0.05)
