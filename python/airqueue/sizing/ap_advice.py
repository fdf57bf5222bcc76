"""The advice of `airqueue size ap --rate`: what the rates of the radios say to set."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from airqueue.sizing import ap_parts
from airqueue.sizing.advice import Advice, Figure, Settings, not_simulated
from airqueue.sizing.ap import ApQueue
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.ap_scenario import scenario
from airqueue.sizing.cell import ACK_EVERY, Cell, lone_packet_s
from airqueue.sizing.settings import linux, openwrt, sqm
from airqueue.text import listed, percent, plural, rate

OF_RULE: Final = 0.02
"""Use of the air by which the rule may exceed the simulation without a word."""
SHAPE: Final = (
    "packets wait in front of the line, and no setting here shortens that: let the router shape a "
    "little below the line's rate, with flow queueing (SQM, cake)"
)

_AGGREGATES: Final = (
    "The rule's use of the air leaves out what an aggregate takes from the queue at once: simulated, "
    "one flow over 65 Mb/s with an RTT of 20 ms used 70 % of the air at the limit that is given "
    "here, and 95 % with twice as many packets. Take the limit as the least, and flow queueing where "
    "the delay of a longer queue matters."
)


_RATES: Final = (
    "The rule's use of the air is for stations of one rate: simulated, downloads at 54 and 6 Mb/s "
    "over 100 ms used 80 % of the air with 13 packets, where the rule says 86 %."
)


def ap_advice(sized: ApQueue[Cell], asked: Asked, untried: str | None = None) -> Advice:
    """Return the advice for a queue that `airqueue.sizing.ap.ap_queue` sized for these parameters.

    The line is the bottleneck where it is slower than the cell. untried: why nothing was simulated,
    where that was not asked for.
    """
    air = sized.air
    return Advice(
        what="ap",
        inputs={
            "rates_bps": list(air.rates_bps),
            "phy": air.phy.name,
            "packet_bytes": air.packet_bytes,
            **asked.inputs(),
        },
        headline=_headline(sized, asked),
        figures=_figures(sized, asked),
        tables=(
            *(() if sized.trial is None else (sized.trial.table(),)),
            ap_parts.rules(sized, asked),
        ),
        alternatives=ap_parts.alternatives(sized, asked, lone_packet_s(air, ap_parts.SMALL_BYTES)),
        cautions=_cautions(sized, asked, untried),
        settings=_settings(sized, asked),
    )


def slow_line(sized: ApQueue[Cell], asked: Asked) -> bool:
    """Whether the line, and not the cell, is the bottleneck."""
    return asked.line_bps is not None and asked.line_bps < sized.air.capacity_bps


def _headline(sized: ApQueue[Cell], asked: Asked) -> str:
    """Return one recommendation, then the reason for it."""
    if asked.line_bps is not None and slow_line(sized, asked):
        return (
            f"{sqm.recommended(asked.line_bps)}, and leave the access point as it is: the bottleneck "
            f"is the line of {rate(asked.line_bps)}, not the cell of "
            f"{rate(sized.air.capacity_bps)}, so packets wait in front of the line, where no setting "
            "of the access point reaches them."
        )
    if sized.torn:
        why = ap_parts.flow_queueing_instead(sized, asked)
        return f"Use flow queueing (FQ-CoDel), which mac80211 has by itself: {why}"
    held = plural(sized.packets, "packet")
    said = f"Let the queue hold {held}: {ap_parts.consequence(sized, asked.flows)}"
    if not sized.limited:
        return said
    return f"{said} {ap_parts.wanted_instead(sized, asked)}"


def _figures(sized: ApQueue[Cell], asked: Asked) -> tuple[Figure, ...]:
    air = sized.air
    return (
        Figure("goodput_bps", "what TCP gets", air.goodput_bps, _why_goodput(sized)),
        Figure(
            "capacity_bps",
            "C, rate of the queue",
            air.capacity_bps,
            "the same with TCP and IP headers: what empties the queue",
        ),
        *ap_parts.figures(sized, asked),
    )


def _why_goodput(sized: ApQueue[Cell]) -> str:
    air = sized.air
    if len(air.rates_bps) == 1:
        phy = f"of {rate(air.rates_bps[0])} of the PHY"
    else:
        phy = (
            f"with {len(air.rates_bps)} stations at {listed(sorted(set(map(rate, air.rates_bps))))}"
        )
    packing = f"aggregates of {air.mpdus} packets" if air.mpdus else "no aggregation"
    return (
        f"{phy} ({air.phy.name}, {packing}): the rest goes to preambles, backoff, MAC "
        f"acknowledgements, and one TCP acknowledgement for {ACK_EVERY} packets"
    )


def _cautions(sized: ApQueue[Cell], asked: Asked, untried: str | None) -> tuple[str, ...]:
    air = sized.air
    said = [
        "The figures are for the times when the cell is slower than the line; the shaper's flow "
        "queueing keeps delays short at all other times."
        if slow_line(sized, asked)
        else f"This is for a cell that is the bottleneck. With a line of less than "
        f"{rate(air.capacity_bps)} to the Internet, {SHAPE}.",
        "C is for stations that send nothing but acknowledgements, without errors and collisions; a "
        "real cell carries less, and every delay grows in proportion. Measure it with airqueue "
        "measure, and give the file of its result in the place of --rate.",
        *_of_simulation(sized, untried),
        "The driver's ring holds more packets behind this queue (40 in a device of the APQ paper); "
        "they add to the delay.",
        *ap_parts.fewer_than_recover(sized),
    ]
    if sized.slower and sized.trial is None:
        said.append(
            f"C counts on full aggregates, {plural(air.aggregated_packets, 'packet')} waiting for "
            "all stations. The limit allows fewer: the cell is slower than said, and the full "
            "queue's delay longer. A longer delay target is the better answer."
        )
    if len(set(air.rates_bps)) > 1:
        said.append(
            "Slow stations cost all of them, since each gets as many packets as any other. With "
            "equal shares of the airtime, as mac80211's scheduler gives where the driver lets it, "
            f"the cell carries {rate(air.airtime_fair_bps)} instead of {rate(air.capacity_bps)}."
        )
    return tuple(said)


def _of_simulation(sized: ApQueue[Cell], untried: str | None) -> tuple[str, ...]:
    """Say what the simulation leaves out, or what is not known without one."""
    if sized.trial is None:
        return (
            *not_simulated(untried),
            *((_AGGREGATES,) if sized.air.mpdus else ()),
            *((_RATES,) if len(set(sized.air.rates_bps)) > 1 else ()),
        )
    said = (
        "The simulation has TCP like Linux's at both ends, stations that hear each other, no errors "
        "on the air, and no driver's ring behind the queue. Its pings go to the slowest station; "
        "lost ones are not counted. --for scenario prints the cell for airqueue simulate.",
    )
    if sized.utilisation_at_least <= sized.trial.share + OF_RULE:
        return said
    return (
        *said,
        f"The rule says that the air is used at {percent(sized.utilisation_at_least)} at least, and "
        f"the simulation finds {percent(sized.trial.share)}: the rule assumes smooth windows at one "
        "rate, and leaves out the bursts that follow aggregates, and the time in which losses are "
        "repaired.",
    )


def _settings(sized: ApQueue[Cell], asked: Asked) -> tuple[Settings, ...]:
    """Return the lines for the recommendation first, and only lines that agree with it."""
    if asked.line_bps is not None and slow_line(sized, asked):
        return (ap_parts.HOSTAPD, *sqm.shaper(asked.line_bps, asked.line_device))
    phy, device, place = asked.phy_device, asked.device, ap_parts.PLACE
    fifo = (
        openwrt.queue(phy, device, sized.packets, place),
        *linux.queue(phy, device, sized.packets, ap_parts.size_bytes(sized), place),
    )
    if sized.torn:
        # No plan sets what is not recommended.
        others = (replace(each, sets=()) for each in fifo)
        planned = (ap_parts.flow_queueing(sized.air, asked), *others)
    else:
        planned = (*fifo, ap_parts.flow_queueing(sized.air, asked, instead=True))
    return (ap_parts.HOSTAPD, *planned, scenario(sized, asked))
