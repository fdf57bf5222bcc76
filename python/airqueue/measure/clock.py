"""The delay of the empty path, and the drift and steps of the two clocks.

One-way delay is measured between two clocks, so it contains their unknown offset. The offset cancels
when the quiet delay is subtracted; a linear drift cancels when the quiet delay is known before *and*
after the flood and interpolated between; a step does not cancel and must be found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from airqueue.measure.session import Session

MAX_SKEW_PPM = 300.0
"""More than two bad crystals apart (100 ppm each) plus an NTP slew; a larger slope is a step."""
MIN_STEP_S = 0.0015
"""Quiet delays before and after that differ by less are not called a step."""
DRAINING_SLOPE = -0.2
"""Delay that falls faster than this, in seconds per second, is a queue being emptied."""
SHORTEST_CALM_NS = 20e6
"""Packets closer together than this cannot show that delay has stopped falling."""
SETTLED_SLACK_NS = 1e6
"""Delays up to this much above the settled level belong to it, however quiet the path."""


@dataclass(frozen=True, slots=True)
class QuietDelay:
    """Delay of the empty path plus clock offset, linear in the sender's time.

    ``before_ns`` and ``after_ns`` are (mid time, median delay) of the two quiet periods; ``after``
    is None if only one exists. ``jitter_s``: interquartile range of the quiet delays. ``packet_s``:
    mean time between arrivals under load.
    """

    before_ns: tuple[float, float]
    after_ns: tuple[float, float] | None
    jitter_s: float
    packet_s: float = 0.0

    @property
    def slope(self) -> float:
        """Drift of the receiver's clock against the sender's, seconds per second."""
        if self.after_ns is None:
            return 0.0
        (t1, d1), (t2, d2) = self.before_ns, self.after_ns
        return (d2 - d1) / (t2 - t1)

    @property
    def stepped_s(self) -> float:
        """Change of the quiet delay beyond what a drifting clock explains, in seconds.

        Nor is a change by less than a packet's time called a step: the path's rate may have changed
        and with it the time that a packet takes through the empty path.
        """
        if self.after_ns is None:
            return 0.0
        (t1, d1), (t2, d2) = self.before_ns, self.after_ns
        slack_s = MIN_STEP_S + 3 * self.jitter_s + self.packet_s
        slack = slack_s * 1e9 + MAX_SKEW_PPM * 1e-6 * (t2 - t1)
        return (d2 - d1) * 1e-9 if abs(d2 - d1) > slack else 0.0

    def at_ns(self, sent_ns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Quiet delay for packets sent at these times."""
        t1, d1 = self.before_ns
        return np.asarray(d1 + self.slope * (sent_ns - t1))


def fit_quiet_delay(session: Session) -> QuietDelay | None:
    """Median delay of each quiet period, for packets of the flood's size.

    A period counts from where it has settled: after the flood has drained, after a stall has passed.
    """
    run = session.run
    sides = []
    for phase in ("quiet", "after"):
        rows = settled_rows(session, phase)
        if len(rows):
            left = session.left_ns[rows]
            calm = run.received_ns[rows] - left
            sides.append((float(np.median(left)), float(np.median(calm)), _iqr(calm)))
    if not sides:
        return None
    second = (sides[1][0], sides[1][1]) if len(sides) == 2 else None
    jitter_s = min(side[2] for side in sides) * 1e-9
    return QuietDelay(sides[0][:2], second, jitter_s, _packet_s(session))


def _packet_s(session: Session) -> float:
    """Mean time between arrivals of the flood, in seconds; 0 without any."""
    times = session.run.received_ns[session.flood & session.run.received]
    return float(np.ptp(times)) * 1e-9 / (len(times) - 1) if len(times) > 1 else 0.0


def settled_rows(session: Session, phase: str) -> npt.NDArray[np.int64]:
    """Rows of the phase's delivered packets of the flood's size, from where the path is empty."""
    run = session.run
    mask = session.during(phase) & run.received & (run.size_bytes == session.size_bytes)
    rows = np.flatnonzero(mask)
    delays = (run.received_ns[rows] - run.sent_ns[rows]).astype(float)
    start = settled_from(run.sent_ns[rows].astype(float), delays)
    return rows[:0] if start is None else rows[start:]


def settled_from(
    times_ns: npt.NDArray[np.float64], delays_ns: npt.NDArray[np.float64]
) -> int | None:
    """Index from which delays are those of an empty path, None if they never settle.

    While a queue drains, or after a stall, delay falls by nearly a second per second. The last third
    of the period must not: it sets the level that the packets before it must have reached.
    """
    n = len(delays_ns)
    tail = slice(max(0, n - max(3, n // 3)), n)
    if n < 3 or times_ns[-1] - times_ns[tail.start] < SHORTEST_CALM_NS:
        return None
    if _slope(times_ns[tail], delays_ns[tail]) < DRAINING_SLOPE:
        return None
    level = float(np.median(delays_ns[tail]))
    slack = max(SETTLED_SLACK_NS, 3 * _iqr(delays_ns[tail]))
    too_high = np.flatnonzero(delays_ns > level + slack)
    too_high = too_high[too_high < tail.start]
    return int(too_high[-1]) + 1 if len(too_high) else 0


def _slope(times_ns: npt.NDArray[np.float64], delays_ns: npt.NDArray[np.float64]) -> float:
    """Median of the slopes of all pairs (Theil, 1950; Sen, 1968): a few outliers do not move it."""
    first, second = np.triu_indices(len(times_ns), 1)
    run = times_ns[second] - times_ns[first]
    apart = run != 0
    rise = delays_ns[second] - delays_ns[first]
    return float(np.median(rise[apart] / run[apart]))


def _iqr(values: npt.NDArray[np.generic]) -> float:
    low, high = np.percentile(values.astype(float), [25, 75])
    return float(high - low)
