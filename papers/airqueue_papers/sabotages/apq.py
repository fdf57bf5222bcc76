"""APQ: protection frames, the depth of the queue, and the flow that fills the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue_papers.apq import host_ap, path
from airqueue_papers.item import Calculation
from airqueue_papers.sabotage import Runs, Sabotage


def _unprotected(_: str, runs: Runs) -> Runs:
    return {**runs, "protected": runs["unprotected"]}


def _shallow(_: str, runs: Runs) -> Runs:
    return {**runs, **dict.fromkeys(("1500", "2000"), runs["250"])}


_HALF_PPS: Final = 280.0
"""Half of the packets of 1500 bytes that the cell, or the shaper, carries in a second."""


def _unsaturated(item: str, runs: Runs) -> Runs:
    unsaturated = host_ap.unsaturated if item == host_ap.NAME else path.unsaturated
    return {
        name: unsaturated(run, _HALF_PPS) if isinstance(run, Calculation) else run
        for name, run in runs.items()
    }


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "protection": Sabotage(_unprotected),
    "deep-queue": Sabotage(_shallow),
    "saturation": Sabotage(_unsaturated),
}
