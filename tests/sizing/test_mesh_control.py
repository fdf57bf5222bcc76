"""What the controller of a mesh decides when: the paper's limits, changes, hysteresis, laws."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models.errors import ParameterError
from airqueue.models.mesh_exchange import MeshExchange
from airqueue.models.mesh_topology import (
    Flow,
    Link,
    Topology,
    TopologyError,
    chain,
    cross,
    parking_lot,
)
from airqueue.models.virtual_queues import virtual_queues
from airqueue.sizing.mesh_changes import changes
from airqueue.sizing.mesh_control import Controller, Decision, Observation, Policy


def seen(mesh: Topology, time_s: float = 0.0, active=None, **measured) -> Observation:
    names = frozenset(flow.name for flow in mesh.flows) if active is None else frozenset(active)
    return Observation(time_s, mesh, names, **measured)


def decided(mesh: Topology, policy: Policy | None = None, **measured) -> Decision:
    decision = Controller(policy).observe(seen(mesh, **measured))
    assert decision is not None
    return decision


def with_rate(mesh: Topology, sender: str, receiver: str, rate_bps: float) -> Topology:
    links = tuple(
        replace(link, rate_bps=rate_bps)
        if (link.sender, link.receiver) == (sender, receiver)
        else link
        for link in mesh.links
    )
    return replace(mesh, links=links)


CHAIN = chain(4)
SLOW = with_rate(CHAIN, "n1", "n2", 2e6)
FLOW = CHAIN.flows[0]
PAPERS = {"n0": 2, "n1": 2, "n2": 3, "n3": 3, "n4": 3}
TWO = replace(
    CHAIN, flows=(Flow("far", ("n0", "n1", "n2", "n3", "n4")), Flow("near", ("n3", "n4")))
)


def at_nodes(decision: Decision | None) -> dict[str, int]:
    assert decision is not None
    assert all(flow is None for _, flow in decision.limits)
    return {node: packets for (node, _), packets in decision.limits.items()}


def test_a_chain_of_four_has_the_papers_limits_and_says_why() -> None:
    decision = decided(CHAIN)
    assert at_nodes(decision) == PAPERS
    assert decision.changes == decision.limits
    assert decision.triggers == ("flow has begun",)
    (reason,) = decision.reasons.values()
    assert reason == virtual_queues(CHAIN).flows[0].reason()


def test_a_source_with_a_queue_of_its_own_is_left_alone() -> None:
    limits = at_nodes(decided(CHAIN, Policy(source="separate")))
    # B = 10.2 to three relays as 1 : √2 : √3; the destination as the last relay.
    assert limits == {"n1": 2, "n2": 3, "n3": 4, "n4": 4}
    assert Controller(Policy(source="separate")).observe(seen(chain(1))) is None


def test_flows_have_limits_of_their_own() -> None:
    decision = decided(TWO, Policy(queues="flow"))
    sized = virtual_queues(TWO)
    for each in sized.flows:
        for queue in each.queues:
            assert decision.limits[queue.node, each.flow.name] == queue.packets
        assert decision.limits["n4", each.flow.name] == each.queues[-1].packets
    assert len(decision.limits) == 5 + 2


def test_one_queue_holds_what_its_most_demanding_flow_needs() -> None:
    mesh = parking_lot()
    limits = at_nodes(decided(mesh))
    for node, packets in limits.items():
        of_flows = [queue.packets for queue in virtual_queues(mesh).queues_at(node)]
        if node != "gateway":
            assert packets == max(of_flows)


def test_a_slower_link_means_new_limits_at_the_next_observation() -> None:
    controller = Controller()
    controller.observe(seen(CHAIN))
    assert controller.observe(seen(CHAIN, 0.9)) is None
    decision = controller.observe(seen(SLOW, 1.0))
    assert at_nodes(decision) == at_nodes(decided(SLOW)) != PAPERS
    assert decision is not None
    assert decision.triggers == ("n1 -> n2 has 2.00 Mb/s, no longer 11.00 Mb/s",)


def test_another_route_moves_the_limits() -> None:
    nodes = ("a", "b", "c", "d")
    links = tuple(Link(u, v, 11e6) for u, v in (("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")))
    mesh = Topology(nodes, links, (Flow("f", ("a", "b", "d")),))
    controller = Controller()
    controller.observe(seen(mesh))
    moved = replace(mesh, flows=(Flow("f", ("a", "c", "d")),))
    decision = controller.observe(seen(moved, 1.0))
    assert decision is not None
    assert decision.triggers == ("f goes by a, c, d, no longer a, b, d",)
    assert decision.changes == {("c", None): 3, ("b", None): None}
    assert ("b", None) not in decision.limits


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"flows": (replace(FLOW, other_delay_s=0.1),)},
            "takes 100 ms outside the mesh, no longer",
        ),
        ({"flows": (replace(FLOW, demand_bps=1e5),)}, "wants 100 kb/s, no longer all it can get"),
        ({"links": tuple(replace(link, radio="a-ack-6") for link in CHAIN.links)}, "another radio"),
        ({"links": tuple(replace(link, channel="6") for link in CHAIN.links)}, "is on channel 6"),
        ({"rts": True}, "other nodes hear each other, or time frames otherwise"),
        (
            {"range_m": 9.0, "positions_m": {f"n{i}": (float(i), 0) for i in range(5)}},
            "other nodes hear each other",
        ),
    ],
)
def test_whatever_changes_the_limits_is_told(changed: dict, says: str) -> None:
    mesh = replace(CHAIN, **changed)
    assert says in changes(CHAIN, mesh)[0]
    assert changes(mesh, mesh) == ()
    assert changes(mesh, CHAIN) != ()


def test_many_changes_are_counted() -> None:
    controller = Controller()
    controller.observe(seen(chain(8)))
    decision = controller.observe(seen(chain(8, 2e6), 1.0))
    assert decision is not None
    assert decision.triggers[-1] == "3 other changes"


def test_flows_that_send_no_more_are_released() -> None:
    controller = Controller(Policy(idle_s=5.0, queues="flow"))
    controller.observe(seen(TWO))
    assert controller.observe(seen(TWO, 4.0, active={"far"})) is None
    decision = controller.observe(seen(TWO, 6.0, active={"far"}))
    assert decision is not None
    assert decision.triggers == ("near sends no more",)
    assert decision.changes == {("n3", "near"): None, ("n4", "near"): None}
    assert {flow for _, flow in decision.limits} == {"far"}
    decision = controller.observe(seen(TWO, 12.0, active=()))
    assert decision is not None
    assert decision.limits == {}
    assert set(decision.changes.values()) == {None}
    assert controller.observe(seen(TWO, 20.0, active=())) is None
    assert controller.observe(seen(TWO, 21.0)) is not None


def test_a_mesh_where_nobody_sends_is_left_alone() -> None:
    assert Controller().observe(seen(CHAIN, active=())) is None


def test_a_rise_is_not_taken_back_at_once() -> None:
    controller = Controller(Policy(hold_s=30.0))
    controller.observe(seen(SLOW))
    # Up at once, back after the time is over, and not before.
    assert at_nodes(controller.observe(seen(CHAIN, 1.0))) == PAPERS
    for time_s in range(2, 31):
        assert controller.observe(seen(SLOW, float(time_s))) is None
    decision = controller.observe(seen(SLOW, 31.0))
    assert at_nodes(decision) == at_nodes(decided(SLOW))
    assert decision is not None
    assert decision.triggers == ("30 s have passed since a rise",)


def test_a_fall_below_what_was_before_is_no_flapping() -> None:
    controller = Controller()
    middle, low = with_rate(CHAIN, "n1", "n2", 5.5e6), chain(4, 1e6)
    controller.observe(seen(middle))
    assert at_nodes(controller.observe(seen(CHAIN, 1.0))) == PAPERS
    decision = controller.observe(seen(low, 2.0))
    assert decision is not None
    below = {node: n for node, n in at_nodes(decided(low)).items() if n < PAPERS[node]}
    before = at_nodes(decided(middle))
    assert any(below[node] < before[node] for node in below)
    for node, packets in below.items():
        held = before[node] <= packets
        assert decision.limits[node, None] == (PAPERS[node] if held else packets)
        assert ((node, None) in decision.held) == held


def test_a_flapping_link_moves_limits_at_most_twice_in_the_hold_time() -> None:
    controller = Controller(Policy(hold_s=30.0))
    changed = [
        controller.observe(seen((CHAIN, SLOW)[second % 2], float(second))) is not None
        for second in range(300)
    ]
    assert sum(changed) <= 2 * (300 / 30) + 1
    times = [second for second, change in enumerate(changed) if change]
    # One of two successive changes is a rise, which holds.
    assert all(c - a >= 30 for a, c in zip(times[1:], times[3:], strict=False))


def test_small_changes_are_not_set() -> None:
    controller = Controller(Policy(change_packets=2))
    controller.observe(seen(CHAIN))
    middle = with_rate(CHAIN, "n1", "n2", 5.5e6)
    most = max(abs(n - PAPERS[node]) for node, n in at_nodes(decided(middle)).items())
    assert most == 1
    assert controller.observe(seen(middle, 1.0)) is None
    assert controller.observe(seen(SLOW, 2.0)) is not None


def test_explicit_timing_counts() -> None:
    times = {link: MeshExchange(20e-3, 5e-3) for link in CHAIN.links}
    decision = decided(CHAIN, exchanges=times)
    sized = virtual_queues(CHAIN, exchanges=times).node_packets(with_ring=False)
    assert {node: n for node, n in at_nodes(decision).items() if node != "n4"} == sized


def test_busy_domains_are_chosen_by_measurement() -> None:
    """Two flows far apart on a long chain: the one whose surroundings are busy shows where."""
    mesh = chain(10)
    policy = Policy(domains="busy")

    def limits(busy_nodes: range) -> Decision:
        busy = {f"n{i}": 0.95 if i in busy_nodes else 0.5 for i in range(11)}
        return decided(mesh, policy, busy=busy)

    start, end = limits(range(3)), limits(range(8, 11))
    assert "around n2 -> n3 is full (95%)" in start.reasons["flow"]
    assert "around n7 -> n8 is full (95%)" in end.reasons["flow"]
    # Drops belong before the bottleneck: what is sized for a late one is small until there.
    assert at_nodes(end)["n4"] < at_nodes(start)["n4"]


def test_a_domain_stays_full_until_it_is_clearly_not() -> None:
    mesh = chain(12)
    controller = Controller(Policy(domains="busy", every_s=10.0, hold_s=0.0))

    def at(time_s: float, start: float, end: float) -> Decision | None:
        busy = {f"n{i}": start if i < 4 else end if i > 8 else 0.5 for i in range(13)}
        return controller.observe(seen(mesh, time_s, busy=busy))

    first = at(0.0, 0.91, 0.8)
    assert first is not None
    assert "is full" in first.reasons["flow"]
    # Slightly below, and the other end slightly busier, but not full: nothing moves.
    assert at(10.0, 0.86, 0.89) is None
    moved = at(20.0, 0.84, 0.92)
    assert moved is not None
    assert "is full (92%)" in moved.reasons["flow"]


def test_busy_times_are_means_since_the_last_computation() -> None:
    mesh = chain(12)
    controller = Controller(Policy(domains="busy", hold_s=0.0))
    busy_end = {f"n{i}": 0.95 if i > 8 else 0.5 for i in range(13)}
    assert controller.observe(seen(mesh, 0.0, busy=busy_end)) is not None
    calm = dict.fromkeys(busy_end, 0.5)
    for second in range(1, 10):
        assert controller.observe(seen(mesh, float(second), busy=busy_end)) is None
    # The last second alone would say otherwise.
    assert controller.observe(seen(mesh, 10.0, busy=calm)) is None


RATES = [1e6, 2e6, 5.5e6, 11e6]


@st.composite
def meshes(draw: st.DrawFn) -> Topology:
    """Nodes n0, n1, ... of a chain with rates, flows and their directions at random."""
    hops = draw(st.integers(1, 7))
    nodes = tuple(f"n{i}" for i in range(hops + 1))
    links = []
    for a, b in pairwise(nodes):
        links += [
            Link(a, b, draw(st.sampled_from(RATES))),
            Link(b, a, draw(st.sampled_from(RATES))),
        ]
    flows = []
    for number in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, hops))
        last = draw(st.integers(0, hops).filter(lambda i, first=first: i != first))
        route = nodes[first : last + 1] if first < last else nodes[last : first + 1][::-1]
        delay = draw(st.sampled_from([0.0, 0.02, 0.2]))
        flows.append(Flow(str(number), route, draw(st.none() | st.floats(1e3, 1e7)), delay))
    return Topology(nodes, tuple(links), tuple(flows))


policies = st.builds(
    Policy,
    carrying=st.sampled_from(["link-rates", "flow-rates"]),
    domains=st.sampled_from(["two-hop", "busy"]),
    allocation=st.sampled_from(["ratio", "optimum", "equal", "first-hop", "airtime"]),
    queues=st.sampled_from(["node", "flow"]),
    source=st.sampled_from(["first", "separate"]),
    minimum_packets=st.integers(1, 3),
    hold_s=st.sampled_from([0.0, 30.0]),
)


@settings(deadline=None, max_examples=60)
@given(policies, st.lists(meshes(), min_size=1, max_size=4), st.data())
def test_limits_are_whole_and_never_below_the_minimum(policy, stages, data) -> None:
    controller = Controller(policy)
    fractions = st.floats(0, 1)
    limits = {}
    for time_s, mesh in enumerate(stages):
        busy = {node: data.draw(fractions) for node in mesh.nodes}
        rates = {flow.name: data.draw(st.floats(0, 1e7)) for flow in mesh.flows}
        decision = controller.observe(seen(mesh, float(time_s), rates_bps=rates, busy=busy))
        if decision is None:
            continue
        assert all(isinstance(n, int) for n in decision.limits.values())
        assert all(n >= policy.minimum_packets for n in decision.limits.values())
        # Who applies the changes has the limits.
        limits |= decision.changes
        limits = {slot: n for slot, n in limits.items() if n is not None}
        assert limits == decision.limits
        # Every relay of every active flow has one, and no other node.
        nodes = {node for flow in mesh.flows for node in flow.route[1:-1]}
        assert nodes <= {node for node, _ in limits}
        assert {node for node, _ in limits} <= {n for flow in mesh.flows for n in flow.route}


@settings(deadline=None, max_examples=60)
@given(st.lists(meshes(), min_size=1, max_size=5), st.sampled_from(["node", "flow"]))
def test_what_was_before_does_not_matter_to_the_static_policy(stages, queues) -> None:
    """With observations farther apart than the hold time."""
    policy = Policy(queues=queues, hold_s=30.0)
    controller = Controller(policy)
    limits = {}
    for number, mesh in enumerate(stages):
        decision = controller.observe(seen(mesh, 31.0 * number))
        limits = limits if decision is None else dict(decision.limits)
        assert limits == decided(mesh, policy).limits


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: Policy(domains="one-hop"), "domains"),
        (lambda: Policy(carrying="link"), "carrying"),
        (lambda: Policy(allocation="best"), "allocation"),
        (lambda: Policy(rounding="none"), "rounding"),
        (lambda: Policy(queues="link"), "queues"),
        (lambda: Policy(source="last"), "source"),
        (lambda: Policy(minimum_packets=0), "minimum_packets"),
        (lambda: Policy(every_s=0), "every_s"),
        (lambda: Policy(change_packets=0), "change_packets"),
        (lambda: Policy(hold_s=-1), "hold_s"),
        (lambda: Policy(idle_s=-1), "idle_s"),
        (lambda: Policy(memory_s=0), "memory_s"),
        (lambda: Policy(saturated=1.1), "saturated"),
        (lambda: Policy(segment_bytes=0), "segment_bytes"),
        (lambda: seen(CHAIN, float("nan")), "time_s"),
        (lambda: seen(CHAIN, active={"f"}), "active"),
        (lambda: seen(CHAIN, rates_bps={"flow": -1.0}), "rates_bps"),
        (lambda: seen(CHAIN, rates_bps={"f": 1.0}), "active"),
        (lambda: seen(CHAIN, busy={"n1": 1.1}), "busy of n1"),
        (lambda: decided(CHAIN, Policy(domains="busy"), busy={"n0": 0.5}), "busy"),
        (lambda: decided(CHAIN, Policy(carrying="flow-rates")), "busy"),
        (lambda: decided(cross(), Policy(radio="n-600")), "rate_bps"),
    ],
)
def test_bad_input_is_named(make, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make()
    assert raised.value.parameter == names


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(TopologyError, match="there is no node 'm'"):
        seen(CHAIN, busy={"m": 0.5})


def test_time_does_not_go_back_and_a_bad_mesh_leaves_the_limits() -> None:
    controller = Controller()
    controller.observe(seen(CHAIN, 5.0))
    with pytest.raises(ParameterError, match="the last was 5, which is later"):
        controller.observe(seen(CHAIN, 4.0))
    with pytest.raises(ParameterError):
        controller.observe(seen(with_rate(CHAIN, "n1", "n2", 3e6), 6.0))
    assert controller.observe(seen(CHAIN, 7.0)) is None
    assert at_nodes(controller.observe(seen(SLOW, 8.0))) == at_nodes(decided(SLOW))
