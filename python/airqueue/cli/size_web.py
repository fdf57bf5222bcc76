"""`airqueue size web`."""

from __future__ import annotations

import click

from airqueue.cli.common import json_option
from airqueue.cli.parameters import DURATION, RATE, SIZE, Number, Whole
from airqueue.cli.plans import PlanFile, plan_option, sets_option
from airqueue.cli.size_options import (
    check_files,
    device_option,
    finish,
    for_targets,
    packet_option,
    phy_device_option,
    phy_option,
)
from airqueue.cli.size_trial import simulate_option, trials, tried
from airqueue.models.engset import THINK_S
from airqueue.models.page_time import ROUND_TRIPS
from airqueue.sizing.web import ACK_TIMER_S, MAX_USERS, Web, size_web
from airqueue.sizing.web_advice import web_advice


@click.command()
@click.option("--users", type=Whole(1, MAX_USERS), required=True, help="People who browse.")
@click.option(
    "--page",
    "page_bytes",
    type=SIZE,
    required=True,
    metavar="SIZE",
    help="Mean size of a page, all its objects, e.g. 1MB.",
)
@click.option(
    "--rate",
    type=RATE,
    required=True,
    metavar="RATE",
    help="Of the physical layer, of all stations, e.g. 54mbit.",
)
@click.option(
    "--think",
    "think_s",
    type=DURATION,
    default=f"{THINK_S:g}s",
    show_default=True,
    metavar="TIME",
    help="Mean time from the end of a page to the next click.",
)
@click.option(
    "--rtt",
    "rtt_s",
    type=DURATION,
    required=True,
    metavar="TIME",
    help="From the access point to the farthest servers that matter, without queues: 20ms for many, "
    "0.5ms for one in the house. A window sized for less slows pages down.",
)
@click.option(
    "--round-trips",
    type=Number(0, 100),
    default=ROUND_TRIPS,
    show_default=True,
    metavar="NUMBER",
    help="To the server before the first data; one more with TLS 1.3.",
)
@click.option(
    "--ack-timer",
    "ack_timer_s",
    type=DURATION,
    default=f"{ACK_TIMER_S * 1e3:g}ms",
    show_default=True,
    metavar="TIME",
    help="Longest delay of an acknowledgement.",
)
@click.option(
    "--target",
    "target_s",
    type=DURATION,
    metavar="TIME",
    help="Mean page time to keep: with how many users?",
)
@click.option("--rts", is_flag=True, help="RTS and CTS precede every frame.")
@phy_option
@packet_option
@device_option
@phy_device_option
@simulate_option
@for_targets("tc", "scenario")
@plan_option
@sets_option
@json_option
def web(
    *,
    users: int,
    page_bytes: float,
    rate: float,
    think_s: float,
    rtt_s: float,
    round_trips: float,
    ack_timer_s: float,
    target_s: float | None,
    rts: bool,
    phy: str | None,
    packet_bytes: int,
    device: str,
    phy_device: str,
    simulate: bool | None,
    targets: tuple[str, ...],
    plan_path: str | None,
    sets: str | None,
    json_path: str | None,
) -> None:
    """Choose the windows and the queue for people who browse, and say how long a page takes.

    The HTTP paper's model, for 802.11b, g and a, and a simulation of what the model says: layers
    that aggregate are refused.

    \b
    Examples:
      airqueue size web --users 20 --page 1MB --rate 54mbit --rtt 20ms
      airqueue size web --users 20 --page 1MB --rate 54mbit --rtt 20ms --target 2s --for tc
      airqueue size web --users 10 --page 30kB --rate 11mbit --rtt 0.5ms --rts --for scenario
    """
    planned = PlanFile(plan_path, sets)
    check_files(json_path, planned)
    described = Web(
        users=users,
        page_bytes=page_bytes,
        think_s=think_s,
        rtt_s=rtt_s,
        round_trips=round_trips,
        ack_timer_s=ack_timer_s,
        target_s=target_s,
        rts=rts,
    )
    sized = size_web(described, rate, phy, packet_bytes)
    trial, untried = tried(
        simulate,
        lambda: trials.web.why_not(sized),
        lambda show: trials.web.try_pages(sized, show),
    )
    advice = web_advice(sized, device=device, phy_device=phy_device, trial=trial, untried=untried)
    finish(advice, targets, json_path, planned)
