"""Limits that are set while a network runs: when, which, and the same whatever else is asked for."""

import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from airqueue.models.mesh_topology import chain as mesh
from airqueue.models.virtual_queues import virtual_queues
from airqueue.simulate import Results, Scenario
from airqueue.simulate.controlled import ObservedNetwork
from airqueue.simulate.scenario import schema

CHAIN = """
duration = "{duration}"
warm_up = "500 ms"
{top}
[phy]
standard = "802.11b"
rate = "11 Mb/s"
[medium]
path_loss = {{two_ray = {{}}}}
[queue]
limit = "50 packets"
discipline = "{discipline}"
[buffers]
sample_interval = "250 ms"
{buffers}
[[stations]]
name = "n0"
position = ["0 m", "0 m"]
[[stations]]
name = "n1"
position = ["130 m", "0 m"]
[[stations]]
name = "n2"
position = ["260 m", "0 m"]
[[stations]]
name = "n3"
position = ["390 m", "0 m"]
[[stations]]
name = "n4"
position = ["520 m", "0 m"]
[[flows]]
name = "long"
from = "n0"
to = "n4"
via = ["n1", "n2", "n3"]
source = "tcp"
{more}
"""
SHORT = """
[[flows]]
name = "short"
from = "n3"
to = "n4"
source = "tcp"
tcp = {window = "2 packets"}
start = "1600 ms"
stop = "3 s"
"""
CALL = """
[[flows]]
name = "call"
from = "n1"
to = "n4"
via = ["n2", "n3"]
source = "voice"
"""
SLOWER = """
[[changes]]
at = "2100 ms"
link = ["n1", "n2"]
rate = "2 Mb/s"
"""
OTHER_WAY = """
[[stations]]
name = "m2"
position = ["260 m", "60 m"]
[[changes]]
at = "2100 ms"
flow = "long"
via = ["n1", "m2", "n3"]
[[changes]]
at = "4100 ms"
flow = "long"
via = ["n1", "n2", "n3"]
"""


def chain(duration: str = "6 s", discipline: str = "droptail", **keys: str) -> Scenario:
    path = Path("chain.toml")
    more = {"top": "", "buffers": "", "more": ""} | keys
    path.write_text(CHAIN.format(duration=duration, discipline=discipline, **more))
    return Scenario.from_toml(path)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def limits(results: Results, replication: int = 0) -> dict[float, dict[tuple, int | None]]:
    """Return what was set, by time and by station and flow."""
    found: dict[float, dict[tuple, int | None]] = {}
    for row in results.runs[replication].get("limits", []):
        at = found.setdefault(row["time_s"], {})
        at[row["station"], row["flow"]] = row["limit_packets"]
    return found


def test_a_chain_gets_the_models_buffers_at_the_first_look() -> None:
    results = chain().simulate(replications=1)
    ((time_s, found),) = limits(results).items()
    assert time_s == 0.25
    # 802.11b as it is: long preambles, and an ACK at a basic rate of at most 2 Mb/s.
    sized = virtual_queues(mesh(4), "b-ack-2").node_packets(with_ring=False, acknowledgements=True)
    assert found == {(node, None): packets for node, packets in sized.items()}
    row = results.runs[0]["limits"][0]
    assert row["trigger"] == "long has begun"
    assert "4 of its 4 hops" in row["reason"]


def test_queues_then_hold_no_more() -> None:
    results = chain().simulate(replications=1)
    (found,) = limits(results).values()
    for (station, _), packets in found.items():
        # Counting begins after the limits were set.
        assert results.runs[0]["queues"][station]["length_max_packets"] <= packets


def test_a_link_that_gets_slower_is_seen_at_the_next_look() -> None:
    results = chain(more=SLOWER).simulate(replications=1)
    times = limits(results)
    assert list(times) == [0.25, 2.25]
    assert all(packets == 1 for packets in times[2.25].values())
    triggers = {row["trigger"] for row in results.runs[0]["limits"] if row["time_s"] == 2.25}
    assert triggers == {"n1 -> n2 has 2.00 Mb/s, no longer 11.00 Mb/s"}


def test_another_way_is_seen_at_the_next_look() -> None:
    results = chain(more=OTHER_WAY).simulate(replications=1)
    times = limits(results)
    assert list(times) == [0.25, 2.25, 4.25]
    # As many hops: the station on the way now has what the one before had, and that is released.
    usual = times[0.25]["n2", None]
    assert times[2.25] == {("m2", None): usual, ("n2", None): None}
    assert times[4.25] == {("n2", None): usual, ("m2", None): None}
    (trigger,) = {row["trigger"] for row in results.runs[0]["limits"] if row["time_s"] == 2.25}
    assert trigger == "long goes by n0, n1, m2, n3, n4, no longer n0, n1, n2, n3, n4"


def test_flows_come_and_go() -> None:
    scenario = chain("15 s", "drr", buffers='limit_per = "flow"', more=SHORT)
    times = limits(scenario.simulate(replications=1))
    first, second, third = times.items()
    assert {flow for _, flow in first[1]} == {"long"}
    assert second[0] == 1.75
    assert set(second[1]) == {("n3", "short"), ("n4", "short")}
    assert 13 <= third[0] <= 13.5
    assert third[1] == {("n3", "short"): None, ("n4", "short"): None}


def test_a_source_of_its_own_keeps_its_limit() -> None:
    (found,) = limits(chain(buffers='source = "separate"').simulate(replications=1)).values()
    assert ("n0", None) not in found
    assert set(found) == {(f"n{i}", None) for i in range(1, 5)}


def test_ns2_counts_the_frame_that_is_sent() -> None:
    plain = chain().simulate(replications=1)
    like_ns2 = chain(top='behaviour = "ns2"').simulate(replications=1)
    for (station, _), packets in next(iter(limits(like_ns2).values())).items():
        most = like_ns2.runs[0]["queues"][station]["length_max_packets"]
        assert most <= max(1, packets - 1)
    assert list(limits(plain)) == list(limits(like_ns2))


def test_pieces_workers_and_directories_change_nothing(tmp_path) -> None:
    scenario = chain(buffers='carrying = "flow-rates"\nrefresh_interval = "500 ms"', more=SLOWER)
    alone = scenario.simulate(seed=3, replications=2, workers=1)
    assert limits(alone, 0) != {}
    other = scenario.simulate(seed=3, replications=2, workers=2, out=tmp_path / "out")
    assert other.runs == alone.runs
    loaded = Results.load(tmp_path / "out")
    assert loaded.runs == alone.runs
    assert loaded.to_text() == alone.to_text()
    assert len(alone.limits) == len(alone.to_json()["limits"])
    assert set(alone.limits.replication) == {0, 1}


def test_the_command_shows_and_writes_them(invoke) -> None:
    chain(more=SLOWER)
    result = invoke("chain.toml", "--replications", "2", "--json", "a.json", "--csv", "rows")
    assert result.exit_code == 0, result.output
    assert "limits of queues" in result.stdout
    assert "n1 -> n2 has 2.00 Mb/s" in " ".join(result.stdout.split())
    shown = json.loads(Path("a.json").read_text())
    assert {row["replication"] for row in shown["limits"]} == {0, 1}
    assert len(Path("rows/limits.csv").read_text().splitlines()) == 1 + len(shown["limits"])


def test_without_the_table_nothing_is_set() -> None:
    description = chain().description
    del description["buffers"]
    results = Scenario(description).simulate(replications=1)
    assert "limits" not in results.runs[0]
    assert results.to_json()["limits"] == []
    assert results.limits.empty
    jsonschema.validate(description, schema())


def hop(rate_bps: float = 11e6, data_s: float = 2e-3, ack_s: float = 0.5e-3) -> dict[str, float]:
    return {"rate_bps": rate_bps, "data_s": data_s, "ack_s": ack_s}


def observe(
    now_s: float,
    busy_s: list[float],
    *flows: tuple[int, int, list[dict]],
    routes: tuple[str, str] = ("abc", "bc"),
) -> dict:
    named = ("delivered_bytes", "in_transit_packets", "hops")
    seen = [dict(zip(named, flow, strict=True)) for flow in flows]
    for flow, way, elsewhere_s in zip(seen, routes, (0.02, 0.0), strict=True):
        flow |= {"route": list(way), "elsewhere_s": elsewhere_s}
    return {"now_s": now_s, "busy_s": busy_s, "flows": seen}


LAYOUT = {
    "stations": ["a", "b", "c", "far"],
    "neighbours": [[0, 1], [0, 2], [1, 2]],
    "flows": [
        {"name": "f", "packet_bytes": 1500},
        {"name": "g", "packet_bytes": 40},
    ],
}


def test_what_the_engine_shows_is_what_the_controller_sees() -> None:
    network = ObservedNetwork(LAYOUT)
    assert network.segment_bytes == 1460
    before = observe(1.0, [0.1, 0.2, 0.3, 0.0], (1000, 0, [hop(), hop()]), (40, 0, [hop()]))
    now = observe(
        3.0,
        [1.1, 2.3, 0.3, 0.0],
        (251_000, 0, [hop(), hop(5.5e6, 3e-3)]),
        (40, 0, [hop(11e6, 1e-3, 0.7e-3)]),
    )
    seen = network.observation(before, now)
    assert seen.active == {"f"}
    assert seen.rates_bps == {"f": 1e6, "g": 0.0}
    # What came to an end meanwhile may have begun before: never above 1.
    assert seen.busy == {"a": 0.5, "b": 1.0, "c": 0.0, "far": 0.0}
    rates = {str(link): link.rate_bps for link in seen.topology.links}
    # Of two flows on a link the slower counts; those who hear each other are neighbours.
    assert rates["a -> b"] == 11e6
    assert rates["b -> c"] == 5.5e6
    assert "a -> c" in rates
    times = {str(link): time for link, time in seen.exchanges.items()}
    assert float(times["b -> c"].data_s) == 3e-3
    assert float(times["b -> c"].ack_s) == 0.7e-3
    assert seen.topology.flows[0].other_delay_s == 0.02
    assert seen.topology.nodes == ("a", "b", "c", "far")


def test_a_flow_whose_packets_are_in_transit_is_active() -> None:
    quiet = observe(1.0, [0.0] * 4, (0, 0, [hop(), hop()]), (0, 0, [hop()]))
    waits = observe(2.0, [0.0] * 4, (0, 3, [hop(), hop()]), (0, 0, [hop()]))
    assert ObservedNetwork(LAYOUT).observation(quiet, waits).active == {"f"}


def test_another_way_is_another_topology_and_the_same_way_the_same() -> None:
    network = ObservedNetwork(LAYOUT)
    sent = [(0, 3, [hop(), hop()]), (0, 0, [hop()])]
    looks = [observe(float(at), [0.0] * 4, *sent) for at in range(3)]
    short = observe(3.0, [0.0] * 4, (0, 3, [hop()]), sent[1], routes=("ac", "bc"))
    first, same = (network.observation(*pair) for pair in pairwise(looks))
    assert same.topology is first.topology
    other = network.observation(looks[-1], short)
    assert [flow.route for flow in other.topology.flows] == [("a", "c"), ("b", "c")]
    assert {str(link) for link in other.exchanges} == {"a -> c", "b -> c"}
