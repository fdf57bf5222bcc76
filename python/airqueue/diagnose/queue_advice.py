"""What to set where the queue in which packets wait was measured: one recommendation from both.

The diagnosis says what a transfer does to others, the measurement what to change: the length of a
FIFO, the discipline of a queue that all flows share, or the rate where flows are kept apart already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from airqueue import text
from airqueue.diagnose.advice import (
    SIZE_BYTES,
    TOLERABLE_S,
    Asking,
    Recommendation,
    by_flow,
    line_rates,
    load_through,
    longest_s,
    shape_line,
    shape_station,
    tcp_bps,
)
from airqueue.diagnose.felt import Trips
from airqueue.diagnose.queue import Queue, waits_most
from airqueue.diagnose.queue_words import kind, noun
from airqueue.diagnose.records import Load
from airqueue.diagnose.where import Finding
from airqueue.measure.document import Document
from airqueue.models.errors import ModelError
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.measured import RTT_S, measured_air, measured_plan
from airqueue.sizing.measured_advice import measured_advice
from airqueue.sizing.settings import sqm

_OWNERS: Final = {
    "access_point": "the access point's queue",
    "station": "this machine's queue",
    "line": "the queue in front of the line",
}


@dataclass(frozen=True, slots=True)
class _Waits:
    """The queue, and what packets of others wait in it."""

    finding: Finding
    load: Load | None
    """Whose data go through the queue; None: not measured."""
    measured: Document
    median_s: float
    most_s: float
    """Of 95 % of them."""

    @property
    def rate_bps(self) -> float | None:
        """At which the queue drains: as measured, or as the load got it."""
        return self.measured["rate_bps"] or (None if self.load is None else self.load.carried_bps)

    @property
    def tcp_bps(self) -> float | None:
        """What the air carries of TCP, which is less than `rate_bps`: that of a flood."""
        return tcp_bps(self.load)

    @property
    def what(self) -> str:
        """Whose queue this is, and what it is."""
        return f"{_OWNERS[self.finding.place]} is {noun(self.measured)}"

    @property
    def felt(self) -> str:
        """What packets wait."""
        return (
            f"a packet of a call or a game waits {text.seconds(self.median_s)} behind a transfer "
            f"(95 % of them: {text.seconds(self.most_s)})"
        )


def recommend_measured(
    findings: Sequence[Finding], felt: Sequence[Trips], asking: Asking, queue: Queue
) -> Recommendation | None:
    """Return the recommendation for the load that adds most; None if its queue is not known.

    Nothing is changed where packets wait for no longer than a game bears and the queue cannot grow
    further: a FIFO whose full delay is that short, or a queue that is managed or kept apart.
    """
    worst = waits_most(findings)
    if worst is None or worst.rise is None or queue.measured is None:
        return None
    shared = kind(queue.measured)
    if shared is None or worst.place not in _OWNERS or not queue.belongs_to(worst):
        return None
    most_s = longest_s(worst, felt[findings.index(worst)])
    through = load_through(findings, worst)
    waits = _Waits(worst, through, queue.measured, worst.rise.value, most_s)
    if shared != "fifo" and most_s <= TOLERABLE_S:
        return _leave(waits)
    try:
        if worst.place == "line":
            return _line(waits, findings, asking, apart=shared == "by_flow")
        if worst.place == "station":
            return _station(waits, asking, apart=shared == "by_flow")
        if shared == "fifo":
            return _fifo(waits, asking)
        return _apart(waits, asking) if shared == "by_flow" else _shared(waits, asking)
    except ModelError:
        # The rules have no answer to these values: the diagnosis alone has one.
        return None


def _leave(waits: _Waits) -> Recommendation:
    says = (
        f"Leave everything as it is: {waits.what}, and {waits.felt}, no more than half of what a "
        "fast game bears."
    )
    return Recommendation("leave", says)


def _fifo(waits: _Waits, asking: Asking) -> Recommendation | None:
    """Return what `airqueue size ap` says of the measurement, unless a short FIFO may stay."""
    # The legs say that the queue is the access point's: so is a shaper behind that queue.
    air = replace(measured_air(waits.measured), bucket_bytes=None, carried_bps=waits.tcp_bps)
    asked = Asked(RTT_S, 1, device=asking.device)
    plan = measured_plan(air, asked)
    full_s = None if air.held_packets is None else air.held_packets * air.packet_s
    if waits.most_s <= TOLERABLE_S and full_s is not None and full_s <= TOLERABLE_S:
        return _leave(waits)
    if plan.do == "leave":
        # Packets wait for longer than this FIFO can hold them: there is more than its length.
        return None
    advice = measured_advice(plan, asked, rtt_given=False)
    return Recommendation(plan.do, advice.headline, advice.settings)


def _shared(waits: _Waits, asking: Asking) -> Recommendation | None:
    """Give flows queues of their own where one queue is managed, and others wait in it for long."""
    rate_bps = waits.tcp_bps
    if not rate_bps:
        return None
    says = (
        f"{sqm.use_flow_queueing(rate_bps)}: {waits.what}, which all flows share, "
        f"and {waits.felt}. In a queue of its own such a packet waits for no transfer."
    )
    settings = by_flow(waits.median_s, waits.most_s, rate_bps, asking)
    return Recommendation("flow-queueing", says, settings)


def _apart(waits: _Waits, asking: Asking) -> Recommendation | None:
    """Keep the discipline where flows are kept apart: what waits still is behind the queue."""
    rate_bps = waits.tcp_bps
    if not rate_bps:
        return None
    says = (
        f"Leave the discipline of the access point as it is: {waits.what}, so that no flow waits "
        f"there behind another. Still {waits.felt}: in the driver's ring or in firmware behind "
        f"that queue, or for the air. Shape the downloads of all stations there to "
        f"{_shaped(rate_bps)} (cake), so that they wait before the ring; if that does not help the "
        "air is busy with others or slow: move nearer, or use another channel or band."
    )
    return Recommendation("shape-access-point", says, sqm.access_point(asking.device, rate_bps))


def _station(waits: _Waits, asking: Asking, *, apart: bool) -> Recommendation | None:
    rate_bps = waits.tcp_bps
    if not rate_bps:
        return None
    if not apart:
        usual = shape_station(rate_bps, asking)
        says = f"{usual.headline} Now {waits.what}."
        return Recommendation(usual.do, says, usual.settings)
    says = (
        f"Leave the discipline of this machine as it is: {waits.what}, so that no flow waits there "
        f"behind another. Still {waits.felt}: in the driver or in firmware behind that queue, or "
        f"for the air. Shape what this machine sends to {_shaped(rate_bps)} (cake), so that it "
        "waits before the driver."
    )
    return Recommendation("shape-station", says, sqm.station(asking.device, rate_bps))


def _line(
    waits: _Waits, findings: Sequence[Finding], asking: Asking, *, apart: bool
) -> Recommendation:
    """Shape the line, below the rate at which the measured queue drains."""
    rates = line_rates(findings)
    measured_bps = waits.rate_bps
    if measured_bps:
        rates[waits.finding.direction] = measured_bps
    usual = shape_line(rates, asking)
    if not apart or not measured_bps:
        return Recommendation(usual.do, f"{usual.headline} Now {waits.what}.", usual.settings)
    says = (
        f"Leave the discipline in front of the line as it is: {waits.what}, so that no flow waits "
        f"there behind another. Still {waits.felt}; at {text.rate(measured_bps)} a full packet alone "
        f"takes {text.seconds(8 * SIZE_BYTES / measured_bps)}. If this queue is not the router's "
        f"own, shape the line there to {_shaped(measured_bps)} (SQM, cake); if it is, lower its rate."
    )
    return Recommendation(usual.do, says, usual.settings)


def _shaped(rate_bps: float) -> str:
    return text.rate(1e3 * sqm.shaped_kbit(rate_bps))
