"""RDQM: what receivers tell, delays, and rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue.description import Description
from airqueue_papers.rdqm import DELAYS_MS, RATES
from airqueue_papers.sabotage import Sabotage, scenarios


def _nothing_told(described: Description) -> None:
    for flow in described["flows"]:
        flow.pop("rdqm", None)
        flow.pop("rdqm_rtt_kind", None)


def _equal_delays(described: Description) -> None:
    for host in described["hosts"]:
        host["delay"] = f"{sum(DELAYS_MS) / len(DELAYS_MS):.2f} ms"


def _equal_rates(described: Description) -> None:
    for station in described["stations"]:
        if "rate" in station:
            station["rate"] = f"{max(RATES)} Mb/s"


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "reports": Sabotage(scenarios(_nothing_told)),
    "delays": Sabotage(scenarios(_equal_delays)),
    "slow-stations": Sabotage(scenarios(_equal_rates)),
}
