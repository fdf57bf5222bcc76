"""Domains against the definition tried on every pair, rates against the laws of max-min fairness."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models import collision_domain
from airqueue.models.collision_domain import MODEL, CollisionDomains, shaped
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_topology import (
    Flow,
    Link,
    Topology,
    TopologyError,
    chain,
    cross,
    parking_lot,
)


@st.composite
def meshes(draw: st.DrawFn) -> Topology:
    """Nodes on a grid, some routes over neighbours, rates and channels at random."""
    width, height = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    nodes = {f"{x},{y}": (float(x), float(y)) for x, y in product(range(width), range(height))}
    flows, links = [], {}
    for number in range(draw(st.integers(1, 4))):
        route = [draw(st.sampled_from(sorted(nodes)))]
        for _ in range(draw(st.integers(1, 6))):
            x, y = nodes[route[-1]]
            near = [
                name
                for name, (u, v) in nodes.items()
                if abs(u - x) + abs(v - y) == 1 and name not in route
            ]
            if not near:
                break
            route.append(draw(st.sampled_from(near)))
        if len(route) > 1:
            demand = draw(st.none() | st.floats(1e3, 1e7))
            flows.append(Flow(str(number), tuple(route), demand))
    if not flows:
        flows = [Flow("0", ("0,0", "1,0"))]
    for flow in flows:
        for sender, receiver in flow.hops:
            rate = draw(st.sampled_from([1e6, 11e6, 54e6]))
            channel = draw(st.sampled_from("112"))
            links[sender, receiver] = Link(sender, receiver, rate, channel)
    return Topology(tuple(nodes), tuple(links.values()), tuple(flows), nodes, 1.0)


def interferes(mesh: Topology, a: Link, b: Link) -> bool:
    """The definition: some endpoint of one is, or hears, some endpoint of the other."""
    place = mesh.positions_m
    ends = product((a.sender, a.receiver), (b.sender, b.receiver))
    near = any(np.hypot(*np.subtract(place[u], place[v])) <= mesh.range_m for u, v in ends)
    return near and a.channel == b.channel


@given(meshes())
@settings(max_examples=60, deadline=None)
def test_domains_against_every_pair(mesh: Topology) -> None:
    domains = CollisionDomains(mesh)
    assert set(domains.links) == set(mesh.links)
    for i, centre in enumerate(domains.links):
        members = [link for link in domains.links if interferes(mesh, centre, link)]
        assert list(domains.members(i)) == members
        for f, flow in enumerate(mesh.flows):
            its = {(link.sender, link.receiver) for link in members}
            hops = tuple(h for h, hop in enumerate(flow.hops, start=1) if hop in its)
            assert domains.hops(i, f) == hops
            assert (i in domains.domains(f)) == bool(hops) == (f in domains.flows(i))


@given(meshes(), st.data())
@settings(max_examples=40, deadline=None)
def test_utilisation_against_the_sum(mesh: Topology, data: st.DataObject) -> None:
    domains = CollisionDomains(mesh)
    rates = [data.draw(st.floats(0, 1e7)) for _ in mesh.flows]
    found = domains.utilisation(rates)
    for i in range(len(domains.links)):
        total = sum(
            rate / link.rate_bps
            for rate, flow in zip(rates, mesh.flows, strict=True)
            for link in domains.members(i)
            if (link.sender, link.receiver) in flow.hops
        )
        assert found[i] == pytest.approx(total, rel=1e-12)


@given(meshes())
@settings(max_examples=100, deadline=None)
def test_the_laws_of_max_min_fairness(mesh: Topology) -> None:
    """Feasible; and every flow has its demand or a full domain in which none is faster."""
    domains = CollisionDomains(mesh)
    rates = domains.max_min_rates_bps()
    utilisation = domains.utilisation(rates)
    assert (rates > 0).all()
    assert utilisation.max() <= 1 + 1e-9
    for f, (flow, found) in enumerate(zip(mesh.flows, domains.bottlenecks(), strict=True)):
        limited = any(
            utilisation[d] >= 1 - 1e-9
            and rates[f] >= max(rates[g] for g in domains.flows(d)) * (1 - 1e-9)
            for d in domains.domains(f)
        )
        met = flow.demand_bps is not None and rates[f] >= flow.demand_bps * (1 - 1e-12)
        assert limited or met
        assert found.saturated or met
        assert found.transmitters >= 1
        assert found.rate_bps == rates[f]


def test_the_papers_drawing() -> None:
    """Fig. 2: the domain of the third of six links has the two on either side."""
    domains = CollisionDomains(chain(6))
    assert [str(link)[1] for link in domains.members(2)] == list("01234")


@pytest.mark.parametrize(
    ("hops", "transmitters"), [(1, 1), (3, 3), (4, 4), (5, 5), (6, 5), (12, 5)]
)
def test_transmitters_of_a_chain(hops: int, transmitters: int) -> None:
    (found,) = CollisionDomains(chain(hops)).bottlenecks()
    assert found.transmitters == transmitters
    assert found.rate_bps == pytest.approx(11e6 / transmitters)


def test_the_parking_lots_common_bottleneck() -> None:
    found = CollisionDomains(parking_lot()).bottlenecks()
    assert {str(each.centre) for each in found} == {"n3 -> n2"}
    assert [each.transmitters for each in found] == [4, 5, 5]
    assert [each.rate_bps for each in found] == pytest.approx([11e6 / 14] * 3)


def test_the_crosss_shared_nodes() -> None:
    """Each flow shares the domains of the others with its last two nodes, one and two hops away."""
    domains = CollisionDomains(cross())
    assert [each.hops for each in domains.bottlenecks()] == [(4, 5)] * 4
    assert [each.hops for each in domains.bottlenecks(tie="most")] == [(3, 4, 5)] * 4
    # All domains around the gateway have the eight links in common that the paper counts.
    common = set.intersection(
        *(
            set(domains.members(i))
            for i, link in enumerate(domains.links)
            if link.receiver == "gateway"
        )
    )
    assert len(common) == 8


def test_given_rates_choose_the_busiest_domain() -> None:
    lot = CollisionDomains(parking_lot((2, 9)))
    low, high = lot.bottlenecks([0.0, 2e6])
    assert high.saturated
    assert high.utilisation == pytest.approx(10 / 11)
    assert low.rate_bps == 0
    assert not lot.bottlenecks([1e3, 1e3])[0].saturated


@pytest.mark.parametrize(("used", "saturated"), [(0.85, False), (0.91, True)])
def test_measured_domains_are_saturated_from_nine_tenths_on(used: float, saturated: bool) -> None:
    (found,) = CollisionDomains(chain(4)).bottlenecks([used * 11e6 / 4])
    assert found.utilisation == pytest.approx(used)
    assert found.saturated == saturated


def test_a_full_domain_with_a_faster_flow_is_no_bottleneck() -> None:
    """Both ends of a long flow are full: the far one because of its three neighbours, which are as
    slow as it is; the near one because one neighbour takes all that it leaves."""
    mesh = chain(10)
    route = mesh.flows[0].route
    flows = (
        Flow("long", route),
        Flow("near", route[:2]),
        *(Flow(f"far {i}", route[-2:]) for i in range(3)),
    )
    domains = CollisionDomains(Topology(mesh.nodes, mesh.links, flows))
    long, near, *far = domains.bottlenecks()
    assert [each.rate_bps for each in (long, *far)] == pytest.approx([11e6 / 8] * 4)
    assert near.rate_bps == pytest.approx(11e6 * 3 / 8)
    assert long.hops == (6, 7, 8, 9, 10)
    assert near.centre.sender in ("n0", "n1", "n2")


def test_a_met_demand_leaves_the_rest_to_others() -> None:
    mesh = parking_lot((4, 5))
    flows = (Flow("small", mesh.flows[0].route, 100e3), mesh.flows[1])
    domains = CollisionDomains(Topology(mesh.nodes, mesh.links, flows))
    small, large = domains.bottlenecks()
    assert small.rate_bps == 100e3
    # The domain of the third link: four hops of one, five of the other.
    assert large.rate_bps == pytest.approx((11e6 - 4 * 100e3) / 5)


def test_channels_separate_domains() -> None:
    mesh = chain(2)
    links = (mesh.links[0], Link("n1", "n2", 11e6, "other"))
    (found,) = CollisionDomains(Topology(mesh.nodes, links, mesh.flows)).bottlenecks()
    assert found.transmitters == 1
    assert found.rate_bps == 11e6


def test_thousands_of_links_take_moments() -> None:
    start = time.process_time()
    domains = CollisionDomains(cross(800, 6))
    found = domains.bottlenecks()
    assert len(domains.links) == 4800
    assert {each.transmitters for each in found} == {2}
    assert time.process_time() - start < 5


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collision_domain, "MAX_FILLING", 3)
    with pytest.raises(TopologyError, match="flows times pairs of a flow and a domain"):
        CollisionDomains(chain(4))
    monkeypatch.undo()
    leaves = [f"n{i}" for i in range(30)]
    around = zip(leaves, leaves[1:] + leaves[:1], strict=True)
    star = Topology(
        ("hub", *leaves),
        tuple(link for n in leaves for link in (Link(n, "hub", 1e6), Link("hub", n, 1e6))),
        tuple(Flow(a, (a, "hub", b)) for a, b in around),
    )
    for limit, says in (
        (1900, "pairs of a link and a node that hears it: there are 1,980"),
        (3500, "pairs of interfering links: there are 3,600"),
    ):
        monkeypatch.setattr(collision_domain, "MAX_INTERFERENCES", limit)
        with pytest.raises(TopologyError, match=says):
            CollisionDomains(star)
    both = Topology(
        star.nodes,
        star.links,
        star.flows + tuple(Flow(f"{flow.name} back", flow.route[::-1]) for flow in star.flows),
    )
    monkeypatch.setattr(collision_domain, "MAX_INTERFERENCES", 3600)
    assert len(CollisionDomains(star).members(0)) == 60
    with pytest.raises(TopologyError, match="pairs of a hop and a domain: there are 7,200"):
        CollisionDomains(both)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: CollisionDomains(chain(2)).utilisation([1, 2]), "rates_bps"),
        (lambda: CollisionDomains(chain(2)).utilisation([-1]), "rates_bps"),
        (lambda: CollisionDomains(chain(2)).utilisation([float("nan")]), "rates_bps"),
        (lambda: CollisionDomains(chain(2)).members(9), "domain"),
        (lambda: CollisionDomains(chain(2)).bottlenecks(tie="both"), "tie"),
        (lambda: shaped("ring", 4, 3, 11e6), "shape"),
        (lambda: shaped("parking-lot", 2, 3, 11e6), "flows"),
        (lambda: shaped("chain", 10**9, 3, 11e6), "hops"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


@pytest.mark.parametrize("shape", ["chain", "parking-lot", "cross"])
def test_the_commands_figures(shape: str) -> None:
    found = MODEL.evaluate(shape=shape, hops=6, flows=3, rate_bps=11e6)
    assert set(found) == {output.name for output in MODEL.outputs}
    assert len(found["transmitters"]) == (1 if shape == "chain" else 3)


def test_a_busy_domain_is_taken_for_the_bottleneck() -> None:
    domains = CollisionDomains(chain(8))
    busy = [0.5] * 7 + [0.95]
    (found,) = domains.busy_bottlenecks(busy)
    assert (str(found.centre), found.saturated) == ("n7 -> n8", True)
    assert found.utilisation == pytest.approx(0.95)
    assert found.hops == (6, 7, 8)


def test_what_measurement_cannot_tell_apart_the_model_does() -> None:
    domains = CollisionDomains(chain(4))
    (model,) = domains.bottlenecks()
    # All full, or none and all alike: the most loaded in the model, whichever is busier by a little.
    for busy in ([0.99, 0.92, 0.93, 0.95], [0.84, 0.81, 0.80, 0.83]):
        (found,) = domains.busy_bottlenecks(busy)
        assert (found.centre, found.hops) == (model.centre, model.hops)
    assert not found.saturated
    # Those that the model has for full are not busy here.
    (found,) = domains.busy_bottlenecks([0.8, 0.5, 0.5, 0.5])
    assert str(found.centre) == "n0 -> n1"
    # What is full may be said instead of found.
    (found,) = domains.busy_bottlenecks([0.8, 0.5, 0.5, 0.5], [False, False, False, True])
    assert (str(found.centre), found.saturated) == ("n3 -> n4", True)


@settings(deadline=None)
@given(meshes(), st.data())
def test_a_full_domain_of_the_flow_is_always_taken(mesh: Topology, data: st.DataObject) -> None:
    domains = CollisionDomains(mesh)
    busy = [data.draw(st.floats(0, 1)) for _ in domains.links]
    for index, found in enumerate(domains.busy_bottlenecks(busy)):
        crossed = [busy[domain] for domain in domains.domains(index)]
        assert found.saturated == (max(crossed) >= collision_domain.SATURATED)
        assert found.utilisation in crossed
        if not found.saturated:
            assert found.utilisation >= max(crossed) - collision_domain.ALIKE


@settings(deadline=None)
@given(meshes(), st.data())
def test_the_air_in_use_is_the_flows_together(mesh: Topology, data: st.DataObject) -> None:
    domains = CollisionDomains(mesh)
    rates = [data.draw(st.floats(0, 1e6)) for _ in mesh.flows]
    for domain, utilisation in enumerate(domains.utilisation(rates)):
        used = domains.air_in_use(domain, rates)
        assert set(used) == set(domains.flows(domain))
        assert sum(used.values()) == pytest.approx(utilisation)


@pytest.mark.parametrize("busy", [[0.5], [0.5] * 3 + [1.5], [-0.1] * 4])
def test_busy_fractions_are_checked(busy: list[float]) -> None:
    with pytest.raises(ParameterError) as raised:
        CollisionDomains(chain(4)).busy_bottlenecks(busy)
    assert raised.value.parameter == "busy"
