"""Where packets wait under a load: the leg whose round trips rise.

The leg to the gateway crosses the radio network alone, the leg to a server the radio network and
what is behind it. A queue that delays both by as much is in the radio network; a queue that delays
the second alone is behind the gateway.

A round trip also waits in the other direction, where a download's acknowledgements fill a slow
upload's queue. What packets wait in the direction of the load, sparse packets beside it tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from airqueue import text
from airqueue.diagnose.felt import FEWEST, Span, along, rises, under, without_load
from airqueue.diagnose.records import (
    DIRECTIONS,
    GATEWAY,
    WIRE,
    Direction,
    Leg,
    Load,
    Records,
)
from airqueue.qoe import GAME_ROUND_TRIP_S

Place = Literal["none", "access_point", "station", "line", "both", "undecided", "not_loaded"]
Ways = Literal["down", "up", "both"]

FELT_S: Final = GAME_ROUND_TRIP_S / 10
"""A rise that is shorter matters to nobody: a tenth of what a fast game wants for its round trip."""
AT_TIMES_S: Final = GAME_ROUND_TRIP_S / 2
"""A rise of the 95th percentile that matters even if the median is as before."""
PART: Final = 0.25
"""Share of the whole rise from which on a leg has a part in it."""
SLOW_GATEWAY: Final = 1.3
"""A gateway whose answers are later than those from behind it by more than this is slow itself."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one load showed, with the rises of median round trips that it rests on."""

    load: Load
    place: Place
    says: str
    rise: Span | None = None
    """Of the leg to the load's other end."""
    near: Span | None = None
    """Of the leg to the gateway."""
    beyond: Span | None = None
    """What the first has more than the second."""
    along: Span | None = None
    """Of packets of another flow in the direction of the load."""
    waits: Ways | None = None
    """Direction in which packets wait; None: nobody waits, or nothing tells."""

    @property
    def lags(self) -> bool:
        """Whether the load adds a delay that is felt."""
        return self.place in _FELT

    @property
    def direction(self) -> Direction:
        """Direction of the queue to look at first: where nothing tells, that of the load."""
        if self.waits is None or self.waits == "both":
            return self.load.direction
        return self.waits

    @property
    def ways(self) -> tuple[Direction, ...]:
        """All directions in which packets wait."""
        return DIRECTIONS if self.waits == "both" else (self.direction,)


_FELT: Final = ("access_point", "station", "line", "both")


def findings(records: Records) -> list[Finding]:
    """Judge every load by itself."""
    return [judge(records, load) for load in records.loads]


def judge(records: Records, load: Load) -> Finding:
    """Say where packets waited under a load, and in which direction."""
    found = _by_legs(records, load)
    if found.place == "none":
        return _at_times(records, found)
    return _directed(found) if found.lags else found


def _at_times(records: Records, found: Finding) -> Finding:
    """Return a finding of no wait, unless packets wait now and then, which no median shows."""
    leg = records.leg(found.load.site)
    if leg is None:
        return found
    idle_s, loaded_s = without_load(records, leg).p95_s, under(leg, found.load).p95_s
    if idle_s is None or loaded_s is None or loaded_s - idle_s < AT_TIMES_S:
        return found
    says = (
        f"{found.says} But one in twenty took {text.seconds(loaded_s)} or more, without the load "
        f"{text.seconds(idle_s)}: packets wait at times. A longer --hold shows how often."
    )
    return replace(found, place="undecided", says=says)


def _by_legs(records: Records, load: Load) -> Finding:
    """Say where packets waited under a load if they waited in its direction."""
    if load.idle is not None:
        return Finding(load, "not_loaded", load.idle)
    far, near = records.leg(load.site), records.leg(GATEWAY)
    if far is None:
        return Finding(load, "undecided", f"Nothing answered on the leg to the {load.site}.")
    if load.site == WIRE:
        return _on_the_wire(records, far, load)
    found = rises(records, [far] if near is None else [near, far], load)
    if found is None:
        return Finding(load, "undecided", _too_few(records, [far, near], load))
    if near is None:
        return _without_gateway(load, found[0])
    return _by_two_legs(load, *found)


def _on_the_wire(records: Records, far: Leg, load: Load) -> Finding:
    """Judge a load that does not leave the access point's own network.

    One leg is enough, unless the gateway answers: its answers cross the radio network, too.
    """
    near = records.leg(GATEWAY)
    found = None if near is None else rises(records, [near, far], load)
    if found is not None:
        here, rise = found[0], found[1]
    else:
        alone = rises(records, [far], load)
        if alone is None:
            return Finding(load, "undecided", _too_few(records, [far], load))
        here, rise = None, alone[0]
    verdict = _whether(rise)
    if verdict is not None:
        return Finding(load, verdict, _none(rise, verdict), rise, here)
    if here is not None and here.high < max(FELT_S / 2, PART * rise.value):
        where = (
            f"{here.spoken} of this to the gateway, whose answers cross the radio network, too: "
            "packets wait on the wire or at its server, and no setting of the radio changes that"
        )
        return Finding(load, "undecided", _waits(rise, where), rise, here)
    says = _waits(rise, "within the radio network")
    return Finding(load, _radio(load.direction), says, rise, here)


def _without_gateway(load: Load, rise: Span) -> Finding:
    verdict = _whether(rise)
    if verdict is not None:
        return Finding(load, verdict, _none(rise, verdict), rise)
    says = (
        f"{_waits(rise, 'on the whole path')} The gateway answers no probes, so that the radio "
        "network and the line cannot be told apart: name a router that answers with --gateway, or a "
        "server on the access point's wire with --wire."
    )
    return Finding(load, "undecided", says, rise)


def _by_two_legs(load: Load, near: Span, rise: Span, beyond: Span) -> Finding:
    verdict = _whether(rise)
    if verdict is not None:
        return Finding(load, verdict, _none(rise, verdict), rise, near, beyond)
    if near.low > SLOW_GATEWAY * rise.high + FELT_S:
        says = (
            f"Answers of the gateway came {near.spoken} later, those from behind the gateway "
            f"{rise.spoken}: the gateway itself answers late, and does not tell the legs apart."
        )
        return Finding(load, "undecided", says, rise, near, beyond)
    least = max(FELT_S / 2, PART * rise.value)
    place: Place
    if near.low >= least and beyond.high < least:
        place = _radio(load.direction)
        says = _waits(rise, f"{near.spoken} of this before the gateway, in the radio network")
    elif beyond.low >= least and near.high < least:
        place, says = "line", _waits(rise, f"{near.spoken} of this before the gateway")
    elif near.low >= least and beyond.low >= least:
        place = "both"
        says = _waits(rise, f"{near.spoken} of this before the gateway, {beyond.spoken} behind")
    else:
        place = "undecided"
        says = _waits(
            rise,
            f"{near.spoken} of this before the gateway: too uncertain to tell the legs apart",
        )
    return Finding(load, place, says, rise, near, beyond)


def _radio(direction: Direction) -> Place:
    return "access_point" if direction == "down" else "station"


def _directed(found: Finding) -> Finding:
    """Return a finding with the direction in which packets wait, and in whose queue then."""
    rise, load, here = found.rise, found.load, along(found.load)
    if rise is None or load.kind == "flood":
        return found
    if here is None:
        unknown = "Nothing tells in which direction: acknowledgements may wait in the other."
        return replace(found, says=f"{found.says} {unknown}")
    # Draws of both are not paired: the interval of the difference is the widest that they allow.
    back = Span(rise.value - here.value, rise.low - here.high, rise.high - here.low)
    least = max(FELT_S / 2, PART * rise.value)
    says = f"{found.says} Packets of another flow took {here.spoken} longer {load.direction}wards."
    if here.low >= least:
        if back.low < least:
            return replace(found, says=says, along=here, waits=load.direction)
        says += " The rest waits in the other direction, with the acknowledgements of the load."
        return replace(found, says=says, along=here, waits="both")
    other: Direction = "up" if load.direction == "down" else "down"
    if back.low >= least and here.value < least:
        says += " So packets wait in the other direction, with the acknowledgements of the load."
        place = _radio(other) if found.place in ("access_point", "station") else found.place
        return replace(found, place=place, says=says, along=here, waits=other)
    says += " In which direction packets wait is too uncertain."
    return replace(found, place="undecided", says=says, along=here)


def _whether(rise: Span) -> Place | None:
    """Return a verdict if the rise is not felt, or may not be."""
    if rise.high < FELT_S:
        return "none"
    return "undecided" if rise.low < FELT_S else None


def _none(rise: Span, verdict: Place) -> str:
    if verdict == "none":
        return f"Round trips hardly changed under the load ({rise.spoken})."
    return f"Round trips grew by {rise.spoken} under the load: whether this is felt is uncertain."


def _waits(rise: Span, where: str) -> str:
    return f"Under the load round trips grew by {rise.spoken}, {where}."


def _too_few(records: Records, legs: list[Leg | None], load: Load) -> str:
    known = [leg for leg in legs if leg is not None]
    if any(without_load(records, leg).answered < FEWEST for leg in known):
        return "Too few probes were answered without load: nothing to compare with."
    during = [leg.between(load.began_s, load.ended_s) for leg in known]
    parts = [f"{leg.answered} of {len(leg.sent_s)} to the {leg.name}" for leg in during]
    return f"Too few probes were answered under the load: {', '.join(parts)}."
