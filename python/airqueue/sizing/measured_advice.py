"""The advice of `airqueue size ap FILE`: what a measurement of the access point says to set."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from airqueue.qoe import effect_on_call, effect_on_game
from airqueue.sizing import ap_parts
from airqueue.sizing.advice import Advice, Alternative, Column, Figure, Settings, Table
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.measured import RTT_S, MeasuredAir, MeasuredPlan
from airqueue.sizing.settings import linux, sqm
from airqueue.text import percent, plural, rate, seconds

_QUEUES: Final = {
    "fifo": "one FIFO",
    "isolated": "each flow queues by itself",
    "not_flat": "managed, or shared with traffic of others",
    "policer": "a policer: it drops, and nothing waits",
}
"""The verdicts of a measurement in words."""


def measured_advice(plan: MeasuredPlan, asked: Asked, *, rtt_given: bool = True) -> Advice:
    """Return the advice for a queue that was measured. rtt_given: whether the user said the RTT."""
    air = plan.air
    sets_queue = plan.do in ("limit", "flow-queueing")
    parts = ap_parts.figures(plan.sized, asked) if sets_queue else ()
    return Advice(
        what="ap",
        inputs={
            "measured": {
                "verdict": air.verdict,
                "capacity_bps": air.capacity_bps,
                "held_packets": air.held_packets,
                "held_bytes": air.held_bytes,
                "delay_full_s": air.delay_full_s,
                "sparse_loaded_p50_s": air.sparse_p50_s,
                "sparse_loaded_p95_s": air.sparse_p95_s,
                "token_bucket_bytes": air.bucket_bytes,
            },
            "packet_bytes": air.packet_bytes,
            **asked.inputs(),
        },
        headline=_headline(plan, asked),
        figures=(*_found(plan), *parts),
        tables=_tables(plan, asked) if sets_queue else (),
        alternatives=_alternatives(plan, asked),
        cautions=_cautions(plan, asked, rtt_given=rtt_given),
        settings=_settings(plan, asked),
    )


def _headline(plan: MeasuredPlan, asked: Asked) -> str:
    """Return one recommendation, then the reason for it."""
    if plan.do == "shape":
        return _shape(plan, asked)
    if plan.do == "leave":
        return f"Leave the access point as it is: {_why_leave(plan, asked)}."
    air = plan.air
    use_flow_queueing = sqm.use_flow_queueing(air.tcp_bps)
    if air.verdict == "not_flat":
        return (
            f"{use_flow_queueing}: beside a download a sparse flow "
            f"waits {_waits(air)}, {ap_parts.allowed(asked)}, and the device's queue is not "
            "one FIFO whose length could be set."
        )
    now = f"The FIFO holds {_held(air)} now, and full it delays by {seconds(_full_s(air))}."
    if plan.do == "flow-queueing":
        return f"{use_flow_queueing}: {ap_parts.flow_queueing_instead(plan.sized, asked)} {now}"
    held = plural(plan.sized.packets, "packet")
    return f"Let the queue hold {held}: {ap_parts.consequence(plan.sized, asked.flows)} {now}"


def _shape(plan: MeasuredPlan, asked: Asked) -> str:
    assert plan.shaped_bps is not None
    air = plan.air
    shaped = sqm.recommended(plan.shaped_bps)
    if air.verdict == "policer" and asked.line_bps is None:
        return (
            f"{shaped}: a policer of {rate(air.capacity_bps)} drops what exceeds its rate, and "
            "nothing waits, so there is no queue to size; before a slower shaper packets wait in "
            "place of being lost."
        )
    if asked.line_bps is None:
        return (
            f"{shaped}: the queue that was measured is in front of a shaper of "
            f"{rate(air.capacity_bps)} that saves tokens, which no radio does, so packets wait "
            "before the line, and not for the air."
        )
    return (
        f"{shaped}, and leave the access point as it is: {rate(air.capacity_bps)} were measured, "
        f"so the line of {rate(asked.line_bps)} is the bottleneck, and packets wait in front "
        "of the line, where no setting of the access point reaches them."
    )


def _why_leave(plan: MeasuredPlan, asked: Asked) -> str:
    air, target = plan.air, seconds(asked.delay_target_s)
    if air.verdict == "fifo":
        assert plan.utilisation_now is not None
        return (
            f"its FIFO of {_held(air)} delays by {seconds(_full_s(air))} when full, where {target} "
            f"are allowed, and keeps the air busy at least {percent(plan.utilisation_now)} of the "
            "time"
        )
    if air.sparse_p95_s is None:
        return f"{_QUEUES[air.verdict]}, and no length of one queue would help"
    if air.sparse_p95_s <= asked.delay_target_s or air.verdict == "not_flat":
        return f"{_QUEUES[air.verdict]}, and beside a download a sparse flow waits {_waits(air)}"
    return (
        f"{_QUEUES[air.verdict]}. Beside a download a sparse flow still waits {_waits(air)}, "
        f"more than {target} allow: what is left waits in the driver's ring or for the air, which no "
        "limit of a queue shortens"
    )


def _waits(air: MeasuredAir) -> str:
    """Say how long a sparse flow waits beside the flood."""
    if air.sparse_p50_s is None or air.sparse_p95_s is None:
        return seconds(air.delay_full_s)
    return f"{seconds(air.sparse_p50_s)} (median; 95 % of its packets: {seconds(air.sparse_p95_s)})"


def _held(air: MeasuredAir) -> str:
    if air.held_bytes is not None:
        return f"{air.held_bytes:,.0f} bytes"
    assert air.held_packets is not None
    return plural(round(air.held_packets), "packet")


def _full_s(air: MeasuredAir) -> float:
    """Return the delay of the full FIFO with packets of this size."""
    assert air.held_packets is not None
    return air.held_packets * air.packet_s


def _found(plan: MeasuredPlan) -> tuple[Figure, ...]:
    """Return what was measured."""
    air = plan.air
    found = [
        Figure("verdict", "the queue", air.verdict, _QUEUES[air.verdict]),
        Figure(
            "capacity_bps",
            "C, rate of the queue",
            air.capacity_bps,
            f"measured with packets of {air.packet_bytes:.0f} bytes, without acknowledgements",
        ),
    ]
    if air.held_packets is not None:
        full_s = _full_s(air)
        found += [
            Figure(
                "held_packets",
                "holds now",
                air.held_packets if air.held_bytes is not None else round(air.held_packets),
                "measured: all stages of the device together, the driver's ring too",
            ),
            Figure("held_delay_s", "delay when full, now", full_s, effect_on_call(full_s)),
        ]
    if air.sparse_p50_s is not None:
        found.append(
            Figure(
                "sparse_loaded_p50_s",
                "a sparse flow waits now",
                air.sparse_p50_s,
                f"median, beside a flood. {effect_on_game(air.sparse_p50_s)}",
            )
        )
    if air.sparse_p95_s is not None:
        found.append(
            Figure("sparse_loaded_p95_s", "95 % of its packets", air.sparse_p95_s, "at most")
        )
    if air.bucket_bytes is not None:
        found.append(
            Figure(
                "token_bucket_bytes",
                "passes at once",
                air.bucket_bytes,
                "after a rest, by the tokens of a shaper or a policer: a transfer of fewer bytes "
                "meets no queue, and a short speed test shows more than the rate",
            )
        )
    return tuple(found)


def _tables(plan: MeasuredPlan, asked: Asked) -> tuple[Table, ...]:
    """Return the queue now and then, and rules of thumb."""
    sized, air = plan.sized, plan.air
    thumbs = ap_parts.rules(sized, asked)
    if air.held_packets is None:
        return (thumbs,)
    then_s = float(sized.tooth.full_delay_s)
    return (
        Table(
            "now_and_then",
            "One FIFO, now and as recommended",
            (
                Column("queue", "queue"),
                Column("queue_packets", "packets"),
                Column("delay_full_s", "full delay"),
                Column("utilisation_fraction", "in use, at least"),
            ),
            (
                ("now", round(air.held_packets), _full_s(air), plan.utilisation_now),
                ("as recommended", sized.packets, then_s, sized.utilisation_at_least),
            ),
        ),
        thumbs,
    )


def _alternatives(plan: MeasuredPlan, asked: Asked) -> tuple[Alternative, ...]:
    if plan.do not in ("limit", "flow-queueing"):
        return ()
    return ap_parts.alternatives(plan.sized, asked, plan.air.time_s(ap_parts.SMALL_BYTES))


def _cautions(plan: MeasuredPlan, asked: Asked, *, rtt_given: bool) -> tuple[str, ...]:
    air = plan.air
    said = []
    if plan.do == "shape" and air.verdict != "policer" and asked.line_bps is None:
        said.append(
            "If the access point itself limits the rate, its queue can be sized instead: give the "
            "faster rate of the line with --line."
        )
    elif asked.line_bps is None and plan.do != "shape":
        said.append(
            "Was the access point the bottleneck? If the line's rate is about "
            f"{rate(air.capacity_bps)}, the queue in front of the line was measured: give that rate "
            "with --line."
        )
    if plan.do == "shape" and asked.line_bps is not None:
        said.append(
            "At times when the cell is slower than the line, packets wait at the access point: "
            "measure it from a server on its own wire."
        )
    if plan.do in ("limit", "flow-queueing"):
        if not rtt_given:
            said.append(
                f"No --rtt was given: the sizes are for {seconds(RTT_S)}, as CoDel assumes of paths "
                "through the Internet."
            )
        said += [
            "Devices that use mac80211's queues are measured as isolated flows: here packets wait "
            "elsewhere, in a qdisc, in firmware or in the driver's ring. A setting of iw has no "
            "effect on them; a qdisc has if it is the FIFO, and otherwise only a shaper has. Set, "
            "measure again, and see both with airqueue compare.",
            "C is the rate of a flood that nobody acknowledges. Acknowledgements of downloads take a "
            "part of the air: downloads get less, and every delay grows in proportion. At another "
            "place the station's rate is another.",
            "What was measured is all stages of the device together. A qdisc is one stage, and the "
            "driver's ring stays behind it.",
            *ap_parts.fewer_than_recover(plan.sized),
        ]
    return tuple(said)


def _settings(plan: MeasuredPlan, asked: Asked) -> tuple[Settings, ...]:
    """Return the lines for the recommendation; none where nothing is to be set."""
    if plan.do == "leave":
        return ()
    if plan.shaped_bps is not None:
        return (ap_parts.HOSTAPD, *sqm.shaper(plan.shaped_bps, asked.line_device))
    # A shaper makes a queue at any device: what does not shape fills only where the queue is a qdisc.
    sized, device, tcp_bps = plan.sized, asked.device, plan.air.tcp_bps
    by_flow = sqm.access_point(device, tcp_bps)
    limit = sqm.access_point_fifo(device, tcp_bps, sized.packets)
    shaped = (*by_flow, limit) if plan.do == "flow-queueing" else (limit, *by_flow)
    fifo = linux.fifo(device, sized.packets, ap_parts.size_bytes(sized), ap_parts.PLACE)
    instead = (replace(fifo, sets=()), ap_parts.flow_queueing(plan.air, asked, instead=True))
    return (ap_parts.HOSTAPD, *shaped, *instead)
