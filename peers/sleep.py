"""An access point and stations that sleep: the scenario, and the same in ns-3.

802.11a, best effort of EDCA, without losses: data at 54 Mb/s, ACKs at 24 Mb/s, beacons and frames
to all stations at 6 Mb/s, a beacon each 102.4 ms. Sleepers get what waits for them by PS-Polls.
ns-3's sleepers wake up for one beacon in ``listen_interval``, and hear a DTIM only if it is one of
these. Flows of packets are Poisson and end `DRAIN_S` before the run: nothing waits at its end.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, fields
from typing import Any

from .install import HERE, install_ns3_built
from .run import json_line

DRAIN_S = 4.0
BEACON_S = 0.1024
DIRECTIONS = ("down", "up", "group")
SOURCE = HERE / "ns3" / "sleep.cc"


@dataclass(frozen=True)
class SleepCell:
    """Packets a second are those of each sleeper, or to all stations."""

    sleepers: int = 1
    saturated: int = 0
    """Stations that are awake and always send packets of 1500 bytes to the access point."""
    down_pps: float = 0.0
    up_pps: float = 0.0
    group_pps: float = 0.0
    listen_interval: int = 1
    dtim_period: int = 3
    ip_bytes: int = 500
    seconds: float = 400.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.sleepers < 1 or self.saturated < 0 or self.seed < 1:
            raise ValueError(f"{self}: one sleeper or more and a seed from 1 on are needed")
        if min(self.down_pps, self.up_pps, self.group_pps) < 0 or self.seconds <= DRAIN_S:
            raise ValueError(f"{self}: no rate is negative, and a run is longer than {DRAIN_S:g} s")
        if min(self.listen_interval, self.dtim_period) < 1:
            raise ValueError(f"{self}: listen_interval and dtim_period are 1 or more")
        if self.group_pps and self.listen_interval != 1:
            raise ValueError(f"{self}: ns-3's sleepers miss DTIMs unless they hear every beacon")


@dataclass(frozen=True)
class Received:
    """What became of the packets of one direction."""

    sent: int
    delivered: int
    mean_s: float
    sd_s: float
    median_s: float
    p95_s: float
    longest_s: float


@dataclass(frozen=True)
class SleepResult:
    """What a simulator made of it; ``None``: there were no such packets."""

    simulator: str
    down: Received | None
    up: Received | None
    group: Received | None
    awake_ratio: float
    """Mean over the sleepers."""
    polls: int
    """PS-Polls of all sleepers, repeated ones included."""
    cpu_s: float
    simulated_s: float

    @classmethod
    def from_json(cls, parsed: dict[str, Any]) -> SleepResult:
        """From the line that ``ns3/sleep.cc`` prints."""
        values = {field.name: parsed[field.name] for field in fields(cls)}
        for direction in DIRECTIONS:
            received = parsed[direction]
            values[direction] = Received(**received) if received["delivered"] else None
        return cls(**values)


def run_sleep(cell: SleepCell) -> SleepResult:
    """Run it in ns-3; raises UnavailableError where there is no build of a release that can."""
    options = {
        "sleepers": cell.sleepers,
        "saturated": cell.saturated,
        "down-pps": f"{cell.down_pps:g}",
        "up-pps": f"{cell.up_pps:g}",
        "group-pps": f"{cell.group_pps:g}",
        "listen-interval": cell.listen_interval,
        "dtim-period": cell.dtim_period,
        "ip-bytes": cell.ip_bytes,
        "seconds": f"{cell.seconds:g}",
        "seed": cell.seed,
    }
    command = [str(install_ns3_built(SOURCE)), *(f"--{k}={v}" for k, v in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return SleepResult.from_json(json_line(done.stdout, done.stderr, done.returncode))
