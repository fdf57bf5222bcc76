"""What a download and an upload at once add to round trips: what is felt, not whose queue it is.

Under both loads a round trip waits in the queues of both directions. Which queue that is, the loads
one after the other say.
"""

from __future__ import annotations

from dataclasses import dataclass

from airqueue import text
from airqueue.diagnose.felt import Span, rises
from airqueue.diagnose.records import GATEWAY, Load, Records


@dataclass(frozen=True, slots=True)
class Together:
    """A download and an upload at once. ``rise``: of the leg to their other end; None: not known."""

    down: Load
    up: Load
    rise: Span | None
    near: Span | None
    """Of the leg to the gateway."""

    @property
    def says(self) -> str:
        """The finding in a sentence."""
        if self.down.idle is not None:
            return self.down.idle
        if self.rise is None:
            return "Too few probes were answered to say how much longer round trips are."
        here = "" if self.near is None else f", {self.near.spoken} of this before the gateway"
        return (
            f"Round trips grew by {self.rise.spoken}{here}; {text.rate(self.down.carried_bps)} came "
            f"down and {text.rate(self.up.carried_bps)} went up."
        )


def together(records: Records) -> list[Together]:
    """Judge each pair of loads that ran at once."""
    pairs = zip(records.together[::2], records.together[1::2], strict=True)
    return [_judge(records, down, up) for down, up in pairs]


def _judge(records: Records, down: Load, up: Load) -> Together:
    far, near = records.leg(down.site), records.leg(GATEWAY)
    if down.idle is not None or far is None:
        return Together(down, up, None, None)
    found = rises(records, [far] if near is None else [near, far], down)
    if found is None:
        return Together(down, up, None, None)
    return Together(down, up, found[0 if near is None else 1], None if near is None else found[0])
