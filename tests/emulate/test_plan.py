"""Addresses, names, peers and variables of real nodes."""

from __future__ import annotations

import ipaddress
import pickle

import pytest

from airqueue import toml_text
from airqueue.emulate import EmulatedNetwork
from airqueue.emulate.plan import PREFIX, PREFIX6, Plan
from airqueue.simulate import Scenario, ScenarioError


def plan(**wired: bool) -> Plan:
    return Plan(list(wired), list(wired.values()), ipv6=True)


def test_every_node_has_addresses_of_its_own_on_one_link():
    nodes = Plan([f"n{k}" for k in range(1, 301)], [False] * 300, ipv6=True).nodes
    assert len({address for node in nodes for address in node.addresses}) == 600
    for node in nodes:
        for interface, prefix in zip(node.interfaces, (PREFIX, PREFIX6), strict=True):
            assert ipaddress.ip_interface(interface).network == prefix
    # A unique local address has the eight bits of fd first (RFC 4193, 3.1); 10/8 is private.
    assert PREFIX6.subnet_of(ipaddress.IPv6Network("fd00::/8"))
    assert PREFIX.is_private


def test_the_peer_is_the_first_wired_host_for_a_station_and_the_first_other_for_a_host():
    three = plan(phone=False, laptop=False, server=True, cache=True)
    peers = {node.name: three.peer(node).name for node in three.nodes}
    assert peers == {"phone": "server", "laptop": "server", "server": "phone", "cache": "phone"}
    assert three.default.name == "server"
    stations = plan(a=False, b=False)
    assert [stations.peer(node).name for node in stations.nodes] == ["b", "a"]
    assert stations.default.name == "a"
    wires = plan(a=True, b=True)
    assert [wires.peer(node).name for node in wires.nodes] == ["b", "a"]


def test_programs_find_the_others_by_variable_and_by_name():
    two = plan(**{"smart-tv": False, "server": True})
    tv, server = two.nodes
    found = two.environment(tv)
    assert found == {
        "AIRQUEUE_NODE": "smart-tv",
        "AIRQUEUE_PEER": server.address,
        "AIRQUEUE_PEER6": server.address6,
        "AIRQUEUE_ADDRESS_SMART_TV": tv.address,
        "AIRQUEUE_ADDRESS_SERVER": server.address,
    }
    names = {}
    for line in two.hosts(tv).splitlines():
        address, *of = line.split()
        for name in of:
            names.setdefault(name, []).append(address)
    assert names["peer"] == names["server"] == server.addresses
    assert names["smart-tv"] == tv.addresses
    assert names["localhost"] == ["127.0.0.1", "::1"]


@pytest.mark.parametrize("change", [{"station": "phone"}, {"link": ["ap", "phone"]}])
def test_rates_may_change_between_nodes_that_only_the_command_makes_real(change, tmp_path):
    network = {
        "duration": "5 s",
        "phy": {"standard": "802.11g", "rate": "24 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "phone"}],
        "changes": [{"at": "1 s", "rate": "6 Mb/s", **change}],
    }
    with pytest.raises(ScenarioError, match="no flow goes from"):
        Scenario(network)
    file = tmp_path / "cell.toml"
    file.write_text(toml_text.render(network), "utf-8")
    for given in (network, file, Scenario(network, others_real=True)):
        plan = EmulatedNetwork(given, real=["ap", "phone"], changes={"duration": "6 s"}).plan
        assert [node.name for node in plan.nodes] == ["ap", "phone"]
    wrong = {**network, "changes": [{**network["changes"][0], "rate": "7 Mb/s"}]}
    with pytest.raises(ScenarioError, match=r"^changes\[0\]\.rate: "):
        EmulatedNetwork(wrong, real=["ap", "phone"])
    copied = pickle.loads(pickle.dumps(Scenario(network, others_real=True)))
    assert copied.changed({"duration": "7 s"}).duration_s == 7


def test_a_kernel_without_ipv6_has_ipv4_alone():
    two = Plan(["a", "b"], [False, True], ipv6=False)
    assert two.nodes[0].addresses == [two.nodes[0].address]
    assert len(two.nodes[0].interfaces) == 1
    assert "AIRQUEUE_PEER6" not in two.environment(two.nodes[0])
