"""APQ: protection frames, and the depth of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue_papers.sabotage import Runs, Sabotage


def _unprotected(_: str, runs: Runs) -> Runs:
    return {**runs, "protected": runs["unprotected"]}


def _shallow(_: str, runs: Runs) -> Runs:
    return {**runs, **dict.fromkeys(("1500", "2000"), runs["250"])}


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "protection": Sabotage(_unprotected),
    "deep-queue": Sabotage(_shallow),
}
