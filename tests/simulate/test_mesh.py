"""Meshes in a line: who is there, which way the flows take, and what is refused."""

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.simulate import Scenario, ScenarioError, mesh


def steps(scenario: Scenario) -> dict[str, int]:
    """Return how many hops each flow takes."""
    return {flow: len(route) - 1 for flow, route in scenario.routes.items()}


def test_the_examples_of_the_module_are_true():
    assert doctest.testmod(mesh).failed == 0


@given(hops=st.integers(1, 30))
@settings(max_examples=10, deadline=None)
def test_a_chain_has_its_hops(hops):
    chain = mesh.chain(hops)
    assert chain.stations == ["gateway", *(f"node{at}" for at in range(1, hops + 1))]
    assert steps(chain) == {"up": hops}
    assert chain.routes["up"] == [*chain.stations[:0:-1], "gateway"]


@given(hops=st.lists(st.integers(1, 12), min_size=1, max_size=5))
@settings(max_examples=10, deadline=None)
def test_flows_of_a_parking_lot_have_their_hops(hops):
    assert steps(mesh.parking_lot(hops)) == {f"up{count}": count for count in hops}


@given(hops=st.integers(1, 6), arms=st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_arms_of_a_cross_meet_at_the_gateway_alone(hops, arms):
    routes = mesh.cross(hops, arms).routes
    assert len(routes) == arms
    for flow, route in routes.items():
        arm = flow.removeprefix("up_")
        assert route == [*(f"{arm}{at}" for at in range(hops, 0, -1)), "gateway"]


@given(columns=st.integers(1, 7), rows=st.integers(2, 7), data=st.data())
@settings(max_examples=20, deadline=None)
def test_ways_through_a_grid_have_no_detour(columns, rows, data):
    gateway = data.draw(st.integers(1, columns * rows))
    flows = data.draw(st.integers(1, columns * rows - 1))
    routes = mesh.grid(columns, rows, flows=flows, gateway=gateway).routes
    assert len(routes) == flows
    place = {f"node{at + 1}": divmod(at, columns) for at in range(columns * rows)}
    for route in routes.values():
        here, there = place[route[0]], place[f"node{gateway}"]
        assert len(route) - 1 == abs(here[0] - there[0]) + abs(here[1] - there[1])


def test_a_random_mesh_is_the_first_that_does_not_fall_apart():
    village = mesh.random(25, area_m=(900.0, 700.0), seed=0)
    places = village.description["stations"][1]["random"]
    for seed in range(places["seed"]):
        with pytest.raises(ScenarioError, match="routing: the network falls apart"):
            village.changed({"stations.node.random.seed": seed})
    assert mesh.random(25, area_m=(900.0, 700.0), seed=places["seed"]).routes == village.routes
    with pytest.raises(ScenarioError, match=r"seeds in a row the network falls apart.*gateway"):
        mesh.random(3, area_m=(50_000.0, 50_000.0), flows=2)
    with pytest.raises(
        ScenarioError, match=r"random\.min_distance: only \d+ of 90 stations.*at most"
    ):
        mesh.random(90, area_m=(200.0, 200.0), apart_m=60.0)


def test_a_server_is_behind_the_gateway_and_calls_beside_the_flows():
    lot = mesh.parking_lot((1, 2), server="10 ms", direction="both", calls=True)
    plain = ["up1", "up2", "down1", "down2"]
    assert lot.flows == [*plain, *(f"call_{flow}" for flow in plain)]
    assert lot.routes["down2"] == ["server", "gateway", "node1", "node2"]
    assert lot.routes["call_up1"] == ["node1", "gateway", "server"]
    corner = mesh.grid(2, 2, flows=1, gateway=4, server="1 ms", direction="down")
    assert corner.routes == {"down3": ["server", "node4", "node3"]}


def test_options_end_up_in_the_scenario():
    scenario = mesh.chain(
        3,
        spacing_m=100.0,
        standard="802.11n",
        rate="HT-MCS3",
        links={("gateway", "node1"): "HT-MCS1"},
        medium={"ranges": {"decode": "150 m"}},
        metric="airtime",
        flow={"source": "poisson", "rate": "100 kb/s"},
        limit="7 packets",
        duration="3 s",
        overrides={"flows.up.size": "500 B"},
    )
    described = scenario.description
    assert described["phy"] == {"standard": "802.11n", "rate": "HT-MCS3"}
    assert described["links"] == [{"between": ["gateway", "node1"], "rate": "HT-MCS1"}]
    assert described["routing"] == {"metric": "airtime"}
    assert described["queue"] == {"limit": "7 packets"}
    assert described["flows"] == [
        {
            "name": "up",
            "from": "node3",
            "to": "gateway",
            "source": "poisson",
            "rate": "100 kb/s",
            "size": "500 B",
        }
    ]
    assert scenario.duration_s == 3
    # Two hops away from each other they would still hear each other at 100 m.
    assert steps(mesh.chain(4, spacing_m=100.0)) == {"up": 2}


@pytest.mark.parametrize(
    "make",
    [
        lambda: mesh.chain(2, **SMALL),
        lambda: mesh.parking_lot((1, 2), **SMALL),
        lambda: mesh.cross(2, **SMALL),
        lambda: mesh.grid(3, 2, flows=2, **SMALL),
        lambda: mesh.random(8, area_m=(300.0, 300.0), flows=2, **SMALL),
    ],
)
def test_they_run_and_all_flows_get_through(make):
    flows = make().simulate(replications=1).flows
    assert (flows["delivered_packets"] > 0).all()


SMALL: mesh.Options = {
    "duration": "2 s",
    "flow": {"source": "poisson", "rate": "100 kb/s"},
    "overrides": {"warm_up": "100 ms"},
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: mesh.chain(0), "hops: 0; expected a whole number from 1"),
        (lambda: mesh.chain(2.5), "hops: 2.5"),
        (lambda: mesh.parking_lot(()), "flow_hops: there are none"),
        (lambda: mesh.parking_lot((2, -1)), "flow_hops: -1"),
        (lambda: mesh.cross(2, 27), "arms: 27"),
        (lambda: mesh.grid(1, 1), r"columns \* rows: 1"),
        (lambda: mesh.grid(2, 2, flows=4), "flows: 4; expected a whole number from 1 to 3"),
        (lambda: mesh.grid(2, 2, gateway=5), "gateway: 5"),
        (lambda: mesh.random(0), "nodes: 0"),
        (lambda: mesh.random(5, seed=-1), "seed: -1"),
        (lambda: mesh.chain(2, direction="sideways"), "direction: 'sideways'"),
        (lambda: mesh.chain(2, metric="etx"), "routing.metric: unknown word `etx`"),
        (lambda: mesh.chain(2, spacing_m=300.0), 'between "gateway" and "node1" it is 300.0 m'),
        (lambda: mesh.chain(2, links={("gateway", "node2"): "1 Mb/s"}), r"links\[0\]\.between"),
        (lambda: mesh.chain(2, server="soon"), r"hosts\[0\]\.delay"),
    ],
)
def test_what_cannot_be_is_refused(wrong, message):
    with pytest.raises(ScenarioError, match=message):
        wrong()


def test_an_option_that_is_none_is_named():
    with pytest.raises(TypeError, match="'spacing' is no option of a mesh"):
        mesh.chain(2, spacing=3)


def test_routes_still_have_their_old_name():
    with pytest.warns(FutureWarning, match="called Scenario.routes now"):
        assert mesh.chain(2).ways == mesh.chain(2).routes
