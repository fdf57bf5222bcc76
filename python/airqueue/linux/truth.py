"""What a measurement of a test bed should find, as JSON has it."""

from __future__ import annotations

import dataclasses
from typing import Any

from airqueue.linux.config import ETHERNET_BYTES, HostApConfig
from airqueue.linux.discipline import Discipline
from airqueue.linux.shaper import policed_pps


def of(config: HostApConfig) -> dict[str, Any]:
    """Return the truth about a bed: JSON values only.

    ``capacity`` is what can wait, in ``counted_in`` (bytes with ``overhead_bytes`` for each
    packet); None for a discipline that drops otherwise than when a limit is reached. tbf and htb
    keep the packet that waits for its tokens in the FIFO, so ``in_service_packets`` is 0.
    ``rate_bps`` counts the same overhead, except for the policer.
    """
    if config.policer != "none":
        return _policer(config)
    return {
        **_common(config),
        **_queue(config),
        "shaper": config.shaper,
        "overhead_bytes": ETHERNET_BYTES,
        "rate_bps": config.rate_bps,
        "rate_overhead_bytes": ETHERNET_BYTES,
        "mpu_bytes": config.mpu_bytes,
    }


def _queue(config: HostApConfig) -> dict[str, Any]:
    queue = config.queue
    if isinstance(queue, Discipline):
        return {
            "kind": "isolated" if config.isolate else "discipline",
            "discipline": queue.kind,
            "parameters": list(queue.parameters),
            "counted_in": queue.counted_in,
            "capacity": None,
        }
    kind = "isolated" if config.isolate else "fifo"
    return {"kind": kind, "counted_in": queue.counted_in, "capacity": queue.limit}


def _policer(config: HostApConfig) -> dict[str, Any]:
    by_bytes = config.policer == "nft"
    return {
        **_common(config),
        "kind": "policer",
        "shaper": None,
        "counted_in": "bytes" if by_bytes else "packets",
        "capacity": 0,
        "overhead_bytes": 0,
        "rate_bps": config.rate_bps if by_bytes else None,
        "rate_pps": None if by_bytes else policed_pps(config),
        "rate_overhead_bytes": 0,
    }


def _common(config: HostApConfig) -> dict[str, Any]:
    return {
        "queue": str(config.queue),
        "policer": config.policer,
        "in_service_packets": 0,
        "burst_bytes": None if config.shaper == "own" else config.bucket_bytes,
        "direction": config.direction,
        "ip_version": 6 if config.ipv6 else 4,
        "delay_s": config.delay_s,
        "loss": config.loss,
        "disturbances": [dataclasses.asdict(disturbance) for disturbance in config.disturbances],
    }
