"""`--plan`: a recommendation as a file for `airqueue apply`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import click

from airqueue import _native
from airqueue.cli.errors import as_usage
from airqueue.files import write_atomically
from airqueue.sizing.advice import Settings
from airqueue.sizing.plans import (
    ACCESS,
    PLACES,
    UCI,
    PlanError,
    WhichMachineError,
    chosen,
    plan,
    text,
)

plan_option = click.option(
    "--plan",
    "plan_path",
    metavar="FILE",
    help="Write what is recommended as a plan for airqueue apply.",
)
sets_option = click.option(
    "--plan-sets",
    "sets",
    type=click.Choice(PLACES),
    help="Of the plan: queue, a qdisc, txq, mac80211's queues, or uci, OpenWrt's SQM.",
)
access_option = click.option(
    "--plan-sets",
    "sets",
    type=click.Choice(ACCESS),
    help="Of the plan: edca, by hostapd and the kernel, or uci, OpenWrt's configuration.",
)
consent_option = click.option(
    "--drops-stations",
    is_flag=True,
    help="Of a plan that sets uci: stations may lose their connection, as radios start anew.",
)
node_option = click.option(
    "--node", metavar="NAME", help="Of the plan: the node that the plan is for."
)


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The file that the user asked for, and of which settings and which node."""

    path: str | None = None
    sets: str | None = None
    node: str | None = None
    drops_stations: bool = False

    def check(self) -> None:
        """Raise click.UsageError for options that do not go together."""
        for flag, value in (("--plan-sets", self.sets), ("--node", self.node)):
            if self.path is None and value is not None:
                raise click.UsageError(f"{flag} goes with --plan FILE")
        if self.drops_stations and (self.path is None or self.sets != UCI):
            raise click.UsageError("--drops-stations goes with --plan FILE --plan-sets uci")

    def check_node(self, settings: Sequence[Settings]) -> None:
        """Raise UsageError if ``node`` says no machine of these, before anything takes long."""
        if self.path is not None:
            # Other reasons why there is no plan follow the advice.
            with suppress(PlanError), as_usage(WhichMachineError):
                chosen(settings, self.sets, self.node)

    def write(self, settings: Sequence[Settings], why: str) -> None:
        """Write the plan, if asked for. Raises PlanError, OSError."""
        if self.path is not None:
            settings_of_plan = chosen(settings, self.sets, self.node)
            content = text(plan(settings_of_plan, why, drops_stations=self.drops_stations))
            _native.check_plan(content)
            write_atomically(self.path, content)
