"""Runs as the native module hands them over, and as the method knows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airqueue.measure.records import HostReport, Run

if TYPE_CHECKING:
    # Shapes that the stub names; the compiled module has no such types.
    from airqueue.records import LimitsDict, RunDict

FLOWS = 3
"""Five-tuples that the profiles use: the flood and two that probe."""


def run_from_native(native: RunDict, meta: Mapping[str, Any]) -> Run:
    """Return a run with its meta; the arrays are taken over, not copied."""
    columns = {name: value for name, value in native.items() if name not in ("host", "end")}
    host = HostReport(**native["host"])
    return Run(**columns, host=host, end=native["end"], meta=dict(meta))  # type: ignore[arg-type]


def run_to_native(run: Run) -> RunDict:
    """Return the columns and reports of a run, without its meta."""
    return {
        "scheduled_ns": run.scheduled_ns,
        "sent_ns": run.sent_ns,
        "kernel_tx_ns": run.kernel_tx_ns,
        "received_ns": run.received_ns,
        "flow": run.flow,
        "size_bytes": run.size_bytes,
        "sent_class": run.sent_class,
        "received_class": run.received_class,
        "host": dataclasses.asdict(run.host),  # type: ignore[typeddict-item]
        "end": run.end,
    }


def highest_rate_pps(
    limits: LimitsDict, size_bytes: int, max_rate_bps: float | None = None
) -> float:
    """Return the highest packet rate for IP packets of a size under the server's and own caps."""
    rate_bps = float(limits["max_bits_per_s"])
    if max_rate_bps is not None:
        rate_bps = min(rate_bps, max_rate_bps)
    return min(float(limits["max_packets_per_s"]), rate_bps / (8 * size_bytes))
