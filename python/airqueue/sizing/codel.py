"""Parameters of FQ-CoDel for a link whose rate is known, where a plain FIFO is not the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from airqueue.models.checks import number

TARGET_S: Final = 0.005
INTERVAL_S: Final = 0.1
"""RFC 8289, section 4.4: defaults; the interval is about the longest usual round trip."""
LEAST_INTERVALS, MOST_INTERVALS = 10, 20
"""RFC 8289, section 4.3: the target is 5 to 10 % of the interval: that is 10 to 20 targets."""
HOLD: Final = 1.5
"""Accesses to the link that a packet may wait without a standing queue (RFC 8289, section 4.3, asks
for at least one packet's time)."""
LOW_RATE_BPS: Final = 100e6
LOW_RATE_QUANTUM_BYTES: Final = 300
QUANTUM_BYTES: Final = 1514
"""RFC 8290, section 5.2.4: one packet; 300 bytes below 100 Mb/s let small packets pass sooner."""
LOW_RATE_LIMIT, LIMIT = 1000, 10240
"""RFC 8290, section 5.2.3: 10240 packets; it guards the memory and should never be reached."""


@dataclass(frozen=True, slots=True)
class Codel:
    """Parameters of FQ-CoDel."""

    limit_packets: int
    target_s: float
    interval_s: float
    quantum_bytes: int


def codel_for(rate_bps: float, rtt_s: float, packet_s: float) -> Codel:
    """Return parameters for a link of this rate and round trip.

    packet_s: time for which one access to the link keeps it: a packet, or an aggregate. The target
    is never less than `HOLD` of that, or packets would be dropped from a queue that merely waits for
    its turn.

    The limit holds at least what the link carries in an interval, in which CoDel drops nothing.

    >>> codel_for(25e6, 0.1, 0.0004)
    Codel(limit_packets=1000, target_s=0.005, interval_s=0.1, quantum_bytes=300)
    """
    rate = number("rate_bps", rate_bps, above=0)
    interval_s = max(INTERVAL_S, number("rtt_s", rtt_s, above=0))
    hold_s = HOLD * number("packet_s", packet_s, above=0)
    target_s = max(TARGET_S, interval_s / MOST_INTERVALS, hold_s)
    low = rate < LOW_RATE_BPS
    interval_s = max(interval_s, LEAST_INTERVALS * target_s)
    return Codel(
        limit_packets=max(
            LOW_RATE_LIMIT if low else LIMIT, math.ceil(rate * interval_s / 8 / QUANTUM_BYTES)
        ),
        target_s=target_s,
        interval_s=interval_s,
        quantum_bytes=LOW_RATE_QUANTUM_BYTES if low else QUANTUM_BYTES,
    )
