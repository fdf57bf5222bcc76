"""A measured queue in the words of a diagnosis.

What a measurement says of calls and games is left out: it is for a flood, and a diagnosis has
felt what its own load does.
"""

from __future__ import annotations

from typing import Final, Literal

from airqueue import text
from airqueue.diagnose.queue import Queue
from airqueue.diagnose.where import Finding
from airqueue.measure.document import Discipline, Document, Evidence
from airqueue.measure.words import describe, evidence_beside, of_discipline

Kind = Literal["fifo", "one_queue", "by_flow"]

_NAMES: Final[dict[str, tuple[Kind, str]]] = {
    "codel": ("one_queue", "CoDel"),
    "cobalt": ("one_queue", "CoDel in CAKE's variant (COBALT)"),
    "pie": ("one_queue", "PIE"),
    "red": ("one_queue", "RED"),
    "managed": ("one_queue", "one that is managed, but by none of CoDel, PIE and RED"),
    "fifo_by_flow": ("by_flow", "a FIFO for each flow"),
    "fq_codel": ("by_flow", "FQ-CoDel"),
    "cake": ("by_flow", "CAKE"),
    "fq_pie": ("by_flow", "FQ-PIE"),
    "fq_codel_or_cake": ("by_flow", "FQ-CoDel or CAKE"),
    "managed_by_flow": ("by_flow", "one for each flow, managed by none of CoDel, PIE and RED"),
    "sparse_first": ("by_flow", "one that lets sparse flows pass the others"),
}
"""How flows share a queue, and a noun for it, by the name of its discipline."""
_UNNAMED: Final[dict[str, tuple[Kind, str]]] = {
    "isolated": ("by_flow", "one that keeps flows apart"),
    "not_flat": ("one_queue", "one that is no plain FIFO"),
}
"""The same by the verdict, where the discipline is not named."""


def kind(measured: Document) -> Kind | None:
    """Return how flows share the queue; None where the measurement does not tell."""
    known = _known(measured)
    return None if known is None else known[0]


def noun(measured: Document) -> str | None:
    """Return what the queue is: ``a FIFO of 250 packets``, ``CoDel with a target of 50 ms``."""
    known = _known(measured)
    discipline = measured.get("discipline")
    if known is None or discipline is None or known[0] == "fifo":
        return None if known is None else known[1]
    return f"{known[1]}{_target(discipline)}"


def _known(measured: Document) -> tuple[Kind, str] | None:
    """Return kind and noun, without parameters."""
    capacity, unit = measured["capacity"], measured["capacity_unit"]
    if measured["verdict"] == "fifo" and capacity is not None and unit is not None:
        return "fifo", f"a FIFO of {text.plural(round(capacity), unit.removesuffix('s'))}"
    discipline = measured.get("discipline")
    if discipline is not None and discipline["name"] in _NAMES:
        return _NAMES[discipline["name"]]
    return _UNNAMED.get(measured["verdict"])


def _target(discipline: Discipline) -> str:
    target = discipline["parameters"].get("target_s")
    if target is None:
        return ""
    low, high = target["ci95"]
    if low <= 0:
        return f" with a target of at most {text.seconds(high)}"
    return f" with a target of {text.seconds(target['value'])}"


def in_verdict(finding: Finding, queue: Queue | None) -> str:
    """Return what the verdict on a load adds about its queue; nothing if the queue is not known."""
    if queue is None or queue.measured is None or not queue.belongs_to(finding):
        return ""
    name = noun(queue.measured)
    if name is None or not finding.lags:
        return ""
    return f", where the queue is {name}" if finding.place == "line" else f", {name}"


def sentences(queue: Queue | None) -> list[str]:
    """Say what is known of the queue, and why no more."""
    if queue is None:
        return []
    missing = [] if queue.missing is None else [queue.missing]
    measured = queue.measured
    if measured is None:
        return missing
    known = _known(measured)
    if known is None:
        return [*missing, *_unclear(measured)]
    return [*missing, f"The queue in which packets wait is {known[1]}.", *_details(measured)]


def _unclear(measured: Document) -> list[str]:
    """Say why a measurement does not tell the queue; a policer is none that packets wait in."""
    if measured["verdict"] != "policer":
        return [describe(measured).headline, *measured["warnings"]]
    return [
        "The measurement lost packets without a wait, as before a policer, where round trips under "
        "the load grew: the two do not fit, and the path may have changed between them."
    ]


def _details(measured: Document) -> list[str]:
    said = []
    full_s, rate_bps = measured["delay_full_s"], measured["rate_bps"]
    at_rate = f", at {text.rate(rate_bps)}" if rate_bps is not None else ""
    discipline = measured.get("discipline")
    if kind(measured) == "fifo":
        if measured["ci95"] is None:
            said.append("There is no confidence interval: too few sessions passed the checks.")
        else:
            between = text.interval(measured["ci95"], measured["capacity_unit"])
            said.append(f"The 95 % interval is {between} {measured['capacity_unit']}.")
        if full_s is not None:
            said.append(
                f"Filled by a flood it adds {text.seconds(full_s)}{at_rate}; where acknowledgements "
                "share the air, as those of TCP do, the rate is lower and the wait longer."
            )
        said += measured["warnings"]
    elif discipline is not None and discipline["name"] is not None:
        said += of_discipline(discipline)
    if kind(measured) != "fifo" and full_s is not None:
        said.append(
            f"A flood waits {text.seconds(full_s)} in it{at_rate}: floods do not slow down when "
            "packets are dropped; TCP does, and waits less."
        )
    return said


def evidence(queue: Queue | None) -> list[Evidence]:
    """Return the evidence of the measurement."""
    if queue is None or queue.measured is None:
        return []
    return [*queue.measured["evidence"], *evidence_beside(queue.measured)]
