"""Work of the kind ``measurement``: the whole method over a simulated path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airqueue.measure.api import SIZES, measure
from airqueue.measure.simulated import SimulatedProber


def measurement(inputs: Mapping[str, Any]) -> dict[str, object]:
    """Return a measurement as ``docs/output.md`` has it, without the date.

    ``path``: the measured path, as for `SimulatedProber`. Optional inputs with their defaults:
    ``seed`` (0), ``direction`` ("down"), ``profile`` ("quick"), ``sizes`` in bytes, and
    ``max_time_s`` of the path's time.
    """
    prober = SimulatedProber(
        inputs["path"], seed=inputs.get("seed", 0), direction=inputs.get("direction", "down")
    )
    found: dict[str, object] = {
        **measure(
            prober,
            profile=inputs.get("profile", "quick"),
            sizes=inputs.get("sizes", SIZES),
            max_time_s=inputs.get("max_time_s"),
            header={"target": "a simulated path"},
        ).to_json()
    }
    del found["created"]  # the only field that the inputs do not determine
    return found
