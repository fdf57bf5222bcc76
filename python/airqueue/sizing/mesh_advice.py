"""The advice of `airqueue size mesh`: the numbers of `airqueue.sizing.mesh` in words and commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from airqueue.models.mesh_allocation import STRATEGIES
from airqueue.models.packets import PACKET_BYTES
from airqueue.sizing.advice import (
    Advice,
    Alternative,
    Column,
    Figure,
    Settings,
    Table,
    Value,
    not_simulated,
)
from airqueue.sizing.codel import HOLD, TARGET_S, codel_for
from airqueue.sizing.mesh import USUAL_PACKETS, FlowForecast, MeshForecast
from airqueue.sizing.mesh_trial import MeshTrial
from airqueue.sizing.settings import linux, openwrt
from airqueue.text import number, plural, seconds

_BOUND: Final[Mapping[str, str]] = {
    "link": "B is an upper bound: it takes the PHY's rate for the flow's, and each flow is sized as "
    "if it were alone, so a relay of several flows holds more than it needs at once.",
    "share": "B takes the flows' shares of the PHY's rate, without overhead: more than they need "
    "together. One that finds the others gone may leave some of the air unused.",
}
"""Of the buffers, by the rule that they were sized by."""
_CARRIED: Final[Mapping[str, str]] = {
    "link": "λ is the rate of a flow's slowest link in its bottleneck, as in the paper",
    "share": "λ is what the air gives a flow beside the others",
}
_LONG: Final = (
    "The goodput of a route of many hops is an upper bound: simulated, a chain of ten got 0.8 of "
    "what is said here with 50 packets at a node, and 0.66 with one."
)
_CAUTIONS: Final = (
    "Forecasts are for packets that arrive at the first attempt, sent one at a time, with air shared "
    "max-min fairly. Losses, aggregation and hidden nodes are not in them.",
    "Routes and rates of a mesh change: size again when they do, or every 10 s as the paper does.",
)


def mesh_advice(
    forecast: MeshForecast,
    *,
    inputs: Mapping[str, Any],
    device: str,
    phy_device: str,
    cautions: tuple[str, ...] = (),
    trial: MeshTrial | None = None,
    untried: str | None = None,
) -> Advice:
    """Return the advice for a mesh that `airqueue.sizing.mesh.size_mesh` sized.

    inputs: what was given: the file, and ``strategy`` and ``rounding`` among others. cautions: what
    the description has and the sizes leave out. trial: what simulations say; untried: why there is
    none, where one would be expected.
    """
    slowest = forecast.slowest
    return Advice(
        what="mesh",
        inputs=dict(inputs),
        headline=_headline(forecast, slowest) + ("" if trial is None else f" {trial.found()}"),
        figures=_figures(forecast, slowest, inputs),
        tables=(
            *(() if trial is None else (trial.table(forecast),)),
            _flows(forecast),
            _queues(forecast),
        ),
        alternatives=tuple(_alternatives(forecast, inputs)),
        cautions=(
            *not_simulated(untried),
            _BOUND[forecast.carrying],
            *cautions,
            *(_CAUTIONS if trial is not None else (_LONG, *_CAUTIONS)),
        ),
        settings=tuple(_settings(forecast, device, phy_device)),
    )


def _headline(forecast: MeshForecast, slowest: FlowForecast) -> str:
    nodes = forecast.buffers.node_packets(with_ring=False)
    most, full, usual = max(nodes.values()), slowest.full_delay_s, slowest.usual_delay_s
    held = f"at most {number_of(most)} {'packet' if most == 1 else 'packets'}"
    sized = f"with all queues full the slowest flow waits {seconds(full)}"
    if not forecast.too_long:
        return (
            f"Let each of {plural(len(nodes), 'node')} hold {held}: {sized}, where one usual "
            f"queue of {USUAL_PACKETS} packets would cost it {seconds(usual)} at its node alone."
            f"{_not_by_link(forecast)}"
        )
    more = f"{sized}, more than the {seconds(usual)} of one usual queue of {USUAL_PACKETS} packets"
    if forecast.carrying == "link":
        return (
            f"Do not set these buffers, {held} at a node: {more}. They are for the rates of the "
            "links, which no flow reaches here: size again with --carrying share."
        )
    return (
        f"Let each of {plural(len(nodes), 'node')} hold {held}: {more}, since the path is so long. "
        f"Hold less where delay matters more than use of the air.{_not_by_link(forecast)}"
    )


def _not_by_link(forecast: MeshForecast) -> str:
    """Return why the buffers are not those of the paper, where they are not."""
    if forecast.link_delay_s is None:
        return ""
    return (
        " They are for the flows' shares of the air: sized for the rates of the links, as in the "
        f"paper, which no flow reaches here, the slowest would wait {seconds(forecast.link_delay_s)}."
    )


def number_of(packets: float) -> str:
    """Return packets without decimals where they are whole."""
    return f"{packets:g}" if packets == round(packets) else number(packets)


def _figures(
    forecast: MeshForecast, slowest: FlowForecast, inputs: Mapping[str, Any]
) -> tuple[Figure, ...]:
    topology, strategy = forecast.buffers.topology, inputs["strategy"]
    total = sum(forecast.buffers.node_packets(with_ring=False).values())
    return (
        _radio(forecast.radio),
        Figure("flows", "flows", len(forecast.flows), f"of {plural(len(topology.nodes), 'node')}"),
        Figure(
            "all_packets",
            "all queues together",
            _whole(total),
            f"divided by {strategy}: {STRATEGIES[strategy]}",
        ),
        Figure("carrying", "sized for", forecast.carrying, _CARRIED[forecast.carrying]),
        Figure(
            "ring_packets",
            "driver's ring",
            forecast.buffers.ring_packets,
            "of each node, below these queues and not to be had smaller; it adds to the delay",
        ),
        Figure(
            "delay_full_s",
            "longest wait",
            slowest.full_delay_s,
            f"flow {slowest.buffers.flow.name}: all its queues full, "
            f"{number_of(slowest.route_packets)} packets at one in {seconds(slowest.packet_s)}",
        ),
        Figure(
            "usual_delay_s",
            f"with {USUAL_PACKETS} packets",
            slowest.usual_delay_s,
            "the same flow, the usual queue full at one node",
        ),
        Figure(
            "utilisation_fraction",
            "air in use",
            min(float(flow.tooth.utilisation) for flow in forecast.flows),
            "at least, of the bottleneck while a flow alone halves its window",
        ),
    )


def _radio(radio: str | None) -> Figure:
    if radio is None:
        why = "timing of each link's exchanges is that of the simulation"
        return Figure("radio", "radios", "the scenario's", why)
    return Figure("radio", "radios", radio, "timing of the exchanges of links that name no other")


def _flows(forecast: MeshForecast) -> Table:
    def row(flow: FlowForecast) -> tuple[Value, ...]:
        sized = flow.buffers
        return (
            sized.flow.name,
            len(sized.queues),
            str(sized.bottleneck.centre),
            sized.bottleneck.transmitters,
            float(sized.buffer.packet_rate),
            float(sized.buffer.rtt_s),
            float(sized.buffer.packets),
            flow.goodput_bps,
            flow.rtt_s,
            flow.rtt_s + float(flow.tooth.mean_delay_s),
            flow.rtt_s + flow.full_delay_s,
        )

    return Table(
        "flows",
        "Flows: B = RTT·λ over the M hops in the bottleneck domain; round trips of the whole route",
        (
            Column("flow", "flow"),
            Column("hops", "hops"),
            Column("bottleneck", "domain of"),
            Column("hops_in_bottleneck", "M"),
            Column("packet_rate_pps", "λ (1/s)"),
            Column("bottleneck_rtt_s", "RTT"),
            Column("buffer_packets", "B"),
            Column("goodput_bps", "goodput"),
            Column("rtt_empty_s", "empty"),
            Column("rtt_mean_s", "mean"),
            Column("rtt_full_s", "full"),
        ),
        tuple(row(flow) for flow in forecast.flows),
    )


def _queues(forecast: MeshForecast) -> Table:
    delay_s = {flow.buffers.flow.name: flow.packet_s for flow in forecast.flows}
    rows = [
        (
            queue.node,
            str(queue.link),
            queue.flow,
            queue.hop,
            _whole(queue.packets),
            queue.packets * delay_s[queue.flow],
            "yes" if queue.in_bottleneck else "no",
        )
        for node in forecast.buffers.node_packets()
        for queue in forecast.buffers.queues_at(node)
    ]
    return Table(
        "queues",
        "Queues, one for each flow and link of a node",
        (
            Column("node", "node"),
            Column("link", "link"),
            Column("flow", "flow"),
            Column("hop", "hop"),
            Column("queue_packets", "packets"),
            Column("delay_full_s", "full"),
            Column("in_bottleneck", "in bottleneck"),
        ),
        tuple(rows),
    )


def _whole(packets: float) -> float | int:
    return int(packets) if packets == int(packets) else packets


def _alternatives(forecast: MeshForecast, inputs: Mapping[str, Any]) -> Iterator[Alternative]:
    other = "optimum" if inputs["strategy"] != "optimum" else "ratio"
    if forecast.carrying == "link":
        yield Alternative(
            "buffers for what the air gives",
            "--carrying share: smaller, for flows that are all there at once; a flow that finds the "
            "others gone may then leave some of the air unused.",
        )
    elif forecast.link_delay_s is not None:
        yield Alternative(
            "the paper's buffers",
            "--carrying link: for flows that are there one at a time and shall use all of the air.",
        )
    yield Alternative("another division of B", f"--allocation {other}: {STRATEGIES[other]}.")
    yield Alternative("FQ-CoDel at every node", _flow_queueing(forecast.slowest))


def _flow_queueing(slowest: FlowForecast) -> str:
    packet_s, usual = slowest.packet_s, seconds(TARGET_S)
    if HOLD * packet_s <= TARGET_S:
        return (
            "follows changes by itself and needs no topology: a packet takes "
            f"{seconds(packet_s)} of the slowest flow's path, well below its target of {usual}."
        )
    codel = codel_for(8.0 * PACKET_BYTES / packet_s, slowest.rtt_s, packet_s)
    return (
        "follows changes by itself and needs no topology, but a packet takes "
        f"{seconds(packet_s)} of the slowest flow's path here: with its target of {usual} it would "
        f"take every packet for a standing queue. Give it target {seconds(codel.target_s)}, interval "
        f"{seconds(codel.interval_s)}."
    )


def _settings(forecast: MeshForecast, device: str, phy_device: str) -> Iterator[Settings]:
    yield Settings(
        "hostapd",
        "every node",
        (),
        ("hostapd.conf has no setting for the length of queues: see tc or openwrt.",),
    )
    for node, packets in forecast.buffers.node_packets(with_ring=False).items():
        limit = max(1, round(packets))
        size_bytes = limit * (PACKET_BYTES + linux.ETHERNET_BYTES)
        yield openwrt.queue(phy_device, device, limit, f"node {node}")
        for each in linux.queue(phy_device, device, limit, size_bytes, f"node {node}"):
            yield replace(each, machine=node)
