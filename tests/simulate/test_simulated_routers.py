"""Stations of a simulated mesh that compute their limits by themselves: as an observer does, soon
after changes, by messages that take little of the air."""

from collections.abc import Callable
from typing import Any

import pytest

from airqueue.simulate import Results, Scenario, ScenarioError, mesh

ROUTERS = {"buffers.decided_by": "routers"}
APART = {"queue.discipline": "drr", "buffers.limit_per": "flow"}
WITHIN_S = 5.0
"""As stated for routers without losses."""


def limits(results: Results, until_s: float = 1e9) -> dict[tuple[str, str | None], int | None]:
    """Return the limits that the first replication has set until a time."""
    rows = results.runs[0]["limits"]
    return {
        (row["station"], row["flow"]): row["limit_packets"]
        for row in rows
        if row["time_s"] <= until_s
    }


def results(shape: Callable[..., Scenario], overrides: dict[str, Any]) -> Results:
    """Return a replication of a mesh."""
    scenario = shape(
        rate="11 Mb/s",
        behaviour="ns2",
        duration="30 s",
        flow={"source": "tcp", "start_spread": "1 s"},
        overrides={"warm_up": "20 s", "tcp.window": "1000 packets", **overrides},
    )
    return scenario.simulate(seed=3, replications=1)


@pytest.mark.parametrize("queues", [{"buffers.limit_per": "node"}, APART], ids=["node", "flow"])
@pytest.mark.parametrize("shape", [mesh.chain, mesh.parking_lot, mesh.cross])
def test_the_observers_limits(shape: Callable[..., Scenario], queues: dict[str, str]) -> None:
    observed = results(shape, queues)
    routed = results(shape, {**queues, **ROUTERS})
    assert limits(routed) == limits(observed)
    begun_s = max(row["time_s"] for row in observed.runs[0]["limits"])
    assert limits(routed, begun_s + WITHIN_S) == limits(observed)
    # A hundred bytes a second to each neighbour, and 802.11b sends messages of a flow's rate.
    share = routed.runs[0]["medium"]["messages_airtime_ratio"]
    assert 0 < share < 0.1
    assert observed.runs[0]["medium"]["messages_airtime_ratio"] is None


def test_the_observers_limits_where_media_are_measured() -> None:
    busy = {"buffers.domains": "busy"}
    assert limits(results(mesh.chain, {**busy, **ROUTERS})) == limits(results(mesh.chain, busy))


def falling(decided_by: str) -> Results:
    """Return a chain of four hops whose second hop becomes slow after 30 s."""
    nodes = [f"n{i}" for i in range(5)]
    scenario = Scenario(
        {
            "duration": "40 s",
            "warm_up": "10 s",
            "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
            "medium": {"path_loss": {"two_ray": {}}},
            "queue": {"limit": "50 packets"},
            "buffers": {"decided_by": decided_by},
            "stations": [
                {"name": node, "position": [f"{130 * i} m", "0 m"]} for i, node in enumerate(nodes)
            ],
            "flows": [
                {"name": "flow", "source": "tcp", "from": "n0", "to": "n4", "via": nodes[1:4]}
            ],
            "changes": [{"at": "30 s", "link": ["n1", "n2"], "rate": "2 Mb/s"}],
        }
    )
    return scenario.simulate(replications=1)


def test_limits_follow_a_link_that_falls() -> None:
    routed, observed = falling("routers"), falling("observer")
    for until_s in (29.9, 30.0 + WITHIN_S):
        assert limits(routed, until_s) == limits(observed, until_s)
    last = routed.runs[0]["limits"][-1]
    assert "n1 -> n2 has 2.00 Mb/s, no longer 11.00 Mb/s, " in last["trigger"]
    assert last["trigger"].endswith(" before")
    assert last["reason"].startswith("flow: the collision domain around n")
    # Messages wait in the same queues of few packets, but are few.
    goodput, observers = (
        of.summary["connections"]["flow"]["goodput_bps"]["mean"] for of in (routed, observed)
    )
    assert goodput > 0.8 * observers


def test_equal_seeds_give_equal_results() -> None:
    assert falling("routers").runs == falling("routers").runs


def test_a_flow_that_ends_releases_the_queues() -> None:
    scenario = mesh.chain(
        2, duration="40 s", flow={"source": "tcp", "stop": "15 s"}, overrides=ROUTERS
    )
    found = scenario.simulate(replications=1)
    assert set(limits(found).values()) == {None}
    last = found.runs[0]["limits"][-1]
    assert "sends no more" in last["trigger"]
    assert last["reason"] is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("carrying", "flow-rates"),
        ("allocation", "equal"),
        ("rounding", "largest-remainder"),
        ("source", "separate"),
        ("min_change", "2 packets"),
    ],
)
def test_what_routers_do_not_compute_is_named(key: str, value: str) -> None:
    with pytest.raises(ScenarioError, match=rf"buffers\.{key}: with decided_by"):
        mesh.chain(2, flow={"source": "tcp"}, overrides={**ROUTERS, f"buffers.{key}": value})
