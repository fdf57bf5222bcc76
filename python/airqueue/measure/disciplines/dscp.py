"""Whether the DSCP selects a queue: what packets of some DSCPs wait beside a flood of best effort.

Test: single packets of a DSCP, at instants that were drawn, on the flood's own five-tuple, against
what the flood's packets around them waited. A sign test, exact: if at most half of all such packets
waited less than the flood by more than the tolerance (a quarter of the flood's wait, two packet times
and the jitter at least), so many of those seen would do so with a chance of 0.001 at most: *less*.
*More* and *alike* are tested in the same way. Ten packets decide at least.

Losses tell nothing: in a full queue a packet between two of an evenly spaced flood is lost more often
than these, whatever its class. Where nothing waits the test does not decide.

What an access point is to do: EF in the queue of voice and CS1 in that of background (RFC 8325,
figure 1), NQB (45) in another one than best effort (RFC 9956, section 7.3). A packet of *background*
may well wait less than a flood of best effort: its own queue is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from airqueue import stats, text
from airqueue.measure.disciplines.by_class import ByClass
from airqueue.measure.disciplines.classes import PROBED
from airqueue.measure.disciplines.observed import Floats
from airqueue.measure.plan import ECT_1
from airqueue.measure.result import Changed, Evidence, Waits

CHANCE: Final = 0.001
"""Significance level of each test."""
NAMES: Final[Mapping[str, str]] = {"ef": "EF (46)", "nqb": "NQB (45)", "cs1": "CS1 (8)"}
ACCORDS: Final[Mapping[tuple[str, Waits], str]] = {
    ("ef", "less"): "as RFC 8325 asks for voice",
    ("ef", "alike"): "though RFC 8325 has an access point give EF the queue of voice",
    ("ef", "more"): "against RFC 8325, which has EF in the queue of voice",
    ("nqb", "less"): "apart from best effort, as RFC 9956 asks",
    ("nqb", "alike"): "though RFC 9956 keeps NQB apart from best effort",
    ("nqb", "more"): "against RFC 9956, which keeps NQB apart from the queues that others build",
    ("cs1", "less"): "in a queue of its own, as RFC 8325 asks for background",
    ("cs1", "alike"): "though RFC 8325 has an access point give CS1 the queue of background",
    ("cs1", "more"): "as RFC 8325 asks for background",
}


def judge(
    seen: ByClass, changed: tuple[Changed, ...]
) -> tuple[dict[str, Waits], tuple[Evidence, ...]]:
    """Return for each DSCP what its packets wait, compared with best effort, and why.

    ``changed``: fields that the path rewrites, it may be before the queue.
    """
    rewritten = {each.sent for each in changed if each.field == "dscp"}
    waits: dict[str, Waits] = {}
    evidence = []
    for name, dscp in PROBED.items():
        beyond = _beyond(seen, dscp)
        waits[name] = _waits(seen, beyond)
        accords = ACCORDS.get((name, waits[name]))
        if dscp in rewritten and waits[name] == "alike":
            accords = "which may be because the path changes the DSCP"
        evidence.append(_says(seen, name, dscp, beyond, accords))
    return waits, tuple(evidence)


def _beyond(seen: ByClass, dscp: int) -> Floats:
    """What each packet of a DSCP waited beyond the flood around it, in seconds."""
    # ECT(1) may have a queue of its own.
    flood = seen.flood & seen.got & (seen.ecn != ECT_1)
    rows = seen.probe & seen.got & (seen.dscp == dscp)
    if not np.any(flood) or not np.any(rows):
        return np.empty(0)
    around = np.interp(seen.came_s[rows], seen.came_s[flood], seen.wait_s[flood])
    return np.asarray(seen.wait_s[rows] - around)


def _waits(seen: ByClass, beyond: Floats) -> Waits:
    tolerance = seen.tolerance_s
    if not seen.stands:
        return "undecided"
    less, more = beyond < -tolerance, beyond > tolerance
    found: tuple[tuple[Waits, np.ndarray], ...] = (
        ("less", less),
        ("more", more),
        ("alike", ~less & ~more),
    )
    for waits, those in found:
        # P(at least so many) if half of all do.
        if len(those) and stats.at_least(int(np.count_nonzero(those)), len(those)) <= CHANCE:
            return waits
    return "undecided"


def _says(seen: ByClass, name: str, dscp: int, beyond: Floats, accords: str | None) -> Evidence:
    sent = int(np.count_nonzero(seen.probe & (seen.dscp == dscp)))
    arrived = f"{len(beyond)} of {text.plural(sent, 'packet')} of {NAMES[name]} arrived"
    if not len(beyond):
        return Evidence(f"{name}_waits", f"{arrived}.")
    middle = float(np.median(beyond))
    longer = "longer" if middle > 0 else "less"
    says = (
        f"{arrived}, and waited {text.seconds(abs(middle))} {longer} than the best-effort "
        f"flood around them, which waited {text.seconds(seen.wait_of_flood_s)}"
    )
    end = f", {accords}." if accords is not None else "."
    return Evidence(f"{name}_waits_longer_s", f"{says}{end}", middle)
