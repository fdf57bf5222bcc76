"""Runs through a simulated drop-tail queue, and results as `airqueue measure` would give them."""

from __future__ import annotations

import copy
from typing import Any

from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, cbr
from airqueue.measure.records import Run
from fifo import Fifo

PHASES = {
    "quiet": [0.0, 0.5],
    "fill": [0.5, 1.0],
    "hold": [1.0, 3.0],
    "press": [3.0, 3.3],
    "drain": [3.3, 4.0],
    "after": [4.0, 4.5],
}


def fifo_run(size_bytes: int = 1500, index: int = 0, capacity: int = 100, **fifo: Any) -> Run:
    """One session through a drop-tail queue at 7 Mb/s, laid out as `PHASES`."""
    rate = 7e6 / 8 / (size_bytes + 14)
    quiet, fill, hold, press, drain, after = (PHASES[name] for name in PHASES)
    plan = Plan(
        (
            cbr(PROBE_FLOW, *quiet, 30, size_bytes),
            cbr(FLOOD_FLOW, *fill, 3 * rate, size_bytes),
            cbr(FLOOD_FLOW, *hold, 1.3 * rate, size_bytes),
            cbr(FLOOD_FLOW, *press, 2 * rate, size_bytes),
            cbr(PROBE_FLOW, hold[0], press[1], 10, size_bytes),
            cbr(PROBE_FLOW, drain[1], after[1], 30, size_bytes),
        )
    )
    meta = {"kind": "session", "size_bytes": size_bytes, "index": index, "phases": PHASES}
    return Fifo(capacity, **fifo).run(plan, meta)


def estimator(packets: dict[int, float], half: float = 0.4) -> dict[str, Any]:
    """One estimator's entry of a result, from packets by size."""
    middle = sum(packets.values()) / len(packets)
    volume = sum(size * value for size, value in packets.items()) / len(packets)
    return {
        "packets": middle,
        "bytes": volume,
        "ci95_packets": [middle - half, middle + half],
        "ci95_bytes": [volume - half * 1500, volume + half * 1500],
        "by_size": {
            str(size): {
                "packets": value,
                "ci95_packets": [value - half, value + half],
                "bytes": value * size,
                "sessions": 3,
            }
            for size, value in packets.items()
        },
    }


def sessions(counting: list[float], sizes: tuple[int, ...] = (1500, 750)) -> list[dict[str, Any]]:
    """Accepted sessions with the given counting estimates, for every size."""
    return [
        {
            "size_bytes": size,
            "index": index,
            "accepted": True,
            "discarded_because": None,
            "steady": True,
            "estimates": {
                "published": value - 0.43,
                "corrected": value - 0.1,
                "counting": value,
                "fill_drain": value + 0.2,
            },
            "throughput_bps": 6.99e6 + index * 1e3,
            "loss": 0.23,
            "delay_full_s": value * size * 8 / 7e6,
            "started_s": 5.0 + index * 7.2,
            "elapsed_s": 7.1,
        }
        for size in sizes
        for index, value in enumerate(counting)
    ]


def search() -> list[dict[str, Any]]:
    """Steps of a saturation search at 7 Mb/s."""
    steps = []
    for size in (1500, 750):
        limit = 7e6 / 8 / size
        for share in (0.3, 0.6, 0.9, 1.1, 1.3):
            offered = limit * share
            received = min(offered, limit)
            steps.append(
                {
                    "size_bytes": size,
                    "planned_pps": offered,
                    "offered_pps": offered,
                    "received_pps": received,
                    "loss": 1 - received / offered,
                    "delay_s": 0.0004 if share < 1 else 100 / limit,
                }
            )
    return steps


def fifo_result(**changes: Any) -> dict[str, Any]:
    """The result for a queue of 100 packets; ``changes`` replace top-level values."""
    counted = {1500: 100.0, 750: 100.1}
    result: dict[str, Any] = {
        "format": "airqueue-measurement",
        "version": 1,
        "airqueue": "0.1.0",
        "created": "2026-01-02T03:04:05Z",
        "profile": "quick",
        "direction": "down",
        "target": "192.0.2.1:5860",
        "verdict": "fifo",
        "counted_in": "packets",
        "capacity": 100.05,
        "capacity_unit": "packets",
        "ci95": [99.6, 100.5],
        "resolution": {"packets": 1.0, "because": "packets are whole"},
        "in_service_packets": 1.0,
        "path_mtu": {"bytes": 1500, "at_least": True},
        "drop_from": "tail",
        "delay_full_s": 0.1714,
        "quiet_jitter_s": 0.0001,
        "rate_bps": 7e6,
        "rate_pps": {"1500": 583.3, "750": 1166.7},
        "evidence": [
            {
                "says": "Both sizes fill the queue with the same number of packets.",
                "name": "size_ratio",
                "value": 1.001,
                "ci95": [0.997, 1.005],
            }
        ],
        "warnings": [],
        "estimators": {
            "published": estimator({s: v - 0.43 for s, v in counted.items()}),
            "corrected": estimator({s: v - 0.1 for s, v in counted.items()}),
            "counting": estimator(counted),
            "fill_drain": estimator({s: v + 0.2 for s, v in counted.items()}, 0.9),
        },
        "sessions": sessions([99.9, 100.1, 100.0]),
        "discarded_sessions": 0,
        "discard_reasons": {},
        "search": search(),
        "hosts": {
            "pacing_error_s": {"p50": 27e-6, "p99": 54e-6, "max": 569e-6},
            "local_queueing_s": {"p50": 5e-6, "p99": 30e-6},
            "send_blocked": 0,
            "receive_overflow": 0,
            "duplicates": 0,
            "clock_steps": 0,
            "clock_skew_ppm": {"value": 0.4, "ci95": [-1.0, 1.8]},
            "kernel_receive_timestamps": True,
        },
        "elapsed_s": 21.3,
        "interrupted": False,
    }
    return copy.deepcopy({**result, **changes})


def other_result(verdict: str, **changes: Any) -> dict[str, Any]:
    """A result without a capacity."""
    nothing: dict[str, Any] = {"capacity": None, "capacity_unit": None, "ci95": None}
    return fifo_result(**{"verdict": verdict, "counted_in": "undecided", **nothing, **changes})
