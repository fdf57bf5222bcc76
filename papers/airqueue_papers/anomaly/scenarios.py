"""The airtime paper's test bed as scenarios: an access point, two fast stations and a slow one.

802.11n with 20 MHz and short guard intervals: the fast stations at 144.4 Mb/s, the slow one at
7.2 Mb/s. A server sends through the access point. The schemes differ in the access point's queue
alone. Unprinted settings have their reason beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from airqueue.description import (
    Description,
    FlowTable,
    PhyTable,
    QueueTable,
    StationTable,
)
from airqueue_papers.item import Budget, Run, Simulation

AP: Final = "ap"
SERVER: Final = "server"
FAST: Final = "HT-MCS15"
SLOW: Final = "HT-MCS0"
LEGACY: Final = "1 Mb/s"
"""The lowest rate at 2.4 GHz."""
UDP_LOAD: Final = "100 Mb/s"
"""UDP for each station: more than a third of the airtime carries."""
PACKET_BYTES: Final = 1500
PINGED: Final = ("fast1", "slow")
"""Stations that have pings beside TCP."""
FIFO_LIMIT: Final = "1000 packets"
"""Linux's default queue of an interface."""
RING: Final = "123 packets"
"""Packets of a category that ath9k took at most before it used mac80211's queues."""
SUBFRAMES: Final = 32
"""Packets in a frame of ath9k at most: half of the block-ack window."""

FIFO: Final = "fifo"
FQ_CODEL: Final = "fq_codel"
FQ_MAC: Final = "fq_mac"
AIRTIME: Final = "airtime"
SCHEMES: Final[Mapping[str, str]] = {
    FIFO: "FIFO",
    FQ_CODEL: "FQ-CoDel",
    FQ_MAC: "FQ-MAC",
    AIRTIME: "airtime",
}
"""Scheme -> its name in figures: the kernel before, with FQ-CoDel in front of the driver, with the
new queues alone, and with the airtime scheduler too."""
ASSUMED: Final = (
    "Not read, or not printed, and assumed here: a FIFO of 1000 packets, or FQ-CoDel, in front of a "
    "driver that holds 123; no packet is lost to noise; rates are fixed; a server at 1 Gb/s and "
    "half a millisecond; TCP CUBIC with the defaults of today's Linux. ath9k limits a frame to 4 ms, "
    "lets stations take turns in the driver, and holds two frames in hardware; here a frame lasts "
    "5.5 ms at most, the driver sends to the station whose packet is first, and the MAC forms a "
    "frame when it begins. CoDel's parameters for slow stations are those of Linux 4.12. Airtime "
    "queue limits, which came later, are off."
)


def queue(scheme: str, limit: str) -> QueueTable:
    """Return the access point's queue; ``limit``: of the FIFO."""
    if scheme == FIFO:
        return {"discipline": "droptail", "limit": limit, "ring": RING}
    if scheme == FQ_CODEL:
        return {"discipline": "fq_codel", "ring": RING}
    return {
        "discipline": "mac80211",
        "mac80211": {
            "airtime_fairness": scheme == AIRTIME,
            "aql": False,
            "slow_stations": True,
        },
    }


@dataclass(frozen=True, slots=True)
class Case:
    """A scheme, and what the server sends to the stations."""

    scheme: str
    traffic: str
    """``udp``; ``tcp``, downloads; ``both``, downloads and uploads; ``applications``, downloads, a
    call to the slow station and a user of the web at a fast one. TCP has pings to a fast station and
    to the slow one."""
    fast: int = 2
    """Fast stations beside the slow one."""
    rates: tuple[str, str] = (FAST, SLOW)
    """Rates of fast stations and of the slow one."""
    subframes: int = SUBFRAMES
    """Packets in a frame of the access point at most."""
    limit: str = FIFO_LIMIT
    """Of the FIFO in front of the driver."""

    @property
    def name(self) -> str:
        """Of the run."""
        words = [self.traffic, self.scheme, f"{self.fast}fast"]
        words += ["-".join(self.rates).replace(" ", "")] * (self.rates != (FAST, SLOW))
        words += [f"{self.subframes}subframes"] * (self.subframes != SUBFRAMES)
        words += [self.limit.replace(" ", "")] * (self.limit != FIFO_LIMIT)
        return "-".join(words)

    @property
    def stations(self) -> tuple[str, ...]:
        """Names of the stations, the slow one last."""
        return (*(f"fast{i}" for i in range(1, self.fast + 1)), "slow")

    def scenario(self, duration_s: float) -> Description:
        """Return the description."""
        described: Description = {
            "duration": f"{duration_s:g} s",
            "warm_up": "10 s",
            "phy": self._phy(),
            # Linux 4.6; PSH at the end of bursts came with 5.5.
            "tcp": {"stack": "linux", "segmentation_offload": False},
            "stations": self._stations(),
            "hosts": [
                {
                    "name": SERVER,
                    "link": AP,
                    "rate": "1000 Mb/s",
                    "delay": "0.5 ms",
                    "queue": {"limit": FIFO_LIMIT},
                }
            ],
            "flows": [],
        }
        for name in self.stations:
            described["flows"] += self._to(name)
        if self.traffic != "udp":
            described["flows"] += map(_ping, PINGED)
        if self.traffic == "applications":
            described["flows"] += _APPLICATIONS
        return described

    def _phy(self) -> PhyTable:
        phy: PhyTable = {"standard": "802.11n", "width": "20 MHz", "streams": 2}
        if LEGACY in self.rates:
            phy["band"] = "2.4 GHz"
        return {**phy, "guard_interval": "0.4 us"}

    def _stations(self) -> list[StationTable]:
        return [
            {
                "name": AP,
                "queue": queue(self.scheme, self.limit),
                "mac": {"aggregation": {"window": self.subframes}},
            },
            {"name": "fast", "count": self.fast, "rate": self.rates[0]},
            {"name": "slow", "rate": self.rates[1]},
        ]

    def _to(self, name: str) -> list[FlowTable]:
        ends: FlowTable = {"name": name, "from": SERVER, "to": name}
        if self.traffic == "udp":
            return [{**ends, "source": "poisson", "rate": UDP_LOAD, "size": f"{PACKET_BYTES} B"}]
        down: FlowTable = {**ends, "source": "tcp", "start_spread": "1 s"}
        if self.traffic != "both":
            return [down]
        return [down, {**down, "name": f"{name} up", "from": name, "to": SERVER}]

    def simulation(self, budget: Budget) -> Simulation:
        """Return its replications."""
        duration_s = budget.pick(10.0, 30.0)
        weight = 0.03 * (duration_s + 10)
        return Simulation(self.scenario(duration_s), budget.pick(3, 6), weight=weight)


def _ping(station: str) -> FlowTable:
    every: FlowTable = {"ping": {"interval": "100 ms", "distribution": "exponential"}}
    return {"name": f"ping {station}", "from": SERVER, "to": station, "source": "ping", **every}


CALL: Final = "call"
PAGE: Final = "page"
_APPLICATIONS: Final[list[FlowTable]] = [
    {"name": CALL, "from": SERVER, "to": "slow", "source": "voice"},
    {
        "name": PAGE,
        "from": SERVER,
        "to": "fast1",
        "source": "web",
        "web": {"file_size": "100 kB", "think_time": "1 s", "distribution": "constant"},
    },
]


def simulations(cases: Iterable[Case], budget: Budget) -> Mapping[str, Run]:
    """Return the runs of cases, by their names."""
    return {case.name: case.simulation(budget) for case in cases}


def by_scheme(traffic: str) -> Mapping[str, Case]:
    """Return the case of three stations with each scheme."""
    return {scheme: Case(scheme, traffic) for scheme in SCHEMES}
