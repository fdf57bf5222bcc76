"""What the RDQM paper's claims make of goodputs that are known."""

from __future__ import annotations

from typing import Any

import pytest
from judged import check_scenarios, items, made_up, verdicts

from airqueue_papers.claim import load
from airqueue_papers.item import Budget
from airqueue_papers.rdqm import LEGACY, MIXES, PAPER
from airqueue_papers.tried import AS_JUDGED, tried
from airqueue_papers.verdict import Verdict, judge

BY_RATE = {11.0: 700.0, 5.5: 500.0, 1.0: 100.0}
FAR_LAST = (1200.0, 900.0, 700.0, 600.0, 500.0, 400.0)


def connections(goodputs_kbps):
    return {
        "connections": {
            f"flow{i}": {"goodput_bps": 1e3 * kbps} for i, kbps in enumerate(goodputs_kbps, 1)
        }
    }


def as_printed(name: str) -> dict[str, Any]:
    """Goodputs as the paper has them."""
    if name == "fast-alone":
        return connections([750.0] * 6)
    rates = [BY_RATE[rate] for _, rate in MIXES["mixed"]]
    if name.startswith("half"):
        rates[5] += 40.0 if name.endswith("-50") else 0.0
        return connections([600.0 if i in LEGACY else kbps for i, kbps in enumerate(rates, 1)])
    return connections([350.0] * 6 if name.startswith(("slow-half", "droptail")) else rates)


def delays_as_printed(name: str) -> dict[str, Any]:
    return connections(FAR_LAST if name.startswith("droptail") else [800.0] * 6)


@pytest.mark.parametrize("of", PAPER.items, ids=lambda of: of.name)
def test_the_scenarios_can_be_run(of):
    check_scenarios(of)


@pytest.mark.parametrize(
    ("name", "figures"), [("fig2", delays_as_printed), ("fig3", as_printed), ("fig4", as_printed)]
)
def test_what_is_printed_is_reproduced(name, figures):
    of = items("rdqm")[name]
    found = verdicts("rdqm", of, made_up(of, figures))
    wrong = {claim: each.reason for claim, each in found.items() if each.verdict != "reproduced"}
    assert not wrong
    assert list(of.pictures(made_up(of, figures)))


def test_a_drop_tail_in_the_place_of_rdqm_is_noticed():
    of = items("rdqm")["fig2"]
    found = verdicts("rdqm", of, made_up(of, lambda _: connections(FAR_LAST)))
    for claim in ("rdqm.s1.rdqm.far", "rdqm.s1.droptail.order"):
        assert found[claim].verdict is Verdict.NOT_REPRODUCED
    of = items("rdqm")["fig3"]
    found = verdicts("rdqm", of, made_up(of, lambda _: connections([350.0] * 6)))
    for claim in ("rdqm.s2.rdqm.11", "rdqm.s2.rdqm.1", "rdqm.s2.rdqm.total", "rdqm.s2.rdqm.gain"):
        assert found[claim].verdict is Verdict.NOT_REPRODUCED


def test_rates_that_follow_the_buffer_or_the_delay_are_noticed():
    def by_buffer(name: str) -> dict[str, Any]:
        return connections([400.0 if name.endswith("-50") else 800.0] * 6)

    of = items("rdqm")["fig2"]
    found = verdicts("rdqm", of, made_up(of, by_buffer))
    assert found["rdqm.s1.rdqm.buffer"].verdict is Verdict.NOT_REPRODUCED

    def by_delay(name: str) -> dict[str, Any]:
        return connections([300.0] * 5 + [600.0]) if name != "fast-alone" else as_printed(name)

    of = items("rdqm")["fig3"]
    found = verdicts("rdqm", of, made_up(of, by_delay))
    assert found["rdqm.s2.droptail.equal"].verdict is Verdict.NOT_REPRODUCED


def test_a_setting_is_counted_for_all_numbers_of_a_figure():
    """As printed with least round-trip times, not with smoothed ones: no number is of both."""
    of = items("rdqm")["fig3"]
    claims = [each for each in load("rdqm").claims.values() if each.item == "fig3"]

    def figures(name: str) -> dict[str, Any]:
        return connections([350.0] * 6) if name.startswith("rdqm") else as_printed(name)

    for budget in Budget:
        outcomes = made_up(of, figures, budget)
        records = [
            judge(each, f) for f in of.compare(outcomes) for each in claims if each.id == f.claim
        ]
        as_judged, least = tried("rdqm.fig3", of, claims, outcomes, records)
        assert (as_judged.setting, least.setting) == (AS_JUDGED, of.settings[0].words)
        assert least.counts == (8, 0, 0, 0)
        assert as_judged.counts[0] == 3
        assert sum(as_judged.counts) == 8


def test_legacy_flows_that_take_from_the_others_are_noticed():
    def greedy(name: str) -> dict[str, Any]:
        kept = 0.5 if name.startswith("half") else 1.0
        run = as_printed(name)
        for i in (1, 5, 6):
            run["connections"][f"flow{i}"]["goodput_bps"] *= kept
        return run

    of = items("rdqm")["fig4"]
    found = verdicts("rdqm", of, made_up(of, greedy))
    assert found["rdqm.s3.rdqm"].verdict is Verdict.NOT_REPRODUCED
