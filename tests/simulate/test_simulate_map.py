"""The picture of a network: what it is drawn from, and that it can be drawn."""

from __future__ import annotations

import pytest

from airqueue import text
from airqueue.plots import network as plots
from airqueue.plots.simulation_map import NetworkPlot, _network
from airqueue.simulate import Scenario, ScenarioError, cell

CHAIN = {
    "duration": "5 s",
    "warm_up": "1 s",
    "behaviour": "ns2",
    "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "1 Mb/s"},
    "medium": {"path_loss": {"two_ray": {}}},
    "queue": {"limit": "6 packets"},
    "stations": [
        {"name": "n", "count": 5, "position": ["0 m", "0 m"], "step": ["200 m", "0 m"]},
        {"name": "aside", "position": ["0 m", "150 m"]},
    ],
    "hosts": [{"name": "server", "link": "n5", "delay": "5 ms"}],
    "routing": {},
    "links": [{"between": ["n2", "n3"], "rate": "5.5 Mb/s"}],
    "flows": [
        {"name": "file", "from": "n1", "to": "server", "source": "tcp"},
        {"name": "call", "from": "n4", "to": "n2", "source": "voice"},
    ],
}

VIA = (["n2", "n3", "n4"], ["n3"])


def drawn(description, **changes):
    scenario = Scenario({**description, **changes})
    return scenario, scenario.simulate(replications=2)


def test_it_shows_what_the_scenario_and_its_figures_are():
    scenario, results = drawn(CHAIN)
    network = _network(scenario, results)
    names = [node.name for node in network.nodes]
    assert names == ["n1", "n2", "n3", "n4", "n5", "aside"]
    assert [node.place_m for node in network.nodes][4] == (800.0, 0.0)
    labels = {link.ends: link.label for link in network.links}
    used = {(0, 1): 11e6, (1, 2): 5.5e6, (2, 3): 11e6, (3, 4): 11e6}
    assert {ends: label for ends, label in labels.items() if label} == {
        ends: text.rate(rate_bps) for ends, rate_bps in used.items()
    }
    # The one aside is understood by its neighbour, and no flow passes it.
    assert (0, 5) not in labels
    assert [route.nodes for route in network.routes] == [(0, 1, 2, 3, 4), (3, 2, 1)]
    assert network.routes[0].label.startswith("file, ")
    assert "RTT" in network.routes[0].label
    first, relay, aside = network.nodes[0], network.nodes[1], network.nodes[5]
    assert (first.limit, relay.limit, aside.limit) == (6, 6, None)
    queue = results.summary["queues"]["n2"]["length_mean_packets"]["mean"]
    assert relay.waiting == pytest.approx(queue)
    assert aside.waiting is None
    assert sum(node.lost for node in network.nodes) == pytest.approx(1.0)
    # All hops of the call are in the domain that limits the file, which is the longest.
    assert network.domain >= {(1, 2), (2, 3)}
    assert network.domain_label == "collision domain that limits file"


def test_limits_that_were_set_are_those_of_the_picture():
    scenario, results = drawn(CHAIN, buffers={})
    last = {}
    for row in results.runs[0]["limits"]:
        last[row["station"]] = row["limit_packets"]
    limits = {node.name: node.limit for node in _network(scenario, results).nodes}
    assert last
    assert {name: limits[name] for name in last} == last


def test_ways_that_flows_take_later_are_drawn_too():
    changes = [
        {"at": "2 s", "flow": "call", "via": ["n3"]},
        {"at": "3 s", "flow": "call", "via": []},
    ]
    flows = [{**flow, "via": via} for flow, via in zip(CHAIN["flows"], VIA, strict=True)]
    medium = {"ranges": {"decode": "450 m", "sense": "900 m"}}
    scenario, results = drawn(CHAIN, medium=medium, flows=flows, changes=changes)
    network = _network(scenario, results)
    assert [(route.nodes, route.later) for route in network.routes] == [
        ((0, 1, 2, 3, 4), ()),
        ((3, 2, 1), ((3, 1),)),
    ]
    assert "a route of a flow, later" in plots.draw(network, "svg").decode()


def test_limits_that_were_released_are_those_of_the_scenario():
    file, call = CHAIN["flows"]
    flows = [{**file, "stop": "2 s"}, call]
    scenario, results = drawn(CHAIN, buffers={}, flows=flows, duration="15 s")
    rows = results.runs[0]["limits"]
    released = {row["station"] for row in rows if row["limit_packets"] is None}
    assert released == {row["station"] for row in rows}
    limits = {node.name: node.limit for node in _network(scenario, results).nodes}
    assert {limits[name] for name in released} == {6}


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_the_same_results_are_the_same_file(suffix):
    scenario, results = drawn(CHAIN)
    first = NetworkPlot(f"a.{suffix}").draw("chain", scenario, results)
    assert first == NetworkPlot(f"b.{suffix}").draw("chain", scenario, results)
    magic = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[suffix]
    assert first.startswith(magic)


def test_where_nobody_stands_anywhere_stations_are_on_a_circle():
    scenario = cell(stations=3, duration="100 ms")
    results = scenario.simulate(replications=1)
    network = _network(scenario, results)
    places = [node.place_m for node in network.nodes]
    assert places == list(plots.circle(len(places)))
    assert not network.domain
    assert NetworkPlot("cell.svg").draw("cell", scenario, results).startswith(b"<?xml")


def test_a_network_of_one_station_and_wires_can_be_drawn():
    wired = {
        "duration": "1 s",
        "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}],
        "hosts": [{"name": "a", "link": "ap", "rate": "1 Mb/s"}, {"name": "b", "link": "ap"}],
        "flows": [{"from": "a", "to": "b", "source": "tcp", "tcp": {"window": "9 packets"}}],
    }
    scenario, results = drawn(wired)
    network = _network(scenario, results)
    assert (len(network.nodes), network.links, network.routes) == (1, (), ())
    assert NetworkPlot("a.svg").draw("wired", scenario, results).startswith(b"<?xml")


def test_a_large_network_has_no_names_but_is_drawn():
    grid = {
        **CHAIN,
        "stations": [
            {
                "name": "n",
                "count": 100,
                "position": ["0 m", "0 m"],
                "grid": {"columns": 10, "spacing": "200 m"},
            }
        ],
        "duration": "200 ms",
        "flows": [
            {"name": f"f{k}", "from": f"n{k}", "to": "n100", "source": "cbr", "rate": "8 kb/s"}
            for k in range(1, 30)
        ],
        "links": [],
        "hosts": [],
    }
    scenario, results = drawn(grid)
    assert NetworkPlot("a.svg").draw("grid", scenario, results).startswith(b"<?xml")


def test_other_formats_are_refused():
    with pytest.raises(ScenarioError, match=r"a.gif: a map is SVG, PDF or PNG"):
        NetworkPlot("a.gif")
