"""How one queue chooses the packets that it drops: the tests of all disciplines, in order.

CoDel's law is exact, and is asked first. A queue that lost nothing while it had room drops when it
is full. PIE and RED are laws for probabilities: the likelihood of one of them must exceed that of the
other and of every law that knows nothing of either. What follows none of them is managed, but not
named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from airqueue import text
from airqueue.measure.disciplines import codel, frames, pie, red, ring, shared, tail_drop
from airqueue.measure.disciplines.likelihood import best_rival
from airqueue.measure.disciplines.observed import Step, full_at, hard_limit
from airqueue.measure.remembered import remembered
from airqueue.measure.result import Evidence, Parameter
from airqueue.measure.result import Management as Kind

BETTER: Final = 5.0
"""Least difference of log-likelihoods by which a law is better: odds of 150 to 1."""
TOO_EVEN: Final = 0.01
"""Significance level: chance that RED's drops are as even as some that are then not named RED."""
FEW_EARLY: Final = 20
"""So few packets lost with room do not tell which law they follow."""
BLURRED: Final = 0.25
"""Part of the median length at drops by which bursts may hide the lengths that RED averages."""
BURSTS: Final = 3.0
"""Bursts within whose length the lengths at the drops of a full queue may differ: one on the air, one
behind the air, and one that is cut."""
SHORTEST: Final = 5
"""Percentile of the lengths at drops that is the shortest; shorter ones are of losses by the air."""
SURE: Final = 2
"""Packets within which the number behind the queue is told."""
UNSTEADY: Final = 5.0
"""Packets by which others' traffic on the quiet path may shift instants."""
_CODELS: Final[dict[codel.Begin, Kind]] = {
    "rfc": "codel",
    "linux": "codel",
    "cobalt": "cobalt",
    "unrested": "codel_or_cobalt",
}


@dataclass(frozen=True, slots=True)
class Managed:
    """How a queue drops packets. ``hard_limit``: length at which the queue was full, if it was."""

    kind: Kind
    evidence: tuple[Evidence, ...]
    parameters: dict[str, Parameter]
    hard_limit: float | None


@remembered
def judge(steps: Sequence[Step], idle: tuple[int, int]) -> Managed:
    """Judge the steps. ``idle``: packets lost and sent on the idle path."""
    usable = _standing(steps)
    if not usable:
        return _without_queue(steps)
    share = idle[0] / idle[1] if idle[1] else 0.0
    full = full_at(usable)
    limit = hard_limit(usable)
    return (
        _codel(usable, full, limit)
        or _tail_drop(usable, full, idle)
        or _tail_drop_of_frames(usable, idle)
        or _at_random(usable, full, limit, share)
    )


def drops_at_tail(steps: Sequence[Step], idle: tuple[int, int]) -> bool:
    """Whether the steps saw a queue that drops arrivals when it is full, and else none."""
    usable = _standing(steps)
    full = full_at(usable) if usable else None
    if fitted_codel(usable, full) is not None:
        return False
    return tail_drop.fits(usable, full, idle) or _tail_drop_of_frames(usable, idle) is not None


def _standing(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in which a queue stood."""
    return [step for step in steps if step.rate_pps > 0]


def _without_queue(steps: Sequence[Step]) -> Managed:
    """In no step a queue stood: a device that still loses packets drops them without a wait."""
    lost = sum(int(step.lost.sum()) for step in steps)
    says = f"In no step a queue was seen to stand; {lost} packets were lost."
    kind: Kind = "no_queue" if lost >= FEW_EARLY else "undecided"
    return Managed(kind, (Evidence("steps", says),), {}, None)


def _parameter(found: tuple[float, float, float]) -> Parameter:
    value, low, high = found
    return Parameter(value, (low, high))


def fitted_codel(steps: Sequence[Step], full: float | None) -> codel.CoDel | None:
    """Return CoDel's parameters if the drops follow its law. ``full``: a full queue's length."""
    # Drops at the law's intervals, all at one length, look like those of a full queue.
    found = codel.fit(steps, None)
    return found if found is not None or full is None else codel.fit(steps, full)


def _codel(steps: Sequence[Step], full: float | None, limit: float | None) -> Managed | None:
    found = fitted_codel(steps, full)
    if found is None:
        return None
    law = found.law
    says = (
        f"{law.drops} packets were dropped at intervals that shrank as CoDel's control law says: the "
        f"drops, {text.seconds(law.gap_s)} apart, missed it by {text.seconds(law.miss_s)}."
    )
    parameters = {"interval_s": _parameter(found.interval_s)}
    if found.target_s is not None:
        parameters["target_s"] = _parameter(found.target_s)
    evidence = [Evidence("control_law_miss_s", says, law.miss_s)]
    if law.behind is not None and law.behind[1] - law.behind[0] <= SURE:
        held = sum(law.behind) / 2
        says = (
            "The law holds to the departure where a driver and the air hold "
            f"{held:.0f} packets behind the queue; their wait there is not part of the queue's."
        )
        evidence.append(Evidence("packets_behind_the_queue", says, held))
    return Managed(_CODELS[found.begin], tuple(evidence), parameters, limit)


def _tail_drop(steps: Sequence[Step], full: float | None, idle: tuple[int, int]) -> Managed | None:
    if not tail_drop.fits(steps, full, idle):
        return None
    lost, room = tail_drop.early(steps, full)
    says = (
        f"Of {room} packets that came while the queue had room {lost} were lost; all other losses "
        f"came with {full:.0f} packets waiting."
    )
    return Managed("tail_drop", (Evidence("lost_with_room", says, lost / max(1, room)),), {}, full)


def _tail_drop_of_frames(steps: Sequence[Step], idle: tuple[int, int]) -> Managed | None:
    """A full queue whose length is hidden by frames that carry many packets."""
    found = frames.full(steps)
    if found is not None and (full := _tail_drop(found.steps, found.length, idle)) is not None:
        return full
    by_counts = frames.refilled(steps)
    if by_counts is None or not tail_drop.fits(by_counts.steps, by_counts.length, idle):
        return None
    says = (
        f"At {by_counts.alike:.0%} of {by_counts.counts} losses the queue had taken in just what "
        "whole frames had carried away: it was full."
    )
    # How many of these packets were on their way in frames is not known.
    return Managed("tail_drop", (Evidence("refilled", says, by_counts.alike),), {}, None)


def _at_random(
    steps: Sequence[Step], full: float | None, limit: float | None, idle: float
) -> Managed:
    """PIE, RED, or neither."""
    lost, room = tail_drop.early(steps, full)
    share = lost / room if room else 0.0
    early = Evidence(
        "lost_with_room", f"{lost} of {room} packets were lost while the queue had room.", share
    )
    if lost < FEW_EARLY:
        return Managed("undecided", (early,), {}, limit)
    beside = shared.by_others(steps)
    if beside is not None and beside.value:
        return Managed("undecided", (early, beside), {}, limit)
    managed = _by_laws(steps, full, limit, idle, early)
    return managed if beside is None else replace(managed, evidence=(*managed.evidence, beside))


def _by_laws(
    steps: Sequence[Step], full: float | None, limit: float | None, idle: float, early: Evidence
) -> Managed:
    """PIE, RED, or neither, of losses of a queue in which the flood is alone."""
    laws = [law for step in steps if (law := _laws(step, full, idle)) is not None]
    as_pie = max((law.pie_gain for law in laws), default=0.0)
    as_red = max((law.red_gain for law in laws), default=0.0)
    # A device follows one law: what looks like both, in different steps, is neither for sure.
    if as_pie >= BETTER > as_red:
        says = (
            "They were lost with the probabilities that the controller of PIE gives them for the "
            f"delays that were seen: e^{as_pie:.0f} times as likely as by lengths or times."
        )
        evidence = (early, Evidence("pie_log_likelihood_gain", says, as_pie))
        by_pie = [law for law in laws if law.pie_gain >= BETTER]
        return Managed("pie", evidence, {"target_s": _target_of_pie(by_pie)}, limit)
    if as_red >= BETTER > as_pie:
        return _like_red([law for law in laws if law.red_gain >= BETTER], early, limit)
    if (behind := _pie_before_ring(steps, laws, full, idle)) is not None:
        target, gain = behind
        says = (
            "They were lost with the probabilities that the controller of PIE gives them for the "
            "delays in the queue, without those of a driver behind the queue that aggregates: "
            f"e^{gain:.0f} times as likely as by lengths or times."
        )
        evidence = (early, Evidence("pie_log_likelihood_gain", says, gain))
        return Managed("pie", evidence, {"target_s": target}, limit)
    telling = [step for step in steps if tail_drop.early([step], full)[0] >= FEW_EARLY]
    # Who shifts instants in one step does so in all, whatever that step's few quiet packets met.
    unsteady = any(step.jitter_packets > UNSTEADY for step in telling)
    if telling and (unsteady or all(map(_hides_room, telling))):
        says = (
            "Bursts and the traffic of others hide the queue's length: whether these packets found "
            "room cannot be told."
        )
        return Managed("undecided", (early, Evidence("hidden_lengths", says)), {}, limit)
    return Managed("unknown", (early,), {}, limit)


def _like_red(laws: Sequence[_Laws], early: Evidence, limit: float | None) -> Managed:
    """Name RED, if drops that are likeliest by its law tell RED: else the discipline is undecided."""
    gain = max(law.red_gain - law.red.fitted for law in laws)
    if gain < BETTER:
        says = (
            "RED's probabilities fit them, but do not tell RED: without what its parameters fit by "
            f"themselves, the losses are e^{gain:.0f} times as likely as by lengths or times."
        )
        few = Evidence("red_log_likelihood_gain", says, gain)
        return Managed("undecided", (early, few), {}, limit)
    chance = red.as_even([law.red for law in laws])
    if chance < TOO_EVEN:
        says = (
            "RED's probabilities fit them, but they were lost too evenly: by chance RED's drops are "
            f"as even with a probability of {chance:.2g}."
        )
        return Managed("undecided", (early, Evidence("red_evenness", says, chance)), {}, limit)
    says = (
        "They were lost with the probabilities that RED gives them for a slow average of the "
        f"queue's length: e^{gain:.0f} times as likely as by lengths or times."
    )
    return Managed("red", (early, Evidence("red_log_likelihood_gain", says, gain)), {}, limit)


def _pie_before_ring(
    steps: Sequence[Step], seen: Sequence[_Laws], full: float | None, idle: float
) -> tuple[Parameter, float] | None:
    """Return PIE's target, and its gain, if PIE explains the losses before a driver's ring.

    ``seen``: the laws in these steps, with the ring.
    """
    telling = [step for step in steps if tail_drop.early([step], full)[0] >= FEW_EARLY]
    found = ring.taken_off(telling, full) if telling else None
    if found is None:
        return None
    queued, tried = found
    at = full_at(queued)
    laws = [law for step in queued if (law := _laws(step, at, idle)) is not None]
    as_pie = max((law.pie_gain for law in laws), default=0.0)
    as_red = max((law.red_gain for law in laws), default=0.0)
    # The ring was searched for PIE's sake: one of so many explains chance.
    if as_pie < BETTER + math.log(tried) or as_red >= BETTER:
        return None
    target = _target_of_pie([law for law in laws if law.pie_gain >= BETTER])
    # The ring's length is an estimate: packets waited no longer in the queue than until they arrived.
    high = max(law.pie.target_s[2] for law in (*seen, *laws))
    return Parameter(target.value, (0.0, high)), as_pie


def _hides_room(step: Step) -> bool:
    """Whether a full queue may have had the lengths that were seen at the drops."""
    lengths = step.waiting[step.lost]
    spread = float(lengths.max() - np.percentile(lengths, SHORTEST))
    return bool(
        step.late_packets > BLURRED * float(np.median(lengths))
        or (step.in_bursts and step.late_packets > spread / BURSTS)
    )


@dataclass(frozen=True, slots=True)
class _Laws:
    """Log-likelihood by which PIE, and RED, explain a step better than all else; 0: they do not."""

    pie: pie.Pie
    red: red.Red
    pie_gain: float
    red_gain: float


@remembered
def _laws(step: Step, full: float | None, idle: float) -> _Laws | None:
    """Compare the laws in one step.

    Step by step: a controller has not forgotten all of the step before, and beyond its upper
    threshold RED drops all, in runs that an average, an estimate, does not tell to the packet. Long
    bursts hide the lengths of which RED takes the average.
    """
    if tail_drop.early([step], full)[0] < FEW_EARLY:
        return None
    as_pie, as_red = pie.fit(step, full, idle), _as_red(step, full, idle)
    if as_pie is None or as_red is None:
        return None
    rival = best_rival(step, full)
    pie_gain = as_pie.log_likelihood - max(rival, as_red.log_likelihood)
    red_gain = as_red.log_likelihood - max(rival, as_pie.log_likelihood)
    hidden = max(step.blur_packets, step.late_packets if step.in_bursts else 0.0)
    clear = hidden <= BLURRED * float(np.median(step.waiting[step.lost]))
    is_red = as_red.follows and as_red.drops >= FEW_EARLY and clear
    return _Laws(as_pie, as_red, pie_gain if as_pie.follows else 0.0, red_gain if is_red else 0.0)


def _as_red(step: Step, full: float | None, idle: float) -> red.Red | None:
    """RED on a path that loses what the idle path lost, or on one that loses nothing.

    Under a shaper that does not call an empty queue RED never forgets the floods before, and drops
    packets of the idle path, too.
    """
    found = (red.fit(step, full, share) for share in dict.fromkeys((idle, 0.0)))
    return max(
        (each for each in found if each is not None),
        key=lambda each: each.log_likelihood,
        default=None,
    )


def _target_of_pie(laws: Sequence[_Laws]) -> Parameter:
    """Return the target of the step that tells most with each drop, and what all steps allow."""
    best = max(laws, key=lambda law: law.pie_gain / law.pie.drops)
    ends = [law.pie.target_s[1:] for law in laws]
    return Parameter(best.pie.target_s[0], (min(e[0] for e in ends), max(e[1] for e in ends)))
