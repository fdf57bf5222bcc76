"""HTTP: delayed acknowledgements, windows, sizes, the access point's queue, contention."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from airqueue.description import Description
from airqueue_papers.http import downloads, single, users
from airqueue_papers.http.scenarios import AP, LARGE, LOSSLESS, THINK_S
from airqueue_papers.sabotage import Sabotage, scenarios

_DYNAMIC_MOST: Final = 4
"""Segments that an acknowledgement of the dynamic scheme answers at most."""


def _each_segment(described: Description) -> None:
    described["tcp"]["ack_every"] = 1


def _no_window(described: Description) -> None:
    every = described["tcp"].get("ack_every", 1)
    segments = _DYNAMIC_MOST if every == "dynamic" else int(every)
    described["tcp"]["window"] = f"{segments} packets"


def _wide_window(described: Description) -> None:
    described["tcp"]["window"] = f"{LARGE} packets"


def _heavy_tail(described: Description) -> None:
    for flow in described["flows"]:
        if flow["web"]["distribution"] == "exponential":
            flow["web"]["distribution"] = "pareto"


def _first_come(described: Description) -> None:
    for station in described["stations"]:
        queue = station.get("queue")
        if isinstance(queue, dict) and queue.get("discipline") == "drr":
            queue["discipline"] = "droptail"


def _lossless(described: Description) -> None:
    for station in described["stations"]:
        if station["name"] == AP:
            station["queue"] = {"limit": f"{LOSSLESS} packets"}


def _one_attempt(described: Description) -> None:
    described["mac"] |= {"short_retry_limit": 1, "long_retry_limit": 1}


def _without_collisions(connections: float, d: float = 1) -> tuple[float, float]:
    _, free = downloads.model_mbps(connections, d)
    return free, free


def _alone(_: float, __: float = THINK_S, cost: str = "printed") -> float:
    return users.model_s(2, THINK_S, cost)


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "delayed-acks": Sabotage(
        scenarios(_each_segment), {"fig3": partial(single.compare_fig3, delayed=1)}
    ),
    "large-window": Sabotage(scenarios(_no_window)),
    "small-window": Sabotage(scenarios(_wide_window)),
    "light-tail": Sabotage(scenarios(_heavy_tail)),
    "turns": Sabotage(scenarios(_first_come)),
    "finite-buffer": Sabotage(scenarios(_lossless)),
    "contention": Sabotage(
        compare={
            "fig4": partial(
                downloads.compare_fig4, model=_without_collisions, contenders=lambda _: 2.0
            ),
            "fig7": partial(users.compare_fig7, model=_alone),
            "fig8": partial(users.compare_fig8, model=_alone),
        }
    ),
    "attempts": Sabotage(scenarios(_one_attempt)),
}
