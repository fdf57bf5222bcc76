"""CAKE through scenarios: what the network tells it of flows, and what comes of that."""

from pathlib import Path

import numpy as np
import pytest

from airqueue.simulate import Scenario, ScenarioError, shaped

HOUSEHOLD = Path(__file__).parents[2] / "examples" / "simulate" / "cake-household.toml"
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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"dscp": 64}, "dscp: expected 0 to 63"),
        ({"dscp": -1}, "dscp: expected whole numbers"),
        ({"hosts": {0: (1, 2**32)}}, r"hosts\[0\]"),
    ],
)
def test_what_cannot_be(columns, message):
    with pytest.raises(ScenarioError, match=message):
        shaped(QUEUE, [0, 0], 1000, rate_bps=8_000_000, **columns)
