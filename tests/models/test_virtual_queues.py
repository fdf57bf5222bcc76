"""Buffers of whole meshes: the paper's scenarios, the example files, and what must hold for any."""

from pathlib import Path

import pytest

from airqueue.models.collision_domain import CollisionDomains
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_exchange import MeshExchange, mesh_exchange
from airqueue.models.mesh_file import read_topology
from airqueue.models.mesh_topology import Flow, Link, Topology, chain, cross, parking_lot
from airqueue.models.virtual_queues import MODEL, sized_queues, virtual_queues

EXAMPLES = Path(__file__).parents[2] / "examples" / "mesh"


def limits(mesh: Topology, **options) -> list[list[float]]:
    sized = virtual_queues(mesh, **options)
    return [[queue.packets for queue in flow.queues] for flow in sized.flows]


def test_the_papers_chains() -> None:
    assert limits(chain(4)) == [[2, 2, 3, 3]]
    assert limits(chain(3)) == [[2, 3, 3]]


def test_the_testbeds_nodes_hold_three_packets_more() -> None:
    sized = virtual_queues(chain(3))
    assert sized.node_packets() == {"n0": 5, "n1": 6, "n2": 6}
    assert sized.node_packets(with_ring=False) == {"n0": 2, "n1": 3, "n2": 3}


def test_the_cross_gives_two_and_three() -> None:
    sized = virtual_queues(cross())
    for flow in sized.flows:
        inside = [(queue.hop, queue.packets) for queue in flow.queues if queue.in_bottleneck]
        assert inside == [(4, 2), (5, 3)]


def test_the_parking_lot_has_one_to_three_packets_per_flow() -> None:
    sized = virtual_queues(parking_lot())
    assert [float(flow.buffer.packets) for flow in sized.flows] == pytest.approx(
        [10.16, 12.70, 12.70], abs=5e-3
    )
    queues = [queue for flow in sized.flows for queue in flow.queues]
    assert all(1 <= queue.packets <= 3 for queue in queues)
    # A relay keeps the flows apart.
    assert [queue.flow for queue in sized.queues_at("n3")] == ["4 hops", "5 hops", "6 hops"]


def test_nodes_outside_the_bottleneck_follow_their_neighbours() -> None:
    (flow,) = virtual_queues(chain(12)).flows
    inside = [queue.in_bottleneck for queue in flow.queues]
    assert inside.count(True) == 5
    first, last = inside.index(True), 11 - inside[::-1].index(True)
    packets = [queue.packets for queue in flow.queues]
    assert set(packets[:first]) <= {packets[first]}
    assert set(packets[last + 1 :]) == {packets[last]}


def test_nodes_before_the_bottleneck_get_what_its_first_has() -> None:
    """Three flows on the last hop put the bottleneck of a ten-hop flow on its last five."""
    mesh = chain(10)
    route = mesh.flows[0].route
    flows = (mesh.flows[0], *(Flow(f"far {i}", route[-2:]) for i in range(3)))
    sized = virtual_queues(Topology(mesh.nodes, mesh.links, flows)).flows[0]
    assert [queue.in_bottleneck for queue in sized.queues] == [False] * 5 + [True] * 5
    packets = [queue.packets for queue in sized.queues]
    assert packets[:5] == [packets[5]] * 5
    assert packets[5] < packets[-1]


def test_a_slow_link_gets_more_where_its_air_time_counts() -> None:
    fast = chain(3)
    links = tuple(Link(a, b, 1e6 if a == "n1" else 11e6) for a, b in fast.flows[0].hops)
    mesh = Topology(fast.nodes, links, (Flow("f", fast.flows[0].route, None, 0.5),))
    by_airtime, by_hops = (
        virtual_queues(mesh, strategy=strategy).flows[0].allocation.packets
        for strategy in ("airtime", "optimum")
    )
    assert by_airtime[1] > by_hops[1]
    assert by_airtime[1] > by_airtime[2]


def test_rts_makes_every_exchange_longer() -> None:
    mesh = chain(2)
    with_rts = Topology(mesh.nodes, mesh.links, mesh.flows, rts=True)
    (flow,) = virtual_queues(with_rts).flows
    hop = float(mesh_exchange("b-ack-11", rts=True).round_trip_s)
    assert float(flow.buffer.rtt_s) == pytest.approx(2 * hop)


def test_a_radio_that_is_asked_for_times_all_links() -> None:
    links = tuple(Link(a, b, 11e6, radio="b-ack-2") for a, b in (("x", "y"), ("y", "z")))
    mesh = Topology(("x", "y", "z"), links, (Flow("f", ("x", "y", "z")),), radio="b-short-ack-2")
    for radio, times in ((None, "b-ack-2"), ("b-ack-1", "b-ack-1")):
        (flow,) = virtual_queues(mesh, radio).flows
        expected = 2 * float(mesh_exchange(times).round_trip_s)
        assert float(flow.buffer.rtt_s) == pytest.approx(expected)


def test_explicit_timing_and_delay() -> None:
    mesh = chain(2)
    slow = {link: MeshExchange(10e-3, 5e-3) for link in mesh.links}
    (flow,) = virtual_queues(mesh, exchanges=slow).flows
    assert float(flow.buffer.packets) == pytest.approx(30e-3 * 11e6 / 11680)
    far = Topology(mesh.nodes, mesh.links, (Flow("far", mesh.flows[0].route, None, 50e-3),))
    (flow,) = virtual_queues(far).flows
    hop = float(mesh_exchange("b-ack-11").round_trip_s)
    assert float(flow.buffer.packets) == pytest.approx((2 * hop + 50e-3) * 11e6 / 11680)
    assert flow.buffer.reason() in flow.reason()


def test_what_a_flow_can_carry() -> None:
    """A flow that wants less, or gets less, needs less; the paper counts the slowest link."""
    mesh = chain(4)
    by_link, by_share = (
        float(virtual_queues(mesh, carrying=carrying).flows[0].buffer.packets)
        for carrying in ("link", "share")
    )
    assert by_share == pytest.approx(by_link / 4)
    modest = Topology(mesh.nodes, mesh.links, (Flow("f", mesh.flows[0].route, 1.1e6),))
    (flow,) = virtual_queues(modest).flows
    assert float(flow.buffer.packets) == pytest.approx(by_link / 10)
    assert not flow.bottleneck.saturated
    assert "the busiest" in flow.reason()
    idle = virtual_queues(mesh, carrying="share", rates_bps=[0.0])
    assert [queue.packets for queue in idle.flows[0].queues] == [1, 1, 1, 1]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("strategy", ["ratio", "optimum", "airtime", "airtime-path", "first-hop"])
def test_the_examples_are_sized(path: Path, strategy: str) -> None:
    mesh = read_topology(path)
    sized = virtual_queues(mesh, strategy=strategy)
    for flow in sized.flows:
        assert len(flow.queues) == len(flow.flow.hops)
        assert all(queue.packets >= 1 for queue in flow.queues)
    totals = sized.node_packets(with_ring=False)
    assert sum(totals.values()) == sum(q.packets for flow in sized.flows for q in flow.queues)


def test_links_have_radios_of_their_own() -> None:
    mesh = read_topology(EXAMPLES / "community.toml")
    mill = virtual_queues(mesh, rounding="none").flows[0]
    expected = (
        12e-3
        + float(mesh_exchange("mesh-n", 60e6).round_trip_s)
        + float(mesh_exchange("mesh-n", 120e6).round_trip_s)
        + float(mesh_exchange("mesh-ac", 585e6).round_trip_s)
    )
    assert float(mill.buffer.rtt_s) == pytest.approx(expected)
    assert float(mill.buffer.packet_rate) == pytest.approx(60e6 / 11680)


def test_a_source_with_a_queue_of_its_own_is_not_sized() -> None:
    """B is then the relays', in the order from the first of them."""
    (flow,) = virtual_queues(chain(4), source="separate").flows
    assert [(queue.hop, queue.packets) for queue in flow.queues] == [(2, 2), (3, 3), (4, 4)]
    (whole,) = virtual_queues(chain(4)).flows
    assert float(flow.buffer.packets) == float(whole.buffer.packets)
    assert "holds 4 of its 4 hops" in flow.reason()
    (single,) = virtual_queues(chain(1)).flows
    assert "holds 1 of its 1 hop. " in single.reason()
    (direct,) = virtual_queues(chain(1), source="separate").flows
    assert (direct.queues, direct.returned) == ((), None)


def test_relays_outside_take_over_what_a_separate_source_alone_would_hold() -> None:
    """Slow links of another flow, one of which the source hears: its first hop is the bottleneck."""
    mesh = chain(6)
    nodes = (*mesh.nodes, "x", "y", "z")
    links = (*mesh.links, Link("z", "y", 1e6), Link("y", "x", 1e6), Link("x", "n0", 1e6))
    flows = (mesh.flows[0], Flow("other", ("z", "y", "x")))
    sized = virtual_queues(Topology(nodes, links, flows), source="separate").flows[0]
    assert sized.bottleneck.hops == (1,)
    total = round(float(sized.buffer.packets))
    assert [queue.packets for queue in sized.queues] == [total] * 5


def test_destinations_have_what_the_last_transmitting_node_has() -> None:
    sized = virtual_queues(chain(4))
    assert sized.flows[0].returned == ("n4", 3)
    packets = sized.node_packets(with_ring=False, acknowledgements=True)
    assert list(packets.values()) == [2, 2, 3, 3, 3]
    assert "n4" not in sized.node_packets()


def test_a_shared_fifo_is_the_sum_of_the_flows_or_the_largest() -> None:
    sized = virtual_queues(parking_lot())
    largest = sized.node_packets(with_ring=False, shared="largest")
    for node, total in sized.node_packets(with_ring=False).items():
        of_flows = [queue.packets for queue in sized.queues_at(node)]
        assert total == sum(of_flows)
        assert largest[node] == max(of_flows)
    with pytest.raises(ParameterError, match="shared"):
        sized.node_packets(shared="most")


def test_a_measured_ceiling_lowers_the_rate_and_one_above_does_nothing() -> None:
    domains = CollisionDomains(parking_lot())
    bottlenecks = domains.bottlenecks()
    free = sized_queues(domains, bottlenecks)
    most = [5.5e6, 11e6, 100e6]
    capped = sized_queues(domains, bottlenecks, most_bps=most)
    for each, without, factor in zip(capped.flows, free.flows, (0.5, 1, 1), strict=True):
        assert float(each.buffer.packets) == pytest.approx(factor * without.buffer.packets)
    for wrong in ([1e6], [0.0] * 3):
        with pytest.raises(ParameterError) as raised:
            sized_queues(domains, bottlenecks, most_bps=wrong)
        assert raised.value.parameter == "most_bps"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"radio": "d"}, "radio"),
        ({"radio": "n-600"}, "rate_bps"),
        ({"ring_packets": -1}, "ring_packets"),
        ({"rates_bps": [1, 2]}, "rates_bps"),
        ({"strategy": "best"}, "strategy"),
        ({"segment_bytes": 0}, "segment_bytes"),
        ({"minimum_packets": -1}, "minimum_packets"),
        ({"carrying": "most"}, "carrying"),
        ({"tie": "no"}, "tie"),
        ({"source": "last"}, "source"),
    ],
)
def test_bad_input_is_named(options: dict, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        virtual_queues(chain(4), **options)
    assert raised.value.parameter == names


def test_the_commands_figures() -> None:
    arguments = {
        "hops": 6,
        "flows": 3,
        "radio": "b-ack-11",
        "rate_bps": None,
        "segment_bytes": 1460,
        "strategy": "ratio",
        "rounding": "nearest",
        "minimum_packets": 1,
        "ring_packets": 3,
        "carrying": "link",
        "source": "first",
    }
    found = MODEL.evaluate(shape="parking-lot", **arguments)
    assert set(found) == {output.name for output in MODEL.outputs}
    assert found["first_flow_packets"] == [2, 2, 3, 3]
    assert MODEL.evaluate(shape="chain", **{**arguments, "rate_bps": 1e6})["first_flow_packets"]
