"""APQ: protection frames, the depth of the queue, and the flow that fills the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue_papers.apq.path import unsaturated
from airqueue_papers.item import Calculation
from airqueue_papers.sabotage import Runs, Sabotage


def _unprotected(_: str, runs: Runs) -> Runs:
    return {**runs, "protected": runs["unprotected"]}


def _shallow(_: str, runs: Runs) -> Runs:
    return {**runs, **dict.fromkeys(("1500", "2000"), runs["250"])}


_HALF_PPS: Final = 280.0
"""Half of the packets of 1500 bytes that the cell carries in a second."""


def _unsaturated(_: str, runs: Runs) -> Runs:
    return {
        name: unsaturated(run, _HALF_PPS) if isinstance(run, Calculation) else run
        for name, run in runs.items()
    }


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "protection": Sabotage(_unprotected),
    "deep-queue": Sabotage(_shallow),
    "saturation": Sabotage(_unsaturated),
}
