"""How devices treat traffic classes: known devices, and records made by hand."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from airqueue.measure.analysis import analyze
from airqueue.measure.api import measure
from airqueue.measure.disciplines import classes, permuted, treatment
from airqueue.measure.disciplines.steps import Layout
from airqueue.measure.plan import CE, ECT_0, ECT_1, NOT_ECT, RATE_WINDOW_S, Plan, traffic_class
from airqueue.measure.quiet import baseline, quiet_length_s
from airqueue.measure.records import MISSING, HostReport, Run
from airqueue.measure.schema import check
from airqueue.measure.session import Session
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.words import describe, evidence_beside
from benches.verdicts import over_wire
from test_measure_access_point import access_point

IDLE = (0, 200)
"""Packets lost and sent on an idle path."""


def layout(rate_pps: float, ceiling_pps: float = 1e6, held: float = 200) -> Layout:
    quiet_s = quiet_length_s(rate_pps, 1)
    return Layout(
        1500, rate_pps, ceiling_pps, held, baseline(0.0, quiet_s, rate_pps, (1500,)), quiet_s
    )


def planned(rate_pps: float, **more):
    laid_out = classes.classes_plan(layout(rate_pps, **more))
    assert laid_out is not None
    return laid_out


def treated(run: Run):
    found = treatment.judge([Session(run)], idle=IDLE)
    assert found is not None
    return found


def through(config, rate_pps):
    """The run of traffic classes alone, through a simulated path."""
    return treated(SimulatedProber(config, seed=3).run(*planned(rate_pps)))


def line(queue):
    """A line of 10 Mb/s in front of a cell without access categories."""
    config = over_wire(10e6, queue)
    config["cell"]["scenario"]["phy"] = {"standard": "802.11g"}
    return config


ALIKE = {"ef": "alike", "nqb": "alike", "cs1": "alike"}


@pytest.mark.parametrize(
    ("queue", "ecn"),
    [
        ({"discipline": "codel", "codel": {"ecn": True}}, "marks"),
        ({"discipline": "codel", "codel": {"ecn": False}}, "drops"),
        ({"discipline": "fq_codel", "fq_codel": {"ecn": True}}, "marks"),
        ({"discipline": "fq_codel", "fq_codel": {"ecn": False}}, "drops"),
        ({"limit": "60 packets"}, "drops"),
    ],
)
def test_marks_are_told_from_drops_and_no_class_is_preferred(queue, ecn):
    found = through(line(queue), 820)
    assert found.ecn == ecn
    assert found.waits == ALIKE
    assert found.l4s == "alike"
    assert found.changed == ()
    if ecn == "marks":
        assert found.marked_share > 0.02
        assert found.lost_share["ect_0"] < 0.5 * found.lost_share["not_ect"]
        assert "which the ECN field decides" in found.evidence[0].says
    else:
        assert found.marked_share == 0


@pytest.mark.parametrize(
    ("tins", "waits"),
    [
        ("besteffort", ALIKE),
        # tc-cake(8): of the four tins bulk has CS1, and voice EF; 45 is in none but best effort.
        ("diffserv4", {"ef": "less", "nqb": "alike", "cs1": "less"}),
    ],
)
def test_the_tins_of_cake(tins, waits):
    found = through(line({"discipline": "cake", "cake": {"tins": tins}}), 820)
    assert found.waits == waits
    assert found.ecn == "marks"


@pytest.mark.parametrize(("standard", "waits"), [("802.11g", "alike"), ("802.11n", "less")])
def test_access_categories_are_queues(standard, waits):
    """DCF has one queue, EDCA four: in three of them nothing waits beside best effort."""
    config = access_point(standard, {"limit": "300 packets"})
    found = measure(SimulatedProber(config, seed=1))
    assert found.verdict == "fifo"
    assert found.classes.waits == dict.fromkeys(ALIKE, waits)
    assert found.classes.l4s == "alike"


# Devices made by hand: one server of a packet each 1 / RATE_PPS, two bands of which the first passes.

RATE_PPS = 800.0


@dataclass
class Bands:
    """Two FIFOs in strict priority. The functions take a traffic class, and a wait in seconds."""

    first: Callable[[int], bool] = lambda of: False
    marked: Callable[[int, float], bool] = lambda of, waited: False
    before: Callable[[int], int] = lambda of: of
    """What the path makes of a class before the device."""
    limit: int = 150
    lost: float = 0.0
    seed: int = 1

    def run(self, plan: Plan, meta) -> Run:
        rng = np.random.default_rng(self.seed)
        packets = sorted(
            (s.start_s + k * s.duration_s / s.count, i, s)
            for i, s in enumerate(plan.segments)
            for k in range(s.count)
        )
        n = len(packets)
        at = np.array([p[0] for p in packets])
        sent = np.array([p[2].traffic_class for p in packets], dtype=np.uint8)
        came = np.array([self.before(int(c)) for c in sent], dtype=np.uint8)
        left, arrived = np.full(n, np.nan), came.copy()
        bands: tuple[deque[int], deque[int]] = deque(), deque()
        free = 0.0

        def serve(until: float) -> None:
            nonlocal free
            while any(bands):
                row = bands[0][0] if bands[0] else bands[1][0]
                begin = max(free, at[row])
                if begin > until:
                    return
                (bands[0] if bands[0] else bands[1]).popleft()
                if self.marked(int(came[row]), begin - at[row]):
                    arrived[row] |= CE
                free = left[row] = begin + 1 / RATE_PPS

        for row in range(n):
            serve(at[row])
            band = bands[0] if self.first(int(came[row])) else bands[1]
            if len(band) < self.limit:
                band.append(row)
        serve(float("inf"))
        left[rng.random(n) < self.lost] = np.nan
        got = ~np.isnan(left)
        received = np.full(n, MISSING)
        received[got] = np.round((left[got] + 5) * 1e9).astype(np.int64)
        scheduled = np.round(at * 1e9).astype(np.int64)
        return Run(
            scheduled_ns=scheduled,
            sent_ns=scheduled,
            kernel_tx_ns=np.full(n, MISSING),
            received_ns=received,
            flow=np.array([p[2].flow for p in packets], dtype=np.uint8),
            size_bytes=np.array([p[2].size_bytes for p in packets], dtype=np.uint16),
            meta=meta,
            sent_class=sent,
            received_class=np.where(got, arrived, 0).astype(np.uint8),
        )


def by_hand(**device) -> Run:
    return Bands(**device).run(*planned(RATE_PPS))


def capable(of):
    return of & CE != NOT_ECT


def marks_ect(of, waited):
    return capable(of) and waited > 0.05


def marks_l4s(of, waited):
    return (of & CE == ECT_1 and waited > 0.001) or marks_ect(of, waited - 0.1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lost", [0.0, 0.05])
def test_a_fifo_treats_all_classes_alike(seed, lost):
    found = treated(by_hand(seed=seed, lost=lost))
    assert (found.l4s, found.waits, found.marked_share) == ("alike", ALIKE, 0)
    said = " ".join(describe_classes(found))
    assert "The DSCP selects no queue" in said


def describe_classes(found):
    result = analyze([], {})
    result.classes = found
    document = result.to_json()
    check(document)
    assert len(evidence_beside(document)) == len(found.evidence)
    return describe(document).findings


def test_losses_of_the_air_are_no_drops_of_the_queue():
    """Nothing is refused, and the idle path loses as much."""
    run = by_hand(limit=10_000, lost=0.05)
    assert treatment.judge([Session(run)], idle=(20, 400)).ecn == "undecided"
    assert treatment.judge([Session(by_hand(limit=100, lost=0.05))], idle=(20, 400)).ecn == "drops"


def test_l4s_is_told_by_marks_at_the_same_delay():
    found = treated(by_hand(marked=marks_l4s))
    assert (found.ecn, found.l4s) == ("marks", "apart")
    assert treated(by_hand(marked=marks_ect)).l4s == "alike"


def test_a_queue_of_its_own_for_ect_1_is_l4s_too():
    found = treated(by_hand(first=lambda of: of & CE == ECT_1))
    assert found.l4s == "apart"
    assert "ECT(1), which L4S uses, is treated apart" in " ".join(describe_classes(found))


@pytest.mark.long
def test_shuffled_classes_are_alike():
    """The marks stay where they are, and the blocks get each other's classes."""
    run = by_hand(marked=marks_l4s)
    start, end = run.meta["phases"]["hold"]
    rows = np.flatnonzero(
        (run.scheduled_ns >= start * 1e9)
        & (run.scheduled_ns < end * 1e9)
        & (run.sent_class >> 2 == 0)
    )
    block = ((run.scheduled_ns[rows] * 1e-9 + 1e-9 - start) / run.meta["block_s"]).astype(int)
    fields = np.array([run.sent_class[rows][block == k][0] for k in range(block.max() + 1)])
    rng = np.random.default_rng(7)
    apart = 0
    for _ in range(40):
        sent = run.sent_class.copy()
        sent[rows] = rng.permutation(fields)[block]
        apart += treated(replace(run, sent_class=sent)).l4s == "apart"
    assert apart == 0


def test_packets_of_the_flood_that_are_called_ef_are_alike():
    """A priority is seen by its packets alone."""
    run = by_hand(first=lambda of: of >> 2 == 46)
    assert treated(run).waits == {"ef": "less", "nqb": "alike", "cs1": "alike"}
    start, end = run.meta["phases"]["hold"]
    late = (run.scheduled_ns > (start + 0.3 * (end - start)) * 1e9) & (run.scheduled_ns < end * 1e9)
    flood = np.flatnonzero(late & (run.sent_class == 0))
    sent = run.sent_class.copy()
    ef = late & (sent >> 2 == 46)
    sent[ef] = 0
    sent[np.random.default_rng(5).choice(flood, np.count_nonzero(ef), replace=False)] = 46 << 2
    assert treated(replace(run, sent_class=sent)).waits["ef"] == "alike"


def test_a_band_behind_best_effort_waits_longer():
    found = treated(by_hand(first=lambda of: of >> 2 != 8))
    assert found.waits == {"ef": "alike", "nqb": "alike", "cs1": "more"}
    assert "CS1 packets wait longer than best effort does" in " ".join(describe_classes(found))


def test_nothing_is_said_of_dscps_where_nothing_waits():
    found = treated(by_hand(first=lambda of: of >> 2 == 46, limit=2))
    assert set(found.waits.values()) == {"undecided"}
    assert found.ecn == "undecided"


def test_changed_fields_are_named_and_hide_marks():
    found = treated(by_hand(before=lambda of: of & CE))
    assert {(c.field, c.sent, c.arrived) for c in found.changed} == {
        ("dscp", of >> 2, 0) for of in classes.EACH if of >> 2
    }
    said = " ".join(describe_classes(found))
    assert "The path changes DSCP 8, 10, 18, 26, 34, 40, 45 and 46 to 0." in said
    assert "may be because the path changes the DSCP" in found.evidence[2].says
    found = treated(by_hand(before=lambda of: of & ~CE, marked=marks_ect))
    assert {(c.sent, c.arrived) for c in found.changed} == {(ECT_1, 0), (ECT_0, 0), (CE, 0)}
    assert (found.ecn, found.marked_share) == ("undecided", None)
    # As devices do that take the octet for a type of service.
    found = treated(by_hand(before=lambda of: of | ECT_1 if of >> 2 == 46 else of))
    assert found.changed == ()


def test_marks_on_a_busy_path_are_no_changes():
    """Another one's queue stands while single packets are sent."""
    run = by_hand(marked=marks_ect)
    each = (run.scheduled_ns >= run.meta["phases"]["each"][0] * 1e9) & (
        run.scheduled_ns < run.meta["phases"]["each"][1] * 1e9
    )
    received, after = run.received_ns.copy(), run.received_class.copy()
    received[each] += 60_000_000
    after[each & capable(run.sent_class)] |= CE
    assert treated(replace(run, received_ns=received, received_class=after)).changed == ()


def test_records_without_classes_are_not_judged():
    run = by_hand()
    for without in (
        replace(run, sent_class=None, received_class=None),
        replace(run, end="cancelled"),
        replace(run, host=HostReport(shared=True)),
        replace(run, received_ns=np.full(len(run), MISSING)),
    ):
        assert treatment.judge([Session(without)], idle=IDLE) is None
    assert treatment.judge([], idle=IDLE) is None


def test_permutations_of_classes_without_influence_are_as_likely_as_they_say():
    """All packets of a block have one value: a test of single packets would err."""
    rng = np.random.default_rng(11)
    chances = []
    for _ in range(200):
        blocks = np.repeat(np.arange(60), 10)
        value = np.repeat(rng.normal(size=60), 10)
        one = np.isin(blocks, rng.permutation(60)[:30])
        found = permuted.compare(value, blocks, one, ~one)
        chances.append(found.chance)
    assert 0.02 < np.mean(np.array(chances) <= 0.1) < 0.2
    assert min(chances) > 1e-4


@pytest.mark.parametrize("rate_pps", [20.0, 83.0, 583.0, 8000.0, 80_000.0])
@pytest.mark.parametrize("spare", [1.3, 100.0])
def test_the_plan_keeps_the_limits_of_endpoints(rate_pps, spare):
    ceiling = spare * rate_pps + 60
    laid_out = classes.classes_plan(layout(rate_pps, ceiling_pps=ceiling))
    if laid_out is None:
        assert spare < 1.5
        return
    plan, meta = laid_out
    assert len(plan.segments) <= 1024
    assert plan.packets <= 1.1 * classes.MOST_PACKETS
    # As the endpoints add them up: a short segment counts over the window.
    edges: list[tuple[float, float]] = []
    for s in plan.segments:
        length = max(s.duration_s, RATE_WINDOW_S)
        edges += [(s.start_s, s.count / length), (s.start_s + length, -s.count / length)]
    heapq.heapify(edges)
    rate, most = 0.0, 0.0
    while edges:
        rate += heapq.heappop(edges)[1]
        most = max(most, rate)
    assert most <= ceiling * 1.001
    start, end = meta["phases"]["hold"]
    flood = [s for s in plan.segments if start <= s.start_s < end]
    offered = sum(s.count for s in flood) / (end - start)
    assert 1.02 * rate_pps <= offered <= 1.25 * rate_pps
    of_field = [
        sum(s.count for s in flood if s.traffic_class == traffic_class(ecn=field))
        for field in classes.ECN_FIELDS
    ]
    assert max(of_field) - min(of_field) <= 0.1 * max(of_field) + 3


def test_a_quick_measurement_ends_with_the_run_if_there_is_time():
    config = {"queue": "pfifo:250", "rate_bps": 7e6}
    runs: list[Run] = []
    found = measure(SimulatedProber(config, seed=1), on_run=runs.append)
    assert [run.meta["kind"] for run in runs].index(classes.KIND) == len(runs) - 1
    assert found.capacity == pytest.approx(250, abs=1)
    assert found.elapsed_s < 60
    assert runs[-1].meta["elapsed_s"] < 10
    assert found.classes.ecn == "drops"
    document = found.to_json()
    check(document)
    said = " ".join(describe(document).paragraphs())
    assert "ECN-capable packets are dropped, not marked. The DSCP selects no queue" in said
    # A result without it, and one of versions that did not know it.
    limited = measure(SimulatedProber(config, seed=1), max_time_s=found.elapsed_s - 5)
    assert limited.capacity == pytest.approx(250, abs=1)
    assert limited.classes is None
    check(limited.to_json())
    del document["classes"]
    check(document)
    assert "DSCP" not in " ".join(describe(document).paragraphs())
