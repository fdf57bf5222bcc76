"""Records of a replication besides its figures: captures and time series."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

from airqueue import _native
from airqueue.simulate.errors import ScenarioError, check_whole
from airqueue.traces import Opportunities

if TYPE_CHECKING:
    from airqueue.simulate.controlled import ControlledReplication

LEAST_BYTES: Final = _native.CAPTURE_LEAST_BYTES
"""Least bytes of a captured frame with its radiotap header: control frames are always whole."""
HEADERS_BYTES: Final = _native.CAPTURE_HEADERS_BYTES
"""Enough for all headers of a packet."""
_LEAST_INTERVAL_S: Final = 1e-9
WHOLE_BYTES: Final = _native.CAPTURE_WHOLE_BYTES
"""Cuts no frame."""


@dataclass(frozen=True, slots=True)
class Recorders:
    """A capture of frames and time series of the first replication, without effect on its figures."""

    pcap: str | os.PathLike[str] | None = None
    """File of the capture, which Wireshark reads."""
    pcap_station: str | None = None
    """Station whose sent and received frames are recorded; None for all frames on the air."""
    series_interval_s: float | None = None
    """Length of the intervals of the time series; None for none."""
    pcap_bytes: int = HEADERS_BYTES
    """Bytes kept of each frame, including its radiotap header of 22 bytes."""
    trace: str | None = None
    """Link whose delivery opportunities are kept: ``ap:phone``, or ``ap`` for all that it sends."""
    opportunities: list[Opportunities] = field(default_factory=list, compare=False)
    """Gets those of ``trace`` when the replication has ended."""

    def __post_init__(self) -> None:
        check_whole("pcap_bytes", self.pcap_bytes, LEAST_BYTES, WHOLE_BYTES)
        interval_s = self.series_interval_s
        if interval_s is None:
            return
        is_number = isinstance(interval_s, Real) and math.isfinite(interval_s)
        if not is_number or interval_s < _LEAST_INTERVAL_S:
            raise ScenarioError(
                f"series_interval_s: {interval_s!r}; expected seconds, at least {_LEAST_INTERVAL_S}"
            )

    @property
    def again(self) -> bool:
        """Whether the first replication must be simulated even where its figures are known."""
        return self.pcap is not None or self.trace is not None

    def take(self, run: _native.Run | ControlledReplication) -> None:
        """Keep the opportunities of the first replication, which has ended."""
        found = None if self.trace is None else run.opportunities()
        if self.trace is not None and found is not None:
            self.opportunities.append(Opportunities.of(self.trace, found))

    def options(self) -> dict[str, Any]:
        """Return the engine's settings of the recorder."""
        given: dict[str, Any] = {"series_interval_s": self.series_interval_s}
        if self.pcap is not None:
            given |= {
                "pcap": self.pcap,
                "pcap_station": self.pcap_station,
                "pcap_bytes": self.pcap_bytes,
            }
        return {name: value for name, value in given.items() if value is not None}
