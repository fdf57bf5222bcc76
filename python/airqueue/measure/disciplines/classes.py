"""The run that tells how a device treats traffic classes.

``quiet``, ``drain``, ``after``  as in a session;
``each``  a few packets of many classes on the empty path: which arrive with another class;
``hold``  a flood whose packets are ECT(0), ECT(1) and Not-ECT in turn, and beside it sparse packets
          of some DSCPs on the flood's own five-tuple.

The flood's packets are evenly spaced, and so are drops in a full queue: classes in a regular order
would meet a full queue more or less often. So the flood is cut into blocks of a few packets, and the
order of the blocks' classes is drawn: whatever differs between classes then differs by chance or
because of the class, and permuting the blocks tells which (`airqueue.measure.disciplines.ecn`).

The packets of other DSCPs have the flood's five-tuple: a device that has a queue for each flow treats
them as the flood, unless the DSCP matters. Their instants are drawn, too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from airqueue.measure.disciplines.steps import Layout, framed
from airqueue.measure.plan import (
    CE,
    ECT_0,
    ECT_1,
    FLOOD_FLOW,
    NOT_ECT,
    PROBE_FLOW,
    RATE_WINDOW_S,
    Plan,
    Segment,
    cbr,
    traffic_class,
)

KIND: Final = "classes"
"""Of the run's meta data."""
OVERLOAD: Final = 1.2
"""Of the flood with all its classes: nothing that reacts to drops is there to mind."""
HOLD_S: Final = 4.5
"""CoDel with its usual interval drops or marks some hundred packets in this time."""
HOLD_PACKETS, LONGEST_HOLD_S = 1500, 7.0
"""Slow paths have a longer flood, for as many packets."""
MOST_PACKETS: Final = 100_000
"""Of the flood; faster paths have a shorter one."""
LEAST_OVERLOAD: Final = 1.03
BLOCKS: Final = 240
"""Of the flood, at most: a third of them for each ECN field."""
ECN_FIELDS: Final = (NOT_ECT, ECT_0, ECT_1)
BEST_EFFORT: Final = 0
CS1: Final = 8
"""Background: RFC 8325, figure 1; RFC 3662."""
NQB: Final = 45
"""Non-queue-building traffic: RFC 9956."""
EF: Final = 46
"""Telephony: RFC 3246; RFC 8325, figure 1."""
PROBED: Final = {"ef": EF, "nqb": NQB, "cs1": CS1}
"""DSCPs beside the flood, by their names in results."""
PROBES: Final = 50
"""Packets of each of them, at most."""
PROBES_SHARE: Final = 0.2
"""Of the path's rate that they take together at most."""
FILLED_AFTER: Final = 0.25
"""Share of the flood before the first of them: a queue stands."""
EACH: Final = tuple(
    [traffic_class(ecn=ecn) for ecn in (ECT_1, ECT_0, CE)]
    + [traffic_class(dscp) for dscp in (CS1, 10, 18, 26, 34, 40, NQB, EF)]
)
"""Classes on the empty path: ECN fields, and DSCPs of RFC 4594: CS1, AF11, AF21, AF31, AF41, CS5."""
TIMES_EACH: Final = 3
EACH_SHARE: Final = 0.2
"""Of the path's rate that these packets take."""
SEED: Final = 1
"""The drawn order is the same in every measurement: stored runs are taken up again."""


def classes_plan(at: Layout) -> tuple[Plan, dict[str, Any]] | None:
    """Lay out the run; None if the sender cannot overload the path with it."""
    each_s = len(EACH) * TIMES_EACH / (EACH_SHARE * at.rate_pps)
    begin = at.rest_s
    start = begin + each_s + RATE_WINDOW_S
    length = max(HOLD_S, min(HOLD_PACKETS / at.rate_pps, LONGEST_HOLD_S))
    length = min(length, MOST_PACKETS / (OVERLOAD * at.rate_pps))
    overload = _overload(at, length)
    if overload < LEAST_OVERLOAD:
        return None
    probes_pps = PROBES_SHARE * at.rate_pps
    each_probed = min(PROBES, int(probes_pps * length * (1 - FILLED_AFTER) / len(PROBED)))
    flood_pps = overload * at.rate_pps - each_probed * len(PROBED) / length
    draw = np.random.default_rng(SEED)
    blocks, block_s = _blocks(draw, start, length, flood_pps, at.size_bytes)
    end = start + length
    drained = end + 1.2 * max(0.0, overload - 1) * length + at.drains_s
    segments = [
        *_each(draw, at, begin, each_s),  # and a pause: their rate does not add to the flood's
        *blocks,
        *_probes(draw, (start + FILLED_AFTER * length, end), each_probed, at.size_bytes),
    ]
    phases = {
        "quiet": [0.0, begin],
        "each": [begin, start],
        "hold": [start, end],
        "drain": [end, drained],
    }
    says = "traffic classes beside each other"
    return framed(
        at, segments, phases, {"kind": KIND, "index": 0, "block_s": block_s, "says": says}
    )


def _overload(at: Layout, length_s: float) -> float:
    """Return the overload that the endpoints agree to: see `plan.RATE_WINDOW_S`."""
    for_probes = 2 * len(PROBED) / RATE_WINDOW_S
    for_blocks = 1 + min(1.0, length_s / BLOCKS / RATE_WINDOW_S)
    return min(OVERLOAD, (at.ceiling_pps - for_probes) / for_blocks / at.rate_pps)


def _blocks(
    draw: np.random.Generator, start_s: float, length_s: float, rate_pps: float, size: int
) -> tuple[list[Segment], float]:
    """Return the flood's blocks, each of one ECN field in a drawn order, and a block's length."""
    packets = max(len(ECN_FIELDS), round(length_s * rate_pps))
    count = min(BLOCKS, packets) // len(ECN_FIELDS) * len(ECN_FIELDS)
    fields = draw.permutation(np.repeat(ECN_FIELDS, count // len(ECN_FIELDS)))
    block_s = length_s / count
    blocks = []
    for k, field in enumerate(fields):
        begin = start_s + k * block_s
        # Even packets over all blocks, whole ones in each.
        of_it = packets * (k + 1) // count - packets * k // count
        segment = Segment(FLOOD_FLOW, begin, block_s, of_it, size, traffic_class(ecn=int(field)))
        blocks.append(segment)
    return blocks, block_s


def _probes(
    draw: np.random.Generator, between: tuple[float, float], each: int, size: int
) -> list[Segment]:
    """Single packets of each DSCP at instants that are drawn, one in each of ``each`` stretches."""
    start, end = between
    stretch = (end - start) / max(1, each)
    return [
        Segment(
            FLOOD_FLOW, start + (k + draw.uniform()) * stretch, 0.0, 1, size, traffic_class(dscp)
        )
        for k in range(each)
        for dscp in PROBED.values()
    ]


def _each(draw: np.random.Generator, at: Layout, start_s: float, length_s: float) -> list[Segment]:
    """Single packets of many classes on the empty path, in a drawn order."""
    order = draw.permutation(np.repeat(EACH, TIMES_EACH))
    gap = length_s / len(order)
    return [
        cbr(
            PROBE_FLOW,
            start_s + k * gap,
            start_s + (k + 1) * gap,
            1 / gap,
            at.size_bytes,
            traffic_class=int(of),
        )
        for k, of in enumerate(order)
    ]
