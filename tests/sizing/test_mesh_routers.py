"""The arithmetic of routers, in Rust, beside the models of the global observer, in Python."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue import _native
from airqueue.models.collision_domain import CollisionDomains
from airqueue.models.mesh_exchange import MeshExchange
from airqueue.models.mesh_file import read_topology
from airqueue.models.mesh_topology import Flow, Link, Topology, chain, cross, parking_lot
from airqueue.models.virtual_queues import MeshBuffers, link_exchanges, sized_queues, virtual_queues
from airqueue.sizing.mesh_control import Controller, Observation, Policy

EXAMPLES = Path(__file__).parents[2] / "examples" / "mesh"
PAPERS = [chain(1), chain(3), chain(4), chain(10), parking_lot(), cross()]
SEGMENT_BYTES = 1460


def routers(
    mesh: Topology, times: dict[Link, MeshExchange], busy: Sequence[float] | None = None
) -> list[dict]:
    """Return what the routers compute of a mesh as the models have it."""
    used = CollisionDomains(mesh).links
    node = {name: i for i, name in enumerate(mesh.nodes)}
    place = {(link.sender, link.receiver): i for i, link in enumerate(used)}
    channels = sorted({link.channel for link in used})
    links = [
        (
            node[link.sender],
            node[link.receiver],
            link.rate_bps,
            float(times[link].round_trip_s),
            channels.index(link.channel),
        )
        for link in used
    ]
    flows = [
        ([place[hop] for hop in flow.hops], flow.demand_bps, flow.other_delay_s)
        for flow in mesh.flows
    ]
    hears = [(int(a), int(b)) for a, b in mesh.neighbours()]
    full = None if busy is None else (list(busy), [fraction >= 0.9 for fraction in busy])
    return _native.mesh_buffers(
        (len(mesh.nodes), hears, links, flows),
        segment_bytes=SEGMENT_BYTES,
        minimum_packets=1,
        busy=full,
    )


def assert_equal(found: list[dict], expected: MeshBuffers) -> None:
    links = CollisionDomains(expected.topology).links
    for of, flow in zip(found, expected.flows, strict=True):
        assert links[of["centre"]] == flow.bottleneck.centre
        assert tuple(hop + 1 for hop in of["hops"]) == flow.bottleneck.hops
        assert of["full"] == flow.bottleneck.saturated
        assert of["utilisation"] == pytest.approx(flow.bottleneck.utilisation)
        assert of["buffer_packets"] == pytest.approx(float(flow.buffer.packets))
        assert of["packets"] == [queue.packets for queue in flow.queues]


@st.composite
def meshes(draw: st.DrawFn) -> tuple[Topology, dict[Link, MeshExchange]]:
    """Connected meshes of any shape, with any timing."""
    count = draw(st.integers(2, 10))
    pairs = {(draw(st.integers(0, node - 1)), node) for node in range(1, count)}
    more = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs |= {(min(pair), max(pair)) for pair in draw(st.lists(more, max_size=8))}
    rates = st.sampled_from([1e6, 2e6, 5.5e6, 11e6])
    links = [
        Link(f"n{a}", f"n{b}", draw(rates), draw(st.sampled_from("112")))
        for one, other in sorted(pairs)
        for a, b in ((one, other), (other, one))
        if one != other
    ]
    near = {
        f"n{node}": [link.receiver for link in links if link.sender == f"n{node}"]
        for node in range(count)
    }
    flows = []
    for i in range(draw(st.integers(1, 5))):
        route = [f"n{draw(st.integers(0, count - 1))}"]
        for _ in range(draw(st.integers(1, 6))):
            left = [name for name in near[route[-1]] if name not in route]
            if left:
                route.append(draw(st.sampled_from(left)))
        if len(route) > 1:
            demand = draw(st.none() | st.sampled_from([1e5, 5e5, 2e6]))
            flows.append(Flow(f"f{i}", tuple(route), demand, draw(st.sampled_from([0.0, 0.02]))))
    if not flows:
        flows = [Flow("f", (links[0].sender, links[0].receiver))]
    times = {
        link: MeshExchange(np.array(draw(st.floats(1e-4, 2e-2))), np.array(1e-3)) for link in links
    }
    return Topology(tuple(f"n{node}" for node in range(count)), tuple(links), tuple(flows)), times


@pytest.mark.parametrize("mesh", PAPERS, ids=lambda mesh: mesh.title)
def test_papers_topologies(mesh: Topology) -> None:
    times = link_exchanges(mesh, mesh.links)
    assert_equal(routers(mesh, dict(times)), virtual_queues(mesh))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    mesh = read_topology(path)
    times = link_exchanges(mesh, mesh.links)
    assert_equal(routers(mesh, dict(times)), virtual_queues(mesh))


@given(meshes())
def test_any_mesh(drawn: tuple[Topology, dict[Link, MeshExchange]]) -> None:
    mesh, times = drawn
    assert_equal(routers(mesh, times), virtual_queues(mesh, exchanges=times))


@given(meshes(), st.data())
def test_busy_media(drawn: tuple[Topology, dict[Link, MeshExchange]], data: st.DataObject) -> None:
    mesh, times = drawn
    fractions = st.sampled_from([0.3, 0.6, 0.64, 0.88, 0.9, 0.95])
    busy = {node: data.draw(fractions) for node in mesh.nodes}
    domains = CollisionDomains(mesh)
    of_domains = [max(busy[link.sender], busy[link.receiver]) for link in domains.links]
    bottlenecks = domains.busy_bottlenecks(of_domains)
    expected = sized_queues(domains, bottlenecks, exchanges=times)
    assert_equal(routers(mesh, times, list(busy.values())), expected)


@given(meshes())
def test_the_controllers_limits(drawn: tuple[Topology, dict[Link, MeshExchange]]) -> None:
    mesh, times = drawn
    names = frozenset(flow.name for flow in mesh.flows)
    seen = Observation(0.0, mesh, names, exchanges=times)
    decision = Controller(Policy(queues="flow")).observe(seen)
    assert decision is not None
    for of, flow in zip(routers(mesh, times), mesh.flows, strict=True):
        packets = [*of["packets"], of["packets"][-1]]
        assert packets == [decision.limits[node, flow.name] for node in flow.route]


LINK = (0, 1, 1e6, 1e-3, 1)
WRONG = {
    "hears names node 2; the mesh has 2": (2, [(0, 2)], [], []),
    "a link names node 2; the mesh has 2": (2, [], [(0, 2, 1e6, 1e-3, 1)], []),
    "the rate of a link is 0; it must be finite, above 0": (2, [], [(0, 1, 0.0, 1e-3, 1)], []),
    "the round trip of a link is inf": (2, [], [(0, 1, 1e6, float("inf"), 1)], []),
    "flow 0 has no route": (2, [], [LINK], [([], None, 0.0)]),
    "a flow names link 1; the mesh has 1": (2, [], [LINK], [([1], None, 0.0)]),
    "flow 1 has no route": (2, [], [LINK], [([0], None, 0.0), ([0, 0], None, 0.0)]),
    "the demand of a flow is NaN": (2, [], [LINK], [([0], float("nan"), 0.0)]),
    "the delay of a flow is -1; it must be finite": (2, [], [LINK], [([0], None, -1.0)]),
    "the mesh has 1000000 nodes; it may have at most 4096": (10**6, [], [], []),
}


@pytest.mark.parametrize(("words", "mesh"), WRONG.items(), ids=range(len(WRONG)))
def test_wrong_meshes_are_named(words: str, mesh: tuple) -> None:
    with pytest.raises(_native.NativeError, match=f"^{re.escape(words)}"):
        _native.mesh_buffers(mesh, segment_bytes=1460, minimum_packets=1)
