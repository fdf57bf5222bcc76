"""The airtime paper's items: on a made-up test bed as the print has it, and on ones that are not."""

import math

import pytest
from judged import check_scenarios, items, judged, outcomes

from airqueue.simulate import Scenario
from airqueue_papers import mechanism
from airqueue_papers.anomaly import figures
from airqueue_papers.anomaly.airtimes import gain_by_frames
from airqueue_papers.anomaly.scenarios import AIRTIME, FIFO, FQ_CODEL, FQ_MAC, LEGACY, Case
from airqueue_papers.anomaly.table1 import modelled_mbps
from airqueue_papers.claim import load
from airqueue_papers.item import Budget
from airqueue_papers.mechanism import needs_grounds
from airqueue_papers.tally import tally
from airqueue_papers.verdict import UNREAD, Verdict

ITEMS = items("anomaly")
CLAIMS = [claim for claim in load("anomaly").claims.values() if claim.judged]
DURATION_S = 10.0
UDP = {
    # Scheme -> Mb/s, share of the airtime in per cent, bytes of a frame; fast, fast, slow.
    FIFO: ((7.1, 6.3, 5.3), (10, 11, 79), (6892, 7833, 2914)),
    AIRTIME: ((38.8, 35.6, 2.0), (33, 33, 33), (28434, 28557, 2914)),
}
TCP = {
    FIFO: (12.0, 12.0, 4.0),
    FQ_CODEL: (5.0, 5.0, 5.0),
    FQ_MAC: (19.17, 19.83, 2.58),
    AIRTIME: (25.09, 25.21, 1.77),
}
PING_MS = {FIFO: 400.0, FQ_CODEL: 90.0, FQ_MAC: 20.0, AIRTIME: 15.0}
MOS = {FIFO: 1.0, FQ_CODEL: 1.2, FQ_MAC: 4.4, AIRTIME: 4.4}
PAGE_S = {FIFO: 3.0, FQ_CODEL: 1.0, FQ_MAC: 0.5, AIRTIME: 0.4}
GAINS = {3: 1.0, 10: 1.4, 30: 2.0}
"""Throughput of more stations, over that of the table's three, with the airtime scheduler."""


def scheme_of(scenario):
    queue = scenario["stations"][0]["queue"]
    if queue["discipline"] != "mac80211":
        return FIFO if queue["discipline"] == "droptail" else FQ_CODEL
    return AIRTIME if queue["mac80211"]["airtime_fairness"] else FQ_MAC


def delivered(size, share, station):
    """Packets that a station gets in its share of the time, in frames of this size."""
    slow = station == "slow"
    rate = figures.SLOW_BPS if slow else figures.FAST_BPS
    # 1538 bytes and a delimiter of 4, padded to 1544; preamble, SIFS and a block ack of 24 or 6 Mb/s.
    overhead_s = (36e-6 if slow else 40e-6) + 16e-6 + (68e-6 if slow else 32e-6)
    packet_s = overhead_s * 1544 / size + 8 * 1544 / rate
    return share * DURATION_S / packet_s


def network(scenario):
    """A test bed that does what is printed."""
    scheme = scheme_of(scenario)
    count = scenario["stations"][1]["count"]
    stations = [*(f"fast{i}" for i in range(1, count + 1)), "slow"]
    if all(flow["source"] == "poisson" for flow in scenario["flows"]):
        rates, shares, sizes = UDP.get(scheme, UDP[FIFO])
    else:
        gain = GAINS.get(count + 1, 1.0) if scheme == AIRTIME else 1.0
        rates = [
            rate * gain * 3 / (count + 1) for rate in TCP[scheme][:1] * count + TCP[scheme][2:]
        ]
        rates = TCP[scheme] if count == 2 else rates
        shares, sizes = [100 / (count + 1)] * (count + 1), [24000] * (count + 1)
    each = list(zip(stations, rates, shares, sizes, strict=True))
    low = LEGACY in (scenario["stations"][1]["rate"], scenario["stations"][2]["rate"])
    ping_ms = (1500.0 if scheme == FIFO else 30.0) if low else PING_MS[scheme]
    return {
        "duration_s": DURATION_S,
        "flows": {
            name: {
                "throughput_bps": rate * 1e6,
                "airtime_ratio": share / 100,
                "delivered_packets": delivered(size, share / 100, name),
            }
            for name, rate, share, size in each
        },
        "stations": {name: {"data_airtime_ratio": 0.0} for name in stations},
        "connections": {}
        if scenario["flows"][0]["source"] == "poisson"
        else {name: {"goodput_bps": rate * 1e6} for name, rate, _, _ in each}
        | {"page": {"session_mean_s": PAGE_S[scheme]}},
        "pings": {
            f"ping {name}": {"round_trip_p50_s": ping_ms / 1e3} for name in ("fast1", "slow")
        },
        "calls": {"call": {"mos": MOS[scheme]}},
    }


def changed(change):
    """The test bed with other figures."""

    def other(scenario):
        found = network(scenario)
        change(found, scheme_of(scenario))
        return found

    return other


def rates(factor, schemes=(FIFO, FQ_MAC, AIRTIME), stations=("fast1", "fast2", "slow")):
    """Some stations have so many times as much with some schemes."""

    def change(found, scheme):
        for name in stations if scheme in schemes else ():
            found["flows"][name]["throughput_bps"] *= factor
            if name in found["connections"]:
                found["connections"][name]["goodput_bps"] *= factor

    return changed(change)


def slow_takes_half(found, _scheme):
    for name, flow in found["flows"].items():
        flow["airtime_ratio"] = 0.5 if name == "slow" else 0.25


def frames_of_half_the_size(found, _scheme):
    for name, flow in found["flows"].items():
        flow["delivered_packets"] *= 0.8 if name == "slow" else 0.6


def pings(factor, *schemes):
    def change(found, scheme):
        for each in found["pings"].values():
            each["round_trip_p50_s"] *= factor if scheme in schemes else 1.0

    return changed(change)


def no_pages(found, _scheme):
    found["connections"]["page"] = {"session_mean_s": 1.0}


SABOTAGE = {
    "anomaly.sec1.lowest": rates(3.0, (FIFO,), ("fast1",)),
    "anomaly.abs.fair_udp": changed(slow_takes_half),
    "anomaly.abs.fair_tcp": changed(slow_takes_half),
    "anomaly.abs.throughput": rates(1.5, (FIFO,)),
    "anomaly.abs.latency": pings(3.0, AIRTIME),
    "anomaly.abs.bufferbloat": pings(3.0, FQ_MAC),
    "anomaly.abs.applications": changed(no_pages),
    "anomaly.commit.before.fast": rates(1.3, (FQ_MAC,)),
    "anomaly.commit.before.slow": rates(1.3, (FQ_MAC,)),
    "anomaly.commit.before.total": rates(1.3, (FQ_MAC,)),
    "anomaly.commit.after.fast": rates(1.1, (AIRTIME,)),
    "anomaly.commit.after.slow": rates(1.3, (AIRTIME,)),
    "anomaly.commit.after.total": rates(1.1, (AIRTIME,)),
    "anomaly.commit.more": rates(3.0, (AIRTIME,), ("fast1",)),
    "anomaly.slides.before": pings(3.0, FIFO),
    "anomaly.slides.after": pings(2.0, AIRTIME),
    "anomaly.table1.fifo.size": changed(frames_of_half_the_size),
    "anomaly.table1.airtime.size": changed(frames_of_half_the_size),
    "anomaly.table1.fifo.share": changed(slow_takes_half),
    "anomaly.table1.airtime.share": changed(slow_takes_half),
    "anomaly.table1.fifo.measured": rates(1.5),
    "anomaly.table1.airtime.measured": rates(1.5),
}
OF_MODELS = {"anomaly.table1.fifo.model", "anomaly.table1.airtime.model"}


def test_every_claim_has_an_item_and_every_item_a_claim():
    assert {claim.item for claim in CLAIMS} == set(ITEMS)


@pytest.mark.parametrize("name", ITEMS)
def test_a_test_bed_as_printed_reproduces_all(name):
    missed = {
        key: record.reason
        for key, record in judged("anomaly", ITEMS[name], network).items()
        if record.verdict not in (Verdict.REPRODUCED, Verdict.NOT_TESTABLE)
    }
    assert not missed


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_another_test_bed_does_not_reproduce_it(claim):
    if claim.not_testable or claim.by_construction or claim.id in OF_MODELS:
        assert claim.id not in SABOTAGE
        return
    record = judged("anomaly", ITEMS[claim.item], SABOTAGE[claim.id])[claim.id]
    assert record.verdict is not Verdict.REPRODUCED


def test_clients_that_change_are_seen():
    found = outcomes(ITEMS["udp"], network)
    found[Case(AIRTIME, "udp").name].scenario["stations"][2]["rate"] = "HT-MCS1"
    by_claim = {each.claim: each for each in ITEMS["udp"].compare(found)}
    assert by_claim["anomaly.abs.clients"].holds is False


def test_what_nobody_has_read_rests_on_nothing_and_counts_nowhere():
    unread = [claim for claim in CLAIMS if claim.unread]
    assert {claim.place for claim in unread} == {"Table 1"}
    assert not any(map(needs_grounds, unread))
    assert not {claim.id for claim in unread} & set(mechanism.load("anomaly").by_claim)
    for of in (network, SABOTAGE["anomaly.table1.fifo.share"]):
        records = judged("anomaly", ITEMS["table1"], of).values()
        assert {record.counted_as for record in records} == {UNREAD}
        assert not any(record.missed for record in records)
        counts = tally(records)
        assert (counts.unread, counts.testable, counts.numbers) == (len(unread), 0, 0)


def exchange_us(size, bits_a_symbol, preamble_us, ack_us):
    """AIFS of three slots, half a window, the frame in symbols of 3.6 us, SIFS, the ACK."""
    symbols = math.ceil((8 * size + 22) / bits_a_symbol)
    return 16 + 3 * 9 + 7.5 * 9 + preamble_us + 3.6 * symbols + 16 + ack_us


def test_the_closed_form_is_the_one_by_hand():
    # MCS 15 has 520 bits in a symbol and preambles of 40 us, MCS 0 has 26 and 36 us; ACKs of 24
    # and 6 Mb/s.
    for scheme, share in ((FIFO, None), (AIRTIME, 1 / 3)):
        sizes = UDP[scheme][2]
        cycles = [exchange_us(size, 520, 40, 28) for size in sizes[:2]]
        cycles.append(exchange_us(sizes[2], 26, 36, 44))
        expected = [
            8 * size * (share / cycle if share else 1 / sum(cycles))
            for size, cycle in zip(sizes, cycles, strict=True)
        ]
        assert modelled_mbps(scheme) == pytest.approx(expected, rel=0.01)


def test_a_real_run_s_frames_are_as_long_as_frames_get():
    # UDP beyond what is carried fills frames: 32 packets to a fast station, and as many as last
    # 5.5 ms to the slow one. A frame at the edge of the run counts in part, and the size follows from
    # the small part of the airtime that is no data.
    case = Case(AIRTIME, "udp")
    described = case.scenario(30.0) | {"warm_up": "2 s"}
    results = Scenario(described).simulate(seed=1, replications=1)
    sizes = [figures.frame_bytes(results.runs[0], name) for name in case.stations]
    assert sizes == pytest.approx([32 * 1544, 32 * 1544, 3 * 1544], rel=0.05)


@pytest.mark.parametrize("name", ITEMS)
def test_runs_are_scenarios(name):
    check_scenarios(ITEMS[name])
    for budget in Budget:
        assert all(run.weight > 0 for run in ITEMS[name].runs(budget).values())


@pytest.mark.parametrize("name", ITEMS)
def test_pictures_have_points_on_every_line(name):
    pictures = list(ITEMS[name].pictures(outcomes(ITEMS[name], network)))
    assert pictures or name in ("applications", "lowest")
    for line in (line for p in pictures for panel in p.panels for line in panel.series):
        assert len(line.x) == len(line.y) > 0


def test_the_gain_among_full_frames_falls_with_the_number_of_stations():
    # T_s / T_f of a round of n - 1 fast frames and a slow one, against n turns of equal length.
    gains = {n: gain_by_frames(n) for n in (1, 2, 3, 10, 30)}
    ratio = gains[1]
    assert ratio > 1
    for n, gain in gains.items():
        assert gain == pytest.approx((n - 1 + ratio) / n)


def test_the_gain_is_told_beside_the_printed_one():
    (said,) = ITEMS["commit"].says(outcomes(ITEMS["commit"], network))
    assert "1.25 times as large in print, and 1.25 times here" in said
