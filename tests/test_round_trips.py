"""Round trips that `airqueued flows` tells, against known delays.

One machine of `benches/rtt_linux.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from airqueue.linux.virtual import machine
from benches import rtt_linux
from binaries import newest

NEAR_MS, FAR_MS = 3, 25
DELAYED_ACK_MS = 40
"""The kernel's (TCP_DELACK_MIN)."""
EXACT_MS = 0.1
"""Computing takes no time there, and the first packet of each tick of TSval counts."""


@pytest.fixture(scope="module")
def flows() -> Any:
    airqueued = newest("airqueued")
    try:
        machine.check()
    except machine.MachineUnavailableError as reason:
        pytest.skip(f"no user-mode Linux: {reason}")
    task = {
        "near_ms": NEAR_MS,
        "far_ms": FAR_MS,
        "loss": 0.0,
        "timestamps": True,
        "queue": False,
        "kinds": ["download", "upload", "pushes", "posts"],
        "seed": 1,
        "seconds": 6,
    }
    return rtt_linux.once(task, airqueued)


def errors_ms(flow: Any, half: str, of: str) -> float | None:
    told = flow[half]
    truth_ms = {"near": NEAR_MS, "far": FAR_MS}[half]
    return None if not told or told[of] is None else 1e3 * told[of] - truth_ms


def test_connections_that_are_seen_from_their_beginning_have_exact_round_trips(flows: Any) -> None:
    seen = [flow for flow in flows if flow["from_the_beginning"]]
    assert len(seen) == 4
    for flow in seen:
        for half in ("near", "far"):
            error = errors_ms(flow, half, "least_s")
            assert error is not None, (flow, half)
            assert abs(error) <= EXACT_MS, (flow, half)


def test_however_long_senders_pause_round_trips_are_not_longer_than_stated(flows: Any) -> None:
    for flow in flows:
        for half, other_ms in (("near", FAR_MS), ("far", NEAR_MS)):
            least, smoothed = (errors_ms(flow, half, of) for of in ("least_s", "smoothed_s"))
            assert least is None or least >= -EXACT_MS, (flow, half)
            # The half that answers, or a tick later the other half's next acknowledgement.
            longest = other_ms + DELAYED_ACK_MS + 1
            assert smoothed is None or smoothed <= longest + EXACT_MS, (flow, half)


def test_data_have_round_trips_also_of_connections_that_were_there_before(flows: Any) -> None:
    towards = {"download": "near", "upload": "far", "pushes": "near", "posts": "far"}
    for flow in flows:
        error = errors_ms(flow, towards[flow["kind"]], "least_s")
        assert error is not None, flow
        assert error <= EXACT_MS, flow
