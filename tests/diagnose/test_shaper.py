"""Does the shaper that is recommended before a radio have the queue? The driver holds 250 packets."""

from __future__ import annotations

from typing import Any

import pytest

import airqueue
from airqueue.sizing.measured import tcp_share
from airqueue.sizing.settings.sqm import SHAPED, shaped_kbit

FLOOD_BPS = 30.49e6
"""What 802.11g at 54 Mb/s carries of a flood of full packets (docs/diagnose.md)."""
TCP_BPS = 24.14e6
"""What four connections of the kernel's TCP carried in the same emulation."""


def round_trip_s(kbit: float) -> float:
    """Return the mean round trip of a ping beside four downloads, with cake before the ring."""
    shaper = {"discipline": "cake", "cake": {"rate": f"{kbit:.0f} kb/s"}, "ring": "250 packets"}
    downloads: list[dict[str, Any]] = [
        {"name": f"download-{n}", "from": "server", "to": "phone", "source": "tcp"}
        for n in range(4)
    ]
    ping = {"name": "ping", "from": "server", "to": "phone", "source": "ping"}
    home = {
        "duration": "10 s",
        "warm_up": "3 s",
        "phy": {"standard": "802.11g", "rate": "54 Mb/s"},
        "stations": [{"name": "ap", "queue": shaper}, {"name": "phone"}],
        "hosts": [{"name": "server", "link": "ap", "delay": "5 ms", "rate": "1 Gb/s"}],
        "flows": [*downloads, ping],
    }
    found = airqueue.simulate(home, replications=2)
    return float(found.pings["round_trip_mean_s"].mean())


@pytest.mark.parametrize(
    "tcp_bps",
    [
        pytest.param(TCP_BPS, id="measured with TCP"),
        pytest.param(FLOOD_BPS * tcp_share({1500: 12_000 / FLOOD_BPS}), id="measured with a flood"),
    ],
)
def test_below_what_tcp_gets_the_shaper_has_the_queue(tcp_bps):
    # 10 ms of the round trip are the path's.
    assert round_trip_s(shaped_kbit(tcp_bps)) < 0.02


def test_a_little_below_the_rate_of_a_flood_the_ring_keeps_it():
    # 250 packets at 24 Mb/s are 0.12 s; the ring is full but for TCP's sawtooth.
    assert round_trip_s(SHAPED * FLOOD_BPS / 1000) > 0.08
