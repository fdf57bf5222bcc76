"""Airtime paper: turns by airtime, the slow station, the queues of flows, and the deep buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue.description import Description
from airqueue_papers.anomaly.scenarios import SLOW
from airqueue_papers.sabotage import Sabotage, scenarios


def _turns(described: Description) -> None:
    for station in described["stations"]:
        station.get("queue", {}).get("mac80211", {})["airtime_fairness"] = False


def _equal_rates(described: Description) -> None:
    rates = [station["rate"] for station in described["stations"] if "rate" in station]
    for station in described["stations"]:
        if station.get("rate") == SLOW:
            station["rate"] = rates[0]


def _one_queue(described: Description) -> None:
    for station in described["stations"]:
        table = station.get("queue", {}).get("mac80211")
        if table is not None:
            # Without CoDel's own parameters for slow stations: they would bring its target back.
            table |= {"flows": 1, "target": "60 s", "interval": "60 s", "slow_stations": False}


def _short_fifo(described: Description) -> None:
    for station in described["stations"]:
        queue = station.get("queue", {})
        if queue.get("discipline") == "droptail":
            queue |= {"limit": "10 packets", "ring": "0 packets"}


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "airtime": Sabotage(scenarios(_turns)),
    "slow-station": Sabotage(scenarios(_equal_rates)),
    "queues": Sabotage(scenarios(_one_queue)),
    "deep-buffer": Sabotage(scenarios(_short_fifo)),
}
