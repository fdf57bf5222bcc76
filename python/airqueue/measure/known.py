"""What a quick measurement knows of one packet size, and what its runs are laid out for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from airqueue.measure import bucket
from airqueue.measure.disciplines.steps import Layout
from airqueue.measure.quiet import baseline, quiet_length_s
from airqueue.measure.runner import Runner
from airqueue.stats import t_interval

MIN_SESSIONS, MAX_SESSIONS = 3, 12
SHORT_INTERVAL = (0.5, 0.0025)
"""Stop when half an interval is at most this many packets or this share, whichever is larger."""
GIVE_UP_AFTER = 4
"""Sessions discarded in a row before a size is given up."""
SAVED_S = 3.0
"""Time for which a token bucket may fill from the end of one run's flood to the next one's: quiet
periods, and the agreement between the endpoints."""


@dataclass
class SizeState:
    """Knowledge so far about one packet size."""

    size_bytes: int
    rate_pps: float
    ceiling_pps: float
    held: float
    saved: float | None = 0.0
    """Packets that a full token bucket lets pass at once; None where it fills too slowly to say."""
    counts: list[float] = field(default_factory=list)
    drained: list[float] = field(default_factory=list)
    tried: int = 0
    refused_in_a_row: int = 0

    @property
    def done(self) -> bool:
        """Whether its interval is short enough, or trying on is pointless."""
        if self.refused_in_a_row >= GIVE_UP_AFTER or self.tried >= MAX_SESSIONS:
            return True
        # In a queue that drops at its head only the drained packets are constant: give counting a
        # lead.
        late = len(self.counts) >= MIN_SESSIONS + 2
        return _short(self.counts) or (late and _short(self.drained))


def _short(values: Sequence[float]) -> bool:
    """Whether enough sessions make the interval of their mean short enough to stop."""
    interval = t_interval(values)
    if interval is None or interval.n < MIN_SESSIONS:
        return False
    packets, share = SHORT_INTERVAL
    return interval.half_width <= max(packets, share * interval.mean)


def layout_of(state: SizeState) -> Layout:
    """Return what steps are laid out for."""
    quiet_s = quiet_length_s(state.rate_pps, 1)
    sparse = baseline(0.0, quiet_s, state.rate_pps, (state.size_bytes,))
    return Layout(
        state.size_bytes,
        state.rate_pps,
        state.ceiling_pps,
        state.held,
        sparse,
        quiet_s,
        state.saved or 0.0,
    )


def find_bucket(runner: Runner, state: SizeState) -> None:
    """Tell how many packets a token bucket lets pass at once, if the floods so far show one."""
    bucket.find(runner, layout_of(state))
    runs = runner.sessions(bucket.KIND)
    state.saved = bucket.saved_packets(runs, state.size_bytes)
    rates = [seen.rate_pps for s in runs if (seen := bucket.saved(s)) is not None]
    if state.saved != 0.0 and rates and runs[-1].size_bytes == state.size_bytes:
        state.rate_pps = float(np.median(rates))


def tokens(state: SizeState) -> float:
    """Return the most packets that tokens let pass in a run that follows another one at once."""
    saved = np.inf if state.saved is None else state.saved
    return min(saved, SAVED_S * state.rate_pps)
