"""Buffers of a mesh with their forecasts: sums, shares of the air by hand, settings per node."""

import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from airqueue import text
from airqueue.models.errors import ModelError
from airqueue.models.mesh_exchange import mesh_exchange
from airqueue.models.mesh_file import parse_topology, read_topology
from airqueue.models.mesh_topology import Flow, Link, Topology, chain, cross, parking_lot
from airqueue.sizing.advice import schema
from airqueue.sizing.mesh import size_mesh
from airqueue.sizing.mesh_advice import mesh_advice
from airqueue.sizing.settings import linux

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "mesh").glob("*.toml"))
SEGMENT_BITS = 8 * 1460
EXCHANGE_S = float(mesh_exchange("b-ack-11").round_trip_s)
MESHES = {"chain": chain(4), "long": chain(9), "cross": cross(), "parking lot": parking_lot()}


def advice_for(forecast, **given):
    inputs = {"file": "x.toml", "radio": None, "strategy": "ratio", "rounding": "nearest"} | given
    return mesh_advice(forecast, inputs=inputs, device="wlan0", phy_device="phy0")


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("rounding", ["largest-remainder", "best"])
def test_queues_in_the_bottleneck_add_up_to_the_allocation(name, rounding):
    forecast = size_mesh(MESHES[name], strategy="optimum", rounding=rounding)
    for flow in forecast.flows:
        total = float(flow.buffers.allocation.packets.sum())
        assert flow.bottleneck_packets == total
        assert total == pytest.approx(flow.buffers.buffer.packets, abs=0.5 + 1e-9)


def test_one_flow_gets_the_air_that_its_own_hops_leave():
    # All hops of four are in one domain: a segment leaves every 4 exchanges.
    flow = size_mesh(chain(4)).flows[0]
    assert flow.goodput_bps == pytest.approx(SEGMENT_BITS / (4 * EXCHANGE_S))
    assert flow.packet_s == pytest.approx(4 * EXCHANGE_S)
    assert flow.rtt_s == pytest.approx(4 * EXCHANGE_S)
    # In nine hops, five are in a domain: the link itself, two before and two behind.
    far = size_mesh(chain(9)).flows[0]
    assert far.packet_s == pytest.approx(5 * EXCHANGE_S)
    assert far.rtt_s == pytest.approx(9 * EXCHANGE_S)


def test_flows_of_a_parking_lot_share_the_air_of_all_their_hops():
    forecast = size_mesh(parking_lot())
    most = [flow.buffers.bottleneck.transmitters for flow in forecast.flows]
    for flow in forecast.flows:
        assert flow.packet_s == pytest.approx(sum(most) * EXCHANGE_S)


def test_slow_links_and_delay_outside_count():
    topology = Topology(
        nodes=("a", "b", "c"),
        links=(Link("a", "b", 11e6), Link("b", "c", 1e6)),
        flows=(Flow("f", ("a", "b", "c"), other_delay_s=0.05),),
    )
    slow_s = float(mesh_exchange("b-ack-11", 1e6).round_trip_s)
    flow = size_mesh(topology).flows[0]
    assert flow.packet_s == pytest.approx(EXCHANGE_S + slow_s)
    assert flow.rtt_s == pytest.approx(EXCHANGE_S + slow_s + 0.05)


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("strategy", ["ratio", "equal", "first-hop", "airtime"])
def test_the_advice_says_what_was_sized(name, strategy):
    forecast = size_mesh(MESHES[name], strategy=strategy, rounding="largest-remainder")
    advice = advice_for(forecast, strategy=strategy, rounding="largest-remainder")
    jsonschema.validate(advice.to_json(), schema())
    flows, queues = advice.to_json()["tables"]
    assert [row["flow"] for row in flows["rows"]] == [
        flow.name for flow in forecast.buffers.topology.flows
    ]
    assert sum(row["queue_packets"] for row in queues["rows"]) == pytest.approx(
        advice.figure("all_packets")
    )
    for row in flows["rows"]:
        assert 0 < row["rtt_empty_s"] <= row["rtt_mean_s"] <= row["rtt_full_s"]
    # Each node that transmits gets its own commands, with what its table rows add up to.
    nodes = {row["node"]: 0 for row in queues["rows"]}
    for row in queues["rows"]:
        nodes[row["node"]] += row["queue_packets"]
    commands = {
        entry.place: entry.lines
        for entry in advice.settings
        if entry.target == "tc" and "mac80211" in entry.place
    }
    assert len(commands) == len(nodes)
    for node, packets in nodes.items():
        limit = max(1, round(packets))
        lines = linux.txq_lines("phy0", limit)
        assert commands[f"node {node}, shell, mac80211, optional"] == lines


def test_sized_buffers_wait_less_than_the_usual_queue():
    for topology in MESHES.values():
        advice = advice_for(size_mesh(topology))
        assert advice.figure("delay_full_s") < advice.figure("usual_delay_s")
        assert 0.75 <= advice.figure("utilisation_fraction") <= 1


def test_a_modest_flow_leaves_air_and_its_queue_empties_at_what_it_could_get():
    lot = parking_lot()
    modest = replace(lot.flows[0], demand_bps=1000.0)
    forecast = size_mesh(replace(lot, flows=(modest, *lot.flows[1:])))
    greedy = size_mesh(lot)
    assert forecast.flows[0].goodput_bps == pytest.approx(1000)
    assert forecast.flows[0].packet_s == pytest.approx(greedy.flows[0].packet_s)
    assert forecast.flows[1].goodput_bps > 1.3 * greedy.flows[1].goodput_bps


def test_shares_of_the_air_make_smaller_buffers():
    whole, shared = (size_mesh(parking_lot(), carrying=how) for how in ("link", "share"))
    for one, other in zip(whole.flows, shared.flows, strict=True):
        assert other.buffers.buffer.packets < one.buffers.buffer.packets
        assert other.route_packets < one.route_packets
        # What the air gives does not depend on it, and it is still used.
        assert other.goodput_bps == one.goodput_bps
        assert float(other.tooth.utilisation) > 0.95


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_sized(path):
    forecast = size_mesh(read_topology(path))
    assert all(flow.goodput_bps > 0 for flow in forecast.flows)
    jsonschema.validate(advice_for(forecast).to_json(), schema())


def test_the_file_in_the_guide_is_one():
    snippets = re.findall(
        r"^```toml\n(.*?)^```$", (ROOT / "docs/sizing.md").read_text("utf-8"), re.M | re.S
    )
    assert snippets
    for snippet in snippets:
        assert size_mesh(parse_topology(snippet)).flows


def test_a_rate_that_the_radio_lacks_is_a_sentence():
    with pytest.raises(ModelError, match="54 Mb/s"):
        size_mesh(chain(3, 54e6), "b-ack-11")


def test_buffers_longer_than_the_usual_queue_are_not_recommended():
    topology = read_topology(ROOT / "examples" / "mesh" / "community.toml")
    whole, shared = (size_mesh(topology, carrying=how) for how in ("link", "share"))
    refused = advice_for(whole, carrying="link")
    assert refused.figure("delay_full_s") > refused.figure("usual_delay_s")
    assert refused.headline.startswith("Do not set")
    assert "--carrying share" in refused.headline
    better = advice_for(shared, carrying="share")
    assert better.figure("delay_full_s") < better.figure("usual_delay_s")
    assert better.headline.startswith("Let each of 6 nodes")
    assert not any("--carrying" in other.why for other in better.alternatives)
    # A satellite behind the mesh needs long buffers whatever the rule, and is not sent in circles.
    far = replace(
        topology, flows=tuple(replace(flow, other_delay_s=0.6) for flow in topology.flows)
    )
    advice = advice_for(size_mesh(far, carrying="share"), carrying="share")
    assert advice.figure("delay_full_s") > advice.figure("usual_delay_s")
    assert "--carrying share" not in advice.headline


def test_the_default_is_the_papers_rule_where_it_is_not_too_long_and_else_the_share():
    for topology in MESHES.values():
        sized = size_mesh(topology)
        by_link = size_mesh(topology, carrying="link")
        assert sized.buffers.node_packets() == by_link.buffers.node_packets()
        assert (sized.carrying, sized.too_long, sized.link_delay_s) == ("link", False, None)
        assert advice_for(sized).figure("carrying") == "link"
    topology = read_topology(ROOT / "examples" / "mesh" / "community.toml")
    whole, shared = (size_mesh(topology, carrying=how) for how in ("link", "share"))
    sized = size_mesh(topology)
    assert sized.carrying == "share"
    assert sized.buffers.node_packets() == shared.buffers.node_packets()
    assert sized.link_delay_s == max(flow.full_delay_s for flow in whole.flows)
    advice = advice_for(sized, carrying="auto")
    jsonschema.validate(advice.to_json(), schema())
    assert advice.headline.startswith("Let each of 6 nodes hold at most 41 packets")
    assert advice.headline.endswith(f"the slowest would wait {text.seconds(sized.link_delay_s)}.")
    assert "--carrying link" in advice.alternatives[0].why
    # Behind a satellite both are too long: the shorter one, and why.
    far = replace(
        topology, flows=tuple(replace(flow, other_delay_s=0.6) for flow in topology.flows)
    )
    long = size_mesh(far)
    assert long.too_long
    said = advice_for(long, carrying="auto").headline
    assert "since the path is so long" in said
    assert "Do not set" not in said
    assert "sized for the rates of the links" in said
    with pytest.raises(ModelError, match="auto, link, share"):
        size_mesh(topology, carrying="all")


def test_codels_target_is_raised_only_where_a_packet_takes_long():
    def said(topology, radio):
        return advice_for(size_mesh(topology, radio)).alternatives[-1].why

    slow, fast = said(chain(4), "b-ack-11"), said(chain(2, 866.7e6), "ac-80mhz-2ss-sgi")
    # 1.5 times the 4 exchanges of a packet, and ten times that.
    target_s = 1.5 * 4 * EXCHANGE_S
    assert f"target {text.seconds(target_s)}, interval {text.seconds(10 * target_s)}" in slow
    assert "standing queue" not in fast
    assert "well below its target of 5.0 ms" in fast
