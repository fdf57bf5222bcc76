"""RDQM: what receivers tell, delays, rates, and the queue that all share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue.description import Description
from airqueue_papers.rdqm import DELAYS_MS, RATES
from airqueue_papers.sabotage import Runs, Sabotage, scenarios


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


def _divided(_: str, runs: Runs) -> Runs:
    return {
        name: runs[name.replace("droptail", "rdqm")] if name.startswith("droptail") else run
        for name, run in runs.items()
    }


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "reports": Sabotage(scenarios(_nothing_told)),
    "delays": Sabotage(scenarios(_equal_delays)),
    "slow-stations": Sabotage(scenarios(_equal_rates)),
    "one-queue": Sabotage(_divided),
}
