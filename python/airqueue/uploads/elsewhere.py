"""Whether something else than the medium limits stations: then they do not contend, and accesses tell
nothing.

A station is offered a multiple of what it carries *alone*. Where a line behind the access point is
slower than the air, that may be less than the air carries: every station then has all that it wants
of the medium, packets wait and are lost in front of the line, and shares are those of what was
offered, whatever the categories. Where something limits each station by itself, such as a rate for
each client, shares are those limits.

*A line.* All stations alone, and all of them together in every run, carry one and the same rate. Two
equal stations that contend come near to that, where a second station saves as much time of backoffs
as collisions cost: with packets of 1500 bytes at more than `CONTENDING_PPS`. There a line is told by
its gaps, which are even: backoffs differ by slots.

*A limit for each.* Every station carries as much beside the others as alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from airqueue.measure.records import Run
from airqueue.uploads import ratios
from airqueue.uploads.accesses import Accesses, Floats

LINE: Final = (
    "all stations together carried what each carries alone: a line behind the access point seems to "
    "be the limit, so that stations need not contend"
)
EACH: Final = (
    "each station carried as much beside the others as alone: they do not seem to share a channel"
)
SAME: Final = 0.01
"""Of a rate: a run of 0.4 s tells it no better."""
STEADY: Final = 0.005
"""Of the rate of a line, from run to run."""
CONTENDING_PPS: Final = 1500.0
EVEN: Final = 0.05
"""Of the median gap between arrivals: the distance of its quartiles behind a line, at most."""
UNHINDERED: Final = 0.95
"""Of what a station carries alone."""


def is_line(runs: Sequence[tuple[Run, Accesses]], alone_pps: Sequence[float | None]) -> bool:
    """Whether one line seems to limit all runs with uploads of all stations."""
    alone = [rate for rate in alone_pps if rate]
    if not runs or len(alone) < len(alone_pps):
        return False
    together = [_together_pps(found) for _, found in runs]
    packet = max(1 / _block_packets(found) for _, found in runs)
    if max(together) > (1 + STEADY + packet) * min(together):
        return False
    if any(abs(t / a - 1) > SAME + packet for t in together for a in alone):
        return False
    return max(together) < CONTENDING_PPS or all(_is_even(run, found) for run, found in runs)


def are_apart(found: Accesses, alone_pps: Sequence[float | None]) -> bool:
    """Whether no station had less beside the others than alone."""
    length = found.end_s - found.start_s
    got = [ratios.in_blocks(found, s, packets=True).sum() / length for s in range(found.stations)]
    return all(
        alone is not None and pps >= UNHINDERED * alone
        for pps, alone in zip(got, alone_pps, strict=True)
    )


def _blocks(found: Accesses) -> Floats:
    """Return the packets of all stations in each block of time."""
    each = [ratios.in_blocks(found, s, packets=True) for s in range(found.stations)]
    return np.asarray(np.sum(each, axis=0))


def _block_packets(found: Accesses) -> float:
    return max(1.0, float(np.median(_blocks(found))))


def _together_pps(found: Accesses) -> float:
    """Return packets per second of all stations; the median, since a host may stall for a while."""
    return _block_packets(found) * ratios.BLOCKS / (found.end_s - found.start_s)


def _is_even(run: Run, found: Accesses) -> bool:
    """Whether packets arrived at even distances."""
    at = np.sort(run.received_ns[run.received]) * 1e-9
    gaps = np.diff(at[(at >= found.start_s) & (at < found.end_s)])
    if len(gaps) == 0:
        return False
    low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
    return bool(high - low <= EVEN * middle)
