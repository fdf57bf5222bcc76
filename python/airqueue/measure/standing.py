"""A queue that is kept long, and not full, for seconds: a drop-tail FIFO loses nothing then.

The short floods of the sessions end before slow queue management has begun to act. This run keeps a
queue standing without refusing anything: after a control at nearly the path's rate, where no queue
stands, it fills the queue and goes on a little below the path's rate; before the queue is empty,
a short burst fills it again and shows the full queue once more.

``quiet``    baseline packets only;
``control``  nearly the path's rate into an empty queue: what the path loses by itself;
``settle``   nothing is sent but a few baseline packets, and the queue is empty again;
``fill``     3 T until the queue is full;
``stand``    a little below T, with bursts at 3 T;
``drain``, ``after``  as in a session.

A drop-tail FIFO loses no larger share in ``stand`` while there was room than in ``control``, or than
the sessions' floods lose until the queue is half full. CoDel, PIE and RED drop exactly there. So does
a FIFO that others' packets share: the slower ours come, the larger is the others' share of the queue,
and the fewer of ours wait when one is refused.

RED with a slow average remembers earlier floods for seconds, and drops packets in the control, too:
fewer and fewer, where a path would lose an equal share to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from airqueue import stats
from airqueue.measure.evidence import added
from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, Segment, cbr
from airqueue.measure.session import Session

KIND = "standing"
"""Of the run's meta data."""
STAND_S = 5.0
"""Slow settings of CoDel (an interval of 1 s) drop some packets in this time."""
STAND_PACKETS, LONGEST_STAND_S = 3500, 10.0
"""A slow average of RED (a weight of 1/4096) follows the queue's length in this many packets."""
CONTROL_S = 2.5
"""Half of the standing time: the losses of the path alone."""
MOST_PACKETS = 150_000
"""In the standing part; faster paths have shorter ones."""
MOST_STRETCHES = 480
"""Endpoints agree to 1024 segments: a short queue before a fast link stands for less time."""
BELOW = 0.03
"""Share of the path's rate by which the queue drains while it stands."""
CONTROL = 0.9
"""Share of the path's rate in the control: no queue stands, and the path is as busy."""
THIRDS = 3
"""Of the control, of which the first and the last are compared: drops die away in a slow average's
time, which the control is meant to be a good part of."""
GIVEN_UP, MOST_GIVEN_UP = 0.3, 0.7
"""Share of the queue that drains before a burst fills it again; more where counts are blurred."""
FILL = 3.0
"""Rate of the bursts, as a multiple of the path's."""
SPARE_S = 0.03
"""Added to each time that is computed from the rate, which is not known exactly."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the run is laid out for: packets/s of the path and of the sender, packets in the queue."""

    size_bytes: int
    rate_pps: float
    ceiling_pps: float
    held: float
    allowed: float = 0.0
    """Packets by which counts may differ: only what is lost further below ``held`` says something."""
    saved: float = 0.0
    """Packets that a token bucket lets pass at once, before there is a queue."""


def standing_plan(
    layout: Layout, baseline: Sequence[Segment], quiet_s: float, index: int
) -> tuple[Plan, dict[str, Any]]:
    """Lay the run out. ``baseline``: packets of a quiet period, from zero to ``quiet_s``."""
    size, rate, held = layout.size_bytes, layout.rate_pps, layout.held
    filling = max(1.1 * rate, min(FILL * rate, layout.ceiling_pps))
    stand_s = min(max(STAND_S, min(STAND_PACKETS / rate, LONGEST_STAND_S)), MOST_PACKETS / rate)
    control = quiet_s + min(CONTROL_S, MOST_PACKETS / rate)
    settled = control + 0.15 * held / rate + SPARE_S
    filled = settled + (1.2 * held + layout.saved) / (filling - rate) + SPARE_S
    flood, stood = _standing(layout, filled, stand_s, filling)
    drained = stood + 1.15 * held / rate + SPARE_S
    end = drained + quiet_s
    segments = [
        *baseline,
        cbr(FLOOD_FLOW, quiet_s, control, CONTROL * rate, size),
        cbr(FLOOD_FLOW, settled, filled, filling, size),
        *flood,
        *(_moved(segment, drained) for segment in baseline),
        Segment(PROBE_FLOW, end + 0.01, 0.0, 1, size),
        Segment(FLOOD_FLOW, end + 0.01, 0.0, 1, size),
    ]
    phases = {
        "quiet": [0.0, quiet_s],
        "control": [quiet_s, control],
        "settle": [control, settled],
        "fill": [settled, filled],
        "stand": [filled, stood],
        "drain": [stood, drained],
        "after": [drained, end],
    }
    meta: dict[str, Any] = {"kind": KIND, "profile": "quick", "size_bytes": size, "index": index}
    return Plan(tuple(segments)), {**meta, "phases": phases, "says": f"standing queue, {size} B"}


def _standing(
    layout: Layout, start_s: float, stand_s: float, filling_pps: float
) -> tuple[list[Segment], float]:
    """Stretches a little below the path's rate, each with a burst at its end; where they end."""
    rate, held = layout.rate_pps, layout.held
    given_up = min(MOST_GIVEN_UP, GIVEN_UP + layout.allowed / held)
    stretch_s = min(stand_s, given_up * held / (BELOW * rate))
    stretches = min(max(1, round(stand_s / stretch_s)), MOST_STRETCHES)
    # Enough to fill what was drained, and to refuse some packets even if a tenth more was drained.
    missing = BELOW * rate * stretch_s
    burst_s = (1.3 * missing + 0.1 * held + 6) / (filling_pps - rate)
    at, segments = start_s, []
    for _ in range(stretches):
        segments.append(cbr(FLOOD_FLOW, at, at + stretch_s, (1 - BELOW) * rate, layout.size_bytes))
        at += stretch_s
        segments.append(cbr(FLOOD_FLOW, at, at + burst_s, filling_pps, layout.size_bytes))
        at += burst_s
    return segments, at


def _moved(segment: Segment, by_s: float) -> Segment:
    return Segment(
        segment.flow, segment.start_s + by_s, segment.duration_s, segment.count, segment.size_bytes
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """Packets lost, and sent, while the queue had room, in the standing part and in the control.

    ``begun`` and ``ended``: in the first third of the control, and in the last. ``filling``: in the
    sessions' floods, before the queue was half full.
    """

    early: tuple[int, int]
    control: tuple[int, int]
    begun: tuple[int, int] = (0, 0)
    ended: tuple[int, int] = (0, 0)
    filling: tuple[int, int] = (0, 0)

    @property
    def emptier(self) -> tuple[int, int]:
        """In the control and in the sessions' floods together."""
        return added([self.control, self.filling])


def observe_standing(session: Session, held: float, allowed: float) -> Standing | None:
    """Count what was lost with room in the queue: more than ``allowed`` packets below ``held``.

    None where the path was never quiet or the run was cut short.
    """
    waiting = session.waiting_at_each
    if waiting is None or session.run.end != "complete":
        return None
    room = (waiting < held - allowed) & session.flood & session.run.sent
    control = np.flatnonzero(room & session.during("control"))
    thirds = np.array_split(control, THIRDS)
    parts = (np.flatnonzero(room & session.during("stand")), control, thirds[0], thirds[-1])
    lost = session.run.lost
    return Standing(*((int(np.count_nonzero(lost[part])), len(part)) for part in parts))


def observe_filling(session: Session, held: float) -> tuple[int, int]:
    """Count the flood's packets lost, and sent, in a session while the queue was not half full.

    Each by the length that the packet found: `SessionEvidence.early` ends before a loss, so that its
    share of losses is less than the path's.
    """
    waiting = session.waiting_at_each
    if waiting is None:
        return 0, 0
    room = (waiting < held / 2) & session.flood & session.run.sent
    return int(np.count_nonzero(room & session.run.lost)), int(np.count_nonzero(room))


def total(seen: Sequence[Standing]) -> Standing:
    """All runs together, one at least."""
    return Standing(
        *(added([getattr(each, part.name) for each in seen]) for part in fields(Standing))
    )


def chance(seen: Standing) -> float:
    """Chance of so many losses in the standing queue if it loses as the emptier one does.

    Fisher's exact test, one-sided.
    """
    return _by_chance(seen.early, seen.emptier)


def dying_away(seen: Standing) -> float:
    """Chance that the losses in the control die away like this if they are the path's.

    Fisher's exact test of the first third beside the last, one-sided.
    """
    return _by_chance(seen.begun, seen.ended)


def chance_after_control(seen: Standing) -> float:
    """As `chance`, if the standing queue loses as the last third of the control does."""
    return _by_chance(seen.early, seen.ended)


def _by_chance(more: tuple[int, int], fewer: tuple[int, int]) -> float:
    return stats.fisher_exact(more, fewer) if more[1] and fewer[1] else 1.0
