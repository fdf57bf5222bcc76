"""Scenarios as meshes to size: timing against the standard's sums, and what the sizes leave out."""

import pytest

from airqueue.simulate import Scenario, ScenarioError, mesh
from airqueue.simulate.as_mesh import mesh_of, read_mesh
from airqueue.sizing.mesh import size_mesh

DIFS_US, SLOT_US, SIFS_US, PLCP_US = 50.0, 20.0, 10.0, 192.0
MAC_BYTES = 24 + 8 + 4
"""Header, LLC/SNAP and FCS."""


def exchange_us(packet_bytes):
    """A frame of 802.11b at 11 Mb/s, long preamble, that meets nobody, and its ACK at 2 Mb/s."""
    data_us = PLCP_US + 8.0 * (packet_bytes + MAC_BYTES) / 11.0
    return DIFS_US + 31 / 2 * SLOT_US + data_us + SIFS_US + PLCP_US + 8.0 * 14 / 2.0


def sized(scenario, **options):
    described = mesh_of(scenario)
    return size_mesh(
        described.topology,
        exchanges=described.exchanges,
        segment_bytes=described.segment_bytes,
        **options,
    )


def test_the_buffer_of_a_chain_is_the_sum_by_hand():
    # Packets of 1500 bytes, and acknowledgements that count with all the options that they may
    # have: 80 bytes. PHYs end on whole µs. λ is MESH's: packets whose payload alone takes the link's
    # rate.
    flow = sized(mesh.chain(4)).flows[0]
    rtt_s = 4e-6 * (exchange_us(1500) + exchange_us(80))
    assert flow.rtt_s == pytest.approx(rtt_s, rel=0.002)
    assert float(flow.buffers.buffer.packets) == pytest.approx(rtt_s * 11e6 / (8 * 1460), rel=0.002)
    assert [queue.packets for queue in flow.buffers.queues] == [2, 2, 3, 3]


def test_rates_of_links_count():
    slow = mesh.chain(2, links={("node1", "gateway"): "2 Mb/s"})
    rates = {str(link): link.rate_bps for link in mesh_of(slow).topology.links}
    assert rates["node1 -> gateway"] == 2e6
    assert rates["node2 -> node1"] == 11e6
    assert sized(slow).flows[0].rtt_s > 1.5 * sized(mesh.chain(2)).flows[0].rtt_s


def test_a_server_behind_the_gateway_is_outside_the_mesh():
    near, far = (mesh_of(mesh.chain(1, server=delay)) for delay in ("1 ms", "10 ms"))
    assert near.topology.flows[0].route == far.topology.flows[0].route == ("node1", "gateway")
    outside_s = [each.topology.flows[0].other_delay_s for each in (near, far)]
    assert outside_s == pytest.approx([0.002, 0.020])


def test_flows_without_acknowledgements_are_left_out_and_named():
    with_calls = mesh_of(mesh.chain(2, calls=True))
    assert [flow.name for flow in with_calls.topology.flows] == ["up"]
    assert any("call_up" in caution for caution in with_calls.cautions)
    assert with_calls.segment_bytes == mesh_of(mesh.chain(2)).segment_bytes
    assert mesh_of(mesh.chain(2)).cautions == ()


def test_what_changes_later_is_said():
    later = {"changes": [{"at": "1 s", "link": ["node1", "gateway"], "rate": "2 Mb/s"}]}
    scenario = mesh.chain(2, overrides=later)
    assert any("beginning" in caution for caution in mesh_of(scenario).cautions)


def test_nothing_to_size():
    calls_alone = mesh.chain(1, flow={"source": "voice"})
    with pytest.raises(ScenarioError, match="none of TCP"):
        mesh_of(calls_alone)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("stations = 3", "phy|stations"),
        ('stations = [{name = "a"}]', "phy"),
        ('nodes = ["a"]', "nodes"),
        ("nodes = [", "invalid value; expected valid TOML"),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path, text, place):
    path = tmp_path / "home.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=place) as caught:
        read_mesh(path)
    assert f"{path}:" in str(caught.value)


def test_both_kinds_of_files_are_read(tmp_path):
    scenario, mesh_file = tmp_path / "scenario.toml", tmp_path / "mesh.toml"
    scenario.write_text(
        """
        duration = "1 s"
        phy = {standard = "802.11b"}
        stations = [{name = "ap"}, {name = "roof"}]
        flows = [{name = "up", from = "roof", to = "ap", source = "tcp"}]
        """
    )
    mesh_file.write_text(
        """
        radio = "b-ack-11"
        nodes = ["ap", "roof"]
        link = [{between = ["ap", "roof"]}]
        flow = [{name = "up", route = ["roof", "ap"]}]
        """
    )
    first, second = read_mesh(scenario), read_mesh(mesh_file)
    assert first.topology.flows == second.topology.flows
    assert Scenario.from_toml(scenario).flows == ["up"]
    assert first.exchanges
    assert not second.exchanges
