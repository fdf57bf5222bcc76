"""`airqueue size rdqm`."""

from __future__ import annotations

import ipaddress
from typing import Any, NoReturn

import click

from airqueue.cli.common import json_option
from airqueue.cli.parameters import Whole
from airqueue.cli.plans import PlanFile, plan_option
from airqueue.cli.size_options import (
    TARGETS,
    check_files,
    device_option,
    finish,
    for_targets,
    packet_option,
    phy_option,
)
from airqueue.cli.size_trial import simulate_option, trials, tried
from airqueue.sizing.rdqm import MAX_BUFFER, Receiver, size_rdqm
from airqueue.sizing.rdqm_advice import rdqm_advice
from airqueue.units import UnitError, parse_duration, parse_rate


class _Flow(click.ParamType[Receiver]):
    """A flow: its round trip, if known, the station's rate, and perhaps the station's address."""

    name = "flow"

    def __init__(self, *, delay: bool) -> None:
        self._delay = delay

    def convert(self, value: Any, param: Any, ctx: Any) -> Receiver:
        """Parse the text; a flow passes."""
        if isinstance(value, Receiver):
            return value
        parts = str(value).split("@")
        try:
            rtt = parse_duration(parts.pop(0)) if self._delay else None
            rate = parse_rate(parts.pop(0))
            address = str(ipaddress.ip_address(parts.pop(0))) if parts else None
        except (IndexError, UnitError, ValueError) as error:
            self._refuse(value, str(error), param, ctx)
        if parts:
            self._refuse(value, "too many parts", param, ctx)
        return Receiver(rate, rtt, address)

    def _refuse(self, value: Any, why: str, param: Any, ctx: Any) -> NoReturn:
        delay = "150ms@" if self._delay else ""
        self.fail(
            f"{value!r} is no flow ({why}); write for example {delay}54mbit or "
            f"{delay}54mbit@192.0.2.7",
            param,
            ctx,
        )


@click.command()
@click.option(
    "--flow",
    "flows",
    type=_Flow(delay=True),
    multiple=True,
    metavar="RTT@RATE[@ADDRESS]",
    help="A TCP download: its round trip without queues, its station's rate, and the station's "
    "address; once for each.",
)
@click.option(
    "--legacy",
    type=_Flow(delay=False),
    multiple=True,
    metavar="RATE[@ADDRESS]",
    help="A flow whose round trip is not known.",
)
@click.option(
    "--buffer",
    "buffer_packets",
    type=Whole(1, MAX_BUFFER),
    required=True,
    metavar="PACKETS",
    help="Of the base station, for all flows.",
)
@phy_option
@packet_option
@device_option
@simulate_option
@for_targets(*TARGETS, "scenario")
@plan_option
@json_option
def rdqm(
    *,
    flows: tuple[Receiver, ...],
    legacy: tuple[Receiver, ...],
    buffer_packets: int,
    phy: str | None,
    packet_bytes: int,
    device: str,
    simulate: bool | None,
    targets: tuple[str, ...],
    plan_path: str | None,
    json_path: str | None,
) -> None:
    """Divide a base station's buffer among flows by their delays and rates (RDQM).

    With --for tc or --plan as classes of htb, a FIFO each: what the base station's own kernel can do
    without any help of the receivers.

    \b
    Examples:
      airqueue size rdqm --flow 20ms@54mbit --flow 150ms@54mbit --flow 20ms@6mbit --buffer 100
      airqueue size rdqm --flow 20ms@54mbit@192.0.2.7 --legacy 11mbit@192.0.2.8 --buffer 60 --for tc
      airqueue size rdqm --flow 20ms@54mbit --flow 90ms@6mbit --buffer 60 --plan plan.json
    """
    if not flows and not legacy:
        raise click.UsageError("give a flow: --flow RTT@RATE, or --legacy RATE")
    planned = PlanFile(plan_path)
    check_files(json_path, planned)
    sized = size_rdqm((*flows, *legacy), buffer_packets, phy, packet_bytes)
    trial, untried = tried(
        False if len(sized.flows) == 1 else simulate,
        lambda: trials.rdqm.why_not(sized),
        lambda show: trials.rdqm.try_division(sized, show),
    )
    advice = rdqm_advice(sized, device=device, trial=trial, untried=untried)
    finish(advice, targets, json_path, planned)
