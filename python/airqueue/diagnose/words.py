"""A diagnosis in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from airqueue import text
from airqueue.diagnose.losses import Lost
from airqueue.diagnose.queue import Queue
from airqueue.diagnose.queue_words import in_verdict
from airqueue.diagnose.records import WIRE, Load
from airqueue.diagnose.together import Together
from airqueue.diagnose.where import FELT_S, Finding
from airqueue.qoe import effect_on_call, effect_on_game

_WHERE: Final = {
    "access_point": "packets wait in the access point's queue towards you",
    "station": "packets wait in your own station's queue",
    "line": "packets wait in front of the provider's line, {way}",
    "both": "packets wait in the radio network and in front of the provider's line, {way}",
    "none": "nobody waits longer",
    "undecided": "it is undecided where packets wait",
    "not_loaded": "no queue could be filled",
}


def load_words(load: Load) -> str:
    """Name a load: ``a download``, ``an upload to the access point's own wire``."""
    words = "a download" if load.direction == "down" else "an upload"
    if load.site != WIRE:
        return words
    return f"{words} {'from' if load.direction == 'down' else 'to'} the access point's own wire"


def headline(
    findings: Sequence[Finding], queue: Queue | None = None, lost: Lost | None = None
) -> str:
    """Return the verdict in one sentence, with the queue that was measured and what is lost."""
    if not findings:
        return "Nothing was loaded, so nothing is known about who waits."
    parts = [f"during {load_words(each.load)} {_where(each, queue)}" for each in findings]
    if lost is not None and lost.without_load:
        share = text.percent(lost.without_load[0].share)
        parts.append(f"without load {share} of probes have no answer")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}."


def _where(finding: Finding, queue: Queue | None) -> str:
    way = " and ".join(f"{each}wards" for each in finding.ways)
    words = _WHERE[finding.place].format(way=way) + in_verdict(finding, queue)
    if finding.lags and finding.ways != (finding.load.direction,):
        words += f", {'also ' if len(finding.ways) > 1 else ''}with its acknowledgements"
    if not finding.lags or finding.rise is None:
        return words
    return f"{words}: {text.seconds(finding.rise.value)} longer in the median"


def what_it_does(findings: Sequence[Finding], at_once: Sequence[Together] = ()) -> list[str]:
    """Say what the longest wait does to a call and to a game; nothing where nobody waits."""
    waits = [each.rise.value for each in findings if each.lags and each.rise is not None]
    waits += [each.rise.value for each in at_once if each.rise and each.rise.low >= FELT_S]
    if not waits:
        return []
    return [effect_on_call(max(waits)), effect_on_game(max(waits))]
