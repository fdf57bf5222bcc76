"""`airqueue size`: from a description of a network to what to configure on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import click

from airqueue.cli.common import json_option
from airqueue.cli.parameters import DURATION, RATE, Whole, given_options
from airqueue.cli.plans import (
    PlanFile,
    access_option,
    consent_option,
    node_option,
    plan_option,
    sets_option,
)
from airqueue.cli.size_mesh_file import mesh_file
from airqueue.cli.size_options import (
    TARGETS,
    check_files,
    device_named,
    device_option,
    finish,
    for_targets,
    line_device_option,
    of_options,
    packet_option,
    phy_device_option,
    phy_option,
    targets_option,
)
from airqueue.cli.size_rdqm import rdqm
from airqueue.cli.size_trial import simulate_option, trials, tried
from airqueue.cli.size_web import web
from airqueue.measure.schema import read_result
from airqueue.models.mesh_allocation import ROUNDINGS, STRATEGIES
from airqueue.models.mesh_exchange import preset
from airqueue.models.sawtooth import CONTROLS
from airqueue.models.virtual_queues import RING_PACKETS
from airqueue.sizing.ap import DELAY_TARGET_S, ap_queue
from airqueue.sizing.ap_advice import ap_advice, slow_line
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.edca import MAX_FLOWS, size_edca
from airqueue.sizing.edca_advice import ACK_BYTES, edca_advice, leaves
from airqueue.sizing.edca_follow import MOST_PACKETS
from airqueue.sizing.measured import RTT_S, measured_air, measured_plan
from airqueue.sizing.measured_advice import measured_advice
from airqueue.sizing.mesh import RULES, size_mesh
from airqueue.sizing.mesh_advice import mesh_advice
from airqueue.sizing.plans import UCI

_OF_DESCRIPTION = frozenset({"rates", "phy", "packet_bytes", "simulate"})
"""Options of `size ap` that describe radios, or need them."""
_NO_AIR = "a mesh file does not say who hears whom on the air"


@click.group(short_help="Say what to configure, and what to expect of it.")
def size() -> None:
    """Say what to configure on a network, why, and what delay and utilisation to expect.

    \b
    airqueue size ap         the queue of an access point
    airqueue size mesh       the buffers of a wireless mesh, node by node
    airqueue size mesh-file  what size mesh reads, from what iw prints on the routers
    airqueue size edca       EDCA parameters that make TCP uploads and downloads fair
    airqueue size rdqm       a base station's buffer, divided by the delays and rates of its flows
    airqueue size web        windows and queue for people who browse, and the time of a page
    """


@size.command()
@click.argument("file", required=False)
@click.option(
    "--rate",
    "rates",
    type=RATE,
    multiple=True,
    metavar="RATE",
    help="Of the physical layer, e.g. 54mbit; once for every station if they differ.",
)
@click.option(
    "--rtt",
    type=DURATION,
    metavar="TIME",
    help=f"Without queues; {RTT_S * 1e3:g}ms if not given with FILE.",
)
@click.option(
    "--flows",
    type=Whole(1, 10**6),
    help="Long TCP downloads at the same time; if not given, one for each --rate.",
)
@phy_option
@packet_option
@click.option(
    "--delay-target",
    "delay_target",
    type=DURATION,
    default=f"{DELAY_TARGET_S * 1e3:g}ms",
    show_default=True,
    metavar="TIME",
    help="Longest delay that the full queue may add.",
)
@click.option(
    "--control",
    type=click.Choice(CONTROLS),
    default="reno",
    show_default=True,
    help="Congestion control of the senders.",
)
@click.option(
    "--line",
    type=RATE,
    metavar="RATE",
    help="Of the line behind the access point, e.g. 16mbit: is it the bottleneck?",
)
@device_option
@line_device_option
@phy_device_option
@simulate_option
@for_targets(*TARGETS, "scenario")
@plan_option
@sets_option
@json_option
@click.pass_context
def ap(
    context: click.Context,
    *,
    file: str | None,
    rates: tuple[float, ...],
    rtt: float | None,
    flows: int | None,
    phy: str | None,
    packet_bytes: int,
    delay_target: float,
    control: str,
    line: float | None,
    device: str,
    line_device: str,
    phy_device: str,
    simulate: bool | None,
    targets: tuple[str, ...],
    plan_path: str | None,
    sets: str | None,
    json_path: str | None,
) -> None:
    """Size the queue of an access point, from a measurement of it or from its radio's rate.

    FILE is a result of `airqueue measure --json`: it says what the queue is, and how fast. With
    --rate the queue is simulated under the downloads, beside what TCP would want and flow queueing,
    and made longer where the rules leave air unused.

    \b
    Examples:
      airqueue measure 192.0.2.1 --json home.json && airqueue size ap home.json --for openwrt
      airqueue size ap home.json --line 16mbit --for openwrt
      airqueue size ap --rate 54mbit --rtt 100ms --flows 20
      airqueue size ap --rate 866mbit --phy ac-80mhz-2ss-sgi --rtt 40ms --flows 8 --for tc
      airqueue size ap --rate 54mbit --rate 6mbit --rtt 100ms --json -
      airqueue size ap --rate 54mbit --rtt 100ms --for scenario --no-simulate
      airqueue size ap home.json --plan plan.json && airqueue apply plan.json --dry-run
    """
    _refuse_mixture(context, file, rates, rtt)
    planned = PlanFile(plan_path, sets)
    check_files(json_path, planned, file)
    asked = Asked(
        rtt_s=RTT_S if rtt is None else rtt,
        flows=flows or max(1, len(rates)),
        delay_target_s=delay_target,
        control=control,
        line_bps=line,
        device=device,
        line_device=line_device,
        phy_device=phy_device,
    )
    if file is not None:
        plan = measured_plan(measured_air(read_result(file)), asked)
        advice = measured_advice(plan, asked, rtt_given=rtt is not None)
    else:
        with of_options():
            sized = ap_queue(
                rates,
                asked.rtt_s,
                asked.flows,
                phy=phy,
                packet_bytes=packet_bytes,
                delay_target_s=delay_target,
                control=control,
            )
        trial, untried = tried(
            False if slow_line(sized, asked) else simulate,
            lambda: trials.ap.why_not(sized, asked),
            lambda show: trials.ap.try_queue(sized, asked, show),
        )
        advice = ap_advice(trial or sized, asked, untried)
    finish(advice, targets, json_path, planned)


def _refuse_mixture(
    context: click.Context, file: str | None, rates: Sequence[float], rtt: float | None
) -> None:
    """Refuse both a measurement and a description, and neither."""
    if file is None:
        if not rates:
            raise click.UsageError("give the file of a measurement, or the radio's --rate")
        if rtt is None:
            raise click.UsageError("give --rtt, such as --rtt 100ms, beside --rate")
        return
    for parameter in given_options(context):
        if parameter.name in _OF_DESCRIPTION:
            flag = parameter.opts[0]
            raise click.UsageError(f"{flag} does not go with FILE, which says what was measured")


@size.command()
@click.argument("file")
@click.option(
    "--radio",
    metavar="NAME",
    help="Timing of the radios (a preset or a physical layer), for links that name none; the "
    "file's if not given.",
)
@click.option(
    "--allocation",
    "strategy",
    type=click.Choice(tuple(STRATEGIES)),
    default="ratio",
    show_default=True,
    help="How a flow's buffer is divided among the nodes.",
)
@click.option(
    "--rounding",
    type=click.Choice(ROUNDINGS[:-1]),
    default="nearest",
    show_default=True,
    help="To whole packets.",
)
@click.option(
    "--carrying",
    type=click.Choice(RULES),
    default=RULES[0],
    show_default=True,
    help="What a flow can reach: the rate of its slowest link, as in the paper, or its share of the "
    "air beside the other flows, which makes smaller buffers; auto: link, or share where link would "
    "wait longer than a usual queue.",
)
@click.option(
    "--ring",
    "ring_packets",
    type=Whole(0, 4096),
    default=RING_PACKETS,
    show_default=True,
    help="Packets in the driver's ring of each node.",
)
@device_option
@phy_device_option
@simulate_option
@targets_option
@plan_option
@sets_option
@node_option
@json_option
def mesh(
    *,
    file: str,
    radio: str | None,
    strategy: str,
    rounding: str,
    carrying: str,
    ring_packets: int,
    device: str,
    phy_device: str,
    simulate: bool | None,
    targets: tuple[str, ...],
    plan_path: str | None,
    sets: str | None,
    node: str | None,
    json_path: str | None,
) -> None:
    """Size the queues of every node of a wireless mesh.

    FILE is a scenario, as for `airqueue simulate`, or a mesh file: nodes, links with their rates,
    flows with their routes; docs/sizing.md explains both. A scenario is simulated too, as it is and
    with the limits.

    \b
    Examples:
      airqueue size mesh examples/mesh/chain.toml
      airqueue size mesh examples/simulate/mesh-cross.toml
      airqueue size mesh examples/mesh/parking-lot.toml --allocation optimum --rounding best
      airqueue size mesh examples/mesh/chain.toml --for tc --json -
      airqueue size mesh examples/mesh/chain.toml --node client --plan plan.json
    """
    from airqueue.simulate.as_mesh import read_mesh  # noqa: PLC0415 - the others need no simulator

    planned = PlanFile(plan_path, sets, node)
    check_files(json_path, planned, file)
    described = read_mesh(file)
    if radio is not None and not described.exchanges:
        with of_options():
            preset(radio)
    if radio is not None and described.exchanges:
        raise click.BadParameter(
            f"{file} is a scenario, which says how its frames are timed; leave --radio out",
            param_hint="--radio",
        )
    forecast = size_mesh(
        described.topology,
        radio,
        exchanges=described.exchanges,
        segment_bytes=described.segment_bytes,
        strategy=strategy,
        rounding=rounding,
        carrying=carrying,
        ring_packets=ring_packets,
    )
    inputs = {
        "file": file,
        "title": forecast.buffers.topology.title,
        "radio": radio,
        "strategy": strategy,
        "rounding": rounding,
        "carrying": carrying,
        "ring_packets": ring_packets,
    }
    advise = partial(
        mesh_advice,
        forecast,
        inputs=inputs,
        device=device,
        phy_device=phy_device,
        cautions=described.cautions,
    )
    planned.check_node(advise().settings)
    scenario = described.scenario
    if scenario is None and simulate:
        raise click.BadParameter(f"{file} is no scenario: {_NO_AIR}", param_hint="--simulate")
    trial, untried = (
        (None, f"FILE is no scenario: {_NO_AIR}")
        if scenario is None
        else tried(
            simulate,
            lambda: trials.mesh.why_not(scenario, forecast),
            lambda show: trials.mesh.try_limits(scenario, forecast, show),
        )
    )
    finish(advise(trial=trial, untried=untried), targets, json_path, planned)


@size.command()
@click.option(
    "--uploads",
    type=Whole(0, MAX_FLOWS),
    required=True,
    help="Stations with a long TCP upload.",
)
@click.option(
    "--downloads",
    type=Whole(0, MAX_FLOWS),
    required=True,
    help="Stations with a long TCP download.",
)
@click.option(
    "--phy", metavar="NAME", default="b-short", show_default=True, help="Physical layer, as for ap."
)
@click.option(
    "--rate", type=RATE, metavar="RATE", help="Of the physical layer; its highest if not given."
)
@packet_option
@click.option(
    "--mark",
    type=click.Choice(["dscp", "priority"]),
    default="dscp",
    show_default=True,
    help="How the rules put acknowledgements into their category.",
)
@click.option(
    "--ack-bytes",
    type=Whole(40, 200),
    default=ACK_BYTES,
    show_default=True,
    metavar="BYTES",
    help="IPv4 packets of TCP up to this length count as acknowledgements.",
)
@device_option
@device_named("--radio", "radio", "radio0", "Section of the radio in OpenWrt's settings.")
@click.option(
    "--most-packets",
    type=Whole(1, MOST_PACKETS),
    metavar="N",
    help="Of --for airqueued: the most packets of a TXOP; beyond them AIFS and CWmin follow. "
    f"Default: {MOST_PACKETS}, at 5 GHz what European rules allow.",
)
@simulate_option
@for_targets(*TARGETS, "scenario", "airqueued")
@plan_option
@access_option
@consent_option
@json_option
def edca(
    *,
    uploads: int,
    downloads: int,
    phy: str,
    rate: float | None,
    packet_bytes: int,
    mark: Literal["dscp", "priority"],
    ack_bytes: int,
    device: str,
    radio: str,
    most_packets: int | None,
    simulate: bool | None,
    targets: tuple[str, ...],
    plan_path: str | None,
    sets: str | None,
    drops_stations: bool,
    json_path: str | None,
) -> None:
    """Choose EDCA parameters that make TCP uploads and downloads fair.

    The EDCA paper's settings: acknowledgements pass first, and the access point sends one packet for
    each download when it wins the medium.

    \b
    Examples:
      airqueue size edca --uploads 6 --downloads 6
      airqueue size edca --uploads 6 --downloads 6 --phy g --rate 54mbit --for hostapd
      airqueue size edca --uploads 3 --downloads 9 --for openwrt --mark priority
      airqueue size edca --uploads 3 --downloads 9 --for scenario
      airqueue size edca --uploads 6 --downloads 6 --most-packets 3 --for airqueued
      airqueue size edca --uploads 6 --downloads 6 --plan edca.json --plan-sets uci --drops-stations
    """
    planned = PlanFile(plan_path, sets, drops_stations=drops_stations)
    check_files(json_path, planned)
    if sets == UCI and not drops_stations:
        raise click.UsageError(
            "OpenWrt's radios are set by `wifi reload`, at which stations may lose their "
            "connection: add --drops-stations if they may."
        )
    if most_packets is not None and not {"airqueued", "all"} & {*targets}:
        raise click.UsageError(
            "--most-packets is of the loop that --for airqueued prints: add that."
        )
    with of_options():
        sized = size_edca(uploads, downloads, phy=phy, rate_bps=rate, packet_bytes=packet_bytes)
    trial, untried = tried(
        False if leaves(sized) else simulate,
        lambda: trials.edca.why_not(sized),
        lambda show: trials.edca.try_access(sized, show),
    )
    advice = edca_advice(
        sized,
        device=device,
        radio=radio,
        mark=mark,
        ack_bytes=ack_bytes,
        longest_packets=most_packets,
        trial=trial,
        untried=untried,
    )
    finish(advice, targets, json_path, planned)


size.add_command(mesh_file)
size.add_command(rdqm)
size.add_command(web)
