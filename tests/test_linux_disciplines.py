"""The kernel's disciplines: what is offered to them, what is kept of them, and a run made anew."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from validation.linux import acks, claims, kernel, results
from validation.linux.figures import GONE, Columns, windows
from validation.linux.scenarios import (
    ACKS,
    LINK_LAYER_BYTES,
    RATE_BPS,
    SCENARIOS,
    TRAFFIC,
    Source,
    scenario,
)

OFFERED_LOAD = {"overload": 1.25, "half-ect": 1.25, "on-off": 0.8, "many": 1.3}


@pytest.mark.parametrize("traffic", TRAFFIC, ids=lambda traffic: traffic.name)
def test_traffic_has_the_load_that_it_says(traffic):
    packets = traffic.arrivals()
    assert all(one.at_ns <= other.at_ns for one, other in pairwise(packets))
    bits = sum(8 * (packet.size_bytes + LINK_LAYER_BYTES) for packet in packets)
    load = bits / (traffic.seconds * RATE_BPS)
    assert load == pytest.approx(OFFERED_LOAD[traffic.name], rel=0.005)


CODEL_UNIT_S = 1.024e-6
"""CODEL_SHIFT of the kernel: 1024 ns."""


def test_acknowledgements_have_everything_that_the_filter_looks_at():
    (traffic,) = ACKS
    packets = traffic.arrivals()
    assert all(one.at_ns <= other.at_ns for one, other in pairwise(packets))
    bits = sum(8 * (packet.size_bytes + LINK_LAYER_BYTES) for packet in packets)
    assert bits / (traffic.seconds * 500_000) == pytest.approx(2.5, rel=0.01)
    headers = [packet.tcp for packet in packets if packet.tcp is not None]
    assert len(headers) < len(packets)
    for flag in ("syn", "fin", "ece", "cwr", "has_data"):
        assert {getattr(header, flag) for header in headers} == {False, True}
    assert {header.timestamps is None for header in headers} == {False, True}
    assert {len(header.sack) for header in headers} == {0, 1, 2, 3}
    acknowledgements = [header for header in headers if header.ack is not None]
    assert len(acknowledgements) < len(headers)
    assert any(start < header.ack for header in acknowledgements for start, _ in header.sack)


def test_packets_of_acknowledgements():
    """Fields at the places of RFC 791, RFC 9293, RFC 7323 and RFC 2018."""
    header = acks.Header(7, fin=True, ece=True, timestamps=(5, 6), sack=((20, 30),))
    assert header.header_bytes == 20 + 20 + 12 + 12
    made = acks.packet(header, (b"\x01" * 4, b"\x02" * 4), 1003, 99, 100)
    assert len(made) == 100
    assert (made[0], made[2:4], made[9]) == (0x45, b"\0d", 6)
    assert made[12:20] == b"\x01" * 4 + b"\x02" * 4
    tcp = made[20:]
    assert struct.unpack("!HHIIBB", tcp[:14]) == (5001, 1003, 99, 7, 11 << 4, 0x51)
    assert tcp[20:32] == b"\x01\x01\x08\x0a" + struct.pack("!II", 5, 6)
    assert tcp[32:44] == b"\x01\x01\x05\x0a" + struct.pack("!II", 20, 30)


def test_the_filter_agrees_to_the_packet_and_is_needed_for_it():
    one = scenario("cake ack-filter acks")
    (kept,) = results.runs(one)
    (ours,) = claims.ours(one)
    assert [window.dropped for window in ours] == [window.dropped for window in kept]
    plain = {**one.discipline.queue["cake"], "ack_filter": "no-ack-filter"}
    queue = {**one.discipline.queue, "cake": plain}
    (without,) = claims.ours(replace(one, discipline=replace(one.discipline, queue=queue)))
    assert all(new.dropped < 0.8 * old.dropped for new, old in zip(without, kept, strict=True))


def test_a_source_comes_and_goes():
    # 1014 bytes at twice 10 Mb/s: one each 405.6 us, 2.5 of them in a millisecond.
    source = Source(3, 2.0, on_s=0.001, off_s=0.009)
    at_us = [packet.at_ns / 1000 for packet in source.arrivals(0.02)]
    assert at_us == pytest.approx([0.0, 405.6, 811.2, 10216.8, 10622.4])


def test_runs_of_a_discipline_with_a_clock_begin_at_different_times():
    pie = scenario("pie overload")
    starts = [pie.start_s(run) for run in range(1, pie.discipline.runs + 1)]
    assert np.diff(starts) == pytest.approx(0.003)
    first, second, *_ = pie.arrivals(2)
    assert (first.at_ns, second.at_ns) == (0, 303_000_000)
    assert scenario("red overload").arrivals(2) == scenario("red overload").traffic.arrivals()


def test_figures_of_a_window():
    # Windows from 0, 2 and 10 s on; all sojourns are 10 ms but one, of 30 ms.
    red = scenario("red overload")
    at_ms = np.array([0, 1000, 2000, 3000, 15_000])
    left_ns = 1_000_000 * (at_ms + np.array([10, 0, 10, 30, 10]))
    left_ns[1] = GONE
    marked = np.array([True, True, False, False, False])
    first, second, _ = windows(red, 1, 1_000_000 * at_ms, left_ns, marked)
    assert (first.offered, first.dropped, first.marked) == (2, 1, 1)
    assert first.median_sojourn_s == pytest.approx(0.010)
    assert (second.offered, second.dropped, second.marked) == (2, 0, 0)
    assert second.median_sojourn_s == pytest.approx(0.020)


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_what_is_kept_belongs_to_what_is_offered(one):
    rows = [row for row in results.read() if row["scenario"] == one.name]
    assert {row["tc"] for row in rows} == {one.discipline.tc}
    assert len({row["kernel"] for row in rows}) == 1
    runs = results.runs(one)
    assert len(runs) == one.discipline.runs
    packets = Columns.of(one.arrivals(1))
    watched = packets.watched(one)
    columns = (packets.at_ns, packets.at_ns + 1, packets.ect)
    ours = list(windows(one, 1, *(column[watched] for column in columns)))
    for run in runs:
        spans = [(w.from_s, w.to_s, w.offered) for w in run]
        assert spans == [(w.from_s, w.to_s, w.offered) for w in ours]


def test_lots_differ_from_run_to_run():
    runs = results.runs(scenario("red overload"))
    assert Counter(tuple(run) for run in runs).most_common(1)[0][1] == 1


@pytest.mark.long
def test_the_kernel_does_again_what_is_kept(user_mode_linux):
    """On a virtual clock it does so to the packet; another kernel may differ by a little.

    What the guest does before the first packet, down to the files that Python looks for, moves the
    beginning within a unit of CoDel's clock (1.024 us), and times by less than this unit.
    """
    one = scenario("codel on-off")
    at_ns = Columns.of(one.arrivals(1)).at_ns
    measured = kernel.run(user_mode_linux, one, 1)
    again = list(windows(one, 1, at_ns, measured.left_ns, measured.marked))
    (kept,) = results.runs(one)
    if user_mode_linux.release == results.release(one):
        counts = [
            [(w.from_s, w.to_s, w.offered, w.dropped, w.marked) for w in of] for of in (again, kept)
        ]
        assert counts[0] == counts[1]
        for new, old in zip(again, kept, strict=True):
            assert new.median_sojourn_s == pytest.approx(old.median_sojourn_s, abs=CODEL_UNIT_S)
            assert new.p95_sojourn_s == pytest.approx(old.p95_sojourn_s, abs=CODEL_UNIT_S)
    for new, old in zip(again, kept, strict=True):
        assert new.dropped == pytest.approx(old.dropped, rel=0.05)
        assert new.median_sojourn_s == pytest.approx(old.median_sojourn_s, rel=0.05)
