"""Whether two stations wait in one queue, or each flow or each station has one of its own.

Two tests. *Shares*: where they follow arrivals there is one queue; where they do not, two flows to
one station against one to the other have twice the fair ratio if each flow has a queue, and the
fair ratio if each station has (a queue for each address is one for each station). *Waits*: sparse
packets to a station wait as the flood to the other does in one queue, and hardly where the two are
apart. What the first says must not be contradicted by the second: one queue that lets sparse flows
pass has the shares of one queue, and is no answer here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from airqueue.measure.stations.shares import Ratio, Rule

Queues = Literal["one_queue", "by_flow", "by_station", "apart", "undecided"]

BEHIND: Final = 0.8
"""Least ratio of waits in one queue."""
PAST: Final = 0.5
"""Greatest ratio of waits where they wait apart."""
TOLERANCE: Final = 0.25
"""Of a logarithm: a queue for each flow and one for each station differ by log 2 = 0.69."""


def judge(
    rule: Rule, fair: Sequence[Ratio], two_to_one: Ratio | None, waits: Sequence[float]
) -> Queues:
    """Return how two stations queue.

    ``fair``: the ratios with one flow to each; ``waits``: ratios of waits across the stations.
    """
    if rule == "proportional":
        return "undecided" if any(w <= PAST for w in waits) else "one_queue"
    if rule == "undecided" or any(w >= BEHIND for w in waits):
        return "undecided"
    if two_to_one is None:
        return "apart"
    # Without rates alone: what two flows add to the ratio of one.
    more = two_to_one.log - sum(r.log for r in fair) / len(fair)
    half = two_to_one.half + max(r.half for r in fair)
    by_station = abs(more) <= TOLERANCE + half
    by_flow = abs(more - math.log(2)) <= TOLERANCE + half
    if by_station == by_flow:
        return "apart"
    return "by_station" if by_station else "by_flow"
