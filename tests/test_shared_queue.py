"""A FIFO in which packets of others wait, too, is not taken for a managed queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from airqueue.measure.api import measure
from airqueue.measure.disciplines import shared
from airqueue.measure.disciplines.observed import Step, filled
from airqueue.measure.reconsidered import unless_managed
from airqueue.measure.result import Discipline, Evidence
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.verdicts import Finding

SERVICE_S = 1e-3


def cell(queue, *others):
    """An access point of 802.11g with this queue, and flows to another station."""
    scenario = {
        "phy": {"standard": "802.11g"},
        "stations": [{"name": "ap", "queue": queue}, {"name": "laptop"}, {"name": "tv"}],
        "flows": [
            {"from": "ap", "to": "laptop", "source": "external"},
            {"from": "laptop", "to": "ap", "source": "external"},
            *({"from": "ap", "to": "tv", "size": "1500 B", **flow} for flow in others),
        ],
    }
    return {"cell": {"scenario": scenario, "down": "ap->laptop", "up": "laptop->ap"}}


def step(overload: float, carried: float, *, together: int = 1) -> Step:
    """A step of evenly spaced packets of which the path carries this share of its rate, in random
    places; ``together``: packets that arrive at one instant."""
    count = 4000
    came = np.arange(count) * SERVICE_S / overload
    draw = np.random.default_rng(round(1000 * overload))
    lost = draw.random(count) > carried / overload
    lost[:20] = False
    served = np.cumsum(~lost) * SERVICE_S / carried
    left = np.where(lost, np.nan, np.maximum(came, served))
    arrived = np.sort(left[~lost])
    arrived = np.repeat(arrived[together - 1 :: together], together)[: len(arrived)]
    return Step(came, filled(left), lost, 0.0, arrived_s=arrived)


@pytest.mark.parametrize("source", ["cbr", "poisson"])
@pytest.mark.parametrize(("limit", "rate"), [(40, "8 Mb/s"), (83, "5 Mb/s"), (300, "1.5 Mb/s")])
def test_a_shared_fifo_is_no_managed_queue(source, limit, rate):
    queue = {"limit": f"{limit} packets"}
    found = measure(SimulatedProber(cell(queue, {"source": source, "rate": rate}), seed=1))
    assert found.verdict != "fifo" or found.ci95[0] <= limit <= found.ci95[1]
    assert found.discipline is None or found.discipline.name is None
    if found.discipline is not None and found.discipline.management != "tail_drop":
        assert any("Packets of others wait in the queue" in each for each in found.warnings)


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("pie", {"discipline": "pie", "limit": "300 packets"}),
        (
            "red",
            {
                "discipline": "red",
                "limit": "300 packets",
                "red": {"min": "40 packets", "max": "120 packets"},
            },
        ),
    ],
)
def test_a_managed_queue_of_its_own_keeps_its_name(name, queue):
    found = measure(SimulatedProber(cell(queue), seed=1))
    assert found.discipline.name == name
    (looked,) = (each for each in found.discipline.evidence if each.name == shared.NAME)
    assert looked.value == 0
    assert not any("others" in each for each in found.warnings)


def test_the_carried_rate_of_a_shared_queue_grows_with_the_flood():
    alone = [step(overload, 0.95) for overload in (1.03, 1.1, 1.35)]
    assert shared.by_others(alone).value == 0
    others = [step(o, o / (o + 0.1)) for o in (1.03, 1.1, 1.35)]
    grown = shared.by_others(others)
    assert grown.value == pytest.approx((1.35 / 1.45) / (1.03 / 1.13) - 1, rel=0.05)
    assert "packets of others wait in the queue" in grown.says
    assert shared.by_others(others[:1]) is None
    # Larger floods fill larger frames, and are carried faster for that reason.
    framed = [step(o, o / (o + 0.1), together=8) for o in (1.03, 1.1, 1.35)]
    assert shared.by_others(framed) is None


def test_what_was_not_looked_for_is_said():
    red = Discipline("red", "RED on one queue", "one_queue", "red", {}, None, ())
    (said,) = shared.warnings(red)
    assert "can look like this" in said
    looked = (Evidence(shared.NAME, "", 0.0),)
    assert shared.warnings(Discipline("red", "", "one_queue", "red", {}, None, looked)) == []
    assert shared.warnings(Discipline("fq_pie", "", "by_flow", "pie", {}, None, ())) == []
    assert shared.warnings(None) == []


def test_counts_of_a_shared_fifo_are_no_capacity():
    said = Evidence(shared.NAME, "Of the larger floods the path carried more.", 0.03)
    tells = Discipline(None, "", "one_queue", "undecided", {}, None, (said,))
    found = unless_managed(Finding("fifo", [], "tail"), tells)
    assert (found.verdict, found.evidence) == ("undecided", [said])
    alone = replace(tells, evidence=(replace(said, value=0.0),))
    assert unless_managed(Finding("fifo", [], "tail"), alone).verdict == "fifo"
