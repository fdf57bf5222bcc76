"""What the APQ paper's claims make of measurements that are known."""

from __future__ import annotations

from typing import Any

import pytest
from judged import check_scenarios, items, verdicts

from airqueue_papers.apq import PAPER
from airqueue_papers.apq.devices import DEVICES, capacity
from airqueue_papers.apq.path import (
    DRIVER_FRAMES,
    access_point,
    measured,
    session,
    sessions,
    unsaturated,
)
from airqueue_papers.apq.validation import SETTINGS
from airqueue_papers.item import Budget
from airqueue_papers.verdict import Verdict


def measurement(packets: float, size: int = 1500, half: float = 1.0) -> dict[str, Any]:
    by_size = {str(size): {"packets": packets, "ci95_packets": [packets - half, packets + half]}}
    point = {"offered_pps": 500.0, "received_pps": 500.0, "loss": 0.0, "delay_s": None}
    return {"estimators": {"published": {"by_size": by_size}}, "search": [point]}


@pytest.mark.parametrize("of", PAPER.items, ids=lambda of: of.name)
def test_the_scenarios_can_be_run(of):
    check_scenarios(of)


def test_estimates_of_known_settings():
    """Too high for small queues and too low for large ones, as in the paper; or the other way."""
    of = items("apq")["fig4"]
    held = {each: each + DRIVER_FRAMES for each in SETTINGS}
    outcomes = {
        str(each): measurement(packets * (1.0 if each < 600 else 0.955))
        for each, packets in held.items()
    }
    outcomes["1"] = measurement(DRIVER_FRAMES + 1)
    found = verdicts("apq", of, outcomes)
    assert {each.verdict for each in found.values()} == {Verdict.REPRODUCED}
    assert list(of.pictures(outcomes))
    outcomes = {
        str(each): measurement(each * (0.9 if each < 600 else 1.1), half=0.06 * each)
        for each in SETTINGS
    }
    outcomes["1"] = measurement(10)
    found = verdicts("apq", of, outcomes)
    assert {each.verdict for each in found.values()} == {Verdict.NOT_REPRODUCED}


def test_sessions_without_saturation_find_no_queue():
    """The sabotage of the main result: the queue is never full."""
    run = measured(access_point(100), Budget.QUICK, 1500, seed=1)
    result = sessions(unsaturated(run, 280.0).work.inputs)
    found = result["estimators"]["published"]["by_size"]["1500"]
    assert found["packets"] < 5
    outcomes = {str(each): result for each in (1, *SETTINGS)}
    records = verdicts("apq", items("apq")["fig4"], outcomes)
    for name in ("apq.val.accurate", "apq.val.tight"):
        assert records[name].verdict is Verdict.NOT_REPRODUCED


def test_capacities_are_by_construction_and_still_compared():
    of = items("apq")["table2"]
    outcomes = {
        f"{device}-{size}": measurement(capacity(device), size)
        for device in DEVICES
        for size in (1500, 750)
    }
    found = verdicts("apq", of, outcomes)
    assert not any(each.counts for each in found.values())
    assert found["apq.table2.cisco.1500"].verdict is Verdict.REPRODUCED
    assert list(of.pictures(outcomes))
    # A queue that is counted in bytes holds twice as many packets of half the size.
    outcomes["cisco-750"] = measurement(2 * capacity("cisco"), 750)
    found = verdicts("apq", of, outcomes)
    assert found["apq.text.packet_based"].verdict is Verdict.NOT_REPRODUCED
    assert found["apq.table2.cisco.750"].verdict is Verdict.NOT_REPRODUCED


def test_a_session_sees_a_full_queue():
    """100 packets of 1500 bytes wait as long as they take at the rate that is seen."""
    inputs = {"path": access_point(100), "rate_pps": 900.0, "size_bytes": 1500, "seed": 1}
    seen = session(inputs)
    outcomes = {"cisco": seen, "netgear_com": seen}
    fig6, fig7 = items("apq")["fig6"], items("apq")["fig7"]
    rate = verdicts("apq", fig6, outcomes)["apq.fig6.netgear"].ours[0].mean
    delay = verdicts("apq", fig7, outcomes)["apq.fig7.netgear"].ours[0].mean
    assert delay * rate == pytest.approx(100 * 12e-3, rel=0.05)
    assert seen["quiet"][0][-1] < 0.01 < seen["full"][0][0]
    for of in (fig6, fig7, items("apq")["fig8"]):
        assert list(of.pictures(outcomes))
