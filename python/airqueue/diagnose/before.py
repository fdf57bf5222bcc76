"""What is slow before any load: a queue that somebody else fills is there in all round trips."""

from __future__ import annotations

from typing import Final

from airqueue import text
from airqueue.diagnose.felt import without_load
from airqueue.diagnose.records import GATEWAY, Records
from airqueue.qoe import GAME_ROUND_TRIP_S

QUICK_S: Final = GAME_ROUND_TRIP_S / 2
"""Radio networks that nobody uses take a tenth of that to the gateway and back."""


def slow_gateway(records: Records) -> str | None:
    """Say that the gateway answers slowly without our load; None where it answers quickly.

    Our load adds little to a queue that is full already, so that "nobody waits longer" says nothing
    then. A first router far away (behind a VPN, in a mobile network) is as slow: nothing tells the
    two apart here.
    """
    leg = records.leg(GATEWAY)
    median_s = None if leg is None else without_load(records, leg).p50_s
    if median_s is None or median_s <= QUICK_S:
        return None
    return (
        f"Without our load the gateway takes {text.seconds(median_s)} to answer: other traffic fills "
        "a queue on the way there, or the way is long (a VPN, a mobile network); measure again when "
        "nobody else uses the network."
    )
