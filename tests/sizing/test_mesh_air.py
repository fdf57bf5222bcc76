"""λ from measured rates: closed loops in which a small buffer lowers the rate, and what holds it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from airqueue.models.mesh_topology import Flow, chain, cross
from airqueue.models.virtual_queues import virtual_queues
from airqueue.sizing.mesh_control import Controller, Observation, Policy

POLICY = Policy(carrying="flow-rates", queues="flow")
FAR = replace(chain(4), flows=(Flow("flow", chain(4).flows[0].route, other_delay_s=0.2),))
MOST_BPS = 1.1e6
BOUND = sum(queue.packets for queue in virtual_queues(FAR).flows[0].queues)


def closed_loop(
    carried: Callable[[float], float],
    busy: Callable[[float], float],
    seconds: int = 1200,
    policy: Policy = POLICY,
) -> list[float]:
    """Return Σ b_i of the flow, second by second.

    carried: what the flow carries with such buffers, as a fraction of the most. busy: how busy the
    medium is when that is carried.
    """
    controller = Controller(policy)
    packets, history = BOUND, []
    for second in range(seconds):
        fraction = carried(packets)
        decision = controller.observe(
            Observation(
                float(second),
                FAR,
                frozenset({"flow"}),
                rates_bps={"flow": fraction * MOST_BPS},
                busy=dict.fromkeys(FAR.nodes, busy(fraction)),
            )
        )
        if decision is not None:
            packets = sum(n for (node, _), n in decision.limits.items() if node != "n4")
        history.append(packets)
    return history


def limited_by(needed: float) -> Callable[[float], float]:
    """A loop as bad as can be: what is carried falls with the buffer as soon as it is too small."""
    return lambda packets: min(1.0, packets / needed)


@pytest.mark.parametrize("needed", [10, 40, 80, 120, 180])
def test_the_loop_comes_to_rest_where_the_air_is_still_used(needed: float) -> None:
    history = closed_loop(limited_by(needed), lambda fraction: 0.85 * fraction)
    last = history[-1]
    # A tenth of the busy time, and a step of limits, is what it may give up.
    assert last >= 0.85 * needed
    assert last < 0.95 * BOUND
    assert len(set(history[-300:])) == 1


@pytest.mark.parametrize("needed", [40, 180])
def test_others_that_keep_the_medium_busy_do_not_starve_it(needed: float) -> None:
    history = closed_loop(limited_by(needed), lambda _: 0.95)
    assert history[-1] >= 0.4 * min(needed, 0.4 * BOUND)
    assert len(set(history[-300:])) == 1


def test_what_is_measured_with_ample_buffers_is_the_size() -> None:
    # η: four links of 11 Mb/s, each of which carries the payload.
    history = closed_loop(lambda _: 1.0, lambda _: 0.9)
    carried = 4 * MOST_BPS * (1460 / 1500) / 11e6
    assert history[-1] == pytest.approx(carried * BOUND, rel=0.03)
    assert history == sorted(history, reverse=True)


def test_more_that_is_carried_counts_at_once() -> None:
    controller = Controller(POLICY)

    def at(second: int, rate_bps: float) -> float | None:
        decision = controller.observe(
            Observation(
                float(second),
                FAR,
                frozenset({"flow"}),
                rates_bps={"flow": rate_bps},
                busy=dict.fromkeys(FAR.nodes, 0.9),
            )
        )
        return None if decision is None else sum(decision.limits.values())

    totals = [total for second in range(600) if (total := at(second, 0.5e6)) is not None]
    later = [total for second in range(600, 620) if (total := at(second, 1.0e6)) is not None]
    assert later[-1] == pytest.approx(2 * totals[-1], rel=0.1)


def test_jitter_of_measured_rates_changes_nothing() -> None:
    """Once at rest, rates that jitter by what moves B by less than a packet."""
    controller = Controller(replace(POLICY, hold_s=0.0))
    settled = 900
    changes = 0
    for second in range(settled + 300):
        rate = 1.0e6 * (1 + 0.005 * (-1) ** (second // 10))
        decision = controller.observe(
            Observation(
                float(second),
                FAR,
                frozenset({"flow"}),
                rates_bps={"flow": rate},
                busy=dict.fromkeys(FAR.nodes, 0.9),
            )
        )
        changes += decision is not None and second > settled
    assert changes == 0


def test_an_idle_domain_is_no_measure_of_what_it_carries() -> None:
    """A flow that pauses finds its buffers as they were."""
    history = closed_loop(lambda _: 0.01, lambda _: 0.0, seconds=300)
    assert set(history) == {BOUND}


def starved_and_not() -> tuple[dict[str, int], dict[str, str]]:
    near = cross(3, 2)
    mesh = replace(near, flows=tuple(replace(flow, other_delay_s=0.2) for flow in near.flows))
    names = [flow.name for flow in mesh.flows]
    controller = Controller(POLICY)
    limits: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for second in range(600):
        decision = controller.observe(
            Observation(
                float(second),
                mesh,
                frozenset(names),
                rates_bps={names[0]: 0.05e6, names[1]: 0.8e6},
                busy=dict.fromkeys(mesh.nodes, 0.9),
            )
        )
        if decision is not None:
            limits = {
                name: sum(n for (_, flow), n in decision.limits.items() if flow == name)
                for name in names
            }
            reasons = dict(decision.reasons)
    return limits, reasons


def test_a_starved_flow_is_given_the_buffer_of_its_fair_share() -> None:
    limits, reasons = starved_and_not()
    starved, greedy = limits.values()
    assert 0.4 * greedy <= starved <= greedy
    assert "of which 50% may be the flow's" in reasons["arm a"]
    assert f"of which {2 * 0.8 / (2 * 0.8 + 3 * 0.05):.0%} may be the flow's" in reasons["arm b"]


def test_a_link_that_changes_begins_from_the_bound_of_its_rate() -> None:
    controller = Controller(POLICY)
    slow = replace(FAR, links=tuple(replace(link, rate_bps=2e6) for link in FAR.links))
    measured = {"rates_bps": {"flow": 0.3e6}, "busy": dict.fromkeys(FAR.nodes, 0.9)}
    for second in range(300):
        controller.observe(Observation(float(second), FAR, frozenset({"flow"}), **measured))
    decision = controller.observe(Observation(300.0, slow, frozenset({"flow"}), **measured))
    assert decision is not None
    total = sum(n for (node, _), n in decision.limits.items() if node != "n4")
    assert total == sum(queue.packets for queue in virtual_queues(slow).flows[0].queues)
