"""What can be written down of a replication besides its figures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Recorders:
    """A capture of frames and time series of the first replication; they change nothing in it."""

    pcap: str | os.PathLike[str] | None = None
    """Where the capture goes, a file that Wireshark reads."""
    pcap_station: str | None = None
    """Whose frames it has, sent or heard; None for all frames on the air."""
    series_interval_s: float | None = None
    """Length of the intervals of the time series; None for none."""

    def options(self) -> dict[str, Any]:
        """Return what the engine is told."""
        given = {
            "pcap": self.pcap,
            "pcap_station": self.pcap_station,
            "series_interval_s": self.series_interval_s,
        }
        return {name: value for name, value in given.items() if value is not None}
