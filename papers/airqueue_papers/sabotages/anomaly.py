"""Airtime paper: turns by airtime, the slow station, the queues of flows, and the deep buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from airqueue.description import Description, QueueTable
from airqueue_papers.anomaly.scenarios import SLOW
from airqueue_papers.sabotage import Sabotage, scenarios


def _queues(described: Description, discipline: str) -> Iterator[QueueTable]:
    """Yield the tables of the stations' queues with a discipline."""
    for station in described["stations"]:
        queue = station.get("queue", "")
        if not isinstance(queue, str) and queue.get("discipline") == discipline:
            yield queue


def _turns(described: Description) -> None:
    for queue in _queues(described, "mac80211"):
        queue["mac80211"]["airtime_fairness"] = False


def _equal_rates(described: Description) -> None:
    rates = [station["rate"] for station in described["stations"] if "rate" in station]
    for station in described["stations"]:
        if station.get("rate") == SLOW:
            station["rate"] = rates[0]


def _one_queue(described: Description) -> None:
    for queue in _queues(described, "mac80211"):
        # Without CoDel's own parameters for slow stations: they would bring its target back.
        queue["mac80211"] |= {
            "flows": 1,
            "target": "60 s",
            "interval": "60 s",
            "slow_stations": False,
        }


def _short_fifo(described: Description) -> None:
    for queue in _queues(described, "droptail"):
        queue["limit"], queue["ring"] = "10 packets", "0 packets"


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "airtime": Sabotage(scenarios(_turns)),
    "slow-station": Sabotage(scenarios(_equal_rates)),
    "queues": Sabotage(scenarios(_one_queue)),
    "deep-buffer": Sabotage(scenarios(_short_fifo)),
}
