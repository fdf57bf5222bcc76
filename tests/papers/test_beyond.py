"""What one would configure today: the rule that is told, on figures that are known."""

from __future__ import annotations

from typing import Any

import pytest
from judged import check_scenarios, items, made_up

from airqueue_papers.beyond import PAPER, QUEUES


def behind(mbps: float, mos: float) -> dict[str, Any]:
    """An access point's figures: what it carries, and how good the call is."""
    return {
        "connections": {
            "fast1": {"goodput_bps": 1e6 * mbps},
            "page": {"goodput_bps": 0.0, "session_mean_s": 1.0},
        },
        "calls": {"call": {"mos": mos}},
        "flows": {"game": {"delay_p95_s": 0.1}},
    }


@pytest.mark.parametrize("of", PAPER.items, ids=lambda of: of.name)
def test_the_scenarios_can_be_run(of):
    check_scenarios(of)


def test_the_best_call_of_the_queues_that_carry_enough():
    """One is best for the call and carries too little, one carries most and is worst for it."""
    figures = dict(
        zip(QUEUES, (behind(100, 2), behind(20, 4.5), behind(95, 4), behind(92, 3)), strict=True)
    )
    of = items("beyond")["queue"]
    outcomes = made_up(of, figures.__getitem__)
    (sentence,) = of.says(outcomes)
    assert "one would configure FQ-CoDel today: 95 Mb/s" in sentence
    assert list(of.pictures(outcomes))


def twelve(up: float, down: float) -> dict[str, Any]:
    flows = {f"upload{i}": up for i in range(1, 7)} | {f"download{i}": down for i in range(1, 7)}
    return {"connections": {name: {"goodput_bps": 1e6 * mbps} for name, mbps in flows.items()}}


def test_the_most_of_what_is_fair_or_nothing():
    of = items("beyond")["uploads"]
    unfair = made_up(of, lambda _: twelve(10, 1))
    assert "None reaches an index of 0.9." in list(of.says(unfair))
    some = made_up(of, lambda name: twelve(5, 4) if "CWmin" in name else twelve(10, 1))
    assert "mac80211, CWmin 3 at the access point carries most, 54 Mb/s" in list(of.says(some))[-1]
    assert list(of.pictures(some))
