"""Where packets wait under a load: the leg whose round trips rise.

The leg to the gateway crosses the radio network alone, the leg to a server the radio network and
what is behind it. A queue that delays both by as much is in the radio network; a queue that delays
the second alone is behind the gateway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from airqueue.diagnose.felt import Span, rises
from airqueue.diagnose.records import GATEWAY, WIRE, Leg, Load, Records
from airqueue.qoe import GAME_ROUND_TRIP_S

Place = Literal["none", "access_point", "station", "line", "both", "undecided", "not_loaded"]

FELT_S: Final = GAME_ROUND_TRIP_S / 10
"""A rise that is shorter matters to nobody: a tenth of what a fast game wants for its round trip."""
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

    @property
    def lags(self) -> bool:
        """Whether the load adds a delay that is felt."""
        return self.place in ("access_point", "station", "line", "both")


def findings(records: Records) -> list[Finding]:
    """Judge every load by itself."""
    return [judge(records, load) for load in records.loads]


def judge(records: Records, load: Load) -> Finding:
    """Say where packets waited under a load."""
    if load.idle is not None:
        return Finding(load, "not_loaded", load.idle)
    far, near = records.leg(load.site), records.leg(GATEWAY)
    if far is None:
        return Finding(load, "undecided", f"Nothing answered on the leg to the {load.site}.")
    if load.site == WIRE:
        return _on_the_wire(records, far, load)
    found = rises(records, [far] if near is None else [near, far], load)
    if found is None:
        return Finding(load, "undecided", _too_few([far, near], load))
    if near is None:
        return _without_gateway(load, found[0])
    return _by_two_legs(load, *found)


def _on_the_wire(records: Records, far: Leg, load: Load) -> Finding:
    """Judge a load that does not leave the access point's own network: one leg is enough."""
    found = rises(records, [far], load)
    if found is None:
        return Finding(load, "undecided", _too_few([far], load))
    rise = found[0]
    verdict = _whether(rise)
    if verdict is not None:
        return Finding(load, verdict, _none(rise, verdict), rise)
    return Finding(load, _radio(load), _waits(rise, "within the radio network"), rise)


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
        place = _radio(load)
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


def _radio(load: Load) -> Place:
    return "access_point" if load.direction == "down" else "station"


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


def _too_few(legs: list[Leg | None], load: Load) -> str:
    during = [leg.between(load.began_s, load.ended_s) for leg in legs if leg is not None]
    parts = [f"{leg.answered} of {len(leg.sent_s)} to the {leg.name}" for leg in during]
    return f"Too few probes were answered under the load: {', '.join(parts)}."
