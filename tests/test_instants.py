"""When packets left their host, from what the program noted and the stamps that the kernel took."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW
from airqueue.measure.records import MISSING, Run
from airqueue.measure.session import Session

ALONE_NS, EACH_NS, WRITTEN_NS = 35_000, 5_000, 100
"""From program to device for a packet of a host that slept, and of one that is awake; and the time
in which the program writes a packet."""
PHASES = {"quiet": [0.0, 0.2], "fill": [0.2, 0.3], "hold": [0.3, 0.4], "after": [0.5, 0.7]}


def sent_by_a_host(together: int) -> tuple[Run, np.ndarray]:
    """Records of a host that hands over so many packets at once; and when they really left."""
    sparse = np.concatenate([np.arange(20), np.arange(50, 70)]) * 10_000_000
    batches = np.arange(200_000_000, 400_000_000, 100_000 * together)
    place = np.tile(np.arange(together), len(batches))
    flood = np.repeat(batches, together) + place * WRITTEN_NS
    sent = np.concatenate([sparse[:20], flood, sparse[20:]])
    took = np.full(len(sent), ALONE_NS)
    left = sent + took
    left[20:-20] = np.repeat(batches, together) + EACH_NS * (1 + place)
    stamps = left.copy()
    rare = np.arange(0, len(flood), 50 * together)
    unstamped = np.setdiff1d(np.arange(len(flood)), rare) + 20
    stamps[unstamped] = MISSING
    flow = np.full(len(sent), PROBE_FLOW, dtype=np.uint8)
    flow[20:-20] = FLOOD_FLOW
    meta = {"kind": "session", "size_bytes": 1500, "index": 0, "phases": PHASES}
    size = np.full(len(sent), 1500, dtype=np.uint16)
    return Run(sent, sent.copy(), stamps, left + 1_000_000, flow, size, meta=meta), left


@pytest.mark.parametrize("together", [1, 3])
def test_packets_leave_when_the_stamps_say(together):
    run, left = sent_by_a_host(together)
    session = Session(run)
    assert session.left_ns == pytest.approx(left, abs=together * WRITTEN_NS)
    # Seen from where it left, each packet came through in the same time: nothing is late.
    assert session.quiet_delay.at_ns(left[:1]) == pytest.approx(1_000_000, abs=1)
    assert session.late_ns == pytest.approx(0, abs=together * WRITTEN_NS)


def test_without_stamps_the_program_speaks_and_the_difference_is_seen():
    run, _ = sent_by_a_host(1)
    run = dataclasses.replace(run, kernel_tx_ns=np.full(len(run), MISSING))
    session = Session(run)
    assert np.array_equal(session.left_ns, run.sent_ns)
    assert session.late_ns == pytest.approx(ALONE_NS - EACH_NS, abs=1)


def test_stamps_of_one_side_alone_are_not_used():
    """The difference between the two sides would be a mistake of its own."""
    run, _ = sent_by_a_host(1)
    stamps = run.kernel_tx_ns.copy()
    stamps[20:-20] = MISSING
    session = Session(dataclasses.replace(run, kernel_tx_ns=stamps))
    assert np.array_equal(session.left_ns, run.sent_ns)


def test_packets_that_were_refused_by_the_host_never_left():
    run, left = sent_by_a_host(3)
    sent, got = run.sent_ns.copy(), run.received_ns.copy()
    refused = np.arange(21, len(run) - 20, 7)
    sent[refused] = got[refused] = MISSING
    stamps = np.where(sent == MISSING, MISSING, run.kernel_tx_ns)
    session = Session(dataclasses.replace(run, sent_ns=sent, received_ns=got, kernel_tx_ns=stamps))
    assert np.isnan(session.left_ns[refused]).all()
    kept = sent != MISSING
    assert session.left_ns[kept] == pytest.approx(left[kept], abs=3 * WRITTEN_NS)
