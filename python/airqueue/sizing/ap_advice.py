"""The advice of `airqueue size ap`: the numbers of `airqueue.sizing.ap` in words and commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airqueue.models.buffer_rules import TINY_PACKETS, TINY_UTILISATION, rule
from airqueue.models.sawtooth import LEAST_WINDOW_PACKETS
from airqueue.models.voice import mos, r_factor
from airqueue.qoe import effect_on_call, effect_on_game
from airqueue.sizing.advice import Advice, Alternative, Column, Figure, Settings, Table, Value
from airqueue.sizing.ap import FIRST_WINDOW, RECOVERED_PACKETS, ApQueue
from airqueue.sizing.cell import ACK_EVERY, lone_packet_s
from airqueue.sizing.codel import Codel, codel_for
from airqueue.sizing.settings import linux, openwrt, sqm
from airqueue.text import listed, percent, plural, rate, seconds

CODEC_S: Final = 0.025
"""Of the call in the prediction: G.729, a frame of 10 ms, look-ahead and packetisation."""
SMALL_BYTES: Final = 200
"""Of the packets that stand for small ones: a call's, G.711 in 20 ms with its headers."""
_PLACE: Final = "access point"
_SHAPE: Final = (
    "packets wait in front of the line, and no setting here shortens that: let the router shape a "
    "little below the line's rate, with flow queueing (SQM, cake)"
)

_WHY: Final[Mapping[str, str]] = {
    "keep": "TCP needs no more: RTT·C over the root of the number of flows keeps the air busy while "
    "flows halve their windows at different times",
    "recover": "so many flows that the path holds fewer than 4 packets of each; the queue holds the "
    "rest, or losses would end in timeouts",
    "least": "the path holds few packets, but a new connection sends its first 10 in one burst (RFC "
    "6928), and a shorter queue would lose some of them",
    "aggregates": "TCP alone needs less, but the rate counts on a full aggregate for every station, "
    "and packets must wait to be sent as one",
}
"""Why TCP needs what it needs, by `airqueue.models.flow_adapted.NEEDS`."""


def ap_advice(
    sized: ApQueue,
    *,
    rtt_s: float,
    flows: float,
    delay_target_s: float,
    control: str,
    device: str,
    phy_device: str,
    line_bps: float | None = None,
) -> Advice:
    """Return the advice for a queue that `airqueue.sizing.ap.ap_queue` sized for these parameters.

    device, phy_device: names for the commands, wlan0 and phy0 as a rule. line_bps: rate of the line
    behind the access point, which is the bottleneck where it is slower than the cell.
    """
    air = sized.cell
    codel = codel_for(air.capacity_bps, rtt_s, air.packet_s * max(air.mpdus, 1))
    inputs: dict[str, Any] = {
        "rates_bps": list(air.rates_bps),
        "phy": air.phy.name,
        "rtt_s": rtt_s,
        "flows": flows,
        "packet_bytes": air.packet_bytes,
        "delay_target_s": delay_target_s,
        "control": control,
        "line_bps": line_bps,
    }
    return Advice(
        what="ap",
        inputs=inputs,
        headline=_headline(sized, flows, delay_target_s, line_bps),
        figures=_figures(sized, delay_target_s),
        tables=(_rules(sized, rtt_s, flows, delay_target_s),),
        alternatives=_alternatives(sized, codel, delay_target_s),
        cautions=_cautions(sized, line_bps),
        settings=_settings(sized, codel, device, phy_device, line_bps),
    )


def _size_bytes(sized: ApQueue) -> int:
    return sized.packets * round(sized.cell.packet_bytes + linux.ETHERNET_BYTES)


def _slow_line(sized: ApQueue, line_bps: float | None) -> bool:
    """Whether the line, and not the cell, is the bottleneck."""
    return line_bps is not None and line_bps < sized.cell.capacity_bps


def _headline(sized: ApQueue, flows: float, delay_target_s: float, line_bps: float | None) -> str:
    """Return one recommendation, then the reason for it."""
    if line_bps is not None and _slow_line(sized, line_bps):
        return (
            f"Shape the line on the router to {rate(1e3 * sqm.shaped_kbit(line_bps))} with flow "
            "queueing (SQM, cake), and leave the access point as it is: the bottleneck is the "
            f"line of {rate(line_bps)}, not the cell of {rate(sized.cell.capacity_bps)}, so packets "
            "wait in front of the line, where no setting of the access point reaches them."
        )
    full = seconds(float(sized.tooth.full_delay_s))
    fifo = f"full it delays by {full}, and {_flows(flows)} the air busy at least {_busy(sized)}."
    held = plural(sized.packets, "packet")
    wanted = plural(int(sized.wanted.capacity_packets), "packet")
    allowed = f"more than {seconds(delay_target_s)} allow"
    if sized.torn:
        return (
            f"Use flow queueing (FQ-CoDel), which mac80211 has by itself: TCP would want {wanted} in "
            f"one FIFO, {allowed}. Where only a FIFO is possible, let it hold {held}: {fifo}"
        )
    said = f"Let the queue hold {held}: {fifo}"
    if not sized.limited:
        return said
    return (
        f"{said} TCP alone would want {wanted}, {allowed}; with them it would be "
        f"{percent(float(sized.wanted.utilisation_at_least))}."
    )


def _flows(flows: float) -> str:
    return f"{flows:,.7g} long downloads keep" if flows != 1 else "one long download keeps"


def _busy(sized: ApQueue) -> str:
    """Return the least use of the air, and of two the one that assumes nothing of the flows."""
    in_step = float(sized.tooth.utilisation)
    at_least = percent(sized.utilisation_at_least)
    if sized.timeouts:
        return f"{at_least} of the time, timeouts apart"
    if sized.utilisation_at_least <= in_step:
        return f"{at_least} of the time"
    return f"{at_least} of the time if they lose at different times, {percent(in_step)} if together"


def _figures(sized: ApQueue, delay_target_s: float) -> tuple[Figure, ...]:
    air = sized.cell
    return (
        Figure("goodput_bps", "what TCP gets", air.goodput_bps, _why_goodput(sized)),
        Figure(
            "capacity_bps",
            "C, rate of the queue",
            air.capacity_bps,
            "the same with TCP and IP headers: what empties the queue",
        ),
        Figure(
            "path_packets",
            "the path holds",
            sized.path_packets,
            "RTT·C, on the way without any queue",
        ),
        Figure("queue_packets", "queue limit", sized.packets, _why_limit(sized, delay_target_s)),
        Figure(
            "queue_bytes",
            "the same in bytes",
            _size_bytes(sized),
            "for a queue counted in bytes: packets and Ethernet headers",
        ),
        *_effects(sized),
    )


def _effects(sized: ApQueue) -> tuple[Figure, ...]:
    """Return what the queue does to delay and to the air's use."""
    full_s = float(sized.tooth.full_delay_s)
    voice = float(mos(r_factor(full_s + CODEC_S)))
    return (
        Figure("delay_full_s", "delay when full", full_s, "what the last packet in waits, 8·B/C"),
        Figure(
            "delay_mean_s",
            "delay on average",
            float(sized.tooth.mean_delay_s),
            "if the flows' windows rise and fall in step; about half the full delay if they do not",
        ),
        Figure(
            "utilisation_fraction",
            "air in use",
            sized.utilisation_at_least,
            "at least: the better bound of flows in step and of independent flows",
        ),
        Figure(
            "utilisation_in_step_fraction",
            "if all lose at once",
            float(sized.tooth.utilisation),
            "at least, whatever the flows do; few flows through one FIFO tend to lose together",
        ),
        Figure("call_mos", "a call, MOS 1 to 4.5", voice, effect_on_call(full_s)),
        Figure("game_delay_s", "a game gets this on top", full_s, effect_on_game(full_s)),
    )


def _why_goodput(sized: ApQueue) -> str:
    air = sized.cell
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


def _why_limit(sized: ApQueue, delay_target_s: float) -> str:
    if not sized.limited:
        decided = str(sized.wanted.decided_by)
        aggregates = sized.cell.aggregated_packets > FIRST_WINDOW
        return _WHY["aggregates" if decided == "least" and aggregates else decided]
    if sized.packets > sized.target_packets:
        return (
            f"the least there is, {seconds(delay_target_s)} or not: the path holds "
            f"{sized.path_packets:.2g} packets, and with fewer than {LEAST_WINDOW_PACKETS:g} in path "
            "and queue TCP cannot send one while it waits for the acknowledgement of another"
        )
    if float(sized.tooth.full_delay_s) > delay_target_s:
        return f"the least there is: one packet alone takes longer than {seconds(delay_target_s)}"
    return (
        f"what {seconds(delay_target_s)} at rate C leave room for; TCP would want "
        f"{plural(int(sized.wanted.capacity_packets), 'packet')}"
    )


def _rules(sized: ApQueue, rtt_s: float, flows: float, delay_target_s: float) -> Table:
    air = sized.cell

    def row(name: str, packets: float, utilisation: float | None) -> tuple[Value, ...]:
        size = round(packets * (air.packet_bytes + linux.ETHERNET_BYTES))
        if sized.path_packets + packets < LEAST_WINDOW_PACKETS:
            utilisation = None
        return (name, round(packets), size, packets * air.packet_s, utilisation)

    thumb = rule(air.capacity_bps, rtt_s, 1.0, sized.control, air.packet_bytes)
    many = rule(air.capacity_bps, rtt_s, flows, sized.control, air.packet_bytes)
    return Table(
        "rules",
        "Rules of thumb",
        (
            Column("rule", "rule"),
            Column("queue_packets", "packets"),
            Column("queue_bytes", "bytes"),
            Column("delay_full_s", "full delay"),
            Column("utilisation_fraction", "in use, at least"),
        ),
        (
            row("RTT·C, one flow", float(thumb.buffer_packets), float(thumb.utilisation_at_least)),
            row("RTT·C/√n", float(many.buffer_packets), float(many.utilisation_at_least)),
            row(
                "adapted to flows",
                float(sized.wanted.capacity_packets),
                float(sized.wanted.utilisation_at_least),
            ),
            row("tiny (paced senders)", float(TINY_PACKETS[0]), TINY_UTILISATION[0]),
            row(f"{seconds(delay_target_s)} at rate C", float(sized.target_packets), None),
        ),
    )


def _alternatives(sized: ApQueue, codel: Codel, delay_target_s: float) -> tuple[Alternative, ...]:
    better = (
        "the better answer here, since no length of one FIFO suits both TCP and the delay asked for"
        if sized.torn
        else "better wherever calls or games share the queue with downloads"
    )
    return (
        Alternative(
            "FQ-CoDel",
            f"{better}: every flow has its own queue, so that a sparse one waits for none of the "
            "others, and CoDel keeps standing queues short. mac80211 does this by itself (target "
            "20 ms): on such an access point leave its limit alone. In a qdisc: target "
            f"{seconds(codel.target_s)}, interval {seconds(codel.interval_s)}, quantum "
            f"{codel.quantum_bytes} bytes, limit {codel.limit_packets:,} packets.",
        ),
        Alternative(
            "counted in bytes",
            _counted_in_bytes(sized),
        ),
    )


def _counted_in_bytes(sized: ApQueue) -> str:
    """Say what a limit in bytes does: on the air a small packet costs nearly as much as a large."""
    size_bytes, packet_s = _size_bytes(sized), lone_packet_s(sized.cell, SMALL_BYTES)
    many = max(1, size_bytes // (SMALL_BYTES + linux.ETHERNET_BYTES))
    return (
        f"bfifo with {size_bytes:,} bytes is the same for full-size packets. Full of packets of "
        f"{SMALL_BYTES} bytes it delays by {seconds(many * packet_s)}, the limit in packets by "
        f"{seconds(sized.packets * packet_s)}: small packets cost the air more than their "
        "bytes. Count bytes on a wire, packets on the air."
    )


def _cautions(sized: ApQueue, line_bps: float | None) -> tuple[str, ...]:
    air = sized.cell
    said = [
        "The figures are for the times when the cell is slower than the line; the shaper's flow "
        "queueing keeps delays short at all other times."
        if _slow_line(sized, line_bps)
        else f"This is for a cell that is the bottleneck. With a line of less than "
        f"{rate(air.capacity_bps)} to the Internet, {_SHAPE}.",
        "C is for stations that send nothing but acknowledgements, without errors and collisions; a "
        "real cell carries less, and every delay grows in proportion. Measure it: airqueue measure.",
        "The driver's ring holds more packets behind this queue (40 in a device of the APQ paper); "
        "they add to the delay.",
    ]
    if sized.timeouts:
        said.append(
            f"Path and full queue hold {sized.flow_packets:.2g} packets of each flow. With fewer "
            f"than {RECOVERED_PACKETS:g} a loss ends in a timeout, of 0.2 s or more: the flow stands "
            "still, and the air idles if the others do not fill it, which the forecast leaves out."
        )
    if sized.slower:
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


def _settings(
    sized: ApQueue, codel: Codel, device: str, phy_device: str, line_bps: float | None
) -> tuple[Settings, ...]:
    """Return the lines for the recommendation first, and only lines that agree with it."""
    hostapd = Settings(
        "hostapd",
        "access point",
        (),
        ("hostapd.conf has no setting for the length of queues: see tc or openwrt.",),
    )
    if line_bps is not None and _slow_line(sized, line_bps):
        return (hostapd, *sqm.shaper(line_bps))
    flow_queueing = Settings(
        "tc",
        f"{_PLACE}, shell, FQ-CoDel as qdisc" + ("" if sized.torn else ", instead"),
        (
            linux.fq_codel(
                device,
                limit=codel.limit_packets,
                target_s=codel.target_s,
                interval_s=codel.interval_s,
                quantum_bytes=codel.quantum_bytes,
            ),
        ),
        ("mac80211 has flow queueing and CoDel of its own: nothing to do there.",),
    )
    fifo = (
        openwrt.queue(phy_device, device, sized.packets, _PLACE),
        *linux.queue(phy_device, device, sized.packets, _size_bytes(sized), _PLACE),
    )
    if sized.torn:
        return (hostapd, flow_queueing, *fifo)
    return (hostapd, *fifo, flow_queueing)
