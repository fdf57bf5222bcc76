"""What a path loses: without a load, and of another flow beside a load.

Losses of a path are no matter of its queues: where nobody waits there may still be no call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from airqueue import stats, text
from airqueue.diagnose.felt import without_load
from airqueue.diagnose.records import GATEWAY, SERVER, WIRE, Load, Records
from airqueue.qoe import effect_of_loss

NOTICED: Final = 0.01
"""Share of lost packets from which on losses are reported."""
CHANCE: Final = 0.025
"""Losses that a path with `NOTICED` has less often than this are more than that."""
_TO: Final = {GATEWAY: "the gateway", WIRE: "the server on the wire", SERVER: "the server"}


@dataclass(frozen=True, slots=True)
class Losses:
    """Packets that were lost: probes of a leg without load, or packets in a load's direction."""

    of: str
    """Leg, or direction."""
    when: Literal["without_load", "under_load"]
    sent: int
    lost: int
    method: str | None = None
    """Of the probes."""

    @property
    def share(self) -> float:
        """Share of the packets."""
        return self.lost / self.sent

    @property
    def are_noticed(self) -> bool:
        """Whether the path loses more than `NOTICED`, beyond chance."""
        return self.sent > 0 and stats.at_least(self.lost, self.sent, NOTICED) < CHANCE

    @property
    def says(self) -> str:
        """The losses in a sentence."""
        share = f"{self.lost} of {self.sent} ({text.percent(self.share)})"
        if self.when == "without_load":
            return f"Without load {share} probes to {_TO[self.of]} had no answer."
        load = "a download" if self.of == "down" else "an upload"
        return f"During {load} {share} packets of another flow were lost on their way {self.of}."


@dataclass(frozen=True, slots=True)
class Lost:
    """Losses that are noticed, of probes without load and of packets beside loads."""

    without_load: tuple[Losses, ...]
    """Of the longest leg first."""
    under_load: tuple[Losses, ...]
    before_gateway: bool | None
    """Whether answers of the gateway are missing without load, too; None: it answers no probes."""

    def __bool__(self) -> bool:
        """Whether anything is lost that is noticed."""
        return bool(self.without_load or self.under_load)

    @property
    def says(self) -> list[str]:
        """What was lost, where, and what that does to a call."""
        if not self:
            return []
        found = [*self.without_load, *self.under_load]
        says = [each.says for each in found]
        if self.without_load and self.before_gateway is not None:
            where = "behind the gateway, which answered all along"
            if self.before_gateway:
                where = "in the radio network, since answers of the gateway are missing, too"
            # Hosts may limit echo replies; packets lost beside a load show that it is the path.
            limits = self.without_load[0].method == "icmp" and not self.under_load
            unless = ", unless hosts limit their echo replies" if limits else ""
            says.append(f"Packets are lost {where}{unless}.")
        return [*says, effect_of_loss(max(each.share for each in found))]

    @property
    def advice(self) -> str:
        """What to do where nobody waits."""
        says = (
            "Leave the queues as they are, nobody waits longer under load; but find out who drops: "
        )
        if not self.without_load:
            return (
                f"{says}under a load packets of others are lost and do not wait, as at a policer or "
                "a queue of a few packets. Behind a shaper below that rate they wait instead."
            )
        says += "packets are lost without any load"
        if self.before_gateway is False:
            return f"{says}, behind the gateway: ask the provider, and the modem for its errors."
        if self.before_gateway:
            return f"{says}, before the gateway: move nearer, or use another channel or band."
        return (
            f"{says}. If they still are over a cable to the access point, the line loses them; if "
            "not, the radio does: move nearer, or use another channel or band."
        )


def losses(records: Records) -> Lost:
    """Return the losses that are noticed: of probes without load, and beside each load."""
    far = [found for name in (SERVER, WIRE) if (found := _of_leg(records, name)) is not None]
    near = _of_leg(records, GATEWAY)
    beside = [_beside(load) for load in records.loads]
    # What reaches the far end has passed the gateway: answers that it alone leaves out are not lost.
    quiet = far if far or near is None else [near]
    return Lost(
        tuple(each for each in quiet if each.are_noticed),
        tuple(each for each in beside if each is not None and each.are_noticed),
        None if near is None else near.are_noticed,
    )


def _of_leg(records: Records, name: str) -> Losses | None:
    leg = records.leg(name)
    if leg is None:
        return None
    trips = without_load(records, leg)
    return Losses(name, "without_load", trips.sent, trips.sent - trips.answered, leg.method)


def _beside(load: Load) -> Losses | None:
    way = load.one_way
    if way is None:
        return None
    held = (way.sent_s >= load.began_s) & (way.sent_s < load.ended_s)
    lost = np.isnan(way.delay_s[held])
    return Losses(load.direction, "under_load", len(lost), int(lost.sum()))
