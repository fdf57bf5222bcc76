"""Whether the path changes the DSCP or the ECN field of packets ("bleaching", RFC 9435).

Test: a rule that rewrites a header is no chance: it does the same to each packet of a value. On the
empty path, where no queue marks, most packets of a value arrive with another one, the same, and two
at least do. Packets that waited are left out: a mark, ECT to CE, is no change. Errors of bits are
none either: frames of all link layers have a checksum.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from airqueue.measure.disciplines.by_class import ByClass
from airqueue.measure.disciplines.observed import Ints
from airqueue.measure.result import Changed

LEAST: Final = 2
"""Packets with another value."""


def judge(seen: ByClass) -> tuple[Changed, ...]:
    """Return which values of the two fields arrive as another one."""
    quiet = seen.each & seen.got
    quiet[quiet] = seen.wait_s[quiet] <= seen.blur_s
    return (
        *_changed("dscp", seen.dscp[quiet], seen.dscp_after[quiet]),
        *_changed("ecn", seen.ecn[quiet], seen.ecn_after[quiet]),
    )


def _changed(field: Literal["dscp", "ecn"], sent: Ints, arrived: Ints) -> list[Changed]:
    found = []
    for value in np.unique(sent):
        after = arrived[sent == value]
        values, counts = np.unique(after, return_counts=True)
        most = int(np.argmax(counts))
        often = counts[most] >= LEAST and 2 * counts[most] > len(after)
        if values[most] != value and often:
            found.append(Changed(field, int(value), int(values[most])))
    return found
