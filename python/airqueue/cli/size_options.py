"""Options that the commands of `airqueue size` share, and how these commands end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import click

from airqueue.cli.advice import emit
from airqueue.cli.errors import sentence
from airqueue.cli.parameters import Whole
from airqueue.cli.plans import PlanFile
from airqueue.cli.written import all_written, check_outputs
from airqueue.models.errors import ConvergenceError, ModelError
from airqueue.models.packets import PACKET_BYTES
from airqueue.sizing.advice import Advice, wanted
from airqueue.sizing.cell import MAX_PACKET_BYTES

Command = TypeVar("Command", bound=Callable[..., Any])

SCENARIO = "scenario"
"""The target that is a whole file, for a program to read."""
TARGETS = ("hostapd", "openwrt", "tc")


def for_targets(*targets: str) -> Callable[[Command], Command]:
    """Return --for of some programs."""
    return click.option(
        "--for",
        "targets",
        type=click.Choice([*targets, "all"]),
        multiple=True,
        help="Print the settings for these programs too; nothing is applied.",
    )


targets_option = for_targets(*TARGETS)
phy_option = click.option(
    "--phy",
    metavar="NAME",
    help="Physical layer: b-short, g, a, n-40mhz-2ss, ac-80mhz-2ss-sgi, ...; b or g if not given, "
    "by the rate.",
)
packet_option = click.option(
    "--packet",
    "packet_bytes",
    type=Whole(68, MAX_PACKET_BYTES),
    default=PACKET_BYTES,
    show_default=True,
    metavar="BYTES",
    help="IP packets of the downloads.",
)


def _name(value: str) -> str:
    """Return a device name; refuse a name that no device has, since the name goes into commands."""
    if (
        not (0 < len(value) < 16)
        or value.startswith("-")
        or not value.isprintable()
        or any(c.isspace() or c in "/'\"\\;|&$`<>(){}#" for c in value)
    ):
        raise click.BadParameter(f"{value!r} is no name of a device; write for example wlan0")
    return value


def device_named(flag: str, name: str, default: str, text: str) -> Callable[[Command], Command]:
    """Return an option that names a device."""
    return click.option(
        flag,
        name,
        default=default,
        show_default=True,
        metavar="NAME",
        callback=lambda _context, _parameter, value: _name(value),
        help=text,
    )


device_option = device_named("--device", "device", "wlan0", "Network device in the settings.")
line_device_option = device_named(
    "--line-device", "line_device", "wan", "The router's device that leads to the line."
)
phy_device_option = device_named("--phy-device", "phy_device", "phy0", "Its name for iw phy.")


@contextmanager
def of_options() -> Iterator[None]:
    """Turn errors about what the options describe into wrong usage."""
    try:
        yield
    except ConvergenceError:
        raise
    except ModelError as error:
        raise click.UsageError(sentence(error)) from error


def check_files(json_path: str | None, planned: PlanFile, file: str | None = None) -> None:
    """Refuse outputs that would be lost, before anything takes time. ``file``: what is read."""
    planned.check()
    check_outputs([("--json", json_path), ("--plan", planned.path)], [file])


def finish(
    advice: Advice, targets: tuple[str, ...], json_path: str | None, planned: PlanFile
) -> None:
    """Show the advice and write its files, each even if another fails or there is no plan."""
    with all_written() as write:
        write(planned.write, advice.settings, advice.headline)
        asked_for = replace(advice, settings=wanted(advice.settings, targets))
        write(partial(emit, alone={*targets} == {SCENARIO}), asked_for, json_path)
