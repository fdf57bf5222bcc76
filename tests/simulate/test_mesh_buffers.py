"""What shared buffers do to TCP over four hops, as *Deflating Link Buffers in a Wireless Mesh
Network* says: much less delay for little goodput, drops near the source, limits that follow a link.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from airqueue.simulate import Recorders, Results, Scenario, mesh

NODES = [f"n{i}" for i in range(5)]


def chain(buffers: dict[str, Any] | None = None, **keys: Any) -> Scenario:
    """A backlogged flow over four hops; all hear each other, and decode their neighbours."""
    description = {
        "behaviour": "ns2",
        "duration": "60 s",
        "warm_up": "10 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "1 Mb/s"},
        "medium": {"path_loss": {"two_ray": {}}},
        "queue": {"limit": "50 packets"},
        "tcp": {"window": "1000 packets"},
        "stations": [
            {"name": node, "position": [f"{130 * i} m", "0 m"]} for i, node in enumerate(NODES)
        ],
        "flows": [
            {"name": "flow", "source": "tcp", "from": "n0", "to": "n4", "via": NODES[1:4]},
        ],
    }
    return Scenario(description | ({} if buffers is None else {"buffers": buffers}) | keys)


@functools.cache
def usual() -> Results:
    """50 packets everywhere."""
    return chain().simulate(replications=3)


def mean(results: Results, kind: str, figure: str, name: str = "flow") -> float:
    return float(results.summary[kind][name][figure]["mean"])


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"source": "separate"},
        {"domains": "busy"},
        {"allocation": "optimum", "rounding": "best"},
        {"carrying": "flow-rates"},
    ],
    ids=lambda policy: "-".join(policy.values()) or "paper",
)
def test_delay_is_a_ninth_for_a_tenth_of_the_goodput(policy: dict[str, str]) -> None:
    """Tables 3 and 4 have round-trip times."""
    shared = chain(policy).simulate(replications=3)
    of = functools.partial(mean, kind="connections")
    assert of(usual(), figure="rtt_mean_s") >= 9 * of(shared, figure="rtt_mean_s")
    assert of(shared, figure="goodput_bps") >= 0.9 * of(usual(), figure="goodput_bps")


def drops(results: Results) -> list[float]:
    """Return each node's share of all that queues had no room for."""
    dropped = [mean(results, "queues", "dropped_packets", node) for node in NODES]
    return [of / sum(dropped) for of in dropped]


@pytest.mark.parametrize(("source", "first"), [("first", 0), ("separate", 1)])
def test_weighted_buffers_drop_at_the_first_of_them(source: str, first: int) -> None:
    """Fig. 8: over 70 %."""
    weighted = drops(chain({"source": source}).simulate(replications=3))
    equal = drops(chain({"source": source, "allocation": "equal"}).simulate(replications=3))
    assert weighted[first] > 0.7
    # The later the drop, the more air it has cost.
    assert sum(equal[first + 1 :]) > 2 * sum(weighted[first + 1 :])


SET_UP = {
    "warm_up": "20 s",
    "phy.control_rate": "1 Mb/s",
    "tcp.window": "1000 packets",
    "tcp.mss": "1460 B",
}


def worst_of_calls(results: Results, figure: str) -> float:
    """Return the largest mean of a figure among calls."""
    flows = results.summary["flows"]
    return max(float(of[figure]["mean"]) for name, of in flows.items() if "call" in name)


def of_connections(results: Results, figure: str) -> float:
    """Return the mean of a figure over all connections."""
    return float(np.mean([of[figure]["mean"] for of in results.summary["connections"].values()]))


APART = {"queue.discipline": "drr", "buffers.limit_per": "flow"}
TOGETHER = {"buffers.limit_per": "node"}


def usual_and_sized(
    shape: Callable[..., Scenario], shared: dict[str, str], *, calls: bool
) -> Iterator[Results]:
    """Yield 50 packets everywhere, and shared buffers."""
    for more in ({}, shared):
        scenario = shape(
            rate="11 Mb/s",
            behaviour="ns2",
            duration="100 s",
            calls=calls,
            flow={"source": "tcp", "start_spread": "1 s"},
            overrides=SET_UP | more,
        )
        yield scenario.simulate(seed=3, replications=4)


@pytest.mark.parametrize(
    ("shape", "shared"),
    [(mesh.parking_lot, APART), pytest.param(mesh.cross, TOGETHER, marks=pytest.mark.long)],
)
def test_many_flows_wait_a_fifth_for_a_tenth_of_the_goodput(
    shape: Callable[..., Scenario], shared: dict[str, str]
) -> None:
    """Tables 6 and 8: queues for each flow where flows meet, one for all where each has its arm."""
    usual, sized = usual_and_sized(shape, shared, calls=False)
    assert of_connections(sized, "goodput_bps") >= 0.9 * of_connections(usual, "goodput_bps")
    assert of_connections(usual, "rtt_mean_s") >= 5 * of_connections(sized, "rtt_mean_s")


@pytest.mark.parametrize(
    "shape", [mesh.parking_lot, pytest.param(mesh.cross, marks=pytest.mark.long)]
)
def test_calls_beside_files_wait_no_longer_than_people_bear(shape: Callable[..., Scenario]) -> None:
    """Tables 7 and 9: less than 150 ms; and what does not slow down for losses loses nothing."""
    usual, sized = usual_and_sized(shape, APART, calls=True)
    assert worst_of_calls(usual, "delay_mean_s") > 0.15 > worst_of_calls(sized, "delay_mean_s")
    assert worst_of_calls(sized, "loss_ratio") < 0.02


SLOW = {"link": ["n1", "n2"], "rate": "2 Mb/s"}


def after(scenario: Scenario, from_s: float) -> tuple[float, Results]:
    """Return the mean delay of the packets that arrived after a time, and the replication."""
    results = scenario.simulate(replications=1, recorders=Recorders(series_interval_s=0.5))
    assert results.series is not None
    flow, late = results.series["flows"]["flow"], results.series["time_s"] > from_s
    carried, delay = flow["throughput_bps"][late], flow["delay_mean_s"][late]
    some = carried > 0
    return float(np.average(delay[some], weights=carried[some])), results


@pytest.mark.parametrize("policy", [{}, {"source": "separate"}])
def test_limits_follow_a_link_that_falls_within_a_second(policy: dict[str, str]) -> None:
    fallen, results = after(chain(policy, changes=[{"at": "30 s", **SLOW}]), 31.0)
    # What is best for the slow link, set from the beginning.
    best, _ = after(chain(policy, changes=[{"at": "0 s", **SLOW}]), 31.0)
    times = sorted({row["time_s"] for row in results.runs[0]["limits"]})
    assert times[0] <= 1.0
    assert 30.0 <= times[1] <= 31.0
    assert fallen == pytest.approx(best, rel=0.2)
