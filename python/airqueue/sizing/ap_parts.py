"""What the advice says of an access point's queue, whether its rate is computed or measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from airqueue.models.buffer_rules import TINY_PACKETS, TINY_UTILISATION, rule
from airqueue.models.sawtooth import LEAST_WINDOW_PACKETS
from airqueue.models.voice import mos, r_factor
from airqueue.qoe import effect_on_call, effect_on_game
from airqueue.sizing import plans
from airqueue.sizing.advice import Alternative, Column, Figure, Settings, Table, Value
from airqueue.sizing.ap import DELAY_TARGET_S, FIRST_WINDOW, RECOVERED_PACKETS, ApQueue
from airqueue.sizing.cell import Air
from airqueue.sizing.codel import Codel, codel_for
from airqueue.sizing.settings import linux, sqm
from airqueue.text import percent, plural, rate, seconds

CODEC_S: Final = 0.025
"""Of the call in the prediction: G.729, a frame of 10 ms, look-ahead and packetisation."""
LITTLE: Final = 0.02
"""Of the airtime: a queue that gives less than this more is not worth its delay."""
SMALL_BYTES: Final = 200
"""Of the packets that stand for small ones: a call's, G.711 in 20 ms with its headers."""
HOSTAPD: Final = Settings(
    "hostapd",
    "access point",
    (),
    ("hostapd.conf has no setting for the length of queues: see tc or openwrt.",),
)
PLACE: Final = "access point"

_WHY: Final[Mapping[str, str]] = {
    "keep": "TCP needs no more: RTT·C over the root of the number of flows keeps the air busy while "
    "flows halve their windows at different times",
    "recover": "so many flows that the path holds fewer than 4 packets of each; the queue holds the "
    "rest, or losses would end in timeouts",
    "least": "the path holds few packets, but a new connection sends its first 10 in one burst (RFC "
    "6928), and a shorter queue would lose some of them",
    "aggregates": "TCP alone needs less, but the rate counts on a full aggregate for every station, "
    "and packets must wait to be sent as one",
    "simulated": "found by simulation: a shorter queue, as the rules for smooth windows ask for, "
    "leaves the downloads less than 95 % of the airtime that they use with a very long one",
}
"""Why TCP needs what it needs, by `airqueue.models.flow_adapted.NEEDS`."""


class _FqCodel(TypedDict):
    """Parameters of FQ-CoDel."""

    limit: int
    target_s: float
    interval_s: float
    quantum_bytes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user wants of the queue, and where the commands are for."""

    rtt_s: float
    """Mean round trip without queues."""
    flows: float
    """Long downloads at the same time."""
    delay_target_s: float = DELAY_TARGET_S
    """Longest delay that the full queue may add."""
    control: str = "reno"
    """As in `airqueue.models.sawtooth`."""
    line_bps: float | None = None
    """Rate of the line behind the access point."""
    device: str = "wlan0"
    line_device: str = sqm.WAN
    """That of the router which leads to the line."""
    phy_device: str = "phy0"

    def inputs(self) -> dict[str, Any]:
        """Return what the numbers depend on, for JSON."""
        return {
            "rtt_s": self.rtt_s,
            "flows": self.flows,
            "delay_target_s": self.delay_target_s,
            "control": self.control,
            "line_bps": self.line_bps,
        }

    def codel(self, air: Air) -> Codel:
        """Return the settings of a CoDel in the place of the queue."""
        return codel_for(air.capacity_bps, self.rtt_s, air.packet_s * max(air.mpdus, 1))


def size_bytes(sized: ApQueue[Air]) -> int:
    """Return the limit in bytes, as a qdisc counts."""
    return sized.packets * round(sized.air.packet_bytes + linux.ETHERNET_BYTES)


def consequence(sized: ApQueue[Air], flows: float) -> str:
    """Say what the recommended FIFO does to delay and use of the air."""
    full = seconds(float(sized.tooth.full_delay_s))
    if sized.trial is not None:
        return f"full it delays by {full}; {sized.trial.found(flows)}"
    downloads = f"{flows:,.7g} long downloads keep" if flows != 1 else "one long download keeps"
    return f"full it delays by {full}, and {downloads} the air busy at least {_busy(sized)}."


def flow_queueing_instead(sized: ApQueue[Air], asked: Asked) -> str:
    """Say why, and which FIFO is next best, where no length of one suits both TCP and the delay."""
    wanted = plural(int(sized.wanted.capacity_packets), "packet")
    held = plural(sized.packets, "packet")
    found = "" if sized.trial is None else f"{sized.trial.with_flow_queueing()} "
    if not sized.limited:
        # The downloads use more of the air with flow queueing than with the FIFO that is enough.
        return f"{found}One FIFO would hold {held}: {consequence(sized, asked.flows)}"
    return (
        f"{found}TCP would want {wanted} in one FIFO, {allowed(asked)}. Where only a FIFO is "
        f"possible, let it hold {held}: "
        f"{consequence(sized, asked.flows)}"
    )


def allowed(asked: Asked) -> str:
    """Say that something exceeds the delay target."""
    return f"more than {seconds(asked.delay_target_s)} allow"


def wanted_instead(sized: ApQueue[Air], asked: Asked) -> str:
    """Say which queue TCP alone would want in place of the recommended one, and what for."""
    wanted = plural(int(sized.wanted.capacity_packets), "packet")
    if sized.trial is not None:
        got = rate(sized.trial.wanted.goodput_bps)
        if sized.trial.lost < LITTLE:
            return f"A queue of {wanted}, {allowed(asked)}, would give {got}, hardly more."
        return f"TCP alone would want {wanted}, {allowed(asked)}, and would then get {got}."
    busy = percent(float(sized.wanted.utilisation_at_least))
    apart = sized.utilisation_at_least > float(sized.tooth.utilisation)
    condition = " if the downloads lose at different times" if apart else ""
    return (
        f"TCP alone would want {wanted}, {allowed(asked)}; a queue of {wanted} would keep the air "
        f"busy at least {busy} of the time{condition}."
    )


def _busy(sized: ApQueue[Air]) -> str:
    """Return the least use of the air, and of two the one that assumes nothing of the flows."""
    in_step = float(sized.tooth.utilisation)
    at_least = percent(sized.utilisation_at_least)
    if sized.air.mpdus:
        return f"{at_least} of the time, aggregation left out"
    if sized.timeouts:
        return f"{at_least} of the time, timeouts apart"
    if sized.utilisation_at_least <= in_step:
        return f"{at_least} of the time"
    return f"{at_least} of the time if they lose at different times, {percent(in_step)} if together"


def figures(sized: ApQueue[Air], asked: Asked) -> tuple[Figure, ...]:
    """Return the recommended limit and what it does to delay, the air's use, calls and games."""
    full_s = float(sized.tooth.full_delay_s)
    voice = float(mos(r_factor(full_s + CODEC_S)))
    return (
        Figure(
            "path_packets",
            "the path holds",
            sized.path_packets,
            "RTT·C, on the way without any queue",
        ),
        Figure("queue_packets", "queue limit", sized.packets, _why_limit(sized, asked)),
        Figure(
            "queue_bytes",
            "the same in bytes",
            size_bytes(sized),
            "for a queue counted in bytes: packets and Ethernet headers",
        ),
        Figure("delay_full_s", "delay when full", full_s, "what the last packet in waits, 8·B/C"),
        Figure(
            "delay_mean_s",
            "delay on average",
            float(sized.tooth.mean_delay_s),
            "if the flows' windows rise and fall in step; about half the full delay if they do not",
        ),
        *(() if sized.trial is None else sized.trial.figures()),
        Figure(
            "utilisation_fraction",
            "air in use, by the rule",
            sized.utilisation_at_least,
            "a lower bound for smooth windows: the higher of those for flows in step and for "
            "independent flows",
        ),
        Figure(
            "utilisation_in_step_fraction",
            "if all lose at once",
            float(sized.tooth.utilisation),
            "the saw tooth's bound; few flows through one FIFO tend to lose together",
        ),
        Figure("call_mos", "a call, MOS 1 to 4.5", voice, effect_on_call(full_s)),
        Figure("game_delay_s", "a game gets this on top", full_s, effect_on_game(full_s)),
    )


def _why_limit(sized: ApQueue[Air], asked: Asked) -> str:
    target = seconds(asked.delay_target_s)
    if not sized.limited:
        return _WHY[_decided(sized)]
    if sized.packets > sized.target_packets:
        return (
            f"the least there is, {target} or not: the path holds "
            f"{sized.path_packets:.2g} packets, and with fewer than {LEAST_WINDOW_PACKETS:g} in path "
            "and queue TCP cannot send one while it waits for the acknowledgement of another"
        )
    if float(sized.tooth.full_delay_s) > asked.delay_target_s:
        return f"the least there is: one packet alone takes longer than {target}"
    return (
        f"what {target} at rate C leave room for; TCP would want "
        f"{plural(int(sized.wanted.capacity_packets), 'packet')}"
    )


def _decided(sized: ApQueue[Air]) -> str:
    """Return what set the capacity that TCP needs, one of `_WHY`."""
    decided, aggregated = str(sized.wanted.decided_by), sized.air.aggregated_packets
    if decided != "least":
        return decided
    if sized.wanted.capacity_packets > max(FIRST_WINDOW, aggregated):
        return "simulated"
    return "aggregates" if aggregated > FIRST_WINDOW else "least"


def rules(sized: ApQueue[Air], asked: Asked) -> Table:
    """Return what rules of thumb say, beside the recommendation."""
    air = sized.air

    def row(name: str, packets: float, utilisation: float | None) -> tuple[Value, ...]:
        size = round(packets * (air.packet_bytes + linux.ETHERNET_BYTES))
        if sized.path_packets + packets < LEAST_WINDOW_PACKETS:
            utilisation = None
        return (name, round(packets), size, packets * air.packet_s, utilisation)

    thumb = rule(air.capacity_bps, asked.rtt_s, 1.0, sized.control, air.packet_bytes)
    many = rule(air.capacity_bps, asked.rtt_s, asked.flows, sized.control, air.packet_bytes)
    adapted = sized.wanted
    # What a window that is cut to β has to hold of the path (`full_use_share`): all of it for Reno.
    product = "RTT·C" if sized.control == "reno" else "RTT·C (1-β)/β"
    return Table(
        "rules",
        "Rules of thumb",
        (
            Column("rule", "rule"),
            Column("queue_packets", "packets"),
            Column("queue_bytes", "bytes"),
            Column("delay_full_s", "full delay"),
            Column("utilisation_fraction", "in use, by the rule"),
        ),
        (
            row(
                f"{product}, one flow",
                float(thumb.buffer_packets),
                float(thumb.utilisation_at_least),
            ),
            row(f"{product}/√n", float(many.buffer_packets), float(many.utilisation_at_least)),
            row(
                "found by simulation" if _decided(sized) == "simulated" else "adapted to flows",
                float(adapted.capacity_packets),
                float(adapted.utilisation_at_least),
            ),
            row("tiny (paced senders)", float(TINY_PACKETS[0]), TINY_UTILISATION[0]),
            row(f"{seconds(asked.delay_target_s)} at rate C", float(sized.target_packets), None),
        ),
    )


def alternatives(
    sized: ApQueue[Air], asked: Asked, small_packet_s: float | None
) -> tuple[Alternative, ...]:
    """Return flow queueing, and a limit in bytes where that lets small packets wait longer."""
    codel = asked.codel(sized.air)
    flow_queueing = Alternative(
        "FQ-CoDel",
        f"{_flow_queueing_is(sized)} mac80211 does this by itself (target "
        "20 ms): on such an access point leave its limit alone. In a qdisc: target "
        f"{seconds(codel.target_s)}, interval {seconds(codel.interval_s)}, quantum "
        f"{codel.quantum_bytes} bytes, limit {codel.limit_packets:,} packets."
        + ("" if sized.trial is None else f" Before this cell, {sized.trial.with_flow_queueing()}"),
    )
    in_bytes = None if small_packet_s is None else _counted_in_bytes(sized, small_packet_s)
    if in_bytes is None:
        return (flow_queueing,)
    return (flow_queueing, Alternative("counted in bytes", in_bytes))


def _flow_queueing_is(sized: ApQueue[Air]) -> str:
    """Return what flow queueing is beside one FIFO."""
    how = (
        "every flow has its own queue, so that a sparse one waits for none of the others, and CoDel "
        "keeps standing queues short."
    )
    if not sized.flow_queueing_is_better:
        return (
            "no better here, where so many flows with few packets each take turns, or a packet takes "
            f"so long: otherwise {how}"
        )
    if sized.torn:
        return f"the better answer here: {how}"
    return f"better wherever calls or games share the queue with downloads: {how}"


def _counted_in_bytes(sized: ApQueue[Air], packet_s: float) -> str | None:
    """Say what a limit in bytes does: on the air a small packet costs nearly as much as a large.

    None where it does not: the downloads' own packets are as small, or aggregates hide the cost.
    """
    many = max(1, size_bytes(sized) // (SMALL_BYTES + linux.ETHERNET_BYTES))
    small_s, full_s = many * packet_s, float(sized.tooth.full_delay_s)
    if sized.air.packet_bytes <= SMALL_BYTES or small_s <= full_s:
        return None
    return (
        f"bfifo with {size_bytes(sized):,} bytes is the same for packets of "
        f"{sized.air.packet_bytes:,.0f} bytes. Full of packets of {SMALL_BYTES} bytes it delays by "
        f"{seconds(small_s)}, the limit in packets by {seconds(sized.packets * packet_s)}: small "
        "packets cost the air more than their bytes. Count bytes on a wire, packets on the air."
    )


def fewer_than_recover(sized: ApQueue[Air]) -> tuple[str, ...]:
    """Warn of timeouts, where path and queue hold too few packets of each flow."""
    if not sized.timeouts:
        return ()
    return (
        f"Path and full queue hold {sized.flow_packets:.2g} packets of each flow. With fewer "
        f"than {RECOVERED_PACKETS:g} a loss ends in a timeout, of 0.2 s or more: the flow stands "
        "still, and the air idles if the others do not fill it, which the rule's figures leave out.",
    )


def flow_queueing(air: Air, asked: Asked, *, instead: bool = False) -> Settings:
    """Return the lines for flow queueing. instead: whether other lines are the recommendation."""
    codel = asked.codel(air)
    values: _FqCodel = {
        "limit": codel.limit_packets,
        "target_s": codel.target_s,
        "interval_s": codel.interval_s,
        "quantum_bytes": codel.quantum_bytes,
    }
    # At a few bits per second no plan can say how long CoDel must wait.
    sayable = (
        codel.target_s <= plans.LONGEST_TARGET_S and codel.interval_s <= plans.LONGEST_INTERVAL_S
    )
    planned = sayable and not instead
    return Settings(
        "tc",
        f"{PLACE}, shell, FQ-CoDel as qdisc" + (", instead" if instead else ""),
        (linux.fq_codel(asked.device, **values),),
        (
            linux.QDISC_NOTES[0]
            if instead
            else "mac80211 has flow queueing and CoDel of its own: nothing to do there.",
        ),
        (plans.queue(asked.device, plans.fq_codel(**values)),) if planned else (),
    )
