"""CAKE through scenarios: what the network tells it of flows, and what comes of that."""

from pathlib import Path

import numpy as np
import pytest

from airqueue.simulate import Scenario, ScenarioError, TcpHeader, shaped

EXAMPLES = Path(__file__).parents[2] / "examples" / "simulate"
HOUSEHOLD = EXAMPLES / "cake-household.toml"
FILTER = "stations.laptop.queue.cake.ack_filter"
QUEUE = {"discipline": "cake", "cake": {"rate": "8 Mb/s", "tins": "diffserv4"}}


def household(**overrides: str) -> dict[str, float]:
    """Return the throughput of each flow of the example in b/s."""
    scenario = Scenario.from_toml(HOUSEHOLD, {"duration": "15 s", **overrides})
    run = next(iter(scenario.simulate(replications=1).runs.values()))
    return {name: figures["throughput_bps"] for name, figures in run["flows"].items()}


def test_the_network_tells_who_a_flow_is_for():
    """Half of the line for each of two hosts; a fifth for each of five flows. The call is small."""
    by_host = household()
    line = sum(by_host.values())
    # 19 Mb/s with 14 bytes on top of each packet, 1500 bytes but for the call's.
    assert line == pytest.approx(19e6 * 1500 / 1514, rel=0.005)
    assert by_host["film"] == pytest.approx((line - by_host["call"]) / 2, rel=0.05)
    by_flow = household(**{"hosts.internet.queue.cake.isolation": "flows"})
    assert by_flow["film"] == pytest.approx((line - by_flow["call"]) / 5, rel=0.05)


def test_a_codepoint_chooses_the_tin():
    """Voice at twice its quarter of 8 Mb/s beside best effort at twice the rate."""
    at_ns = np.sort(np.concatenate([np.arange(0, 5e9, 2e6), np.arange(0, 5e9, 0.5e6) + 1]))
    voice = at_ns % 2e6 == 0
    fates = shaped(
        QUEUE,
        at_ns,
        1000,
        rate_bps=100_000_000,
        flow=voice.astype(int),
        dscp=np.where(voice, 46, 0),
    )
    left = ~fates.dropped & (fates.left_ns >= 1e9) & (fates.left_ns < 5e9)
    share = (left & voice).sum() / left.sum()
    assert share == pytest.approx(0.25, abs=0.02)


def asymmetric(word: str):
    """Return the figures of the example of the ACK filter."""
    scenario = Scenario.from_toml(EXAMPLES / "ack-filter.toml", {FILTER: word})
    return next(iter(scenario.simulate(replications=1).runs.values()))


def test_the_filter_leaves_the_way_up_to_others():
    plain = asymmetric("no-ack-filter")
    (plain_queue,) = (of for name, of in plain["queues"].items() if name.startswith("laptop"))
    assert plain_queue["dropped_filtered_packets"] == 0
    for word in ("ack-filter", "ack-filter-aggressive"):
        run = asymmetric(word)
        (queue,) = (of for name, of in run["queues"].items() if name.startswith("laptop"))
        filtered = queue["dropped_filtered_packets"]
        connection = run["connections"]["download"]
        # Acknowledgements are lost by the filter alone.
        assert filtered == connection["lost_ack_packets"] > connection["ack_packets"] / 3
        reasons = ("full", "early", "filtered")
        dropped = sum(queue[f"dropped_{reason}_packets"] for reason in reasons)
        assert dropped == queue["dropped_packets"]
        assert queue["sojourn_mean_s"] < plain_queue["sojourn_mean_s"] / 10
        for flow in ("download", "photographs"):
            more, less = (of["flows"][flow]["throughput_bps"] for of in (run, plain))
            assert more > 1.05 * less, (word, flow)


def test_headers_say_which_acknowledgements_are_redundant():
    """The bucket has one packet's tokens: the first leaves, and the second has left its queue."""
    queue = {"discipline": "cake", "cake": {"ack_filter": "ack-filter-aggressive"}}
    headers = [
        TcpHeader(1),
        TcpHeader(1),
        TcpHeader(5, sack=[(9, 12)]),  # the next one has no blocks
        TcpHeader(6),
        TcpHeader(7, timestamps=(4, 3)),  # the next one has an older timestamp
        TcpHeader(8, timestamps=(3, 3), ece=True),
        TcpHeader(9, timestamps=(5, 3), ece=True, has_data=True),
        None,
        TcpHeader(10, connection=1),
    ]
    fates = shaped(queue, range(9), 1000, rate_bps=8_000_000, burst_bytes=1000, tcp=headers)
    assert np.flatnonzero(fates.dropped).tolist() == [3, 5]
    assert not shaped(queue, range(9), 1000, rate_bps=8_000_000, burst_bytes=1000).dropped.any()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"dscp": 64}, "dscp: expected 0 to 63"),
        ({"dscp": -1}, "dscp: expected whole numbers"),
        ({"hosts": {0: (1, 2**32)}}, r"hosts\[0\]"),
        ({"tcp": [None]}, "tcp: found 1 values for 2 packets"),
        ({"tcp": [None, TcpHeader(-1)]}, r"tcp\[1\].ack"),
        ({"tcp": [TcpHeader(1, connection=2**32), None]}, r"tcp\[0\].connection"),
        ({"tcp": [TcpHeader(1, timestamps=(0, -1)), None]}, r"tcp\[0\].timestamps"),
        ({"tcp": [TcpHeader(1, sack=[(3, 2)]), None]}, r"tcp\[0\].sack"),
        ({"tcp": [TcpHeader(1, sack=[(3, 4)] * 5), None]}, r"tcp\[0\].sack: expected 4"),
    ],
)
def test_what_cannot_be(columns, message):
    with pytest.raises(ScenarioError, match=message):
        shaped(QUEUE, [0, 0], 1000, rate_bps=8_000_000, **columns)
